"""
Instructions that use their engine's accumulators.

The accumulators of an engine are a hidden tensor of one fp32 number per partition. It
exists only in functions that read it; in others a fold starts and ends in its
instruction.
"""

from collections.abc import Callable, Sequence
from operator import setitem
from typing import Any, Final

import numpy as np
from xdsl.ir import Operation

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.bir import engines
from xdsl_neuron.dialects.instructions.accumulators import (
    Accumulating,
    AccumulatorUser,
    ReadBehind,
)
from xdsl_neuron.dialects.neuron import ImmediateAttr
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AccumulateCommand, AluOp, Engine
from xdsl_neuron.machine.build import Array, Build, Slot
from xdsl_neuron.machine.calls import Call, Kernel, column_place, scalar, types_of
from xdsl_neuron.machine.elementwise import Column, Elementwise, Tensor
from xdsl_neuron.machine.lanes import FULL
from xdsl_neuron.machine.site import STATE, Emitter, Scope
from xdsl_neuron.numerics import accumulators as numerics

_PARTITIONS: Final = Arch.sbuf_partitions
_NUMBER: Final = DType.FLOAT32


def accumulator_slot(engine: Engine) -> Slot:
    """What a plan knows of an engine's accumulators."""
    return Slot(
        f"accumulators of {engine}", _PARTITIONS * _NUMBER.bytes, _NUMBER, False, None
    )


def read_accumulators(function: Operation) -> Sequence[Engine]:
    """The engines whose accumulators some instruction of a function reads."""
    found: dict[Engine, None] = {}
    for operation in function.walk():
        if isinstance(operation, AccumulatorUser) and operation.reads_accumulator:
            found[operation.accumulator_engine] = None
    return tuple(found)


class RowFold(Elementwise):
    """
    `kernel(out, row, *arguments)`: elementwise, and one fp32 number per partition.

    The numbers are folded by `reduce_op` into the accumulators; `reduce_res`, where it
    is given, receives these.
    """

    def __init__(
        self,
        scope: Scope,
        instruction: Accumulating,
        kernel: Kernel,
        arguments: Sequence[object],
        reduce_op: AluOp,
        negate: bool = False,
    ) -> None:
        command = instruction.command.data
        self._command = command
        asked = instruction.data().get("reduce_res")
        folding = numerics.folding(
            kernel,
            command,
            reduce_op,
            negate,
            _NUMBER if asked is None else asked.dtype,
            behind=isinstance(instruction, ReadBehind),
        )
        super().__init__(scope, instruction, lambda _: folding, arguments)
        self._fixed = None
        self._box = FULL
        immediate = getattr(instruction, "initial_imm", None)
        given = immediate if isinstance(immediate, ImmediateAttr) else None
        self._initial = scalar(instruction, "initial", given)
        self._forgets = instruction.forgets_accumulator

    def emit(self, build: Build) -> None:
        box = self.box(build)
        if box is None:
            return
        if box is not FULL and box.residual:
            raise self.refuse("the mask is no box, which an instruction on rows needs")
        self._box = box
        super().emit(build)

    def store(
        self, build: Build, out: Array, arguments: Sequence[Any], mask: Any
    ) -> None:
        initial = self._initial
        if isinstance(initial, Column):
            initial = self._number(build, initial.name, out.ndim, reads=True)
        reads = self._command in (
            AccumulateCommand.ADD_ACCUMULATE,
            AccumulateCommand.IDLE,
        )
        state = row = None
        if STATE in self.sides:
            writes = self._command is not AccumulateCommand.IDLE
            reads = reads and not self._forgets
            state = self._number(build, STATE, out.ndim, reads=reads, writes=writes)
        if "reduce_res" in self.sides:
            row = self._number(build, "reduce_res", out.ndim, writes=True)
        build.emit(self.kernel, out, *arguments, row, state, initial)
        if STATE in self.sides and self._forgets:
            _forget(build, self.sides[STATE].slot)

    def _number(
        self,
        build: Build,
        name: str,
        rank: int,
        *,
        reads: bool = False,
        writes: bool = False,
    ) -> Any:
        """The view [P, 1, ...] of one number per partition."""
        side = self.sides[name]
        offset, nums, shape, strides = column_place(build, self, name, self._box, rank)
        if reads:
            build.reads(side, offset, nums, side.strides)
        if writes:
            build.writes(side, offset, nums, side.strides)
        return build.view(side.slot, side.numpy, offset, shape, strides)


def _forget(build: Build, slot: int) -> None:
    """The accumulators of all partitions are undefined from here on."""
    view = build.view(slot, np.dtype(np.float32), 0, (_PARTITIONS,), (_NUMBER.bytes,))
    build.storages[slot].defined = True
    build.emit(setitem, view, ..., np.float32(build.undefined))


def forgetting(scope: Scope, op: AccumulatorUser, emit: Emitter) -> Emitter:
    """The emitter of an instruction that leaves its engine's accumulators undefined."""
    slot = scope.accumulators.get(op.accumulator_engine)
    if slot is None or not op.forgets_accumulator:
        return emit

    def emit_and_forget(build: Build) -> None:
        emit(build)
        _forget(build, slot)

    return emit_and_forget


class Scan(Call):
    """
    `kernel(out, last, x, s0, state)`: state, a copy of which is advanced, ends in last.

    The state is the engine's accumulator; `accumulator` and the accumulators receive
    its last value.
    """

    def __init__(
        self,
        scope: Scope,
        op: Accumulating,
        kernel: Kernel,
        arguments: Sequence[object],
        initial: object,
    ) -> None:
        last = Column("accumulator") if "accumulator" in op.data_values() else None
        reads = op.reads_accumulator
        kept = Column(STATE) if op.accumulator_engine in scope.accumulators else None

        ins = (*arguments, Column(STATE) if reads else initial)
        outs = (Tensor("dst"), last, kept)
        super().__init__(scope, op, numerics.advancing(kernel), outs, ins)


def _read(scope: Scope, op: engines.ReadAccumulator) -> Emitter:
    negated = getattr(op, "negated", None) is not None
    kernel = numerics.read_accumulator(types_of(op)["dst"], negated)
    return Call(scope, op, kernel, (Tensor("dst"),), (Column(STATE),)).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    engines.ReadAccumulator: _read,
}
