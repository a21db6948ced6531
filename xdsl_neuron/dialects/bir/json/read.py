"""A module of the `bir` dialect from BIR JSON, version 1 or 2."""

import binascii
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import get_arch
from xdsl_neuron.dialects.bir import (
    ContinueIfOp,
    DMATriggerOp,
    DoWhileOp,
    DynamicForLoopOp,
    FuncOp,
    LocationOp,
    LoopOp,
    ReturnOp,
)
from xdsl_neuron.dialects.bir.json.document import Json, Node, Text
from xdsl_neuron.dialects.bir.json.expressions import ExpressionReader
from xdsl_neuron.dialects.bir.json.instruction_read import (
    check_header,
    extension,
    read_instruction,
)
from xdsl_neuron.dialects.bir.json.values import (
    attributes_from_json,
    number_from_json,
    read_dtype,
    read_edge,
)
from xdsl_neuron.dialects.bir.json.write import hint_of
from xdsl_neuron.dialects.dma import BlockOp
from xdsl_neuron.dialects.neuron import (
    Blob,
    Contents,
    EdgesAttr,
    EngineAttr,
    Identity,
    Splat,
    TargetAttr,
    TensorType,
)
from xdsl_neuron.isa import EdgeKind, Engine, LoopKind, Space, TensorKind

MAX_LOOPS = 50
"""Loops inside each other."""

MAX_RANK = 64

Loop = LoopOp | DynamicForLoopOp | DoWhileOp

_SPACES = {"DRAM": Space.HBM, "SB": Space.SBUF, "PSUM": Space.PSUM}


def from_json(data: "Json | Node", name: str = "<json>") -> ModuleOp:
    """
    The module of a document, verified as far as building it needs.

    Raises `DiagnosticError` where the document is malformed: the file `name`, the JSON
    path, and what was expected.
    """
    root = data if isinstance(data, Node) else Node(Text(name, ""), data, "", 0)
    return _ModuleReader(root).read()


