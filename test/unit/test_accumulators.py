"""Accumulators that go on between instructions, in both languages and the machine."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_pieces import F32, Array, both, fl, loaded, nisa, nl, saved, stored, tile
from machines import compute, random, run
from xdsl.interpreter import Interpreter

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.isa as functional_isa
from xdsl_neuron.isa import AccumulateCommand, AluOp
from xdsl_neuron.machine import MachineOptions, simulate
from xdsl_neuron.machine.interpreter import NeuronFunctions
from xdsl_neuron.nki import tensor_spec
from xdsl_neuron.numerics.accumulators import accumulate, identity
from xdsl_neuron.testing import assert_kernel_ok, reread
from xdsl_neuron.tracer.errors import NKIError

fisa: Any = functional_isa
reset, reduce = nisa.reduce_cmd.reset, nisa.reduce_cmd.reduce
reset_reduce, load_reduce = nisa.reduce_cmd.reset_reduce, nisa.reduce_cmd.load_reduce

P, F = 32, 24
LEGAL = (
    (AluOp.ADD, np.add),
    (AluOp.MULT, np.multiply),
    (AluOp.MAX, np.maximum),
    (AluOp.MIN, np.minimum),
)
SPECIAL = np.array(
    [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3.4028235e38], F32
)


def whole(*shape: int, seed: int = 7) -> Array:
    """Small integers, whose sums are exact in any order."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(F32)


@pytest.mark.parametrize(("op", "ufunc"), LEGAL)
def test_commands_on_special_values(op: AluOp, ufunc: np.ufunc) -> None:
    """accumulator op fold, with NaN, infinities, zeros and subnormals on both sides."""
    state, fold = (a.reshape(-1, 1) for a in np.meshgrid(SPECIAL, SPECIAL))
    kept = state.copy()
    with np.errstate(all="ignore"):
        after = accumulate(AccumulateCommand.ADD_ACCUMULATE, op)(fold, state, None)
        loaded_first = accumulate(AccumulateCommand.LOAD_ACCUMULATE, op)(
            fold, None, state
        )
        expected = ufunc(state, fold)
    assert after is not None
    assert loaded_first is not None
    assert after.tobytes() == expected.tobytes() == loaded_first.tobytes()
    assert state.tobytes() == kept.tobytes()
    stored_fold = accumulate(AccumulateCommand.ZERO_ACCUMULATE, op)(fold, state, None)
    assert stored_fold is not None
    assert stored_fold.tobytes() == fold.tobytes()
    zero = accumulate(AccumulateCommand.ZERO, op)(fold, state, None)
    assert zero is not None
    assert np.array_equal(zero, np.full_like(fold, identity(op)))


def test_an_operation_that_does_not_accumulate() -> None:
    with pytest.raises(ValueError, match="'divide' does not accumulate"):
        identity(AluOp.DIVIDE)


def test_sums_go_on_in_the_scalar_engine() -> None:
    """Three activations, the accumulators read by the last one alone."""
    a, b = whole(P, F), whole(P, F, seed=2)

    def destination(x: Any, y: Any) -> Any:
        dst, row, given, other = tile(P, F), tile(P, 1), loaded(x), loaded(y)
        nisa.activation(dst, nl.copy, given, reduce_op=nl.add, reduce_cmd=reset)
        nisa.activation(dst, nl.square, given, reduce_op=nl.add, reduce_cmd=reduce)
        nisa.activation(
            dst, nl.copy, other, scale=2.0, reduce_op=nl.add, reduce_res=row,
            reduce_cmd=reduce,
        )  # fmt: skip
        return saved(dst), saved(row)

    def value(x: Any, y: Any) -> Any:
        given, other = fl.load(x), fl.load(y)
        row = fl.ndarray((P, 1), dtype=fl.float32, buffer=fl.sbuf)
        command = fisa.reduce_cmd
        fisa.activation(np.square, given, reduce_op=np.add,
                        reduce_cmd=command.reset_reduce)  # fmt: skip
        # An activation with idle leaves the scalar engine's accumulators as they are.
        fisa.activation(np.exp, other)
        dst = fisa.activation(fl.copy, other, scale=2.0, reduce_op=np.add,
                              reduce_cmd=command.reduce)  # fmt: skip
        fisa.activation(fl.copy, given, reduce_op=np.add, reduce_res=row)
        return stored(dst), stored(row)

    row = ((a * a).sum(1) + (b * 2).sum(1)).reshape(P, 1)
    both(destination, value, a, b, expected=(b * 2, row))


