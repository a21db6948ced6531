"""Instructions that compute each element by itself."""

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from xdsl_neuron.dialects.instruction import Instruction, target_of
from xdsl_neuron.dialects.instructions import elementwise as isa
from xdsl_neuron.dialects.neuron import ImmediateAttr
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.mask import Box, bind
from xdsl_neuron.isa import AluOp, Engine
from xdsl_neuron.machine.build import Array, Build
from xdsl_neuron.machine.lanes import FULL, lane_values, mask_array
from xdsl_neuron.machine.nests import Nums, Strides, common_shape, regroup
from xdsl_neuron.machine.sides import Side
from xdsl_neuron.machine.site import Emitter, Scope, Site
from xdsl_neuron.numerics import activation, alu, casts, fill, selection

Kernel: TypeAlias = Callable[..., object]


class Tensor(NamedTuple):
    """A kernel argument: the operand of this name, shaped as the output."""

    name: str


class Column(NamedTuple):
    """A kernel argument: the operand of this name, one element per partition."""

    name: str
    raw: bool = False
    """Its bits are taken as they are, not as fp32."""


class _Placed(NamedTuple):
    """A kernel's argument by position, and the view of its side."""

    position: int
    side: Side
    nums: Nums
    strides: Strides


class Elementwise(Site):
    """
    `kernel(out, *arguments)` on views of one shape.

    An argument is a `Tensor`, a `Column` or a constant.
    """

    ONE_SHAPE: ClassVar = True

    def __init__(
        self,
        scope: Scope,
        instruction: Instruction,
        kernel: Callable[["Elementwise"], Kernel],
        arguments: Sequence[object] = (),
    ) -> None:
        super().__init__(scope, instruction)
        self.arguments = arguments
        self.keeps = bool(instruction.kept_outputs())
        self.tensors = [a.name for a in arguments if isinstance(a, Tensor)]
        self.columns = [a for a in arguments if isinstance(a, Column)]
        self.kernel = self._converting(kernel(self))
        self._fixed = self._fix() if self.mask is None and not self.keeps else None

    def dtype(self, name: str) -> DType:
        """The element type of an operand."""
        return self.sides[name].dtype

    def _converting(self, kernel: Kernel) -> Kernel:
        """The kernel, with its columns widened to fp32 first."""
        converts: list[tuple[int, Callable[[Array], Array]]] = []
        for position, argument in enumerate(self.arguments):
            if isinstance(argument, Column) and not argument.raw:
                dtype = self.dtype(argument.name)
                if self.sides[argument.name].numpy != np.float32:
                    converts.append((position, casts.to_float32(dtype)))
        if not converts:
            return kernel

        def convert(out: Array, *arguments: Any) -> None:
            widened = list(arguments)
            for position, widen in converts:
                widened[position] = widen(widened[position])
            kernel(out, *widened)

        return convert

    def _fix(self) -> tuple[_Placed, list[_Placed]] | None:
        """
        The output's and the inputs' views but for their offsets.

        None where an input must be gathered first.
        """
        out = self.sides["dst"]
        shape = self._shape(
            {name: (0, self.sides[name].nums) for name in ("dst", *self.tensors)}
        )
        placed: list[_Placed] = []
        for position, argument in enumerate(self.arguments):
            if isinstance(argument, Tensor):
                side = self.sides[argument.name]
                strides = regroup(side.nums, side.strides, shape)
                if strides is None:
                    return None
                placed.append(_Placed(position, side, shape, strides))
            elif isinstance(argument, Column):
                side = self.sides[argument.name]
                nums = (shape[0], *(1,) * (len(shape) - 1))
                strides = (side.strides[0], *(0,) * (len(shape) - 1))
                placed.append(_Placed(position, side, nums, strides))
        strides = regroup(out.nums, out.strides, shape)
        return None if strides is None else (_Placed(0, out, shape, strides), placed)

    def _emit_fixed(self, build: Build, out: _Placed, inputs: list[_Placed]) -> None:
        """The kernel's step where only offsets change."""
        arguments = list(self.arguments)
        for position, side, nums, strides in inputs:
            offset, extents = build.span(self.op, side)
            build.reads(side, offset, extents, side.strides)
            arguments[position] = build.view(
                side.slot, side.numpy, offset, nums, strides
            )
        _, side, nums, strides = out
        offset, extents = build.span(self.op, side)
        build.writes(side, offset, extents, side.strides)
        view = build.view(side.slot, side.numpy, offset, nums, strides)
        build.emit(self.kernel, view, *arguments)

    def emit(self, build: Build) -> None:
        if self._fixed is not None:
            self._emit_fixed(build, *self._fixed)
            return
        box = self.box(build)
        if box is None:
            return
        spans = {
            name: self.clipped(build, name, box) for name in ("dst", *self.tensors)
        }
        offset, nums = spans["dst"]
        shape = self._shape(spans)
        views: dict[str, Any] = {}
        taken: list[Any] = []
        for name in self.tensors:
            views[name] = self._input(build, name, spans[name], shape, taken)
        for column in self.columns:
            views[column.name] = self._column(build, column.name, box, len(shape))
        arguments = [
            views[a.name] if isinstance(a, Tensor | Column) else a
            for a in self.arguments
        ]
        side = self.sides["dst"]
        strides = regroup(nums, side.strides, shape)
        assert strides is not None
        masked = box is not FULL and bool(box.residual)
        mask = mask_array(box.residual, box.ranges).reshape(shape) if masked else None
        if self.keeps:
            build.reads(side, offset, nums, side.strides)
        build.writes(side, offset, shape, strides, mask)
        out = build.view(side.slot, side.numpy, offset, shape, strides)
        self.store(build, out, arguments, mask)
        for buffer in taken:
            build.pool.give(buffer)

    def store(
        self,
        build: Build,
        out: Array,
        arguments: Sequence[Any],
        mask: NDArray[np.bool_] | None,
    ) -> None:
        """The kernel's step; with a mask, by way of a scratch array."""
        if mask is None:
            build.emit(self.kernel, out, *arguments)
            return
        scratch, buffer = build.scratch(mask.shape, self.sides["dst"].numpy)
        if self.keeps:
            build.emit(np.copyto, scratch, out)
        build.emit(self.kernel, scratch, *arguments)
        build.emit(merge, out, scratch, mask)
        build.pool.give(buffer)

    def _shape(self, spans: dict[str, tuple[int, Nums]]) -> Nums:
        """The shape the kernel works on: a common one, or that of the output."""
        nums = spans["dst"][1]
        if all(extents == nums for _, extents in spans.values()):
            return nums
        common = common_shape(
            tuple([(n, self.sides[name].strides) for name, (_, n) in spans.items()])
        )
        return nums if common is None else common

    def _input(
        self,
        build: Build,
        name: str,
        span: tuple[int, Nums],
        shape: Nums,
        taken: list[Any],
    ) -> Any:
        """An input as an array of `shape`; gathered first where no view has it."""
        side = self.sides[name]
        offset, nums = span
        build.reads(side, offset, nums, side.strides)
        strides = regroup(nums, side.strides, shape)
        if strides is not None:
            return build.view(side.slot, side.numpy, offset, shape, strides)
        scratch, buffer = build.scratch(nums, side.numpy)
        taken.append(buffer)
        source = build.view(side.slot, side.numpy, offset, nums, side.strides)
        build.emit(np.copyto, scratch, source)
        return scratch.reshape(shape)

    def _column(self, build: Build, name: str, box: Box, rank: int) -> Any:
        """A per-partition operand, shaped [P, 1, ...]."""
        side = self.sides[name]
        first, last = (0, side.nums[0]) if box is FULL else box.ranges[0]
        ranges = [(first, last), *((0, num) for num in side.nums[1:])]
        offset, nums = build.span(self.op, side, ranges)
        build.reads(side, offset, nums, side.strides)
        shape = (last - first, *(1,) * (rank - 1))
        strides = (side.strides[0], *(0,) * (rank - 1))
        return build.view(side.slot, side.numpy, offset, shape, strides)


