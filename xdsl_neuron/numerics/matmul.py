"""
The tensor engine: out[m, n] = sum over k of stationary[k, m] * moving[k, n] in fp32.

Both operands have the contraction over the partition axis (bir.md 6.10); several free
dimensions count as one. The sum is BLAS's, so its order is not specified and its bits
hold within one environment. To keep them equal between levels, operands that BLAS
would not read in place, and all of products with one row, one column or one term, are
made C-contiguous first, and the operands never share memory (design.md 7).
"""

from collections.abc import Callable
from functools import cache
from threading import local
from typing import Final, TypeAlias

import numpy as np

from ..dtypes import DType
from ..isa import MatmulPerfMode
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


def operand_values(dtype: DType, zero_point: int = 0) -> Callable[[Array], Array]:
    """The function from an array of `dtype` to the fp32 values the array multiplies."""
    widen = from_float32(dtype) if dtype is DType.TFLOAT32 else to_float32(dtype)
    if not zero_point:
        return widen
    # A byte less a byte is exact in fp32.
    zero = np.float32(zero_point)
    return lambda x: widen(x) - zero


def _leading(x: Array, terms: int) -> Array:
    """[K, ...] (or [K, 2, ...] of a double row) as [terms, free elements]."""
    return x if x.ndim == 2 and x.shape[0] == terms else x.reshape(terms, -1)


def _deinterleaved(x: Array, terms: int) -> Array:
    """[K, M..., 2] as [2 K, M]: the pairs apart, then as a double row."""
    pairs = x.reshape(x.shape[0], -1, 2)
    return pairs.transpose(0, 2, 1).reshape(terms, -1)


@cache
def matmul(
    dst: DType,
    stationary: DType,
    moving: DType,
    perf_mode: MatmulPerfMode = MatmulPerfMode.NONE,
    zero_points: tuple[int, int] = (0, 0),
) -> Kernel:
    """
    Kernel(out, stationary, moving, accumulate=False) of a matmul into PSUM.

    stationary [K, M...], moving [K, N...], out [M..., N...]: `out` is overwritten, or
    added to. In a double row the operands are [K, 2, ...] (the stationary one
    [K, M..., 2] where software interleaves it), and both the partitions and the 2 are
    summed over. `zero_points` of the stationary and the moving operand are subtracted
    first. `dst` is fp32, or bf16, where the sum with the old value is made in fp32 and
    rounded once (nki.md 5.2), or int32, where it wraps (bir.md 10.3). Raises
    `ValueError` for a mode without a documented meaning.
    """
    rows_per_partition = perf_mode.rows_per_partition
    if perf_mode is not MatmulPerfMode.NONE and rows_per_partition == 1:
        raise ValueError(
            f"perf_mode {perf_mode} has no documented meaning; DoubleRow and "
            "DoubleRowSwInterleave have"
        )
    widen_s = operand_values(stationary, zero_points[0])
    widen_m = operand_values(moving, zero_points[1])
    interleaved = perf_mode is MatmulPerfMode.DOUBLE_ROW_SW_INTERLEAVE
    weights = _deinterleaved if interleaved else _leading
    write = product_writer(dst)

    def kernel(
        out: Array, stationary: Array, moving: Array, accumulate: bool = False
    ) -> None:
        terms = stationary.shape[0] * rows_per_partition
        left = weights(widen_s(stationary), terms)
        write(out, left, _leading(widen_m(moving), terms), accumulate)

    return kernel


def product_writer(dst: DType) -> Writer:
    """w(out, left, right, accumulate): left.T @ right of fp32 matrices, into PSUM."""
    direct = dst is _F32
    wraps = dst is DType.INT32
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
        elif wraps:
            added = np.empty_like(out)
            store(added, result)
            np.add(out, added, out=out)
        else:
            store(out, np.add(old_value(out), result))

    return write


def _takes_product(out: Array) -> bool:
    """Whether BLAS writes the matrix in place, and as it would a contiguous one."""
    return out.ndim == 2 and 1 not in out.shape and out.strides[1] == _F32_BYTES


