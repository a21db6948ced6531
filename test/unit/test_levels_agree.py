"""A function gives the same bytes at every level, each read from printed text."""

from io import StringIO
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.transforms import get_all_passes as get_xdsl_passes

from xdsl_neuron.dialects import register_dialects
from xdsl_neuron.dtypes import DType
from xdsl_neuron.machine import Program, prepare
from xdsl_neuron.numerics.casts import storage
from xdsl_neuron.passes.pipelines import BirToDma, PenguinToBir
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


CLEANUPS = ("cse", "dce", "canonicalize", "licm")


def cleaned(text: str) -> str:
    return after(text, *(get_xdsl_passes()[name]()() for name in CLEANUPS))


def check(penguin: str, bounds: tuple[int, ...] = (20000, 1)) -> None:
    """All levels, unrolled and rolled, as they are and cleaned up by xDSL."""
    expected = run(penguin)
    assert run(cleaned(penguin)) == expected
    bir = after(penguin, PenguinToBir())
    assert run(bir) == expected
    assert run(cleaned(bir)) == expected
    for bound in bounds:
        dma = after(bir, BirToDma(max_instructions=bound))
        assert run(dma) == expected
        assert run(cleaned(dma)) == expected


FILES = {
    path.stem: path for path in (Path(__file__).parent.parent / "levels").glob("*.mlir")
}
ROLLED = FILES.pop("rolled")


@pytest.mark.parametrize("name", sorted(FILES))
def test_levels_agree(name: str) -> None:
    check(FILES[name].read_text())


def test_ten_thousand_iterations() -> None:
    penguin = ROLLED.read_text()
    expected = run(penguin)
    bir = after(penguin, PenguinToBir())
    assert run(bir) == expected
    assert run(after(bir, BirToDma(max_instructions=5))) == expected


def test_outputs_are_not_poison() -> None:
    """The bytes compared above are values, of the kernel's own arithmetic."""
    program = prepare(parse(FILES["ragged"].read_text()))
    a, b = inputs = arguments(program)
    before = b.copy()
    c, _ = program.run(inputs)
    scaled = (a * np.float32(2) + np.float32(1)).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(c, scaled)
    np.testing.assert_allclose(b, before + np.exp(a), rtol=1e-6)
    assert program.outputs[0].dtype is DType.BFLOAT16
