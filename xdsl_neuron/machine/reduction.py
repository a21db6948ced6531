"""Reductions along free dimensions."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from xdsl_neuron.dialects.instructions import reduction as isa
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.mask import Box
from xdsl_neuron.machine.build import Array, Build
from xdsl_neuron.machine.elementwise import merge
from xdsl_neuron.machine.lanes import FULL, mask_array
from xdsl_neuron.machine.site import Emitter, Scope, Site
from xdsl_neuron.numerics import casts, fill, reduction as numerics


class TensorReduce(Site):
    """`dst = op over axes of src`; the lanes of its mask are those of `src`."""

    def __init__(self, scope: Scope, op: isa.TensorReduce) -> None:
        super().__init__(scope, op)
        self._op = op.op.data
        axes, negate = op.axis_list(), op.negate is not None
        self._axes = axes
        dst, src = self.sides["dst"].dtype, self.sides["src"].dtype
        self._kernel = numerics.tensor_reduce(self._op, dst, src, axes, negate)
        # Under a mask the identity stands among the values, which may be no value of
        # the source's type.
        self._masked_dtype = src if self._op.is_bitvec else DType.FLOAT32
        self._masked_kernel = numerics.tensor_reduce(
            self._op, dst, self._masked_dtype, axes, negate
        )

    def emit(self, build: Build) -> None:
        box = self.box(build)
        if box is None:
            return
        dst, src = self.sides["dst"], self.sides["src"]
        offset, nums = self.clipped(build, "src", box)
        self._check_kept(box)
        build.reads(src, offset, nums, src.strides)
        source = build.view(src.slot, src.numpy, offset, nums, src.strides)
        start, extents = self.clipped(build, "dst", box)
        build.writes(dst, start, extents, dst.strides)
        out = build.view(dst.slot, dst.numpy, start, extents, dst.strides)
        if box is FULL or not box.residual:
            build.emit(self._kernel, out, source)
        else:
            self._emit_masked(build, box, out, source)

    def _check_kept(self, box: Box) -> None:
        """A lane that stays and is clipped must be a dimension of the output."""
        if box is FULL or self.mask is None:
            return
        known = {*self.mask.dims["dst"], *self._axes}
        for lane, extent in enumerate(self.mask.shape):
            if lane not in known and box.ranges[lane] != (0, extent):
                raise self.refuse(
                    "the mask clips a dimension that the output does not have by "
                    "itself; give the output the source's dimensions"
                )

    def _emit_masked(self, build: Build, box: Box, out: Array, source: Array) -> None:
        """By way of a scratch array that holds the identity where the mask does not."""
        dtype, src = self._masked_dtype, self.sides["src"].dtype
        mask = mask_array(box.residual, box.ranges)
        scratch, buffer = build.scratch(box.shape, casts.storage(dtype))
        identity = self._identity(dtype)
        if src is dtype:
            build.emit(fill.memset_bits(dtype, _bits(identity)), scratch)
            build.emit(merge, scratch, source, mask)
        else:
            build.emit(casts.copy(dtype, src), scratch, source)
            build.emit(merge, scratch, identity, ~mask)
        build.emit(self._masked_kernel, out, scratch)
        build.pool.give(buffer)

    def _identity(self, dtype: DType) -> Array:
        value = isa.IDENTITIES[self._op]
        if self._op.is_bitvec:
            kind = casts.storage(dtype)
            return np.array(value, np.int64).astype(kind)
        return fill.constant(dtype, value)


def _bits(value: Array) -> int:
    return int(value.view(f"uint{8 * value.itemsize}"))


def _tensor_reduce(scope: Scope, op: isa.TensorReduce) -> Emitter:
    return TensorReduce(scope, op).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.TensorReduce: _tensor_reduce,
}
