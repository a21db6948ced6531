"""
Reductions along free axes and over partitions.

An operand is made C-contiguous fp32 first and reduced row by row, because the bits of
a sum depend on the layout otherwise: NumPy adds a contiguous row pairwise (design.md
7). Bit operations reduce the raw integers.
"""

from collections.abc import Callable
from functools import cache, reduce
from typing import Any, Final, TypeAlias

import numpy as np

from ..dtypes import DType
from ..isa import AluOp
from .alu import float_function
from .bits import bit_work_dtype, lift, pattern_dtype
from .casts import copy, to_float32
from .kernel import Array, Kernel, Scalar
from .rules import Rule

# r(rows) -> result: reduces the last axis of a C-contiguous array.
Fold: TypeAlias = Callable[[Array], Any]

_F32: Final = DType.FLOAT32
_LAST: Final = -1


def _fold(ufunc: np.ufunc) -> Fold:
    reduce = ufunc.reduce
    return lambda rows: reduce(rows, axis=_LAST)


def _fold_predicate(ufunc: np.ufunc) -> Fold:
    reduce = ufunc.reduce
    return lambda rows: reduce(rows, axis=_LAST).astype(np.float32)


def _average(rows: Array) -> Array:
    count = np.float32(rows.shape[_LAST])
    return np.add.reduce(np.divide(rows, count), axis=_LAST)


def _fold_magnitude(op: AluOp, best: Callable[..., Array]) -> Fold:
    """The last of the elements whose magnitude is the best, with its sign."""
    step = float_function(op)

    def fold(rows: Array) -> Array:
        place = best(np.absolute(rows[..., ::-1]), axis=_LAST, keepdims=True)
        found = np.take_along_axis(rows[..., ::-1], place, _LAST)[..., 0]
        if np.isnan(found).any():
            # `best` stops at a NaN, the operation goes on with what stands behind it.
            return reduce(step, np.moveaxis(rows, _LAST, 0))
        return found

    return fold


_FOLDS: Final[dict[AluOp, Fold]] = {
    AluOp.ADD: _fold(np.add),
    AluOp.SUBTRACT: _fold(np.subtract),
    AluOp.MULT: _fold(np.multiply),
    AluOp.ELEMWISE_MUL: _fold(np.multiply),
    AluOp.DIVIDE: _fold(np.divide),
    AluOp.MAX: _fold(np.maximum),
    AluOp.MIN: _fold(np.minimum),
    AluOp.ABS_MAX: _fold_magnitude(AluOp.ABS_MAX, np.argmax),
    AluOp.ABS_MIN: _fold_magnitude(AluOp.ABS_MIN, np.argmin),
    AluOp.AVERAGE: _average,
    AluOp.LOGICAL_AND: _fold_predicate(np.logical_and),
    AluOp.LOGICAL_OR: _fold_predicate(np.logical_or),
    AluOp.LOGICAL_XOR: _fold_predicate(np.logical_xor),
}

_BIT_FOLDS: Final[dict[AluOp, Fold]] = {
    AluOp.BITWISE_AND: _fold(np.bitwise_and),
    AluOp.BITWISE_OR: _fold(np.bitwise_or),
    AluOp.BITWISE_XOR: _fold(np.bitwise_xor),
}


def row_fold(op: AluOp) -> Fold:
    """
    The fp32 reduction of the last axis of a C-contiguous array by `op`.

    Raises `ValueError` for an operation that does not reduce.
    """
    fold = _FOLDS.get(op)
    if fold is None:
        raise ValueError(f"'{op}' is not a reduction")
    return fold


def _to_rows(axes: tuple[int, ...]) -> Callable[[Array], Array]:
    """f(x): `x` as a C-contiguous array with `axes` merged into the last one."""
    first, last, count = axes[0], axes[-1], len(axes)
    consecutive = last - first == count - 1

    def rows(x: Array) -> Array:
        rank = x.ndim
        if not (consecutive and last == rank - 1):
            x = np.moveaxis(x, axes, range(rank - count, rank))
        contiguous = np.ascontiguousarray(x)
        if count == 1:
            return contiguous
        return contiguous.reshape(*x.shape[: rank - count], -1)

    return rows


