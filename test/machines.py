"""Runs hand-written modules for the tests of the machine."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp

from xdsl_neuron.dialects import register_dialects
from xdsl_neuron.machine import MachineOptions, Program, Unwritten, prepare
from xdsl_neuron.parsing import parse_module
from xdsl_neuron.passes import get_all_passes
from xdsl_neuron.verification import verify

Array = npt.NDArray[Any]

UNROLLED = MachineOptions()
STREAMED = MachineOptions(max_unrolled_steps=0)
MODES = (UNROLLED, STREAMED)
"""A plan that is kept, and one that is made anew in pieces in every run."""


def context() -> Context:
    """A context with our dialects."""
    found = Context()
    found.load_dialect(Builtin)
    register_dialects(found)
    return found


def parsed(text: str, *passes: str) -> ModuleOp:
    """The verified module, after passes."""
    module = parse_module(context(), text, "test.mlir")
    verify(module)
    for name in passes:
        get_all_passes()[name]()().apply(context(), module)
    verify(module)
    return module


def program(text: str, options: MachineOptions = UNROLLED) -> Program:
    """The program of a text."""
    return prepare(parsed(text), options)


def run(text: str, *arrays: Array, options: MachineOptions = UNROLLED) -> list[Array]:
    """The outputs of a text in both modes, which must agree in every bit."""
    module = parsed(text)
    copies = [np.array(array, copy=True) for array in arrays]
    left: tuple[list[Unwritten], list[Unwritten]] = ([], [])
    expected = prepare(module, options).run(copies, left[0])
    again = prepare(module, STREAMED).run(list(arrays), left[1])
    if options is UNROLLED:
        assert left[0] == left[1]
        assert [a.tobytes() for a in again] == [a.tobytes() for a in expected]
        assert [a.tobytes() for a in arrays] == [a.tobytes() for a in copies]
    return expected


def kernel(body: str, arguments: str, result: str, kind: str) -> str:
    """A penguin function that allocates `%o` of `kind` and returns it."""
    return f"""
    penguin.func @f({arguments}) {{
      %o = penguin.alloc : {kind}
      {body}
      penguin.return {result} = %o
    }}
    """


def compute(body: str, *inputs: str, out: str, shape: str = "") -> str:
    """
    Loads every input into a tile, runs `body`, and stores tile `%t` into the output.

    `inputs` and `out` are "shape x dtype" texts; input k is tile `%xk`.
    """
    arguments = ", ".join(
        f"a{k} = %a{k}: !neuron.tensor<{text}, hbm>" for k, text in enumerate(inputs)
    )
    lines: Sequence[str] = [
        f"%x{k} = penguin.alloc : <{text}, sbuf>\n      penguin.dma_copy %x{k} <- %a{k}"
        for k, text in enumerate(inputs)
    ]
    steps = "\n      ".join(
        [
            *lines,
            f"%t = penguin.alloc : <{shape or out}, sbuf>",
            body,
            "penguin.dma_copy %o <- %t",
        ]
    )
    return kernel(steps, arguments, "o", f"<{out}, hbm>")


def random(shape: Sequence[int], seed: int = 0) -> Array:
    """Standard normal fp32 values."""
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)
