"""
What the only write of a fresh tile has left out, because it was masked.

Those elements hold nothing, so assigning the tile leaves them as they were in the
target. A mask is remembered over the dimensions of the whole tile, and only where it
says the same each time the tile is used.
"""

from collections.abc import Sequence

from xdsl.ir import Block

from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.geometry.affine import Affine, Lane
from xdsl_neuron.tracer.conditions import Conditions
from xdsl_neuron.tracer.index import Mask, Shape
from xdsl_neuron.tracer.layouts import Buffer
from xdsl_neuron.tracer.symbols import Loop
from xdsl_neuron.tracer.views import View, split_pairs


def mask_over(
    view: View, inst: Instruction, predicates: Sequence[Affine]
) -> Mask | None:
    """
    An instruction's mask over the dimensions of what it writes first.

    What bounds other lanes, such as those that are folded, leaves no element of it out.
    """
    if not predicates:
        return None
    dims = inst.lane_dims(inst.data())[inst.OUTS[0]]
    places = {lane: dim for dim, lane in enumerate(dims) if lane >= 0}
    own = [
        p.substitute(
            lambda atom: (
                Affine.lane(places[atom.dim]) if isinstance(atom, Lane) else None
            )
        )
        for p in predicates
        if p.lanes <= set(places)
    ]
    return Mask(tuple(own), view.shape) if own else None


def keep_mask(view: View, mask: Mask | None) -> None:
    """
    Remembers the mask of the only write of a tile, which was through `view`.

    A mask of a part of it, or of a loop whose iterations write one tile, does not say
    what all of the tile holds: then none is remembered.
    """
    base = view.base
    base.mask = None
    if mask is None or not _is_all(view) or not _is_constant_in(base, mask):
        return
    whole = View.of(base).shape
    given = [dim for dim, extent in enumerate(view.shape) if extent > 1]
    own = [dim for dim, extent in enumerate(whole) if extent > 1]
    if [view.shape[dim] for dim in given] != [whole[dim] for dim in own]:
        return
    places = [Affine(0)] * view.ndim
    for old, new in zip(given, own, strict=True):
        places[old] = Affine.lane(new)
    base.mask = Mask(_seen(mask.over(view.shape), places), whole)


def mask_through(value: View) -> Mask | None:
    """The remembered mask over the dimensions of a view of the tile; None: no mask."""
    mask = value.base.mask
    if mask is None:
        return None
    places = _places(value)
    if places is None:
        return None
    whole = View.of(value.base).shape
    return Mask(_seen(mask.over(whole), places), value.shape)


def spread(value: View, shape: Shape) -> Mask | None:
    """What the mask of a tile's only write says of its broadcast to a shape."""
    mask = mask_through(value)
    if mask is None:
        return None
    given = value.shape
    ahead = len(shape) - len(given)
    places = [
        Affine(0) if extent == 1 else Affine.lane(dim + ahead if dim else 0)
        for dim, extent in enumerate(given)
    ]
    return Mask(_seen(mask.predicates, places), shape)


def _seen(predicates: Sequence[Affine], places: Sequence[Affine]) -> tuple[Affine, ...]:
    """Predicates over other dimensions: `places` holds where each old one is."""
    return Conditions(tuple(predicates)).through(places, "a view").masks


def _is_all(view: View) -> bool:
    """Whether a view is all of a tile, its elements in order."""
    layout, whole = view.layout, View.of(view.base)
    if layout.par != 0 or layout.gather is not None or layout.bounds:
        return False
    if layout.offset != 0 or layout.partition != 0:
        return False
    if view.element_type is not whole.element_type or view.size != whole.size:
        return False
    if view.shape[0] != whole.shape[0]:
        return False
    if view.shape[0] > 1 and layout.pairs[0][0] != 1:
        return False
    free = split_pairs(whole.layout.pairs[1:], view.shape[1:])
    return free is not None and all(
        one == other or one[1] == 1
        for one, other in zip(layout.pairs[1:], free, strict=True)
    )


def _is_constant_in(base: Buffer, mask: Mask) -> bool:
    """Whether what the mask names has one value as long as the tile exists."""
    if not mask.positions:
        return True
    around: list[Block] = []
    block: Block | None = base.block
    while block is not None:
        around.append(block)
        operation = block.parent_op()
        block = None if operation is None else operation.parent
    symbols = [base.trace.loops[number] for number in mask.positions]
    return all(
        (symbol.operation.body.block if isinstance(symbol, Loop) else symbol.block)
        in around
        for symbol in symbols
    )


def _places(view: View) -> list[Affine] | None:
    """
    Where a view is along each dimension of its tile, over the view's dimensions.

    None where that is no affine expression. Each step and the start are taken apart
    into steps of the tile's dimensions; they are right if no dimension is left.
    """
    layout, whole = view.layout, View.of(view.base)
    if layout.par != 0 or layout.gather is not None:
        return None
    if view.element_type is not whole.element_type:
        return None
    rows = Affine.of(layout.partition) + Affine.lane(0) * layout.pairs[0][0]
    start = Affine.of(layout.offset)
    parts = [(Affine(1), start.constant)]
    parts += [(Affine(0, ((atom, 1),)), factor) for atom, factor in start.terms]
    parts += [
        (Affine.lane(dim), step)
        for dim, (step, num) in enumerate(layout.pairs)
        if dim and num > 1
    ]
    found = [rows, *(Affine(0) for _ in whole.shape[1:])]
    for part, left in parts:
        for dim, (stride, num) in enumerate(whole.layout.pairs):
            if dim and num > 1:
                times = abs(left) // stride * (1 if left > 0 else -1)
                found[dim] += part * times
                left -= times * stride
        if left:
            return None
    lanes = [(0, extent - 1) for extent in view.shape]
    for place, extent in zip(found, whole.shape, strict=True):
        low, high = view.base.trace.bounds(place, lanes)
        if low < 0 or high >= extent:
            return None
    return found
