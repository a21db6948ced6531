"""The vector engine's exponential, and activations with two ALU stages."""

from collections.abc import Callable
from typing import Any, Final

from xdsl_neuron.dialects.instructions import exponential as isa
from xdsl_neuron.isa import AluOp
from xdsl_neuron.machine.accumulators import RowFold, forgetting
from xdsl_neuron.machine.calls import scalar, types_of
from xdsl_neuron.machine.elementwise import Elementwise, Tensor
from xdsl_neuron.machine.site import Emitter, Scope
from xdsl_neuron.numerics import activation


def _exponential(scope: Scope, op: isa.Exponential) -> Emitter:
    types = types_of(op)
    kernel = activation.exponential(types["dst"], types["src"])
    arguments = (Tensor("src"), scalar(op, "max_value", op.max_value_imm))
    emit = Elementwise(scope, op, lambda _: kernel, arguments).emit
    return forgetting(scope, op, emit)


def _exponential_reduce(scope: Scope, op: isa.ExponentialReduce) -> Emitter:
    types = types_of(op)
    kernel = activation.exponential_reduce(types["dst"], types["src"])
    arguments = (Tensor("src"), scalar(op, "max_value", op.max_value_imm))
    return RowFold(scope, op, kernel, arguments, AluOp.ADD).emit


def _stages(op: isa.Activate2) -> tuple[AluOp | None, bool, AluOp | None, bool]:
    return (
        None if op.op0 is None else op.op0.data,
        op.reverse0 is not None,
        None if op.op1 is None else op.op1.data,
        op.reverse1 is not None,
    )


def _scalars(op: isa.Activate2) -> tuple[object, ...]:
    return (
        Tensor("src"),
        scalar(op, "scalar0", op.imm0),
        scalar(op, "scalar1", op.imm1),
        scalar(op, "slope", op.alpha),
    )


def _activate2(scope: Scope, op: isa.Activate2) -> Emitter:
    types = types_of(op)
    kernel = activation.activate2(
        op.func.data, types["dst"], types["src"], *_stages(op)
    )
    return Elementwise(scope, op, lambda _: kernel, _scalars(op)).emit


def _activate2_reduce(scope: Scope, op: isa.Activate2Reduce) -> Emitter:
    types, reduce_op = types_of(op), op.reduce_op.data
    kernel = activation.activate2_reduce(
        op.func.data, types["dst"], types["src"], reduce_op, *_stages(op)
    )
    return RowFold(scope, op, kernel, _scalars(op), reduce_op).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.Exponential: _exponential,
    isa.ExponentialReduce: _exponential_reduce,
    isa.Activate2: _activate2,
    isa.Activate2Reduce: _activate2_reduce,
}
