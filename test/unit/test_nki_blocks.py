"""Block dimensions: tensors of several tiles, and folds over some of the loops."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import xdsl_neuron.nki.functional as nki
import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
from xdsl_neuron.nki import tensor_spec
from xdsl_neuron.testing import assert_kernel_ok, printed
from xdsl_neuron.tracer.errors import NKIError

Array = npt.NDArray[Any]
Kernel = Callable[..., Any]
nl: Any = functional_language
nisa: Any = functional_isa

F32 = np.float32
P = 64
BANK = 512
"""Elements of fp32 in a bank of PSUM; a partition has 8 banks."""


def integers(*shape: int) -> Array:
    return np.random.default_rng(4).integers(-9, 9, shape).astype(F32)


def products(x: Any, y: Any) -> Any:
    """More results in PSUM than fit at a time: a block each."""
    rows, width = x.shape[1] // P, y.shape[1] // BANK
    psum = nl.ndarray((rows, width, nl.par_dim(P), BANK), nl.float32, buffer=nl.psum)
    left, right = nl.load(x), nl.load(y)
    for i in nl.affine_range(rows):
        for j in nl.affine_range(width):
            psum[i, j, :, :] = nisa.nc_matmul(
                left[:, nl.ds(i * P, P)], right[:, nl.ds(j * BANK, BANK)]
            )
    out = nl.ndarray((x.shape[1], y.shape[1]), nl.float32, buffer=nl.shared_hbm)
    for i in nl.affine_range(rows):
        for j in nl.affine_range(width):
            rows_of = nl.ds(i * P, P)
            nl.store(out[rows_of, nl.ds(j * BANK, BANK)], nl.copy(psum[i, j]))
    return out


def test_psum_of_more_blocks_than_banks() -> None:
    x, y = integers(P, 5 * P), integers(P, 2 * BANK)
    assert_kernel_ok(nki.jit(products), x, y, expected=x.T @ y)
    text = printed(nki.trace(products)(x, y))
    assert "penguin.alloc blocks 10 : <64x5x2x512xf32, psum>" in text


@pytest.mark.parametrize("region", ["sbuf", "psum"])
def test_filled_blocks(region: str) -> None:
    """A fill of blocks that do not fit together is one for each of them."""
    blocks, width = (5, 12000) if region == "sbuf" else (9, BANK)

    def kernel(x: Any) -> Any:
        tiles = nl.full(
            (blocks, nl.par_dim(8), width), 3.0, nl.float32, buffer=getattr(nl, region)
        )
        out = nl.ndarray((blocks, 8, width), nl.float32, buffer=nl.shared_hbm)
        for i in nl.affine_range(blocks):
            tiles[i, :, 0:1] = nl.load(x[i])
            nl.store(out[i], nl.copy(tiles[i]))
        return out

    x = integers(blocks, 8, 1)
    expected = np.full((blocks, 8, width), 3, F32)
    expected[:, :, :1] = x
    assert_kernel_ok(nki.jit(kernel), x, expected=expected)


def test_zeros_in_blocks_of_psum() -> None:
    """What no matmul writes reads as 0, in every block."""
    blocks = 9

    def kernel(x: Any) -> Any:
        psum = nl.zeros((blocks, nl.par_dim(P), BANK), nl.float32, buffer=nl.psum)
        left = nl.load(x)
        for i in nl.affine_range(blocks):
            psum[i, :, 0:P] += nisa.nc_matmul(left, left)
        out = nl.ndarray((blocks, P, BANK), nl.float32, buffer=nl.shared_hbm)
        for i in nl.affine_range(blocks):
            nl.store(out[i], nl.copy(psum[i]))
        return out

    x = integers(P, P)
    expected = np.zeros((blocks, P, BANK), F32)
    expected[:, :, :P] = x.T @ x
    assert_kernel_ok(nki.jit(kernel), x, expected=expected)


def test_a_block_may_not_cross_a_bank_by_itself_only() -> None:
    """Blocks begin where allocation puts them, not behind one another."""

    def kernel(x: Any) -> Any:
        psum = nl.ndarray((2, nl.par_dim(P), 300), nl.float32, buffer=nl.psum)
        out = nl.ndarray((2, P, 300), nl.float32, buffer=nl.shared_hbm)
        given = nl.load(x)
        for i in nl.static_range(2):
            psum[i, :, :] = nisa.nc_matmul(given[:, 0:P], given)
            nl.store(out[i], nl.copy(psum[i]))
        return out

    x = integers(P, 300)
    product = x[:, :P].T @ x
    assert_kernel_ok(nki.jit(kernel), x, expected=np.stack([product, product]))


def refused(kernel: Kernel) -> str:
    with pytest.raises(NKIError) as raised:
        nki.trace(kernel)(tensor_spec("f32", (P, 8)))
    assert raised.value.location is not None
    return str(raised.value)


def test_one_block_too_large() -> None:
    def kernel(x: Any) -> Any:
        nl.ndarray((2, nl.par_dim(P), 4097), nl.float32, buffer=nl.psum)

    assert "PSUM tensor overflow: each of 2 blocks of a tensor" in refused(kernel)


def test_an_access_over_blocks_that_do_not_fit() -> None:
    def kernel(x: Any) -> Any:
        tiles = nl.ndarray((9, nl.par_dim(P), BANK), nl.float32, buffer=nl.psum)
        i, j = nl.mgrid[0:P, 0:8]
        tiles[j, i, 0] = nl.load(x)

    assert "does not reach one block of 512 elements" in refused(kernel)


def folded(x: Any, dtype: Any) -> Any:
    """Sums over the outermost of three loops, one for each iteration of the others."""
    steps, rows, columns, height, width = x.shape
    sums = nl.ndarray((rows, columns, nl.par_dim(height), width), dtype, buffer=nl.sbuf)
    for k in nl.affine_range(steps):
        for i in nl.affine_range(rows):
            for j in nl.affine_range(columns):
                sums[i, j, :, :] = nl.loop_reduce(
                    nl.load(x[k, i, j]), np.add, loop_indices=[k], dtype=dtype
                )
    out = nl.ndarray(x.shape[1:], dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(rows):
        for j in nl.affine_range(columns):
            nl.store(out[i, j], sums[i, j])
    return out


def test_fold_around_loops_that_are_kept() -> None:
    x = integers(4, 2, 3, P, 5)
    assert_kernel_ok(nki.jit(folded), x, nl.float32, expected=x.sum(axis=0))


def test_fold_is_rounded_once() -> None:
    """The sum is fp32 inside and cast at its end."""
    x = np.full((300, 1, 1, 8, 2), 1, F32)
    found = nki.simulate_kernel(folded, x, nl.bfloat16)
    # In bfloat16 a count by ones stops at 256.
    assert (found == np.array(300).astype(ml_dtypes.bfloat16)).all()
    y = integers(3, 1, 2, 8, 2)
    assert_kernel_ok(nki.jit(folded), y, nl.bfloat16, expected=y.sum(axis=0))


def test_fold_over_the_inner_loop_only() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((2, P, 5), nl.float32, buffer=nl.shared_hbm)
        for i in nl.affine_range(2):
            total: Any = None
            for k in nl.sequential_range(1, 9, 3):
                total = nl.loop_reduce(nl.load(x[i, k]), np.maximum, loop_indices=[k])
            nl.store(out[i], total)
        return out

    x = integers(2, 9, P, 5)
    assert_kernel_ok(nki.jit(kernel), x, expected=x[:, 1::3].max(axis=1))


def test_fold_with_kept_loop_that_steps() -> None:
    def kernel(x: Any) -> Any:
        sums = nl.ndarray((9, nl.par_dim(P), 5), nl.float32, buffer=nl.sbuf)
        for k in nl.affine_range(2):
            for i in nl.affine_range(1, 9, 3):
                sums[i] = nl.loop_reduce(nl.load(x[k, i]), np.add, loop_indices=[k])
        out = nl.ndarray((3, P, 5), nl.float32, buffer=nl.shared_hbm)
        for i in nl.affine_range(3):
            nl.store(out[i], sums[3 * i + 1])
        return out

    x = integers(2, 9, P, 5)
    assert_kernel_ok(nki.jit(kernel), x, expected=x[:, 1::3].sum(axis=0))
