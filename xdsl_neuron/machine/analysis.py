"""
A function made ready to be planned: slots for its tensors, a node per operation.

Dispatch is on the base classes of `dialects.instructions`, so that an instruction has
one implementation at all levels.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar

from xdsl.ir import Block, Operation, SSAValue

from xdsl_neuron.analysis.lifetimes import last_uses, transfers
from xdsl_neuron.dialects import bir, structure
from xdsl_neuron.dialects.bir.declarations import Declaration
from xdsl_neuron.dialects.dma import BlockOp
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions import control as loops
from xdsl_neuron.dialects.instructions.tensor_indirect import TensorIndirect
from xdsl_neuron.dialects.neuron import Contents, TensorType
from xdsl_neuron.isa import Engine, Space, TensorKind
from xdsl_neuron.machine import (
    accumulators,
    collective,
    control,
    descriptors,
    elementwise,
    exponential,
    gather,
    index,
    indirect,
    matrix,
    mx,
    pool,
    random,
    reduction,
    registers,
    scan,
    search,
    selection,
    statistics,
    system,
    transfer,
    transposes,
)
from xdsl_neuron.machine.accumulators import accumulator_slot, read_accumulators
from xdsl_neuron.machine.build import Build, Slot
from xdsl_neuron.machine.constants import constant_buffer
from xdsl_neuron.machine.errors import MachineError
from xdsl_neuron.machine.indirection import picking
from xdsl_neuron.machine.interface import FunctionOp, Signature, signature
from xdsl_neuron.machine.memory import Buffer
from xdsl_neuron.machine.options import MachineOptions
from xdsl_neuron.machine.site import Emitter, Scope
from xdsl_neuron.machine.world import Rank

Handler = Callable[[Scope, Any], Emitter]
LoopT = TypeVar("LoopT", loops.DynamicFor, loops.DoWhile)

_HANDLERS: Final[dict[type, Handler]] = {
    **elementwise.HANDLERS,
    **transfer.HANDLERS,
    **indirect.HANDLERS,
    **descriptors.HANDLERS,
    **matrix.HANDLERS,
    **reduction.HANDLERS,
    **transposes.HANDLERS,
    **gather.HANDLERS,
    **mx.HANDLERS,
    **random.HANDLERS,
    **registers.HANDLERS,
    **system.HANDLERS,
    **collective.HANDLERS,
    **index.HANDLERS,
    **exponential.HANDLERS,
    **selection.HANDLERS,
    **statistics.HANDLERS,
    **search.HANDLERS,
    **pool.HANDLERS,
    **scan.HANDLERS,
    **accumulators.HANDLERS,
}


class Node(NamedTuple):
    """An operation's steps, and the slots that are not used after it."""

    emit: Emitter
    frees: Sequence[int]


@cache
def handler_of(operation: type[Operation]) -> Handler | None:
    """How an instruction is made ready, by the nearest base class that is known."""
    for base in operation.mro():
        if base in _HANDLERS:
            return _HANDLERS[base]
    return None


_STRUCTURE: Final = (
    structure.For,
    structure.Return,
    loops.DynamicFor,
    loops.DoWhile,
    bir.DMATriggerOp,
    BlockOp,
)


def executes(operation: type[Operation]) -> bool:
    """Whether an operation has a meaning, also that of refusing it."""
    return handler_of(operation) is not None or issubclass(operation, _STRUCTURE)


def compile_instruction(scope: Scope, instruction: Instruction) -> Emitter:
    """The emitter of one instruction's steps."""
    handler = handler_of(type(instruction))
    if handler is None:
        raise MachineError(instruction, "has no meaning in the machine")
    return _made_ready(handler, scope, instruction)


def _made_ready(handler: Handler, scope: Scope, operation: Operation) -> Emitter:
    """The emitter; what the numerics refuse is refused at the operation."""
    try:
        if isinstance(operation, TensorIndirect) and operation.has_indices:
            return picking(scope, operation, lambda: handler(scope, operation))
        return handler(scope, operation)
    except ValueError as error:
        raise MachineError(operation, str(error)) from error


