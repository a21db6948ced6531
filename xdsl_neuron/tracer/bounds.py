"""Index ranges of an instruction's views, against the tensors they index."""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Final

from xdsl_neuron.affine import Affine
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.mask import clip
from xdsl_neuron.tracer.conditions import Bound
from xdsl_neuron.tracer.errors import NKIIndexError
from xdsl_neuron.tracer.symbols import Loop, Symbol
from xdsl_neuron.tracer.views import View

_MAX_CHECKED_ITERATIONS: Final = 1024


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
        lanes: tuple[int, ...] = ()
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
    lane = lanes[bound.dim] if lanes and bound.dim >= 0 else -1
    shape = inst.lane_shape(inst.data())
    expr = Affine.of(bound.start)
    for values in _iterations([expr, *predicates], loops):
        low_lane, high_lane = 0, bound.num - 1
        if predicates:
            box = clip(predicates, shape, values)
            if box is None:
                continue
            if lane >= 0:
                low_lane, high_lane = box.ranges[lane]
                high_lane -= 1
        start = expr.evaluate(values)
        ends = (start + bound.step * low_lane, start + bound.step * high_lane)
        if min(ends) < 0 or max(ends) >= bound.size:
            raise NKIIndexError(bound.message(view.name, min(ends), max(ends)))


def _iterations(
    expressions: Sequence[Affine], loops: Sequence[Symbol]
) -> Iterator[list[int]]:
    """
    The values of the loop indices that occur, others 0; a bounded number of them.

    Beyond the bound, and with a register, the instruction's gate and the machine's plan
    decide.
    """
    used = sorted(frozenset[int]().union(*(e.positions for e in expressions)))
    found = [loops[number] for number in used]
    ranges = [loop.values for loop in found if isinstance(loop, Loop)]
    if len(ranges) < len(found):
        return
    if prod(len(values) for values in ranges) > _MAX_CHECKED_ITERATIONS:
        return
    values = [0] * (max(used, default=-1) + 1)
    for point in product(*ranges):
        for number, value in zip(used, point, strict=True):
            values[number] = value
        yield values
