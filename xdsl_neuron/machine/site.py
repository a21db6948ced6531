"""
An instruction made ready to be planned in every iteration of its loops.

`Scope` maps what the IR names to what a plan uses: tensors to slots, loop indices to
depths. `Site` is the base of the instructions; each kind has a file of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Final, TypeAlias

from xdsl.ir import Operation, SSAValue

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions.accumulators import AccumulatorUser
from xdsl_neuron.dialects.neuron import Access, TensorType, whole
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.mask import Box
from xdsl_neuron.isa import Engine, Space
from xdsl_neuron.machine.build import Build, Slot
from xdsl_neuron.machine.errors import MachineError
from xdsl_neuron.machine.lanes import FULL, Lanes
from xdsl_neuron.machine.nests import Nums, regroup
from xdsl_neuron.machine.options import MachineOptions
from xdsl_neuron.machine.sides import Side
from xdsl_neuron.machine.world import Rank

Emitter: TypeAlias = Callable[[Build], None]

STATE: Final = "accumulators"
"""The side that is an engine's accumulators; no operand is called so."""


def _no_slot(slot: Slot) -> int:
    raise ValueError(f"no place for {slot.label}")


class Scope:
    """Slots of tensors, depths of loop indices, and the inclusive range of each."""

    def __init__(self, options: MachineOptions) -> None:
        self.options = options
        self.slots: dict[SSAValue, int] = {}
        self.depths: dict[SSAValue, int] = {}
        self.ranges: list[tuple[int, int]] = []
        self.registers = 0
        """How many of the indices are registers, which are known only while running."""
        self.rank: Rank | None = None
        """Which of several ranks this is, None where the machine is all there is."""
        self.read_only: dict[int, str] = {}
        """Slots that must not be written, with what to call them."""
        self.accumulators: dict[Engine, int] = {}
        """Slots of the accumulators of the engines whose accumulators are read."""
        self.picked: dict[str, int] = {}
        """Slots of the dense tiles of operands whose columns an index picks."""
        self.new_slot: Callable[[Slot], int] = _no_slot
        """Adds a tensor that only the machine knows."""

    def add_loop(self, index: SSAValue, low: int, high: int) -> int:
        """The depth of a new loop index in `low .. high`."""
        depth = len(self.ranges)
        self.ranges.append((low, high))
        self.depths[index] = depth
        return depth

    def add_register(self, value: SSAValue, bits: int = 32) -> int:
        """The depth of a register of so many bits, signed or unsigned."""
        self.registers += 1
        return self.add_loop(value, -(1 << bits - 1), (1 << bits) - 1)

    def index_depths(self, instruction: Instruction) -> Sequence[int]:
        """The depth of the loop of each index operand."""
        return [
            self.depth_of(instruction, value) for value in instruction.loop_indices()
        ]

    def depth_of(self, user: Operation, value: SSAValue) -> int:
        """The depth of a loop index or register that an operation uses."""
        depth = self.depths.get(value)
        if depth is None:
            raise MachineError(
                user, "uses an index that is no loop index and no register"
            )
        return depth


def dense_operand(operand: Operand) -> Operand:
    """A tile of the columns that an index picks: what the instruction sees."""
    kind = TensorType.of(operand.shape, operand.dtype, operand.space)
    return Operand(operand.name, operand.value, kind, whole(operand.shape, True))


class Site(ABC):
    """An instruction, its sides by operand name, and its mask."""

    ONE_SHAPE: ClassVar = False
    """Whether all operands have the mask's lanes, grouped in one way or another."""

    def __init__(self, scope: Scope, instruction: Instruction) -> None:
        self.op = instruction
        self.data: dict[str, Operand] = instruction.data()
        self.depths = scope.index_depths(instruction)
        self.sides = {
            name: self.make_side(scope, operand) for name, operand in self.data.items()
        }
        if isinstance(instruction, AccumulatorUser):
            self._add_state(scope, instruction)
        self.mask = (
            Lanes(instruction, self.data, self.depths) if instruction.masks() else None
        )
        for name in instruction.out_names():
            side = self.sides.get(name)
            if side is not None and side.slot in scope.read_only:
                raise MachineError(
                    instruction,
                    f"writes {scope.read_only[side.slot]}, which is not mutable",
                )

    def make_side(self, scope: Scope, operand: Operand) -> Side:
        """The side of an operand."""
        if operand.picked is not None:
            slot = scope.picked[operand.name]
            return Side(dense_operand(operand), slot, self.depths, scope.ranges)
        slot = scope.slots.get(operand.value)
        if slot is None:
            raise MachineError(
                self.op, f"operand '{operand.name}' is not a tensor of this function"
            )
        return Side(operand, slot, self.depths, scope.ranges)

    def _add_state(self, scope: Scope, user: AccumulatorUser) -> None:
        """The side of the accumulators of `dst`'s partitions, where something reads."""
        slot = scope.accumulators.get(user.accumulator_engine)
        if slot is None:
            return
        dst = self.data["dst"]
        access = Access(Affine(0), (dst.access.pairs[0], (1, 1)), dst.access.partition)
        kind = TensorType.of((Arch.sbuf_partitions, 1), DType.FLOAT32, Space.SBUF)
        operand = Operand(STATE, dst.value, kind, access)
        self.sides[STATE] = Side(operand, slot, self.depths, scope.ranges)

    @abstractmethod
    def emit(self, build: Build) -> None:
        """Append the steps of one execution."""

    def box(self, build: Build) -> Box | None:
        """What the mask leaves in this iteration."""
        return FULL if self.mask is None else self.mask.box(build.values)

    def clipped(self, build: Build, name: str, box: Box) -> tuple[int, Nums]:
        """First byte and extents of a side in the box."""
        side = self.sides[name]
        if box is FULL or self.mask is None:
            return build.span(self.op, side)
        if self.ONE_SHAPE and self.mask.clips_unseen(name, box):
            self._regroup(side, name)
        return build.span(self.op, side, self.mask.ranges(name, box, side.nums))

    def _regroup(self, side: Side, name: str) -> None:
        """Give a side the dimensions of the lanes, so that a mask can clip it."""
        assert self.mask is not None
        shape = self.mask.shape
        strides = regroup(side.nums, side.strides, shape)
        if strides is None or not side.regroup(shape, strides):
            raise MachineError(
                self.op,
                f"the mask clips lanes of shape {list(shape)}, which '{name}' "
                f"({self.data[name]}) does not have; give all operands one shape",
            )
        self.mask.dims[name] = tuple(range(len(shape)))

    def refuse(self, message: str) -> MachineError:
        """An error at this instruction."""
        return MachineError(self.op, message)
