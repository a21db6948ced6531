"""
Bounded linear Diophantine equations: what overlap and injectivity come down to.

Is there an index with sum(step * index) = target? A span is (step, most): step > 0 and
0 <= index <= most. The answer is exact, and costs no enumeration of addresses.
"""

from functools import lru_cache
from math import gcd
from operator import mul
from typing import NamedTuple

Pairs = tuple[tuple[int, int], ...]
"""(step, num) pairs, outermost first."""

Spans = tuple[tuple[int, int], ...]

_ROUNDS = 8


def spans_of(pairs: Pairs) -> Spans:
    """The pairs seen from the lowest address; a zero step adds no address."""
    return tuple((abs(step), num - 1) for step, num in pairs if step and num > 1)


@lru_cache(maxsize=4096)
def is_sum(spans: Spans, target: int) -> bool:
    """Whether some index has that sum."""
    reduced = _reduce(spans, target)
    return reduced if isinstance(reduced, bool) else _has_lattice_point(*reduced)


@lru_cache(maxsize=4096)
def is_injective(spans: Spans) -> bool:
    """
    Whether no two indices have the same sum.

    Their difference is an index in -most..most with sum 0. Its first entry that is not
    zero can be taken positive: one question for each place of that entry.
    """
    spans = tuple(sorted(spans, reverse=True))
    for place, (step, most) in enumerate(spans):
        rest = spans[place + 1 :]
        target = sum(step * most for step, most in rest) - step
        doubled = ((step, 2 * most) for step, most in rest)
        if is_sum(((step, most - 1), *doubled), target):
            return False
    return True


