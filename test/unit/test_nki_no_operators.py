"""Python's operators on tensors of the generations that have none."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import isa, language
from xdsl_neuron.tracer.errors import NKIError

nl: Any = language
nisa: Any = isa
op: Any = operator
X = np.zeros((8, 4), np.float32)

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": op.add,
    "subtract": op.sub,
    "multiply": op.mul,
    "divide": op.truediv,
    "mod": op.mod,
    "power": op.pow,
    "bitwise_and": op.and_,
    "bitwise_or": op.or_,
    "bitwise_xor": op.xor,
    "left_shift": op.lshift,
    "right_shift": op.rshift,
    "less": op.lt,
    "less_equal": op.le,
    "greater": op.gt,
    "greater_equal": op.ge,
}
OTHERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "negation": (op.neg, "nl.negative(x)"),
    "abs": (abs, "nl.abs(x)"),
    "inversion": (op.invert, "nl.invert(x)"),
    "matmul": (lambda t: t @ t, "nisa.nc_matmul"),
    "floor division": (lambda t: t // 2, "nl.divide"),
    "plus": (op.pos, "the tensor itself"),
    "float": (float, "nisa.register_load"),
    "int": (int, "nisa.register_load"),
}


def refused(use: Callable[[Any], Any]) -> NKIError:
    """The error of a kernel that uses a tile."""

    def kernel(x: Any) -> None:
        tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(tile, x)
        use(tile)

    with pytest.raises(NKIError) as raised:
        nki.jit(kernel).trace(X)
    assert raised.value.location is not None
    return raised.value


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("other", ["tensor", "right", "left"])
def test_binary_operators(name: str, other: str) -> None:
    use = BINARY[name]
    uses: dict[str, Callable[[Any], Any]] = {
        "tensor": lambda t: use(t, t),
        "right": lambda t: use(t, 2),
        "left": lambda t: use(2, t),
    }
    error = refused(uses[other])
    assert "is of generation 0.1" in error.message
    # Python asks for the mirrored comparison where the number stands first.
    mirrored = {"less": "greater", "greater": "less"}
    first, _, rest = name.partition("_")
    if other == "left" and first in mirrored:
        name = mirrored[first] + (f"_{rest}" if rest else "")
    assert f"nl.{name}(x, y)" in error.message
    assert hasattr(nl, name)


@pytest.mark.parametrize("name", OTHERS)
def test_other_operators(name: str) -> None:
    use, instead = OTHERS[name]
    assert instead in refused(use).message


def test_in_place() -> None:
    def use(t: Any) -> None:
        t += 1

    assert "nl.add(x, y)" in refused(use).message


def test_equality_asks_for_the_same_tensor() -> None:
    def kernel(x: Any) -> None:
        tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(tile, x)
        assert tile == tile
        assert tile != x
        assert tile is not None

    nki.jit(kernel).trace(X)