@cache
def identity_product(dst: DType, src: DType) -> Kernel:
    """
    Kernel(out, x): x [P, F...] transposed by a product with an fp32 identity.

    NaN and infinity spread over their row of the contraction, and a zero loses its
    sign (nki.md 5.5).
    """
    widen, write = operand_values(src), product_writer(dst)

    def kernel(out: Array, x: Array) -> None:
        values = widen(x).reshape(x.shape[0], -1)
        write(out, values, np.eye(x.shape[0], dtype=np.float32), False)

    return kernel


@cache
def matmul_transpose(dst: DType, src: DType) -> Kernel:
    """
    Kernel(out, stationary, moving) of a matmul with `is_transpose`, which moves bits.

    stationary [K, M...], moving [K, N...], out [M..., N...]: column n of `out` is the
    row k of the stationary operand where moving[k, n] is 1, and 0 where none is. With
    an identity that is the transpose. A destination as wide as the source gets its
    bits; a 16-bit one of an 8-bit source its byte, with the upper one zero (nki.md
    5.5). Raises `ValueError` where `moving` has something else.
    """
    move = _pad_bytes if src.bytes == 1 and dst.bytes == 2 else _move_bits

    def kernel(out: Array, stationary: Array, moving: Array) -> None:
        rows = stationary.reshape(stationary.shape[0], -1)
        choice = row_choice(src, moving.reshape(moving.shape[0], -1))
        if choice is None:
            move(out, rows.T.reshape(out.shape))
            return
        picked = _as_bits(rows)[np.maximum(choice, 0)]
        picked[choice < 0] = 0
        move(out, picked.view(rows.dtype).T.reshape(out.shape))

    return kernel


def row_choice(dtype: DType, moving: Array) -> Array | None:
    """
    The row that holds the 1 of each column [N], -1 for none; None for an identity.

    `ValueError` where a column has another value than 0 and 1, or two of them.
    """
    bits = _as_bits(moving)
    one = _one(dtype)
    if bits.shape[0] == bits.shape[1] and np.array_equal(
        bits, _eye(len(bits), bits.itemsize, one)
    ):
        return None
    ones = bits == one
    # Minus zero is a zero too.
    if not np.array_equal(ones, to_float32(dtype)(moving) != 0):
        raise ValueError(
            "the moving operand of a matmul in transpose mode holds something else "
            "than 0 and 1; it says which row goes where, as an identity does"
        )
    count = ones.sum(axis=0)
    if count.size and count.max() > 1:
        raise ValueError(
            f"column {int(count.argmax())} of the moving operand of a matmul in "
            f"transpose mode has {int(count.max())} ones, which cannot be one row's "
            "bits; it is an identity, or a part or permutation of one"
        )
    return np.where(count == 1, ones.argmax(axis=0), -1)


@cache
def _one(dtype: DType) -> int:
    """The bit pattern of 1."""
    return int(_as_bits(from_float32(dtype)(np.ones(1, np.float32)))[0])


@cache
def _eye(size: int, itemsize: int, one: int) -> Array:
    eye: Array = np.zeros((size, size), f"u{itemsize}")
    eye[np.arange(size), np.arange(size)] = one
    eye.flags.writeable = False
    return eye


def _as_bits(x: Array) -> Array:
    return x.view(f"u{x.itemsize}")


def _move_bits(out: Array, x: Array) -> None:
    _as_bits(out)[...] = _as_bits(x)


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
        "matmul zero points",
        "widened to fp32, then subtracted from the operands",
        "documented",
        "bir.md 6.10",
    ),
    Rule(
        "matmul double row",
        "both the partitions and the first free dimension (of 2) are summed over; "
        "software-interleaved weights have the 2 last; DoubleColumn and DoublePixel "
        "have no documented meaning and do not run",
        "documented",
        "bir.md 6.10, penguin.md 6.2",
    ),
    Rule(
        "matmul into int32 PSUM",
        "the fp32 products are rounded to nearest even and saturated, then added with "
        "32-bit wrap",
        "inferred",
        "bir.md 10.3, penguin.md 2.3",
    ),
    Rule(
        "matmul transpose",
        "is_transpose moves the bits of the stationary operand as the ones of the "
        "moving operand say, and overwrites; a transpose by an ordinary matmul with an "
        "identity (gen2) keeps neither NaN and inf nor the sign of zero",
        "inferred",
        "nki.md 5.5, bir.md 6.10",
    ),
)
