"""`nl.ndarray` and its kin for both personalities."""

from math import prod
from typing import Any, NamedTuple

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Space
from xdsl_neuron.nki.arguments import as_name, as_shape, is_sequence
from xdsl_neuron.nki.dtype import as_dtype
from xdsl_neuron.nki.enums import MemoryRegion, as_region
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKISyntaxError
from xdsl_neuron.tracer.views import Buffer, Layout, View


class ParDim(int):
    """`nl.par_dim(n)`: marks the dimension of a shape that runs along partitions."""

    def __repr__(self) -> str:
        return f"par_dim({int(self)})"


class Request(NamedTuple):
    """What `nl.ndarray` was asked for, normalised."""

    shape: tuple[int, ...]
    par: int
    dtype: DType
    region: MemoryRegion
    name: str | None


def request(shape: Any, dtype: Any, buffer: Any, name: Any) -> Request:
    """The arguments of `nl.ndarray`; `par` is the partition dimension."""
    sizes: list[Any] = list(shape) if is_sequence(shape) else [shape]
    marked = [at for at, extent in enumerate(sizes) if isinstance(extent, ParDim)]
    if len(marked) > 1:
        raise NKISyntaxError(f"more than one par_dim in shape {tuple(sizes)}")
    return Request(
        as_shape(sizes),
        marked[0] if marked else 0,
        as_dtype(dtype),
        as_region(buffer),
        as_name(name),
    )


def make_tensor(wanted: Request, *, init: float | None = None) -> View:
    """A fresh tensor; HBM that outlives the kernel is shared by the launch grid."""
    trace = session()
    region, shape = wanted.region, wanted.shape
    if region.space is Space.HBM:
        buffer = _hbm(wanted)
        if not trace.masks_allowed:
            buffer.region = region.value
        return trace.view.of(buffer)
    at = wanted.par
    stored = (shape[at], *shape[:at], *shape[at + 1 :]) if shape else shape
    buffer = trace.create_tensor(
        stored,
        wanted.dtype,
        region.space,
        wanted.name,
        init=init,
        blocks=max(prod(shape[:at]), 1),
    )
    view = trace.view.of(buffer)
    if not at:
        return view
    first, *rest = view.layout.pairs
    pairs = (*rest[:at], first, *rest[at:])
    return view.with_layout(Layout(pairs, at, 0, 0, wanted.dtype))


def _hbm(wanted: Request) -> Buffer:
    trace = session()
    if wanted.region is MemoryRegion.shared_hbm and not trace.at_top:
        raise NKISyntaxError(
            "shared_hbm buffer can only be created top level kernel scope, not in a "
            "loop"
        )
    # From 0.2 on `hbm` is another name of `private_hbm`.
    shared = {MemoryRegion.shared_hbm}
    if trace.masks_allowed:
        shared.add(MemoryRegion.hbm)
    if wanted.region in shared and trace.at_top:
        return trace.shared_tensor(wanted.shape, wanted.dtype, wanted.name)
    return trace.create_tensor(wanted.shape, wanted.dtype, Space.HBM, wanted.name)


def fill(view: View, value: float) -> View:
    """Sets every element of a fresh tensor."""
    if view.space is Space.HBM:
        raise NKISyntaxError("Creating HBM tensor with init value is not supported.")
    session().memset(value=value, dst_tile=view.of(view.base))
    return view
