"""Basic and advanced indexing of views."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from xdsl_neuron.dialects.neuron import Pair
from xdsl_neuron.geometry.affine import Affine, Lane
from xdsl_neuron.tracer.conditions import Bound
from xdsl_neuron.tracer.errors import (
    NKIIndexError,
    NKISyntaxError,
    NKITypeError,
    NKIValueError,
)
from xdsl_neuron.tracer.index import (
    Expr,
    IndexExpr,
    Mask,
    Shape,
    aligned,
    arange,
    as_expr,
    broadcast_shapes,
    is_slice,
    is_tuple,
)
from xdsl_neuron.tracer.layouts import DynamicSlice, Gather, Layout
from xdsl_neuron.tracer.views import View

V = TypeVar("V", bound=View)


def subscript(view: V, item: object) -> V:
    """
    `view[item]`: ints, slices, `ds`, `...`, None, index tensors, an index tile, a mask.

    A range that leaves its dimension is remembered where a mask may still clip it (it
    depends on a loop index or an arange), else refused.
    """
    if isinstance(item, Mask):
        return _masked(view, item)
    view.refuse_columns("index")
    items: list[object] = [*item] if is_tuple(item) else [item]
    if sum(one is ... for one in items) > 1:
        raise NKIIndexError(f"an index of '{view.name}' can have one `...` only")
    named, advanced = 0, False
    for one in items:
        if one is ...:
            return subscript(view, tuple(_without_ellipsis(view, items)))
        if one is not None:
            named += 1
        if isinstance(one, IndexExpr):
            advanced = advanced or bool(one.shape)
        elif isinstance(one, View):
            advanced = True
    if named > view.ndim:
        raise NKIIndexError(
            f"too many indices for '{view.name}': it has {view.ndim} dimensions, got "
            f"{named}"
        )
    if view.has_index and items:
        return _rows_again(view, items, advanced)
    return _advanced(view, items) if advanced else _basic(view, items)


def _masked(view: V, mask: Mask) -> V:
    a = view.layout
    masks = (*a.masks, *mask.as_predicates().over(view.shape))
    return view.with_layout(
        Layout(
            a.pairs, a.par, a.partition, a.offset, a.dtype, masks, a.bounds, a.gather
        )
    )


def _without_ellipsis(view: View, items: list[object]) -> list[object]:
    """The items with the first `...` written out as slices."""
    place = next(at for at, item in enumerate(items) if item is ...)
    named = sum(item is not None and item is not ... for item in items)
    missing = max(view.ndim - named, 0)
    return [*items[:place], *[slice(None)] * missing, *items[place + 1 :]]


def _basic(view: V, items: Sequence[object]) -> V:
    a = view.layout
    pairs: list[Pair] = []
    # Expressions cost more than the rest: they are made where a condition needs them.
    conditional = bool(a.masks or a.bounds)
    places: list[Affine] = []
    opened: list[Bound] = []
    offset, partition, par = a.offset, a.partition, -1
    dim = 0
    for item in items:
        if item is None:
            if par < 0 <= a.par:
                raise NKISyntaxError(
                    "Cannot expand dims before partition dimension for local tensors!"
                )
            pairs.append((1, 1))
            continue
        step, extent = a.pairs[dim]
        start, num, stride, keep = _range_of(view, item, dim, extent)
        if dim == a.par:
            par, keep = len(pairs), True
            partition = partition + start * step
        else:
            offset = offset + start * step
        last = start + stride * (num - 1)
        inside = num == 0 or (
            isinstance(start, int)
            and isinstance(last, int)
            and 0 <= start < extent
            and 0 <= last < extent
        )
        if conditional or not inside:
            place = Affine.of(start)
            if keep:
                place = place + Affine.lane(len(pairs)) * stride
            places.append(place)
            if not inside:
                shape = (*(n for _, n in pairs), num)
                opened += _bound(view, dim, place, shape, extent)
        if keep:
            pairs.append((step * stride, num))
        dim += 1
    if dim <= a.par:
        par = a.par - dim + len(pairs)
    masks, bounds = a.masks, tuple(opened)
    if conditional:
        places += (Affine.lane(len(pairs) + at) for at in range(view.ndim - dim))
        kept = a.conditions.through(places, "indexing")
        masks, bounds = kept.masks, (*kept.bounds, *opened)
    pairs += a.pairs[dim:]
    return view.with_layout(
        Layout(tuple(pairs), par, partition, offset, a.dtype, masks, bounds)
    )


def _range_of(
    view: View, item: object, dim: int, extent: int
) -> tuple[Expr, int, int, bool]:
    """(start, num, stride, whether the dimension stays) of one basic index."""
    if is_slice(item):
        return slice_range(item, dim, extent, not view.base.trace.masks_allowed)
    if isinstance(item, DynamicSlice):
        if not item.size and view.base.trace.masks_allowed:
            raise NKIIndexError(_empty(dim, item.start, item.start))
        return item.start, item.size, 1, True
    if isinstance(item, bool):
        raise NKITypeError(f"index of '{view.name}' on dimension {dim} is a bool")
    start = as_expr(item, "index")
    return _from_front(start, extent), 1, 1, False


def slice_range(
    item: "slice[Any, Any, Any]", dim: int, extent: int, empty: bool = False
) -> tuple[Expr, int, int, bool]:
    """(start, number, step, True) of a slice of a dimension, which may be `empty`."""
    start, stop, step = item.start, item.stop, item.step
    if step is None:
        if start is None and stop is None:
            return 0, extent, 1, True
        if isinstance(start, int) and isinstance(stop, int) and 0 <= start < stop:
            return start, stop - start, 1, True
    step = 1 if step is None else as_expr(step, "step")
    if not isinstance(step, int):
        raise NKITypeError("`step` must be int")
    if step == 0:
        raise NKIValueError(f"step of `{item}` must be non-zero")
    first, behind = (0, extent) if step > 0 else (extent - 1, -1)
    start = first if start is None else _from_front(as_expr(start, "start"), extent)
    stop = behind if stop is None else _from_front(as_expr(stop, "stop"), extent)
    length = stop - start
    if isinstance(length, Affine):
        if not length.is_constant:
            raise NKIValueError(
                f"slice with variable size is not supported: stop - start is {length}; "
                "take a static size and a mask"
            )
        length = length.constant
    num = -(-length // step)
    if num <= 0 and not empty:
        raise NKIIndexError(_empty(dim, start, stop))
    return start, max(num, 0), step, True


def _empty(dim: int, start: Expr, stop: Expr) -> str:
    return (
        f"slice of dimension {dim} from {start} to {stop} is empty; tensors have "
        "positive, non-zero extents"
    )


def _from_front(place: Expr, extent: int) -> Expr:
    """A place that may be counted from the end, as Python does."""
    return place + extent if isinstance(place, int) and place < 0 else place


def _bound(
    view: View, dim: int, place: Affine, shape: Sequence[int], extent: int
) -> list[Bound]:
    """
    The bound of one index where it may be left; refused where no mask can help.

    `place` is over lanes of `shape`.
    """
    trace = view.base.trace
    if trace.is_dynamic(place):
        return []  # the machine sees the register's value
    low, high = trace.bounds(place, [(0, num - 1) for num in shape])
    if low >= 0 and high < extent:
        return []
    bound = Bound(dim, place, extent)
    if trace.masks_allowed and not (place.is_constant):
        return [bound]
    raise NKIIndexError(bound.message(view.name, low, high))


# -- index tensors -----------------------------------------------------------------


def _advanced(view: V, items: Sequence[object]) -> V:
    """`view[i_p, i_f]`: each dimension by an index over the axes of the result."""
    a = view.layout
    tile = [place for place, item in enumerate(items) if isinstance(item, View)]
    if tile:
        return _gathered(view, items, tile)
    shapes: list[Shape] = []
    for item in items:
        if isinstance(item, slice | DynamicSlice) or item is None:
            raise NKISyntaxError(
                "Mixing basic tensor indexing and advanced tensor indexing is not "
                f"supported. Got {_spelled(items)} for '{view.name}'"
            )
        shapes.append(item.shape if isinstance(item, IndexExpr) else ())
    shape = broadcast_shapes(*shapes)
    if len(shape) == 1 and a.par >= 0:
        raise NKISyntaxError(
            f"indexing '{view.name}' with 1d arange is not supported."
            " Use [:, None] or [None, :]"
        )
    partition, offset = Affine.of(a.partition), Affine.of(a.offset)
    bounds: list[Bound] = []
    places: list[Affine] = []
    for dim, (item, (step, extent)) in enumerate(zip(items, a.pairs, strict=False)):
        expr = _index_of(item, shape, extent)
        places.append(expr)
        if dim == a.par:
            partition = partition + expr * step
        else:
            offset = offset + expr * step
        bounds += _bound(view, dim, expr, shape, extent)
    pairs, partition, offset = _lane_pairs(view, shape, partition, offset)
    rest = a.pairs[len(items) :]
    if 0 <= a.par and a.par >= len(items):
        raise NKISyntaxError(
            f"index of '{view.name}' leaves out its partition dimension {a.par}"
        )
    par = 0 if a.par >= 0 else -1
    places += (Affine.lane(len(pairs) + at) for at in range(len(rest)))
    pairs += rest
    kept = a.conditions.through(places, "indexing")
    bounds = [*kept.bounds, *bounds]
    return view.with_layout(
        Layout(tuple(pairs), par, partition, offset, a.dtype, kept.masks, tuple(bounds))
    )


def _spelled(items: Sequence[object]) -> str:
    return ", ".join(str(item) for item in items)


def _index_of(item: object, shape: Shape, extent: int) -> Affine:
    if isinstance(item, IndexExpr):
        return aligned(item.expr, item.shape, len(shape))
    return Affine.of(_from_front(as_expr(item, "index"), extent))


def _lane_pairs(
    view: View, shape: Shape, partition: Affine, offset: Affine
) -> tuple[list[Pair], Expr, Expr]:
    """Takes the lanes out of the two addresses as steps."""
    pairs: list[Pair] = []
    on_chip = view.layout.par >= 0
    for lane, num in enumerate(shape):
        atom = Lane(lane)
        step, row_step = offset.coefficient(atom), partition.coefficient(atom)
        offset = offset - Affine.lane(lane) * step
        partition = partition - Affine.lane(lane) * row_step
        if on_chip and lane == 0:
            if step and num > 1:
                raise NKISyntaxError(
                    f"Failed to infer tile from tensor '{view.name}': the first "
                    "dimension of the tile is not the partition dimension of the tensor"
                )
            pairs.append((row_step if num > 1 else 1, num))
        else:
            if row_step and num > 1:
                raise NKISyntaxError(
                    f"Failed to infer tile from tensor '{view.name}': the partition "
                    f"dimension of the tensor is indexed along dimension {lane} of the "
                    "tile; it must be the first"
                )
            pairs.append((step if num > 1 else 1, num))
    if offset.lanes or partition.lanes:
        raise NKISyntaxError(
            f"index of '{view.name}' is not affine in its axes: "
            f"{offset if offset.lanes else partition}; // and % are for loop indices"
        )
    return pairs, _plain(partition), _plain(offset)


def _plain(value: Affine) -> Expr:
    return value.constant if value.is_constant else value


# -- rows picked by an index tile -------------------------------------------------


def _gathered(view: V, items: Sequence[object], places: Sequence[int]) -> V:
    """`table[idx, i_f]`: rows along the tile's partitions, the rest by lanes."""
    if len(places) > 1:
        raise NKISyntaxError("Multiple indirect dim access is not supported!")
    place = places[0]
    index = items[place]
    assert isinstance(index, View)
    a = view.layout
    if a.par >= 0:
        raise NKISyntaxError(
            "cannot use indirect indexing access with the current NKI API for "
            f"'{view.name}' in {view.space}: the indexed tensor must be in hbm"
        )
    if a.masks:
        view.must_be_plain("an index tile")
    rows = index.size
    step, extent = a.pairs[place]
    others = [slice(0, 1) if i is index else i for i in items]
    if any(isinstance(i, IndexExpr) and i.shape for i in others):
        others = [0 if i is index else i for i in items]
        rest = _advanced(view, others)
        pairs = rest.layout.pairs[1:]
        if rest.layout.pairs[0][1] != 1:
            raise NKISyntaxError(
                "Indirect indexing on free dimension not supported, must be partition "
                f"dimension or block dimension. Got {_spelled(items)} for '{view.name}'"
            )
    else:
        if any(not isinstance(i, int | IndexExpr) for i in others[:place]):
            raise NKISyntaxError(
                "Indirect indexing on free dimension not supported, must be partition "
                f"dimension or block dimension. Got dimension {place} of '{view.name}'"
            )
        rest = _basic(view, others)
        pairs = rest.layout.pairs[1:]
    b = rest.layout
    return view.with_layout(
        Layout(
            ((step, rows), *pairs),
            -1,
            0,
            b.offset,
            a.dtype,
            (),
            b.bounds,
            Gather(index, extent),
        )
    )


