"""DMA instructions: copies between HBM and SBUF, direct ones."""

from collections.abc import Callable, Iterator
from math import prod
from typing import Any, ClassVar, Final

import numpy as np

from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions import dma as isa
from xdsl_neuron.dialects.instructions.dma_fold import Fold, FoldedSources
from xdsl_neuron.dialects.neuron import AluOpAttr
from xdsl_neuron.geometry.mask import Box, boxes
from xdsl_neuron.isa import AluOp, OobMode
from xdsl_neuron.machine.build import Array, Build
from xdsl_neuron.machine.site import Emitter, Scope, Site
from xdsl_neuron.numerics import casts, movement


class Transfer(Site):
    """Moves, casts or accumulates the k-th element of `src` to the k-th of `dst`."""

    ONE_SHAPE: ClassVar = True
    SOURCE: ClassVar = "src"
    """Name of the operand that is moved."""

    def __init__(
        self, scope: Scope, instruction: Instruction, accumulate: bool = False
    ) -> None:
        super().__init__(scope, instruction)
        dst, src = self.sides["dst"], self.sides[self.SOURCE]
        self.accumulate = accumulate
        self.kernel: Callable[..., object] | None = None
        if accumulate:
            self.kernel = movement.dma_accumulate(dst.dtype, src.dtype)
            if any(
                stride == 0 and num > 1
                for stride, num in zip(dst.strides, dst.nums, strict=True)
            ):
                raise self.refuse("accumulates into one element more than once")
        elif dst.dtype is not src.dtype:
            self.kernel = casts.copy(dst.dtype, src.dtype)

    def emit(self, build: Build) -> None:
        for box in self.boxes(build):
            self.emit_box(build, box)

    def boxes(self, build: Build) -> Iterator[Box]:
        """The boxes that the mask leaves in this iteration."""
        box = self.box(build)
        if box is None:
            return
        if box.residual:
            yield from boxes(box)
        else:
            yield box

    def emit_box(self, build: Build, box: Box) -> None:
        """The steps of one box."""
        dst, src = self.sides["dst"], self.sides[self.SOURCE]
        target = self.clipped(build, "dst", box)
        source = self.clipped(build, self.SOURCE, box)
        if prod(target[1]) != prod(source[1]):
            raise self.refuse("the mask leaves different parts of both operands")
        build.reads(src, *source, src.strides)
        if self.accumulate:
            build.reads(dst, *target, dst.strides)
        build.writes(dst, *target, dst.strides)
        build.move(dst, target, src, source, self.kernel)


class SkippingTransfer(Transfer):
    """
    A copy that is left out where a register takes it out of bounds.

    All of it is left out where a part would leave its tensor: which elements a device
    still moves depends on the descriptors it makes (our choice; nki.md 1.1 oob_mode).
    """

    def emit_box(self, build: Build, box: Box) -> None:
        for name in ("dst", self.SOURCE):
            if self.sides[name].problem(build.values) is not None:
                return
        super().emit_box(build, box)


class Replicated(Transfer):
    """Moves all rows of `src` to the first, the second, ... group of rows of `dst`."""

    def emit_box(self, build: Build, box: Box) -> None:
        dst, src = self.sides["dst"], self.sides["src"]
        offset, nums = self.clipped(build, "dst", box)
        source = self.clipped(build, "src", box)
        rows = source[1][0]
        build.reads(src, *source, src.strides)
        build.writes(dst, offset, nums, dst.strides)
        for first in range(0, nums[0], rows):
            place = (offset + first * dst.strides[0], source[1])
            build.move(dst, place, src, source, self.kernel)


class Folded(Transfer):
    """Folds the k-th elements of all sources into the k-th of `dst`."""

    op: FoldedSources

    def __init__(self, scope: Scope, instruction: FoldedSources) -> None:
        super().__init__(scope, instruction)
        self.sources = instruction.sources()
        given = instruction.constants
        constants = None
        if given is not None:
            constants = tuple(float(each.value) for each in given.immediates)
        dtypes = tuple(self.sides[name].dtype for name in self.sources)
        fold = movement.dma_reduce(
            self.sides["dst"].dtype, dtypes, instruction.op.data, constants
        )

        def step(out: Array, *given: Array) -> None:
            if any(x.shape != out.shape for x in given):
                given = tuple(x.reshape(-1) for x in given)
                total = np.empty(out.size, out.dtype)
                fold(total, *given)
                out[...] = total.reshape(out.shape)
            else:
                fold(out, *given)

        self._step = step

    def emit_box(self, build: Build, box: Box) -> None:
        arrays: list[Any] = []
        for name in ("dst", *self.sources):
            side = self.sides[name]
            span = self.clipped(build, name, box)
            touch = build.writes if name == "dst" else build.reads
            touch(side, *span, side.strides)
            arrays.append(build.view(side.slot, side.numpy, *span, side.strides))
        build.emit(self._step, *arrays)


def adds(op: AluOpAttr | None) -> bool:
    """Whether a read-modify-write operation accumulates."""
    return op is not None and op.data is AluOp.ADD


def _load(scope: Scope, op: isa.Load) -> Emitter:
    return Transfer(scope, op).emit


def _store(scope: Scope, op: isa.Save) -> Emitter:
    return Transfer(scope, op, adds(op.rmw_op)).emit


def _copy(scope: Scope, op: isa.Copy) -> Emitter:
    kind = SkippingTransfer if op.oob.data is OobMode.SKIP else Transfer
    return kind(scope, op, adds(op.rmw_op)).emit


def _replicate(scope: Scope, op: isa.Replicate) -> Emitter:
    return Replicated(scope, op).emit


def _fold(scope: Scope, op: Fold) -> Emitter:
    return Folded(scope, op).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.Load: _load,
    isa.Save: _store,
    isa.Copy: _copy,
    isa.Replicate: _replicate,
    Fold: _fold,
}
