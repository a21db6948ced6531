"""What an instruction touches of a tensor: `Access`, one per data operand."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import TypeAlias

from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.mask import bind
from xdsl_neuron.geometry.pattern import Pattern

Pair: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Access:
    """
    An access pattern on one tensor.

    `offset` is in elements (of `dtype`, where the access reinterprets the tensor).
    In HBM it counts from the tensor's start and `partition` is None. On chip it
    counts from the start of each partition, `partition` is the first partition, and
    the first of `pairs` steps over partitions. The other `pairs` are (step, num) in
    elements, outermost first (dma.md 2.2). Offsets are affine in loop indices.
    """

    offset: Affine
    pairs: tuple[Pair, ...]
    partition: Affine | None = None
    dtype: DType | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent per dimension, partitions first on chip."""
        return tuple(num for _, num in self.pairs)

    @property
    def count(self) -> int:
        """Number of elements."""
        return prod(num for _, num in self.pairs)

    @property
    def positions(self) -> frozenset[int]:
        """Positions of the loop indices the offsets use."""
        if self.partition is None:
            return self.offset.positions
        return self.offset.positions | self.partition.positions

    @property
    def lanes(self) -> frozenset[int]:
        """Lanes the offsets use; none in a legal access."""
        if self.partition is None:
            return self.offset.lanes
        return self.offset.lanes | self.partition.lanes

    def bound(self, indices: Sequence[int]) -> "Access":
        """The access in one iteration, loop indices replaced by their values."""
        if not self.positions:
            return self
        partition = self.partition
        return replace(
            self,
            offset=bind(self.offset, indices),
            partition=None if partition is None else bind(partition, indices),
        )

    def restricted(self, ranges: Sequence[tuple[int, int]]) -> "Access":
        """The sub-box `low <= i < high` of every dimension."""
        offset, partition = self.offset, self.partition
        for dim, ((step, _), (low, _)) in enumerate(
            zip(self.pairs, ranges, strict=True)
        ):
            if not low:
                continue
            if dim == 0 and partition is not None:
                partition = partition + step * low
            else:
                offset = offset + step * low
        pairs = tuple(
            (step, high - low)
            for (step, _), (low, high) in zip(self.pairs, ranges, strict=True)
        )
        return Access(offset, pairs, partition, self.dtype)

    def mapped(self, change: Callable[[Affine], Affine]) -> "Access":
        """The access with the expressions of its start changed."""
        row = None if self.partition is None else change(self.partition)
        return Access(change(self.offset), self.pairs, row, self.dtype)

    def permuted(self, axes: Sequence[int]) -> "Access":
        """The same elements with dimensions reordered (on chip, 0 stays first)."""
        return replace(self, pairs=tuple(self.pairs[axis] for axis in axes))

    def flat(self, pitch: int) -> Pattern:
        """
        The pattern over one linear space of elements.

        `pitch` is the number of elements a partition takes there; it is ignored in
        HBM. The offsets must be constant.
        """
        start, pairs = self.offset.constant, self.pairs
        if self.partition is not None:
            start += self.partition.constant * pitch
            pairs = ((pairs[0][0] * pitch, pairs[0][1]), *pairs[1:])
        return Pattern(start, pairs)


@lru_cache(maxsize=4096)
def whole(shape: tuple[int, ...], on_chip: bool, dtype: DType | None = None) -> Access:
    """The access that covers a tensor of this shape, in row-major order."""
    pairs: list[Pair] = []
    step = 1
    for extent in reversed(shape[1:] if on_chip else shape):
        pairs.append((step, extent))
        step *= extent
    pairs.reverse()
    if on_chip:
        pairs.insert(0, (1, shape[0]))
    zero = Affine(0)
    return Access(zero, tuple(pairs), zero if on_chip else None, dtype)
