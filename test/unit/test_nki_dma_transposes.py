"""Transposes by the DMA engines as `nki.isa.dma_transpose` of NKI 0.6 has them."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_pieces import nisa, nl, normal, saved, tile

import xdsl_neuron.nki as nki
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

BF16 = ml_dtypes.bfloat16
AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
TABLE = 200


def gathered(inner: tuple[int, ...], rows: int) -> Any:
    """A kernel that transposes `rows` rows of `inner` elements, picked by an index."""
    shape, axes = (rows, *inner), AXES[1 + len(inner)]
    steps = [int(np.prod(shape[at + 1 :])) for at in range(len(shape))]

    def kernel(table: Any, index: Any) -> Any:
        picks = tile(*index.shape, dtype=nl.uint32)
        nisa.dma_copy(picks, index)
        dst = tile(*(shape[axis] for axis in axes), dtype=table.dtype)
        pattern = [list(pair) for pair in zip(steps, shape, strict=True)]
        src = table.ap(pattern=pattern, vector_offset=picks, indirect_dim=0)
        nisa.dma_transpose(dst, src, axes)
        return saved(dst)

    return nki.jit(kernel, platform_target="trn2")


def operands(inner: tuple[int, ...], index: tuple[int, int]) -> tuple[Any, Any]:
    table = normal(TABLE, int(np.prod(inner))).reshape(TABLE, *inner).astype(BF16)
    picks = np.random.default_rng(1).integers(0, TABLE, index).astype(np.uint32)
    return table, picks


@pytest.mark.parametrize("index", [(128, 1), (128, 2), (16, 1), (48, 1)])
@pytest.mark.parametrize("inner", [(64,), (3, 32), (1, 3, 32), (3, 1, 32)])
def test_rows_are_gathered(inner: tuple[int, ...], index: tuple[int, int]) -> None:
    table, picks = operands(inner, index)
    expected = table[picks.T.flatten()].transpose(AXES[table.ndim])
    assert_kernel_ok(gathered(inner, picks.size), table, picks, expected=expected)


@pytest.mark.parametrize(("rows", "index"), [(144, (128, 3)), (32, (64, 1))])
def test_more_indices_than_rows(rows: int, index: tuple[int, int]) -> None:
    table, picks = operands((64,), index)
    expected = table[picks.T.flatten()[:rows]].T
    assert_kernel_ok(gathered((64,), rows), table, picks, expected=expected)


@pytest.mark.parametrize(
    ("inner", "rows", "index", "problem"),
    [
        ((64,), 64, (32, 2), "must be 128 where"),
        ((64,), 16, (20, 1), "divisible by 16, got 20"),
        ((64,), 144, (128, 1), "needs as many indices, got 128 x 1"),
        ((2, 2, 32), 128, (128, 1), r"src\.shape\[1\] or src\.shape\[2\]"),
    ],
)
def test_gathers_that_are_refused(
    inner: tuple[int, ...], rows: int, index: tuple[int, int], problem: str
) -> None:
    with pytest.raises(NKIError, match=problem):
        nki.trace(gathered(inner, rows))(*operands(inner, index))


def _by_hardware(x: Any) -> Any:
    axes = AXES[len(x.shape)]
    dst = tile(*(x.shape[axis] for axis in axes), dtype=x.dtype)
    nisa.dma_transpose(dst, x, dge_mode=nisa.dge_mode.hwdge)
    return saved(dst)


HARDWARE = [(16, 1), (16, 100), (1, 16, 128), (8, 2, 32), (2, 3, 8, 64), (16, 2, 5, 16)]


@pytest.mark.parametrize("shape", HARDWARE)
def test_hardware_descriptors(shape: tuple[int, ...]) -> None:
    x = np.arange(int(np.prod(shape))).reshape(shape).astype(BF16)
    expected = x.transpose(AXES[len(shape)])
    assert_kernel_ok(nki.jit(_by_hardware), x, expected=expected)


@pytest.mark.parametrize("shape", [(8, 128), (32, 128), (4, 3, 128), (4, 2, 2, 128)])
def test_hardware_refuses_other_rows(shape: tuple[int, ...]) -> None:
    with pytest.raises(NKIError, match="must have 16 partitions"):
        nki.trace(nki.jit(_by_hardware))(np.zeros(shape, BF16))
