"""
Masks and open index ranges of a view, seen through a view of that view.

A view of a view says of each old dimension which place it is at, as an expression over
the new view's dimensions (its lanes) and the loop indices. Conditions follow from that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl_neuron.geometry.affine import Affine, Atom, Lane
from xdsl_neuron.tracer.errors import NKISyntaxError
from xdsl_neuron.tracer.index import Shape


@dataclass(frozen=True, slots=True)
class Bound:
    """
    An index of one dimension that leaves the tensor unless a mask clips it.

    `place` is over the view's dimensions and the loop indices; the dimension of the
    tensor has `size` elements.
    """

    tensor_dim: int
    place: Affine
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

    def through(self, places: Sequence[Affine | None], what: str) -> "Conditions":
        """
        The same conditions over the dimensions of a view.

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
        bounds = tuple(
            replace(bound, place=bound.place.substitute(moved)) for bound in self.bounds
        )
        return Conditions(masks, bounds)


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
