"""
The values that a quasi-affine expression takes while loop indices run.

Loops may have more iterations than can be looked at. But an expression repeats itself:
`e(i + period) == e(i) + slope` in each of its indices, with `//` and `%` too, so that
few iterations of a long loop show all there is to see. Pure integers; no IR.
"""

from functools import lru_cache
from itertools import islice, product
from math import gcd, lcm, prod
from typing import Final

from xdsl_neuron.geometry.affine import Affine, FloorDiv, Index, Lane, Mod

MOST_VALUES: Final = 256
"""
How many values are told at most. A place on the chip (a partition, a row or column of
the array) has fewer legal ones, so that one of so many is illegal.
"""

_MOST_POINTS: Final = 1 << 16
"""Iterations looked at for what one sum of atoms over common indices takes."""

Ranges = tuple[range | None, ...]
"""The values of each index by position; None where the expression does not use it."""


@lru_cache(maxsize=4096)
def image(expression: Affine, ranges: Ranges) -> tuple[int, ...]:
    """
    The values of an expression without lanes, ascending, each once.

    All of them, or `MOST_VALUES` of them where there are more. None are left out for
    another reason. Where indices that `//` and `%` mix have too many iterations to look
    at, values may be among them that none reaches: all between the lowest and the
    highest that have the remainder which the coefficients leave. No values if a range
    is empty.
    """
    if any(not _known(ranges, position) for position in expression.positions):
        return ()
    found = {expression.constant}
    for part in _independent(expression):
        values = _values(part, ranges)
        sums = {low + value for low in found for value in values[:MOST_VALUES]}
        found = set(sorted(sums)[:MOST_VALUES])
    return tuple(sorted(found))


def _known(ranges: Ranges, position: int) -> range:
    values = ranges[position]
    if values is None:
        raise ValueError(f"index d{position} has no range")
    return values


def _independent(expression: Affine) -> list[Affine]:
    """Its terms, those together that have an index in common; no constant."""
    parts: list[Affine] = []
    for term in expression.terms:
        joined = Affine(0, (term,))
        apart: list[Affine] = []
        for part in parts:
            if part.positions & joined.positions:
                joined = joined + part
            else:
                apart.append(part)
        parts = [*apart, joined]
    return parts


def _values(part: Affine, ranges: Ranges) -> list[int]:
    """The values of terms that belong together, `MOST_VALUES` of them at least."""
    positions = sorted(part.positions)
    shown: list[range] = []
    for position in positions:
        values = _known(ranges, position)
        period, slope = _period(part, position, values.step)
        # A period that moves the value shows so many values in so many periods.
        shown.append(values[: period * MOST_VALUES if slope else period])
    points = product(*shown)
    if prod(len(values) for values in shown) > _MOST_POINTS:
        points = islice(points, _MOST_POINTS)
    indices = [0] * (positions[-1] + 1)
    found: set[int] = set()
    for point in points:
        for position, value in zip(positions, point, strict=True):
            indices[position] = value
        found.add(part.evaluate(indices))
        if len(found) >= MOST_VALUES:
            return sorted(found)
    if prod(len(values) for values in shown) > _MOST_POINTS:
        return list(_between(part, ranges)[:MOST_VALUES])
    return sorted(found)


def _between(part: Affine, ranges: Ranges) -> range:
    """All values within the bounds that the coefficients do not rule out."""
    ends = [(v[0], v[-1]) if v else (0, 0) for v in ranges]
    low, high = part.bounds([(min(pair), max(pair)) for pair in ends])
    first, step = 0, 0
    for atom, coefficient in part.terms:
        if isinstance(atom, Index):
            values = _known(ranges, atom.position)
            first += coefficient * values[0]
            coefficient *= values.step
        step = gcd(step, coefficient)
    step = step or 1
    return range(low + (first - low) % step, high + 1, step)


def _period(expression: Affine, position: int, step: int) -> tuple[int, int]:
    """
    (steps of an index, change of the expression) where it repeats itself.

    Whatever the other indices are. The change is zero where it only repeats.
    """
    periods: list[tuple[int, int, int]] = []
    for atom, coefficient in expression.terms:
        times, change = 1, 0
        match atom:
            case Index(own):
                change = step if own == position else 0
            case Lane():
                pass
            case FloorDiv(operand, divisor) | Mod(operand, divisor):
                inner, slope = _period(operand, position, step)
                turns = divisor // gcd(slope, divisor)
                times = inner * turns
                if isinstance(atom, FloorDiv):
                    change = slope * turns // divisor
        periods.append((coefficient, times, change))
    period = lcm(*(steps for _, steps, _ in periods))
    slope = sum(c * change * (period // steps) for c, steps, change in periods)
    return period, slope
