"""Gathers and scatters by an index tensor."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from xdsl_neuron.dialects.dma import IndirectDescriptor
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions import dma_indirect as isa
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.mask import Box, boxes
from xdsl_neuron.isa import AluOp, OobMode
from xdsl_neuron.machine.build import Array, Build
from xdsl_neuron.machine.errors import MachineError
from xdsl_neuron.machine.lanes import FULL
from xdsl_neuron.machine.nests import Nums
from xdsl_neuron.machine.sides import Side
from xdsl_neuron.machine.site import Emitter, Scope, Site
from xdsl_neuron.numerics import indirect

Move = Callable[..., object]

_SKIP: Final = -1


class Indirect(Site):
    """
    Rows of the tensor in HBM picked by an index, which is checked while running.

    `indexed` names the operand in HBM, `other` the one in SBUF.
    """

    def __init__(
        self,
        scope: Scope,
        instruction: Instruction,
        indexed: str,
        limit: int,
        oob: OobMode,
    ) -> None:
        super().__init__(scope, instruction)
        self.indexed = indexed
        self.other = "src" if indexed == "dst" else "dst"
        self.limit = limit
        self.check = _checker(instruction, self.sides["index"], limit, oob)

    def make_side(self, scope: Scope, operand: Operand) -> Side:
        """The index is read as int32, so that -1 is the same in both of its types."""
        if operand.name != "index":
            return super().make_side(scope, operand)
        return Side(
            operand,
            scope.slots[operand.value],
            self.depths,
            scope.ranges,
            dtype=DType.INT32,
            in_bytes=isinstance(self.op, IndirectDescriptor),
        )

    def boxes(self, build: Build) -> Iterator[Box]:
        """The boxes that the mask leaves in this iteration."""
        box = self.box(build)
        if box is None:
            return
        if box.residual:
            yield from boxes(box)
        else:
            yield box

    def parts(self, build: Build, box: Box) -> tuple[Any, Any, Any]:
        """Views of the table [limit, ...], the other side and the indices."""
        index, other = self.sides["index"], self.sides[self.other]
        place = self.clipped(build, "index", box)
        build.reads(index, *place, index.strides)
        indices = build.view(index.slot, index.numpy, *place, index.strides)
        target = self.clipped(build, self.other, box)
        view = build.view(other.slot, other.numpy, *target, other.strides)
        return self._table(build, box), view, indices

    def table_span(self, build: Build, box: Box) -> tuple[int, Nums]:
        """First byte and extents of all rows that an index can name."""
        side = self.sides[self.indexed]
        if box is FULL or self.mask is None:
            offset, nums = side.offset(build.values), side.nums
        else:
            ranges = self.mask.ranges(self.indexed, box, side.nums)
            ranges[0] = (0, 1)
            offset, nums = build.span(self.op, side, ranges)
        nums = (self.limit, *nums[1:])
        low = high = offset
        for num, stride in zip(nums, side.strides, strict=True):
            low += min(0, stride * (num - 1))
            high += max(0, stride * (num - 1))
        if low < 0 or high + side.itemsize > build.slots[side.slot].size:
            build.refuse(
                self.op,
                f"Out-of-bound access for tensor `{side.label}`: {self.limit} rows "
                f"reach bytes [{low}, {high + side.itemsize - 1}] of a tensor of "
                f"{build.slots[side.slot].size} bytes",
            )
        return offset, nums

    def _table(self, build: Build, box: Box) -> Any:
        side = self.sides[self.indexed]
        offset, nums = self.table_span(build, box)
        return build.view(side.slot, side.numpy, offset, nums, side.strides)


def _checker(
    op: Instruction, index: Side, limit: int, oob: OobMode
) -> Callable[[Array], None]:
    """
    f(indices): raises where one is outside of 0 .. limit - 1 and not -1 (bir.md 6.3).

    With `skip`, rows outside are dropped like -1.
    """

    def check(indices: Array) -> None:
        rows = indices.reshape(-1)
        outside = (rows < _SKIP) | (rows >= limit)
        if outside.any():
            row = int(np.flatnonzero(outside)[0])
            raise MachineError(
                op,
                f"index {int(rows[row])} at row {row} of `{index.label}` is out of "
                f"bounds for {limit} rows (oob_mode.error)",
            )

    return check if oob is OobMode.ERROR else _unchecked


def _unchecked(indices: Array) -> None:
    """`oob_mode.skip` drops what is out of bounds."""


class Gather(Indirect):
    """`dst[i] = src[index[i]]`."""

    def __init__(self, scope: Scope, op: Instruction, limit: int, oob: OobMode) -> None:
        super().__init__(scope, op, "src", limit, oob)
        dst, src = self.sides["dst"].dtype, self.sides["src"].dtype
        move = indirect.gather_rows(dst, src, skip=True)
        check = self.check

        def gather(out: Array, table: Array, indices: Array) -> None:
            check(indices)
            move(out, table, indices)

        self.gather = gather

    def emit(self, build: Build) -> None:
        src, dst = self.sides["src"], self.sides["dst"]
        for box in self.boxes(build):
            build.reads(src, *self.table_span(build, box), src.strides)
            # A skipped row stays as it is, so the destination is read, too.
            span = self.clipped(build, "dst", box)
            build.reads(dst, *span, dst.strides)
            table, out, indices = self.parts(build, box)
            build.emit(self.gather, out, table, indices)
            rows = self.table_span(build, box)[1]
            mark = indirect.mark_gathered(rows)
            build.marks(dst, span, dst.strides, mark, indices)


class Scatter(Indirect):
    """`dst[index[i]] = src[i]`, or `+=`, in index order."""

    def __init__(
        self,
        scope: Scope,
        op: Instruction,
        limit: int,
        oob: OobMode,
        accumulate: bool,
    ) -> None:
        super().__init__(scope, op, "dst", limit, oob)
        dst, src = self.sides["dst"].dtype, self.sides["src"].dtype
        factory = indirect.scatter_add_rows if accumulate else indirect.scatter_rows
        move = factory(dst, src, skip=True)
        check = self.check

        def scatter(table: Array, values: Array, indices: Array) -> None:
            check(indices)
            move(table, values, indices)

        self.scatter = scatter

    def emit(self, build: Build) -> None:
        dst, src = self.sides["dst"], self.sides["src"]
        for box in self.boxes(build):
            build.reads(src, *self.clipped(build, "src", box), src.strides)
            build.reads(dst, *self.table_span(build, box), dst.strides)
            table, values, indices = self.parts(build, box)
            build.emit(self.scatter, table, values, indices)
            span = self.table_span(build, box)
            build.marks(dst, span, dst.strides, indirect.mark_scattered, indices)


def _load(scope: Scope, op: isa.IndirectLoad) -> Emitter:
    return Gather(scope, op, op.limit, op.oob.data).emit


def _save(scope: Scope, op: isa.IndirectSave) -> Emitter:
    return Scatter(scope, op, op.limit, op.oob.data, False).emit


def _accumulate(scope: Scope, op: isa.IndirectAccumulate) -> Emitter:
    adds = op.op.data is AluOp.ADD
    return Scatter(scope, op, op.limit, op.oob.data, adds).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.IndirectLoad: _load,
    isa.IndirectSave: _save,
    isa.IndirectAccumulate: _accumulate,
}
