"""GpSIMD instructions that produce indices from data."""

from collections.abc import Callable
from typing import Any, Final

from xdsl_neuron.dialects.instructions import index as isa
from xdsl_neuron.machine.build import Array
from xdsl_neuron.machine.calls import Call
from xdsl_neuron.machine.elementwise import Tensor
from xdsl_neuron.machine.site import Emitter, Scope
from xdsl_neuron.numerics import search


def _nonzero(scope: Scope, op: isa.NonzeroWithCount) -> Emitter:
    offset, padding = op.index_offset.value.data, op.padding.value.data

    def kernel(out: Array, x: Array) -> None:
        search.nonzero_with_count(out, x, offset, padding)

    outs, ins = (Tensor("dst"),), (Tensor("src"),)
    return Call(scope, op, kernel, outs, ins).emit


def _bounds(scope: Scope, op: isa.GetSequenceBounds) -> Emitter:
    outs, ins = (Tensor("dst"),), (Tensor("src"),)
    return Call(scope, op, search.sequence_bounds, outs, ins).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.NonzeroWithCount: _nonzero,
    isa.GetSequenceBounds: _bounds,
}
