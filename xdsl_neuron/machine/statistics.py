"""Batch normalisation: statistics of partitions and their gradients."""

from collections.abc import Callable
from typing import Any, Final

from xdsl_neuron.dialects.instructions import statistics as isa
from xdsl_neuron.machine.calls import Call, types_of
from xdsl_neuron.machine.elementwise import Tensor
from xdsl_neuron.machine.site import Emitter, Scope
from xdsl_neuron.numerics import batchnorm


def _stats(scope: Scope, op: isa.BNStats) -> Emitter:
    types = types_of(op)
    kernel = batchnorm.bn_stats(types["dst"], types["src"])
    return Call(scope, op, kernel, (Tensor("dst"),), (Tensor("src"),)).emit


def _aggregate(scope: Scope, op: isa.BNStatsAggregate) -> Emitter:
    types = types_of(op)
    kernel = batchnorm.bn_aggr(types["dst"], types["src"])
    return Call(scope, op, kernel, (Tensor("dst"),), (Tensor("src"),)).emit


def _gradients(scope: Scope, op: isa.BNGradients) -> Emitter:
    types = types_of(op)
    kernel = batchnorm.bn_gradients(types["dst"], types["src"])
    ins = [Tensor(name) for name in op.INS]
    return Call(scope, op, kernel, (Tensor("dst"),), ins).emit


def _backprop(scope: Scope, op: isa.BNBackprop) -> Emitter:
    types = types_of(op)
    kernel = batchnorm.bn_backprop(types["dst"], types["src"])
    ins = [*(Tensor(name) for name in op.INS), float(op.total_elements.value)]
    return Call(scope, op, kernel, (Tensor("dst"),), ins).emit


def _backprop2(scope: Scope, op: isa.BNBackprop2) -> Emitter:
    types = types_of(op)
    kernel = batchnorm.bn_backprop2(types["dst"], types["src"])
    ins = [*(Tensor(name) for name in op.INS), float(op.total_elements.value)]
    return Call(scope, op, kernel, (Tensor("dst"),), ins).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.BNStats: _stats,
    isa.BNStatsAggregate: _aggregate,
    isa.BNGradients: _gradients,
    isa.BNBackprop: _backprop,
    isa.BNBackprop2: _backprop2,
}
