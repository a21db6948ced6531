"""The vector engine's 8-wide search (bir.md 6.8, nki.md 1.1)."""

from functools import cache
from typing import Final

import numpy as np

from ..dtypes import DType
from .casts import copy, to_float32
from .fill import constant
from .kernel import Array, Kernel
from .rules import Rule

_F32: Final = DType.FLOAT32
_WIDTH: Final = 8
_NOT_FOUND: Final = -1


def _rows(x: Array) -> Array:
    return x.reshape(x.shape[0], -1)


@cache
def max8(dst: DType, src: DType) -> Kernel:
    """Kernel(out, x): the 8 largest of each partition of x [P, ...], descending."""
    widen, store = to_float32(src), copy(dst, _F32)

    def kernel(out: Array, x: Array) -> None:
        rows = _rows(widen(x))
        # NumPy orders NaN after every number, so it comes first here.
        largest = np.partition(rows, rows.shape[1] - _WIDTH, axis=1)[:, -_WIDTH:]
        store(out, np.sort(largest, axis=1)[:, ::-1].reshape(out.shape))

    return kernel


def match8(x: Array, values: Array, order: range) -> Array:
    """
    Where each of 8 values occurs in its partition, as int64 [P, 8]; -1 where nowhere.

    x [P, N] and values [P, 8] are fp32. An occurrence is used once, by the first of
    equal values in `order`.
    """
    remaining = x.copy()
    partitions = np.arange(x.shape[0], dtype=np.intp)
    found = np.empty((x.shape[0], _WIDTH), np.int64)
    for column in order:
        equal = np.equal(remaining, values[:, column, None])
        position = equal.argmax(axis=1)
        hit = equal[partitions, position]
        found[:, column] = np.where(hit, position, _NOT_FOUND)
        # NaN equals nothing, so a used place cannot be found again.
        remaining[partitions[hit], position[hit]] = np.nan
    return found


@cache
def find_index8(src: DType, values: DType) -> Kernel:
    """
    Kernel(out, x, values): the first index of each of 8 values, in x's free elements.

    x [P, ...], values [P, 8], out [P, 8] uint16 or uint32. Equal values take one
    occurrence after another; all ones where there is none.
    """
    widen_x, widen_values = to_float32(src), to_float32(values)

    def kernel(out: Array, x: Array, values: Array) -> None:
        found = match8(_rows(widen_x(x)), _rows(widen_values(values)), range(_WIDTH))
        out[...] = found.astype(out.dtype).reshape(out.shape)

    return kernel


@cache
def match_replace8(dst: DType, src: DType, values: DType) -> Kernel:
    """
    Kernel(out, x, values, imm, index=None): x with 8 values replaced by `imm`.

    The first occurrence of each value is replaced, equal values taking one after
    another from the last value to the first. `index`, an array [P, 8] of uint16 or
    uint32, receives the places, all ones where there is none.
    """
    move, widen_x, widen_values = copy(dst, src), to_float32(src), to_float32(values)

    def kernel(
        out: Array, x: Array, values: Array, imm: float, index: Array | None = None
    ) -> None:
        order = range(_WIDTH - 1, -1, -1)
        found = match8(_rows(widen_x(x)), _rows(widen_values(values)), order)
        move(out, x)
        partition, column = np.nonzero(found != _NOT_FOUND)
        place = np.unravel_index(found[partition, column], out.shape[1:])
        out[partition, *place] = constant(dst, imm)
        if index is not None:
            index[...] = found.astype(index.dtype).reshape(index.shape)

    return kernel


@cache
def topk(dst: DType, src: DType) -> Kernel:
    """
    Kernel(values, indices, x): the K largest of each partition of x, descending.

    values and indices are [P, K], indices of an integer type; of equal elements the
    earliest comes first, and a NaN before every number.
    """
    widen, store = to_float32(src), copy(dst, _F32)

    def kernel(values: Array, indices: Array, x: Array) -> None:
        rows = _rows(widen(x))
        order = np.lexsort((-rows, ~np.isnan(rows)))[:, : values.shape[1]]
        largest = np.take_along_axis(rows, order, axis=1)
        store(values, largest.reshape(values.shape))
        indices[...] = order.reshape(indices.shape)

    return kernel


def nonzero_with_count(
    out: Array, x: Array, index_offset: int = 0, padding: int = -1
) -> None:
    """
    Kernel: the indices of non-zero elements, padding, and their count at the end.

    x [P, N], out [P, N + 1] int32. Only partitions 0, 16, 32 ... are read and written
    (nki.md 1.1); the index of element i is i + `index_offset`.
    """
    for partition in range(0, x.shape[0], 16):
        places = np.flatnonzero(x[partition])
        row = out[partition]
        row[...] = padding
        row[: places.size] = places + index_offset
        row[-1] = places.size


def sequence_bounds(out: Array, segment_ids: Array) -> None:
    """
    Kernel: where the segment of each element starts, and where it has ended.

    segment_ids [1, N] fp32 or int32, out [1, 2, N]. A segment is a run of equal ids:
    its first index, then one past its last. Padding, id 0, gets (N, -1)
    (nki.isa.sequence_bounds of 2.26).
    """
    ids = segment_ids.reshape(-1)
    count = ids.size
    edges = np.flatnonzero(ids[1:] != ids[:-1]) + 1
    starts = np.concatenate(([0], edges))
    ends = np.concatenate((edges, [count]))
    run = np.repeat(np.arange(starts.size), ends - starts)
    padding = ids == 0
    bounds = out.reshape(2, count)
    bounds[0] = np.where(padding, count, starts[run])
    bounds[1] = np.where(padding, -1, ends[run])
    out[...] = bounds.reshape(out.shape)


RULES: Final = (
    Rule(
        "max8",
        "a NaN is larger than every number; the order of zeros of both signs is not "
        "specified",
        "our choice",
        "bir.md 6.8",
    ),
    Rule(
        "nisa.topk",
        "result j of 16 partitions is in partition j % 16, column j // 16 (0.7; 0.6 "
        "has all results in every partition); ascending, sorted or not; the last "
        "column is undefined behind the last result",
        "our choice",
        "nisa.topk of NKI 0.6 and 0.7",
    ),
    Rule(
        "topk",
        "of equal elements the earliest comes first, and a NaN before every number",
        "our choice",
        "nki.md 1.1",
    ),
    Rule(
        "find_index8",
        "equal values take one occurrence after another, from value 0 on; NaN and "
        "absent values give all ones",
        "documented",
        "bir.md 6.8, nki.md 1.1",
    ),
    Rule(
        "match_replace8",
        "equal values are processed from value 7 down to 0",
        "documented",
        "nki.md 1.1",
    ),
)
