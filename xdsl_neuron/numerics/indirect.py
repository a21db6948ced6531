"""Gathers and scatters (bir.md 6.3, nki.md 1.1). Index arrays hold integers."""

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from ..dtypes import DType
from .casts import copy
from .kernel import Array, Kernel
from .movement import dma_accumulate
from .rules import Rule

# Partitions served by one GpSIMD core.
_CORE: Final = 16


def _signed(index: Array) -> Array:
    """The indices as one row of int64, so that -1 (skip) and 2^31 are told apart."""
    return index.reshape(-1).astype(np.int64)


def in_bounds(index: Array, rows: int) -> Array:
    """Which of the indices address one of `rows` rows."""
    return (index >= 0) & (index < rows)


def _check_bounds(index: Array, rows: int) -> None:
    outside = index[~in_bounds(index, rows)]
    if outside.size:
        raise IndexError(f"index {outside[0]} is out of bounds for {rows} rows")


@cache
def gather_rows(dst: DType, src: DType, *, skip: bool = False) -> Kernel:
    """
    Kernel(out, table, index): out[i] = table[index[i]].

    out [I..., ...], table [R, ...], index [I...]. An index outside the table leaves its
    rows of `out` as they are where `skip`, and raises `IndexError` otherwise.
    """
    move = copy(dst, src)

    def kernel(out: Array, table: Array, index: Array) -> None:
        rows = _signed(index)
        if skip:
            valid = in_bounds(rows, table.shape[0])
            if not valid.all():
                _gather_some(out, table, rows, valid, dst, src)
                return
        else:
            _check_bounds(rows, table.shape[0])
        move(out, table[rows].reshape(out.shape))

    return kernel


def _gather_some(
    out: Array, table: Array, rows: Array, valid: Array, dst: DType, src: DType
) -> None:
    """Gather the valid rows; `out` is [I, ...] with one leading axis per index axis."""
    gathered = np.empty((rows.size, *table.shape[1:]), out.dtype)
    copy(dst, src)(gathered, table[np.where(valid, rows, 0)])
    keep = np.broadcast_to(
        valid.reshape(-1, *(1,) * (table.ndim - 1)), gathered.shape
    ).reshape(out.shape)
    np.copyto(out, gathered.reshape(out.shape), where=keep)


@cache
def mark_gathered(table: tuple[int, ...]) -> Kernel:
    """
    Kernel(flags, index): sets the flags of what `gather_rows` writes of `out`.

    `flags` is [I..., ..., n], n for each element; `table` the shape of the table.
    """

    def kernel(flags: Array, index: Array) -> None:
        valid = in_bounds(_signed(index), table[0])
        rows = valid.reshape(-1, *(1,) * (len(table) - 1))
        written = np.broadcast_to(rows, (valid.size, *table[1:]))
        flags[written.reshape(flags.shape[:-1])] = True

    return kernel


def mark_scattered(flags: Array, index: Array) -> None:
    """Sets the flags [R, ..., n] of what `scatter_rows` writes of its table."""
    rows = _signed(index)
    flags[rows[in_bounds(rows, flags.shape[0])]] = True


@cache
def scatter_rows(dst: DType, src: DType, *, skip: bool = False) -> Kernel:
    """
    Kernel(table, x, index): table[index[i]] = x[i], the last of equal indices wins.

    table [R, ...], x [I..., ...], index [I...]. An index outside the table is skipped
    where `skip`, and raises `IndexError` otherwise.
    """
    move = copy(dst, src)

    def kernel(table: Array, x: Array, index: Array) -> None:
        rows, values = _pairs(table, x, index, skip)
        if dst is not src:
            converted = np.empty(values.shape, table.dtype)
            move(converted, values)
            values = converted
        # NumPy assigns in index order, so the last one stays.
        table[rows] = values

    return kernel


@cache
def scatter_add_rows(dst: DType, src: DType, *, skip: bool = False) -> Kernel:
    """
    Kernel(table, x, index): table[index[i]] += x[i], in index order.

    Each addition is rounded to the table's type before the next, as memory accumulates.
    Shapes and indices outside the table are as in `scatter_rows`.
    """
    accumulate = dma_accumulate(dst, src)

    def kernel(table: Array, x: Array, index: Array) -> None:
        rows, values = _pairs(table, x, index, skip)
        for turn in _distinct_turns(rows):
            some = rows[turn]
            total = table[some]
            accumulate(total, values[turn])
            table[some] = total

    return kernel


def _pairs(table: Array, x: Array, index: Array, skip: bool) -> tuple[Array, Array]:
    """The row numbers [n] that are in the table, and the values [n, ...] for them."""
    rows = _signed(index)
    values = x.reshape(rows.size, *table.shape[1:])
    if np.may_share_memory(values, table):
        values = values.copy()
    if not skip:
        _check_bounds(rows, table.shape[0])
        return rows, values
    valid = in_bounds(rows, table.shape[0])
    return (rows, values) if valid.all() else (rows[valid], values[valid])


def _distinct_turns(rows: Array) -> list[Array]:
    """
    Positions of `rows` in turns without duplicates: first occurrences, second, ...

    Rows are independent, so taking the turns one after another keeps every row's order.
    """
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    counts = np.diff(np.r_[starts, rows.size])
    turn = np.arange(rows.size) - np.repeat(starts, counts)
    return [order[turn == number] for number in range(counts.max(initial=0))]


