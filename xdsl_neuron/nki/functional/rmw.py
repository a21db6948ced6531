"""`nl.atomic_rmw` and the functional matmuls."""

from functools import partial
from typing import Any

from xdsl_neuron.isa import AluOp
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_flag, as_mask, as_operand, as_view
from xdsl_neuron.nki.functional.tile import MatmulResult
from xdsl_neuron.nki.ops import as_op
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKISyntaxError, NKIValueError
from xdsl_neuron.tracer.views import View


@api
def atomic_rmw(dst: Any, value: Any, op: Any, *, mask: Any = None) -> None:
    """Adds a tile to the rows of an HBM tensor that an index tile names."""
    found = as_op(op)
    if found.alu is not AluOp.ADD:
        raise NKIValueError(
            "atomic_rmw `op` param only supports 'add' operation currently. An "
            f"unsupported op={found.name}"
        )
    target = as_view(dst, "dst")
    if not target.has_index:
        raise NKISyntaxError(
            "atomic_rmw `dst` only supports indirect dynamic indexing currently. Use a "
            "tile to index."
        )
    session().indirect_save(
        target, as_operand(value, "value"), as_mask(mask), AluOp.ADD
    )


@api
def matmul(x: Any, y: Any, *, transpose_x: bool = False, mask: Any = None) -> View:
    """`x @ y` for tiles, in PSUM; `transpose_x` says that x is given transposed."""
    trace = session()
    left, right = trace.matmul_operands(
        as_view(x, "x"), as_view(y, "y"), as_flag(transpose_x, "transpose_x")
    )
    lanes = as_mask(mask)
    emit = partial(trace.matmult, left, right, mask=lanes)
    return MatmulResult((*left.shape[1:], *right.shape[1:]), emit, mask=lanes)
