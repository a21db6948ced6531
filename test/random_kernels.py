"""
Random kernels of the builder's methods for memory and DMA: NumPy and every level.

    python test/random_kernels.py --count 20000 [--first 0]

Each number is a kernel; one that fails is printed with its text and can be run alone.
"""

import argparse
import sys
import traceback
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from movement_build import Kernel
from movement_draw import draw
from movement_reference import Reference
from random_steps import Plan
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.machine import prepare
from xdsl_neuron.passes.pipelines import BirToDma, PenguinToBir
from xdsl_neuron.testing import context, printed, reread
from xdsl_neuron.tracer.options import NO_OPTIONS, TraceOptions
from xdsl_neuron.verification import verify

Array = npt.NDArray[Any]
FAILURES = (
    AssertionError,
    DiagnosticError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
    VerifyException,
)
"""What a wrong kernel, pass or machine raises."""


def outcome(plan: Plan, module: ModuleOp) -> dict[str, Array]:
    """What a module leaves in its inputs and outputs, by tensor."""
    program = prepare(module)
    inputs = [plan.arrays[port.name].copy() for port in program.inputs]
    outputs = program.run(inputs)
    found = {
        port.name: array
        for port, array in zip(program.inputs, inputs, strict=True)
        if port.mutable
    }
    for port, array in zip(program.outputs, outputs, strict=True):
        found[port.name.removeprefix("out_")] = array
    return found


def compare(
    level: str, found: dict[str, Array], expected: dict[str, Array], text: str
) -> None:
    """Every byte is what NumPy says."""
    for name, array in found.items():
        if array.tobytes() != expected[name].tobytes():
            where = np.flatnonzero((array != expected[name]).astype(bool).reshape(-1))
            raise AssertionError(
                f"{level}: '{name}' differs at {where[:8].tolist()}, got "
                f"{array.reshape(-1)[where[:8]].tolist()}, expected "
                f"{expected[name].reshape(-1)[where[:8]].tolist()}\n{text}"
            )


def check(
    plan: Plan, *, from_text: bool, bound: int, options: TraceOptions = NO_OPTIONS
) -> None:
    """A plan's kernel at every level; `bound` unrolls it in part or not at all."""
    module = Kernel(plan, options).module()
    verify(module)
    text = printed(module)
    if from_text:
        module = reread(text)
        assert printed(module) == text, "the text changes when read again"
    expected = Reference(plan).run()
    compare("penguin", outcome(plan, module.clone()), expected, text)
    PenguinToBir().apply(context(), module)
    verify(module)
    compare("bir", outcome(plan, module.clone()), expected, text)
    BirToDma(max_instructions=bound).apply(context(), module)
    verify(module)
    compare("dma", outcome(plan, module), expected, text)


def check_random(random: Random) -> None:
    """One random kernel."""
    plan = draw(random)
    from_text = random.randint(0, 9) == 0
    bound = random.choice((20000, 20000, 1))
    options = TraceOptions(
        enable_const_rewrite=random.randint(0, 3) == 0,
        enable_scalar_expansion=random.randint(0, 3) == 0,
    )
    check(plan, from_text=from_text, bound=bound, options=options)


def main() -> int:
    """Runs kernels by number; the exit status says whether all agree."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--most", type=int, default=20, help="failures to show")
    options = parser.parse_args()
    failures = 0
    for number in range(options.first, options.first + options.count):
        try:
            check_random(Random(number))
        except FAILURES as error:
            failures += 1
            if failures <= options.most:
                print(f"kernel {number}: {type(error).__name__}: {error}")
                traceback.print_exc(limit=-3)
    print(f"{options.count - failures} of {options.count} kernels agree")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
