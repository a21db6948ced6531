"""`bir-unroll`: static loops become instructions, one per iteration."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeGuard

from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from xdsl_neuron.analysis.frame import Frame, shift_lanes
from xdsl_neuron.dialects.bir import FuncOp, LocationOp, LoopOp
from xdsl_neuron.dialects.bir.control import BasicBlockOp, Terminator
from xdsl_neuron.dialects.bir.kernel import OpaqueInstruction
from xdsl_neuron.dialects.bir.structure import name_of
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.neuron import (
    Access,
    AccessesAttr,
    AffineAttr,
    EdgesAttr,
    Expressions,
    Iteration,
    IterationsAttr,
    MatmulAccumulateAttr,
    PredicatesAttr,
)
from xdsl_neuron.dialects.scheduled import Scheduled
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.mask import clip
from xdsl_neuron.isa import MatmulAccumulate
from xdsl_neuron.passes.copied_edges import CopiedEdges, Edges, edges_of
from xdsl_neuron.passes.names import NamePool, iteration_suffix
from xdsl_neuron.passes.rebuild import operations_of, replace_body

_PER_ITERATION = ("accesses", "predicates", "inst_name", "after", "iterations")

INSTRUCTIONS = Instruction | OpaqueInstruction
"""What is copied for each iteration."""


@dataclass(frozen=True)
class BirUnroll(ModulePass):
    """
    Unrolls static loops while a function stays below `max-instructions`.

    Where all of it does not fit, the largest loops stay rolled and what is in them is
    looked at with what is left. An iteration `i = 2` of `I7` is named `I7_i2`; offsets,
    predicates, index values, accumulate conditions and dependency edges are those of
    the iteration. A run-time loop stays as it is, with what is in it.

    What it copies is tagged with the turns it belongs to, outermost loop first, so that
    later passes and checks know what was parallel: `iterations = [parallel "i" 2]`.

    Precondition: none.
    Postcondition: outside of rolled loops no instruction has a box mask or uses a loop
    index; a mask that never holds has removed its instruction.
    """

    name = "bir-unroll"

    max_instructions: int = 20000

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Unrolls every `bir.func`."""
        for function in operations_of(op, FuncOp):
            plan = _Plan(self.max_instructions)
            plan.block(function.body.block)
            unroller = _Unroller(plan.unrolled, function)
            body = Block()
            unroller.block(function.body.block, body, "")
            replace_body(function, body)
            unroller.copies.finish(function)


@dataclass
class _Plan:
    """Decides which loops to unroll: `unrolled`."""

    budget: int
    unrolled: set[Operation] = field(default_factory=set[Operation])
    _sizes: dict[Operation, "_Size"] = field(default_factory=dict[Operation, "_Size"])

    def block(self, block: Block) -> None:
        """Decides for the loops of a function's body."""
        self._divide(block, self.budget)

    def _size(self, loop: LoopOp) -> "_Size":
        found = self._sizes.get(loop)
        if found is None:
            fixed, loops, possible = 0, list[LoopOp](), True
            for operation in loop.body.block.ops:
                if isinstance(operation, LoopOp):
                    loops.append(operation)
                elif isinstance(operation, Terminator):
                    possible = False
                elif isinstance(operation, INSTRUCTIONS | LocationOp):
                    fixed += isinstance(operation, INSTRUCTIONS)
                else:
                    possible = False
            inner = [self._size(nested) for nested in loops]
            full: int | None = fixed
            for size in inner:
                full = None if full is None or size.full is None else full + size.full
            if full is not None:
                full = full * len(loop.static_range()) if possible else None
            found = _Size(fixed + sum(size.rolled for size in inner), full)
            self._sizes[loop] = found
        return found

    def _divide(self, block: Block, budget: int) -> int:
        """Unrolls what fits into `budget`; the number of instructions it takes."""
        loops = [op for op in block.ops if isinstance(op, LoopOp)]
        total = sum(isinstance(op, INSTRUCTIONS) for op in block.ops)
        sizes = {loop: self._size(loop) for loop in loops}
        total += sum(size.full or 0 for size in sizes.values())
        kept = [loop for loop in loops if sizes[loop].full is None]
        total += sum(sizes[loop].rolled for loop in kept)
        by_size = sorted(loops, key=lambda loop: -(sizes[loop].full or 0))
        for loop in by_size:
            size = sizes[loop]
            if total <= budget or not size.full or size.full <= size.rolled:
                break
            kept.append(loop)
            total += size.rolled - size.full
        rolled = set(kept)
        for loop in loops:
            if loop not in rolled:
                self._unroll(loop)
        for loop in kept:
            before = sizes[loop].rolled
            room = before + max(0, budget - total)
            total += self._divide(loop.body.block, room) - before
        return total

    def _unroll(self, loop: LoopOp) -> None:
        self.unrolled.update(op for op in loop.walk() if isinstance(op, LoopOp))