@dataclass
class _ModuleReader:
    root: Node
    version: int = 2
    functions: dict[str, "_FunctionReader"] = field(
        default_factory=dict[str, "_FunctionReader"]
    )
    queues: dict[str, bool] = field(default_factory=dict[str, bool])
    """Queues by name, each with whether it stands for having none."""
    blocks: dict[str, BlockOp] = field(default_factory=dict[str, BlockOp])

    def read(self) -> ModuleOp:
        root = self.root
        root.object()
        self.version = root.child("version").integer()
        if self.version not in (1, 2):
            root.child("version").fail(
                "Check the version of bir json file - should be 1 (old) or 2 (new)"
            )
        if root.elements("nki_functions"):
            root.child("nki_functions").fail("NKI functions are not supported")
        module = ModuleOp([])
        module.location = root.text.location(root.start)
        self._attributes(module)
        self._queues()
        for node in root.child("functions").array():
            self._function(module, node)
        for queue in root.elements("queues"):
            self._dma_blocks(queue)
        for function in self.functions.values():
            function.resolve()
        return module

    def _attributes(self, module: ModuleOp) -> None:
        arch = self.root.get("arch")
        if arch is not None:
            try:
                target = get_arch(arch.string()).name
            except ValueError as error:
                arch.fail(str(error))
            module.attributes["neuron.target"] = TargetAttr(target)
        extra = extension(self.root)
        module.attributes.update(attributes_from_json(extra.get("attributes")))
        name = extra.get("name")
        if name is not None:
            module.properties["sym_name"] = StringAttr(name.name())

    def _queues(self) -> None:
        for queue in self.root.elements("queues"):
            name = queue.child("name").string()
            if name in self.queues:
                queue.fail(f"queue '{name}' is given twice")
            unassigned = extension(queue).get("unassigned")
            self.queues[name] = unassigned is not None and unassigned.boolean()

    def _function(self, module: ModuleOp, node: Node) -> None:
        name = node.child("name").name()
        if name in self.functions:
            node.fail(f"function '{name}' is given twice")
        reader = _FunctionReader(self, node, FuncOp.make(name))
        self.functions[name] = reader
        reader.build()
        module.body.block.add_op(reader.function)

    def _dma_blocks(self, queue: Node) -> None:
        for block in queue.elements("blocks"):
            for node in block.elements("instructions"):
                opcode = node.child("opcode").string()
                if opcode != "DMABlock":
                    node.fail(f"a queue holds DMABlocks, got {opcode}")
                self._dma_block(node)

    def _dma_block(self, node: Node) -> None:
        name = node.child("name").name()
        if name in self.blocks:
            node.fail(f"block '{name}' is given twice")
        function = self._owner(node)
        self.blocks[name] = function.dma_block(node, name)

    def _owner(self, node: Node) -> "_FunctionReader":
        """The function of a block: as stated, or of its trigger, or the only one."""
        stated = extension(node).get("function")
        if stated is not None:
            found = self.functions.get(stated.string())
            if found is None:
                stated.fail(f"function '{stated.value}' does not exist")
            return found
        trigger = node.get("dma_trigger")
        for function in self.functions.values():
            if trigger is not None and trigger.string() in function.labels:
                return function
        if len(self.functions) != 1:
            node.fail("cannot tell which function the block belongs to")
        return next(iter(self.functions.values()))


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
class _FunctionReader:
    """Reads one function: storages, instructions, then what refers to later things."""

    module: _ModuleReader
    node: Node
    function: FuncOp
    memories: dict[str, LocationOp] = field(default_factory=dict[str, LocationOp])
    registers: dict[str, SSAValue | None] = field(
        default_factory=dict[str, "SSAValue | None"]
    )
    hints: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    axes: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    labels: dict[str, Operation] = field(default_factory=dict[str, Operation])
    loops: dict[str, _Body] = field(default_factory=dict[str, _Body])
    later: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    places: list[tuple[Node, Operation]] = field(
        default_factory=list[tuple[Node, Operation]]
    )

    def __post_init__(self) -> None:
        self.version = self.module.version
        self.body = _Body(self.function.body.block)

    def build(self) -> None:
        """The first pass: everything that can be made in order."""
        self.locate(self.function, self.node)
        extra = extension(self.node)
        self.function.attributes.update(attributes_from_json(extra.get("attributes")))
        for node in self.node.elements("allocations"):
            self._storage(node)
        for node in self.node.child("blocks").array():
            self._instructions(node, self.body, 0)
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
        for body in (self.body, *self.loops.values()):
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
        extra = extension(node)
        position, loop = extra.get("position"), extra.get("loop")
        body = self.body
        if loop is not None:
            found = self.loops.get(loop.string())
            if found is None:
                loop.fail(f"loop '{loop.value}' does not exist")
            body = found
        if position is None:
            body.first.append(operation)
            return
        index = position.integer(0)
        if index in body.placed:
            position.fail(f"position {index} is taken")
        body.placed[index] = operation

    def _storage(self, node: Node) -> None:
        self._check_alias(node)
        kind = node.get("Skind")
        if "numPhysicalRegs" in node.object() or (
            kind is not None and kind.value == "register"
        ):
            name = node.child("name").name()
            if name in self.registers:
                node.fail(f"register '{name}' is given twice")
            self.registers[name] = None
            self.hints[name] = self._hint(node, name)
            return
        memories = node.child("memorylocations").array()
        if len(memories) != 1:
            node.fail(f"{len(memories)} memory locations, only one is supported")
        name = memories[0].child("name").name()
        set_name = node.child("name").name()
        if name in self.memories or f"set {set_name}" in self.memories:
            node.fail(f"memory location '{name}' is given twice")
        location = self._location(node, memories[0], name)
        self.locate(location, node)
        self.memories[name] = self.memories[f"set {set_name}"] = location
        self.places.append((node, location))

    def _check_alias(self, node: Node) -> None:
        alias = node.get("alias")
        if alias is not None and alias.array("'alias' must be a JSON array"):
            alias.fail("aliases are not supported")

    def _location(self, node: Node, memory: Node, name: str) -> LocationOp:
        extra = extension(node)
        space = _space(memory.child("type"))
        shape = tuple(node.child("tensor_shape").integers())
        if len(shape) > MAX_RANK:
            node.child("tensor_shape").fail(f"{len(shape)} dimensions")
        try:
            kind = TensorType.of(shape, read_dtype(node.child("dtype")), space)
        except VerifyException as error:
            node.child("tensor_shape").fail(str(error))
        mutable, contents = extra.get("mutable"), extra.get("contents")
        label = extra.get("name")
        label_text = name if label is None else label.string()
        location = LocationOp.make(
            kind,
            label_text,
            node.child("kind").member(TensorKind),
            mutable is not None and mutable.boolean(),
            None if contents is None else _contents(contents),
        )
        location.attributes.update(attributes_from_json(extra.get("attributes")))
        location.result.name_hint = self._hint(node, label_text)
        return location

    def _hint(self, node: Node, name: str) -> str | None:
        found = extension(node).get("value")
        if found is None:
            return hint_of(name)
        if found.value is None:
            return None
        hint = found.string()
        if not SSAValue.is_valid_name(hint):
            found.fail(f"'{hint}' cannot name a value")
        return hint

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
        index.name_hint = self._hint(node, name)
        self.axes[name] = index

    def _loop_body(self, node: Node, loop: Loop, depth: int) -> _Body:
        check_header(node)
        if depth >= MAX_LOOPS:
            node.fail(f"loops nested more than {MAX_LOOPS} deep")
        attributes = extension(node).get("attributes")
        loop.attributes.update(attributes_from_json(attributes))
        body = _Body(loop.body.block)
        self.loops[node.child("name").name()] = body
        for block in node.child("blocks").array():
            self._instructions(block, body, depth + 1)
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
        label = extension(node).get("name")
        name = node.child("name").name() if label is None else label.name()
        properties: dict[str, Attribute] = {
            "inst_name": StringAttr(name),
            "blocks": ArrayAttr(list[StringAttr]()),
        }
        engine = EngineAttr(node.child("engine").member(Engine))
        if engine != EngineAttr(Engine.SP):
            properties["engine"] = engine
        trigger = DMATriggerOp.create(properties=properties)
        for key, value in (("queue", self.queue(queue)), ("after", self.edges(node))):
            if value is not None:
                trigger.properties[key] = value
        extra = extension(node)
        trigger.attributes.update(attributes_from_json(extra.get("attributes")))
        self.later.append(lambda: self._find_blocks(trigger, blocks))
        return trigger

    def _find_blocks(self, trigger: DMATriggerOp, names: list[Node]) -> None:
        found: list[StringAttr] = []
        for node in names:
            block = self.module.blocks.get(node.string())
            if block is None:
                node.fail(f"Block does not exist! ({node.value})")
            found.append(block.block_name)
        trigger.properties["blocks"] = ArrayAttr(found)

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
        self.places.append((node, block))
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
            functions = self.module.functions.values()
            if not any(name in function.labels for function in functions):
                node.fail(f"{message} '{name}'")

        self.later.append(check)
        return kind, name

    def queue(self, node: Node) -> Attribute | None:
        """The queue's name; None for the queue that stands for having none."""
        name = node.string()
        if name not in self.module.queues:
            node.fail(f"Queue does not exist! ({name})")
        return None if self.module.queues[name] else StringAttr(name)


def _space(node: Node) -> Space:
    """A memory type: a number as documented, or a name as KLR writes it."""
    if isinstance(node.value, str) and node.value in _SPACES:
        return _SPACES[node.value]
    if not isinstance(node.value, str):
        try:
            return Space.from_number(node.integer())
        except ValueError:
            pass
    node.fail(f"expected 8 (DRAM), 16 (SB) or 32 (PSUM), got {node.value!r}")


def _contents(node: Node) -> Contents:
    if node.value == "identity":
        return Identity()
    splat = node.get("splat")
    if splat is not None:
        return Splat(number_from_json(splat).data)
    data = node.child("bytes")
    try:
        return Blob(b64decode(data.string(), validate=True))
    except (binascii.Error, ValueError) as error:
        data.fail(f"not base64: {error}")
