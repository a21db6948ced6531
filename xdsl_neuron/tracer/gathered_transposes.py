"""
A gather transpose as one instruction for each column of its index.

The page of `nki.isa.dma_transpose` (0.3 to 0.6) takes rows of rank 2, 3 and 4 and an
index [n, N], which is read column after column; the instruction takes rank 3 and one
column.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from xdsl_neuron.dialects.instructions.transpose import GATHER_PARTITIONS, LEGAL_AXES
from xdsl_neuron.tracer.errors import NKIValueError
from xdsl_neuron.tracer.layouts import Gather
from xdsl_neuron.tracer.views import View

_FULL: Final = 128
"""Rows of an index that has several columns."""


def gathered_columns(
    src: View, dst: View, gather: Gather, axes: Sequence[int]
) -> Iterator[tuple[View, View]]:
    """Source and destination of each instruction, of rank 3."""
    if tuple(axes) != LEGAL_AXES.get(src.ndim) or dst.ndim != src.ndim:
        yield src, dst  # its gates say what is wrong
        return
    index, rows = gather.index, src.shape[0]
    _check_index(index, rows)
    source, target = _three_dimensions(src), _three_dimensions(dst)
    if dst.shape != tuple(src.shape[axis] for axis in axes):
        yield source, target
        return
    depth = index.shape[0]
    for column in range(-(-rows // depth)):
        first = column * depth
        count = min(depth, rows - first)
        picked = Gather(_column(index, column, count), gather.limit)
        yield _rows(source, count, picked), _columns(target, first, count)


def _check_index(index: View, rows: int) -> None:
    if index.ndim != 2:
        raise NKIValueError(
            f"indices of a gather transpose must be 2-d, got shape {index.shape}"
        )
    depth, width = index.shape
    if depth % GATHER_PARTITIONS or not GATHER_PARTITIONS <= depth <= _FULL:
        raise NKIValueError(
            "indices.shape[0] of a gather transpose must be in [16, 128] and divisible "
            f"by 16, got {depth}"
        )
    if width > 1 and depth != _FULL:
        raise NKIValueError(
            "indices.shape[0] of a gather transpose must be 128 where indices.shape[1] "
            f"> 1, got {index.shape}"
        )
    if depth * width < rows:
        raise NKIValueError(
            f"a gather transpose of {rows} rows needs as many indices, got {depth} x "
            f"{width}"
        )


def _three_dimensions(view: View) -> View:
    """First and last dimension, and the one between that is more than one element."""
    first, *inner, last = view.layout.pairs
    wide = [pair for pair in inner if pair[1] > 1]
    if len(wide) > 1:
        raise NKIValueError(
            "src.shape[1] or src.shape[2] of a gather transpose must be 1, got "
            f"{view.shape}"
        )
    middle = wide[0] if wide else (1, 1)
    return view.with_layout(replace(view.layout, pairs=(first, middle, last)))


def _column(index: View, column: int, count: int) -> View:
    (down, _), (across, _) = index.layout.pairs
    start = index.layout.offset + column * across
    pairs = ((down, count), (across, 1))
    return index.with_layout(replace(index.layout, pairs=pairs, offset=start))


def _rows(src: View, count: int, gather: Gather) -> View:
    (step, _), *inner = src.layout.pairs
    pairs = ((step, count), *inner)
    return src.with_layout(replace(src.layout, pairs=pairs, gather=gather))


def _columns(dst: View, first: int, count: int) -> View:
    *outer, (step, _) = dst.layout.pairs
    start = dst.layout.offset + first * step
    pairs = (*outer, (step, count))
    return dst.with_layout(replace(dst.layout, pairs=pairs, offset=start))