def merge(out: Array, values: Array, mask: NDArray[np.bool_]) -> None:
    """Write the values where the mask holds."""
    np.copyto(out, values, where=mask)


def _tensor_tensor(scope: Scope, op: isa.TensorTensor) -> Emitter:
    operation = op.op.data

    def kernel(site: Elementwise) -> Kernel:
        types = (site.dtype("dst"), site.dtype("lhs"), site.dtype("rhs"))
        native = types[0] in isa.INT32 and op.native_int32
        return alu.tensor_tensor(operation, *types, native_int32=native)

    return Elementwise(scope, op, kernel, (Tensor("lhs"), Tensor("rhs"))).emit


def _tensor_scalar(scope: Scope, op: isa.TensorScalar) -> Emitter:
    first = op.op0.data
    second = None if op.op1 is None else op.op1.data
    raw = first.is_bitvec
    present = op.data_values()
    arguments: list[object] = [
        Tensor("src"),
        _scalar("scalar0", op.imm0, raw, "scalar0" in present),
    ]
    if second is not None:
        arguments.append(_scalar("scalar1", op.imm1, raw, "scalar1" in present))

    def kernel(site: Elementwise) -> Kernel:
        return alu.tensor_scalar(
            site.dtype("dst"),
            site.dtype("src"),
            first,
            op.reverse0 is not None,
            second,
            op.reverse1 is not None,
        )

    return Elementwise(scope, op, kernel, arguments).emit


