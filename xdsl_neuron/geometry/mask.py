"""
Masks: affine predicates over an instruction's lanes, and the box they leave.

A predicate is an expression that must be >= 0. With loop indices fixed, predicates on
one lane each clip an interval of that lane; the others (several lanes, `//`, `%`)
are residual. Pure integers; no IR.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from xdsl_neuron.geometry.affine import Affine, Atom, Index, Lane


@dataclass(frozen=True, slots=True)
class Box:
    """
    What a mask leaves of an instruction's lanes.

    `ranges` are half-open `(low, high)` per lane, none of them empty; `residual`
    predicates still hold for only some elements of the box.
    """

    ranges: tuple[tuple[int, int], ...]
    residual: tuple[Affine, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent per lane."""
        return tuple(high - low for low, high in self.ranges)


def bind(expression: Affine, indices: Sequence[int]) -> Affine:
    """The expression with loop indices replaced by their values."""
    if not expression.positions:
        return expression

    def replace(atom: Atom) -> int | None:
        return indices[atom.position] if isinstance(atom, Index) else None

    return expression.substitute(replace)


def clip(
    predicates: Sequence[Affine], shape: Sequence[int], indices: Sequence[int] = ()
) -> Box | None:
    """
    The box of lanes where `predicates` may hold, or None where none can.

    `shape` is the extent of each lane; `indices` are the values of the loop indices.
    """
    low = [0] * len(shape)
    high = list(shape)
    residual: list[Affine] = []
    for predicate in predicates:
        bound = bind(predicate, indices)
        if bound.is_constant:
            if bound.constant < 0:
                return None
            continue
        if len(bound.terms) == 1 and isinstance(bound.terms[0][0], Lane):
            lane, coefficient = bound.terms[0][0].dim, bound.terms[0][1]
            if coefficient > 0:
                low[lane] = max(low[lane], -(bound.constant // coefficient))
            else:
                high[lane] = min(high[lane], bound.constant // -coefficient + 1)
        else:
            residual.append(bound)
    if any(first >= last for first, last in zip(low, high, strict=True)):
        return None
    ranges = tuple(zip(low, high, strict=True))
    inclusive = [(first, last - 1) for first, last in ranges]
    kept: list[Affine] = []
    for predicate in residual:
        least, most = predicate.bounds((), inclusive)
        if most < 0:
            return None
        if least < 0:
            kept.append(predicate)
    return Box(ranges, tuple(kept))


def boxes(box: Box) -> Iterator[Box]:
    """
    Boxes without residual predicates which together are exactly the masked elements.

    They come in row-major order of their first element: a lane that occurs in a
    residual predicate is fixed, outermost first, until the rest is a box. Cost is
    the number of boxes, at worst the number of elements of the fixed lanes.
    """
    if not box.residual:
        yield box
        return
    involved = sorted(set[int]().union(*(p.lanes for p in box.residual)))
    lane = involved[0]
    low, high = box.ranges[lane]
    for value in range(low, high):
        ranges = list(box.ranges)
        ranges[lane] = (value, value + 1)
        inner = _narrow(box.residual, ranges, lane, value)
        if inner is not None:
            yield from boxes(inner)


def _narrow(
    residual: Sequence[Affine],
    ranges: Sequence[tuple[int, int]],
    lane: int,
    value: int,
) -> Box | None:
    """The box with one lane fixed, its residual predicates simplified."""

    def fix(atom: Atom) -> int | None:
        return value if isinstance(atom, Lane) and atom.dim == lane else None

    low = [first for first, _ in ranges]
    high = [last for _, last in ranges]
    kept: list[Affine] = []
    for predicate in residual:
        fixed = predicate.substitute(fix)
        if fixed.is_constant:
            if fixed.constant < 0:
                return None
        elif len(fixed.terms) == 1 and isinstance(fixed.terms[0][0], Lane):
            dim, coefficient = fixed.terms[0][0].dim, fixed.terms[0][1]
            if coefficient > 0:
                low[dim] = max(low[dim], -(fixed.constant // coefficient))
            else:
                high[dim] = min(high[dim], fixed.constant // -coefficient + 1)
        else:
            kept.append(fixed)
    if any(first >= last for first, last in zip(low, high, strict=True)):
        return None
    return Box(tuple(zip(low, high, strict=True)), tuple(kept))


def holds(predicates: Sequence[Affine], lanes: Sequence[int]) -> bool:
    """Whether all predicates (loop indices already bound) hold at one element."""
    return all(p.evaluate((), lanes) >= 0 for p in predicates)


def elements(box: Box) -> Iterator[tuple[int, ...]]:
    """The lane coordinates the mask keeps, in row-major order (small boxes)."""
    for point in product(*(range(low, high) for low, high in box.ranges)):
        if holds(box.residual, point):
            yield point
