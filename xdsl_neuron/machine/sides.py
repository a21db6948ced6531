"""
A tensor operand made ready: where its bytes are, as a function of the loop indices.

A `Side` is built once for an instruction; in each iteration only its offset changes.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine, Index
from xdsl_neuron.numerics.casts import storage

Ranges = Sequence[tuple[int, int]]
"""Half-open range of each dimension of an access that a mask leaves."""

_WHOLE: Final = ()


class Side:
    """One tensor operand of an instruction; offsets and strides are in bytes."""

    __slots__ = (
        "_bounds",
        "_depths",
        "_general",
        "_terms",
        "dtype",
        "itemsize",
        "label",
        "numpy",
        "nums",
        "slot",
        "start",
        "strides",
    )

    def __init__(
        self,
        operand: Operand,
        slot: int,
        depths: Sequence[int],
        ranges: Sequence[tuple[int, int]],
        *,
        dtype: DType | None = None,
        in_bytes: bool = False,
    ) -> None:
        self.dtype = operand.dtype if dtype is None else dtype
        self.numpy: np.dtype[Any] = storage(self.dtype)
        self.itemsize = self.dtype.bytes
        self.slot = slot
        self.label = operand.label
        access, spec = operand.access, operand.type.data
        unit = 1 if in_bytes else self.itemsize
        self.nums = tuple([num for _, num in access.pairs])
        pitch = spec.bytes_per_partition
        self._depths = depths
        self.start = 0
        self._terms: list[tuple[int, int]] = []
        self._general: list[tuple[Affine, int]] = []
        self._bounds: list[_Bound] = []
        self._add(access.offset, unit)
        free = access.pairs
        if access.partition is not None:
            self._add(access.partition, pitch)
            first, *rest = access.pairs
            self.strides = (first[0] * pitch, *[step * unit for step, _ in rest])
            self._bound("0", access.partition, 0, (first,), spec.shape[0], ranges)
            free = access.pairs[1:]
            name, first_dim = "1 (flattened)", 1
        else:
            self.strides = tuple([step * unit for step, _ in free])
            name, first_dim = "0 (flattened)", 0
        # The last element of a descriptor's side begins itemsize bytes before the end.
        size = pitch // self.itemsize if not in_bytes else pitch - self.itemsize + 1
        rows = spec.shape[0] if spec.shape and access.partition is None else 0
        row = pitch // rows if rows else 0
        if not in_bytes:
            row //= self.itemsize
        self._bound(name, access.offset, first_dim, free, size, ranges, row)

    def _add(self, offset: Affine, factor: int) -> None:
        if not offset.terms:
            self.start += offset.constant * factor
            return
        linear = all(isinstance(atom, Index) for atom, _ in offset.terms)
        if not linear:
            self._general.append((offset, factor))
            return
        self.start += offset.constant * factor
        for atom, coefficient in offset.terms:
            assert isinstance(atom, Index)
            self._terms.append((self._depths[atom.position], coefficient * factor))

    def _bound(
        self,
        name: str,
        start: Affine,
        first_dim: int,
        pairs: tuple[tuple[int, int], ...],
        size: int,
        ranges: Sequence[tuple[int, int]],
        row: int = 0,
    ) -> None:
        """Keep the check of one extent, unless it holds in every iteration."""
        if start.terms:
            low, high = start.bounds([ranges[depth] for depth in self._depths])
        else:
            low = high = start.constant
        for step, num in pairs:
            if step < 0:
                low += step * (num - 1)
            else:
                high += step * (num - 1)
        if low < 0 or high >= size:
            self._bounds.append(_Bound(name, start, first_dim, pairs, size, row))

    def offset(self, values: Sequence[int]) -> int:
        """The first byte in an iteration."""
        offset = self.start
        for depth, step in self._terms:
            offset += values[depth] * step
        if self._general:
            indices = [values[depth] for depth in self._depths]
            for expression, factor in self._general:
                offset += expression.evaluate(indices) * factor
        return offset

    def problem(self, values: Sequence[int], ranges: Ranges = _WHOLE) -> str | None:
        """Why the access, or the part of it in `ranges`, leaves its tensor."""
        if not self._bounds:
            return None
        indices = [values[depth] for depth in self._depths]
        for bound in self._bounds:
            reached = bound.reach(indices, ranges)
            if reached[0] < 0 or reached[1] >= bound.size:
                return (
                    f"Out-of-bound access for tensor `{self.label}` on dimension "
                    f"{bound.name} index range [{reached[0]}, {reached[1]}] exceed "
                    f"dimension size of {bound.size}"
                )
        return None

    def rows(self, values: Sequence[int], ranges: Ranges = _WHOLE) -> str:
        """Which rows of a tensor in HBM an access that leaves it reaches."""
        indices = [values[depth] for depth in self._depths]
        for bound in self._bounds:
            low, high = bound.reach(indices, ranges)
            if bound.row > 1 and (low < 0 or high >= bound.size):
                first, last = low // bound.row, high // bound.row
                return f"rows {first} to {last} of {-(-bound.size // bound.row)}"
        return ""

    def regroup(self, nums: tuple[int, ...], strides: tuple[int, ...]) -> bool:
        """
        See the same elements with other extents; False where that cannot be.

        An access that may leave its tensor is checked by its own extents, which would
        no longer be those of a mask.
        """
        if self._bounds:
            return False
        self.nums, self.strides = nums, strides
        return True

    @property
    def count(self) -> int:
        """Elements of the unclipped access."""
        count = 1
        for num in self.nums:
            count *= num
        return count


class _Bound:
    """The extent of an access along one axis of its tensor, in the tensor's units."""

    __slots__ = ("_first_dim", "_pairs", "_start", "name", "row", "size")

    def __init__(
        self,
        name: str,
        start: Affine,
        first_dim: int,
        pairs: tuple[tuple[int, int], ...],
        size: int,
        row: int,
    ) -> None:
        self.name = name
        self.size = size
        self.row = row
        self._start = start
        self._first_dim = first_dim
        self._pairs = pairs

    def reach(self, indices: Sequence[int], ranges: Ranges) -> tuple[int, int]:
        """Lowest and highest position, inclusive."""
        low = high = self._start.evaluate(indices)
        for dim, (step, num) in enumerate(self._pairs, self._first_dim):
            first, last = ranges[dim] if ranges else (0, num)
            ends = (step * first, step * (last - 1))
            low += min(ends)
            high += max(ends)
        return low, high