class Analysis:
    """
    A function's tensors and operations, ready for any number of plans.

    Attributes:
        slots: its tensors. inputs and outputs: positions in it.
        nodes: its operations in order.
        constants: the contents of slots. executions: instructions that one run
            executes.
    """

    def __init__(
        self, function: FunctionOp, options: MachineOptions, rank: Rank | None = None
    ) -> None:
        self.function = function
        self.signature: Signature = signature(function)
        self._options = options
        self._scope = Scope(options)
        self._scope.rank = rank
        self._blocks, self._triggers = transfers(function)
        self._outputs = {value for _, value in self.signature.outputs}
        self.slots: list[Slot] = []
        self._scope.new_slot = self._new_slot
        self.constants: dict[int, Buffer] = {}
        self.executions = 0
        self._iterations = 0
        self.inputs = [self._add_input(*each) for each in self.signature.inputs]
        accumulators = [self._accumulator(e) for e in read_accumulators(function)]
        self.nodes = [*accumulators, *self._block(function.body.block, 1)]
        self.outputs = [self._scope.slots[v] for _, v in self.signature.outputs]

    @property
    def is_dynamic(self) -> bool:
        """Whether an offset or a mask depends on a register."""
        return self._scope.registers > 0

    @property
    def depths(self) -> Mapping[SSAValue, int]:
        """Which of them each index and register is."""
        return self._scope.depths

    @property
    def depth(self) -> int:
        """How many loop indices and registers there are."""
        return len(self._scope.ranges)

    def _accumulator(self, engine: Engine) -> Node:
        """The accumulators of an engine, undefined when the function begins."""
        slot = self._scope.accumulators[engine] = len(self.slots)
        self.slots.append(accumulator_slot(engine))

        def emit(build: Build) -> None:
            build.allocate(slot)

        return Node(emit, ())

    def _add_input(self, port: Any, value: SSAValue) -> int:
        slot = self._add_slot(value, port.name, self.function, None)
        if not port.mutable:
            self._scope.read_only[slot] = f"input '{port.name}'"
        return slot

    def _add_slot(
        self, value: SSAValue, label: str, where: Operation, init: float | None
    ) -> int:
        kind = value.type
        assert isinstance(kind, TensorType)
        size = kind.data.size * kind.dtype.bytes
        if size > self._options.max_tensor_bytes:
            raise MachineError(
                where,
                f"tensor {label} of {size} bytes exceeds the machine's limit of "
                f"{self._options.max_tensor_bytes} (max_tensor_bytes)",
            )
        slot = len(self.slots)
        self._scope.slots[value] = slot
        psum = kind.space is Space.PSUM
        self.slots.append(Slot(label, size, kind.dtype, psum, init))
        return slot

    def _new_slot(self, slot: Slot) -> int:
        self.slots.append(slot)
        return len(self.slots) - 1

    def _block(self, block: Block, times: int) -> list[Node]:
        """The nodes of a block that is executed `times` times."""
        pooled: list[SSAValue] = []
        emitters: list[tuple[Operation, Emitter]] = []
        for op in block.ops:
            emitter = self._operation(op, times, pooled)
            if emitter is not None:
                emitters.append((op, emitter))
        ends = last_uses(block, pooled, self._triggers)
        slots = self._scope.slots
        return [
            Node(emitter, [slots[value] for value in ends.get(op, ())])
            for op, emitter in emitters
        ]

    def _operation(
        self, op: Operation, times: int, pooled: list[SSAValue]
    ) -> Emitter | None:
        handler = handler_of(type(op))
        if handler is not None:
            self.executions += times
            return _made_ready(handler, self._scope, op)
        match op:
            case structure.Alloc():
                init = None if op.init is None else op.init.value
                return self._allocation(op, op.results[0], init, pooled)
            case structure.Constant():
                return self._constant(op, op.result, op.contents.data)
            case structure.For():
                return self._loop(op, times)
            case loops.DynamicFor():
                return control.dynamic_for(*self._run_time_loop(op, times))
            case loops.DoWhile():
                return control.do_while(*self._run_time_loop(op, times))
            case bir.LocationOp():
                return self._location(op, pooled)
            case bir.DMATriggerOp():
                return self._trigger(op, times)
            case structure.Return() | loops.ContinueIf() | BlockOp():
                return None
            case Declaration():
                return None
            case _:
                raise MachineError(op, "has no meaning in the machine")

    def _allocation(
        self,
        op: Operation,
        value: SSAValue,
        init: float | None,
        pooled: list[SSAValue],
    ) -> Emitter:
        slot = self._add_slot(value, value.name_hint or op.name, op, init)
        if value in self._outputs:
            return lambda build: build.bind_output(slot)
        pooled.append(value)
        return lambda build: build.allocate(slot)

    def _constant(self, op: Operation, value: SSAValue, contents: Contents) -> None:
        slot = self._add_slot(value, value.name_hint or "constant", op, None)
        self._scope.read_only[slot] = "a constant"
        kind = value.type
        assert isinstance(kind, TensorType)
        self.constants[slot] = constant_buffer(contents, kind.data)

    def _location(self, op: bir.LocationOp, pooled: list[SSAValue]) -> Emitter | None:
        kind = op.kind.data
        if kind is TensorKind.INPUT:
            if op.result not in self._scope.slots:
                raise MachineError(op, "an input stands at the top of its function")
            return None
        if op.contents is not None:
            return self._constant(op, op.result, op.contents.data)
        return self._allocation(op, op.result, None, pooled)

    def _loop(self, op: structure.For, times: int) -> Emitter:
        lower, upper = op.lower.value.data, op.upper.value.data
        step = op.step.value.data
        trips = max(0, -(-(upper - lower) // step))
        self._count_iterations(op, times * trips)
        last = lower + step * max(0, trips - 1)
        depth = self._scope.add_loop(op.index, lower, last)
        body = self._block(op.body.block, times * trips)
        values = range(lower, upper, step)

        def emit(build: Build) -> None:
            for value in values:
                build.values[depth] = value
                run_nodes(body, build)

        return emit

    def _run_time_loop(
        self, op: LoopT, times: int
    ) -> tuple[Scope, LoopT, control.Body, control.Run, int]:
        """What a run-time loop is made of; its trips are counted while running."""

        def body(block: Block) -> list[Node]:
            return self._block(block, times)

        return self._scope, op, body, run_nodes, self._options.max_iterations

    def _count_iterations(self, op: Operation, trips: int) -> None:
        self._iterations += trips
        limit = self._options.max_iterations
        if self._iterations > limit:
            raise MachineError(
                op,
                f"asks for more than {limit} iterations of loops in one run "
                "(max_iterations)",
            )

    def _trigger(self, op: bir.DMATriggerOp, times: int) -> Emitter:
        compiled: list[list[Emitter]] = []
        for name in op.block_names:
            block = self._blocks.get(name)
            if block is None:
                raise MachineError(
                    op, f"fires dma.block '{name}', which does not exist"
                )
            compiled.append(self._descriptors(block))
        self.executions += max(map(len, compiled)) * times
        key, queue = id(op), None if op.queue is None else op.queue.data

        def emit(build: Build) -> None:
            fired = build.fired.setdefault(queue, {})
            turn = fired.get(key, 0)
            fired[key] = turn + 1
            for descriptor in compiled[turn % len(compiled)]:
                descriptor(build)

        return emit

    def _descriptors(self, block: BlockOp) -> list[Emitter]:
        return [
            compile_instruction(self._scope, op)
            for op in block.body.block.ops
            if isinstance(op, Instruction)
        ]


def run_nodes(nodes: Sequence[Node], build: Build) -> None:
    """Emit nodes in order, once."""
    for emit, frees in nodes:
        emit(build)
        if frees:
            build.release(frees)
