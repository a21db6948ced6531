"""One function from its JSON: storages, instructions, then what names later things."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_neuron.dialects.bir import (
    BasicBlockOp,
    ContinueIfOp,
    DMATriggerOp,
    DoWhileOp,
    DynamicForLoopOp,
    FuncOp,
    LocationOp,
    LoopOp,
    ReturnOp,
)
from xdsl_neuron.dialects.dma import BlockOp
from xdsl_neuron.dialects.neuron import EdgesAttr, SymbolsAttr, TensorType
from xdsl_neuron.isa import EdgeKind, LoopKind, TensorKind
from xdsl_neuron.json.declarations import read_declaration
from xdsl_neuron.json.document import Node
from xdsl_neuron.json.expressions import ExpressionReader
from xdsl_neuron.json.instruction_read import (
    check_header,
    extension,
    read_instruction,
)
from xdsl_neuron.json.keys import opaque_classes
from xdsl_neuron.json.opaque import read_opaque
from xdsl_neuron.json.storage_read import (
    check_alias,
    read_hint,
    read_location,
)
from xdsl_neuron.json.values import attributes_from_json, read_edge

MAX_LOOPS = 50
"""Loops inside each other."""

Loop = LoopOp | DynamicForLoopOp | DoWhileOp

_TARGETS = ("on_true", "on_false", "target")
"""Keys by which an instruction names blocks beside its own."""


class Module(Protocol):
    """What a function asks of the module being read."""

    version: int
    queues: dict[str, bool]
    blocks: dict[str, BlockOp]

    def names_instruction(self, name: str) -> bool: ...


@dataclass
class _Body:
    """A block of the function: what goes where."""

    block: Block
    placed: dict[int, Operation] = field(default_factory=dict[int, Operation])
    """Operations at a stated position."""
    first: list[Operation] = field(default_factory=list[Operation])
    rest: list[Operation] = field(default_factory=list[Operation])

    def fill(self) -> None:
        """Adds the operations: those placed at their positions, the rest in order."""
        others = iter((*self.first, *self.rest))
        total = len(self.first) + len(self.rest) + len(self.placed)
        for position in range(total):
            operation = self.placed.get(position)
            self.block.add_op(next(others) if operation is None else operation)


@dataclass
class FunctionReader:
    """Reads one function: storages, instructions, then what refers to later things."""

    module: Module
    node: Node
    function: FuncOp
    memories: dict[str, LocationOp] = field(default_factory=dict[str, LocationOp])
    registers: dict[str, SSAValue | None] = field(
        default_factory=dict[str, "SSAValue | None"]
    )
    hints: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    axes: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    labels: dict[str, Operation] = field(default_factory=dict[str, Operation])
    bodies: dict[tuple[str, str], _Body] = field(
        default_factory=dict[tuple[str, str], _Body]
    )
    """By the loop and the basic block, empty for none."""
    later: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    places: list[tuple[Node, Operation]] = field(
        default_factory=list[tuple[Node, Operation]]
    )

    def __post_init__(self) -> None:
        self.version = self.module.version
        self.body = _Body(self.function.body.block)
        self.bodies["", ""] = self.body

    def build(self) -> None:
        """The first pass: everything that can be made in order."""
        self.locate(self.function, self.node)
        extra = extension(self.node)
        self.function.attributes.update(attributes_from_json(extra.get("attributes")))
        for node in self.node.elements("allocations"):
            self._storage(node)
        for node in extra.elements("declarations"):
            declaration = read_declaration(node)
            self.locate(declaration, node)
            self.places.append((node, declaration))
        self._blocks(self.node.child("blocks").array(), "", 0)
        has_return = extra.get("has_return")
        if has_return is not None and not has_return.boolean():
            return
        if not any(isinstance(operation, ReturnOp) for operation in self.body.rest):
            self.body.rest.append(self._declared_return())

    def resolve(self) -> None:
        """The second pass: names of things that may come later, and places."""
        for action in self.later:
            action()
        for node, operation in self.places:
            self._place(node, operation)
        for body in self.bodies.values():
            self._check_positions(body)
            body.fill()

    def locate(self, operation: Operation, node: Node) -> None:
        """Puts the operation where the node is."""
        operation.location = node.text.location(node.start)

    def _check_positions(self, body: _Body) -> None:
        total = len(body.first) + len(body.rest) + len(body.placed)
        if body.placed and max(body.placed) >= total:
            self.node.fail(
                f"position {max(body.placed)} is beyond the {total} operations there"
            )

    def _place(self, node: Node, operation: Operation) -> None:
        position, loop, block = (node.get(key) for key in ("position", "loop", "block"))
        names = [name.string() if name is not None else "" for name in (loop, block)]
        body = self.bodies.get((names[0], names[1]))
        if body is None:
            node.fail(f"there is no block '{names[1]}' in loop '{names[0]}'")
        if position is None:
            body.first.append(operation)
            return
        index = position.integer(0)
        if index in body.placed:
            position.fail(f"position {index} is taken")
        body.placed[index] = operation

    def _storage(self, node: Node) -> None:
        check_alias(node)
        kind = node.get("Skind")
        if "numPhysicalRegs" in node.object() or (
            kind is not None and kind.value == "register"
        ):
            name = node.child("name").name()
            if name in self.registers:
                node.fail(f"register '{name}' is given twice")
            self.registers[name] = None
            self.hints[name] = read_hint(node, name)
            return
        memories = node.child("memorylocations").array()
        if len(memories) != 1:
            node.fail(f"{len(memories)} memory locations, only one is supported")
        name = memories[0].child("name").name()
        set_name = node.child("name").name()
        if name in self.memories or f"set {set_name}" in self.memories:
            node.fail(f"memory location '{name}' is given twice")
        location = read_location(node, memories[0], name)
        self.locate(location, node)
        self.memories[name] = self.memories[f"set {set_name}"] = location
        self.places.append((extension(node), location))

    def _blocks(self, nodes: list[Node], loop: str, depth: int) -> None:
        """
        The blocks of the function or of a loop.

        They are basic blocks where they say so or, if they do not say, where one is
        the target of a branch; else their instructions follow each other.
        """
        body = self.bodies[loop, ""]
        names = [node.child("name").name() for node in nodes]
        targets: set[str] = set()
        for node in nodes:
            for item in node.child("instructions").array():
                found = (item.object().get(key) for key in _TARGETS)
                targets.update(name for name in found if isinstance(name, str))
        branched = any(name in targets for name in names)
        for name, node in zip(names, nodes, strict=True):
            extra = extension(node)
            stated = extra.get("basic_block")
            if not (branched if stated is None else stated.boolean()):
                self._instructions(node, body, depth)
                continue
            if (loop, name) in self.bodies:
                node.fail(f"block '{name}' is given twice")
            block = BasicBlockOp.make(name)
            self.locate(block, node)
            block.attributes.update(attributes_from_json(extra.get("attributes")))
            body.rest.append(block)
            self.bodies[loop, name] = _Body(block.body.block)
            self._instructions(node, self.bodies[loop, name], depth)

    def _instructions(self, node: Node, body: _Body, depth: int) -> None:
        for item in node.child("instructions").array():
            operation = self._operation(item, depth)
            self.locate(operation, item)
            name = item.child("name").name()
            if name in self.labels:
                item.fail(f"instruction '{name}' is given twice")
            self.labels[name] = operation
            body.rest.append(operation)

    def _operation(self, node: Node, depth: int) -> Operation:
        match node.child("opcode").value:
            case "Loop":
                return self._loop(node, depth)
            case "DynamicForLoop":
                return self._dynamic_loop(node, depth)
            case "DoWhile":
                return self._do_while(node, depth)
            case "Return":
                return self._return(node)
            case "DMATrigger":
                return self._trigger(node)
            case str(opcode) if opcode in opaque_classes():
                return read_opaque(self, node, opaque_classes()[opcode])
            case _:
                return read_instruction(self, node)

    def _loop(self, node: Node, depth: int) -> Operation:
        axis = node.child("LoopAxis")
        parallel, extra = node.get("isParallel"), extension(node)
        is_parallel = parallel is not None and parallel.boolean()
        kind = LoopKind.PARALLEL if is_parallel else LoopKind.SEQUENTIAL
        stated = extra.get("kind")
        if stated is not None:
            kind = stated.member(LoopKind)
        loop = LoopOp.make(
            kind,
            axis.child("lb").integer(),
            axis.child("ub").integer(),
            axis.child("stride").integer(1),
        )
        self._index(node, axis, loop.index)
        self._loop_body(node, loop, depth)
        return loop

    def _index(self, node: Node, axis: Node, index: SSAValue) -> None:
        name = axis.child("name").name()
        if name in self.axes:
            axis.fail(f"axis '{name}' is given twice")
        index.name_hint = read_hint(node, name)
        self.axes[name] = index

    def _loop_body(self, node: Node, loop: Loop, depth: int) -> _Body:
        check_header(node)
        if depth >= MAX_LOOPS:
            node.fail(f"loops nested more than {MAX_LOOPS} deep")
        attributes = extension(node).get("attributes")
        loop.attributes.update(attributes_from_json(attributes))
        body = _Body(loop.body.block)
        name = node.child("name").name()
        if (name, "") in self.bodies:
            node.fail(f"instruction '{name}' is given twice")
        self.bodies[name, ""] = body
        self._blocks(node.child("blocks").array(), name, depth + 1)
        return body

    def _dynamic_loop(self, node: Node, depth: int) -> Operation:
        axis = node.child("DynamicForLoopAxis")
        registers: list[SSAValue] = []

        def register(name: Node) -> int:
            registers.append(self.register(name))
            return len(registers) - 1

        def no_axis(name: Node) -> int:
            name.fail("a bound depends on a loop axis, expected a register")

        bounds = ExpressionReader(self.version, no_axis, register)
        lower, step = bounds.read(axis.child("lb")), bounds.read(axis.child("stride"))
        if not (lower.is_constant and step.is_constant):
            axis.fail("the lower bound and the stride are constants")
        upper = bounds.read(axis.child("ub"))
        loop = DynamicForLoopOp.make(
            lower.constant, upper, tuple(registers), step.constant
        )
        self._index(node, axis, loop.index)
        self._loop_body(node, loop, depth)
        return loop

    def _do_while(self, node: Node, depth: int) -> Operation:
        loop = DoWhileOp.make()
        body = self._loop_body(node, loop, depth)
        last = ContinueIfOp.make(self.register(node.child("cond").child("regref")))
        condition = extension(node).get("condition")
        last.attributes.update(attributes_from_json(condition))
        self.locate(last, node)
        body.rest.append(last)
        return loop

    def _return(self, node: Node) -> Operation:
        check_header(node)
        outputs = extension(node).get("outputs")
        if outputs is None:
            operation = self._declared_return()
        else:
            found: list[tuple[str, SSAValue]] = []
            for pair in outputs.array():
                items = pair.array()
                if len(items) != 2:
                    pair.fail("expected [name, location]")
                memory = self._memory_named(items[1], items[1].string())
                found.append((items[0].string(), memory.result))
            operation = ReturnOp.make(found)
        extra = extension(node)
        operation.attributes.update(attributes_from_json(extra.get("attributes")))
        return operation

    def _declared_return(self) -> ReturnOp:
        """Returns the locations of kind ExternalOutput under their names."""
        return ReturnOp.make(
            [
                (name, location.result)
                for name, location in self.memories.items()
                if location.kind.data is TensorKind.OUTPUT
                and not name.startswith("set ")
            ]
        )

    def _trigger(self, node: Node) -> Operation:
        check_header(node)
        blocks = node.elements("dma_blocks")
        queue = node.get("queue")
        if queue is None or not blocks:
            node.fail("DMATrigger must have queue and block set")
        trigger = read_instruction(self, node)
        assert isinstance(trigger, DMATriggerOp)
        self.later.append(lambda: self._find_blocks(trigger, blocks))
        return trigger

    def _find_blocks(self, trigger: DMATriggerOp, names: list[Node]) -> None:
        found: list[str] = []
        for node in names:
            block = self.module.blocks.get(node.string())
            if block is None:
                node.fail(f"Block does not exist! ({node.value})")
            found.append(block.block_name.data)
        trigger.properties["blocks"] = SymbolsAttr.of(found)

    def dma_block(self, node: Node, name: str) -> BlockOp:
        """A block of descriptors, placed by its extension or before its trigger."""
        check_header(node)
        extra = extension(node)
        label = extra.get("name")
        block = BlockOp.make(name if label is None else label.name())
        self.locate(block, node)
        block.attributes.update(attributes_from_json(extra.get("attributes")))
        for part in node.elements("blocks"):
            for item in part.child("instructions").array():
                operation = read_instruction(self, item)
                self.locate(operation, item)
                block.body.block.add_op(operation)
        self.places.append((extra, block))
        return block

    def memory(self, node: Node) -> tuple[str, SSAValue, TensorType]:
        """The location an operand names, by `memref` or `memsetref`."""
        reference = node.get("memref")
        if reference is None:
            reference = node.child("memsetref")
            location = self._memory_named(reference, f"set {reference.string()}")
        else:
            location = self._memory_named(reference, reference.string())
        return location.location_name.data, location.result, location.tensor

    def _memory_named(self, node: Node, name: str) -> LocationOp:
        found = self.memories.get(name)
        if found is None:
            node.fail(f"memory location '{node.value}' does not exist")
        return found

    def axis(self, node: Node) -> SSAValue:
        """The index of a loop axis."""
        found = self.axes.get(node.string())
        if found is None:
            node.fail(f"axis '{node.value}' does not exist")
        return found

    def is_register(self, node: Node) -> bool:
        """Whether a name is a register's."""
        return node.string() in self.registers

    def register(self, node: Node) -> SSAValue:
        """The value of a register, which an instruction before has loaded."""
        if node.string() not in self.registers:
            node.fail(f"register '{node.value}' does not exist")
        found = self.registers[node.string()]
        if found is None:
            node.fail(f"register '{node.value}' is used before it is loaded")
        return found

    def define_register(self, node: Node, value: SSAValue) -> None:
        """Lets a register be the result of an instruction."""
        name = node.string()
        if name not in self.registers:
            node.fail(f"register '{name}' does not exist")
        if self.registers[name] is not None:
            node.fail(f"register '{name}' is loaded twice, which is not supported")
        value.name_hint = self.hints[name]
        self.registers[name] = value

    def edges(self, node: Node) -> Attribute | None:
        """The dependencies; their names are looked up in the second pass."""
        carried = node.get("loop_carried_dependencies")
        if carried is not None:
            message = "'loop_carried_dependencies' must be a JSON array"
            for item in carried.array(message):
                self._edge(item, "Unknown loop-carried dependency")
        exact = extension(node).get("after")
        if exact is not None:
            return EdgesAttr.of([read_edge(edge) for edge in exact.array()])
        dependencies = node.get("dependencies")
        if dependencies is None:
            return None
        items = dependencies.array("'dependencies' must be a JSON array")
        found = [self._edge(item, "Unknown dependency") for item in items]
        return EdgesAttr.of(found) if found else None

    def _edge(self, node: Node, message: str) -> tuple[EdgeKind, str]:
        kind, name = read_edge(node)

        def check() -> None:
            if not self.module.names_instruction(name):
                node.fail(f"{message} '{name}'")

        self.later.append(check)
        return kind, name

    def queue(self, node: Node) -> Attribute | None:
        """The queue's name; None for the queue that stands for having none."""
        name = node.string()
        if name not in self.module.queues:
            node.fail(f"Queue does not exist! ({name})")
        return None if self.module.queues[name] else StringAttr(name)
