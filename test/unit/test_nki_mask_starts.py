"""Masks that leave out first rows, where the rows that are left may start."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import xdsl_neuron.nki.functional as nki
import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
from xdsl_neuron.testing import assert_kernel_ok

Array = npt.NDArray[Any]
nl: Any = functional_language
nisa: Any = functional_isa
F32 = np.float32
K, M, N = 48, 128, 40


def whole(*shape: int) -> Array:
    return np.random.default_rng(5).integers(-4, 5, shape).astype(F32)


def saved(tile: Any) -> Any:
    out = nl.ndarray(tile.shape, nl.float32, buffer=nl.shared_hbm)
    nl.store(out, tile)
    return out


def test_rows_of_products_that_a_loop_moves() -> None:
    def kernel(x: Any, y: Any) -> Any:
        left, right = nl.load(x), nl.load(y)
        i, j = nl.mgrid[0:M, 0:N]
        psum = nl.zeros((M, N), nl.float32, buffer=nl.psum)
        psum += nisa.nc_matmul(left, right)
        for t in nl.affine_range(4):
            rows = (i >= t * 32) & (i < t * 32 + 32)
            psum += nisa.nc_matmul(left, right, mask=rows & (j >= t + 1))
        return saved(nl.copy(psum))

    x, y = whole(K, M), whole(K, N)
    i, j = np.ogrid[0:M, 0:N]
    expected = (x.T @ y) * (1 + (j > i // 32))
    assert_kernel_ok(nki.jit(kernel), x, y, expected=expected)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("accumulates", [False, True])
def test_a_mask_of_rows_or_of_columns_alone(axis: int, accumulates: bool) -> None:
    def kernel(x: Any, y: Any) -> Any:
        left, right = nl.load(x), nl.load(y)
        psum = nl.ndarray((M, N), nl.float32, buffer=nl.psum)
        rows, columns = nl.arange(M)[:, None], nl.arange(N)[None, :]
        mask = columns >= 7 if axis else (rows >= 64) & (rows <= 99)
        if accumulates:
            psum[...] = nisa.nc_matmul(left, right)
            psum += nisa.nc_matmul(left, right, mask=mask)
        else:
            psum[...] = 1.0
            psum[...] = nisa.nc_matmul(left, right, mask=mask)
        return saved(nl.copy(psum))

    x, y = whole(K, M), whole(K, N)
    i, j = np.ogrid[0:M, 0:N]
    product = x.T @ y
    where = j >= 7 if axis else (i >= 64) & (i <= 99)
    expected = product * (1 + where) if accumulates else np.where(where, product, 1)
    assert_kernel_ok(nki.jit(kernel), x, y, expected=expected)


def test_rows_of_a_chain_of_accumulators() -> None:
    def kernel(x: Any) -> Any:
        tile, row = nl.load(x), nl.zeros((M, 1), nl.float32)
        rows, command = nl.arange(M)[:, None], nisa.reduce_cmd
        start, go_on = command.reset_reduce, command.reduce
        nisa.activation(np.square, tile, reduce_op=np.add, reduce_cmd=start)
        for t in nl.affine_range(2):
            nisa.activation(
                nl.copy,
                tile,
                reduce_op=np.add,
                reduce_cmd=go_on,
                mask=(rows >= t * 32 + 64) & (rows < t * 32 + 80),
            )
        nisa.activation(
            nl.copy, tile, reduce_op=np.add, reduce_cmd=go_on, reduce_res=row
        )
        return saved(row)

    x = whole(M, N)
    i = np.arange(M)
    among = ((i >= 64) & (i < 80)) | ((i >= 96) & (i < 112))
    expected = (x * x).sum(1) + x.sum(1) * (1 + among)
    assert_kernel_ok(nki.jit(kernel), x, expected=expected[:, None])


def test_first_rows_of_a_command_that_nothing_goes_on_from() -> None:
    """The rows in front are worked on as well, which nobody sees."""

    def kernel(x: Any) -> Any:
        tile, row = nl.load(x), nl.zeros((M, 1), nl.float32)
        nisa.activation(
            np.square,
            tile,
            reduce_op=np.add,
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
            reduce_res=row,
            mask=nl.arange(M)[:, None] >= 5,
        )
        return saved(row)

    x = whole(M, N)
    expected = np.where(np.arange(M) >= 5, (x * x).sum(1), 0)
    assert_kernel_ok(nki.jit(kernel), x, expected=expected[:, None])


def test_a_gather_reads_no_index_that_its_mask_leaves_out() -> None:
    def kernel(x: Any, index: Any) -> Any:
        tile, places = nl.load(x), nl.load(index)
        result = nl.full((M, 8), 7.0, nl.float32)
        i, j = nl.mgrid[0:M, 0:8]
        for t in nl.affine_range(2):
            rows = (i >= t * 60 + 5) & (i < t * 60 + 50)
            result[i, j] = nl.gather_flattened(tile, places, mask=rows & (j >= 2))
        return saved(result)

    x = whole(M, N)
    index = np.random.default_rng(1).integers(0, N, (M, 8)).astype(np.uint32)
    i, j = np.ogrid[0:M, 0:8]
    kept = (((i >= 5) & (i < 50)) | ((i >= 65) & (i < 110))) & (j >= 2)
    expected = np.where(kept, np.take_along_axis(x, index.astype(int), 1), 7)
    outside = np.where(kept, index, 1 << 31).astype(np.uint32)
    assert_kernel_ok(nki.jit(kernel), x, outside, expected=expected)


@pytest.mark.parametrize("engine", ["vector", "tensor"])
@pytest.mark.parametrize(("rows", "columns"), [(7, 13), (32, 20), (20, 32)])
@pytest.mark.parametrize(("low", "axis"), [(3, 0), (5, 1), (1, 2)])
@pytest.mark.parametrize("rolled", [False, True])
def test_first_columns_of_a_transpose(
    engine: str, rows: int, columns: int, low: int, axis: int, rolled: bool
) -> None:
    """They are first partitions of the result, also those of a loop."""

    def kernel(x: Any) -> Any:
        tile = nl.load(x)
        result = nl.full((columns, rows), 9.0, nl.float32, buffer=nl.sbuf)
        i, j = nl.arange(rows)[:, None], nl.arange(columns)[None, :]

        def turned(start: Any) -> None:
            mask = {0: i >= start, 1: j >= start, 2: (i >= start) & (j >= start + 1)}
            chosen = {"engine": getattr(nisa, f"{engine}_engine")}
            result[...] = nisa.nc_transpose(tile, mask=mask[axis], **chosen)

        if rolled:
            for t in nl.sequential_range(2):
                turned(low + t)
        else:
            turned(low)
        return saved(result)

    x = whole(rows, columns)
    i, j = np.ogrid[0:rows, 0:columns]
    mask = {0: i >= low, 1: j >= low, 2: (i >= low) & (j >= low + 1)}[axis]
    expected = np.where(np.broadcast_to(mask, x.shape).T, x.T, 9)
    assert_kernel_ok(nki.jit(kernel), x, expected=expected)
