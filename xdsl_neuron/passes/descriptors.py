"""
Cutting a transfer into descriptors: pure arithmetic on accesses.

The sides of a transfer are walked together (`access.align_all`). The partitions of an
on-chip side are a dimension of their own: its patterns are laid out with a pitch no
tensor reaches, so that a step says which of the two it is. A descriptor side is one
contiguous run and two strided dimensions (dma.md 8.1, 8.7).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from xdsl_neuron.dialects.dma import (
    COUNT_MAX,
    RUN_BYTES_MAX,
    STEP_MAX,
    STRIDED_DIMS_MAX,
)
from xdsl_neuron.dialects.neuron import Access
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.lattice import Pairs
from xdsl_neuron.geometry.pattern import JointNest, Pattern, align_all, apart, joined

_PITCH = 1 << 48
"""Elements between partitions, and between the rows an index picks."""


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
    steps: tuple[int, ...]


def copies(sides: Sequence[Side], ordered: bool) -> Iterator[tuple[Access, ...]]:
    """
    Descriptor accesses in bytes, one a side, that together walk all sides in step.

    `ordered` keeps the order of the elements; otherwise a nest of too many dimensions
    is cut along its shortest.
    """
    for parts in _parts(tuple(side.form for side in sides), ordered):
        yield tuple(side.at(part) for side, part in zip(sides, parts, strict=True))


@lru_cache(maxsize=1024)
def _parts(forms: tuple[Form, ...], ordered: bool) -> tuple[tuple[Part, ...], ...]:
    nests = align_all([form.pattern() for form in forms])
    return tuple(part for nest in nests for part in _cut(nest, forms, ordered))


def _loops(nest: JointNest) -> list[Loop]:
    return [
        Loop(num, steps)
        for num, steps in zip(nest.nums, zip(*nest.steps, strict=True), strict=True)
    ]


def _cut(
    nest: JointNest, forms: Sequence[Form], ordered: bool
) -> Iterator[tuple[Part, ...]]:
    loops = _loops(nest)
    outer, inner = _outer_loops(loops, forms, ordered)
    limit, most = _limits(inner, forms, STRIDED_DIMS_MAX)
    pieces = list(_split(inner, len(forms), limit, most))
    for starts in _starts(nest, outer):
        for firsts, found in pieces:
            yield tuple(
                _part(form, start + first, _steps(found, at))
                for at, (form, start, first) in enumerate(
                    zip(forms, starts, firsts, strict=True)
                )
            )


def _steps(loops: Sequence[Loop], side: int) -> list[tuple[int, int]]:
    """(step, num) of loops on one side."""
    return [(loop.steps[side], loop.num) for loop in loops]


def _starts(nest: JointNest, outer: Sequence[Loop]) -> Iterator[tuple[int, ...]]:
    """Where each iteration of the outer loops begins, on every side."""
    for indices in product(*(range(loop.num) for loop in outer)):
        yield tuple(
            start
            + sum(
                index * loop.steps[side]
                for index, loop in zip(indices, outer, strict=True)
            )
            for side, start in enumerate(nest.starts)
        )


def _outer_loops(
    loops: list[Loop], forms: Sequence[Form], ordered: bool
) -> tuple[list[Loop], list[Loop]]:
    """Loops that become descriptors of their own, and those inside a descriptor."""
    outer: list[Loop] = []
    inner = list(loops)

    def move(candidates: Sequence[Loop]) -> None:
        loop = inner[0] if ordered else min(candidates)
        inner.remove(loop)
        outer.append(loop)

    while wide := [each for each in inner if _too_far(each, forms)]:
        move(wide)
    for side, form in enumerate(forms):
        while form.on_chip:
            partitions = [each for each in inner if _steps_partitions(each.steps[side])]
            if len(partitions) < 2:
                break
            move(partitions)
    while len(inner) > _limits(inner, forms, STRIDED_DIMS_MAX)[0]:
        move(inner[:-1])
    outer.sort(key=loops.index)
    return outer, inner


def _too_far(loop: Loop, forms: Sequence[Form]) -> bool:
    return any(
        not _steps_partitions(step) and abs(step) * form.element_bytes > STEP_MAX
        for step, form in zip(loop.steps, forms, strict=True)
    )


def _steps_partitions(step: int) -> bool:
    return abs(step) >= _PITCH // 2


def _limits(
    loops: Sequence[Loop], forms: Sequence[Form], strided: int
) -> tuple[int, int]:
    """How many loops a descriptor takes, and the innermost one's count."""
    if not loops:
        return strided, COUNT_MAX
    contiguous = [
        form.element_bytes
        for form, step in zip(forms, loops[-1].steps, strict=True)
        if step == 1
    ]
    most = (
        min(RUN_BYTES_MAX // size for size in contiguous) if contiguous else COUNT_MAX
    )
    if len(contiguous) == len(forms):
        return strided + 1, most
    return strided, min(most, COUNT_MAX)


def _split(
    loops: Sequence[Loop], sides: int, limit: int, most: int
) -> Iterator[tuple[tuple[int, ...], list[Loop]]]:
    """(starts, loops) within the limits, in order."""
    pairs = tuple((joined(loop.steps), loop.num) for loop in loops)
    for piece in Pattern(0, pairs).split(limit, COUNT_MAX, most):
        found = [Loop(num, apart(step, sides)) for step, num in piece.pairs]
        yield apart(piece.start, sides), found


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
    forms = (rows, chip)
    walked = Pattern(0, ((_PITCH, count), *rows.pairs[1:]))
    nests = list(align_all((walked, chip.pattern())))
    picked, columns = _row_loops(nests[0])
    strided = STRIDED_DIMS_MAX - max(len(picked), 1 if count > 1 else 0)
    if len(nests) > 1 or strided < 0:
        return None
    if sum(_steps_partitions(each.steps[1]) for each in picked) > 1:
        return None
    outer, inner = list[Loop](), columns
    while inner and len(inner) > _limits(inner, forms, strided)[0]:
        outer.append(inner[0])
        inner = inner[1:]
    limit, most = _limits(inner, forms, strided)
    pieces = list(_split(inner, len(forms), max(limit, 1), most))
    found: list[tuple[Part, Part]] = []
    for at_rows, at_chip in _starts(nests[0], outer):
        for (first_rows, first_chip), loops in pieces:
            content = _part(rows, at_rows + first_rows, _steps(loops, 0))
            pairs = ((step * rows.element_bytes, count), *content.pairs)
            on_chip = _steps((*picked, *loops), 1)
            chip_part = _part(chip, at_chip + first_chip, on_chip)
            found.append((content._replace(pairs=pairs), chip_part))
    return tuple(found)


def _row_loops(nest: JointNest) -> tuple[list[Loop], list[Loop]]:
    """A nest's loops over rows, which are its outermost, and over columns."""
    loops = _loops(nest)
    rows = sum(_steps_partitions(loop.steps[0]) for loop in loops)
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
