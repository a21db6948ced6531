"""
Tensor indirection: operands whose columns an index picks (trn3).

The instruction itself runs on dense tiles. What is read is picked into one in front of
it, what is written is put in its place behind it; the same code serves all of them.
"""

from collections.abc import Callable
from typing import Any, Final

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.instructions.tensor_indirect import TensorIndirect
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.machine.build import Array, Build, Slot
from xdsl_neuron.machine.errors import MachineError
from xdsl_neuron.machine.sides import Side
from xdsl_neuron.machine.site import Emitter, Scope, dense_operand
from xdsl_neuron.numerics import indirect

_TILE: Final = "picked columns"


class _Picked:
    """One operand: where its columns are, by which offsets, and its dense tile."""

    def __init__(
        self, scope: Scope, op: TensorIndirect, operand: Operand, index: Operand
    ) -> None:
        assert operand.picked is not None
        self._op = op
        depths = scope.index_depths(op)
        table = Operand(operand.name, operand.value, operand.type, operand.access)
        self._table = Side(table, scope.slots[operand.value], depths, scope.ranges)
        self._index = Side(index, scope.slots[index.value], depths, scope.ranges)
        dense = dense_operand(operand)
        size = dense.type.data.size * operand.dtype.bytes
        self.slot = scope.new_slot(Slot(_TILE, size, operand.dtype, False, None))
        self._tile = Side(dense, self.slot, depths, scope.ranges)
        groups = self._groups(operand, index)
        self._pick = self._located(indirect.pick_columns(groups))
        self._put = self._located(indirect.put_columns(groups))

    def _groups(self, operand: Operand, index: Operand) -> indirect.Groups:
        """Which rows of the index hold the offsets of each partition."""
        group = self._op.group_partitions
        assert operand.picked is not None
        if operand.name == index.name.removesuffix("_index"):
            numbers = tuple(row // group for row in range(operand.partitions))
            return indirect.Groups(group, operand.picked, numbers)
        # Scales have fewer rows than the data they share offsets with.
        starts = (operand.access.partition, index.access.partition)
        first, start = starts
        if first is None or start is None:
            raise MachineError(self._op, f"'{operand.name}' is not on chip")
        if not (first.is_constant and start.is_constant):
            raise MachineError(
                self._op,
                f"'{operand.name}' and '{index.name}' must start at fixed partitions",
            )
        step, quadrant = operand.access.pairs[0][0], Arch.quadrant_partitions
        origin = start.constant // quadrant
        numbers = tuple(
            (first.constant + step * row) // quadrant - origin
            for row in range(operand.partitions)
        )
        return indirect.Groups(group, operand.picked, numbers)

    def _located(self, kernel: Callable[..., None]) -> Callable[..., None]:
        """The kernel; an offset behind the last column is refused here."""

        def run(*arrays: Array) -> None:
            try:
                kernel(*arrays)
            except IndexError as error:
                raise MachineError(self._op, str(error)) from error

        return run

    def allocate(self, build: Build) -> None:
        """The dense tile, undefined."""
        build.allocate(self.slot)

    def pick(self, build: Build) -> None:
        """Fills the dense tile."""
        table, index, tile = self._table, self._index, self._tile
        views = [self._view(build, tile, True)]
        views += [self._view(build, side, False) for side in (table, index)]
        build.emit(self._pick, *views)

    def put(self, build: Build) -> None:
        """Writes the dense tile to its places; what is undefined around them stays."""
        table, index, tile = self._table, self._index, self._tile
        offset, nums = build.span(self._op, table)
        build.reads(table, offset, nums, table.strides)
        views = [self._view(build, table, True)]
        views += [self._view(build, side, False) for side in (tile, index)]
        build.emit(self._put, *views)

    def _view(self, build: Build, side: Side, written: bool) -> Any:
        offset, nums = build.span(self._op, side)
        touch = build.writes if written else build.reads
        touch(side, offset, nums, side.strides)
        return build.view(side.slot, side.numpy, offset, nums, side.strides)


def picking(scope: Scope, op: TensorIndirect, ready: Callable[[], Emitter]) -> Emitter:
    """
    The emitter of an instruction with indices.

    `ready` makes the instruction itself ready, on the dense tiles that `scope` names.
    """
    data = op.data()
    found = {
        name: _Picked(scope, op, data[name], data[index])
        for name, index in op.indirect_operands()
    }
    scope.picked = {name: each.slot for name, each in found.items()}
    try:
        emit = ready()
    finally:
        scope.picked = {}
    outs = [each for name, each in found.items() if name in op.OUTS]
    read = [
        each
        for name, each in found.items()
        if name not in op.OUTS or op.joins_destination(name)
    ]
    slots = [each.slot for each in found.values()]

    def run(build: Build) -> None:
        for each in found.values():
            each.allocate(build)
        for each in read:
            each.pick(build)
        emit(build)
        for each in outs:
            each.put(build)
        build.release(slots)

    return run
