"""Accesses of one tensor that a loop moves: legal in every iteration, or refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import isa, language
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

nl: Any = language
nisa: Any = isa

X = np.random.default_rng(0).integers(-9, 9, (32, 4, 40)).astype(np.float32)

Step = Callable[[Any, Any], None]
"""An instruction on a tile [32, 4, 40] in iteration n of 4."""


def _copied(tile: Any, n: Any) -> None:
    nisa.tensor_copy(tile.select(1, n)[:, 1:40], tile.select(1, 2)[:, 0:39])


def _moved(tile: Any, n: Any) -> None:
    nisa.dma_copy(tile.select(1, n)[:, 1:40], tile.select(1, 2)[:, 0:39])


def _scattered(tile: Any, n: Any) -> None:
    index = nl.ndarray((32, 1), dtype=nl.uint16, buffer=nl.sbuf)
    nisa.memset(index, 0)
    nisa.tensor_copy(tile.select(1, n).indirect(index, 16), tile.select(1, 2)[:, 20:36])


def _gathered(tile: Any, n: Any) -> None:
    index = nl.ndarray((32, 1), dtype=nl.uint16, buffer=nl.sbuf)
    nisa.memset(index, 0)
    nisa.tensor_copy(tile.select(1, n)[:, 0:8], tile.select(1, 2).indirect(index, 8))


def _folded(tile: Any, n: Any) -> None:
    source = nl.ndarray((32, 40), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(source, 1.0)
    row, total = tile.select(1, n), tile.select(1, 2)[:, 3:4]
    nisa.tensor_scalar_reduce(row, source, nl.multiply, 2.0, nl.add, total)


STEPS: list[tuple[Step, str]] = [
    (_copied, "in-place accesses are the same pattern or disjoint"),
    (_moved, "source and destination overlap partly"),
    (_scattered, "write to another tile"),
    (_gathered, "write to another tile"),
    (_folded, "outputs 'dst' and 'reduce_res' overlap"),
]


def _kernel(step: Step, iterations: int, rolled: bool) -> Any:
    def kernel(x: Any) -> Any:
        tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(tile, x)

        def body(n: Any) -> None:
            step(tile, n)

        if rolled:
            nl.fori_loop(0, iterations, body)
        else:
            for n in range(iterations):
                body(n)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, tile)
        return out

    return nki.jit(kernel, platform_target="trn3")


@pytest.mark.parametrize(("step", "message"), STEPS)
@pytest.mark.parametrize("rolled", [False, True])
def test_an_iteration_that_overlaps(step: Step, message: str, rolled: bool) -> None:
    """The third iteration reads where it writes, those before it do not."""
    with pytest.raises(NKIError, match=message) as raised:
        _kernel(step, 4, rolled).trace(X)
    assert raised.value.location is not None
    assert_kernel_ok(_kernel(step, 2, rolled), X)


@pytest.mark.parametrize("rolled", [False, True])
def test_an_iteration_that_is_in_place(rolled: bool) -> None:
    """The very pattern that is written, in one iteration, and others elsewhere."""

    def step(tile: Any, n: Any) -> None:
        nisa.tensor_scalar(tile.select(1, n), tile.select(1, 2), nl.add, 1.0)

    want = X.copy()
    for n in range(4):
        want[:, n] = want[:, 2] + 1
    assert_kernel_ok(_kernel(step, 4, rolled), X, expected=want)
