"""Random functions give the same bytes at every level, unrolled and rolled."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import HealthCheck, given, settings, strategies as st
from levels import after, parse, run
from xdsl.passes import ModulePass

from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.passes.pipelines import BirToDma, PenguinToBir

T = TypeVar("T")

PARTITIONS, COLUMNS, TRIPS, INNER = 8, 12, 3, 2
TILES = {"f": "f32", "g": "bf16", "h": "f32", "n": "i32", "k": "u32"}
PSUM = "acc"


@dataclass(frozen=True)
class View:
    """An access of `rows` partitions and `columns` elements of a tile, as text."""

    text: str
    rows: int
    columns: int


@st.composite
def views(draw: st.DrawFn, rows: int, columns: int, loops: int) -> View:
    """Somewhere in a tile, moving with the loops as far as there is room."""
    step = draw(st.integers(1, max(1, (COLUMNS - 1) // max(columns - 1, 1))))
    room = COLUMNS - 1 - step * (columns - 1)
    terms: list[str] = []
    for index, trips in (("%i", TRIPS), ("%j", INNER))[:loops]:
        factor = draw(st.integers(0, room // (trips - 1)))
        room -= factor * (trips - 1)
        if factor:
            terms.append(f"{index} * {factor}")
    offset = " + ".join([*terms, str(draw(st.integers(0, room)))])
    start = draw(st.integers(0, PARTITIONS - rows))
    text = f"[{start}, {offset}][1 x {rows}, {step} x {columns}]"
    return View(text, rows, columns)


def predicates(loops: int, lanes: int) -> st.SearchStrategy[str]:
    small = st.integers(-4, 9)
    index = st.sampled_from(
        ["0", "%i", "%i * -1", "%i * 2", "%j", "%i + %j * -1"][: 3 * loops + 1]
    )
    lane = st.sampled_from([f"l{n}" for n in range(lanes)])
    box = st.builds("{} - {} + {} >= 0".format, index, lane, small)
    lower = st.builds("{} + {} - {} >= 0".format, index, lane, st.integers(0, 4))
    guard = st.builds("{} + {} >= 0".format, index, st.integers(-2, 2))
    pair = st.builds("{} - {} + {} + {} >= 0".format, lane, lane, index, small)
    mod = st.builds("({} + {}) mod {} - 1 >= 0".format, lane, index, st.integers(2, 4))
    half = st.builds(
        "({} + {}) floordiv {} - {} >= 0".format, lane, lane, st.integers(2, 4), index
    )
    return st.one_of(box, lower, guard, pair, mod, half)


@st.composite
def masks(draw: st.DrawFn, loops: int, lanes: int = 2) -> str:
    found = draw(st.lists(predicates(loops, lanes), max_size=2))
    return f" where {' and '.join(found)}" if found else ""


@st.composite
def instructions(draw: st.DrawFn, loops: int) -> str:
    rows, columns = draw(st.integers(1, PARTITIONS)), draw(st.integers(1, 6))
    tile = st.sampled_from(sorted(TILES))

    shown: list[tuple[str, int, str]] = []

    def view(name: str | None = None, columns: int = columns) -> str:
        """An access of a tile: one already seen as a whole again, or another tile."""
        if shown and name is None and draw(st.integers(0, 3)) == 0:
            same = [text for _, wide, text in shown if wide == columns]
            if same:
                return same[0]
        seen = {other for other, _, _ in shown}
        chosen = name or draw(tile.filter(lambda other: other not in seen))
        text = f"%{chosen}{draw(views(rows, columns, loops)).text}"
        shown.append((chosen, columns, text))
        return text

    mask = draw(masks(loops))
    floats = st.sampled_from(["f", "g", "h"])
    match draw(st.integers(0, 10)):
        case 0:
            op = draw(st.sampled_from(["add", "max", "is_gt", "logical_and"]))
            return f"penguin.tensor_tensor {op} {view()} <- {view()}, {view()}{mask}"
        case 1:
            fields = "{imm0 = 0.75, op1 = add, imm1 = -2.0}"
            return f"penguin.tensor_scalar_ptr mult {view()} <- {view()}{mask} {fields}"
        case 2:
            scalar = view(draw(floats), 1)
            return (
                f"penguin.tensor_scalar_ptr subtract {view()} <- {view()}, "
                f"scalar0 = {scalar}{mask} {{reverse0}}"
            )
        case 3:
            return f"penguin.tensor_copy {view()} <- {view()}{mask}"
        case 4:
            value = draw(st.sampled_from(["1.5", "-3", "0"]))
            return f"penguin.memset {view()}{mask} {{value = {value}}}"
        case 5:
            value = " + ".join(["l0 * 5 - l1", *["%i * 100", "%j"][:loops]])
            return f"penguin.index_value {view()}{mask} {{value = {value}}}"
        case 6:
            name, other = draw(st.permutations(["f", "h"]))
            return (
                f"penguin.tensor_copy_predicated {view(name)} <- {view('k')}, "
                f"src = {view(other)}{mask}"
            )
        case 7:
            op = draw(st.sampled_from(["add", "max", "min", "logical_or"]))
            name = draw(floats)
            return (
                f"penguin.tensor_reduce {op} {view(name, 1)} <- {view()}{mask} "
                "{axes = [1]}"
            )
        case 8:
            m, n = draw(st.integers(1, PARTITIONS)), columns
            dst = draw(views(m, n, loops))
            left = f"%g{draw(views(rows, m, loops)).text}"
            lanes = draw(masks(loops, 2))
            return (
                f"penguin.matmul %{PSUM}{dst.text} <- {left}, %g"
                f"{draw(views(rows, n, loops)).text}{lanes}"
            )
        case 9:
            source = (
                f"%in[{'%i + ' if loops else ''}1][{COLUMNS} x {rows}, 2 x {columns}]"
            )
            if columns > 5:
                return (
                    f"penguin.tensor_copy {view()} <- %{PSUM}[0, 0][1 x {rows}, 1 x 6]"
                )
            return f"penguin.sb_atom_load {view()} <- {source}{mask}"
        case _:
            to = f"%out[{'%i' if loops else '0'}][{COLUMNS} x {rows}, 1 x {columns}]"
            add = draw(st.sampled_from(["", " {rmw_op = add}"]))
            return f"penguin.sb_atom_store {to} <- {view()}{mask}{add}"


@st.composite
def functions(draw: st.DrawFn) -> str:
    shape = f"{PARTITIONS}x{COLUMNS}"
    some = st.integers(0, 3)
    lines = [
        "penguin.func @f("
        f"in = %in: !neuron.tensor<{shape}xf32, hbm>, "
        f"inout out = %out: !neuron.tensor<{PARTITIONS + 1}x{COLUMNS}xf32, hbm>) {{",
        f"%{PSUM} = penguin.alloc init 0.0 : <{shape}xf32, psum>",
    ]
    for name, dtype in TILES.items():
        lines.append(f"%{name} = penguin.alloc init 2 : <{shape}x{dtype}, sbuf>")
    lines += draw(st.lists(instructions(0), max_size=3))
    lines.append(f"penguin.for sequential %i = 0 to {TRIPS} {{")
    lines += [draw(instructions(1)) for _ in range(draw(some))]
    lines.append(f"penguin.for parallel %j = 0 to {INNER} {{")
    lines += [draw(instructions(2)) for _ in range(draw(some))]
    lines += ["}", *draw(st.lists(instructions(1), max_size=1)), "}"]
    results: list[str] = []
    for name, dtype in (*TILES.items(), (PSUM, "f32")):
        lines.append(f"%out_{name} = penguin.alloc : <{shape}x{dtype}, hbm>")
        source = name
        if name == PSUM:
            source = "copied"
            lines.append(f"%{source} = penguin.alloc : <{shape}xf32, sbuf>")
            lines.append(f"penguin.tensor_copy %{source} <- %{PSUM}")
        lines.append(f"penguin.sb_atom_store %out_{name} <- %{source}")
        results.append(f"{name} = %out_{name}")
    return "\n".join([*lines, f"penguin.return {', '.join(results)}", "}"])


@given(functions())
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_functions_agree(penguin: str) -> None:
    # A gate refuses what no level can say of a mask.
    if accepted(lambda: parse(penguin), "takes a remainder") is None:
        return
    expected = run(penguin)
    bir = lowered(penguin, PenguinToBir(), "takes a remainder")
    if bir is None:
        return
    assert run(bir) == expected
    assert run(after(bir, BirToDma())) == expected
    for bound in (4, 1):
        dma = lowered(bir, BirToDma(max_instructions=bound), "finds fresh elements")
        assert dma is None or run(dma) == expected


def lowered(text: str, step: ModulePass, refusal: str) -> str | None:
    """The text after a pass, None where it refuses in these words."""
    return accepted(lambda: after(text, step), refusal)


def accepted(make: Callable[[], T], refusal: str) -> T | None:
    """What is made, None where that is refused in these words."""
    try:
        return make()
    except DiagnosticError as error:
        if refusal not in str(error):
            raise
        return None