class _Size(NamedTuple):
    """Instructions of a loop kept rolled, and unrolled (None where it cannot be)."""

    rolled: int
    full: int | None


@dataclass(frozen=True, slots=True)
class _Template:
    """What all iterations of an instruction share."""

    instruction: Instruction
    values: tuple[SSAValue, ...]
    indices: tuple[SSAValue, ...]
    accesses: AccessesAttr | None
    predicates: tuple[Affine, ...]
    frame: Frame | None
    fields: dict[str, Attribute]
    expressions: dict[str, Expressions[Any]]
    name: str | None
    edges: Edges

    @staticmethod
    def of(operation: Instruction) -> "_Template":
        values = tuple(operation.data_values().values())
        fields = {
            name: value
            for name, value in operation.properties.items()
            if name not in _PER_ITERATION and not _has_expressions(value)
        }
        expressions = {
            name: value
            for name, value in operation.properties.items()
            if name not in _PER_ITERATION and _has_expressions(value)
        }
        masks = operation.masks()
        return _Template(
            operation,
            values,
            tuple(operation.loop_indices()),
            operation.accesses,
            masks,
            Frame.of(operation) if masks else None,
            fields,
            expressions,
            None if operation.inst_name is None else operation.inst_name.data,
            edges_of(operation),
        )


def _has_expressions(value: Attribute) -> TypeGuard[Expressions[Any]]:
    return isinstance(value, Expressions)


@dataclass
class _Cut:
    """An instruction in one iteration: what is left of it."""

    accesses: tuple[Access | None, ...] | None
    predicates: tuple[Affine, ...]
    lows: tuple[int, ...] = ()