def _tensor_scalar_const(scope: Scope, op: isa.TensorScalarConst) -> Emitter:
    first, second = op.op0.data, op.op1.data
    single = second is AluOp.BYPASS
    number = int if first.is_bitvec else float
    arguments: list[object] = [Tensor("src"), number(op.const0.value)]
    if not single:
        arguments.append(number(op.const1.value))

    def kernel(site: Elementwise) -> Kernel:
        return alu.tensor_scalar(
            site.dtype("dst"),
            site.dtype("src"),
            first,
            op.reverse0 is not None,
            None if single else second,
            op.reverse1 is not None,
        )

    return Elementwise(scope, op, kernel, arguments).emit


def _scalar(
    name: str, immediate: ImmediateAttr | None, raw: bool, present: bool
) -> object:
    """A scalar of a tensor_scalar: a column, or a Python number."""
    if present or immediate is None:
        return Column(name, raw)
    return int(immediate.value) if raw else float(immediate.value)


def _activation(scope: Scope, op: isa.Activation) -> Emitter:
    present = op.data_values()

    def number(name: str, immediate: ImmediateAttr | None, default: float) -> object:
        if name in present:
            return Column(name)
        return default if immediate is None else float(immediate.value)

    arguments = (
        Tensor("src"),
        number("scale", op.scale_imm, 1.0),
        number("bias", op.bias_imm, 0.0),
        0.0 if op.alpha is None else float(op.alpha.value),
    )

    def kernel(site: Elementwise) -> Kernel:
        return activation.activation(op.func.data, site.dtype("dst"), site.dtype("src"))

    return Elementwise(scope, op, kernel, arguments).emit


def _reciprocal(scope: Scope, op: isa.Reciprocal) -> Emitter:
    def kernel(site: Elementwise) -> Kernel:
        return activation.reciprocal(site.dtype("dst"), site.dtype("src"))

    return Elementwise(scope, op, kernel, (Tensor("src"),)).emit


class Copy(Elementwise):
    """A copy on chip: raw words where the types are equal and the engine moves them."""

    exact = True

    def emit(self, build: Build) -> None:
        box = self.box(build)
        if box is None:
            return
        dst, src = self.sides["dst"], self.sides["src"]
        if box.residual or dst.slot == src.slot:
            super().emit(build)
            return
        target, source = (self.clipped(build, name, box) for name in ("dst", "src"))
        build.reads(src, *source, src.strides)
        build.writes(dst, *target, dst.strides)
        raw = self.exact and dst.dtype is src.dtype
        kernel = None if raw else self.kernel
        build.move(dst, target, src, source, kernel)


