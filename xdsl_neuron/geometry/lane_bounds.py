"""
Where a mask can hold at all, said with loop indices only.

`mask.clip` drops an instruction where a residual predicate's greatest value over the
box is negative. That value is a minimum of expressions, because the box's edges are,
and so is the greatest remainder of an interval: one predicate for each says the same.
"""

from collections.abc import Callable, Iterable, Sequence

from xdsl_neuron.geometry.affine import Affine, FloorDiv, Lane, Mod

Edges = Sequence[tuple[Sequence[Affine], Sequence[Affine]]]
"""For each lane: the lowest coordinate is the greatest of the first expressions, the
highest the least of the second."""


def can_hold(
    residual: Sequence[Affine], boxes: Sequence[Affine], lanes: Sequence[int]
) -> list[Affine]:
    """
    Predicates on loop indices: whether each residual one can hold somewhere in the box.

    `ValueError` where no such predicates say it.
    """
    edges = _edges(boxes, lanes)
    found: dict[Affine, None] = {}
    for predicate in residual:
        for most in _extremes(predicate, edges, True):
            if not most.is_constant or most.constant < 0:
                found[most] = None
    return list(found)


def _edges(boxes: Sequence[Affine], lanes: Sequence[int]) -> Edges:
    edges = [([Affine(0)], [Affine(extent - 1)]) for extent in lanes]
    for predicate in boxes:
        for lane in predicate.lanes:
            coefficient = predicate.coefficient(Lane(lane))
            rest = predicate - Affine.lane(lane) * coefficient
            if coefficient > 0:
                edges[lane][0].append(-rest.floordiv(coefficient))
            else:
                edges[lane][1].append(rest.floordiv(-coefficient))
    return [(_joined(lows, max), _joined(highs, min)) for lows, highs in edges]


def _joined(
    bounds: Sequence[Affine], pick: Callable[[Iterable[int]], int]
) -> list[Affine]:
    """Bounds of which those that are numbers have become one."""
    numbers = [bound.constant for bound in bounds if bound.is_constant]
    return [Affine(pick(numbers)), *(b for b in bounds if not b.is_constant)]


def _extremes(expression: Affine, edges: Edges, highest: bool) -> list[Affine]:
    """
    The bound of an expression over the lanes, as `Affine.bounds` has it.

    The greatest value is the least of the results, the least value their greatest.
    """
    totals = [Affine(expression.constant)]
    for atom, coefficient in expression.terms:
        high = highest == (coefficient > 0)
        match atom:
            case Lane(dim):
                choices = edges[dim][high]
            case FloorDiv(operand, divisor):
                inner = _extremes(operand, edges, high)
                choices = [each.floordiv(divisor) for each in inner]
            case Mod(operand, divisor) if operand.lanes:
                choices = _remainders(operand, divisor, edges, high)
            case _:
                choices = [Affine(0, ((atom, 1),))]
        totals = [t + choice * coefficient for t in totals for choice in choices]
    return list(dict.fromkeys(totals))


def _remainders(
    operand: Affine, divisor: int, edges: Edges, high: bool
) -> list[Affine]:
    """
    The extreme of `operand % divisor`, which wraps where the interval does.

    With remainder r of its first value and width w, the highest is the least of
    divisor - 1 and r + w; the lowest the greatest of 0 and r less a divisor for each
    wrap. Both follow the last value, but not the first.
    """
    firsts = _extremes(operand, edges, False)
    if len(firsts) > 1:
        raise ValueError(
            f"mask takes a remainder of '{operand}', whose least value has several "
            "bounds; whether it holds anywhere cannot be stated"
        )
    least = Affine(divisor - 1 if high else 0)
    found = [least]
    remainder = firsts[0].mod(divisor)
    for last in _extremes(operand, edges, True):
        width = last - firsts[0]
        if width.is_constant and width.constant >= divisor - 1:
            continue
        end = remainder + width
        found.append(end if high else remainder - end.floordiv(divisor) * divisor)
    return found
