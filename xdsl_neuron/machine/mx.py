"""Microscaling: quantisation and the matmul of packed operands."""

from collections.abc import Callable
from typing import Any, Final

from xdsl_neuron.dialects.instructions import mx as isa
from xdsl_neuron.dtypes import DType
from xdsl_neuron.machine.build import Build
from xdsl_neuron.machine.calls import Call, types_of
from xdsl_neuron.machine.elementwise import Tensor
from xdsl_neuron.machine.lanes import FULL
from xdsl_neuron.machine.matrix import Matmul
from xdsl_neuron.machine.site import Emitter, Scope
from xdsl_neuron.numerics import mx
from xdsl_neuron.numerics.kernel import Kernel


def _quantize(scope: Scope, op: isa.QuantizeMx) -> Emitter:
    types, data = types_of(op), op.data()
    kernel = mx.quantize_mx(types["dst"], types["src"])
    outs = (Tensor("dst"), Tensor("scale"))
    # Rows of blocks that lie apart leave the partitions between them.
    dense = data["scale"].partitions * isa.BLOCK_PARTITIONS == data["src"].partitions
    keeps = () if dense else ("scale",)
    return Call(scope, op, kernel, outs, (Tensor("src"),), keeps).emit


class MatmulMx(Matmul):
    """A matmul whose operands are packed, with an array of scales for each."""

    def make_kernel(self, dst: DType, stationary: DType, moving: DType) -> Kernel:
        return mx.matmul_mx(dst, stationary, moving)

    def emit(self, build: Build) -> None:
        views: list[Any] = []
        for name in self.op.INS:
            side = self.sides[name]
            offset, nums = self.clipped(build, name, FULL)
            build.reads(side, offset, nums, side.strides)
            views.append(build.view(side.slot, side.numpy, offset, nums, side.strides))
        self.multiply(build, FULL, *views)


def _matmul(scope: Scope, op: isa.MatmulMx) -> Emitter:
    return MatmulMx(scope, op).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.QuantizeMx: _quantize,
    isa.MatmulMx: _matmul,
}
