"""
Masks of instructions that do the same with all elements of a partition.

Such an instruction has one lane, the partitions. What its mask says of free dimensions
cuts the access itself, as the compiler shrinks an instruction to its mask (nki.md 1.3),
so it must be the same in every iteration.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.mask import clip
from xdsl_neuron.tracer.errors import NKISyntaxError, NKIValueError
from xdsl_neuron.tracer.index import Mask, Shape
from xdsl_neuron.tracer.slicing import subscript
from xdsl_neuron.tracer.views import View

V = TypeVar("V", bound=View)


class RowMask(NamedTuple):
    """A mask over the partitions, and the free elements that are left, if not all."""

    partitions: Mask | None
    ranges: tuple[tuple[int, int], ...] | None
    whole: Mask | None
    """The mask as it was given, over all dimensions."""

    def part(self, view: V) -> V:
        """What the mask leaves of a tile's free dimensions."""
        if self.ranges is None:
            return view
        return subscript(view, (slice(None), *(slice(*r) for r in self.ranges)))

    def check_positions(self, shape: Shape, api: str) -> None:
        """
        Refuses a mask under which elements of a partition have other numbers.

        What an index counts from is documented for whole rows only; leaving out the
        last ones changes no number.
        """
        if self.ranges is None:
            return
        first, *inner = self.ranges
        if first[0] or any(
            kept != (0, extent) for kept, extent in zip(inner, shape[2:], strict=True)
        ):
            raise NKISyntaxError(
                f"{api}: the mask leaves out elements before others of a partition, "
                "whose numbers would change; a mask may leave out the last ones"
            )


def row_mask(mask: Mask | None, tile: View, api: str) -> RowMask:
    """A mask over a tile's dimensions, taken apart."""
    if mask is None:
        return RowMask(None, None, None)
    shape = tile.shape
    predicates = tuple(mask.over(shape))
    rows = [each for each in predicates if not each.lanes - {0}]
    free = [each for each in predicates if each.lanes - {0}]
    partitions = Mask(tuple(rows), shape[:1]) if rows else None
    if not free:
        return RowMask(partitions, None, mask)
    ranges = _ranges(free, shape, api)[1:]
    whole = Mask(predicates, shape)
    if ranges == tuple((0, extent) for extent in shape[1:]):
        return RowMask(partitions, None, whole)
    return RowMask(partitions, ranges, whole)


def cut_by(mask: Mask | None, tile: V, api: str) -> tuple[V, RowMask]:
    """
    What a mask leaves of a tile in all its dimensions, the same in every iteration.

    The second result cuts what has the tile's free dimensions.
    """
    if mask is None:
        return tile, RowMask(None, None, None)
    predicates = mask.over(tile.shape)
    rows, *free = _ranges(predicates, tile.shape, api)
    own = tuple(each for each in predicates if each.lanes and 0 not in each.lanes)
    whole = Mask(own, (1, *tile.shape[1:])) if own else None
    found = RowMask(None, tuple(free), whole)
    return subscript(found.part(tile), (slice(*rows),)), found


def _ranges(
    predicates: Sequence[Affine], shape: Shape, api: str
) -> tuple[tuple[int, int], ...]:
    for predicate in predicates:
        if predicate.positions or len(predicate.lanes) > 1:
            raise NKISyntaxError(
                f"{api}: slice with variable size is not supported: the mask "
                f"{predicate} >= 0 leaves rows of different lengths, but the "
                "instruction has one; mask the data where it is loaded"
            )
    box = clip(predicates, shape)
    if box is None:
        raise NKIValueError(f"{api}: the mask leaves no element of {shape}")
    if box.residual:
        raise NKISyntaxError(
            f"{api}: the mask bounds no dimension by itself; // and % are for loop "
            "indices"
        )
    return box.ranges
