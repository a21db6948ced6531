"""Scans, and elementwise instructions that fold their rows."""

from collections.abc import Callable
from typing import Any, Final

from xdsl_neuron.dialects.instructions import scan as isa
from xdsl_neuron.machine.accumulators import RowFold, Scan
from xdsl_neuron.machine.calls import Call, scalar, types_of
from xdsl_neuron.machine.elementwise import Elementwise, Tensor
from xdsl_neuron.machine.site import Emitter, Scope
from xdsl_neuron.numerics import activation, alu, reduction, scan as numerics
from xdsl_neuron.numerics.accumulators import identity


def _tensor_tensor_scan(scope: Scope, op: isa.TensorTensorScan) -> Emitter:
    types = types_of(op)
    kernel = numerics.tensor_tensor_scan(
        types["dst"],
        types["data0"],
        types["data1"],
        op.op0.data,
        op.reverse0 is not None,
        op.op1.data,
        op.reverse1 is not None,
    )
    initial = scalar(op, "initial", op.initial_imm)
    ins = (Tensor("data0"), Tensor("data1"), initial)
    return Call(scope, op, kernel, (Tensor("dst"),), ins).emit


def _cumulative(scope: Scope, op: isa.TensorScalarCumulative) -> Emitter:
    types, operation = types_of(op), op.op1.data
    scan = numerics.tensor_scalar_cumulative(
        types["dst"], types["src"], op.op0.data, operation, op.reverse0 is not None
    )

    initial = scalar(op, "initial", op.initial_imm, identity(operation))
    arguments = (Tensor("src"), scalar(op, "scalar0", op.imm0))
    return Scan(scope, op, scan, arguments, initial).emit


def _scalar_tensor_tensor(scope: Scope, op: isa.ScalarTensorTensor) -> Emitter:
    types = types_of(op)

    def kernel(_: Elementwise) -> Callable[..., None]:
        return alu.scalar_tensor_tensor(
            types["dst"],
            types["src"],
            types["other"],
            op.op0.data,
            op.reverse0 is not None,
            op.op1.data,
            op.reverse1 is not None,
        )

    arguments = (Tensor("src"), scalar(op, "scalar0", op.imm0), Tensor("other"))
    return Elementwise(scope, op, kernel, arguments).emit


def _tensor_scalar_reduce(scope: Scope, op: isa.TensorScalarReduce) -> Emitter:
    types = types_of(op)
    kernel = reduction.tensor_scalar_reduce(
        types["dst"],
        types["src"],
        op.op0.data,
        op.reverse0 is not None,
        op.reduce_op.data,
    )
    arguments = (Tensor("src"), scalar(op, "scalar0", op.imm0))
    negate = op.negate is not None
    return RowFold(scope, op, kernel, arguments, op.reduce_op.data, negate).emit


def _activation_reduce(scope: Scope, op: isa.ActivationReduce) -> Emitter:
    types = types_of(op)
    kernel = activation.activation_reduce(op.func.data, types["dst"], types["src"])
    arguments = (
        Tensor("src"),
        scalar(op, "scale", op.scale_imm, 1.0),
        scalar(op, "bias", op.bias_imm),
        0.0 if op.alpha is None else float(op.alpha.value),
    )
    return RowFold(scope, op, kernel, arguments, op.reduce_op.data).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.TensorTensorScan: _tensor_tensor_scan,
    isa.TensorScalarCumulative: _cumulative,
    isa.ScalarTensorTensor: _scalar_tensor_tensor,
    isa.TensorScalarReduce: _tensor_scalar_reduce,
    isa.ActivationReduce: _activation_reduce,
}