@cache
def tensor_reduce(
    op: AluOp, dst: DType, src: DType, axes: tuple[int, ...], negate: bool = False
) -> Kernel:
    """
    Kernel(out, x): out = op over `axes` of x, its sign changed if `negate`.

    `axes` are increasing non-negative axes of x; `out` has as many elements as the
    axes that stay, with or without the reduced axes as 1. The result is negated in
    fp32 before the cast. Raises `ValueError` for an operation that does not reduce,
    and for a negated bit operation.
    """
    if op.is_bitvec:
        if negate:
            raise ValueError(f"'{op}' has no negated form")
        return _bit_reduce(op, dst, src, axes)
    fold, rows = row_fold(op), _to_rows(axes)
    widen, store = to_float32(src), copy(dst, _F32)

    def kernel(out: Array, x: Array) -> None:
        result = fold(rows(widen(x)))
        if negate:
            result = np.negative(result)
        store(out, result.reshape(out.shape))

    return kernel


def _bit_reduce(op: AluOp, dst: DType, src: DType, axes: tuple[int, ...]) -> Kernel:
    fold, rows = _BIT_FOLDS.get(op), _to_rows(axes)
    if fold is None:
        raise ValueError(f"'{op}' is not a reduction")
    work = bit_work_dtype(op, src)
    lift_x = lift(src, work)
    raw = pattern_dtype(dst.bytes, work.kind == "i")

    def kernel(out: Array, x: Array) -> None:
        result = fold(rows(lift_x(x)))
        out.view(raw)[...] = result.astype(raw).reshape(out.shape)

    return kernel


@cache
def partition_reduce(op: AluOp, dst: DType, src: DType) -> Kernel:
    """Kernel(out, x): out [1, ...] = op over the partitions of x [P, ...]."""
    return tensor_reduce(op, dst, src, (0,))


@cache
def tensor_scalar_reduce(
    dst: DType, src: DType, op0: AluOp, reverse0: bool, reduce_op: AluOp
) -> Kernel:
    """
    Kernel(out, row, x, s0): out = x op0 s0, and its reduction by `reduce_op`.

    `row` is fp32 with one element per partition. It sees the fp32 values before their
    cast to `dst`.
    """
    stage = float_function(op0, reverse0)
    fold = row_fold(reduce_op)
    widen, store = to_float32(src), copy(dst, _F32)

    def kernel(out: Array, row: Array, x: Array, s0: Scalar) -> None:
        result = stage(widen(x), s0)
        row[...] = partition_rows(fold, result).reshape(row.shape)
        store(out, result)

    return kernel


@cache
def pool(dst: DType, src: DType, *, average: bool = False) -> Kernel:
    """
    Kernel(out, x): the two innermost axes of x reduced by max, or averaged.

    The average is the sum times 1 / window size (bir.md 6.7).
    """
    fold = row_fold(AluOp.ADD if average else AluOp.MAX)
    widen, store = to_float32(src), copy(dst, _F32)

    def kernel(out: Array, x: Array) -> None:
        window = x.shape[-2] * x.shape[-1]
        rows = np.ascontiguousarray(widen(x)).reshape(*x.shape[:-2], window)
        result = fold(rows)
        if average:
            result = np.multiply(result, np.float32(1) / np.float32(window))
        store(out, result.reshape(out.shape))

    return kernel


def partition_rows(fold: Fold, x: Array) -> Array:
    """`fold` over all free axes of an fp32 array: one value per partition."""
    return fold(np.ascontiguousarray(x).reshape(x.shape[0], -1))


RULES: Final = (
    Rule(
        "reduction order",
        "the operand is made contiguous and reduced in NumPy's order: pairwise for "
        "add and average, left to right for the other operations",
        "our choice",
        "nki.md 5.5",
    ),
    Rule(
        "reduction average",
        "each term is divided by the count first, then added",
        "documented",
        "bir.md 6.7",
    ),
    Rule(
        "reduction subtract and divide",
        "the first element, then fold the others into it",
        "documented",
        "bir.md 6.7",
    ),
    Rule(
        "reduction negate",
        "changes the sign of the fp32 result before its cast",
        "documented",
        "bir.md 6.7",
    ),
    Rule(
        "fused row reductions",
        "see the fp32 values before their cast to the destination",
        "inferred",
        "nki.md 5.5",
    ),
)