@pytest.mark.parametrize(
    ("op", "ufunc"),
    [(nl.add, np.add), (nl.maximum, np.maximum), (nl.minimum, np.minimum)],
)
@pytest.mark.parametrize("start", ["reset", "number", "column"])
def test_tensor_scalar_reduce_goes_on(op: Any, ufunc: np.ufunc, start: str) -> None:
    a, first = whole(3, P, F), whole(P, 1, seed=3)

    def kernel(x: Any, y: Any) -> Any:
        dst, row, negated, init = tile(P, F), tile(P, 1), tile(P, 1), loaded(y)
        for i in range(3):
            options: dict[str, Any] = {"reduce_cmd": reduce}
            if not i:
                options = {
                    "reset": {},
                    "number": {"reduce_cmd": load_reduce, "reduce_init": 3.0},
                    "column": {"reduce_cmd": load_reduce, "reduce_init": init},
                }[start]
            if i == 1:
                options |= {"reduce_res": negated, "reduce_res_negate": True}
            if i == 2:
                options["reduce_res"] = row
            nisa.tensor_scalar_reduce(dst, loaded(x[i]), nl.add, 1.0, op, **options)
        return saved(dst), saved(row), saved(negated)

    parts = ufunc.reduce(a + 1, axis=2)
    if start != "reset":
        begin = np.full(P, 3, F32) if start == "number" else first[:, 0]
        parts[0] = ufunc(begin, parts[0])
    states = ufunc.accumulate(parts, axis=0)
    expected = (a[2] + 1, states[2].reshape(P, 1), -states[1].reshape(P, 1))
    assert_kernel_ok(kernel, a, first, expected=expected)


def test_a_cumulative_sum_goes_on_in_a_loop() -> None:
    """The scan of rows in pieces is the scan of the whole."""
    a = whole(P, 4 * F)

    def value(x: Any) -> Any:
        out = fl.ndarray((P, 4 * F), dtype=fl.float32, buffer=fl.shared_hbm)
        piece = fl.ndarray((P, F), dtype=fl.float32, buffer=fl.sbuf)
        command = fisa.reduce_cmd
        i, j = fl.mgrid[0:P, 0:F]
        zero = fl.zeros((P, F), dtype=fl.float32, buffer=fl.sbuf)
        fisa.tensor_scalar_cumulative(
            src=zero, dst=piece, op0=np.add, op1=np.add, imm0=0.0, imm1=5.0,
            reduce_cmd=command.load_reduce,
        )  # fmt: skip
        for k in fl.sequential_range(4):
            fisa.tensor_scalar_cumulative(
                src=fl.load(x[i, k * F + j]), dst=piece, op0=np.multiply, op1=np.add,
                imm0=2.0, reduce_cmd=command.reduce,
            )  # fmt: skip
            fl.store(out[i, k * F + j], piece)
        return out

    (found,) = (functional.jit(value)(a),)
    expected = np.add.accumulate(np.insert(a * 2, 0, 5, axis=1), axis=1)[:, 1:]
    assert np.array_equal(found, expected)
    assert_kernel_ok(functional.jit(value), a, expected=expected)


def test_the_vector_engines_instructions_share_accumulators() -> None:
    a = whole(P, F)
    p = np.random.default_rng(2).integers(0, 2, (P, F), np.uint8)
    low, high = np.full((P, 1), 2, F32), np.full((P, 1), 9, F32)

    def destination(x: Any, y: Any, u: Any, v: Any) -> Any:
        dst, row, given = tile(P, F), tile(P, 1), loaded(x)
        nisa.range_select(
            dst, given, nl.greater_equal, nl.less, loaded(u), loaded(v),
            reduce_cmd=reset_reduce,
        )  # fmt: skip
        # An instruction without reduce_cmd is none of the family.
        nisa.tensor_tensor(given, given, given, nl.add)
        nisa.select_reduce(
            dst, loaded(y), given, -100.0, reduce_res=row, reduce_cmd=reduce
        )
        return saved(dst), saved(row)

    def value(x: Any, y: Any, u: Any, v: Any) -> Any:
        dst = fl.ndarray((P, F), dtype=fl.float32, buffer=fl.sbuf)
        row = fl.ndarray((P, 1), dtype=fl.float32, buffer=fl.sbuf)
        given, command = fl.load(x), fisa.reduce_cmd
        fisa.range_select(
            on_true_tile=given, comp_op0=np.greater_equal, comp_op1=np.less,
            bound0=fl.load(u), bound1=fl.load(v), reduce_cmd=command.reset_reduce,
        )  # fmt: skip
        twice = fisa.tensor_tensor(given, given, np.add)
        fisa.select_reduce(
            dst=dst, predicate=fl.load(y), on_true=twice,
            on_false=-100.0, reduce_res=row, reduce_cmd=command.reduce,
        )  # fmt: skip
        return stored(dst), stored(row)

    chosen = np.where(p, 2 * a, F32(-100))
    row = np.maximum(a[:, 2:9].max(1), chosen.max(1)).reshape(P, 1)
    for made, jit in ((destination, nki.jit), (value, functional.jit)):
        assert_kernel_ok(jit(platform_target="trn3")(made), a, p, low, high,
                         expected=(chosen, row))  # fmt: skip


