"""
Sets of a tensor's elements as the bits of one integer.

A tile has at most a few hundred thousand cells, an integer of that width costs
microseconds to combine, and the answer is exact whatever the access pattern.
"""

from collections.abc import Iterator
from functools import lru_cache

from xdsl_neuron.dialects.neuron import Access
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.pattern import Pairs, Pattern


@lru_cache(maxsize=256)
def cells(start: int, pairs: Pairs, width: int) -> int:
    """The cells of a pattern of runs: `width` cells from each of its addresses."""
    mask = (1 << width) - 1
    for step, num in reversed(pairs):
        if step < 0:
            start, step = start + step * (num - 1), -step
        mask = _repeated(mask, step, num)
    return mask << start


def _repeated(mask: int, step: int, num: int) -> int:
    """The union of `num` copies of a set, `step` apart; doubles what it has."""
    if step == 0:
        return mask
    result, placed = 0, 0
    block, size = mask, 1
    while num:
        if num & 1:
            result |= block << placed * step
            placed += size
        num >>= 1
        if num:
            block |= block << size * step
            size *= 2
    return result


def cells_of(access: Access, pitch_bytes: int, element_bytes: int, unit: int) -> int:
    """
    The cells of `unit` bytes a constant access touches.

    `pitch_bytes` is the size of a partition. The unit divides the element.
    """
    scale = element_bytes // unit
    pattern = access.flat(pitch_bytes // element_bytes)
    scaled = Pattern(
        pattern.start * scale, tuple((step * scale, num) for step, num in pattern.pairs)
    ).normalise()
    return cells(scaled.start, scaled.pairs, scale)


def accesses_of(
    found: int, pitch: int, partitions: int, scale: int
) -> Iterator[Access] | None:
    """
    Few accesses in elements of `scale` cells that cover a set exactly.

    `pitch` is the number of cells of a partition. None where the set does not consist
    of whole elements.
    """
    full = (1 << pitch) - 1
    rows = [(found >> partition * pitch) & full for partition in range(partitions)]
    runs = {row: _runs(row) for row in set(rows)}
    if any(number % scale for row in runs.values() for run in row for number in run):
        return None
    return _accesses(rows, runs, scale)


def _accesses(
    rows: list[int], runs: dict[int, list[tuple[int, int]]], scale: int
) -> Iterator[Access]:
    first = 0
    while first < len(rows):
        last = first
        while last + 1 < len(rows) and rows[last + 1] == rows[first]:
            last += 1
        for start, pairs in _regular(runs[rows[first]]):
            strided = tuple((step // scale, num) for step, num in pairs[:-1])
            run = (1, pairs[-1][1] // scale)
            free = strided if strided and run == (1, 1) else (*strided, run)
            rows_pair = (1, last + 1 - first)
            yield Access(Affine(start // scale), (rows_pair, *free), Affine(first))
        first = last + 1


def _runs(row: int) -> list[tuple[int, int]]:
    """(start, length) of each run of ones."""
    found: list[tuple[int, int]] = []
    position = 0
    while row:
        gap = (row & -row).bit_length() - 1
        row >>= gap
        position += gap
        length = (row ^ (row + 1)).bit_length() - 1
        found.append((position, length))
        row >>= length
        position += length
    return found


def _regular(runs: list[tuple[int, int]]) -> Iterator[tuple[int, Pairs]]:
    """Runs of one length at one distance joined."""
    first = 0
    while first < len(runs):
        start, length = runs[first]
        last, step = first, 0
        while last + 1 < len(runs) and runs[last + 1][1] == length:
            distance = runs[last + 1][0] - runs[last][0]
            if step and distance != step:
                break
            step = distance
            last += 1
        num = last + 1 - first
        yield start, ((step, num), (1, length)) if num > 1 else ((1, length),)
        first = last + 1
