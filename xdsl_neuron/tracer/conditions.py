"""
Masks and open index ranges of a view, seen through a view of that view.

A view of a view says of each old dimension which place it is at, as an expression over
the new view's dimensions (its lanes) and the loop indices. Conditions follow from that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl_neuron.affine import Affine, Atom, Lane
from xdsl_neuron.tracer.errors import NKISyntaxError
from xdsl_neuron.tracer.index import Expr, Shape


@dataclass(frozen=True, slots=True)
class Bound:
    """
    An index range of one dimension that leaves the tensor unless a mask clips it.

    It covers `start + step * k` for the `num` values k of the view's dimension `dim`
    (-1: a single index), on a dimension of the tensor with `size` elements.
    """

    tensor_dim: int
    dim: int
    start: Expr
    step: int
    num: int
    size: int

    def message(self, name: str, low: int, high: int) -> str:
        """The documented literal (penguin.md 4.4)."""
        return (
            f"Out-of-bound access for tensor `{name}` on dimension {self.tensor_dim} "
            f"index range [{low}, {high}] exceed dimension size of {self.size}"
        )


@dataclass(frozen=True, slots=True)
class Conditions:
    """Predicates (>= 0) over a view's dimensions, and its open index ranges."""

    masks: tuple[Affine, ...] = ()
    bounds: tuple[Bound, ...] = ()

    def through(
        self, places: Sequence[Affine | None], shape: Sequence[int], what: str
    ) -> "Conditions":
        """
        The same conditions over the dimensions of a view of `shape`.

        `places` holds where each old dimension is, None where that is no affine
        expression; a condition on such a dimension is refused, `what` made the view.
        """
        if not self.masks and not self.bounds:
            return self

        def at(dim: int) -> Affine:
            place = places[dim]
            if place is None:
                raise NKISyntaxError(
                    f"{what} merges dimension {dim}, which a mask or an index range "
                    "that leaves the tensor depends on; mask the instruction instead"
                )
            return place

        def moved(atom: Atom) -> Affine | None:
            return at(atom.dim) if isinstance(atom, Lane) else None

        masks = tuple(mask.substitute(moved) for mask in self.masks)
        bounds: list[Bound] = []
        for bound in self.bounds:
            bounds += [bound] if bound.dim < 0 else _moved(bound, at(bound.dim), shape)
        return Conditions(masks, tuple(bounds))


def _moved(bound: Bound, place: Affine, shape: Sequence[int]) -> list[Bound]:
    """One bound over a place; none where two lanes share it (the gate sees those)."""
    lanes = sorted(place.lanes)
    if len(lanes) > 1:
        return []
    if not lanes:
        start = bound.start + place * bound.step
        return [replace(bound, dim=-1, start=start, step=1, num=1)]
    lane = Affine.lane(lanes[0])
    factor = place.coefficient(Lane(lanes[0]))
    rest = place - lane * factor
    if rest.lanes:
        return []
    return [
        replace(
            bound,
            dim=lanes[0],
            start=bound.start + rest * bound.step,
            step=bound.step * factor,
            num=shape[lanes[0]],
        )
    ]


def places_in(old: Shape, new: Shape) -> list[Affine | None]:
    """
    Where each dimension of a tensor is after a reshape to `new`.

    A dimension split in several is at a sum of them; one merged with others is not at
    an affine place.
    """
    found: list[Affine | None] = [Affine(0)] * len(old)
    dims = [dim for dim, extent in enumerate(old) if extent > 1]
    parts = [dim for dim, extent in enumerate(new) if extent > 1]
    while dims:
        group, pieces = [dims.pop(0)], [parts.pop(0)]
        while (have := prod(old[dim] for dim in group)) != (
            got := prod(new[dim] for dim in pieces)
        ):
            if have < got:
                group.append(dims.pop(0))
            else:
                pieces.append(parts.pop(0))
        if len(group) > 1:
            for dim in group:
                found[dim] = None
            continue
        place = Affine(0)
        for piece in pieces:
            place = place * new[piece] + Affine.lane(piece)
        found[group[0]] = place
    return found
