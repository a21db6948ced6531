"""
Cutting a transfer into descriptors: pure arithmetic on accesses.

Both sides of a transfer are walked together (`access.align`). The partitions of an
on-chip side are a dimension of their own: its patterns are laid out with a pitch no
tensor reaches, so that a step says which of the two it is. A descriptor side is one
contiguous run and two strided dimensions (dma.md 8.1, 8.7).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from xdsl_neuron.access import Nest, Pattern, align
from xdsl_neuron.affine import Affine
from xdsl_neuron.dialects.dma import (
    COUNT_MAX,
    RUN_BYTES_MAX,
    STEP_MAX,
    STRIDED_DIMS_MAX,
)
from xdsl_neuron.dialects.neuron import Access

_PITCH = 1 << 48
"""Elements between partitions, and between the rows an index picks."""

_JOINT = 1 << 128
"""Steps of two sides as one number: `left * _JOINT + right`."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a transfer: its access in elements, bytes per element."""

    access: Access
    element_bytes: int

    @property
    def on_chip(self) -> bool:
        """Whether it has partitions."""
        return self.access.partition is not None


class Loop(NamedTuple):
    """A dimension of a nest: its count and its step on each side, in elements."""

    num: int
    left: int
    right: int


Pieces = Iterator[tuple[Access, Access]]
"""Accesses in bytes, left and right."""


def copies(left: Side, right: Side, ordered: bool) -> Pieces:
    """
    Descriptor accesses that together copy `right` to `left`, element by element.

    `ordered` keeps the order of the elements; otherwise a nest of too many dimensions
    is cut along its shortest.
    """
    for nest in align(_flat(left.access), _flat(right.access)):
        yield from _cut(nest, left, right, ordered)


def _flat(access: Access) -> Pattern:
    return access.flat(_PITCH)


def _cut(nest: Nest, left: Side, right: Side, ordered: bool) -> Pieces:
    loops = [Loop(*each) for each in zip(nest.nums, nest.steps_a, nest.steps_b)]
    outer, inner = _outer_loops(loops, left, right, ordered)
    limit, most = _limits(inner, left, right, STRIDED_DIMS_MAX)
    pieces = list(_split(inner, limit, most))
    for starts in product(*(range(loop.num) for loop in outer)):
        at_left, at_right = nest.start_a, nest.start_b
        for index, loop in zip(starts, outer, strict=True):
            at_left += index * loop.left
            at_right += index * loop.right
        for (first_left, first_right), found in pieces:
            yield (
                _side_bytes(left, at_left + first_left, found, 0),
                _side_bytes(right, at_right + first_right, found, 1),
            )


def _outer_loops(
    loops: list[Loop], left: Side, right: Side, ordered: bool
) -> tuple[list[Loop], list[Loop]]:
    """Loops that become descriptors of their own, and those inside a descriptor."""
    outer: list[Loop] = []
    inner = list(loops)

    def move(candidates: Sequence[Loop]) -> None:
        loop = inner[0] if ordered else min(candidates)
        inner.remove(loop)
        outer.append(loop)

    while wide := [each for each in inner if _too_far(each, left, right)]:
        move(wide)
    for side, position in ((left, 1), (right, 2)):
        while side.on_chip:
            partitions = [each for each in inner if _steps_partitions(each[position])]
            if len(partitions) < 2:
                break
            move(partitions)
    while len(inner) > _limits(inner, left, right, STRIDED_DIMS_MAX)[0]:
        move(inner[:-1])
    outer.sort(key=loops.index)
    return outer, inner


def _too_far(loop: Loop, left: Side, right: Side) -> bool:
    sides = ((loop.left, left), (loop.right, right))
    return any(
        not _steps_partitions(step) and abs(step) * side.element_bytes > STEP_MAX
        for step, side in sides
    )


def _steps_partitions(step: int) -> bool:
    return abs(step) >= _PITCH // 2


