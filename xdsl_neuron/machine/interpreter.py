"""
The dialects as xDSL `InterpreterFunctions`: any xDSL interpreter can run them.

    interpreter.register_implementations(NeuronFunctions())
    outputs = interpreter.call_op("kernel", inputs)

A `penguin.func` or `bir.func` that is called runs as a program of the machine. An
instruction inside a function of another dialect runs by itself: a tensor in HBM is a
NumPy array, one on chip a `Tile`, an index an `IntegerAttr` as everywhere in xDSL.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    OpImplResult,
    PythonValues,
    ReturnedValues,
)
from xdsl.interpreters.builtin import scalar_attr
from xdsl.ir import Operation, SSAValue

from xdsl_neuron.dialects import structure
from xdsl_neuron.dialects.bir import Bir
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions import control
from xdsl_neuron.dialects.instructions.accumulators import AccumulatorUser
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.dialects.penguin import Penguin
from xdsl_neuron.isa import Engine, Space
from xdsl_neuron.machine.accumulators import accumulator_slot
from xdsl_neuron.machine.analysis import compile_instruction
from xdsl_neuron.machine.binding import Bound, bind
from xdsl_neuron.machine.build import Array, Build, Slot
from xdsl_neuron.machine.constants import constant_buffer
from xdsl_neuron.machine.interface import Port, find_function
from xdsl_neuron.machine.memory import Storage, array_bytes
from xdsl_neuron.machine.options import MachineOptions
from xdsl_neuron.machine.program import Machine
from xdsl_neuron.machine.site import Emitter, Scope
from xdsl_neuron.numerics.casts import storage

Impl = Callable[[Any, Interpreter, Any, PythonValues], OpImplResult]

_OPERATIONS: Final = (*Penguin.operations, *Bir.operations)


@dataclass(frozen=True)
class Tile:
    """A tensor on chip: its content, and what has been written since its allocation."""

    array: Array
    state: Storage


@dataclass(frozen=True)
class _Prepared:
    """One instruction made ready, with the value of each slot and of each index."""

    emit: Emitter
    slots: list[Slot]
    tensors: list[tuple[SSAValue, Port]]
    indices: list[SSAValue]
    accumulators: dict[Engine, int]


class NeuronFunctions(InterpreterFunctions):
    """What the operations of `penguin` and `bir` do."""

    def __init__(self, options: MachineOptions | None = None) -> None:
        self._machine = Machine(options)
        self._prepared: dict[Operation, _Prepared] = {}
        self._accumulators: dict[Engine, Storage] = {}

    @classmethod
    def _impls(cls) -> Iterable[tuple[type[Operation], Any]]:
        for operation in _OPERATIONS:
            found = _implementation(operation)
            if found is not None:
                yield operation, found

    @classmethod
    def _callable_impls(cls) -> Iterable[tuple[type[Operation], Any]]:
        for operation in _OPERATIONS:
            if operation.name in ("penguin.func", "bir.func"):
                yield operation, cls.call_function

    @classmethod
    def _cast_impls(cls) -> Iterable[Any]:
        return ()

    @classmethod
    def _attr_impls(cls) -> Iterable[Any]:
        return ()

    @classmethod
    def _ext_impls(cls) -> Iterable[Any]:
        return ()

    def call_function(
        self, interpreter: Interpreter, op: Operation, args: PythonValues
    ) -> PythonValues:
        """A function as a program; `args` are the arrays of its inputs."""
        return tuple(self._machine.prepare(find_function(op)).run(args))

    def allocate(
        self, interpreter: Interpreter, op: structure.Alloc, args: PythonValues
    ) -> OpImplResult:
        """A fresh buffer, with its initial value or poison."""
        init = None if op.init is None else op.init.value
        slot = _slot(op.results[0], init)
        build = Build([slot], 0, self._poison)
        build.allocate(0)
        build.fill(0)
        self._execute(build)
        state = build.storages[0]
        array = _shaped(state.buffer, op.tensor)
        value = Tile(array, state) if op.tensor.space.on_chip else array
        return OpImplResult((value,), None)

    def constant(
        self, interpreter: Interpreter, op: structure.Constant, args: PythonValues
    ) -> OpImplResult:
        """A read-only array."""
        buffer = constant_buffer(op.contents.data, op.tensor.data)
        return OpImplResult((_shaped(buffer, op.tensor),), None)

    def loop(
        self, interpreter: Interpreter, op: structure.For, args: PythonValues
    ) -> OpImplResult:
        """The body for each value of the index."""
        for value in op.static_range():
            index = scalar_attr(value, IndexType(), interpreter.index_bitwidth)
            interpreter.run_ssacfg_region(op.body, (index,), op.name)
        return OpImplResult((), None)

    def dynamic_loop(
        self, interpreter: Interpreter, op: control.DynamicFor, args: PythonValues
    ) -> OpImplResult:
        """The body for each value below the bound the register gives."""
        upper = op.upper.data.evaluate([index.value.data for index in args])
        step = op.step.value.data
        for value in range(op.lower.value.data, upper, step):
            index = scalar_attr(value, IndexType(), interpreter.index_bitwidth)
            interpreter.run_ssacfg_region(op.body, (index,), op.name)
        return OpImplResult((), None)

    def do_while(
        self, interpreter: Interpreter, op: control.DoWhile, args: PythonValues
    ) -> OpImplResult:
        """The body until its register is zero."""
        while True:
            (more,) = interpreter.run_ssacfg_region(op.body, (), op.name)
            if not more.value.data:
                return OpImplResult((), None)

    def give_back(
        self,
        interpreter: Interpreter,
        op: structure.Return | control.ContinueIf,
        args: PythonValues,
    ) -> OpImplResult:
        """Leave the function with its outputs, or a body with its condition."""
        return OpImplResult((), ReturnedValues(args))

    def instruction(
        self, interpreter: Interpreter, op: Instruction, args: PythonValues
    ) -> OpImplResult:
        """One instruction on the values of its operands."""
        prepared = self._prepared.get(op)
        if prepared is None:
            prepared = self._prepared[op] = _prepare(op, self._machine.options)
        depth = len(prepared.indices) + len(op.results)
        depths = {value: at for at, value in enumerate(prepared.indices)}
        build = Build(prepared.slots, depth, self._poison, depths=depths)
        given = dict(zip(op.operands, args, strict=True))
        arrays: list[Bound] = []
        for slot, (value, port) in enumerate(prepared.tensors):
            argument = given[value]
            if isinstance(argument, Tile):
                build.storages[slot] = argument.state
                continue
            bound = bind(port, argument, op.name, place=op)
            buffer = array_bytes(bound.used)
            build.storages[slot] = Storage(buffer.size, buffer, defined=True)
            if port.mutable:
                arrays.append(bound)
        for engine, slot in prepared.accumulators.items():
            if engine not in self._accumulators:
                build.allocate(slot)
                self._accumulators[engine] = build.storages[slot]
            build.storages[slot] = self._accumulators[engine]
        for position, value in enumerate(prepared.indices):
            index = given[value]
            build.values[position] = (
                index.value.data if isinstance(index, IntegerAttr) else int(index)
            )
        with np.errstate(all="ignore"):
            prepared.emit(build)
        self._execute(build)
        for bound in arrays:
            bound.write_back()
        if not op.results:
            return OpImplResult((), None)
        loaded = build.values[-1]
        return OpImplResult(
            (scalar_attr(loaded, IndexType(), interpreter.index_bitwidth),), None
        )

    @property
    def _poison(self) -> bool:
        return self._machine.options.uninitialized_memory == "poison"

    @staticmethod
    def _execute(build: Build) -> None:
        with np.errstate(all="ignore"):
            build.flush()


def _implementation(operation: type[Operation]) -> Impl | None:
    """How an operation of our dialects is interpreted by itself."""
    for base, method in (
        (Instruction, NeuronFunctions.instruction),
        (structure.Alloc, NeuronFunctions.allocate),
        (structure.Constant, NeuronFunctions.constant),
        (structure.For, NeuronFunctions.loop),
        (control.DynamicFor, NeuronFunctions.dynamic_loop),
        (control.DoWhile, NeuronFunctions.do_while),
        (control.ContinueIf, NeuronFunctions.give_back),
        (structure.Return, NeuronFunctions.give_back),
    ):
        if issubclass(operation, base):
            return method
    return None


def _prepare(op: Instruction, options: MachineOptions) -> _Prepared:
    scope = Scope(options)
    data = op.data_values()
    tensors = list(dict.fromkeys(data.values()))
    for slot, value in enumerate(tensors):
        scope.slots[value] = slot
    indices = list(dict.fromkeys(op.loop_indices()))
    for value in indices:
        scope.add_register(value)
    slots = [_slot(value) for value in tensors]
    if isinstance(op, AccumulatorUser):
        engine = op.accumulator_engine
        scope.accumulators[engine] = len(slots)
        slots.append(accumulator_slot(engine))
    emit = compile_instruction(scope, op)
    written = {data[name] for name in op.out_names() if name in data}
    ports = [(value, _port(value, value in written)) for value in tensors]
    return _Prepared(emit, slots, ports, indices, scope.accumulators)


def _slot(value: SSAValue, init: float | None = None) -> Slot:
    kind = value.type
    assert isinstance(kind, TensorType)
    size = kind.data.size * kind.dtype.bytes
    label = value.name_hint or "tensor"
    return Slot(label, size, kind.dtype, kind.space is Space.PSUM, init)


def _port(value: SSAValue, mutable: bool) -> Port:
    """What an array given for a value must be."""
    kind = value.type
    assert isinstance(kind, TensorType)
    return Port(value.name_hint or "tensor", kind.dtype, kind.shape, mutable)


def _shaped(buffer: Any, kind: TensorType) -> Array:
    dtype = storage(kind.dtype)
    return np.asarray(buffer).view(dtype).reshape(kind.shape)
