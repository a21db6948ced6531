"""A module of the `bir` dialect as BIR JSON, version 2."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from xdsl_neuron.arch import Arch, get_arch
from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dialects.bir import (
    BasicBlockOp,
    ContinueIfOp,
    DMATriggerOp,
    DoWhileOp,
    DynamicForLoopOp,
    FuncOp,
    LocationOp,
    LoopOp,
    OpaqueInstruction,
    ReturnOp,
)
from xdsl_neuron.dialects.bir.declarations import Declaration
from xdsl_neuron.dialects.dma import BlockOp, Descriptor
from xdsl_neuron.dialects.instruction import (
    REGISTER_BITS,
    Instruction,
    register_bits,
)
from xdsl_neuron.dialects.neuron import (
    Blob,
    Contents,
    EdgesAttr,
    Identity,
    ImmediateAttr,
    Splat,
    TargetAttr,
    TensorType,
)
from xdsl_neuron.dialects.scheduled import Scheduled
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import EdgeKind, Engine, LoopKind, Space, TensorKind
from xdsl_neuron.json.declarations import write_declaration
from xdsl_neuron.json.document import Json
from xdsl_neuron.json.expressions import affine_to_json
from xdsl_neuron.json.instruction_json import write_instruction
from xdsl_neuron.json.keys import EXTENSION, VERSION
from xdsl_neuron.json.names import (
    FunctionNames,
    ModuleNames,
    Names,
    parent_function,
)
from xdsl_neuron.json.opaque import write_opaque
from xdsl_neuron.json.values import (
    EDGE_NAMES,
    attributes_to_json,
    number_to_json,
    to_json_value,
)

ORIGIN = "Penguin"
"""`NamedObjectOrigin` of what comes from the Penguin level (bir.md 1.13)."""

ARCH_NAMES = {20: "sunda", 30: "gen3", 40: "core_v4"}
"""`ArchLevel` as JSON spells it (bir.md 1.2)."""


LOOPS = LoopOp | DynamicForLoopOp | DoWhileOp
"""Operations whose body is instructions of the function."""

_PLACED = LocationOp | BlockOp | Declaration
"""Operations that are not among the instructions in JSON."""


def to_json(module: ModuleOp) -> dict[str, Json]:
    """
    The document of a module whose functions are all `bir.func`.

    `json.dumps(..., sort_keys=True, indent=2)` makes the documented text of it.

    Raises `DiagnosticError` where an operation has no form in BIR JSON.
    """
    names = ModuleNames.of(module)
    found: dict[str, Json] = {
        "version": VERSION,
        "functions": [
            FunctionWriter(names, function).write() for function in names.functions
        ],
    }
    attributes = dict(module.attributes)
    target = attributes.get("neuron.target")
    if isinstance(target, TargetAttr):
        found["arch"] = ARCH_NAMES[get_arch(target.data).level]
        found["revision"] = "v1"
        del attributes["neuron.target"]
    if names.queues:
        found["queues"] = [
            _queue(names, queue, blocks) for queue, blocks in names.queues.items()
        ]
    extra: dict[str, Json] = {}
    if module.sym_name is not None:
        extra["name"] = module.sym_name.data
    add(found, attributes, extra)
    return found


def add(
    found: dict[str, Json], attributes: dict[str, Attribute], extra: dict[str, Json]
) -> None:
    """Adds the extension, where there is something to say."""
    if attributes:
        extra["attributes"] = attributes_to_json(attributes)
    if extra:
        found[EXTENSION] = extra


def _queue(names: ModuleNames, queue: str, blocks: Sequence[BlockOp]) -> Json:
    instructions: list[Json] = [
        FunctionWriter(names, parent_function(block)).dma_block(block, number)
        for number, block in enumerate(blocks)
    ]
    found: dict[str, Json] = {
        "name": queue,
        "origin": ORIGIN,
        "blocks": [{"name": f"{queue}_blocks", "instructions": instructions}],
    }
    if queue == names.unassigned:
        found[EXTENSION] = {"unassigned": True}
    return found


def header(opcode: str, name: str, engine: Engine) -> dict[str, Json]:
    """The keys every instruction has (bir.md 4.3)."""
    return {
        "name": name,
        "origin": ORIGIN,
        "opcode": opcode,
        "engine": engine.value,
        "engine_id": 0,
        "scheduled_start": 0,
        "scheduled_end": 0,
        "optin_passes": [],
        "ins": [],
        "outs": [],
    }


@dataclass
class FunctionWriter:
    """Writes one function."""

    module: ModuleNames
    function: FuncOp
    names: FunctionNames = field(init=False)

    def __post_init__(self) -> None:
        self.names = self.module.functions[self.function]

    def write(self) -> Json:
        """The function: its storages and its blocks."""
        allocations: list[Json] = []
        for operation in self.function.body.walk():
            if isinstance(operation, LocationOp):
                allocations.append(self._location(operation))
            allocations += [
                self._register(result)
                for result in operation.results
                if result in self.names.registers
            ]
        name = self.function.sym_name.data
        body = self.function.body.block
        found: dict[str, Json] = {
            "name": name,
            "origin": ORIGIN,
            "attributes": {},
            "allocations": allocations,
            "blocks": self._blocks(f"{name}_body", body),
        }
        extra: dict[str, Json] = {}
        if not any(isinstance(op, ReturnOp) for op in body.ops):
            extra["has_return"] = False
        declarations: list[Json] = [
            write_declaration(operation) | self.place(operation)
            for operation in self.function.body.walk()
            if isinstance(operation, Declaration)
        ]
        if declarations:
            extra["declarations"] = declarations
        add(found, self.function.attributes, extra)
        return found

    def _blocks(self, name: str, block: Block) -> Json:
        """Basic blocks, and what stands between them as blocks of its own."""
        parts: list[list[Operation] | BasicBlockOp] = [[]]
        for operation in block.ops:
            if isinstance(operation, BasicBlockOp):
                parts.append(operation)
            elif not isinstance(operation, _PLACED | ContinueIfOp):
                last = parts[-1]
                if isinstance(last, BasicBlockOp):
                    last = list[Operation]()
                    parts.append(last)
                last.append(operation)
        explicit = [part for part in parts if isinstance(part, BasicBlockOp)]
        if explicit and not parts[0]:
            del parts[0]
        names = Names(part.block_name.data for part in explicit)
        found: list[Json] = []
        for part in parts:
            if isinstance(part, BasicBlockOp):
                found.append(self._basic_block(part))
                continue
            record = self._plain_block(names.fresh(name), part)
            if explicit:
                record[EXTENSION] = {"basic_block": False}
            found.append(record)
        return found

    def _plain_block(
        self, name: str, operations: Iterable[Operation]
    ) -> dict[str, Json]:
        instructions: list[Json] = [self._operation(each) for each in operations]
        return {"name": name, "instructions": instructions}

    def _basic_block(self, block: BasicBlockOp) -> Json:
        inner = block.body.block.ops
        operations = [each for each in inner if not isinstance(each, _PLACED)]
        found = self._plain_block(block.block_name.data, operations)
        add(found, block.attributes, {"basic_block": True})
        return found

    def _operation(self, operation: Operation) -> Json:
        match operation:
            case LoopOp():
                return self._loop(operation)
            case DynamicForLoopOp():
                return self._dynamic_loop(operation)
            case DoWhileOp():
                return self._do_while(operation)
            case ReturnOp():
                return self._return(operation)
            case DMATriggerOp():
                return self._trigger(operation)
            case OpaqueInstruction():
                return write_opaque(self, operation)
            case Instruction():
                return self.instruction(operation)
            case _:
                raise DiagnosticError(operation, "has no form in BIR JSON here")

    def place(self, operation: Operation) -> dict[str, Json]:
        """Where an operation stands that is not among the instructions."""
        block = operation.parent_block()
        assert block is not None
        parent = block.parent_op()
        found: dict[str, Json] = {"position": block.get_operation_index(operation)}
        if isinstance(parent, BasicBlockOp):
            found["block"] = parent.block_name.data
            parent = parent.parent_op()
        if isinstance(parent, LOOPS):
            found["loop"] = self.names.instructions[parent]
        return found

    def _location(self, location: LocationOp) -> Json:
        kind, name = location.tensor, self.names.memory[location.result]
        spec = kind.data
        size = spec.dtype.bytes
        dims = [spec.partitions, spec.bytes_per_partition]
        if not spec.space.on_chip:
            dims = [extent for extent in spec.shape[:-1]]
            dims.append(spec.shape[-1] * size if spec.shape else size)
        memory: dict[str, Json] = {
            "Skind": "memory_location",
            "name": name,
            "type": spec.space.number,
            "dims": [*dims],
            "addr": 0,
            "bank": 0,
            "base": 0,
            "allocated": False,
        }
        if len(location.placements) == 1:  # blocks have addresses in the extension
            ((row, byte),) = location.placements
            memory |= {"addr": byte, "base": row, "allocated": True}
            if spec.space is Space.PSUM:
                bank = Arch.psum_bank_bytes
                memory |= {"addr": byte % bank, "bank": byte // bank}
        found: dict[str, Json] = {
            "Skind": "memory_location_set",
            "name": f"{name}_set",
            "origin": ORIGIN,
            "kind": location.kind.data.value,
            "addr_space": "Local",
            "dtype": spec.dtype.bir_name,
            "tensor_shape": [*spec.shape],
            "partition_dim": 0,
            "memorylocations": [memory],
        }
        add(found, location.attributes, self._location_extra(location, name))
        return found

    def _location_extra(self, location: LocationOp, name: str) -> dict[str, Json]:
        extra: dict[str, Json] = {}
        label = location.location_name.data
        if name != label:
            extra["name"] = label
        if location.result.name_hint != hint_of(label):
            extra["value"] = location.result.name_hint
        if location.blocks is not None:
            extra["blocks"] = location.block_count
        if location.mutable is not None:
            extra["mutable"] = True
        if location.addresses is not None and len(location.placements) != 1:
            extra["addresses"] = [*location.addresses.get_values()]
        if location.contents is not None:
            extra["contents"] = contents_to_json(location.contents.data)
        if not self._leads(location):
            extra |= self.place(location)
        return extra

    def _leads(self, location: LocationOp) -> bool:
        """Whether only locations stand before it in the function's body."""
        if location.parent_op() is not self.function:
            return False
        previous = location.prev_op
        while isinstance(previous, LocationOp):
            previous = previous.prev_op
        return previous is None

    def _register(self, register: OpResult) -> Json:
        name = self.names.registers[register]
        found: dict[str, Json] = {
            "Skind": "register",
            "name": name,
            "origin": ORIGIN,
            "engine": Engine.ALL.value,
            "numPhysicalRegs": register_bits(register) // REGISTER_BITS,
        }
        if register.name_hint != hint_of(name):
            found[EXTENSION] = {"value": register.name_hint}
        return found

    def _start(
        self, operation: Operation, opcode: str, engine: Engine
    ) -> dict[str, Json]:
        """The header with what comes from the operation's surroundings."""
        found = header(opcode, self.names.instructions[operation], engine)
        nest: list[Json] = []
        parent = operation.parent_op()
        while isinstance(parent, LOOPS | BasicBlockOp):
            nest[:0] = [self.names.axes[index] for index in parent.body.block.args]
            parent = parent.parent_op()
        if nest:
            found["loopnest"] = nest
        return found

    def _loop(self, loop: LoopOp) -> Json:
        name, axis = self.names.instructions[loop], self.names.axes[loop.index]
        kind = loop.kind.data
        found = self._start(loop, "Loop", Engine.ALL)
        found["LoopAxis"] = {
            "name": axis,
            "lb": loop.lower.value.data,
            "ub": loop.upper.value.data,
            "stride": loop.step.value.data,
        }
        found["isParallel"] = kind is not LoopKind.SEQUENTIAL
        found["isBasicBlock"] = False
        found["blocks"] = self._blocks(f"{name}_body", loop.body.block)
        extra: dict[str, Json] = {}
        if kind not in (LoopKind.SEQUENTIAL, LoopKind.PARALLEL):
            extra["kind"] = kind.value
        self._add_index(loop.index, extra)
        add(found, loop.attributes, extra)
        return found

    def _add_index(self, index: SSAValue, extra: dict[str, Json]) -> None:
        if index.name_hint != hint_of(self.names.axes[index]):
            extra["value"] = index.name_hint

    def _dynamic_loop(self, loop: DynamicForLoopOp) -> Json:
        def leaf(position: int) -> Json:
            name = self.index(loop, loop.registers[position])[1]
            return {"kind": "IntRuntimeValueKind", "regref": name}

        found = self._start(loop, loop.ROW.name, Engine.ALL)
        bounds = {
            "lb": Affine(loop.lower.value.data),
            "ub": loop.upper.data,
            "stride": Affine(loop.step.value.data),
        }
        axis: dict[str, Json] = {"name": self.names.axes[loop.index]}
        for key, bound in bounds.items():
            axis[key] = affine_to_json(bound, leaf)
        found["DynamicForLoopAxis"] = axis
        name = self.names.instructions[loop]
        found["blocks"] = self._blocks(f"{name}_body", loop.body.block)
        extra: dict[str, Json] = {}
        self._add_index(loop.index, extra)
        add(found, loop.attributes, extra)
        return found

    def _do_while(self, loop: DoWhileOp) -> Json:
        body = loop.body.block
        last = body.last_op
        if not isinstance(last, ContinueIfOp):
            raise DiagnosticError(loop, "does not end with its condition")
        name = self.names.instructions[loop]
        found = self._start(loop, loop.ROW.name, Engine.ALL)
        register = self.index(last, last.condition)[1]
        found["cond"] = {"kind": "IntRuntimeValueKind", "regref": register}
        found["blocks"] = self._blocks(f"{name}_body", body)
        extra: dict[str, Json] = {}
        if last.attributes:
            extra["condition"] = attributes_to_json(last.attributes)
        add(found, loop.attributes, extra)
        return found

    def _return(self, operation: ReturnOp) -> Json:
        found = self._start(operation, "Return", Engine.ALL)
        outputs = [
            (name, self.memory(operation, value))
            for name, value in zip(
                operation.output_names, operation.outputs, strict=True
            )
        ]
        extra: dict[str, Json] = {}
        if outputs != self._declared_outputs():
            extra["outputs"] = [[name, memory] for name, memory in outputs]
        add(found, operation.attributes, extra)
        return found

    def _declared_outputs(self) -> list[tuple[str, str]]:
        return [
            (name, name)
            for value, name in self.names.memory.items()
            if isinstance(value.owner, LocationOp)
            and value.owner.kind.data is TensorKind.OUTPUT
        ]

    def _trigger(self, trigger: DMATriggerOp) -> Json:
        found = write_instruction(self, trigger)
        found["queue"] = trigger.queue_name or self.module.unassigned
        found["dma_blocks"] = [*self.module.block_names(trigger)]
        return found

    def dma_block(self, block: BlockOp, number: int) -> Json:
        """A block of descriptors, as its queue holds it."""
        name = self.module.blocks[block]
        found = header("DMABlock", name, Engine.DMA)
        trigger = self.module.triggers.get(block)
        if trigger is not None:
            found["dma_trigger"] = self.names.instructions[trigger]
        descriptors: list[Json] = [
            self.instruction(operation)
            for operation in block.body.block.ops
            if isinstance(operation, Instruction)
        ]
        found |= {
            "block_id": number,
            "blocks": [{"name": f"{name}_body", "instructions": descriptors}],
        }
        extra: dict[str, Json] = {"function": self.function.sym_name.data}
        if name != block.block_name.data:
            extra["name"] = block.block_name.data
        add(found, block.attributes, extra | self.place(block))
        return found

    def instruction(self, operation: Instruction) -> Json:
        """An instruction: header, operands, fields."""
        return write_instruction(self, operation)

    def start(
        self, operation: Scheduled, opcode: str
    ) -> tuple[dict[str, Json], dict[str, Json]]:
        """An instruction's header and extension."""
        engine = operation.issued_by
        if isinstance(operation, Descriptor):
            engine = Engine.DMA
        found = self._start(operation, opcode, engine)
        extra = self.edges(found, operation.after)
        self.add_label(operation, operation.label, found, extra)
        return found, extra

    def add_label(
        self,
        operation: Operation,
        label: str | None,
        found: dict[str, Json],
        extra: dict[str, Json],
    ) -> None:
        """Says where the name is not the instruction's own."""
        if label != self.names.instructions[operation]:
            extra["name"] = label

    def edges(self, found: dict[str, Json], after: EdgesAttr | None) -> dict[str, Json]:
        """Adds the dependencies; the extension has those on nothing that exists."""
        if after is None:
            return {}
        known: list[Json] = [
            [name, EDGE_NAMES[kind]] for kind, name in self._known(after.data)
        ]
        if known:
            found["dependencies"] = known
        if len(known) == len(after.data):
            return {}
        return {"after": to_json_value(after, _no_expression)}

    def _known(
        self, edges: Iterable[tuple[EdgeKind, str]]
    ) -> Iterable[tuple[EdgeKind, str]]:
        return (edge for edge in edges if edge[1] in self.names.known)

    def memory(self, operation: Operation, value: SSAValue) -> str:
        """The name of the location a value is."""
        name = self.names.memory.get(value)
        if name is None or not isinstance(value.type, TensorType):
            raise DiagnosticError(
                operation, "has an operand without a form in BIR JSON"
            )
        return name

    def register_names(self, operation: Operation) -> list[str]:
        """The registers an instruction writes."""
        return [self.names.registers[result] for result in operation.results]

    def index(self, operation: Operation, value: SSAValue) -> tuple[bool, str]:
        """Whether an index is in a register, and its name."""
        if value in self.names.registers:
            return True, self.names.registers[value]
        if value not in self.names.axes or value.type != IndexType():
            raise DiagnosticError(
                operation, "has an operand without a form in BIR JSON"
            )
        return False, self.names.axes[value]


def contents_to_json(contents: Contents) -> Json:
    """What a constant holds."""
    match contents:
        case Identity():
            return "identity"
        case Splat(literal):
            return {"splat": number_to_json(ImmediateAttr(literal))}
        case Blob(data):
            return {"bytes": b64encode(data).decode()}


def _no_expression(expression: Affine) -> Json:
    return str(expression)


def hint_of(name: str) -> str | None:
    """The value name a location of this name has by itself."""
    return SSAValue.extract_valid_name(name) if SSAValue.is_valid_name(name) else None