def _limits(
    loops: Sequence[Loop], left: Side, right: Side, strided: int
) -> tuple[int, int]:
    """How many loops a descriptor takes, and the innermost one's count."""
    if not loops:
        return strided, COUNT_MAX
    contiguous = [
        side.element_bytes
        for side, step in ((left, loops[-1].left), (right, loops[-1].right))
        if step == 1
    ]
    most = (
        min(RUN_BYTES_MAX // size for size in contiguous) if contiguous else COUNT_MAX
    )
    if len(contiguous) == 2:
        return strided + 1, most
    return strided, min(most, COUNT_MAX)


def _split(
    loops: Sequence[Loop], limit: int, most: int
) -> Iterator[tuple[tuple[int, int], list[Loop]]]:
    """((start left, start right), loops) within the limits, in order."""
    pairs = tuple((loop.left * _JOINT + loop.right, loop.num) for loop in loops)
    for piece in Pattern(0, pairs).split(limit, COUNT_MAX, most):
        found = [Loop(num, *_apart(step)) for step, num in piece.pairs]
        yield _apart(piece.start), found


def _apart(joint: int) -> tuple[int, int]:
    left = (joint + _JOINT // 2) // _JOINT
    return left, joint - left * _JOINT


def _side_bytes(side: Side, start: int, loops: Sequence[Loop], which: int) -> Access:
    """The access of one side, in bytes; loops outermost first."""
    size = side.element_bytes
    steps = [(loop[1 + which], loop.num) for loop in loops]
    if not side.on_chip:
        pairs = tuple((step * size, num) for step, num in steps)
        return Access(Affine(start * size), pairs or ((size, 1),))
    partitions = (1, 1)
    if steps and _steps_partitions(steps[0][0]):
        (step, num), *steps = steps
        partitions = (step // _PITCH, num)
    pairs = tuple((step * size, num) for step, num in steps) or ((size, 1),)
    partition, offset = divmod(start, _PITCH)
    return Access(Affine(offset * size), (partitions, *pairs), Affine(partition))


def indexed_rows(
    rows: Side, chip: Side, index: Access
) -> Iterator[tuple[Access, Access, Access]]:
    """
    Descriptor accesses (rows, chip, index) of a transfer whose rows an index picks.

    The first dimension of `rows` is the indexed one. Rows stay in index order within
    each column. `ValueError` where the chip side's rows cannot be taken one by one.
    """
    step, count = rows.access.pairs[0]
    walked = Pattern(
        rows.access.offset.constant, ((_PITCH, count), *rows.access.pairs[1:])
    )
    nests = list(align(walked, _flat(chip.access)))
    picked, columns = _row_loops(nests) if len(nests) == 1 else (None, [])
    strided = STRIDED_DIMS_MAX - max(len(picked or ()), 1 if count > 1 else 0)
    chip_partitions = sum(_steps_partitions(each.right) for each in picked or ())
    if picked is None or strided < 0 or chip_partitions > 1:
        yield from _one_by_one(rows, chip, index)
        return
    nest = nests[0]
    outer, inner = list[Loop](), columns
    while inner and len(inner) > _limits(inner, rows, chip, strided)[0]:
        outer.append(inner[0])
        inner = inner[1:]
    limit, most = _limits(inner, rows, chip, strided)
    pieces = list(_split(inner, max(limit, 1), most))
    row_bytes = (step * rows.element_bytes, count)
    for starts in product(*(range(loop.num) for loop in outer)):
        at_rows = nest.start_a + sum(i * o.left for i, o in zip(starts, outer))
        at_chip = nest.start_b + sum(i * o.right for i, o in zip(starts, outer))
        for (first_rows, first_chip), found in pieces:
            content = _side_bytes(rows, at_rows + first_rows, found, 0)
            chip_access = _side_bytes(chip, at_chip + first_chip, [*picked, *found], 1)
            yield (
                Access(content.offset, (row_bytes, *content.pairs)),
                chip_access,
                in_bytes(index, 4),
            )


def _row_loops(nests: Sequence[Nest]) -> tuple[list[Loop] | None, list[Loop]]:
    """The loops over rows and those over columns, None where rows are not outermost."""
    (nest,) = nests
    loops = [Loop(*each) for each in zip(nest.nums, nest.steps_a, nest.steps_b)]
    picked = [loop for loop in loops if _steps_partitions(loop.left)]
    if loops[: len(picked)] != picked:
        return None, []
    return picked, loops[len(picked) :]


def _one_by_one(
    rows: Side, chip: Side, index: Access
) -> Iterator[tuple[Access, Access, Access]]:
    count = rows.access.pairs[0][1]
    if count == 1 or chip.access.shape[0] != count or index.shape[0] != count:
        raise ValueError(
            f"{count} rows of shape {list(rows.access.shape)} do not run along the "
            f"first dimension of {list(chip.access.shape)}; give both the same shape"
        )
    one_row = Access(
        rows.access.offset, ((rows.access.pairs[0][0], 1), *rows.access.pairs[1:])
    )
    for row in range(count):
        yield from indexed_rows(
            Side(one_row, rows.element_bytes),
            Side(_row(chip.access, row), chip.element_bytes),
            _row(index, row),
        )


def _row(access: Access, row: int) -> Access:
    return access.restricted(
        [(row, row + 1), *((0, extent) for extent in access.shape[1:])]
    )


def in_bytes(access: Access, element_bytes: int) -> Access:
    """A constant access counted in bytes, dimension by dimension."""
    free = access.pairs
    head: tuple[tuple[int, int], ...] = ()
    if access.partition is not None:
        head, free = free[:1], free[1:]
    scaled = tuple((step * element_bytes, num) for step, num in free)
    pairs = (*head, *(scaled or ((element_bytes, 1),)))
    return Access(access.offset * element_bytes, pairs, access.partition)
