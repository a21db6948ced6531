"""What a grid of tiles has selected of a tensor: coordinates and their elements."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl_neuron.nki.destination import NkiTensor
from xdsl_neuron.nki.tiled_storage import Range, Storage
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKIIndexError, NKITypeError, NKIValueError
from xdsl_neuron.tracer.index import Expr, as_expr, is_slice
from xdsl_neuron.tracer.layouts import DynamicSlice
from xdsl_neuron.tracer.slicing import slice_range
from xdsl_neuron.tracer.views import View


@dataclass(frozen=True, slots=True)
class Axis:
    """
    What is selected of a dimension.

    `count` coordinates, each of `size` elements and `step` sizes from the next. The
    first one starts at the element `start`; from there to the end of the last one are
    `span` elements, which are fewer where the source ends in the last one.
    """

    start: Expr
    span: int
    size: int
    count: int
    tiled: bool
    step: int = 1
    indexed: bool = False

    @staticmethod
    def counted(start: Expr, extent: int, size: int | None = None) -> "Axis":
        """All of `extent` elements, `size` to a coordinate; None: it is not tiled."""
        each = size or 1
        return Axis(start, extent, each, -(-extent // each), size is not None)

    @property
    def dropped(self) -> bool:
        """Whether it is no dimension of the operand: an index of an untiled one."""
        return self.indexed and not self.tiled

    @property
    def elements(self) -> int:
        """How many elements are selected."""
        return self.span - (self.count - 1) * (self.step - 1) * self.size

    @property
    def missing(self) -> int:
        """How many elements the last coordinate has fewer than the others."""
        return self.count * self.size - self.elements

    def select(self, item: object, coordinate: int, what: str) -> "Axis":
        """The coordinates an index or a slice names; `what` is the grid in messages."""
        if is_slice(item):
            first, count, step, _ = slice_range(item, coordinate, self.count)
            if step < 0:
                raise NKIValueError(
                    f"step of a slice of a grid must be positive, got {step}"
                )
        elif isinstance(item, DynamicSlice):
            first, count, step = item.start, item.size, 1
        elif item is None or isinstance(item, View | bool):
            raise NKITypeError(
                f"{item!r} is no coordinate of {what}; use an integer, a register or a "
                "slice"
            )
        else:
            first, count, step = as_expr(item, "coordinate"), 1, 1
            if isinstance(first, int) and -self.count <= first < 0:
                first += self.count
        where = f"coordinate {coordinate} of {what}"
        self._check(first, first + (count - 1) * step, where)
        return self._at(first, count, step, not isinstance(item, slice | DynamicSlice))

    def _at(self, first: Expr, count: int, step: int, indexed: bool) -> "Axis":
        before = first * (self.step * self.size)
        span = ((count - 1) * step * self.step + 1) * self.size
        if isinstance(before, int):
            span = min(span, self.span - before)
        return replace(
            self,
            start=self.start + before,
            span=span,
            count=count,
            step=step * self.step if count > 1 else 1,
            indexed=indexed,
        )

    def _check(self, first: Expr, last: Expr, where: str) -> None:
        """Refuses coordinates beyond the grid, and symbolic ones of a partial tile."""
        trace = session()
        if not trace.is_dynamic(first):
            low, high = trace.bounds(first)[0], trace.bounds(last)[1]
            if low < 0 or high >= self.count:
                reached = f"{low}" if low == high else f"{low} to {high}"
                raise NKIIndexError(
                    f"{where} must be from 0 to {self.count - 1}, got {reached}"
                )
            if isinstance(first, int) or high < self.count - 1:
                return
        if self.missing:
            whole = self.count - 1
            instead = f"slice the {whole} whole ones first and " if whole else ""
            raise NKIIndexError(
                f"{where} is known only while running and may be the last one, which "
                f"has {self.size - self.missing} of {self.size} elements; {instead}"
                "select the last with an integer"
            )


@dataclass(frozen=True, slots=True)
class Selection:
    """
    Coordinates of a storage: an axis for each of its dimensions.

    A coordinate is `per_coordinate` tiles of `tile_shape` elements along the last
    dimensions.
    """

    storage: Storage
    axes: tuple[Axis, ...]
    tile_shape: tuple[int, ...] = ()
    per_coordinate: tuple[int, ...] = ()

    @staticmethod
    def whole(storage: Storage) -> "Selection":
        """All elements, without tiles."""
        return Selection(storage, tuple(Axis.counted(0, n) for n in storage.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        """Coordinates along each dimension that has any left."""
        return tuple(axis.count for axis in self.axes if not axis.indexed)

    @property
    def element_shape(self) -> tuple[int, ...]:
        """Elements along each dimension of the operand."""
        return tuple(axis.elements for axis in self.axes if not axis.dropped)

    def select(self, items: Sequence[object], what: str) -> "Selection":
        """An index or a slice for each of the first coordinates, or `...`."""
        axes = list(self.axes)
        left = [at for at, axis in enumerate(axes) if not axis.indexed]
        items = _written_out(items, len(left), what)
        for coordinate, (at, item) in enumerate(zip(left, items, strict=False)):
            axes[at] = axes[at].select(item, coordinate, what)
        return replace(self, axes=tuple(axes))

    def counted(
        self, tile_shape: tuple[int, ...], per_coordinate: tuple[int, ...], what: str
    ) -> "Selection":
        """The same elements, the last dimensions of them counted anew."""
        rank, storage = len(tile_shape), self.storage
        left = [at for at, axis in enumerate(self.axes) if not axis.dropped]
        if rank > len(left):
            raise NKIValueError(
                f"tile_shape {tile_shape} has more dimensions than {what}, which has "
                f"the shape {self.element_shape}"
            )
        if storage.tiled_rank not in (None, rank):
            raise NKIValueError(
                f"tile_shape {tile_shape} has {rank} dimensions, tiles of {what} in "
                f"{storage.tensor.space} have {storage.tiled_rank}: only leading "
                "dimensions of hbm may be untiled"
            )
        axes = list(self.axes)
        sizes: list[int | None] = [None] * (len(left) - rank)
        sizes += [t * n for t, n in zip(tile_shape, per_coordinate, strict=True)]
        for at, size in zip(left, sizes, strict=True):
            if axes[at].step > 1:
                raise NKIValueError(
                    f"{what} has selected every {axes[at].step}. coordinate of "
                    f"dimension {at}: its elements are not neighbours, which tiles are"
                )
            axes[at] = Axis.counted(axes[at].start, axes[at].elements, size)
        return Selection(storage, tuple(axes), tile_shape, per_coordinate)

    def find(self) -> NkiTensor | str:
        """The elements as one view of shape `element_shape`, or why there is none."""
        for dim, axis in enumerate(self.axes):
            if axis.step > 1:
                return (
                    f"dimension {dim} selects every {axis.step}. coordinate; select "
                    "neighbours, or one"
                )
        return self.storage.find(
            [Range(axis.start, axis.elements, axis.dropped) for axis in self.axes]
        )


def _written_out(items: Sequence[object], rank: int, what: str) -> Sequence[object]:
    """The items without `...`; refused where there are more than coordinates."""
    places = [at for at, item in enumerate(items) if item is ...]
    if len(places) > 1:
        raise NKIIndexError(f"an index of {what} can have one `...` only")
    named = len(items) - len(places)
    if named > rank:
        raise NKIIndexError(
            f"too many coordinates for {what}: it has {rank}, got {named}"
        )
    if not places:
        return items
    at = places[0]
    return (*items[:at], *(slice(None),) * (rank - named), *items[at + 1 :])