def _last_best(a: Array, magnitude: Array) -> Array:
    """With its sign, the last of a row that has the magnitude."""
    return np.array(
        [row[np.abs(row) == m][-1] for row, m in zip(a, magnitude, strict=True)], F32
    )


FOLDS: dict[str, Callable[[Array], Array]] = {
    "add": lambda a: a.sum(1),
    "maximum": lambda a: a.max(1),
    "minimum": lambda a: a.min(1),
    "abs_max": lambda a: _last_best(a, np.abs(a).max(1)),
    "abs_min": lambda a: _last_best(a, np.abs(a).min(1)),
}


@pytest.mark.parametrize("name", FOLDS)
def test_activate2_folds(name: str) -> None:
    op, a, b = getattr(nl, name), whole(P, F), whole(P, 1, seed=4)

    def kernel(x: Any, y: Any) -> Any:
        dst, row, given = tile(P, F), tile(P, 1), loaded(x)
        nisa.activate2(
            dst, nl.copy, given, 2.0, loaded(y), nl.multiply, nl.add,
            reduce_op=op, reduce_cmd=reset_reduce,
        )  # fmt: skip
        nisa.activate2(
            dst, nl.copy, given, 1.0, None, nl.multiply, None,
            reduce_op=op, reduce_res=row, reduce_cmd=reduce,
        )  # fmt: skip
        return saved(dst), saved(row)

    row = FOLDS[name](np.concatenate([a * 2 + b, a], axis=1)).reshape(P, 1)
    assert_kernel_ok(kernel, a, b, expected=(a, row))


@pytest.mark.parametrize("first", [4.0, "column"])
def test_exponential_goes_on(first: Any) -> None:
    a, b = np.where(whole(P, F) > 0, F32(0), F32(-np.inf)), whole(P, 1, seed=5)

    def kernel(x: Any, y: Any) -> Any:
        dst, row, given, init = tile(P, F), tile(P, 1), loaded(x), loaded(y)
        begin = init if first == "column" else first
        nisa.exponential(dst, given, reduce_cmd=load_reduce, reduce_init=begin)
        nisa.exponential(dst, given, 0.0, row, reduce)
        return saved(dst), saved(row)

    ones = np.exp(a)
    start = b if first == "column" else F32(4)
    row = start + 2 * ones.sum(1, keepdims=True)
    assert_kernel_ok(kernel, a, b, expected=(ones, row))


def test_partitions_have_accumulators_of_their_own() -> None:
    """Two chains on other partitions, in turn; a partition of one row."""
    a, b = whole(64, F), whole(64, F, seed=9)

    def kernel(x: Any, y: Any) -> Any:
        dst, row, given, other = tile(64, F), tile(64, 1), loaded(x), loaded(y)
        low, high, one = slice(0, 32), slice(32, 64), slice(32, 33)
        for command, source in ((reset_reduce, given), (reduce, other)):
            for rows in (low, high):
                nisa.tensor_scalar_reduce(
                    dst[rows], source[rows], nl.multiply, 1.0, nl.add, row[rows],
                    reduce_cmd=command,
                )  # fmt: skip
        nisa.tensor_scalar_reduce(
            dst[one, 0:1], given[one, 0:1], nl.multiply, 1.0, nl.add, row[one],
            reduce_cmd=reduce,
        )  # fmt: skip
        return saved(row)

    expected = (a + b).sum(1, keepdims=True)
    expected[32] += a[32, 0]
    assert_kernel_ok(kernel, a, b, expected=expected)


BODY = """
%r = penguin.alloc : <16x1xf32, sbuf>
penguin.tensor_scalar_cache_reduce mult add %t[0, 0][1 x 16, 1 x 40] <- %x0
    {imm0 = 1.0}
penguin.for sequential %i = 0 to 2 {
  penguin.tensor_scalar_cache_reduce mult add %t[0, 0][1 x 16, 1 x 40] <- %x0,
      reduce_res = %r {imm0 = 1.0, command = AddAccumulate}
  CLOBBER
}
penguin.tensor_copy %t[0, 40][1 x 16, 1 x 1] <- %r
"""
SELECT = (
    "penguin.select_reduce %t[0, 0][1 x 16, 1 x 40] <- %x1, %x0 "
    "{on_false_imm = 0.0, command = Idle}"
)