class _Unroller:
    """Copies a function's body, loop by loop."""

    def __init__(self, unrolled: set[Operation], function: FuncOp) -> None:
        self.unrolled = unrolled
        self.values: dict[SSAValue, SSAValue] = {}
        self.numbers: dict[SSAValue, int] = {}
        self.blocks: dict[Block, Block] = {}
        self.templates: dict[Instruction, _Template] = {}
        names = (name_of(operation) for operation in function.walk())
        self.instruction_names = NamePool(name for name in names if name is not None)
        self.location_names = NamePool(
            location.location_name.data
            for location in operations_of(function, LocationOp)
        )
        self.copies = CopiedEdges(function, unrolled)
        self.loop_names = NamePool()
        self.names_of_loops: dict[Operation, str] = {}
        self.turns: tuple[Iteration, ...] = ()
        self.iterations: IterationsAttr | None = None
        """The same turns, for the instructions that are copied."""

    def block(self, source: Block, target: Block, suffix: str) -> None:
        """Copies the operations of one block, in one iteration."""
        for operation in source.ops:
            if isinstance(operation, Instruction):
                found = self._instruction(operation, suffix)
                if found is not None:
                    target.add_op(found)
            elif isinstance(operation, LocationOp):
                target.add_op(self._location(operation, suffix))
            elif not isinstance(operation, LoopOp):
                target.add_op(self._other(operation, suffix))
            elif operation in self.unrolled:
                self._iterations(operation, target, suffix)
            else:
                target.add_op(self._rolled(operation, suffix))

    def _iterations(self, loop: LoopOp, target: Block, suffix: str) -> None:
        hint = loop.index.name_hint
        self.copies.enter()
        name = self.names_of_loops.get(loop)
        if name is None:
            name = self.names_of_loops[loop] = self.loop_names.fresh(hint or "i")
        turns, iterations = self.turns, self.iterations
        for value in loop.static_range():
            self.numbers[loop.index] = value
            self.turns = (*turns, Iteration(loop.kind.data, name, value))
            self.iterations = IterationsAttr(self.turns)
            self.block(loop.body.block, target, suffix + iteration_suffix(hint, value))
        self.turns, self.iterations = turns, iterations
        self.copies.leave()

    def _rolled(self, loop: LoopOp, suffix: str) -> LoopOp:
        block = Block(arg_types=[IndexType()])
        block.args[0].name_hint = loop.index.name_hint
        self.values[loop.index] = block.args[0]
        self.copies.enter_kept(loop)
        self.block(loop.body.block, block, suffix)
        self.copies.leave_kept()
        return LoopOp.create(
            properties=loop.properties,
            attributes=loop.attributes,
            location=loop.location,
            regions=[Region(block)],
        )

    def _other(self, operation: Operation, suffix: str) -> Operation:
        """What is no plain instruction: code of its own, a run-time loop, a block."""
        copy = operation.clone_without_regions(self.values, self.blocks)
        edges = self.copies.resolve(edges_of(operation))
        _set_edges(copy.properties, edges)
        if isinstance(copy, Scheduled):
            self._tag(operation, copy.properties)
        name = name_of(operation)
        if name is not None:
            new = self._fresh(name, suffix)
            copy.properties["inst_name"] = StringAttr(new)
            self.copies.add(name, new, edges, dropped=False)
        if not operation.regions:
            return copy
        # Branches lead from a block to those beside it, also back.
        beside = operation.parent_op() if isinstance(operation, BasicBlockOp) else None
        self.copies.enter_kept(beside or operation)
        for source, target in zip(operation.regions, copy.regions, strict=True):
            self._region(source, target, suffix)
        self.copies.leave_kept()
        return copy

    def _region(self, source: Region, target: Region, suffix: str) -> None:
        for block in source.blocks:
            new = self.blocks[block] = Block(arg_types=block.arg_types)
            target.add_block(new)
            for old, argument in zip(block.args, new.args, strict=True):
                argument.name_hint = old.name_hint
                self.values[old] = argument
        for block in source.blocks:
            self.block(block, self.blocks[block], suffix)

    def _fresh(self, name: str, suffix: str) -> str:
        """The name of an instruction in one iteration."""
        return self.instruction_names.fresh(name + suffix) if suffix else name

    def _location(self, operation: LocationOp, suffix: str) -> LocationOp:
        name = operation.location_name.data
        if suffix:
            name = self.location_names.fresh(name + suffix)
        copy = LocationOp.create(
            result_types=operation.result_types,
            properties=operation.properties | {"location_name": StringAttr(name)},
            attributes=operation.attributes,
            location=operation.location,
        )
        copy.results[0].name_hint = operation.results[0].name_hint
        self.values[operation.results[0]] = copy.results[0]
        return copy

    def _instruction(self, operation: Instruction, suffix: str) -> Instruction | None:
        template = self.templates.get(operation)
        if template is None:
            template = self.templates[operation] = _Template.of(operation)
        name = None if template.name is None else self._fresh(template.name, suffix)
        edges = self.copies.resolve(template.edges) if template.edges else ()
        indices, binding = self._bind(template)
        cut = _cut(template, binding)
        if template.name is not None and name is not None:
            self.copies.add(template.name, name, edges, dropped=cut is None)
        if cut is None:
            return None
        properties = dict(template.fields)
        _set_expressions(template, binding, cut.lows, properties)
        if cut.accesses is not None:
            properties["accesses"] = AccessesAttr(cut.accesses)
        elif template.accesses is not None:
            properties["accesses"] = template.accesses
        if cut.predicates:
            properties["predicates"] = PredicatesAttr(cut.predicates)
        if name is not None:
            properties["inst_name"] = StringAttr(name)
        _set_edges(properties, edges)
        self._tag(operation, properties)
        return self._create(template, properties, indices)

    def _tag(self, operation: Operation, properties: dict[str, Attribute]) -> None:
        """The turns a copy belongs to: those it is made in, then those it had."""
        before = operation.properties.get("iterations")
        if self.iterations is None:
            if before is not None:
                properties["iterations"] = before
        elif isinstance(before, IterationsAttr):
            properties["iterations"] = IterationsAttr((*self.turns, *before.data))
        else:
            properties["iterations"] = self.iterations

    def _create(
        self,
        template: _Template,
        properties: dict[str, Attribute],
        indices: Sequence[SSAValue],
    ) -> Instruction:
        operation = template.instruction
        if len(indices) != len(template.indices) and operation.layout().optional:
            from xdsl_neuron.dialects.instruction_text import segment_sizes

            sizes, _ = operation.segments()
            properties["operandSegmentSizes"] = segment_sizes((*sizes, len(indices)))
        mapped = [self.values.get(value, value) for value in template.values]
        new = type(operation).create(
            operands=[*mapped, *indices],
            result_types=operation.result_types,
            properties=properties,
            attributes=operation.attributes,
            location=operation.location,
        )
        for old, result in zip(operation.results, new.results, strict=True):
            result.name_hint = old.name_hint
            self.values[old] = result
        return new

    def _bind(
        self, template: _Template
    ) -> tuple[list[SSAValue], dict[int, Affine | int]]:
        """The index operands that stay, and what each position stands for."""
        kept: list[SSAValue] = []
        binding: dict[int, Affine | int] = {}
        for position, value in enumerate(template.indices):
            number = self.numbers.get(value)
            if number is not None:
                binding[position] = number
            else:
                binding[position] = Affine.index(len(kept))
                kept.append(self.values.get(value, value))
        return kept, binding


