"""
Kernels of one instruction at every level, against the statement in `oracle`.

    python test/oracle_run.py --count 2000 [--first 0] [NAME ...]

Each number is a kernel of each instruction; one that fails is printed with its text.
"""

import argparse
import sys
import traceback
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from random import Random

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from levels import context, parse, print_module
from oracle.every import ORACLES
from oracle.kernel import Draw, Oracle, Tile, tensor_type
from oracle.numbers import Array, differing
from random_kernels import FAILURES
from xdsl.dialects.builtin import ModuleOp

from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.machine import prepare, simulate_ranks
from xdsl_neuron.passes.pipelines import BirToDma, PenguinToBir

SHAPES = "give all operands "
"""A mask over dimensions that an operand cannot be seen with is refused."""


def text_of(d: Draw) -> str:
    """The kernel, as a module of penguin."""
    functions = [_function("f", d, d.steps)]
    if d.peers:
        functions = [_function(f"f{n}", d, steps) for n, steps in enumerate(d.peers)]
    return (
        f"builtin.module attributes {{neuron.target = #neuron.target<{d.target}>}} {{\n"
        + "\n".join(functions)
        + "\n}\n"
    )


def _function(name: str, d: Draw, steps: list[str]) -> str:
    """A function that loads the tiles, acts, and returns what was written."""
    arguments, lines, returned = list[str](), list[str](), list[str]()
    for tile in d.tiles:
        kind = f"{tensor_type(tile)}"
        in_memory = tile.space == "hbm"
        inout = "inout " if in_memory and tile.name in d.expected else ""
        value = f"%{tile.name}" if in_memory else f"%a_{tile.name}"
        arguments.append(f"{inout}a_{tile.name} = {value}: !neuron.tensor<{kind}, hbm>")
        if not in_memory:
            lines.append(f"%{tile.name} = penguin.alloc : <{kind}, {tile.space}>")
            lines += _moved(tile, f"%{tile.name}", value, "in")
    lines += steps
    for key, expected in d.expected.items():
        tile = expected.tile
        if tile.space == "hbm":
            returned.append(f"o_{key} = %{key}")
            continue
        returned.append(f"o_{key} = %o_{key}")
        lines.append(f"%o_{key} = penguin.alloc : <{tensor_type(tile)}, hbm>")
        lines += _moved(tile, f"%o_{key}", f"%{key}", "out")
    body = "\n  ".join(lines)
    return (
        f"penguin.func @{name}({', '.join(arguments)}) {{\n  {body}\n"
        f"  penguin.return {', '.join(returned)}\n}}"
    )


def _moved(tile: Tile, dst: str, src: str, way: str) -> list[str]:
    """A copy of every bit; PSUM is reached through SBUF."""
    if tile.space != "psum":
        return [f"penguin.dma_copy {dst} <- {src}"]
    between = f"%{way}_{tile.name}"
    first, second = (
        (
            f"penguin.dma_copy {between} <- {src}",
            f"penguin.tensor_copy {dst} <- {between}",
        )
        if way == "in"
        else (
            f"penguin.tensor_copy {between} <- {src}",
            f"penguin.dma_copy {dst} <- {between}",
        )
    )
    return [f"{between} = penguin.alloc : <{tensor_type(tile)}, sbuf>", first, second]


def replaced(d: Draw, module: ModuleOp) -> ModuleOp:
    """At level bir, the instructions penguin has no word for in their places."""
    if not d.instead:
        return module
    lines = print_module(module).split("\n")
    for number, line in enumerate(lines):
        if line.strip().startswith("bir.func"):
            lines[number] = "\n".join((line, *d.declared))
        for name, text in d.instead.items():
            if f" @{name} " in line:
                lines[number] = text
    return parse("\n".join(lines))


