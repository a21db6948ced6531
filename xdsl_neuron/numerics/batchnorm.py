"""Batch normalisation statistics and gradients (bir.md 6.7)."""

from functools import cache
from typing import Final

import numpy as np

from ..dtypes import DType
from ..isa import AluOp
from .casts import copy, to_float32
from .kernel import Array, Kernel
from .reduction import partition_rows, row_fold
from .rules import Rule

_F32: Final = DType.FLOAT32
# (count, mean, sum of squared deviations) of one set of elements.
_TRIPLE: Final = 3
_SUM: Final = row_fold(AluOp.ADD)


def _statistics(x: Array) -> tuple[int, Array, Array]:
    """Count, mean and sum of squared deviations of the rows of x [P, N], in fp32."""
    count = x.shape[1]
    if count == 0:
        zero = np.zeros(x.shape[0], np.float32)
        return 0, zero, zero
    mean = partition_rows(_SUM, x) / np.float32(count)
    deviation = x - mean[:, None]
    return count, mean, partition_rows(_SUM, deviation * deviation)


@cache
def bn_stats(dst: DType, src: DType) -> Kernel:
    """
    Kernel(out, x): out [P, 6] = (count, mean, M2) of the even, then the odd elements.

    M2 is the sum of squared deviations, that is variance times count.
    """
    widen, store = to_float32(src), copy(dst, _F32)

    def kernel(out: Array, x: Array) -> None:
        rows = widen(x).reshape(x.shape[0], -1)
        result = np.empty((rows.shape[0], 2 * _TRIPLE), np.float32)
        for lane in range(2):
            triple = result[:, _TRIPLE * lane : _TRIPLE * (lane + 1)]
            count, mean, squares = _statistics(rows[:, lane::2])
            triple[:, 0], triple[:, 1], triple[:, 2] = count, mean, squares
        store(out, result.reshape(out.shape))

    return kernel


@cache
def bn_aggr(dst: DType, src: DType) -> Kernel:
    """
    Kernel(out, x): triples of x [P, 3 * n] merged into out [P, 2] = (mean, variance).

    The triples are merged in order by Chan's formula in fp32; the variance is the
    population's. An empty triple changes nothing.
    """
    widen, store = to_float32(src), copy(dst, _F32)

    def kernel(out: Array, x: Array) -> None:
        triples = widen(x).reshape(x.shape[0], -1, _TRIPLE)
        count, mean, squares = (triples[:, 0, i].copy() for i in range(_TRIPLE))
        for index in range(1, triples.shape[1]):
            more, other_mean, other_squares = triples[:, index].T
            total = count + more
            share = np.where(total != 0, more / total, np.float32(0))
            delta = other_mean - mean
            mean = mean + delta * share
            squares = squares + other_squares + delta * delta * count * share
            count = total
        store(out, np.stack([mean, squares / count], axis=1).reshape(out.shape))

    return kernel


@cache
def bn_gradients(dst: DType, src: DType) -> Kernel:
    """
    Kernel(out, x, dy, mean, factor): three sums per partition, in out [P, 3].

    sum(dy), sum((x - mean) * dy) * factor^2, sum((x - mean) * dy) * factor; x and dy
    are of `src`, mean and factor fp32 [P, 1].
    """
    widen, store = to_float32(src), copy(dst, _F32)

    def kernel(out: Array, x: Array, dy: Array, mean: Array, factor: Array) -> None:
        partitions = x.shape[0]
        rows, slopes = (widen(a).reshape(partitions, -1) for a in (x, dy))
        product = (rows - mean.reshape(-1, 1)) * slopes
        scale = factor.reshape(-1)
        covariance = partition_rows(_SUM, product)
        columns = [
            partition_rows(_SUM, slopes),
            covariance * (scale * scale),
            covariance * scale,
        ]
        store(out, np.stack(columns, axis=1).reshape(out.shape))

    return kernel


@cache
def bn_backprop2(dst: DType, src: DType) -> Kernel:
    """
    Kernel(out, x, dy, mean, offset, slopes, total_elements): the input's gradient.

    out = (dy * total_elements - ((x - mean) * Bc + A)) * scale with offset [P, 1] = A
    and slopes [P, 2] = (scale, Bc) per partition, all fp32; x, dy and out are [P, N].
    """
    widen, store = to_float32(src), copy(dst, _F32)

    def kernel(
        out: Array,
        x: Array,
        dy: Array,
        mean: Array,
        offset: Array,
        slopes: Array,
        total_elements: float,
    ) -> None:
        partitions = x.shape[0]
        rows, gradients = (widen(a).reshape(partitions, -1) for a in (x, dy))
        scale, slope = (slopes.reshape(partitions, 2)[:, i, None] for i in range(2))
        centred = (rows - mean.reshape(-1, 1)) * slope + offset.reshape(-1, 1)
        result = (gradients * np.float32(total_elements) - centred) * scale
        store(out, result.reshape(out.shape))

    return kernel


@cache
def bn_backprop(dst: DType, src: DType) -> Kernel:
    """
    Kernel(out, x, dy, mean, coefficients, total_elements): as `bn_backprop2`.

    `coefficients` [P, 3] are (scale, A, Bc) per partition.
    """
    inner = bn_backprop2(dst, src)

    def kernel(
        out: Array,
        x: Array,
        dy: Array,
        mean: Array,
        coefficients: Array,
        total_elements: float,
    ) -> None:
        given = coefficients.reshape(x.shape[0], _TRIPLE)
        inner(out, x, dy, mean, given[:, 1], given[:, ::2], total_elements)

    return kernel


RULES: Final = (
    Rule(
        "bn_stats",
        "mean, then the sum of squared deviations from it, in fp32 and two passes; the "
        "vendor's simulator runs Welford's recurrence, which differs in rounding only",
        "our choice",
        "bir.md 6.7",
    ),
    Rule(
        "bn_aggr",
        "Chan's formula in the order of the triples; an empty triple changes nothing",
        "documented",
        "bir.md 6.7",
    ),
    Rule(
        "bn_backprop2",
        "the formula of bn_backprop; the tensor of one coefficient is A, that of two "
        "is (scale, Bc), in the order they have among three",
        "our choice",
        "bir.md 6.7",
    ),
    Rule(
        "bn_gradients",
        "the factors multiply the sums, not each term",
        "our choice",
        "bir.md 6.7",
    ),
)
