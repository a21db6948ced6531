"""Small kernels that hold a trap each, against NumPy and at every level."""

import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import xdsl_neuron.nki
from xdsl_neuron.testing import assert_levels_agree

xdsl_neuron.nki.install()
sys.path.insert(0, str(Path(__file__).parent))

import nki  # noqa: E402
import small_destination as destination  # noqa: E402
import small_functional as functional  # noqa: E402

Array = npt.NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)


def normal(*shape: int, dtype: Any = np.float32) -> Array:
    """Reproducible inputs."""
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


def check(kernel: Any, *arguments: Any) -> Any:
    """The kernel's result, after all levels were seen to agree bit for bit."""
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    assert_levels_agree(nki.trace(kernel)(*arguments), arrays)
    return nki.simulate(kernel)(*arguments)


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), BF16])
def test_matmul_over_a_rolled_loop(dtype: np.dtype[Any]) -> None:
    left, right = normal(512, 128, dtype=dtype), normal(512, 512, dtype=dtype)
    found = check(functional.rolled_matmul, left, right)
    expected = left.astype(np.float64).T @ right.astype(np.float64)
    # fp32 sums of 512 products of unit normals: about 512 * 2**-24 * 20 apart.
    np.testing.assert_allclose(found, expected, atol=1e-3)
    text = str(nki.trace(functional.rolled_matmul)(left, right))
    assert text.count("penguin.matmul") == 1, "the loop over K stays rolled"


def test_a_causal_mask_on_an_operation() -> None:
    x = normal(128, 96)
    keep = np.arange(128)[:, None] >= np.arange(96)[None, :]
    expected = np.where(keep, x * 2, np.float32(1))
    np.testing.assert_array_equal(check(functional.causal, x), expected)


def test_a_causal_mask_on_loads_and_stores() -> None:
    x, y = normal(128, 96), normal(128, 96) + 100
    keep = np.arange(128)[:, None] >= np.arange(96)[None, :]
    found = check(functional.causal_load, x, y)
    np.testing.assert_array_equal(found, np.where(keep, x, y))


@pytest.mark.parametrize("rows", [1, 127, 128, 129, 300])
def test_a_ragged_tail_between_masks(rows: int) -> None:
    x = normal(rows, 40)
    found = check(functional.ragged, x)
    np.testing.assert_allclose(found, np.exp(x), rtol=1e-6)


def test_a_rolled_loop_of_many_trips() -> None:
    x = normal(10_000, 3)
    module = nki.trace(functional.many_trips)(x)
    assert str(module).count("penguin.sb_atom_load") == 1, "the loop stays rolled"
    assert_levels_agree(module, [x], generic_passes=False)
    found = nki.simulate(functional.many_trips)(x)
    np.testing.assert_array_equal(found, x + np.float32(1))


def test_a_tile_reused_across_iterations() -> None:
    x = np.round(normal(512, 64) * 8)
    found = check(functional.running_sum, x)
    np.testing.assert_array_equal(found, x.reshape(4, 128, 64).sum(0))


@pytest.mark.parametrize(
    ("k", "m", "n"), [(128, 128, 1), (128, 1, 512), (1, 128, 512), (37, 1, 1)]
)
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), BF16])
def test_matmuls_with_one_row_or_column(
    k: int, m: int, n: int, dtype: np.dtype[Any]
) -> None:
    left, right = normal(k, m, dtype=dtype), normal(k, n, dtype=dtype)
    found = check(destination.matmul, left, right)
    expected = left.astype(np.float64).T @ right.astype(np.float64)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_matmul_of_one_tile_with_itself() -> None:
    x = normal(128, 64)
    found = check(destination.gram, x)
    np.testing.assert_allclose(found, x.T @ x, atol=1e-4)


@pytest.mark.parametrize("dtype", [BF16, np.dtype(np.float16), np.dtype(np.int8)])
def test_a_dma_that_casts(dtype: np.dtype[Any]) -> None:
    x = normal(64, 100) * 300
    out, narrow = check(destination.dma_cast, x, dtype)
    if dtype == np.int8:
        expected = np.clip(np.rint(x), -128, 127).astype(np.int8)
    else:
        expected = x.astype(dtype)
    np.testing.assert_array_equal(narrow.view(np.uint8), expected.view(np.uint8))
    np.testing.assert_array_equal(out, expected.astype(np.float32))


def test_a_matmul_into_a_partly_written_destination() -> None:
    left, right = normal(128, 64), normal(128, 256)
    found = check(destination.partial_accumulation, left, right)
    expected = left.astype(np.float64).T @ right.astype(np.float64)
    expected[:, :128] *= 2
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_a_mutable_parameter_is_updated_in_place() -> None:
    x = normal(128, 16)
    before = x.copy()
    module = nki.trace(destination.in_place)(x)
    assert_levels_agree(module, [x])
    nki.simulate(destination.in_place)(x)
    np.testing.assert_array_equal(x, before * 2)
