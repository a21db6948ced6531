"""Tiles of more dimensions than an access pattern has, in the functional generation."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import xdsl_neuron.nki.functional as nki
import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

nl: Any = functional_language
nisa: Any = functional_isa
SHAPE = (8, 3, 3, 4, 5)
X = np.random.default_rng(1).integers(-9, 9, SHAPE).astype(np.float32)


def corners() -> Any:
    """Indices of 2 x 2 x 2 neighbours of each inner place: seven dimensions."""
    return nl.mgrid[0:8, 0:2, 0:2, 0:2, 0:2, 0:2, 0:3]


def neighbours(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """NumPy's view of what `corners` reads of the first three free dimensions."""
    found = np.empty((8, 2, 2, 2, 2, 2, 3), np.float32)
    for a, b, c in np.ndindex(2, 2, 2):
        found[:, a, b, c] = x[:, a : a + 2, b : b + 2, c : c + 3, 1]
    return found


def indices_of(values: npt.NDArray[Any]) -> Any:
    """NumPy's index arrays, one a dimension."""
    return np.indices(values.shape)


def in_sbuf(x: Any) -> Any:
    tile = nl.ndarray(SHAPE, x.dtype, buffer=nl.sbuf)
    tile[...] = nl.load(x)
    return tile


@nki.jit
def weighted(x: Any) -> Any:
    t = in_sbuf(x)
    p, a, b, c, i, j, k = corners()
    found = 3 * t[p, i + a, j + b, k + c, 1] + t[p, i + a, j + b, k + c, 2]
    out = nl.ndarray((8, 2, 2, 2, 2, 2, 3), x.dtype, buffer=nl.shared_hbm)
    nl.store(out, found)
    return out


def test_an_expression_of_seven_dimensions() -> None:
    expected = 3 * neighbours(X) + neighbours(X[..., 1:])
    assert_kernel_ok(weighted, X, expected=expected)


def test_it_is_a_loop_and_not_many_instructions() -> None:
    module = weighted.trace(X)
    kinds = [operation.name for operation in module.walk()]
    assert "penguin.for" in kinds
    assert kinds.count("penguin.tensor_scalar_ptr") == 1


@nki.jit
def scattered(x: Any) -> Any:
    """Writes seven dimensions into every second place, where a mask holds."""
    t = in_sbuf(x)
    wide = nl.zeros((8, 4, 4, 6), x.dtype, buffer=nl.sbuf)
    p, a, b, c, i, j, k = corners()
    mask = (a + i < 2) & (p < 7) & (k + c < 3)
    wide[p, 2 * i + a, 2 * j + b, 2 * k + c] = nl.add(
        t[p, i + a, j + b, k + c, 1], 1, mask=mask
    )
    out = nl.ndarray((8, 4, 4, 6), x.dtype, buffer=nl.shared_hbm)
    nl.store(out, wide)
    return out


def test_a_masked_assignment_of_seven_dimensions() -> None:
    values = neighbours(X) + 1
    p, a, b, c, i, j, k = indices_of(values)
    mask = (a + i < 2) & (p < 7) & (k + c < 3)
    expected = np.zeros((8, 4, 4, 6), np.float32)
    places = (p, 2 * i + a, 2 * j + b, 2 * k + c)
    expected[tuple(place[mask] for place in places)] = values[mask]
    assert_kernel_ok(scattered, X, expected=expected)


@nki.jit
def moved(x: Any) -> Any:
    """Loads and stores between HBM and seven dimensions that fuse no further."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    p, a, b, c, i, j, k = nl.mgrid[0:8, 0:2, 0:2, 0:2, 0:2, 0:2, 0:2]
    places = (p, 4 * a + i, 4 * b + j, 4 * c + k)
    tile = nl.load(x[places])
    nl.store(out, nl.load(x))
    nl.store(out[places], -tile)
    return out


def test_loads_and_stores_of_seven_dimensions() -> None:
    x = np.arange(8 * 6 * 6 * 6, dtype=np.float32).reshape(8, 6, 6, 6)
    expected = x.copy()
    at = np.array([0, 1, 4, 5])
    expected[np.ix_(np.arange(8), at, at, at)] *= -1
    assert_kernel_ok(moved, x, expected=expected)


def test_an_instruction_is_one_instruction() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        t = in_sbuf(x)
        p, a, b, c, i, j, k = corners()
        return nisa.tensor_copy(t[p, i + a, j + b, k + c, 1])

    with pytest.raises(NKIError, match="exceed max supported number of dimension 4"):
        kernel(X)


@pytest.mark.parametrize("augmented", [False, True])
def test_parts_of_one_tile_that_overlap(augmented: bool) -> None:
    x = np.arange(4 * 4 * 2 * 3 * 2 * 3 * 2, dtype=np.float32)
    x = x.reshape(4, 4, 2, 3, 2, 3, 2)

    @nki.jit
    def kernel(x: Any) -> Any:
        t = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
        t[...] = nl.load(x)
        later, sooner = t[:, 1:, :, ::2, :, ::2], t[:, :-1, :, ::2, :, ::2]
        if augmented:
            later += sooner
        else:
            later[...] = sooner
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, t)
        return out

    expected = x.copy()
    part = x[:, :-1, :, ::2, :, ::2]
    expected[:, 1:, :, ::2, :, ::2] = part + augmented * x[:, 1:, :, ::2, :, ::2]
    assert_kernel_ok(kernel, x, expected=expected)
