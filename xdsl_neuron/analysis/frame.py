"""Cutting an instruction to the box its mask leaves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions.dma_indirect import IndirectInstruction
from xdsl_neuron.dialects.instructions.tensor_indirect import TensorIndirect
from xdsl_neuron.dialects.instructions.transpose import DmaIndirectTranspose
from xdsl_neuron.dialects.neuron import Access
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.geometry.affine import Affine, Atom, Lane
from xdsl_neuron.geometry.pattern import Pairs, Pattern

Ranges = tuple[tuple[int, int], ...]
"""Half-open (low, high) per lane."""


def _picks(instruction: Instruction) -> bool:
    """Whether columns of an operand are picked: then there is no mask to cut by."""
    return isinstance(instruction, TensorIndirect) and instruction.has_indices


def _dims(
    instruction: Instruction, data: dict[str, Operand]
) -> dict[str, tuple[int, ...]]:
    """The lane of each operand's dimensions, none where columns are picked."""
    if _picks(instruction):
        return {name: (-1,) * len(operand.shape) for name, operand in data.items()}
    return instruction.lane_dims(data)


@dataclass(frozen=True, slots=True)
class Frame:
    """
    The lanes of an instruction and how its operands run along them.

    Shapes do not depend on the iteration, so one frame serves all iterations.
    """

    instruction: Instruction
    operands: tuple[Operand | None, ...]
    """The operands, with the lanes' dimensions where they have another rank."""
    lanes: tuple[int, ...]
    dims: tuple[tuple[int, ...], ...]
    given: tuple[Access | None, ...]

    @staticmethod
    def of(instruction: Instruction) -> "Frame":
        """Reads the frame of an instruction."""
        data = instruction.data()
        names = instruction.layout().names
        lanes = instruction.lane_shape(data)
        dims = _dims(instruction, data)
        accesses = instruction.accesses
        given = (None,) * len(names) if accesses is None else accesses.data
        whole = data if _picks(instruction) else instruction.WHOLE
        seen = {
            name: (operand, dims[name])
            if name in whole
            else _on_lanes(operand, dims[name], lanes)
            for name, operand in data.items()
        }
        return Frame(
            instruction,
            tuple(seen[name][0] if name in seen else None for name in names),
            lanes,
            tuple(seen[name][1] if name in seen else () for name in names),
            given,
        )

    def cut(self, ranges: Ranges) -> tuple[Access | None, ...]:
        """
        The operands' accesses within `ranges`, None where the whole tensor is meant.

        A range that reaches an operand whose dimensions do not follow the lanes is a
        `DiagnosticError`.
        """
        full = tuple((0, extent) for extent in self.lanes)
        if ranges == full:
            return self.given
        clipped = {lane for lane, r in enumerate(ranges) if r != full[lane]}
        return tuple(
            None
            if operand is None
            else self._cut_operand(operand, dims, ranges, clipped)
            for operand, dims in zip(self.operands, self.dims, strict=True)
        )

    def _cut_operand(
        self, operand: Operand, dims: Sequence[int], ranges: Ranges, clipped: set[int]
    ) -> Access:
        shape = operand.shape
        whole = operand.name in self.instruction.WHOLE
        for lane, extent in () if whole else zip(dims, shape, strict=True):
            follows = lane >= 0 and extent == self.lanes[lane]
            if not follows and extent > 1 and (lane in clipped or clipped - set(dims)):
                raise DiagnosticError(
                    self.instruction,
                    f"masks dimensions {sorted(clipped)} of {list(self.lanes)}, but "
                    f"'{operand.name}' has shape {list(shape)}; give all operands the "
                    "same dimensions",
                )
        inner = [
            ranges[lane] if lane >= 0 else (0, extent)
            for lane, extent in zip(dims, shape, strict=True)
        ]
        axis = self._indexed_axis(operand)
        if axis is not None:
            # Position k of this dimension is index[k]: fewer rows, no other start.
            low, high = inner[axis]
            inner[axis] = (0, high - low)
        return operand.access.restricted(inner)

    def _indexed_axis(self, operand: Operand) -> int | None:
        instruction = self.instruction
        if isinstance(instruction, DmaIndirectTranspose):
            return 0 if operand.name == "src" else None
        if not isinstance(instruction, IndirectInstruction):
            return None
        return instruction.axis if operand.name == instruction.INDEXED else None


def _on_lanes(
    operand: Operand, dims: tuple[int, ...], lanes: tuple[int, ...]
) -> tuple[Operand, tuple[int, ...]]:
    """
    An operand of another shape than the lanes, seen with their dimensions.

    One that has no such form keeps its partitions, which follow the first lane.
    """
    other_rank = dims and len(dims) != len(lanes) and set(dims) == {-1}
    unseen = any(
        lane < 0 and extent > 1
        for lane, extent in zip(dims, operand.shape, strict=True)
    )
    if not other_rank and not unseen:
        return operand, dims
    if operand.access.count == prod(lanes):
        pairs = _regrouped(operand.access.pairs, lanes, operand.space.on_chip)
        if pairs is not None:
            access = replace(operand.access, pairs=pairs)
            return replace(operand, access=access), tuple(range(len(lanes)))
    if not other_rank:
        return operand, dims
    if operand.space.on_chip and operand.shape[0] == lanes[0]:
        return operand, (0, *dims[1:])
    return operand, dims


def _regrouped(pairs: Pairs, shape: tuple[int, ...], on_chip: bool) -> Pairs | None:
    """The same elements in the same order with extents `shape`, None if that fails."""
    if on_chip:
        inner = _regrouped(pairs[1:], shape[1:], False) if shape else None
        same = shape and pairs[0][1] == shape[0]
        return (pairs[0], *inner) if inner is not None and same else None
    left = list(Pattern(0, pairs).normalise().pairs)
    found: list[tuple[int, int]] = []
    for extent in reversed(shape):
        if extent == 1:
            found.append((0, 1))
            continue
        if not left or left[-1][1] % extent:
            return None
        step, num = left.pop()
        found.append((step, extent))
        if num > extent:
            left.append((step * extent, num // extent))
    return None if left else tuple(reversed(found))


def shift_lanes(expression: Affine, lows: Sequence[int]) -> Affine:
    """The expression over lanes counted from the corner `lows` of a box."""
    if not expression.lanes or not any(lows):
        return expression
    return expression.substitute(_shift(tuple(lows)).get)


@lru_cache(maxsize=1024)
def _shift(lows: tuple[int, ...]) -> dict[Atom, Affine]:
    return {Lane(dim): Affine.lane(dim) + low for dim, low in enumerate(lows) if low}


def renumbered(expression: Affine, dims: Sequence[int]) -> Affine:
    """The expression with lane `i` called `dims[i]`."""

    def replace_lane(atom: Atom) -> Affine | None:
        return Affine.lane(dims[atom.dim]) if isinstance(atom, Lane) else None

    return expression.substitute(replace_lane)