def _rows_again(view: V, items: Sequence[object], advanced: bool) -> V:
    """An index of a view whose rows an index tile picks: its dimension 0 is sliced."""
    a, first = view.layout, items[0]
    gather = a.gather
    assert gather is not None
    rows = gather.index
    if is_slice(first):
        start, num, stride, _ = slice_range(first, 0, view.shape[0])
        every = num == view.shape[0] and stride == 1
        if not every:
            if rows.shape[0] != rows.size:
                raise NKISyntaxError(
                    f"rows of '{view.name}' are picked by an index tile of shape "
                    f"{rows.shape}; slice that instead"
                )
            stop = start + num * stride
            reached = isinstance(stop, int) and stop < 0
            end = None if reached else _spelt(stop)
            rows = _basic(rows, [slice(_spelt(start), end, stride)])
            lanes = [Affine.lane(dim) for dim in range(view.ndim)]
            lanes[0] = Affine.of(start) + lanes[0] * stride
            kept = a.conditions.through(lanes, "indexing")
            a = replace(a, masks=kept.masks, bounds=kept.bounds)
        items = [slice(None), *items[1:]]
    elif not (isinstance(first, IndexExpr) and _is_whole(first, view.shape[0])):
        raise NKISyntaxError(
            f"index {first} picks among the rows of '{view.name}' that an index tile "
            "picks already; index that tile instead"
        )
    plain = view.with_layout(replace(a, gather=None))
    found = _advanced(plain, items) if advanced else _basic(plain, items)
    b = found.layout
    pairs = (a.pairs[0][0], rows.size), *b.pairs[1:]
    return found.with_layout(replace(b, pairs=pairs, gather=Gather(rows, gather.limit)))


def _spelt(place: Expr) -> object:
    """A place as a kernel gives it."""
    return IndexExpr(place) if isinstance(place, Affine) else place


def _is_whole(index: IndexExpr, extent: int) -> bool:
    """Whether an index is `arange(extent)` along the first dimension."""
    return index.shape[:1] == (extent,) and index.expr == arange(extent).expr