def _check_runs(order: Array, run: int, elements: int) -> None:
    outside = order[order + run > elements]
    if outside.size:
        raise IndexError(
            f"index {outside[0]} with {run} elements from there is out of bounds for "
            f"{elements} elements of a partition"
        )


@cache
def local_gather(elements_per_index: int = 1, valid: int | None = None) -> Kernel:
    """
    Kernel(out, x, index): each GpSIMD core gathers in its 16 partitions.

    x [P, N], index [P, I] uint16, out [P, valid * elements_per_index]. A core reads its
    16 x I indices partition first; each is the offset in the partition of the first of
    elements_per_index elements. Raises `IndexError` for a run past the end, which the
    hardware leaves undefined.
    """
    run: Array = np.arange(elements_per_index, dtype=np.intp)

    def kernel(out: Array, x: Array, index: Array) -> None:
        partitions = x.shape[0]
        cores = partitions // _CORE
        source = x.reshape(cores, _CORE, -1)
        wrapped = index.reshape(cores, _CORE, -1).transpose(0, 2, 1)
        order = wrapped.reshape(cores, -1)[:, :valid].astype(np.int64)
        _check_runs(order, elements_per_index, source.shape[2])
        core: Array = np.arange(cores, dtype=np.intp).reshape(-1, 1, 1)
        # [cores, valid, elements, 16]
        gathered = source[core, :, order[..., None] + run].swapaxes(2, 3)
        out[...] = gathered.transpose(0, 2, 1, 3).reshape(out.shape)

    return kernel


@dataclass(frozen=True)
class Groups:
    """
    How partitions take their offsets: `size` rows of the index together.

    A group has `count` offsets; `of_row` says for each partition which group it is in.
    """

    size: int
    count: int
    of_row: tuple[int, ...]

    def offsets(self, index: Array, columns: int) -> Array:
        """
        The offsets [P, count] of index [rows, K], all below `columns`.

        The i-th of a group is in its row i % size, column i // size. Raises
        `IndexError` for one that is not below.
        """
        rows: Array = np.asarray(self.of_row, np.intp)[:, None] * self.size
        place: Array = np.arange(self.count, dtype=np.intp)
        found = index.reshape(index.shape[0], -1)[
            rows + place % self.size, place // self.size
        ].astype(np.intp)
        outside = found[found >= columns]
        if outside.size:
            raise IndexError(
                f"offset {outside[0]} is out of bounds for {columns} columns"
            )
        return found


@cache
def pick_columns(groups: Groups) -> Kernel:
    """Kernel(out, table, index): out[p, i] = table[p, offset i of p's group]."""

    def kernel(out: Array, table: Array, index: Array) -> None:
        offsets = groups.offsets(index, table.shape[1])
        out[...] = np.take_along_axis(table, offsets, axis=1)

    return kernel


@cache
def put_columns(groups: Groups) -> Kernel:
    """Kernel(table, x, index): table[p, offset i of p's group] = x[p, i], in order."""

    def kernel(table: Array, x: Array, index: Array) -> None:
        # NumPy assigns in index order, so the last of equal offsets stays.
        np.put_along_axis(table, groups.offsets(index, table.shape[1]), x, axis=1)

    return kernel


@cache
def nc_n_gather(dst: DType, src: DType) -> Kernel:
    """
    Kernel(out, x, index): out[p, i] = x[p, index[p, i]] along the flattened free axes.

    Raises `IndexError` for an index outside the partition's elements.
    """
    move = copy(dst, src)

    def kernel(out: Array, x: Array, index: Array) -> None:
        partitions = x.shape[0]
        source = x.reshape(partitions, -1)
        columns = index.reshape(partitions, -1).astype(np.int64)
        _check_bounds(columns, source.shape[1])
        gathered = np.take_along_axis(source, columns, axis=1)
        move(out, gathered.reshape(out.shape))

    return kernel


RULES: Final = (
    Rule(
        "scatter order",
        "serial in index order: the last of equal indices wins, and accumulation "
        "rounds to the table's type at every step",
        "documented",
        "bir.md 6.3, 10.3",
    ),
    Rule(
        "indices outside the table",
        "skipped where asked for, otherwise an error",
        "documented",
        "bir.md 6.3",
    ),
    Rule(
        "tensor indirection",
        "16 partitions (32 on the tensor engine) share their offsets, which run over "
        "those partitions of the index first",
        "documented",
        "nki.md 0 NkiTensor.indirect",
    ),
    Rule(
        "tensor indirection of equal offsets",
        "all see what was there before; the last one written stays",
        "our choice",
        "nki.md 0 NkiTensor.indirect",
    ),
    Rule(
        "tensor indirection into PSUM",
        "all columns that the index picks among count as written: a product that "
        "decides by itself whether it accumulates is added to all of them",
        "our choice",
        "nki.md 0 NkiTensor.indirect",
    ),
    Rule(
        "local_gather",
        "indices run over the core's 16 partitions first, then along the free axis; "
        "an index is the offset of the first element of its run",
        "documented",
        "the NumPy semantics in the reference of nisa.local_gather",
    ),
)
