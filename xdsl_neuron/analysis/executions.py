"""
Walking a function as it executes, for questions about what has been written.

Only operations that touch tracked tensors are visited. A loop whose iterations touch
the same elements is walked twice: afterwards nothing changes any more.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from xdsl_neuron.analysis.cells import cells_of
from xdsl_neuron.analysis.frame import Frame
from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions.control import DoWhile, DynamicFor
from xdsl_neuron.dialects.instructions.reduction import TensorReduce
from xdsl_neuron.dialects.instructions.systolic import MatmulBase
from xdsl_neuron.dialects.neuron import Access
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dialects.structure import For
from xdsl_neuron.geometry.mask import boxes, clip

MAX_VISITS = 50_000
"""Visits beyond which a walk gives up; a visit takes some 20 microseconds."""


class Undecidable(Exception):
    """The walk has given up: too many iterations, or an index it does not know."""


Visit: TypeAlias = Callable[[Operation], None]


@dataclass
class Execution:
    """
    One walk: `visit` is called for each relevant operation in execution order.

    `numbers` holds the loop indices of the moment.
    """

    tracked: set[SSAValue]
    visit: Visit
    numbers: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    _relevant: dict[Block, list[Operation]] = field(
        default_factory=dict[Block, list[Operation]]
    )
    _varying: set[SSAValue] = field(default_factory=set[SSAValue])
    _frames: dict[Instruction, Frame] = field(default_factory=dict[Instruction, Frame])
    _visits: int = 0

    def run(self, block: Block) -> None:
        """Walks a function's body; `Undecidable` where that cannot be done."""
        self._find(block)
        self._block(block)

    def _find(self, block: Block) -> bool:
        """Whether a block has relevant operations, which are listed."""
        found: list[Operation] = []
        for operation in block.ops:
            if isinstance(operation, For | DynamicFor | DoWhile):
                if self._find(operation.body.block):
                    found.append(operation)
            elif any(result in self.tracked for result in operation.results):
                found.append(operation)
            elif any(value in self.tracked for value in operation.operands):
                found.append(operation)
                self._note_indices(operation)
        self._relevant[block] = found
        return bool(found)

    def _note_indices(self, operation: Operation) -> None:
        """The loops whose index decides which tracked elements are touched."""
        if not isinstance(operation, Instruction):
            return
        positions = set[int]().union(*(p.positions for p in operation.masks()))
        for operand in operation.data().values():
            if operand.value in self.tracked:
                positions |= operand.access.positions
        indices = operation.loop_indices()
        self._varying.update(indices[position] for position in positions)

    def _isolated(self, loop: DynamicFor | DoWhile) -> bool:
        """Whether a loop uses no tracked tensor but those that are fresh in it."""
        return not any(
            value in self.tracked and not loop.is_ancestor(value.owner)
            for operation in loop.walk()
            for value in operation.operands
        )

    def _block(self, block: Block) -> None:
        for operation in self._relevant[block]:
            if isinstance(operation, DynamicFor | DoWhile):
                # All its iterations are alike, or it cannot be told how many there are.
                if not self._isolated(operation):
                    raise Undecidable
                self._block(operation.body.block)
                continue
            if not isinstance(operation, For):
                self._visits += 1
                if self._visits > MAX_VISITS:
                    raise Undecidable
                self.visit(operation)
                continue
            values = operation.static_range()
            for value in values if operation.index in self._varying else values[:2]:
                self.numbers[operation.index] = value
                self._block(operation.body.block)

    def cells(self, instruction: Instruction, operand: Operand, unit: int) -> int:
        """
        The cells of `unit` bytes an operand touches now, as `cells_of` numbers them.

        An access that leaves its tensor is a `DiagnosticError`: the verifier sees only
        static loops, of not too many iterations.
        """
        spec = operand.type.data
        found = 0
        for access in self._accesses(instruction, operand.name):
            low, high = access.flat(operand.pitch).bounds()
            size = spec.partitions * operand.pitch
            if low < 0 or high >= size:
                raise DiagnosticError(
                    instruction,
                    f"Out-of-bound access for tensor `{operand.label}` on dimension 0 "
                    f"(flattened) index range [{low}, {high}] exceed dimension size of "
                    f"{size}",
                )
            size_bytes = operand.dtype.bytes
            found |= cells_of(access, spec.bytes_per_partition, size_bytes, unit)
        return found

    def _accesses(self, instruction: Instruction, name: str) -> Sequence[Access]:
        """
        The constant accesses of an operand now: none, one, or one for each box.

        A matmul or reduction works on all of its box, whatever else its mask says.
        """
        frame = self._frames.get(instruction)
        if frame is None:
            frame = self._frames[instruction] = Frame.of(instruction)
        place = instruction.layout().names.index(name)
        operand = frame.operands[place]
        assert operand is not None
        masks = instruction.masks()
        values = instruction.loop_indices()
        needed = operand.access.positions.union(*(p.positions for p in masks))
        if any(values[position] not in self.numbers for position in needed):
            raise Undecidable
        indices = [self.numbers.get(value, 0) for value in values]
        if not masks:
            return (operand.access.bound(indices),)
        box = clip(masks, frame.lanes, indices)
        if box is None:
            return ()
        whole = isinstance(instruction, MatmulBase | TensorReduce)
        parts = (box,) if whole else boxes(box)
        found = [frame.cut(each.ranges)[place] for each in parts]
        return [
            (operand.access if access is None else access).bound(indices)
            for access in found
        ]
