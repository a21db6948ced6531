"""Reductions over partitions, and over windows."""

from collections.abc import Callable
from typing import Any, Final

from xdsl_neuron.dialects.instructions import pool as isa
from xdsl_neuron.isa import AluOp
from xdsl_neuron.machine.calls import Call, types_of
from xdsl_neuron.machine.elementwise import Tensor
from xdsl_neuron.machine.site import Emitter, Scope
from xdsl_neuron.numerics import reduction


def _partition_reduce(scope: Scope, op: isa.PartitionReduce) -> Emitter:
    types = types_of(op)
    kernel = reduction.partition_reduce(op.op.data, types["dst"], types["src"])
    return Call(scope, op, kernel, (Tensor("dst"),), (Tensor("src"),)).emit


def _pool(scope: Scope, op: isa.Pool) -> Emitter:
    types = types_of(op)
    fold = reduction.pool(
        types["dst"], types["src"], average=op.op.data is AluOp.AVERAGE
    )
    return Call(scope, op, fold, (Tensor("dst"),), (Tensor("src"),)).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.PartitionReduce: _partition_reduce,
    isa.Pool: _pool,
}