def _reduce(spans: Spans, target: int) -> tuple[Spans, int] | bool:
    """
    The answer, or a smaller equation with the same answer and no common divisor.

    The equations of real tiles end here. Bounds that shrink by one a round (a diagonal
    against a column) would take as many rounds as elements: after `_ROUNDS` it stops.
    """
    rounds = 0
    while True:
        spans = _fusespans_of(spans)
        if not 0 <= target <= sum(step * most for step, most in spans):
            return False
        divisor = gcd(*(step for step, _ in spans))
        if target % (divisor or 1):
            return False
        if len(spans) <= 1:
            return True
        spans = tuple((step // divisor, most) for step, most in spans)
        target //= divisor
        before, rounds = spans, rounds + 1
        for place in range(len(spans) if rounds <= _ROUNDS else 0):
            narrowed = _narrow(spans, place, target)
            if narrowed is None:
                return False
            spans, target = narrowed
        if spans == before:
            return spans, target


def _narrow(spans: Spans, place: int, target: int) -> tuple[Spans, int] | None:
    """Keep the indices of one span that bounds and the gcd of the others allow."""
    step, most = spans[place]
    others = (*spans[:place], *spans[place + 1 :])
    room = sum(other * other_most for other, other_most in others)
    divisor = gcd(*(other for other, _ in others))
    common = gcd(step, divisor)
    if target % common:
        return None
    # step * index = target modulo divisor, where common divides all three.
    modulus = divisor // common
    residue = target // common * pow(step // common, -1, modulus)
    low = max(0, -((room - target) // step))
    low += (residue - low) % modulus
    high = min(most, target // step)
    if low > high:
        return None
    kept = (step * modulus, (high - low) // modulus)
    return (*spans[:place], kept, *spans[place + 1 :]), target - step * low


def _fusespans_of(spans: Spans) -> Spans:
    """The same set of sums with fewer spans, smallest step first."""
    fused: list[tuple[int, int]] = []
    for step, most in sorted(spans):
        if not most:
            continue
        for position, (inner, inner_most) in enumerate(fused):
            factor, rest = divmod(step, inner)
            if not rest and factor <= inner_most + 1:
                fused[position] = (inner, inner_most + factor * most)
                break
        else:
            fused.append((step, most))
    return tuple(fused)


# What `_reduce` leaves (three or more steps without structure) is a question about
# lattice points in a box, answered as Lenstra does: in a reduced basis of the solutions
# of sum(step * index) = 0 the last coordinate has few values, or the box is so wide
# that the first values tried, those in the middle, already hit.

Vector = list[int]


class _Level(NamedTuple):
    """A basis vector, and what bounds its coordinate once those after it are chosen."""

    vector: Vector
    dual: Vector
    size: int
    low: int
    high: int


def _has_lattice_point(spans: Spans, target: int) -> bool:
    """Whether the equation, whose steps have no common divisor, has a solution."""
    # Scaled, the box is nearly a cube. The last entry, the sum, weighs so much that all
    # but one vector of a reduced basis have none (LLL: at most 2**(n/2) times longer
    # than (step_j * unit_i - step_i * unit_j)); in the one left it is the divisor, 1.
    longest = max(most for _, most in spans)
    scales = [64 * longest // most for _, most in spans]
    box = [scale * most for scale, (_, most) in zip(scales, spans, strict=True)]
    weight = 2 ** len(spans) * sum(box) * max(step for step, _ in spans)
    basis: list[Vector] = []
    for place, (step, _) in enumerate(spans):
        basis.append([0] * len(spans) + [step * weight])
        basis[place][place] = scales[place]
    duals, sizes = _reduce_basis(basis)
    one = basis.pop()
    times = target * weight // one.pop()
    levels: list[_Level] = []
    for vector, dual, size in zip(basis, duals, sizes[1:]):
        reach = [entry * side for entry, side in zip(dual, box)]
        low, high = sum(min(0, x) for x in reach), sum(max(0, x) for x in reach)
        levels.append(_Level(vector[:-1], dual[:-1], size, low, high))
    return _enumerate(levels, [times * entry for entry in one], box)


def _enumerate(levels: list[_Level], point: Vector, box: Vector) -> bool:
    """Whether adding multiples of the levels' vectors brings `point` into the box."""
    level = levels[-1]
    if len(levels) == 1:
        return _line_meets_box(level.vector, point, box)
    at = _dot(level.dual, point)
    low, high = -((at - level.low) // level.size), (level.high - at) // level.size
    index = (low + high) // 2
    for distance in range(1, high - low + 2):
        moved = [x + index * y for x, y in zip(point, level.vector, strict=True)]
        if _enumerate(levels[:-1], moved, box):
            return True
        index += distance if distance % 2 else -distance
    return False


def _line_meets_box(vector: Vector, point: Vector, box: Vector) -> bool:
    """Whether `0 <= point + index * vector <= box` for an integer index."""
    lows: list[int] = []
    highs: list[int] = []
    for entry, start, side in zip(vector, point, box, strict=True):
        if entry < 0:
            entry, start = -entry, side - start
        if entry:
            lows.append(-(start // entry))
            highs.append((side - start) // entry)
        elif not 0 <= start <= side:
            return False
    return max(lows) <= min(highs)


def _reduce_basis(basis: list[Vector]) -> tuple[list[Vector], list[int]]:
    """
    LLL-reduce in place, in integers only.

    Returns the Gram-Schmidt vectors, vector i times size i to be integral, and the
    sizes: size i is the Gram determinant of the first i vectors (Cohen, A Course in
    Computational Algebraic Number Theory, 2.6.3).
    """
    count = len(basis)
    sizes = [1] * (count + 1)
    ratios = [[0] * count for _ in basis]
    row = 0
    while row < count:
        for column in range(row + 1):
            value = _dot(basis[row], basis[column])
            for k in range(column):
                value = sizes[k + 1] * value - ratios[row][k] * ratios[column][k]
                value //= sizes[k]
            ratios[row][column] = value
        sizes[row + 1] = ratios[row][row]
        for by in range(row - 1, -1, -1):
            times = (2 * ratios[row][by] + sizes[by + 1]) // (2 * sizes[by + 1])
            basis[row] = [x - times * y for x, y in zip(basis[row], basis[by])]
            for k in range(by + 1):
                ratios[row][k] -= times * ratios[by][k]
        swapped = sizes[row + 1] * sizes[row - 1] + ratios[row][row - 1] ** 2
        if row and 4 * swapped < 3 * sizes[row] ** 2:
            basis[row - 1], basis[row] = basis[row], basis[row - 1]
            row -= 1
        else:
            row += 1
    duals: list[Vector] = []
    for row, dual in enumerate(basis):
        for k, ratio in enumerate(ratios[row][:row]):
            pairs = zip(dual, duals[k])
            dual = [(sizes[k + 1] * x - ratio * y) // sizes[k] for x, y in pairs]
        duals.append(dual)
    return duals, sizes


def _dot(a: Vector, b: Vector) -> int:
    return sum(map(mul, a, b))
