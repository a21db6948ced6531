"""Running the text of a function, and passing it through passes."""

from io import StringIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.printer import Printer

from xdsl_neuron.dialects import register_dialects
from xdsl_neuron.machine import Program, prepare
from xdsl_neuron.numerics.casts import storage
from xdsl_neuron.verification import verify

Array = NDArray[Any]


def context() -> Context:
    found = Context()
    found.load_dialect(Builtin)
    register_dialects(found)
    return found


def parse(text: str) -> ModuleOp:
    module = Parser(context(), text).parse_module()
    verify(module)
    return module


def print_module(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream).print_op(module)
    return stream.getvalue()


def after(text: str, *steps: ModulePass) -> str:
    module = parse(text)
    for step in steps:
        step.apply(context(), module)
    verify(module)
    return print_module(module)


def arguments(program: Program) -> list[Array]:
    """Inputs with some of everything: exact, tiny, negative, and a few infinities."""
    random = np.random.default_rng(1)
    found: list[Array] = []
    for port in program.inputs:
        kind = storage(port.dtype)
        if port.dtype.is_integer:
            values = random.integers(0, 100, port.shape).astype(kind)
        else:
            values = (random.standard_normal(port.shape) * 3).astype(kind)
        if port.name.startswith("index"):
            values = random.integers(-1, 50, port.shape).astype(kind)
        found.append(values)
    return found


def run(text: str) -> list[bytes]:
    program = prepare(parse(text))
    inputs = arguments(program)
    outputs = program.run(inputs)
    mutable = [
        array
        for array, port in zip(inputs, program.inputs, strict=True)
        if port.mutable
    ]
    return [array.tobytes() for array in (*outputs, *mutable)]