def outcome(d: Draw, module: ModuleOp) -> dict[str, Array]:
    """What each written tensor holds after a run."""
    program = prepare(module)
    arrays = {f"a_{tile.name}": tile.array.copy() for tile in d.tiles}
    inputs = [arrays[port.name] for port in program.inputs]
    with redirect_stdout(StringIO()):
        outputs = program.run(inputs)
    found = {
        port.name.removeprefix("o_"): array
        for port, array in zip(program.outputs, outputs, strict=True)
    }
    for port, array in zip(program.inputs, inputs, strict=True):
        if port.mutable:
            found[port.name.removeprefix("a_")] = array
    return found


def compare_ranks(d: Draw, level: str, module: ModuleOp, text: str) -> None:
    """Every byte of what each rank has written."""
    count = len(next(iter(d.ranks.values())))
    arrays = [
        [d.ranks.get(tile.name, [tile.array] * count)[rank].copy() for tile in d.tiles]
        for rank in range(count)
    ]
    entry = [f"f{number}" for number in range(len(d.peers))] or None
    simulated = simulate_ranks(module, [list(each) for each in arrays], entry=entry)
    for name, expected in d.rank_results.items():
        (tile,) = (tile for tile in d.tiles if tile.name == name)
        for rank, want in enumerate(expected):
            if tile.space == "hbm":
                got = arrays[rank][d.tiles.index(tile)]
            else:
                got = simulated[rank][list(d.expected).index(name)]
            assert got.tobytes() == np.ascontiguousarray(want).tobytes(), (
                f"{level}: %{name} of rank {rank} holds {got}, expected {want}\n{text}"
            )


def compare(d: Draw, level: str, found: dict[str, Array], text: str) -> None:
    """Every element of every written tensor."""
    for name, expected in d.expected.items():
        got = found[name].reshape(-1)
        before = expected.tile.array.reshape(-1)
        untouched = np.ones(got.shape, bool)
        for places, want in expected.wants:
            untouched[places.reshape(-1)] = False
            wrong = differing(got[places], want, expected.tile.dtype)
            if wrong.any():
                values = getattr(want, "stored", getattr(want, "values", None))
                raise AssertionError(
                    f"{level}: {wrong.sum()} of {wrong.size} elements of %{name} differ"
                    f": got {got[places][wrong][:6]}, expected "
                    f"{np.asarray(values)[wrong][:6]}\n{text}"
                )
        same = got.view(f"u{got.itemsize}") == before.view(f"u{before.itemsize}")
        assert (same | ~untouched).all(), f"{level}: %{name} changed elsewhere\n{text}"


def check(oracle: Oracle, choices: Random) -> set[str]:
    """One kernel at the levels that have it; the names of its operations at all."""
    d = Draw(choices)
    with np.errstate(all="ignore"):
        oracle(d)
    text = text_of(d)
    met = set[str]()
    try:
        _check_levels(d, text, met)
    except DiagnosticError as error:
        if SHAPES not in str(error):
            raise AssertionError(f"{error}\n{text}") from error
    return met


def _check_levels(d: Draw, text: str, met: set[str]) -> None:
    module = parse(text)

    def run(level: str) -> None:
        met.update(operation.name for operation in module.walk())
        if d.ranks:
            compare_ranks(d, level, module.clone(), text)
        else:
            compare(d, level, outcome(d, module.clone()), text)

    if not d.instead:
        run("penguin")
    PenguinToBir().apply(context(), module)
    module = replaced(d, module)
    run("bir")
    BirToDma().apply(context(), module)
    run("dma")


def main() -> int:
    """Runs kernels by number; the exit status says whether all agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--most", type=int, default=1, help="failures to show of each")
    options = parser.parse_args()
    failed = 0
    for names, oracle in ORACLES.items():
        if options.names and not set(names) & set(options.names):
            continue
        name, failures = names[0], 0
        for number in range(options.first, options.first + options.count):
            try:
                check(oracle, Random(number))
            except FAILURES as error:
                failures += 1
                if failures <= options.most:
                    print(f"{name} {number}: {type(error).__name__}: {error}")
                    if not isinstance(error, AssertionError):
                        traceback.print_exc(limit=-3)
        print(f"{name}: {options.count - failures} of {options.count} kernels agree")
        failed += failures
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
