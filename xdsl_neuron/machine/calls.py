"""Instructions that are one call of a kernel on whole operands."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np

from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.neuron import ImmediateAttr
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.mask import Box
from xdsl_neuron.machine.build import Array, Build
from xdsl_neuron.machine.elementwise import Column, Tensor
from xdsl_neuron.machine.lanes import FULL
from xdsl_neuron.machine.nests import Nums, Strides
from xdsl_neuron.machine.site import Scope, Site
from xdsl_neuron.numerics import casts

Kernel: TypeAlias = Callable[..., object]


def types_of(instruction: Instruction) -> dict[str, DType]:
    """The element type each operand's access sees."""
    return {name: operand.dtype for name, operand in instruction.data().items()}


def scalar(
    instruction: Instruction,
    name: str,
    immediate: ImmediateAttr | None,
    default: float = 0.0,
) -> object:
    """A kernel argument: the column of this name, else the immediate as a float."""
    if name in instruction.data_values():
        return Column(name)
    return default if immediate is None else float(immediate.value)


def column_place(
    build: Build, site: Site, name: str, box: Box, rank: int
) -> tuple[int, Nums, Nums, Strides]:
    """First byte and extents of a column in the box, and its form [P, 1, ...]."""
    side = site.sides[name]
    first, last = (0, side.nums[0]) if box is FULL else box.ranges[0]
    ranges = [(first, last), *((0, num) for num in side.nums[1:])]
    offset, nums = build.span(site.op, side, ranges)
    shape = (last - first, *(1,) * (rank - 1))
    return offset, nums, shape, (side.strides[0], *(0,) * (rank - 1))


class Call(Site):
    """
    `kernel(*outs, *ins)` on views with the shapes of their accesses.

    `outs` and `ins` are `Tensor`s, `Column`s of the rank of the first input, and
    constants; an absent operand is None. A column that is read is fp32 for the kernel.
    """

    ONE_SHAPE: ClassVar = True

    def __init__(
        self,
        scope: Scope,
        instruction: Instruction,
        kernel: Kernel,
        outs: Sequence[object],
        ins: Sequence[object],
    ) -> None:
        super().__init__(scope, instruction)
        self._keeps = instruction.kept_outputs()
        self._arguments = (*outs, *ins)
        self._outs = len(outs)
        self._kernel = self._widening(kernel)

    def _widening(self, kernel: Kernel) -> Kernel:
        converts: list[tuple[int, Callable[[Array], Array]]] = []
        for position, argument in enumerate(self._arguments):
            if isinstance(argument, Column) and not argument.raw:
                side = self.sides[argument.name]
                if position >= self._outs and side.numpy != np.float32:
                    converts.append((position, casts.to_float32(side.dtype)))
        if not converts:
            return kernel

        def convert(*arguments: Any) -> None:
            widened = list(arguments)
            for position, widen in converts:
                widened[position] = widen(widened[position])
            kernel(*widened)

        return convert

    def emit(self, build: Build) -> None:
        box = self.box(build)
        if box is None:
            return
        if box is not FULL and box.residual:
            raise self.refuse("the mask is no box, which an instruction on rows needs")
        rank = 2
        views: list[Any] = [None] * len(self._arguments)
        # Inputs first: writing makes a tensor defined.
        order = [*range(self._outs, len(views)), *range(self._outs)]
        for position in order:
            argument = self._arguments[position]
            if not isinstance(argument, Tensor | Column):
                views[position] = argument
                continue
            side = self.sides[argument.name]
            if isinstance(argument, Tensor):
                offset, nums = self.clipped(build, argument.name, box)
                shape, strides = nums, side.strides
                if position == self._outs:
                    rank = len(nums)
            else:
                offset, nums, shape, strides = column_place(
                    build, self, argument.name, box, rank
                )
            if argument.name in self._keeps:
                build.reads(side, offset, nums, side.strides)
            touch = build.writes if position < self._outs else build.reads
            touch(side, offset, nums, side.strides)
            views[position] = build.view(side.slot, side.numpy, offset, shape, strides)
        build.emit(self._kernel, *views)
