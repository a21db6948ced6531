"""The launch grid as a kernel sees it, slices, and questions about regions."""

from typing import Any, Self

from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_axes, as_integer
from xdsl_neuron.nki.enums import MemoryRegion, as_region
from xdsl_neuron.nki.language.tensors import ParDim
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.context import current_or_none
from xdsl_neuron.tracer.errors import NKIIndexError, NKITypeError, NKIValueError
from xdsl_neuron.tracer.index import IndexExpr, as_expr
from xdsl_neuron.tracer.layouts import DynamicSlice


class ProgramId(int):
    """The index of a program that knows its axis of the launch grid."""

    axis: int

    def __new__(cls, value: int, axis: int) -> Self:
        found = super().__new__(cls, value)
        found.axis = axis
        return found


@api
def program_id(axis: Any = 0) -> Any:
    """The index of this program along an axis of the launch grid."""
    trace = session()
    at = as_integer(axis, "axis")
    if not 0 <= at < len(trace.grid):
        if at == 0:  # a kernel launched without a grid is one program
            return 0
        raise NKIIndexError(
            "axis in `program_id` is out-of-bound(s) of the spmd launch grid "
            f"(axis={at} rank {len(trace.grid)})"
        )
    value = trace.program[at]
    return IndexExpr(value) if isinstance(value, Affine) else ProgramId(value, at)


@api
def num_programs(axes: Any = None) -> int:
    """Programs along some axes of the launch grid, along all by default."""
    grid = session().grid
    if axes is None:
        chosen = tuple(range(len(grid)))
    elif isinstance(axes, IndexExpr):
        raise NKITypeError(f"axes is invalid type: {type(axes).__name__}")
    else:
        chosen = as_axes(axes, "axes")
    count = 1
    for axis in chosen:
        if not 0 <= axis < max(len(grid), 1):
            raise NKIIndexError(
                "axis in `num_programs` is out-of-bound(s) of the spmd launch grid "
                f"(axis={axis} rank {len(grid)})"
            )
        count *= int(grid[axis]) if grid else 1
    return count


@api
def program_ndim() -> int:
    """The number of axes of the launch grid."""
    return len(session().grid)


def ds(start: Any, size: Any) -> DynamicSlice:
    """`start : start + size`; the start may be a loop index."""
    extent = as_integer(size, "size")
    trace = current_or_none()
    least = 1 if trace is not None and trace.masks_allowed else 0
    if extent < least:  # from 0.2 on a core may have nothing to do
        what = "positive" if least else "0 or more"
        raise NKIValueError(f"`size` of nl.ds must be {what}, got {extent}")
    return DynamicSlice(as_expr(start, "start"), extent)


def par_dim(size: Any) -> ParDim:
    """Marks the dimension of a shape that runs along partitions."""
    return ParDim(as_integer(size, "size"))


def is_hbm(buffer: Any) -> bool:
    """Whether a region is in HBM."""
    return not is_on_chip(buffer)


def is_sbuf(buffer: Any) -> bool:
    """Whether a region is SBUF."""
    return as_region(buffer) is MemoryRegion.sbuf


def is_psum(buffer: Any) -> bool:
    """Whether a region is PSUM."""
    return as_region(buffer) is MemoryRegion.psum


def is_on_chip(buffer: Any) -> bool:
    """Whether a region is SBUF or PSUM."""
    return as_region(buffer).space.on_chip
