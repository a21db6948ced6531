"""`nl.all_reduce`: a fold over the programs of the launch grid."""

from math import prod
from typing import Any, Final

from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp, Space
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_mask, as_view, is_sequence
from xdsl_neuron.nki.cores import Meeting
from xdsl_neuron.nki.dtype import as_optional_dtype
from xdsl_neuron.nki.language.grid import ProgramId
from xdsl_neuron.nki.ops import as_alu
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKIValueError, SymbolicValueError
from xdsl_neuron.tracer.index import as_integer
from xdsl_neuron.tracer.left_out import keep_mask
from xdsl_neuron.tracer.views import View

_OPERATIONS: Final = (AluOp.ADD, AluOp.MULT, AluOp.MAX, AluOp.MIN)


@api
def all_reduce(
    x: Any,
    op: Any,
    program_axes: Any,
    *,
    dtype: Any = None,
    mask: Any = None,
    parallel_reduce: bool = True,
    asynchronous: bool = False,
) -> View:
    """
    The fold of every program's `x` along axes of the launch grid, on each of them.

    It is made in fp32 in the order of the programs and cast to `dtype` in the end.
    `program_axes` are numbers of axes, or what `nl.program_id` gave for them. How the
    device shares the work, and whether it waits, does not change the result.
    """
    trace, tile, alu = session(), as_view(x, "x"), as_alu(op, "all_reduce")
    kind = as_optional_dtype(dtype) or tile.element_type
    if alu not in _OPERATIONS:
        names = ", ".join(each.value for each in _OPERATIONS)
        raise NKIValueError(
            f"{alu} is not supported in 'all_reduce', expected one of {names}"
        )
    if any(isinstance(index, Affine) for index in trace.program):
        # The programs are traced one by one instead, and meet here.
        raise SymbolicValueError("all_reduce is between programs", program_id=True)
    axes = _axes(program_axes, len(trace.grid))
    clip = as_mask(mask)
    if prod(int(trace.grid[axis]) for axis in axes) == 1:
        return trace.tensor_copy(tile, None, clip, kind)
    if tile.space is not Space.SBUF or clip is not None:
        tile = trace.tensor_copy(tile, None, clip)
    result = trace.new_tile(tile.shape, kind)
    group = tuple(
        index
        for axis, index in enumerate(trace.program)
        if axis not in axes and isinstance(index, int)
    )
    trace.meet(
        Meeting(
            f"all_reduce({alu})",
            trace.locator.here(),
            src=tile,
            dst=result,
            fold=alu,
            group=group,
        )
    )
    keep_mask(result, clip)
    return result


def _axes(asked: Any, rank: int) -> tuple[int, ...]:
    """The axes of the launch grid."""
    found: list[int] = []
    for one in asked if is_sequence(asked) else (asked,):
        axis = (
            one.axis if isinstance(one, ProgramId) else as_integer(one, "program_axes")
        )
        if not 0 <= axis < rank:
            raise NKIValueError(
                f"all_reduce: program axis {axis} is out of bounds of the launch grid "
                f"of rank {rank}"
            )
        found.append(axis)
    return tuple(found)
