"""
The tensor engine: out[m, n] = sum over k of stationary[k, m] * moving[k, n] in fp32.

Both operands have the contraction over the partition axis (bir.md 6.10); several free
dimensions count as one. The sum is BLAS's, so its order is not specified and its bits
hold within one environment. To keep them equal between levels, operands that BLAS
would not read in place, and all of products with one row, one column or one term, are
made C-contiguous first, and the operands never share memory (DESIGN.md 7).
"""

from collections.abc import Callable
from functools import cache
from threading import local
from typing import Final, TypeAlias

import numpy as np

from ..dtypes import DType
from .casts import copy, from_float32, to_float32
from .kernel import Array, Kernel
from .rules import Rule

Writer: TypeAlias = Callable[[Array, Array, Array, bool], None]

_F32: Final = DType.FLOAT32
_F32_BYTES: Final = 4


class _Scratch(local):
    """One product buffer per shape and thread, for the sums into PSUM."""

    def __init__(self) -> None:
        self.buffers: dict[tuple[int, ...], Array] = {}

    def buffer(self, rows: int, columns: int) -> Array:
        buffer = self.buffers.get((rows, columns))
        if buffer is None:
            buffer = np.empty((rows, columns), np.float32)
            self.buffers[rows, columns] = buffer
        return buffer


_SCRATCH: Final = _Scratch()


def _product(stationary: Array, moving: Array, out: Array) -> None:
    """`stationary.T @ moving` of fp32 matrices, into `out`."""
    terms, rows = stationary.shape
    if rows == 1 or terms == 1 or moving.shape[1] == 1:
        # NumPy picks among dot, gemv and gemm by the layout here.
        stationary = np.ascontiguousarray(stationary)
        moving = np.ascontiguousarray(moving)
    else:
        stationary, moving = _readable(stationary), _readable(moving)
    if np.may_share_memory(stationary, moving):
        # x.T @ x is another BLAS routine, with other bits.
        moving = moving.copy()
    np.matmul(stationary.T, moving, out=out)


def _readable(matrix: Array) -> Array:
    """The matrix, copied unless its rows lie apart and their elements adjacent."""
    apart, adjacent = matrix.strides
    if adjacent == _F32_BYTES and apart >= _F32_BYTES * matrix.shape[1]:
        return matrix
    return np.ascontiguousarray(matrix)


def _operand(dtype: DType) -> Callable[[Array], Array]:
    """The function from an array of `dtype` to the fp32 values the array multiplies."""
    if dtype is DType.TFLOAT32:
        return from_float32(dtype)
    return to_float32(dtype)


def _matrix(x: Array, terms: int) -> Array:
    """[K, ...] (or [K, 2, ...] of a double row) as [terms, free elements]."""
    return x if x.ndim == 2 and x.shape[0] == terms else x.reshape(terms, -1)


@cache
def matmul(
    dst: DType, stationary: DType, moving: DType, *, double_row: bool = False
) -> Kernel:
    """
    Kernel(out, stationary, moving, accumulate=False) of a matmul into PSUM.

    stationary [K, M...], moving [K, N...], out [M..., N...]: `out` is overwritten, or
    added to. With `double_row` the operands are [K, 2, ...], and both the partitions
    and the first free dimension are summed over. `dst` is fp32, or bf16, where the
    sum with the old value is made in fp32 and rounded once (nki.md 5.2).
    """
    widen_s, widen_m = _operand(stationary), _operand(moving)
    write = product_writer(dst)
    rows_per_partition = 2 if double_row else 1

    def kernel(
        out: Array, stationary: Array, moving: Array, accumulate: bool = False
    ) -> None:
        terms = stationary.shape[0] * rows_per_partition
        left = _matrix(widen_s(stationary), terms)
        write(out, left, _matrix(widen_m(moving), terms), accumulate)

    return kernel


def product_writer(dst: DType) -> Writer:
    """w(out, left, right, accumulate): left.T @ right of fp32 matrices, into PSUM."""
    direct = dst is _F32
    old_value, store = to_float32(dst), copy(dst, _F32)

    def write(out: Array, left: Array, right: Array, accumulate: bool) -> None:
        if direct and not accumulate and _takes_product(out):
            _product(left, right, out)
            return
        product = _SCRATCH.buffer(left.shape[1], right.shape[1])
        _product(left, right, product)
        result = product if out.ndim == 2 else product.reshape(out.shape)
        if not accumulate:
            store(out, result)
        elif direct:
            np.add(out, result, out=out)
        else:
            store(out, np.add(old_value(out), result))

    return write


def _takes_product(out: Array) -> bool:
    """Whether BLAS writes the matrix in place, and as it would a contiguous one."""
    return out.ndim == 2 and 1 not in out.shape and out.strides[1] == _F32_BYTES


@cache
def matmul_transpose(dst: DType, src: DType) -> Kernel:
    """
    Kernel(out, moving) of a matmul with `is_transpose`: out [N..., K] = moving.T.

    moving is [K, N...]; the stationary operand is the identity and does not enter. A
    bit-exact move where the types are equal, else a cast. A 16-bit destination of an
    8-bit source gets its pattern with the upper byte zero (nki.md 5.5).
    """
    move = _pad_bytes if src.bytes == 1 and dst.bytes == 2 else copy(dst, src)

    def kernel(out: Array, moving: Array) -> None:
        move(out, moving.reshape(moving.shape[0], -1).T.reshape(out.shape))

    return kernel


def _pad_bytes(out: Array, x: Array) -> None:
    out.view(np.uint16)[...] = x.view(np.uint8)


RULES: Final = (
    Rule(
        "matmul products",
        "exact fp32 products and an fp32 sum in the order of the BLAS library; fp8, "
        "bf16 and fp16 operands are widened",
        "inferred",
        "bir.md 6.10, nki.md 5.1",
    ),
    Rule(
        "matmul tf32",
        "operands are rounded to 10 fraction bits, to nearest even",
        "inferred",
        "bir.md 10.3, nki.md 5.1",
    ),
    Rule(
        "matmul into bf16 PSUM",
        "the old value is widened, the sum is made in fp32 and rounded to nearest "
        "even, once an instruction",
        "documented",
        "nki.md 5.2",
    ),
    Rule(
        "matmul transpose",
        "is_transpose moves the bits of the moving operand on every generation; a "
        "transpose by an ordinary matmul with an identity does not keep NaN and inf",
        "our choice",
        "nki.md 5.5, bir.md 6.10",
    ),
)
