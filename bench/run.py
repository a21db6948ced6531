"""
Benchmarks as ratios measured in one run: `python bench/run.py [part ...]`.

Parts: `kernels` (our cold and warm simulation to a hand-written NumPy tile loop and to
one-shot NumPy), `text` (our custom form to xDSL's generic form), `startup` (our
commands to plain xDSL's). One BLAS thread.
"""

import os

os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import argparse
import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


def best(function: Callable[[], object], seconds: float = 0.6) -> float:
    """Least time of repeated calls, in seconds."""
    function()
    least, stop = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < stop:
        start = time.perf_counter()
        function()
        least = min(least, time.perf_counter() - start)
    return least


def kernels() -> None:
    """Cold and warm simulation against NumPy."""
    import xdsl_neuron.nki

    xdsl_neuron.nki.install()
    sys.path.insert(0, str(HERE))
    import baselines
    import kernels as ours
    import nki

    head = f"{'case':24}{'one-shot':>10}{'tile loop':>11}{'cold':>9}{'warm':>9}"
    print(f"{head}{'warm/tile':>11}{'warm/one-shot':>15}")
    for case in baselines.cases():
        run = nki.simulate(getattr(ours, case.kernel))
        start = time.perf_counter()
        try:
            result = np.asarray(run(*case.arguments), np.float32)
        except AttributeError as error:
            print(f"{case.name:24}not yet running: {error}")
            continue
        cold = time.perf_counter() - start
        expected = np.asarray(case.tile_loop(), np.float32)
        error = float(np.abs(result - expected).max())
        if error > case.tolerance:
            sys.exit(f"{case.name}: wrong by {error}")
        tile = best(case.tile_loop)
        warm = best(lambda run=run, case=case: run(*case.arguments))
        tile = min(tile, best(case.tile_loop))
        shot = best(case.one_shot) if case.one_shot is not None else float("nan")
        print(
            f"{case.name:24}{shot * 1e3:9.2f}m{tile * 1e3:10.2f}m{cold * 1e3:8.1f}m"
            f"{warm * 1e3:8.2f}m{warm / tile:11.2f}{warm / shot:15.2f}"
        )


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


def text() -> None:
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
    print(f"{'per instruction':24}{'custom':>10}{'generic':>11}{'ratio':>9}")
    for name, (ours, theirs) in times.items():
        scale = 1e6 / count
        print(
            f"{name:24}{ours * scale:9.1f}u{theirs * scale:10.1f}u{theirs / ours:9.2f}"
        )


def _command(*arguments: str) -> float:
    def run() -> None:
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)

    return best(run, 4)


def startup() -> None:
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
        print(f"neuron-opt / xdsl-opt on 20 lines{ours / theirs:9.2f}")
    kernel = str(HERE / "matmul_512.py")
    run = str(scripts / "neuron-run")
    for level in ("penguin", "dma"):
        whole = _command(run, "--level", level, kernel)
        print(
            f"neuron-run of a 512^3 matmul at {level} / imports{whole / imports:9.2f}"
        )


PARTS = {"kernels": kernels, "text": text, "startup": startup}


def main() -> None:
    """Runs the named parts, all by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="*", choices=[*PARTS, []])
    for part in parser.parse_args().part or PARTS:
        PARTS[part]()


if __name__ == "__main__":
    main()
