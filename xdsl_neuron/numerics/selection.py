"""Selection between tensors and constants (bir.md 6.4, 6.5, 6.7)."""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

import numpy as np

from ..dtypes import DType
from ..isa import AluOp
from .bits import blend
from .casts import cast, copy, to_float32
from .fill import Pattern, affine_values, constant, wrap_int32
from .kernel import Array, Kernel, Scalar
from .reduction import partition_rows, row_fold
from .rules import Rule

_F32: Final = DType.FLOAT32

# Compare operations of affine_select and range_select (penguin.md 7).
_COMPARES: Final[dict[AluOp, np.ufunc]] = {
    AluOp.IS_EQUAL: np.equal,
    AluOp.NOT_EQUAL: np.not_equal,
    AluOp.IS_GT: np.greater,
    AluOp.IS_GE: np.greater_equal,
    AluOp.IS_LT: np.less,
    AluOp.IS_LE: np.less_equal,
}

# What range_select writes for a left-out element, instead of -inf (nki.md 5.5).
FP32_MIN: Final = float(np.finfo(np.float32).min)

Convert: TypeAlias = Callable[[Any], Array]


def _compare(op: AluOp) -> np.ufunc:
    ufunc = _COMPARES.get(op)
    if ufunc is None:
        raise ValueError(f"'{op}' is not a compare operation")
    return ufunc


def _operand(dst: DType, src: DType) -> Convert:
    """A tensor of `src`, or a Python number, as values of `dst`."""

    def convert(x: Array | float) -> Array:
        if isinstance(x, np.ndarray):
            return cast(x, src, dst)
        return constant(dst, x)

    return convert


def _is_true(predicate: Array, reverse: bool) -> Array:
    return np.equal(predicate, 0) if reverse else np.not_equal(predicate, 0)


@cache
def select(dst: DType, on_true: DType, on_false: DType) -> Kernel:
    """
    Kernel(out, predicate, on_true, on_false): where predicate != 0, else on_false.

    The branches are tensors of their types, or Python numbers. A tensor of the type
    of `dst` moves its bits.
    """
    take_true, take_false = _operand(dst, on_true), _operand(dst, on_false)

    def kernel(
        out: Array, predicate: Array, on_true: Array | float, on_false: Array | float
    ) -> None:
        condition = np.not_equal(predicate, 0)
        out[...] = blend(condition, take_true(on_true), take_false(on_false))

    return kernel


@cache
def copy_predicated(dst: DType, src: DType, reverse: bool = False) -> Kernel:
    """
    Kernel(out, x, predicate): where predicate != 0 take x; elsewhere out stays.

    `x` is a tensor of `src` or a Python number; `reverse` copies where it is 0.
    """
    take = _operand(dst, src)

    def kernel(out: Array, x: Array | float, predicate: Array) -> None:
        out[...] = blend(_is_true(predicate, reverse), take(x), out)

    return kernel


@cache
def select_reduce(
    dst: DType, on_true: DType, reduce_op: AluOp = AluOp.MAX, reverse: bool = False
) -> Kernel:
    """
    Kernel(out, row, predicate, on_true, on_false): select in fp32, and its reduction.

    `on_false` is a Python number or fp32 [P, 1, ...]; `row` is fp32 with one element
    per partition, over the fp32 values before their cast.
    """
    widen, store, fold = to_float32(on_true), copy(dst, _F32), row_fold(reduce_op)

    def kernel(
        out: Array, row: Array, predicate: Array, on_true: Array, on_false: Scalar
    ) -> None:
        condition = _is_true(predicate, reverse)
        result = blend(condition, widen(on_true), np.asarray(on_false, np.float32))
        row[...] = partition_rows(fold, result).reshape(row.shape)
        store(out, result)

    return kernel


@cache
def affine_select(
    dst: DType, src: DType, pattern: Pattern, channel_multiplier: int, compare: AluOp
) -> Kernel:
    """
    Kernel(out, x, base, fill): x where the affine value compares with 0, else fill.

    The affine value is iota's; `fill` is a Python number. `x` is [P, ...] with the
    pattern's number of elements in every partition.
    """
    ufunc, take = _compare(compare), _operand(dst, src)

    @lru_cache(maxsize=16)
    def condition(partitions: int, base: int) -> Array:
        values = affine_values(pattern, channel_multiplier, partitions, base)
        return ufunc(values, 0)

    def kernel(out: Array, x: Array, base: int, fill: float) -> None:
        keep = condition(x.shape[0], wrap_int32(base)).reshape(x.shape)
        out[...] = blend(keep, take(x), constant(dst, fill))

    return kernel


def _in_range(op0: AluOp, op1: AluOp) -> Callable[..., Array]:
    """f(x, bound0, bound1, start): which free elements both compares keep."""
    first, second = _compare(op0), _compare(op1)

    def in_range(x: Array, bound0: Scalar, bound1: Scalar, start: float) -> Array:
        column = np.arange(x[0].size, dtype=np.float32) + np.float32(start)
        column = column.reshape(1, *x.shape[1:])
        return first(column, bound0) & second(column, bound1)

    return in_range


@cache
def range_select(dst: DType, src: DType, op0: AluOp, op1: AluOp) -> Kernel:
    """
    Kernel(out, x, bound0, bound1, start=0, fill=FP32_MIN).

    Keeps an element where `start` + its index along the free axes compares with both
    bounds: (index op0 bound0) and (index op1 bound1), in fp32. Bounds are Python
    numbers or fp32 [P, 1, ...].
    """
    in_range, take = _in_range(op0, op1), _operand(dst, src)

    def kernel(
        out: Array,
        x: Array,
        bound0: Scalar,
        bound1: Scalar,
        start: float = 0.0,
        fill: float = FP32_MIN,
    ) -> None:
        keep = in_range(x, bound0, bound1, start)
        out[...] = blend(keep, take(x), constant(dst, fill))

    return kernel


@cache
def range_select_reduce(
    dst: DType, src: DType, op0: AluOp, op1: AluOp, reduce_op: AluOp = AluOp.MAX
) -> Kernel:
    """
    Kernel(out, row, x, bound0, bound1, start=0, fill=FP32_MIN): and its reduction.

    `row` is fp32 with one element per partition, over the fp32 values before their
    cast, the filled ones included.
    """
    in_range, fold = _in_range(op0, op1), row_fold(reduce_op)
    widen, take = to_float32(src), _operand(dst, src)

    def kernel(
        out: Array,
        row: Array,
        x: Array,
        bound0: Scalar,
        bound1: Scalar,
        start: float = 0.0,
        fill: float = FP32_MIN,
    ) -> None:
        keep = in_range(x, bound0, bound1, start)
        result = blend(keep, widen(x), np.array(fill, np.float32))
        row[...] = partition_rows(fold, result).reshape(row.shape)
        out[...] = blend(keep, take(x), constant(dst, fill))

    return kernel


RULES: Final = (
    Rule(
        "predicates",
        "any non-zero value is true; the vendor's simulator throws for values other "
        "than 0 and 1 in a select",
        "our choice",
        "bir.md 6.5",
    ),
    Rule(
        "selected values",
        "a branch of the destination's type moves its bits, another one is cast; "
        "those of a select_reduce all pass fp32",
        "inferred",
        "bir.md 6.5",
    ),
    Rule(
        "range_select",
        "index op0 bound0 and index op1 bound1, with the index on the left",
        "documented",
        "penguin.md 7",
    ),
    Rule(
        "range_select reduction",
        "includes the fill values",
        "inferred",
        "nki.md 5.5",
    ),
)
