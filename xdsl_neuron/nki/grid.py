"""Dimensions of a launch grid: how programs are spread over cores (penguin.md 3.3)."""

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, Self

from xdsl_neuron.isa import LoopKind
from xdsl_neuron.nki.arguments import is_sequence
from xdsl_neuron.tracer.errors import NKITypeError, NKIValueError
from xdsl_neuron.tracer.index import is_integer


class Axis(NamedTuple):
    """A factor of a grid dimension: programs in turn (`spmd`) or by core (`shard`)."""

    extent: int
    kind: LoopKind


class GridDim(int):
    """
    A grid dimension: the number of its programs, made of factors, outermost first.

    `nc(2) * 4` has 8 programs: the first four on one core, the others on the other.
    """

    axes: tuple[Axis, ...]

    def __new__(cls, axes: Sequence[Axis]) -> Self:
        found = super().__new__(cls, prod(axis.extent for axis in axes))
        found.axes = tuple(axis for axis in axes if axis.extent != 1)
        return found

    def __mul__(self, other: Any) -> "GridDim":
        return spmd_dim(self, other)

    def __rmul__(self, other: Any) -> "GridDim":
        return spmd_dim(other, self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, GridDim):
            return self.axes == other.axes
        return int(self) == other

    def __hash__(self) -> int:
        return hash(self.axes)

    def __repr__(self) -> str:
        return " * ".join(
            f"nc({n})" if kind is LoopKind.SHARD else str(n) for n, kind in self.axes
        )


def _axes(value: Any) -> tuple[Axis, ...]:
    if isinstance(value, GridDim):
        return value.axes
    if not is_integer(value):
        raise NKITypeError(f"launch grid {value!r} is not made of integers")
    extent = int(value)
    if extent < 1:
        raise NKIValueError(f"a launch grid has positive extents, got {extent}")
    return (Axis(extent, LoopKind.SPMD),)


def nc(cores: int) -> GridDim:
    """A grid dimension that runs over physical cores."""
    return GridDim([Axis(axis.extent, LoopKind.SHARD) for axis in _axes(cores)])


def spmd_dim(*factors: Any) -> GridDim:
    """One grid dimension made of several, outermost first."""
    if not factors:
        raise NKIValueError("spmd_dim expect at least 1 argument!")
    return GridDim([axis for factor in factors for axis in _axes(factor)])


def as_grid(grid: Any) -> tuple[GridDim, ...]:
    """A launch grid of up to three dimensions."""
    extents: Sequence[Any] = grid if is_sequence(grid) else (grid,)
    if len(extents) > 3:
        raise NKIValueError(
            f"launch grid {tuple(extents)}: expected at most three positive extents"
        )
    return tuple(spmd_dim(extent) for extent in extents)