def _cut(template: _Template, binding: dict[int, Affine | int]) -> _Cut | None:
    """What the mask leaves of an instruction; None where it leaves nothing."""
    frame = template.frame
    if frame is None:
        if not binding or template.accesses is None:
            return _Cut(None, ())
        return _Cut(_bound(template.accesses.data, binding), ())
    predicates = [p.with_indices(binding) for p in template.predicates]
    box = clip([p for p in predicates if not p.positions], frame.lanes)
    if box is None:
        return None
    lows = tuple(low for low, _ in box.ranges)
    open_predicates = [p for p in predicates if p.positions]
    left = tuple(shift_lanes(p, lows) for p in (*open_predicates, *box.residual))
    accesses = _bound(frame.cut(box.ranges), binding)
    if all(access is None for access in accesses):
        return _Cut(None, left, lows)
    return _Cut(accesses, left, lows)


def _bound(
    accesses: Iterable[Access | None], binding: dict[int, Affine | int]
) -> tuple[Access | None, ...]:
    return tuple(
        access
        if access is None or not access.positions
        else access.mapped(lambda expression: expression.with_indices(binding))
        for access in accesses
    )


def _set_expressions(
    template: _Template,
    binding: dict[int, Affine | int],
    lows: tuple[int, ...],
    properties: dict[str, Attribute],
) -> None:
    """Index values, registers and accumulate conditions of one iteration."""
    for name, attribute in template.expressions.items():
        bound = attribute.mapped(
            lambda expression: shift_lanes(expression.with_indices(binding), lows)
        )
        if name == "accumulate_if" and isinstance(bound, AffineAttr):
            condition = bound.data
            if condition.is_constant:
                joins = condition.constant >= 0
                properties["accumulate"] = MatmulAccumulateAttr(
                    MatmulAccumulate.ACCUMULATE if joins else MatmulAccumulate.OVERWRITE
                )
                continue
        properties[name] = bound


def _set_edges(properties: dict[str, Attribute], edges: Edges) -> None:
    properties.pop("after", None)
    if edges:
        properties["after"] = EdgesAttr(edges)
