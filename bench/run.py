"""
Benchmarks as ratios measured in one run: `python bench/run.py [part ...]`.

Parts: `kernels` (our cold and warm simulation to a hand-written NumPy tile loop and to
one-shot NumPy), `text` (our custom form to xDSL's generic form), `startup` (our
commands to plain xDSL's). One BLAS thread. Everything is printed as Markdown; with
`--readme` it replaces what README shows of the run before.
"""

import os

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import argparse
import datetime
import gc
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
BEGIN = "<!-- printed by `python bench/run.py --readme`, from here -->\n"
END = "<!-- to here -->\n"

Lines = Iterator[str]


def table(*head: str) -> Lines:
    """The head of a Markdown table."""
    yield row(*head)
    yield row(*("---" for _ in head))


def row(*cells: str) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def ratio(value: float) -> str:
    """A ratio in the digits that are worth reading; NaN is a ratio there is not."""
    return "-" if value != value else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def machine() -> Lines:
    """When and on what the figures were measured."""
    from importlib.metadata import version

    today = datetime.date.today().isoformat()
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "xdsl"))
    yield (
        f"Measured on {today}: {_processor()}, {os.cpu_count()} cores,"
        f" Python {platform.python_version()}, {packages}."
    )


def _processor() -> str:
    """The processor's own name where the system tells it, else its architecture."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line for line in text.splitlines() if line.startswith("model name")]
    return names[0].partition(": ")[2] if names else platform.machine()


def best(function: Callable[[], object], seconds: float = 0.6) -> float:
    """Least time of repeated calls, in seconds."""
    function()
    least, stop = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < stop:
        start = time.perf_counter()
        function()
        least = min(least, time.perf_counter() - start)
    return least


def kernels() -> Lines:
    """Cold and warm simulation against NumPy."""
    import xdsl_neuron.nki

    xdsl_neuron.nki.install()
    sys.path.insert(0, str(HERE))
    import baselines
    import kernels as ours
    import nki

    yield from table(
        "case",
        "warm / NumPy tile loop",
        "warm / one-shot NumPy",
        "cold / NumPy tile loop",
        "cold, ms",
    )
    for case in baselines.cases():
        run = nki.simulate(getattr(ours, case.kernel))
        start = time.perf_counter()
        result = np.asarray(run(*case.arguments), np.float32)
        cold = time.perf_counter() - start
        expected = np.asarray(case.tile_loop(), np.float32)
        error = float(np.abs(result - expected).max())
        if error > case.tolerance:
            sys.exit(f"{case.name}: wrong by {error}")
        tile = best(case.tile_loop)
        warm = best(lambda run=run, case=case: run(*case.arguments))
        tile = min(tile, best(case.tile_loop))
        shot = best(case.one_shot) if case.one_shot is not None else float("nan")
        ratios = warm / tile, warm / shot, cold / tile
        yield row(case.name, *map(ratio, ratios), f"{cold * 1e3:.0f}")


def _text_module(count: int) -> str:
    body = "".join(
        f"    penguin.tensor_tensor @I{n} add %t <- %t, %t[0, 0][1 x 128, 1 x 512]"
        " {engine = DVE}\n"
        "    penguin.sb_atom_load %t <- %a[%i * 65536][512 x 128, 1 x 512]\n"
        for n in range(count // 2)
    )
    return (
        "penguin.func @f(a = %a: !neuron.tensor<512x512xf32, hbm>) {\n"
        "  penguin.for parallel %i = 0 to 4 {\n"
        "    %t = penguin.alloc : <128x512xf32, sbuf>\n"
        f"{body}  }}\n}}\n"
    )


def text() -> Lines:
    """Parsing and printing an instruction, custom against xDSL's generic form."""
    from xdsl.context import Context
    from xdsl.dialects.builtin import Builtin, ModuleOp
    from xdsl.parser import Parser
    from xdsl.printer import Printer

    from xdsl_neuron.dialects import register_dialects

    context = Context()
    context.load_dialect(Builtin)
    register_dialects(context)
    count = 2000
    source = _text_module(count)

    def parse(text: str) -> ModuleOp:
        return Parser(context, text).parse_module()

    def printed(module: ModuleOp, generic: bool) -> str:
        stream = StringIO()
        Printer(stream, print_generic_format=generic).print_op(module)
        return stream.getvalue()

    module = parse(source)
    generic = printed(module, True)
    gc.collect()
    times = {
        "parse": (best(lambda: parse(source), 2), best(lambda: parse(generic), 4)),
        "print": (
            best(lambda: printed(module, False), 1),
            best(lambda: printed(module, True), 2),
        ),
    }
    yield from table("an instruction's text", "custom form, us", "generic / custom")
    for name, (ours, theirs) in times.items():
        yield row(name, f"{ours / count * 1e6:.1f}", ratio(theirs / ours))


def _command(*arguments: str) -> float:
    def run() -> None:
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)

    return best(run, 4)


def startup() -> Lines:
    """Whole commands against plain xDSL's."""
    scripts = Path(sys.executable).parent
    imports = _command(
        sys.executable, "-c", "import numpy, ml_dtypes, xdsl.xdsl_opt_main"
    )
    small = _text_module(14)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "small.mlir"
        file.write_text(small)
        generic = Path(folder) / "generic.mlir"
        plain = subprocess.run(
            [scripts / "neuron-opt", file, "--print-op-generic"],
            check=True,
            capture_output=True,
            text=True,
        )
        generic.write_text(plain.stdout)
        ours = _command(str(scripts / "neuron-opt"), str(file))
        theirs = _command(str(scripts / "xdsl-opt"), str(file))
        yield from table("command", "against", "ratio")
        yield row("`neuron-opt` on 20 lines", "`xdsl-opt`", ratio(ours / theirs))
    kernel = str(HERE / "matmul_512.py")
    run = str(scripts / "neuron-run")
    for level in ("penguin", "dma"):
        whole = _command(run, "--level", level, kernel)
        what = f"`neuron-run --level {level}` of a 512^3 matmul"
        yield row(what, "importing NumPy and xDSL's driver", ratio(whole / imports))


PARTS = {"kernels": kernels, "text": text, "startup": startup}


def report(parts: list[str]) -> Lines:
    """The Markdown of the named parts, as they are measured."""
    yield from machine()
    for part in parts:
        yield ""
        yield from PARTS[part]()


def write_readme(text: str) -> None:
    """Puts a run in the place of the one README shows."""
    before, _, rest = README.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}{text}{END}{after}")


def main() -> None:
    """Runs the named parts, all by default."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--readme", action="store_true", help="rewrite README's table")
    options = parser.parse_args()
    lines: list[str] = []
    for line in report(options.part or list(PARTS)):
        print(line, flush=True)
        lines.append(line + "\n")
    if options.readme:
        write_readme("".join(lines))


if __name__ == "__main__":
    main()
