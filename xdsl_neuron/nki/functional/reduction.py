"""`nl.loop_reduce`: a fold over the iterations of loops."""

from collections.abc import Sequence
from math import inf
from typing import Any, Final

from xdsl_neuron.affine import Affine
from xdsl_neuron.dialects import penguin
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp, Space
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_mask, as_view, is_sequence
from xdsl_neuron.nki.dtype import as_optional_dtype
from xdsl_neuron.nki.ops import as_alu
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import (
    NKINotImplementedError,
    NKISyntaxError,
    NKIValueError,
)
from xdsl_neuron.tracer.index import IndexExpr
from xdsl_neuron.tracer.symbols import Loop
from xdsl_neuron.tracer.tiles import immediate
from xdsl_neuron.tracer.views import View

_IDENTITIES: Final = {
    AluOp.ADD: 0.0,
    AluOp.MULT: 1.0,
    AluOp.MAX: -inf,
    AluOp.MIN: inf,
}


@api
def loop_reduce(
    x: Any, op: Any, loop_indices: Any, *, dtype: Any = None, mask: Any = None
) -> View:
    """
    The fold of `x` over all iterations of loops; it is there behind the loops.

    One fp32 tile in front of the loops takes the result of each iteration, in order.
    """
    trace, tile, alu = session(), as_view(x, "x"), as_alu(op, "loop_reduce")
    kind = as_optional_dtype(dtype) or tile.element_type
    if alu not in _IDENTITIES:
        names = ", ".join(each.value for each in _IDENTITIES)
        raise NKIValueError(
            f"{alu} is not supported in 'loop_reduce', expected one of {names}"
        )
    if kind is not DType.FLOAT32:
        raise NKINotImplementedError(
            f"loop_reduce with a result of type {kind.nki_name} is not supported: it "
            "would be rounded in each iteration; use dtype=nl.float32 and cast behind "
            "the loop"
        )
    outer = _outermost(loop_indices if is_sequence(loop_indices) else [loop_indices])
    block = outer.operation.parent
    assert block is not None
    buffer = trace.create_tensor(tile.shape, kind, Space.SBUF, before=outer.operation)
    buffer.block = block
    result = trace.view.of(buffer)
    trace.emit(
        penguin.MemsetOp,
        [result],
        {"value": immediate(_IDENTITIES[alu])},
        before=outer.operation,
    )
    trace.tensortensor(alu, result, tile, as_mask(mask), dst=result)
    return result


def _outermost(indices: Sequence[Any]) -> Loop:
    """The outermost of the loops, which are all that are open from there on."""
    trace = session()
    loops = [loop for loop in trace.loops if isinstance(loop, Loop) and loop.open]
    asked: list[Loop] = []
    for index in indices:
        found = [
            loop
            for loop in loops
            if isinstance(index, IndexExpr)
            and not index.shape
            and index.expr == Affine.index(loop.number)
        ]
        if not found:
            raise NKISyntaxError(
                f"loop_indices: {index!r} is not the index of an enclosing "
                "affine_range or sequential_range"
            )
        asked += found
    if not asked:
        raise NKIValueError("loop_indices must name at least one loop")
    first = min(asked, key=lambda loop: loop.number)
    if any(loop.number > first.number and loop not in asked for loop in loops):
        raise NKINotImplementedError(
            "loop_reduce over a loop around one that it does not fold is not "
            "supported; swap the loops"
        )
    return first
