"""Shuffles and gathers made by an engine, and registers."""

from collections.abc import Callable
from typing import Any, Final

from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions import gather as isa
from xdsl_neuron.machine.build import Array, Build
from xdsl_neuron.machine.calls import Call
from xdsl_neuron.machine.elementwise import Tensor
from xdsl_neuron.machine.errors import MachineError
from xdsl_neuron.machine.lanes import FULL
from xdsl_neuron.machine.site import Emitter, Scope, Site
from xdsl_neuron.numerics import indirect, movement

Kernel = Callable[..., None]


def _shuffle(scope: Scope, op: isa.StreamShuffle) -> Emitter:
    mask = op.mask.get_values()
    if op.masks():
        raise MachineError(op, "a shuffle works on whole blocks, it takes no mask")

    kernel = movement.stream_shuffle(mask)
    return Call(scope, op, kernel, [Tensor("dst")], [Tensor("src")]).emit


class EngineGather(Site):
    """`kernel(out, src, index)`, whose indices are checked while running."""

    def __init__(self, scope: Scope, op: Instruction, kernel: Kernel) -> None:
        super().__init__(scope, op)

        def gather(out: Array, src: Array, index: Array) -> None:
            try:
                kernel(out, src, index)
            except IndexError as error:
                raise MachineError(op, str(error)) from error

        self._kernel = gather

    def emit(self, build: Build) -> None:
        box = self.box(build)
        if box is None:
            return
        if box is not FULL and box.residual:
            raise self.refuse("a gather under a mask over several lanes is not defined")
        views: list[Any] = []
        for name in ("src", "index"):
            side = self.sides[name]
            span = self.clipped(build, name, box)
            build.reads(side, *span, side.strides)
            views.append(build.view(side.slot, side.numpy, *span, side.strides))
        dst = self.sides["dst"]
        span = self.clipped(build, "dst", box)
        build.writes(dst, *span, dst.strides)
        out = build.view(dst.slot, dst.numpy, *span, dst.strides)
        build.emit(self._kernel, out, *views)


def _indirect_copy(scope: Scope, op: isa.IndirectCopy) -> Emitter:
    if op.masks():
        raise MachineError(op, "a gather within cores takes no mask")
    run = op.num_elem_per_idx.value.data
    valid = op.num_valid_indices.value.data
    return EngineGather(scope, op, indirect.local_gather(run, valid)).emit


def _gather(scope: Scope, op: isa.Gather) -> Emitter:
    data = op.data()
    kernel = indirect.nc_n_gather(data["dst"].dtype, data["src"].dtype)
    return EngineGather(scope, op, kernel).emit


class TensorLoad(Site):
    """Reads a register when it is planned: what has been planned runs before."""

    def __init__(self, scope: Scope, op: isa.TensorLoad) -> None:
        super().__init__(scope, op)
        self._depth = scope.add_register(op.result, op.result_bits)

    def emit(self, build: Build) -> None:
        side = self.sides["src"]
        offset, nums = self.clipped(build, "src", FULL)
        build.reads(side, offset, nums, side.strides)
        view = build.view(side.slot, side.numpy, offset, nums, side.strides)
        build.flush()
        build.values[self._depth] = int(view.reshape(-1)[0])


def _tensor_load(scope: Scope, op: isa.TensorLoad) -> Emitter:
    return TensorLoad(scope, op).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.StreamShuffle: _shuffle,
    isa.IndirectCopy: _indirect_copy,
    isa.Gather: _gather,
    isa.TensorLoad: _tensor_load,
}
