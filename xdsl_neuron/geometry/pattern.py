"""
Access patterns: a start and (step, num) pairs, and every question asked about them.

The one model of an access in the project (design.md 4), of the operative definition in
dma.md 2.2: a pattern enumerates `start + sum(step_i * index_i)` in row-major order, the
first pair outermost. Units are the caller's (elements, or bytes after `scaled`). Steps
may be negative or zero. Nothing here enumerates elements except `addresses`; a question
about a pattern of 1e12 elements costs what it costs for one of ten.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, product
from math import lcm, prod
from operator import itemgetter, mul
from typing import NamedTuple, Self

from xdsl_neuron.geometry.lattice import Pairs, is_injective, is_sum, spans_of


@dataclass(frozen=True, slots=True)
class Pattern:
    """
    The addresses `start + sum(step_i * index_i)`, `0 <= index_i < num_i`, row-major.

    No pairs is one address; a zero num is an empty pattern. A negative num raises
    `ValueError`. Equality is of the spelling; two patterns enumerate the same addresses
    in the same order exactly when their `normalise()` are equal (and both not empty).
    """

    start: int
    pairs: Pairs = ()

    def __post_init__(self) -> None:
        for _, num in self.pairs:
            if num < 0:
                raise ValueError(f"expected counts of at least 0, got {self.shape}")

    @classmethod
    def dense(cls, shape: Sequence[int], start: int = 0) -> Self:
        """The whole of a row-major tensor of this shape."""
        steps = list(accumulate(reversed(shape), mul, initial=1))
        return cls(start, tuple(zip(reversed(steps[:-1]), shape, strict=True)))

    @property
    def shape(self) -> tuple[int, ...]:
        """The nums, outermost first."""
        return tuple(num for _, num in self.pairs)

    @property
    def count(self) -> int:
        """How many addresses are enumerated, repeats included."""
        return prod(self.shape)

    def addresses(self) -> Iterator[int]:
        """Every address in order; for tests and small patterns."""
        steps = [step for step, _ in self.pairs]
        for indices in product(*map(range, self.shape)):
            yield self.start + sum(map(mul, steps, indices))

    def bounds(self) -> tuple[int, int]:
        """Lowest and highest address, inclusive; `ValueError` where there is none."""
        if not self.count:
            raise ValueError("an empty access pattern has no bounds")
        low = high = self.start
        for step, num in self.pairs:
            low += min(0, step) * (num - 1)
            high += max(0, step) * (num - 1)
        return low, high

    def within(self, size: int) -> bool:
        """Whether every address is in `0 <= address < size`; true if empty."""
        if not self.count:
            return True
        low, high = self.bounds()
        return low >= 0 and high < size

    def shift(self, distance: int) -> "Pattern":
        """The same walk, `distance` further on."""
        return Pattern(self.start + distance, self.pairs)

    def scaled(self, element_bytes: int) -> "Pattern":
        """The bytes of these elements: all scaled, and an innermost pair of bytes."""
        pairs = tuple((step * element_bytes, num) for step, num in self.pairs)
        return Pattern(self.start * element_bytes, (*pairs, (1, element_bytes)))

    def permuted(self, axes: Sequence[int]) -> "Pattern":
        """The pairs in the order `axes`, outermost first, as `numpy.transpose`."""
        if sorted(axes) != list(range(len(self.pairs))):
            raise ValueError(
                f"expected an order of {len(self.pairs)} axes, got {tuple(axes)}"
            )
        return Pattern(self.start, tuple(self.pairs[axis] for axis in axes))

    def restrict(self, dim: int, low: int, high: int) -> "Pattern":
        """
        The part with `low <= index < high` in pair `dim`.

        Outside of `0 <= low <= high <= num` it raises `ValueError`.
        """
        step, num = self.pairs[dim]
        if not 0 <= low <= high <= num:
            raise ValueError(f"expected a range within 0..{num}, got {low}..{high}")
        pairs = list(self.pairs)
        pairs[dim] = (step, high - low)
        return Pattern(self.start + step * low, tuple(pairs))

    def normalise(self) -> "Pattern":
        """
        The same addresses in the same order with the fewest pairs.

        Unit pairs go, and a pair fuses with its inner neighbour where its step is the
        neighbour's step times num (dma.md 2.2). An empty pattern becomes one pair
        (1, 0); its start stays.
        """
        return Pattern(self.start, _normalise(self.pairs))

    def contiguous_run(self) -> int:
        """
        How many addresses follow each other at step 1 before the first jump.

        The innermost num of the normal form; 1 if its step is not 1, 0 if empty.
        """
        pairs = _normalise(self.pairs)
        return pairs[-1][1] if pairs and pairs[-1][0] == 1 else 1

    def is_injective(self) -> bool:
        """Whether no address is enumerated twice. Exact."""
        if not self.count:
            return True
        if any(step == 0 and num > 1 for step, num in self.pairs):
            return False
        return is_injective(spans_of(self.pairs))

    def covers(self, size: int) -> bool:
        """
        Whether the set of addresses is exactly `0 <= address < size`, in any order.

        Repeats are allowed: a permutation is `covers` and `count == size`.
        """
        if not self.count or size <= 0:
            return self.count == 0 and size == 0
        if self.bounds() != (0, size - 1):
            return False
        # Smallest step first, a step more than one past everything below leaves a gap.
        reach = 0
        for step, most in sorted(spans_of(self.pairs)):
            if step > reach + 1:
                return False
            reach += step * most
        return True

    def overlaps(self, other: "Pattern") -> bool:
        """Whether the two share an address. Exact, without enumeration."""
        if not (self.count and other.count):
            return False
        (low, high), (other_low, other_high) = self.bounds(), other.bounds()
        if high < other_low or other_high < low:
            return False
        if low == other_low or high == other_high:
            return True
        # low + sum(step * index) = other_high - sum(step * index), all steps positive.
        spans = (*spans_of(self.pairs), *spans_of(other.pairs))
        return is_sum(spans, other_high - low)

    def split(
        self, max_pairs: int, max_num: int, max_inner: int | None = None
    ) -> Iterator["Pattern"]:
        """
        Patterns within the limits that together are this one, in the same order.

        Each has at most `max_pairs` pairs with nums of at most `max_num`; `max_inner`,
        if given, is the limit of the innermost num instead (a run has 65536 bytes where
        a count has 16 bits, dma.md 8.7). A limit below 1 raises `ValueError`.
        """
        inner_limit = max_num if max_inner is None else max_inner
        if min(max_pairs, max_num, inner_limit) < 1:
            raise ValueError("expected limits of at least 1")
        if not self.count:
            return
        limits = _Limits(max_pairs, max_num, inner_limit)
        for offset, pairs in _split(_normalise(self.pairs), limits):
            yield Pattern(self.start + offset, pairs)


@dataclass(frozen=True, slots=True)
class ChipPattern:
    """
    An access to SBUF or PSUM: partitions outermost, then pairs inside each partition.

    `partition_step` counts partitions; `offset` and `pairs` are within one partition,
    in the unit of the `pitch` that the methods take, the size of one partition of the
    tensor (dma.md 2.2).
    """

    partition: int
    partition_step: int
    partitions: int
    offset: int = 0
    pairs: Pairs = ()

    def flat(self, pitch: int) -> Pattern:
        """The pattern over a row-major (partition, free) memory of this pitch."""
        outer = (self.partition_step * pitch, self.partitions)
        return Pattern(self.partition * pitch + self.offset, (outer, *self.pairs))

    def fits(self, partitions_available: int, pitch: int) -> str | None:
        """Why the access leaves the tensor, or None if it stays inside."""
        rows = Pattern(self.partition, ((self.partition_step, self.partitions),))
        row = Pattern(self.offset, self.pairs)
        if not (rows.count and row.count):
            return None
        if not rows.within(partitions_available):
            part, what, size = rows, "partitions", partitions_available
        elif not row.within(pitch):
            part, what, size = row, "free elements", pitch
        else:
            return None
        low, high = part.bounds()
        return f"{what} {low}..{high} are outside of 0..{size - 1}"


class Nest(NamedTuple):
    """Two patterns walked together: one loop nest, a step of each side per loop."""

    nums: tuple[int, ...]
    start_a: int
    steps_a: tuple[int, ...]
    start_b: int
    steps_b: tuple[int, ...]


def align(a: Pattern, b: Pattern) -> Iterator[Nest]:
    """
    Loop nests that together give (k-th address of a, k-th address of b), in order.

    As `align_all` of two patterns.
    """
    for nest in align_all((a, b)):
        (start_a, start_b), (steps_a, steps_b) = nest.starts, nest.steps
        yield Nest(nest.nums, start_a, steps_a, start_b, steps_b)


class JointNest(NamedTuple):
    """One loop nest that walks several patterns: a start and steps for each."""

    nums: tuple[int, ...]
    starts: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]


_JOINT = 1 << 128
"""What no step of one side reaches."""


def align_all(patterns: Sequence[Pattern]) -> Iterator[JointNest]:
    """
    Loop nests that together give the k-th address of every pattern, in order.

    One nest where the shapes have a common refinement, otherwise large ones that do,
    one after the other. In a nest no loop has one iteration, and no two neighbours
    could be one loop on all sides. Different counts raise `ValueError`.
    """
    count, *others = (pattern.count for pattern in patterns)
    for other in others:
        if other != count:
            raise ValueError(f"expected equal counts, got {count} and {other}")
    normalised = [_normalise(pattern.pairs) for pattern in patterns]
    position = 0
    while position < count:
        found = [_blocks_at(pairs, position) for pairs in normalised]
        joint = max(found[0][1], key=len)
        length = prod(num for _, num in joint)
        for _, boxes in found[1:]:
            parts = (joint[depth:] for depth in range(len(joint) + 1))
            nests = (_common_nest(x, y) for x, y in product(parts, boxes))
            length, loops = max(filter(None, nests), key=itemgetter(0))
            joint = tuple((a * _JOINT + b, num) for num, a, b in loops)
        starts = tuple(
            pattern.start + start
            for pattern, (start, _) in zip(patterns, found, strict=True)
        )
        steps = zip(*(apart(step, len(patterns)) for step, _ in joint), strict=True)
        nums = tuple(num for _, num in joint)
        yield JointNest(nums, starts, tuple(steps) or ((),) * len(patterns))
        position += length


def joined(steps: Sequence[int]) -> int:
    """Steps of several sides as one number, on which arithmetic is done in step."""
    found = 0
    for step in steps:
        found = found * _JOINT + step
    return found


def apart(joint: int, sides: int) -> tuple[int, ...]:
    """The steps that one number stands for."""
    found: list[int] = []
    for _ in range(sides - 1):
        left = (joint + _JOINT // 2) // _JOINT
        found.append(joint - left * _JOINT)
        joint = left
    return (joint, *reversed(found))


@lru_cache(maxsize=4096)
def _normalise(pairs: Pairs) -> Pairs:
    fused: list[tuple[int, int]] = []
    for step, num in reversed(pairs):
        if num == 0:
            return ((1, 0),)
        if num == 1:
            continue
        if fused and step == fused[-1][0] * fused[-1][1]:
            fused[-1] = (fused[-1][0], fused[-1][1] * num)
        else:
            fused.append((step, num))
    return tuple(reversed(fused))


def _blocks_at(pairs: Pairs, position: int) -> tuple[int, list[Pairs]]:
    """
    The address at `position` of the walk, and the boxes that start there.

    A box is the rest of one pair with everything inside of it, which takes that the
    walk stands at the beginning of everything inside.
    """
    offset = 0
    blocks: list[Pairs] = [] if pairs else [()]
    aligned = True
    for depth in reversed(range(len(pairs))):
        step, num = pairs[depth]
        position, index = divmod(position, num)
        offset += step * index
        if aligned:
            blocks.append(((step, num - index), *pairs[depth + 1 :]))
        aligned = aligned and index == 0
    return offset, blocks


Loops = list[tuple[int, int, int]]
"""(num, step of a, step of b), outermost first."""


def _common_nest(a: Pairs, b: Pairs) -> tuple[int, Loops] | None:
    """The longest common beginning of two boxes that is one nest, and its length."""
    if not a or not b:
        return 1, []
    inner_a, inner_b = prod(num for _, num in a[1:]), prod(num for _, num in b[1:])
    unit = lcm(inner_a, inner_b)
    length = min(inner_a * a[0][1], inner_b * b[0][1]) // unit * unit
    if not length:
        return None
    left_a = list(_normalise(((a[0][0], length // inner_a), *a[1:])))
    left_b = list(_normalise(((b[0][0], length // inner_b), *b[1:])))
    loops: Loops = []
    while left_a and left_b:
        (step_a, num_a), (step_b, num_b) = left_a.pop(), left_b.pop()
        num = min(num_a, num_b)
        if num_a % num or num_b % num:
            return None
        loops.append((num, step_a, step_b))
        if num_a > num:
            left_a.append((step_a * num, num_a // num))
        if num_b > num:
            left_b.append((step_b * num, num_b // num))
    return length, loops[::-1]


class _Limits(NamedTuple):
    pairs: int
    num: int
    inner: int


def _split(pairs: Pairs, limits: _Limits) -> Iterator[tuple[int, Pairs]]:
    """(offset, pairs within the limits) in order; factor first, peel last."""
    last = len(pairs) - 1
    spare = limits.pairs - len(pairs)
    for depth, (step, num) in enumerate(pairs):
        limit = limits.inner if depth == last else limits.num
        if num > limit:
            break
    else:
        if spare >= 0:
            yield 0, pairs
        else:
            yield from _repeat(*pairs[0], _split(pairs[1:], limits))
        return
    inside = pairs[depth + 1 :]
    factor = _factor(num, limit, limits.num) if spare > 0 else None
    if factor:
        refined = ((step * factor, num // factor), (step, factor))
        yield from _split((*pairs[:depth], *refined, *inside), limits)
    elif depth or spare < 0:
        yield from _repeat(*pairs[0], _split(pairs[1:], limits))
    else:
        full, rest = divmod(num, limit)
        chunk = ((step, limit), *inside)
        if spare > 0 and full > 1:
            yield from _split(((step * limit, full), *chunk), limits)
        else:
            yield from _repeat(step * limit, full, _split(chunk, limits))
        tail = ((step, rest), *inside) if rest > 1 else inside
        for offset, piece in _split(tail, limits) if rest else ():
            yield step * limit * full + offset, piece


def _repeat(
    step: int, num: int, pieces: Iterator[tuple[int, Pairs]]
) -> Iterator[tuple[int, Pairs]]:
    found = list(pieces)
    for index in range(num):
        for offset, pairs in found:
            yield step * index + offset, pairs


@lru_cache(maxsize=1024)
def _factor(num: int, limit: int, outer_limit: int) -> int | None:
    """
    The largest divisor of `num` up to `limit` that leaves at most `outer_limit`.

    None below half of the limit: short runs cost more than a second pattern.
    """
    for quotient in range(-(-num // limit), min(outer_limit, 2 * num // limit) + 1):
        if num % quotient == 0:
            return num // quotient
    return None
