"""The tensor engine's matmul, with PSUM's freshness."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import IntegerAttr

from xdsl_neuron.dialects.instructions import matrix as isa
from xdsl_neuron.dialects.instructions.sparse import MatmulSparse
from xdsl_neuron.dialects.instructions.systolic import MatmulBase
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine, Lane
from xdsl_neuron.geometry.mask import Box
from xdsl_neuron.isa import MatmulAccumulate
from xdsl_neuron.machine.build import Array, Build
from xdsl_neuron.machine.errors import MachineError
from xdsl_neuron.machine.lanes import FULL, mask_array
from xdsl_neuron.machine.nests import Nums, regroup
from xdsl_neuron.machine.site import Emitter, Scope, Site
from xdsl_neuron.numerics import matmul, sparse
from xdsl_neuron.numerics.kernel import Kernel

REPLICATION: Final = (
    "replication_resolution",
    "replication_shift_amnt",
    "replication_num_rows",
)


class Product(Site):
    """
    `dst (+)= stationary.T @ moving`; the lanes of its mask are (k..., m..., n...).

    `kernel` is called with the views of dst and of the operands, and whether they join.
    """

    def __init__(self, scope: Scope, op: MatmulBase, kernel: Kernel) -> None:
        super().__init__(scope, op)
        refuse_replication(op)
        sides = self.sides
        self.kernel = kernel
        self._factors = op.factors()
        self._is_open = op.is_open
        self._accumulate = op.accumulate.data
        self._condition = None if op.accumulate_if is None else op.accumulate_if.data
        for name in ("stationary", "moving"):
            side = sides[name]
            flat = (side.nums[0], side.count // side.nums[0])
            strides = regroup(side.nums, side.strides, flat)
            if self.mask is None and strides is not None:
                side.regroup(flat, strides)

    def emit(self, build: Build) -> None:
        box = self.box(build)
        if box is None:
            return
        taken: list[Any] = []
        operands = [self._operand(build, name, box, taken) for name in self._factors]
        if box is not FULL and self.mask is not None:
            self._check_output_mask(box)
        self._multiply(build, box, *operands)
        for buffer in taken:
            build.pool.give(buffer)

    def _multiply(self, build: Build, box: Box, *operands: Any) -> None:
        """The product of the operands, written to or added to the destination."""
        side = self.sides["dst"]
        offset, nums = self.clipped(build, "dst", box)
        accumulate = self._joins(build, offset, nums)
        fresh = build.storages[side.slot].freshness
        if accumulate is None:
            state = (
                True
                if fresh is None
                else fresh.fresh((offset, nums, side.strides, side.itemsize))
            )
            accumulate = state is not True
            if not isinstance(state, bool):
                self._clear(build, offset, nums, state)
        elif accumulate:
            build.reads(side, offset, nums, side.strides)
        build.writes(side, offset, nums, side.strides)
        out = build.view(side.slot, side.numpy, offset, nums, side.strides)
        build.emit(self.kernel, out, *operands, accumulate)

    def _joins(self, build: Build, offset: int, nums: Nums) -> bool | None:
        """Whether the products join the destination; None where freshness decides."""
        if self._condition is not None:
            indices = [build.values[depth] for depth in self.depths]
            return self._condition.evaluate(indices) >= 0
        if self._is_open:
            return None
        return self._accumulate is MatmulAccumulate.ACCUMULATE

    def _clear(
        self, build: Build, offset: int, nums: Nums, fresh: NDArray[np.bool_]
    ) -> None:
        """Set the fresh elements to zero, as a memset does before a group."""
        side = self.sides["dst"]
        build.writes(side, offset, nums, side.strides, fresh)
        out = build.view(side.slot, side.numpy, offset, nums, side.strides)
        build.emit(clear, out, fresh)

    def _operand(self, build: Build, name: str, box: Box, taken: list[Any]) -> Any:
        """An input in the box, with 0 where its mask does not hold."""
        side = self.sides[name]
        offset, nums = self.clipped(build, name, box)
        build.reads(side, offset, nums, side.strides)
        view = build.view(side.slot, side.numpy, offset, nums, side.strides)
        if box is FULL or self.mask is None or not box.residual:
            return view
        dims = self.mask.dims[name]
        own = [p for p in box.residual if p.lanes <= set(dims)]
        if not own:
            return view
        ranges = tuple([box.ranges[lane] for lane in dims])
        mask = ~mask_array(tuple([_renumbered(p, dims) for p in own]), ranges)
        scratch, buffer = build.scratch(nums, side.numpy)
        taken.append(buffer)
        build.emit(np.copyto, scratch, view)
        build.emit(clear, scratch, mask)
        return scratch

    def _check_output_mask(self, box: Box) -> None:
        """A predicate must concern one operand; an output's lanes must be its own."""
        assert self.mask is not None
        inputs = [set(self.mask.dims[name]) for name in ("stationary", "moving")]
        for predicate in box.residual:
            if not any(predicate.lanes <= lanes for lanes in inputs):
                raise self.refuse(
                    f"mask '{predicate} >= 0' couples the stationary and the moving "
                    "operand; mask one operand, or copy the result under the mask"
                )
        unseen = set(range(1, len(self.mask.shape))) - set(self.mask.dims["dst"])
        for lane in unseen:
            if box.ranges[lane] != (0, self.mask.shape[lane]):
                raise self.refuse(
                    "a mask clips a dimension of the operands that the result does "
                    "not have; give all three the same free dimensions"
                )


