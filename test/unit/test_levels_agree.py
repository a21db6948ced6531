"""A function gives the same bytes at every level, each read from printed text."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from levels import after, arguments, parse, run
from xdsl.transforms import get_all_passes as get_xdsl_passes

from xdsl_neuron.dtypes import DType
from xdsl_neuron.machine import prepare
from xdsl_neuron.passes.pipelines import BirToDma, PenguinToBir

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
    path.stem: path
    for path in (Path(__file__).parent.parent / "programs").glob("*.mlir")
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
