"""A tensor operand of an instruction: what is touched, and whether it may be."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from xdsl_neuron.dialects.neuron import Access, TensorType
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.pattern import Pattern
from xdsl_neuron.isa import Space


@dataclass(frozen=True, slots=True)
class Operand:
    """
    One tensor operand of an instruction: its value and what is touched of it.

    `picked` is the number of columns that an index picks out of those of the access,
    None where all of them are taken as they are.
    """

    name: str
    value: SSAValue
    type: TensorType
    access: Access
    picked: int | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents that the instruction sees, partitions first on chip."""
        if self.picked is not None:
            return (self.partitions, self.picked)
        return self.access.shape

    @property
    def dtype(self) -> DType:
        """The element type the access sees."""
        return self.access.dtype or self.type.dtype

    @property
    def space(self) -> Space:
        """The memory space."""
        return self.type.space

    @property
    def partitions(self) -> int:
        """Partitions touched; 1 in HBM."""
        return self.access.pairs[0][1] if self.space.on_chip else 1

    @property
    def free_count(self) -> int:
        """Elements per partition that the instruction sees; all elements in HBM."""
        if self.picked is not None:
            return self.picked
        pairs = self.access.pairs
        return prod(num for _, num in (pairs[1:] if self.space.on_chip else pairs))

    @property
    def pitch(self) -> int:
        """Elements of the seen type in one partition; the whole tensor in HBM."""
        spec = self.type.data
        return spec.bytes_per_partition // self.dtype.bytes

    def distance(self, other: "Operand") -> Affine:
        """Bytes from the start of another access to the same tensor to this one's."""
        return self.first_byte - other.first_byte

    def bytes_from(self, start: int) -> Pattern:
        """
        The bytes of the access, were it to start there, in normal form.

        Partitions of the tensor come one after another.
        """
        elements = Pattern(0, self.access.flat(self.pitch).pairs)
        return elements.scaled(self.dtype.bytes).shift(start).normalise()

    @property
    def first_byte(self) -> Affine:
        """Where the access starts in its tensor, in bytes."""
        access = self.access
        start = access.offset
        if access.partition is not None:
            start = start + access.partition * self.pitch
        return start * self.dtype.bytes

    @property
    def label(self) -> str:
        """The operand's name as messages show it."""
        return self.value.name_hint or self.name

    def __str__(self) -> str:
        return f"{self.label}: {self.dtype.ir_name}{list(self.shape)} in {self.space}"


def inclusive(values: range | None) -> tuple[int, int] | None:
    """The ends of a range; (0, 0) where it is empty, None where it is not known."""
    if values is None:
        return None
    if not values:
        return (0, 0)
    return (min(values[0], values[-1]), max(values[0], values[-1]))


def out_of_bounds(
    operand: Operand, indices: Sequence[tuple[int, int] | None]
) -> str | None:
    """Why the access leaves its tensor, with the documented literal first."""
    for dim, low, high, size in _extents(operand, indices):
        if low < 0 or high >= size:
            return (
                f"Out-of-bound access for tensor `{operand.label}` on dimension {dim} "
                f"index range [{low}, {high}] exceed dimension size of {size}"
            )
    return None


def _extents(
    operand: Operand, indices: Sequence[tuple[int, int] | None]
) -> Iterator[tuple[str, int, int, int]]:
    """(dimension, lowest, highest, size) where the loop indices are known."""
    access = operand.access
    free = access.pairs
    if access.partition is not None:
        bounds = _bounds(access.partition, indices)
        if bounds is not None:
            step, num = access.pairs[0]
            yield "0", bounds[0], bounds[1] + step * (num - 1), operand.type.shape[0]
        free = access.pairs[1:]
    bounds = _bounds(access.offset, indices)
    if bounds is not None:
        low = bounds[0] + sum(min(0, step * (num - 1)) for step, num in free)
        high = bounds[1] + sum(max(0, step * (num - 1)) for step, num in free)
        name = "1 (flattened)" if access.partition is not None else "0 (flattened)"
        yield name, low, high, operand.pitch


def _bounds(
    expression: Affine, indices: Sequence[tuple[int, int] | None]
) -> tuple[int, int] | None:
    if expression.is_constant:
        return expression.constant, expression.constant
    known: list[tuple[int, int]] = []
    for position, bounds in enumerate(indices):
        if bounds is None and position in expression.positions:
            return None
        known.append(bounds or (0, 0))
    return expression.bounds(known)
