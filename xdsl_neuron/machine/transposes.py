"""Transposes: copies that walk the source in the destination's order."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions import matrix as matrix_isa, transpose as isa
from xdsl_neuron.geometry.mask import Box, boxes
from xdsl_neuron.machine.build import Array, Build
from xdsl_neuron.machine.indirect import Indirect
from xdsl_neuron.machine.nests import Nums, Strides, regroup
from xdsl_neuron.machine.site import Emitter, Scope
from xdsl_neuron.machine.transfer import Transfer
from xdsl_neuron.numerics import casts, indirect, matmul
from xdsl_neuron.numerics.kernel import Kernel


class Permuted(Transfer):
    """Dimension i of `dst` is dimension `axes[i]` of `src`."""

    ONE_SHAPE: ClassVar = False

    def __init__(
        self,
        scope: Scope,
        instruction: Instruction,
        axes: Sequence[int] | None = None,
    ) -> None:
        super().__init__(scope, instruction)
        src = self.sides[self.SOURCE]
        if axes is None:
            self._flatten()
            axes = (*range(1, len(src.nums)), 0)
        self._axes = axes

    def _flatten(self) -> None:
        """Under a mask of (partition, free element), sides need these dimensions."""
        if self.mask is None:
            return
        for name in ("dst", self.SOURCE):
            side = self.sides[name]
            flat = (side.nums[0], side.count // side.nums[0])
            strides = regroup(side.nums, side.strides, flat)
            if strides is None or not side.regroup(flat, strides):
                raise self.refuse(f"a mask needs '{name}' as one row a partition")

    def emit_box(self, build: Build, box: Box) -> None:
        """The steps of one box."""
        dst, src = self.sides["dst"], self.sides[self.SOURCE]
        target = self.clipped(build, "dst", box)
        offset, nums = self.clipped(build, self.SOURCE, box)
        build.reads(src, offset, nums, src.strides)
        build.writes(dst, *target, dst.strides)
        turned = tuple([nums[axis] for axis in self._axes])
        strides = tuple([src.strides[axis] for axis in self._axes])
        if dst.slot != src.slot:
            build.move(
                dst, target, src, (offset, turned), self.kernel, src_strides=strides
            )
            return
        self._by_way_of_scratch(build, target, (offset, turned, strides))

    def _by_way_of_scratch(
        self,
        build: Build,
        target: tuple[int, Nums],
        source: tuple[int, Nums, Strides],
    ) -> None:
        """In one buffer: read all, then write."""
        dst, src = self.sides["dst"], self.sides[self.SOURCE]
        offset, nums, strides = source
        scratch, buffer = build.scratch(nums, src.numpy)
        view = build.view(src.slot, src.numpy, offset, nums, strides)
        build.emit(np.copyto, scratch, view)
        out = build.view(dst.slot, dst.numpy, *target, dst.strides)
        kernel = casts.copy(dst.dtype, src.dtype)
        build.emit(kernel, out, scratch.reshape(target[1]))
        build.pool.give(buffer)


class Multiplied(Permuted):
    """
    A transpose of the tensor engine before gen3: a product with the identity.

    `kernel(out, src)` multiplies. A mask leaves a box that is multiplied as a whole.
    """

    def __init__(self, scope: Scope, instruction: Instruction, kernel: Kernel) -> None:
        super().__init__(scope, instruction)
        self._multiply = kernel

    def emit(self, build: Build) -> None:
        box = self.box(build)
        if box is None:
            return
        dst, src = self.sides["dst"], self.sides[self.SOURCE]
        offset, nums = self.clipped(build, self.SOURCE, box)
        build.reads(src, offset, nums, src.strides)
        view = build.view(src.slot, src.numpy, offset, nums, src.strides)
        if not box.residual:
            build.emit(self._multiply, self._out(build, box), view)
            return
        scratch, buffer = build.scratch(nums[::-1], dst.numpy)
        build.emit(self._multiply, scratch, view)
        origin = [low for low, _ in box.ranges]
        for part in boxes(box):
            rows, columns = (
                slice(low - first, high - first)
                for (low, high), first in zip(part.ranges, origin, strict=True)
            )
            build.emit(np.copyto, self._out(build, part), scratch[columns, rows])
        build.pool.give(buffer)

    def _out(self, build: Build, box: Box) -> Any:
        """The destination in a box, which is written."""
        dst = self.sides["dst"]
        target = self.clipped(build, "dst", box)
        build.writes(dst, *target, dst.strides)
        return build.view(dst.slot, dst.numpy, *target, dst.strides)


class GatherTranspose(Indirect):
    """Rows of `src` picked by an index, then permuted; a skipped row stays."""

    def __init__(
        self, scope: Scope, op: Instruction, limit: int, oob: Any, axes: Sequence[int]
    ) -> None:
        super().__init__(scope, op, "src", limit, oob)
        self._inverse = [list(axes).index(dim) for dim in range(len(axes))]
        dtype = self.sides["src"].dtype
        check = self.check
        move = indirect.gather_rows(dtype, dtype, skip=True)

        def gather(out: Array, table: Array, indices: Array) -> None:
            check(indices)
            move(out, table, indices)

        self._gather = gather

    def emit(self, build: Build) -> None:
        src, dst = self.sides["src"], self.sides["dst"]
        for box in self.boxes(build):
            build.reads(src, *self.table_span(build, box), src.strides)
            offset, nums = self.clipped(build, "dst", box)
            build.reads(dst, offset, nums, dst.strides)
            table, _, indices = self.parts(build, box)
            turned = tuple([nums[dim] for dim in self._inverse])
            strides = tuple([dst.strides[dim] for dim in self._inverse])
            out = build.view(dst.slot, dst.numpy, offset, turned, strides)
            scratch, buffer = build.scratch(turned, dst.numpy)
            build.emit(np.copyto, scratch, out)
            build.emit(self._gather, scratch, table, indices)
            build.emit(np.copyto, out, scratch)
            mark = indirect.mark_gathered(self.table_span(build, box)[1])
            build.marks(dst, (offset, turned), strides, mark, indices)
            build.pool.give(buffer)


def _transpose(scope: Scope, op: matrix_isa.Transpose) -> Emitter:
    if not op.is_product:
        return Permuted(scope, op).emit
    data = op.data()
    kernel = matmul.identity_product(data["dst"].dtype, data["src"].dtype)
    return Multiplied(scope, op, kernel).emit


def _dma_transpose(scope: Scope, op: isa.DmaTranspose) -> Emitter:
    return Permuted(scope, op, op.permutation()).emit


def _gather_transpose(scope: Scope, op: isa.DmaIndirectTranspose) -> Emitter:
    oob = op.oob.data
    return GatherTranspose(scope, op, op.limit, oob, op.permutation()).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    matrix_isa.Transpose: _transpose,
    isa.DmaTranspose: _dma_transpose,
    isa.DmaIndirectTranspose: _gather_transpose,
}
