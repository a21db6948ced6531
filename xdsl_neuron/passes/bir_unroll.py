"""`bir-unroll`: static loops become instructions, one per iteration."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from xdsl_neuron.affine import Affine
from xdsl_neuron.dialects.bir import FuncOp, LocationOp, LoopOp
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.neuron import (
    Access,
    AccessesAttr,
    AffineAttr,
    EdgesAttr,
    MatmulAccumulateAttr,
    PredicatesAttr,
)
from xdsl_neuron.dialects.neuron.system import WaitsAttr
from xdsl_neuron.isa import EdgeKind, MatmulAccumulate
from xdsl_neuron.mask import clip
from xdsl_neuron.passes.masking import Frame, shift_lanes
from xdsl_neuron.passes.names import NamePool, iteration_suffix
from xdsl_neuron.passes.rebuild import operations_of, replace_body

_PER_ITERATION = ("accesses", "predicates", "inst_name", "after")


@dataclass(frozen=True)
class BirUnroll(ModulePass):
    """
    Unrolls static loops while a function stays below `max-instructions`.

    Where all of it does not fit, the largest loops stay rolled and what is in them is
    looked at with what is left. An iteration `i = 2` of `I7` is named `I7_i2`; offsets,
    predicates, index values, accumulate conditions and dependency edges are those of
    the iteration. A run-time loop stays as it is, with what is in it.

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
                elif isinstance(operation, Instruction | LocationOp):
                    fixed += isinstance(operation, Instruction)
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
        total = sum(isinstance(op, Instruction) for op in block.ops)
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
    expressions: dict[str, Affine]
    name: str | None
    edges: tuple[tuple[EdgeKind, str], ...]

    @staticmethod
    def of(operation: Instruction) -> "_Template":
        values = tuple(operation.data_values().values())
        fields = {
            name: value
            for name, value in operation.properties.items()
            if name not in _PER_ITERATION and not isinstance(value, AffineAttr)
        }
        expressions = {
            name: value.data
            for name, value in operation.properties.items()
            if isinstance(value, AffineAttr)
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
            () if operation.after is None else operation.after.data,
        )


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
        self.templates: dict[Instruction, _Template] = {}
        instructions, locations, targets = _names_in(function)
        self.instruction_names = NamePool(instructions)
        self.location_names = NamePool(locations)
        self.copies = _Copies(targets, instructions)

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
                target.add_op(operation.clone(self.values))
            elif operation in self.unrolled:
                self._iterations(operation, target, suffix)
            else:
                target.add_op(self._rolled(operation, suffix))

    def _iterations(self, loop: LoopOp, target: Block, suffix: str) -> None:
        hint = loop.index.name_hint
        self.copies.enter()
        for value in loop.static_range():
            self.numbers[loop.index] = value
            self.block(loop.body.block, target, suffix + iteration_suffix(hint, value))
        self.copies.leave()

    def _rolled(self, loop: LoopOp, suffix: str) -> LoopOp:
        block = Block(arg_types=[IndexType()])
        block.args[0].name_hint = loop.index.name_hint
        self.values[loop.index] = block.args[0]
        self._expect_names(loop)
        self.block(loop.body.block, block, suffix)
        return LoopOp.create(
            properties=loop.properties,
            attributes=loop.attributes,
            location=loop.location,
            regions=[Region(block)],
        )

    def _expect_names(self, loop: LoopOp) -> None:
        """In a rolled loop, instructions further down keep their names."""
        for operation in loop.body.block.ops:
            if isinstance(operation, Instruction) and operation.inst_name is not None:
                self.copies.expect(operation.inst_name.data)

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
        name = template.name
        if name is not None and suffix:
            name = self.instruction_names.fresh(name + suffix)
        edges = self.copies.resolve(template.edges) if template.edges else ()
        indices, binding = self._bind(template)
        cut = _cut(template, binding)
        if template.name is not None:
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
        if edges:
            properties["after"] = EdgesAttr(edges)
        return self._create(template, properties, indices)

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
        else Access(
            access.offset.with_indices(binding),
            access.pairs,
            None
            if access.partition is None
            else access.partition.with_indices(binding),
            access.dtype,
        )
        for access in accesses
    )


def _set_expressions(
    template: _Template,
    binding: dict[int, Affine | int],
    lows: tuple[int, ...],
    properties: dict[str, Attribute],
) -> None:
    """Index values, registers and accumulate conditions of one iteration."""
    waits = properties.get("on_wait")
    if isinstance(waits, WaitsAttr):
        properties["on_wait"] = waits.with_indices(binding)
    for name, expression in template.expressions.items():
        bound = shift_lanes(expression.with_indices(binding), lows)
        if name == "accumulate_if" and bound.is_constant:
            joins = bound.constant >= 0
            properties["accumulate"] = MatmulAccumulateAttr(
                MatmulAccumulate.ACCUMULATE if joins else MatmulAccumulate.OVERWRITE
            )
        else:
            properties[name] = AffineAttr(bound)


Edges = tuple[tuple[EdgeKind, str], ...]


class _Copies:
    """
    The copies each name an edge mentions stands for, at the current place.

    In an iteration that is the copy of this iteration, for an instruction further down
    the one of the iteration before; behind a loop, all its copies. An instruction that
    a mask removed passes on what it was to follow.
    """

    def __init__(self, targets: frozenset[str], known: set[str]) -> None:
        self.targets = targets
        self.known = known
        self.current: dict[str, tuple[str, ...]] = {}
        self.collected: list[dict[str, list[str]]] = []

    def enter(self) -> None:
        """A loop begins."""
        self.collected.append({})

    def leave(self) -> None:
        """A loop ends: all its copies are visible."""
        inner = self.collected.pop()
        for name, copies in inner.items():
            self.current[name] = tuple(dict.fromkeys(copies))
            if self.collected:
                self.collected[-1].setdefault(name, []).extend(copies)

    def add(self, name: str, copy: str | None, edges: Edges, dropped: bool) -> None:
        """An instruction was copied, or removed."""
        if name not in self.targets:
            return
        copies = [target for _, target in edges] if dropped else [copy or name]
        self.current[name] = tuple(copies)
        if self.collected:
            self.collected[-1].setdefault(name, []).extend(copies)

    def expect(self, name: str) -> None:
        """An instruction further down will keep its name."""
        if name in self.targets:
            self.current[name] = (name,)

    def resolve(self, edges: Edges) -> Edges:
        """The edges of one copy."""
        found: dict[tuple[EdgeKind, str], None] = {}
        for kind, name in edges:
            usual = () if name in self.known else (name,)
            for copy in self.current.get(name, usual):
                found[(kind, copy)] = None
        return tuple(found)


def _names_in(
    function: FuncOp,
) -> tuple[set[str], set[str], frozenset[str]]:
    """Names of instructions, of locations, and those that edges mention."""
    instructions, locations, targets = set[str](), set[str](), set[str]()
    for operation in function.walk():
        if isinstance(operation, LocationOp):
            locations.add(operation.location_name.data)
        elif isinstance(operation, Instruction):
            if operation.inst_name is not None:
                instructions.add(operation.inst_name.data)
            if operation.after is not None:
                targets.update(name for _, name in operation.after.data)
    return instructions, locations, frozenset(targets)
