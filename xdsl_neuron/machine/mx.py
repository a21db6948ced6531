"""Microscaling: quantisation and the matmul of packed operands."""

from collections.abc import Callable
from typing import Any, Final

from xdsl_neuron.dialects.instructions import mx as isa
from xdsl_neuron.machine.calls import Call, types_of
from xdsl_neuron.machine.elementwise import Tensor
from xdsl_neuron.machine.matrix import Product
from xdsl_neuron.machine.site import Emitter, Scope
from xdsl_neuron.numerics import mx


def _quantize(scope: Scope, op: isa.QuantizeMx) -> Emitter:
    types = types_of(op)
    before = scope.options.mx_scale == "sample"
    kernel = mx.quantize_mx(types["dst"], types["src"], before_0_5=before)
    outs = (Tensor("dst"), Tensor("scale"))
    return Call(scope, op, kernel, outs, (Tensor("src"),)).emit


def _matmul(scope: Scope, op: isa.MatmulMx) -> Emitter:
    data = op.data()
    types = [data[name].dtype for name in ("dst", "stationary", "moving")]
    return Product(scope, op, mx.matmul_mx(*types)).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.QuantizeMx: _quantize,
    isa.MatmulMx: _matmul,
}
