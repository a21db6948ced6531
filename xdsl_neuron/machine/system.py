"""
What is not computing: synchronisation, prints, and what the machine refuses.

Program order keeps every dependency, so waits and updates do nothing.
"""

import sys
from collections.abc import Callable
from typing import Any, Final

from xdsl.ir import Operation

from xdsl_neuron.dialects.bir import (
    control,
    engines,
    kernel,
    movement,
    sync,
)
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions import system
from xdsl_neuron.machine.build import Array, Build
from xdsl_neuron.machine.errors import MachineError
from xdsl_neuron.machine.lanes import FULL
from xdsl_neuron.machine.site import Emitter, Scope, Site
from xdsl_neuron.system import DebugBuffer

_BRANCH = (
    "is control flow between basic blocks, which the machine does not execute; use "
    "bir.loop, bir.dynamic_for_loop or bir.do_while"
)
_ADDRESS = (
    "works on memory addresses, which the machine has none of; use "
    "bir.generic_indirect_load or bir.generic_indirect_save"
)
_OPAQUE = "is code the machine does not look into"

REFUSED: Final[dict[type[Operation], str]] = {
    control.BasicBlockOp: _BRANCH,
    control.Terminator: _BRANCH,
    control.CallOp: "calls another function, which the machine does not do; inline it",
    movement.ReadVarAddrOp: _ADDRESS,
    movement.IndirectLoadOp: _ADDRESS,
    movement.IndirectSaveOp: _ADDRESS,
    movement.GPSIMDSB2SBOp: "copies between cores; the machine is one core",
    engines.GenericReluOp: "has no documented meaning; use bir.activation Relu",
    engines.TongaReduceMacroSymbolicOp: "is a macro of the first generation",
    kernel.OpaqueInstruction: _OPAQUE,
}
"""Operations that are refused, and why."""


def _refusal(reason: str) -> Callable[[Scope, Operation], Emitter]:
    def refuse(scope: Scope, op: Operation) -> Emitter:
        raise MachineError(op, reason)

    return refuse


def _nothing(scope: Scope, op: Instruction) -> Emitter:
    scope.index_depths(op)
    return lambda build: None


def _rearm(scope: Scope, op: sync.QueueInstruction) -> Emitter:
    """Triggers of the queue start from their first block again (bir.md 6.2)."""
    scope.index_depths(op)
    keeps = isinstance(op, sync.SwitchQueueInstanceOp) and op.no_rearm is not None
    queue = op.queue.data

    def emit(build: Build) -> None:
        if not keeps:
            build.fired.pop(queue, None)

    return emit


class Print(Site):
    """Writes prefix and array to a stream of this process."""

    def __init__(self, scope: Scope, op: system.DevicePrint) -> None:
        super().__init__(scope, op)
        self._prefix = op.prefix.data
        self._error = op.output_buffer.data is DebugBuffer.STDERR

    def emit(self, build: Build) -> None:
        side = self.sides["src"]
        span = self.clipped(build, "src", FULL)
        build.reads(side, *span, side.strides)
        build.emit(self._print, build.view(side.slot, side.numpy, *span, side.strides))

    def _print(self, array: Array) -> None:
        stream = sys.stderr if self._error else sys.stdout
        stream.write(f"{self._prefix}{array}\n")


def _print(scope: Scope, op: system.DevicePrint) -> Emitter:
    return Print(scope, op).emit


_REFUSALS: Final = {kind: _refusal(reason) for kind, reason in REFUSED.items()}

HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    **_REFUSALS,
    sync.Synchronised: _nothing,
    sync.QueueInstruction: _rearm,
    system.CoreBarrier: _nothing,
    engines.LoadActFuncSetOp: _nothing,
    system.DevicePrint: _print,
}


def reason_of(handler: Callable[[Scope, Any], Emitter] | None) -> str | None:
    """Why a handler refuses, None where it does not."""
    for kind, refusal in _REFUSALS.items():
        if refusal is handler:
            return REFUSED[kind]
    return None