def clear(out: Array, where: NDArray[np.bool_]) -> None:
    """Zero where the mask holds."""
    np.copyto(out, np.zeros((), out.dtype), where=where)


def _renumbered(predicate: Affine, dims: Sequence[int]) -> Affine:
    """The predicate over an operand's dimensions instead of lanes."""

    def replace(atom: object) -> Affine | None:
        return Affine.lane(dims.index(atom.dim)) if isinstance(atom, Lane) else None

    return predicate.substitute(replace)


def refuse_replication(op: MatmulBase) -> None:
    """Rows that the array replicates: what it then computes is not documented."""
    for name in REPLICATION:
        value = op.properties.get(name)
        if isinstance(value, IntegerAttr) and value.value.data:
            raise MachineError(
                op, f"has {name} {value.value.data}, which has no documented meaning"
            )


def _types(op: MatmulBase) -> tuple[DType, DType, DType]:
    data = op.data()
    return data["dst"].dtype, data["stationary"].dtype, data["moving"].dtype


def _zero_points(op: isa.Matmul) -> tuple[int, int]:
    given = (op.stationary_quant_offset, op.moving_quant_offset)
    first, second = (0 if value is None else value.value.data for value in given)
    return first, second


def _transposing(op: isa.Matmul) -> Kernel:
    """The kernel of the transpose mode, whose operand is checked while running."""
    dst, src, _ = _types(op)
    move = matmul.matmul_transpose(dst, src)

    def kernel(out: Array, data: Array, moving: Array, accumulate: bool) -> None:
        try:
            move(out, data, moving)
        except ValueError as error:
            raise MachineError(op, str(error)) from error

    return kernel


def _matmul(scope: Scope, op: isa.Matmul) -> Emitter:
    if op.is_transpose is not None:
        return Product(scope, op, _transposing(op)).emit
    mode, zeros = op.perf_mode.data, _zero_points(op)
    try:
        kernel = matmul.matmul(*_types(op), mode, zeros)
    except ValueError as error:
        raise MachineError(op, str(error)) from error
    return Product(scope, op, kernel).emit


def _sparse(scope: Scope, op: MatmulSparse) -> Emitter:
    multiply = sparse.matmul_sparse(*_types(op), op.ratio, _zero_points(op))

    def kernel(*arguments: Any) -> None:
        try:
            multiply(*arguments)
        except ValueError as error:
            raise MachineError(op, str(error)) from error

    return Product(scope, op, kernel).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.Matmul: _matmul,
    MatmulSparse: _sparse,
}
