"""The names that things without a name, or with a common one, have in JSON."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Operation, SSAValue

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
    QueueOp,
    ReturnOp,
)
from xdsl_neuron.dialects.bir.declarations import Declaration
from xdsl_neuron.dialects.bir.structure import name_of
from xdsl_neuron.dialects.dma import BlockOp
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.json.keys import opcode_of

UNASSIGNED_QUEUE = "unassigned"
"""Queue of the triggers that have none."""


class Names:
    """Names in use."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self.used = set(used)
        self._next: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        """`stem`, or `stem.n` where it is taken."""
        name = stem
        while name in self.used:
            number = self._next.get(stem, 0) + 1
            self._next[stem] = number
            name = f"{stem}.{number}"
        self.used.add(name)
        return name

    def numbered(self, stem: str) -> str:
        """`stem-n`, as operators are named (bir.md 11)."""
        number = self._next.get(stem + "-", 0)
        while f"{stem}-{number}" in self.used:
            number += 1
        self._next[stem + "-"] = number + 1
        self.used.add(f"{stem}-{number}")
        return f"{stem}-{number}"


@dataclass
class FunctionNames:
    """The names of a function's parts."""

    memory: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    axes: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    registers: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    instructions: dict[Operation, str] = field(default_factory=dict[Operation, str])
    known: set[str] = field(default_factory=set[str])
    """Names that dependencies may use."""

    @staticmethod
    def of(function: FuncOp) -> "FunctionNames":
        """
        Names everything in the function.

        Raises `DiagnosticError` where an operation has no form in JSON.
        """
        found = FunctionNames()
        operations = list(function.body.walk())
        storages, labels = Names(), Names()
        for operation in operations:
            if isinstance(operation, LocationOp):
                name = storages.fresh(operation.location_name.data)
                found.memory[operation.result] = name
            elif (label := name_of(operation)) is not None:
                found.instructions[operation] = labels.fresh(label)
        found.known = set(labels.used)
        for operation in operations:
            found._name(operation, storages, labels)
        return found

    def _name(self, operation: Operation, storages: Names, labels: Names) -> None:
        match operation:
            case LocationOp() | BlockOp() | ContinueIfOp():
                return
            case Declaration() | BasicBlockOp():
                return
            case OpaqueInstruction():
                opcode = operation.ROW.name
            case LoopOp() | DynamicForLoopOp() | DoWhileOp():
                opcode = operation.ROW.name
                for index in operation.body.block.args:
                    self.axes[index] = storages.fresh(index.name_hint or "i")
            case ReturnOp():
                opcode = "Return"
            case Instruction():
                opcode = _instruction_opcode(operation)
            case _:
                raise DiagnosticError(operation, "has no form in BIR JSON")
        for result in operation.results:
            if result.type != IndexType():
                raise DiagnosticError(operation, "has no form in BIR JSON")
            self.registers[result] = storages.fresh(result.name_hint or "r")
        if operation not in self.instructions:
            self.instructions[operation] = labels.numbered(opcode)


def _instruction_opcode(operation: Instruction) -> str:
    if operation.name.partition(".")[0] not in ("bir", "dma"):
        raise DiagnosticError(
            operation, "has no form in BIR JSON; lower it to the bir dialect first"
        )
    return opcode_of(type(operation))


@dataclass
class ModuleNames:
    """The names of a module's functions, DMA blocks and queues."""

    functions: dict[FuncOp, FunctionNames] = field(
        default_factory=dict[FuncOp, FunctionNames]
    )
    blocks: dict[BlockOp, str] = field(default_factory=dict[BlockOp, str])
    queues: dict[str, list[BlockOp]] = field(default_factory=dict[str, list[BlockOp]])
    triggers: dict[BlockOp, DMATriggerOp] = field(
        default_factory=dict[BlockOp, DMATriggerOp]
    )
    """The first trigger of each block."""
    unassigned: str = UNASSIGNED_QUEUE

    @staticmethod
    def of(module: ModuleOp) -> "ModuleNames":
        """
        Names everything in the module.

        Raises `DiagnosticError` where it holds something else than `bir` functions.
        """
        found = ModuleNames()
        labels = Names()
        for function in module.ops:
            if not isinstance(function, FuncOp):
                raise DiagnosticError(
                    function,
                    "has no form in BIR JSON, only bir.func has; lower it to the bir "
                    "dialect first",
                )
            found.functions[function] = FunctionNames.of(function)
            for operation in function.body.walk():
                queue = operation.properties.get("queue")
                name = getattr(queue, "data", None)
                if isinstance(name, str):
                    found.queues.setdefault(name, [])
                if isinstance(operation, QueueOp):
                    found.queues.setdefault(operation.declared_name.data, [])
                if isinstance(operation, BlockOp):
                    found.blocks[operation] = labels.fresh(operation.block_name.data)
        used = Names(found.queues)
        found.unassigned = used.fresh(UNASSIGNED_QUEUE)
        for function in found.functions:
            found._assign(function)
        return found

    def _assign(self, function: FuncOp) -> None:
        operations = list(function.body.walk())
        triggers = [op for op in operations if isinstance(op, DMATriggerOp)]
        first: dict[str, DMATriggerOp] = {}
        for trigger in triggers:
            for name in trigger.block_names:
                first.setdefault(name, trigger)
            if trigger.queue is None:
                self.queues.setdefault(self.unassigned, [])
        for block in operations:
            if not isinstance(block, BlockOp):
                continue
            trigger = first.get(block.block_name.data)
            queue = None
            if trigger is not None:
                self.triggers[block] = trigger
                queue = trigger.queue
            name = self.unassigned if queue is None else queue.data
            self.queues.setdefault(name, []).append(block)

    def block_names(self, trigger: DMATriggerOp) -> list[str]:
        """
        The JSON names of the blocks a trigger fires.

        Raises `DiagnosticError` where one does not exist.
        """
        function = parent_function(trigger)
        by_name = {
            block.block_name.data: name
            for block, name in self.blocks.items()
            if parent_function(block) is function
        }
        for name in trigger.block_names:
            if name not in by_name:
                raise DiagnosticError(trigger, f"Block does not exist! ({name})")
        return [by_name[name] for name in trigger.block_names]


def parent_function(operation: Operation) -> FuncOp:
    """The function an operation stands in."""
    parent = operation.parent_op()
    while not isinstance(parent, FuncOp):
        assert parent is not None
        parent = parent.parent_op()
    return parent