def _copy(scope: Scope, op: isa.TensorCopy) -> Emitter:
    arch = target_of(op)
    through_float32 = (
        op.engine.data is Engine.ACTIVATION
        and arch is not None
        and not arch.has_exact_act_copy
    )

    def kernel(site: Elementwise) -> Kernel:
        dst, src = site.dtype("dst"), site.dtype("src")
        if through_float32 and dst is src:
            return casts.copy_through_float32(dst)
        return casts.copy(dst, src)

    site = Copy(scope, op, kernel, (Tensor("src"),))
    site.exact = not through_float32
    return site.emit


def _memset(scope: Scope, op: isa.Memset) -> Emitter:
    def kernel(site: Elementwise) -> Kernel:
        return fill.memset(site.dtype("dst"), op.value.value)

    return Elementwise(scope, op, kernel).emit


def _copy_predicated(scope: Scope, op: isa.TensorCopyPredicated) -> Emitter:
    source = Tensor("src") if op.imm is None else op.imm.value

    def kernel(site: Elementwise) -> Kernel:
        dst = site.dtype("dst")
        src = dst if op.imm is not None else site.dtype("src")
        return selection.copy_predicated(dst, src, op.reverse is not None)

    arguments = (source, Tensor("predicate"))
    return Elementwise(scope, op, kernel, arguments).emit


def _select(scope: Scope, op: isa.Select) -> Emitter:
    on_true = Tensor("on_true") if op.true_imm is None else op.true_imm.value
    on_false = Tensor("on_false") if op.false_imm is None else op.false_imm.value

    def kernel(site: Elementwise) -> Kernel:
        dst = site.dtype("dst")
        return selection.select(
            dst,
            site.dtype("on_true") if isinstance(on_true, Tensor) else dst,
            site.dtype("on_false") if isinstance(on_false, Tensor) else dst,
        )

    return Elementwise(scope, op, kernel, (Tensor("predicate"), on_true, on_false)).emit


class Iota(Elementwise):
    """Affine index values; what does not change with the loops is kept."""

    def __init__(self, scope: Scope, op: isa.Iota) -> None:
        super().__init__(scope, op, lambda site: _iota_kernel(site.dtype("dst")))
        self._value = op.value.data

    def emit(self, build: Build) -> None:
        box = self.box(build)
        if box is None:
            return
        indices = [build.values[depth] for depth in self.depths]
        value = bind(self._value, indices)
        offset, nums = self.clipped(build, "dst", box)
        ranges = tuple([(0, num) for num in nums]) if box is FULL else box.ranges
        pattern = _pattern(Affine(0, value.terms), ranges)
        base = np.array(fill.wrap_int32(value.constant), np.int32)
        side = self.sides["dst"]
        masked = box is not FULL and bool(box.residual)
        mask = mask_array(box.residual, box.ranges) if masked else None
        build.writes(side, offset, nums, side.strides, mask)
        out = build.view(side.slot, side.numpy, offset, nums, side.strides)
        self.store(build, out, (pattern, base), mask)


@lru_cache(maxsize=64)
def _pattern(value: Affine, ranges: tuple[tuple[int, int], ...]) -> NDArray[np.int32]:
    """The values modulo 2^32, broadcastable to the shape of the ranges."""
    return lane_values(value, ranges).astype(np.int32)


@cache
def _iota_kernel(dst: DType) -> Kernel:
    store = casts.copy(dst, DType.INT32)

    def kernel(out: Array, pattern: Array, base: Array) -> None:
        values = np.broadcast_to(np.add(pattern, base), out.shape)
        store(out, values)

    return kernel


def _iota(scope: Scope, op: isa.Iota) -> Emitter:
    return Iota(scope, op).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.TensorTensor: _tensor_tensor,
    isa.TensorScalar: _tensor_scalar,
    isa.TensorScalarConst: _tensor_scalar_const,
    isa.Activation: _activation,
    isa.Reciprocal: _reciprocal,
    isa.TensorCopy: _copy,
    isa.Memset: _memset,
    isa.TensorCopyPredicated: _copy_predicated,
    isa.Select: _select,
    isa.Iota: _iota,
}
