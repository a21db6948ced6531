"""`nl.ndarray` and its kin for both personalities."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from math import prod
from typing import Any, Final, NamedTuple

from xdsl_neuron.dialects.blocks import usable_bytes
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import LoopKind, Space
from xdsl_neuron.nki.arguments import as_integer, as_name, as_shape, is_sequence
from xdsl_neuron.nki.dtype import as_dtype, spells_bool
from xdsl_neuron.nki.enums import MemoryRegion, as_region
from xdsl_neuron.nki.placement import Placement
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKISyntaxError, NKITypeError, NKIValueError
from xdsl_neuron.tracer.index import Expr
from xdsl_neuron.tracer.layouts import Buffer, Layout
from xdsl_neuron.tracer.views import View


class ParDim(int):
    """`nl.par_dim(n)`: marks the dimension of a shape that runs along partitions."""

    def __repr__(self) -> str:
        return f"par_dim({int(self)})"


class Request(NamedTuple):
    """What `nl.ndarray` was asked for, normalised."""

    shape: tuple[int, ...]
    par: int
    dtype: DType
    truth: bool
    region: MemoryRegion
    name: str | None
    placement: Placement


def request(shape: Any, dtype: Any, buffer: Any, name: Any) -> Request:
    """The arguments of `nl.ndarray`; `par` is the partition dimension."""
    sizes: list[Any] = list(shape) if is_sequence(shape) else [shape]
    marked = [at for at, extent in enumerate(sizes) if isinstance(extent, ParDim)]
    if len(marked) > 1:
        raise NKISyntaxError(f"more than one par_dim in shape {tuple(sizes)}")
    if not isinstance(buffer, Placement):
        buffer = Placement(as_region(buffer))
    return Request(
        as_shape(sizes),
        marked[0] if marked else 0,
        as_dtype(dtype),
        spells_bool(dtype),
        buffer.region,
        as_name(name),
        buffer,
    )


def as_address(value: Any, region: MemoryRegion) -> tuple[int, ...]:
    """Where a tensor is placed: on chip a partition and the byte in it, else a byte."""
    parts = ("partition", "byte") if region.space.on_chip else ("byte",)
    if not is_sequence(value) or len(value) != len(parts):
        expected = "(partition, byte)" if region.space.on_chip else "(byte,)"
        raise NKITypeError(
            f"`address` of a tensor in {region.name} must be a {expected} tuple, got "
            f"{value!r}"
        )
    found = tuple(as_integer(part, "address") for part in value)
    if not region.space.on_chip and found[0] < 0:
        raise NKIValueError(f"`address` must not be negative, got {found}")
    return found


def make_tensor(
    wanted: Request,
    *,
    init: float | None = None,
    address: Sequence[int] | None = None,
) -> View:
    """
    A fresh tensor; HBM that outlives the kernel is shared by the launch grid.

    `address` is the partition and the byte of a tile without block dimensions; that of
    a tensor in HBM is not part of the module.
    """
    trace = session()
    region, shape = wanted.region, wanted.shape
    if region.space is Space.HBM:
        buffer = _hbm(wanted)
        buffer.truth = wanted.truth
        if not trace.masks_allowed:
            buffer.region = region.value
        return trace.view.of(buffer)
    at = wanted.par
    stored = (shape[at], *shape[:at], *shape[at + 1 :]) if shape else shape
    addresses = [] if address is None else [*address]
    if address is None and shape and not trace.options.force_auto_alloc:
        size = prod(shape[at + 1 :]) * wanted.dtype.bytes
        addresses = wanted.placement.addresses(shape[:at], shape[at], size)
    buffer = trace.create_tensor(
        stored,
        wanted.dtype,
        region.space,
        wanted.name,
        init=init,
        blocks=max(prod(shape[:at]), 1),
        addresses=addresses,
    )
    buffer.truth = wanted.truth
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
    """Sets every element of a fresh tensor; in HBM from 0.2 on."""
    trace, whole = session(), view.of(view.base)
    if view.space is Space.HBM:
        if trace.masks_allowed:
            raise NKISyntaxError(
                "Creating HBM tensor with init value is not supported."
            )
        _fill_hbm(whole, value)
        return view
    kind = view.base.type
    if kind.data.bytes_per_partition <= usable_bytes(kind.space, trace.arch):
        trace.memset(value=value, dst_tile=whole)
        return view
    # What does not fit as a whole has blocks, which are filled one by one.
    blocks = max(view.layout.par, 0)
    partitions, *free = whole.layout.pairs
    offset: Expr = 0
    with ExitStack() as scopes:
        for step, num in free[:blocks]:
            loop = scopes.enter_context(trace.scope(LoopKind.PARALLEL, range(num)))
            offset = Affine.index(loop.number) * step + offset
        layout = Layout((partitions, *free[blocks:]), 0, 0, offset, view.element_type)
        trace.memset(value=value, dst_tile=whole.with_layout(layout))
    return view


_FILL_COLUMNS: Final = 2048
"""Elements of a partition of the tile that HBM is filled from."""


def _fill_hbm(whole: View, value: float) -> None:
    """Copies a filled tile over a tensor in HBM, as many rows at a time as it has."""
    trace, kind = session(), whole.element_type
    columns = min(whole.size, _FILL_COLUMNS)
    rows, rest = divmod(whole.size, columns)
    height = min(rows, trace.arch.sbuf_partitions)
    tile = trace.new_tile((height, columns), kind)
    trace.memset(value=value, dst_tile=tile)
    parts = [(row, min(height, rows - row), columns) for row in range(0, rows, height)]
    if rest:
        parts.append((rows, 1, rest))
    (down, _), (across, _) = tile.layout.pairs
    for row, count, width in parts:
        pairs = ((columns, count), (1, width))
        target = whole.with_layout(Layout(pairs, -1, 0, row * columns, kind))
        source = replace(tile.layout, pairs=((down, count), (across, width)))
        trace.dma_copy(tile.with_layout(source), target)
