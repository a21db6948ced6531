"""The vector engine's 8-wide search."""

from collections.abc import Callable
from typing import Any, Final

from xdsl_neuron.dialects.instructions import search as isa
from xdsl_neuron.machine.build import Array
from xdsl_neuron.machine.calls import Call, types_of
from xdsl_neuron.machine.elementwise import Tensor
from xdsl_neuron.machine.site import Emitter, Scope
from xdsl_neuron.numerics import search as numerics


def _max8(scope: Scope, op: isa.Max8) -> Emitter:
    types = types_of(op)
    kernel = numerics.max8(types["dst"], types["src"])
    return Call(scope, op, kernel, (Tensor("dst"),), (Tensor("src"),)).emit


def _find_index8(scope: Scope, op: isa.FindIndex8) -> Emitter:
    types = types_of(op)
    kernel = numerics.find_index8(types["src"], types["values"])
    ins = (Tensor("src"), Tensor("values"))
    return Call(scope, op, kernel, (Tensor("dst"),), ins).emit


def _match_replace8(scope: Scope, op: isa.MatchReplace8) -> Emitter:
    types = types_of(op)
    replace = numerics.match_replace8(types["dst"], types["src"], types["values"])
    imm = float(op.imm.value)

    def kernel(out: Array, index: Array | None, x: Array, values: Array) -> None:
        replace(out, x.reshape(out.shape), values, imm, index)

    index = Tensor("index") if "index" in types else None
    ins = (Tensor("src"), Tensor("values"))
    return Call(scope, op, kernel, (Tensor("dst"), index), ins).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.Max8: _max8,
    isa.FindIndex8: _find_index8,
    isa.MatchReplace8: _match_replace8,
}