@pytest.mark.parametrize("memory", ["poison", "zero"])
def test_idle_leaves_the_vector_engines_accumulators_undefined(memory: Any) -> None:
    """In a loop the gate does not see it; the second iteration reads what is there."""
    a = whole(16, 40)
    text = compute(
        BODY.replace("CLOBBER", SELECT), "16x40xf32", "16x40xu8", out="16x41xf32"
    )
    (found,) = simulate(
        reread(text),
        [a, np.ones((16, 40), np.uint8)],
        MachineOptions(uninitialized_memory=memory),
    )
    expected = np.full(16, np.nan) if memory == "poison" else a.sum(1)
    np.testing.assert_array_equal(found[:, 40], expected)


def test_an_interpreter_of_xdsl_keeps_the_accumulators() -> None:
    a = whole(16, 40)
    text = compute(BODY.replace("CLOBBER", ""), "16x40xf32", out="16x41xf32")
    (expected,) = run(text, a)
    assert np.array_equal(expected[:, 40], 3 * a.sum(1))
    module = reread(text)
    interpreter = Interpreter(module)
    interpreter.register_implementations(NeuronFunctions())
    function = next(iter(module.ops))
    results = interpreter.run_ssacfg_region(function.regions[0], (a,), "f")
    assert np.array_equal(results[0], expected)


def test_a_wide_type_is_read_by_the_back_ends_instructions() -> None:
    """Read instructions cast to their destination; `negated` changes the sign."""
    a = random((16, 40))
    text = """
builtin.module attributes {neuron.target = #neuron.target<trn2>} {
bir.func @f {
  %a = bir.location @a ExternalInput : <16x40xf32, hbm>
  %o = bir.location @o ExternalOutput : <3x16x1xbf16, hbm>
  %x = bir.location @x : <16x40xf32, sbuf>
  %t = bir.location @t : <16x40xf32, sbuf>
  %r = bir.location @r : <16x3xbf16, sbuf>
  bir.load @I0 %x <- %a
  bir.activation_accumulation @I1 Copy %t <- %x
  bir.tensor_scalar_cache_reduce @I2 mult max %t <- %x {imm0 = 1.0}
  bir.read_activation_accumulator @I3 %r[0, 0][1 x 16, 1 x 1]
  bir.activation_read_accumulator @I4 %r[0, 1][1 x 16, 1 x 1]
  bir.dve_read_accumulator @I5 %r[0, 2][1 x 16, 1 x 1] {negated}
  bir.save @I6 %o[0][1 x 16, 16 x 3] <- %r
  bir.return o = %o
}
}
"""
    (found,) = run(text, a)
    bf16 = ml_dtypes.bfloat16
    sums = a.sum(1).astype(bf16)
    assert np.array_equal(found[0, :, 0], sums)
    assert np.array_equal(found[1, :, 0], sums)
    assert np.array_equal(found[2, :, 0], -a.max(1).astype(bf16))


REFUSED: dict[str, Callable[[Any, Any], Any]] = {
    "no instruction in front of it has reset": lambda x, r: nisa.tensor_scalar_reduce(
        x, x, nl.add, 1.0, nl.add, r, reduce_cmd=reduce
    ),
    "command Zero .reset. is not supported": lambda x, r: nisa.select_reduce(
        x, x, x, 0.0, reduce_cmd=reset
    ),
    "is given with command LoadAccumulate": lambda x, r: nisa.exponential(
        x, x, reduce_res=r, reduce_cmd=reset_reduce, reduce_init=1.0
    ),
    "negate changes the sign of reduce_res": lambda x, r: nisa.tensor_scalar_reduce(
        x, x, nl.add, 1.0, nl.add, reduce_res_negate=True
    ),
    "takes imm1 only with": lambda x, r: nisa.tensor_scalar_cumulative(
        x, x, nl.add, nl.add, 0.0, 1.0
    ),
    "starts with a value: give imm1": lambda x, r: nisa.tensor_scalar_cumulative(
        x, x, nl.add, nl.add, 0.0, None, load_reduce
    ),
    "starts with a value: give reduce_init": lambda x, r: nisa.tensor_scalar_reduce(
        x, x, nl.add, 1.0, nl.add, r, reduce_cmd=load_reduce
    ),
    "reduce_op max is not supported": lambda x, r: nisa.activation(
        x, nl.copy, x, reduce_op=nl.maximum, reduce_res=r, reduce_cmd=reset_reduce
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals_at_the_kernels_line(message: str) -> None:
    def kernel(x: Any) -> Any:
        given = tile(P, F, dtype=nl.uint8) if "Zero" in message else loaded(x)
        REFUSED[message](given, tile(P, 1))
        return saved(given)

    with pytest.raises(NKIError, match=message) as raised:
        nki.trace(kernel)(tensor_spec("f32", (P, F)))
    assert raised.value.location is not None
