"""Index ranges of an instruction's views, against the tensors they index."""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Final

from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.mask import boxes, clip
from xdsl_neuron.tracer.conditions import Bound
from xdsl_neuron.tracer.errors import NKIIndexError
from xdsl_neuron.tracer.symbols import Loop, Symbol
from xdsl_neuron.tracer.views import View

_MAX_CHECKED_ITERATIONS: Final = 16384


def check_bounds(
    inst: Instruction,
    views: Sequence[View | None],
    predicates: Sequence[Affine],
    loops: Sequence[Symbol],
) -> None:
    """
    Refuses index ranges that leave a dimension unless the mask clips them.

    `predicates` are over the instruction's lanes and the indices of `loops`.
    """
    for position, view in enumerate(views):
        if view is None or not view.layout.bounds:
            continue
        lanes: Sequence[int] = ()
        if predicates:
            name = (*inst.OUTS, *inst.INS)[position]
            lanes = inst.lane_dims(inst.data())[name]
        for bound in view.layout.bounds:
            _check_bound(inst, view, bound, predicates, lanes, loops)


def _check_bound(
    inst: Instruction,
    view: View,
    bound: Bound,
    predicates: Sequence[Affine],
    lanes: Sequence[int],
    loops: Sequence[Symbol],
) -> None:
    predicates = _related(bound.place, predicates, lanes)
    whole = [(0, extent - 1) for extent in view.shape]
    shape = inst.lane_shape(inst.data())
    for values in _iterations([bound.place, *predicates], loops):
        at = [(value, value) for value in values]
        for ranges in _boxes(predicates, shape, values, lanes, whole):
            low, high = bound.place.bounds(at, ranges)
            if low < 0 or high >= bound.size:
                raise NKIIndexError(bound.message(view.name, low, high))


def _related(
    place: Affine, predicates: Sequence[Affine], dims: Sequence[int]
) -> list[Affine]:
    """
    The predicates that share a lane or a loop with a place, or with one that does.

    `dims` holds the instruction's lane of each of the place's lanes.
    """
    lanes = {dims[dim] for dim in place.lanes} if dims else set[int]()
    positions = set(place.positions)
    found: list[Affine] = []
    rest = list(predicates)
    while True:
        near = [p for p in rest if p.lanes & lanes or p.positions & positions]
        if not near:
            return found
        found += near
        rest = [p for p in rest if p not in near]
        for predicate in near:
            lanes |= predicate.lanes
            positions |= predicate.positions


def _boxes(
    predicates: Sequence[Affine],
    shape: Sequence[int],
    values: Sequence[int],
    lanes: Sequence[int],
    whole: Sequence[tuple[int, int]],
) -> Iterator[Sequence[tuple[int, int]]]:
    """What the mask leaves of a view's dimensions, as boxes; `whole` without a mask."""
    if not predicates:
        yield whole
        return
    box = clip(predicates, shape, values)
    if box is None:
        return
    for part in boxes(box) if box.residual else (box,):
        yield [
            (part.ranges[lane][0], part.ranges[lane][1] - 1) if lane >= 0 else full
            for lane, full in zip(lanes, whole, strict=True)
        ]


def _iterations(
    expressions: Sequence[Affine], loops: Sequence[Symbol]
) -> Iterator[list[int]]:
    """
    The values of the loop indices that occur, others 0.

    Beyond a number of them, each loop's first and last value only; the instruction's
    gate and the machine's plan see the others. With a register none.
    """
    used = sorted(frozenset[int]().union(*(e.positions for e in expressions)))
    found = [loops[number] for number in used]
    ranges: list[Sequence[int]] = [
        loop.values for loop in found if isinstance(loop, Loop)
    ]
    if len(ranges) < len(found):
        return
    if prod(len(values) for values in ranges) > _MAX_CHECKED_ITERATIONS:
        ranges = [sorted({values[0], values[-1]}) for values in ranges]
    values = [0] * (max(used, default=-1) + 1)
    for point in product(*ranges):
        for number, value in zip(used, point, strict=True):
            values[number] = value
        yield values
