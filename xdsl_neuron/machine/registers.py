"""Instructions of the sequencers: they act when they are planned."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from xdsl_neuron.dialects.instructions import registers as isa
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.machine.build import Build
from xdsl_neuron.machine.lanes import FULL
from xdsl_neuron.machine.site import Emitter, Scope, Site
from xdsl_neuron.numerics.registers import register_alu


def reader(
    scope: Scope, op: isa.RegisterInstruction, value: Affine
) -> Callable[[Build], int]:
    """What a register field holds when the instruction is planned."""
    depths = scope.index_depths(op)

    def read(build: Build) -> int:
        return value.evaluate([build.values[depth] for depth in depths])

    return read


def _alu(scope: Scope, op: isa.RegisterAlu) -> Emitter:
    compute = register_alu(op.op.data, op.result_bits)
    left, right = reader(scope, op, op.lhs.data), reader(scope, op, op.rhs.data)
    depth = scope.add_register(op.result, op.result_bits)

    def emit(build: Build) -> None:
        build.values[depth] = compute(left(build), right(build))

    return emit


def _move(scope: Scope, op: isa.RegisterMove) -> Emitter:
    read = reader(scope, op, op.value.data)
    depth = scope.add_register(op.result, op.result_bits)

    def emit(build: Build) -> None:
        build.values[depth] = read(build)

    return emit


class TensorSave(Site):
    """Stores a register: its low bits, as many as the element has."""

    def __init__(self, scope: Scope, op: isa.TensorSave) -> None:
        super().__init__(scope, op)
        self._read = reader(scope, op, op.value.data)

    def emit(self, build: Build) -> None:
        side = self.sides["dst"]
        offset, nums = self.clipped(build, "dst", FULL)
        build.writes(side, offset, nums, side.strides)
        word = np.dtype(f"u{side.numpy.itemsize}")
        low = self._read(build) & (1 << 8 * word.itemsize) - 1
        view = build.view(side.slot, word, offset, nums, side.strides)
        build.emit(_store, view, low)


def _store(view: Any, value: int) -> None:
    view[...] = value


def _save(scope: Scope, op: isa.TensorSave) -> Emitter:
    return TensorSave(scope, op).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.RegisterAlu: _alu,
    isa.RegisterMove: _move,
    isa.TensorSave: _save,
}
