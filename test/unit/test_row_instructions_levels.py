"""Instructions on rows give the same bytes at every level, with shapes and masks."""

from hypothesis import HealthCheck, given, settings, strategies as st
from levels import after, run

from xdsl_neuron.passes.pipelines import BirToDma, PenguinToBir

SHAPES = ((4, 8), (32,), (2, 2, 8))
"""Free dimensions of the same 32 elements."""

LANED = (
    "tensor_tensor_scan mult add {t} <- {x}, {y}{m} {{initial_imm = 0.5}}",
    "tensor_tensor_scan mult add {t} <- {x}, {y}, initial = %v{m}",
    "tensor_scalar_cache_cumulative mult add {t} <- {x}, accumulator = %r, "
    "scalar0 = %v, initial = %v{m} {{command = LoadAccumulate}}",
    "tensor_scalar_cache_reduce mult max {t} <- {x}, reduce_res = %r, scalar0 = %v{m}",
    "activation_accumulation Square {t} <- {x}, reduce_res = %r, "
    "bias = %v{m} {{scale_imm = 0.5}}",
    "select_reduce {t} <- {n}, {x}, reduce_res = %r, on_false = %v{m}",
    "scalar_tensor_tensor mult add {t} <- {x}, {y}, scalar0 = %v{m}",
    "exponential_reduce {t} <- {x}, reduce_res = %r, max_value = %v{m}",
    "activate2 Square {t} <- {x}, scalar0 = %v{m} {{op0 = subtract}}",
    "aff_sel_tensor_scalar is_ge {t} <- {x}{m} "
    "{{value = l0 - l1 * 3 + %i, fill = 4.0}}",
)
"""Their masks bound any lane."""

BY_PARTITION = (
    "range_select_reduce is_ge is_le {t} <- {x}, %lo, %v, reduce_res = %r{m}",
    "dropout_mask {t}, %st <- {x}, %st{m} {{probability_imm = 0.5}}",
    "sunda_match_replace8 {t} <- {x}, %x[0, 0][1 x 64, 1 x 8]{m} {{imm = 1.5}}",
    "bn_backprop {t} <- {x}, {y}, %v, %c3{m} {{total_elements = 32.0}}",
)
"""Their masks bound partitions."""


def access(name: str, shape: tuple[int, ...]) -> str:
    """All of a [64, 32] tile, with the free dimensions `shape`."""
    pairs: list[str] = []
    step = 1
    for extent in reversed(shape):
        pairs.insert(0, f"{step} x {extent}")
        step *= extent
    return f"%{name}[0, 0][1 x 64, {', '.join(pairs)}]"


@st.composite
def bodies(draw: st.DrawFn) -> str:
    by_partition = draw(st.booleans())
    shapes = {name: draw(st.sampled_from(SHAPES)) for name in "txyn"}
    bounds = ["", "63 - %i * 20 - l0", "40 + %i * 8 - l0", "31 - l0"]
    masks = [draw(st.sampled_from(bounds)), draw(st.sampled_from(["", "l0 - %i * 32"]))]
    if not by_partition:
        lane = draw(st.integers(1, len(shapes["t"])))
        last = shapes["t"][lane - 1] - 1
        free = ["", f"{last - 1} - l{lane}", f"l{lane} - 1", f"{last} - %i - l{lane}"]
        masks.append(draw(st.sampled_from(free)))
    clauses = [f"{mask} >= 0" for mask in masks if mask]
    where = f" where {' and '.join(clauses)}" if clauses else ""
    body = draw(st.sampled_from(BY_PARTITION if by_partition else LANED))
    tiles = {name: access(name, shape) for name, shape in shapes.items()}
    return "penguin." + body.format(m=where, **tiles)


def function(body: str) -> str:
    return f"""
builtin.module attributes {{neuron.target = #neuron.target<trn3>}} {{
penguin.func @f(a = %a: !neuron.tensor<64x32xf32, hbm>,
                b = %b: !neuron.tensor<64x32xbf16, hbm>,
                k = %k: !neuron.tensor<64x32xu8, hbm>,
                w = %w: !neuron.tensor<64x1xf32, hbm>,
                c = %c: !neuron.tensor<64x3xf32, hbm>,
                s = %s: !neuron.tensor<64x24xu32, hbm>) {{
  %o = penguin.alloc : <3x64x32xbf16, hbm>
  %q = penguin.alloc : <3x64x1xf32, hbm>
  %e = penguin.alloc : <64x24xu32, hbm>
  %st = penguin.alloc : <64x24xu32, sbuf>
  penguin.sb_atom_load %st <- %s
  penguin.for sequential %i = 0 to 3 {{
    %x = penguin.alloc : <64x32xf32, sbuf>
    %y = penguin.alloc : <64x32xf32, sbuf>
    %n = penguin.alloc : <64x32xu8, sbuf>
    %v = penguin.alloc : <64x1xf32, sbuf>
    %c3 = penguin.alloc : <64x3xf32, sbuf>
    %t = penguin.alloc init 7.0 : <64x32xf32, sbuf>
    %r = penguin.alloc init 5.0 : <64x1xf32, sbuf>
    %lo = penguin.alloc init 2.0 : <64x1xf32, sbuf>
    penguin.sb_atom_load %x <- %a
    penguin.dma_copy %y <- %b
    penguin.sb_atom_load %n <- %k
    penguin.sb_atom_load %v <- %w
    penguin.sb_atom_load %c3 <- %c
    penguin.tensor_scalar_ptr is_gt %n <- %n {{imm0 = 50}}
    {body}
    penguin.dma_copy %o[%i * 2048][32 x 64, 1 x 32] <- %t
    penguin.sb_atom_store %q[%i * 64][1 x 64, 1 x 1] <- %r
  }}
  penguin.sb_atom_store %e <- %st
  penguin.return o = %o, q = %q, e = %e
}}
}}
"""


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(bodies())
def test_levels_agree(body: str) -> None:
    text = function(body)
    expected = run(text)
    bir = after(text, PenguinToBir())
    assert run(bir) == expected
    for bound in (20000, 1):
        assert run(after(bir, BirToDma(max_instructions=bound))) == expected
