"""
Cutting a transfer into descriptors: pure arithmetic on accesses.

Both sides of a transfer are walked together (`access.align`). The partitions of an
on-chip side are a dimension of their own: its patterns are laid out with a pitch no
tensor reaches, so that a step says which of the two it is. A descriptor side is one
contiguous run and two strided dimensions (dma.md 8.1, 8.7).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from xdsl_neuron.access import Nest, Pairs, Pattern, align
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


class Form(NamedTuple):
    """What of a side does not depend on where it starts."""

    pairs: Pairs
    on_chip: bool
    element_bytes: int

    def pattern(self) -> Pattern:
        """The walk over elements from 0, partitions one pitch apart."""
        zero = Affine(0)
        return Access(zero, self.pairs, zero if self.on_chip else None).flat(_PITCH)


class Part(NamedTuple):
    """A piece of a side, from where the side starts; offset and steps in bytes."""

    partition: int
    offset: int
    pairs: Pairs


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a transfer: its access in elements, bytes per element."""

    access: Access
    element_bytes: int

    @property
    def form(self) -> Form:
        """What does not depend on where it starts."""
        access = self.access
        return Form(access.pairs, access.partition is not None, self.element_bytes)

    def at(self, part: Part) -> Access:
        """The access of a piece, in bytes."""
        access = self.access
        offset = access.offset.constant * self.element_bytes + part.offset
        if access.partition is None:
            return Access(Affine(offset), part.pairs)
        partition = access.partition.constant + part.partition
        return Access(Affine(offset), part.pairs, Affine(partition))


class Loop(NamedTuple):
    """A dimension of a nest: its count and its step on each side, in elements."""

    num: int
    left: int
    right: int


def copies(left: Side, right: Side, ordered: bool) -> Iterator[tuple[Access, Access]]:
    """
    Descriptor accesses in bytes that together copy `right` to `left`, in elements.

    `ordered` keeps the order of the elements; otherwise a nest of too many dimensions
    is cut along its shortest.
    """
    for part_left, part_right in _parts(left.form, right.form, ordered):
        yield left.at(part_left), right.at(part_right)


@lru_cache(maxsize=1024)
def _parts(left: Form, right: Form, ordered: bool) -> tuple[tuple[Part, Part], ...]:
    nests = align(left.pattern(), right.pattern())
    return tuple(part for nest in nests for part in _cut(nest, left, right, ordered))


def _cut(
    nest: Nest, left: Form, right: Form, ordered: bool
) -> Iterator[tuple[Part, Part]]:
    loops = [Loop(*each) for each in zip(nest.nums, nest.steps_a, nest.steps_b)]
    outer, inner = _outer_loops(loops, left, right, ordered)
    limit, most = _limits(inner, left, right, STRIDED_DIMS_MAX)
    pieces = list(_split(inner, limit, most))
    for at_left, at_right in _starts(nest, outer):
        for (first_left, first_right), found in pieces:
            steps_left = [(loop.left, loop.num) for loop in found]
            steps_right = [(loop.right, loop.num) for loop in found]
            yield (
                _part(left, at_left + first_left, steps_left),
                _part(right, at_right + first_right, steps_right),
            )


def _starts(nest: Nest, outer: Sequence[Loop]) -> Iterator[tuple[int, int]]:
    """Where each iteration of the outer loops begins, on both sides."""
    for indices in product(*(range(loop.num) for loop in outer)):
        at_left, at_right = nest.start_a, nest.start_b
        for index, loop in zip(indices, outer, strict=True):
            at_left += index * loop.left
            at_right += index * loop.right
        yield at_left, at_right


def _outer_loops(
    loops: list[Loop], left: Form, right: Form, ordered: bool
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


def _too_far(loop: Loop, left: Form, right: Form) -> bool:
    sides = ((loop.left, left), (loop.right, right))
    return any(
        not _steps_partitions(step) and abs(step) * side.element_bytes > STEP_MAX
        for step, side in sides
    )


def _steps_partitions(step: int) -> bool:
    return abs(step) >= _PITCH // 2


def _limits(
    loops: Sequence[Loop], left: Form, right: Form, strided: int
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


def _part(form: Form, start: int, steps: Sequence[tuple[int, int]]) -> Part:
    """A piece in bytes; its loops are (step, num), outermost first."""
    size = form.element_bytes
    if not form.on_chip:
        pairs = tuple((step * size, num) for step, num in steps)
        return Part(0, start * size, pairs or ((size, 1),))
    partitions = (1, 1)
    if steps and _steps_partitions(steps[0][0]):
        (step, num), *steps = steps
        partitions = (step // _PITCH, num)
    pairs = tuple((step * size, num) for step, num in steps) or ((size, 1),)
    partition = (start + _PITCH // 2) // _PITCH
    offset = (start - partition * _PITCH) * size
    return Part(partition, offset, (partitions, *pairs))


def indexed_rows(
    rows: Side, chip: Side, index: Access
) -> Iterator[tuple[Access, Access, Access]]:
    """
    Descriptor accesses (rows, chip, index) of a transfer whose rows an index picks.

    The first dimension of `rows` is the indexed one. Rows stay in index order within
    each column. `ValueError` where the chip side's rows cannot be taken one by one.
    """
    for row_part, chip_part in _row_parts(rows.form, chip.form) or ():
        yield rows.at(row_part), chip.at(chip_part), in_bytes(index, 4)
    if _row_parts(rows.form, chip.form) is None:
        yield from _one_by_one(rows, chip, index)


@lru_cache(maxsize=1024)
def _row_parts(rows: Form, chip: Form) -> tuple[tuple[Part, Part], ...] | None:
    """
    Pieces with all rows each, None where there are none.

    Rows are laid out one pitch apart, so that they stay a dimension of their own.
    """
    step, count = rows.pairs[0]
    walked = Pattern(0, ((_PITCH, count), *rows.pairs[1:]))
    nests = list(align(walked, chip.pattern()))
    picked, columns = _row_loops(nests)
    strided = STRIDED_DIMS_MAX - max(len(picked), 1 if count > 1 else 0)
    if len(nests) > 1 or strided < 0:
        return None
    if sum(_steps_partitions(each.right) for each in picked) > 1:
        return None
    outer, inner = list[Loop](), columns
    while inner and len(inner) > _limits(inner, rows, chip, strided)[0]:
        outer.append(inner[0])
        inner = inner[1:]
    limit, most = _limits(inner, rows, chip, strided)
    pieces = list(_split(inner, max(limit, 1), most))
    found: list[tuple[Part, Part]] = []
    for at_rows, at_chip in _starts(nests[0], outer):
        for (first_rows, first_chip), loops in pieces:
            content = _part(
                rows, at_rows + first_rows, [(loop.left, loop.num) for loop in loops]
            )
            pairs = ((step * rows.element_bytes, count), *content.pairs)
            on_chip = [(loop.right, loop.num) for loop in (*picked, *loops)]
            chip_part = _part(chip, at_chip + first_chip, on_chip)
            found.append((content._replace(pairs=pairs), chip_part))
    return tuple(found)


def _row_loops(nests: Sequence[Nest]) -> tuple[list[Loop], list[Loop]]:
    """The first nest's loops over rows, which are its outermost, and over columns."""
    nest = nests[0]
    loops = [Loop(*each) for each in zip(nest.nums, nest.steps_a, nest.steps_b)]
    rows = sum(_steps_partitions(loop.left) for loop in loops)
    return loops[:rows], loops[rows:]


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
