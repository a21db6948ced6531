"""What masks an instruction takes beside the elementwise ones."""

from itertools import combinations
from typing import ClassVar

from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.geometry.affine import Affine, Atom, FloorDiv, Index, Lane, Mod
from xdsl_neuron.geometry.lane_bounds import can_hold


class RowInstruction(ComputeInstruction):
    """An instruction on whole rows or blocks, which may have several outputs."""

    SEPARATE: ClassVar[bool] = True
    """Whether nothing says in which order the outputs are written."""

    @gate("outputs are disjoint", "bir.md 7.7", "our choice")
    def separate_outputs(self) -> None:
        """No element is written twice; which value would stay is not documented."""
        if len(self.OUTS) < 2 or not self.SEPARATE:
            return
        data = self.data()
        present = [data[name] for name in self.OUTS if name in data]
        for first, second in combinations(present, 2):
            if first.value is not second.value:
                continue
            if any(a.overlaps(b) for a, b in self.bytes_beside(first, second)):
                raise VerifyException(
                    f"outputs '{first.name}' and '{second.name}' overlap in "
                    f"`{first.label}`; write to two tiles"
                )


class BoxMasked(RowInstruction):
    """
    An instruction that runs on the box its mask leaves, with a smaller shape.

    Its results depend on whole rows, so a mask that is no box has no meaning.
    """

    @gate(
        "mask '...' does not bound one dimension by itself", "design.md 7b", "inferred"
    )
    def box_mask(self) -> None:
        """Each predicate bounds one lane."""
        for predicate in self.masks():
            if not bounds_one_lane(predicate):
                raise VerifyException(
                    f"mask '{predicate} >= 0' does not bound one dimension by itself; "
                    f"'{self.name}' works on whole rows, mask its inputs instead"
                )


class PartitionMasked(BoxMasked):
    """An instruction that does the same in each partition; its one lane is those."""

    def lane_shape(self, data: dict[str, Operand]) -> tuple[int, ...]:
        """The partitions."""
        return (data[self.OUTS[0]].partitions,)

    def lane_dims(self, data: dict[str, Operand]) -> dict[str, tuple[int, ...]]:
        """Partitions run along the lane, free dimensions along none."""
        return {
            name: (0, *(-1,) * (len(operand.shape) - 1))
            for name, operand in data.items()
        }


class Unmasked(RowInstruction):
    """An instruction that has no mask."""

    @gate("... takes no mask", "design.md 7b", "inferred")
    def without_mask(self) -> None:
        """No predicates."""
        if self.masks():
            raise VerifyException(
                f"'{self.name}' takes no mask; give it smaller accesses"
            )


def check_can_hold(instruction: ComputeInstruction) -> None:
    """Whether a mask holds anywhere can be said with loop indices."""
    residual = [p for p in instruction.masks() if not bounds_one_lane(p)]
    if not residual:
        return
    boxes = [p for p in instruction.masks() if bounds_one_lane(p)]
    try:
        can_hold(residual, boxes, instruction.lane_shape(instruction.data()))
    except ValueError as error:
        raise VerifyException(str(error)) from error


def bounds_one_lane(predicate: Affine) -> bool:
    """Whether it bounds at most one lane, whatever the loop indices are."""
    atoms = [atom for atom, _ in predicate.terms if _has_lanes(atom)]
    return not atoms or (len(atoms) == 1 and isinstance(atoms[0], Lane))


def _has_lanes(atom: Atom) -> bool:
    match atom:
        case Lane():
            return True
        case FloorDiv(operand, _) | Mod(operand, _):
            return bool(operand.lanes)
        case Index():
            return False
