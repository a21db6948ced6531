"""Tracing twice as much costs twice as much, counted in executed lines."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import addresses, isa, language
from xdsl_neuron.tracer import state

nl: Any = language
nisa: Any = isa
FEW, MANY = 100, 200


def one_name(count: int) -> Callable[..., Any]:
    """Instructions that are all given the same name."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        for _ in range(count):
            nisa.dma_copy(out, x, name="copy")
        return out

    return kernel


def placed(count: int) -> Callable[..., Any]:
    """Tiles at addresses of their own, all kept."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, x)
        kept: list[Any] = []
        for at in range(count):
            tile = nl.ndarray((8, 512), x.dtype, buffer=nl.sbuf, address=(0, 0))
            del tile
            tile = nl.ndarray((8, 16), x.dtype, buffer=nl.sbuf, address=(0, 512 * at))
            nisa.memset(tile, 1.0)
            nisa.memset(tile, 2.0)
            kept.append(tile)
        return out

    return kernel


def lines(kernel: Any, file: str) -> int:
    """How many lines of a file a trace executes."""
    count = 0

    def local(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return local

    def profile(frame: FrameType, event: str, argument: object) -> Any:
        return local if frame.f_code.co_filename == file else None

    before = sys.gettrace()
    sys.settrace(profile)
    try:
        kernel.trace(np.zeros((8, 16), np.float32))
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    ("kernel", "file"), [(one_name, state.__file__), (placed, addresses.__file__)]
)
def test_cost_is_linear(kernel: Callable[[int], Any], file: str) -> None:
    few, many = (lines(kernel(count), file) for count in (FEW, MANY))
    assert few > FEW
    assert many < 2.2 * few
