"""
Where the elements of a tiled tensor are: in the tensor's own order, or tile by tile.

A grid of tiles asks for a range of each dimension of what it tiles, and gets a view or
why no view has exactly these elements. All arithmetic is that of views.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.nki.destination import NkiTensor
from xdsl_neuron.tracer.index import Expr, IndexExpr
from xdsl_neuron.tracer.layouts import DynamicSlice


class Range(NamedTuple):
    """`length` elements of a dimension; a dropped one is no dimension of the view."""

    start: Expr
    length: int
    dropped: bool = False


class InOrder:
    """A tensor as the kernel has it: any ranges of its dimensions are a view."""

    def __init__(self, tensor: NkiTensor) -> None:
        self.tensor = tensor
        self.shape = tensor.shape
        self.tiled_rank = tensor.ndim if tensor.space.on_chip else None
        """How many dimensions tiles have to have; None where any number will do."""

    def find(self, ranges: Sequence[Range]) -> NkiTensor | str:
        """The view of these ranges, or why there is none."""
        if self.tensor.has_index and ranges[0].length != self.shape[0]:
            return (
                f"an index tile picks the {self.shape[0]} rows; make tiles as high, "
                "or tile the index tile"
            )
        return self.tensor[tuple(_item(each) for each in ranges)]


class TileByTile:
    """
    Tiles on chip, one behind the other in the partitions of the first.

    The tensor has as many partitions as a tile; in a partition come the slabs of
    untiled dimensions, then the tiles in the order of their coordinates, the last one
    fastest, then the free elements of a tile. Partial tiles have room for a whole one.
    """

    def __init__(
        self, tensor: NkiTensor, shape: Sequence[int], tile_shape: Sequence[int]
    ) -> None:
        rank = len(tile_shape)
        untiled = len(shape) - rank
        self.tensor = tensor
        self.shape = tuple(shape)
        self.tiled_rank = rank
        self._tile = tuple(tile_shape)
        counts = _tile_counts(shape[untiled:], tile_shape)
        parts = (tile_shape[0], *shape[:untiled], *counts, *tile_shape[1:])
        first = 1 + untiled  # where the numbers of tiles are, behind them the tile
        order = [*range(first + 1)]
        for dim in range(1, rank):
            order += (first + dim, first + rank - 1 + dim)
        seen = tensor.reshape(parts).permute(order)
        self._joined = [False] * rank
        for dim in reversed(range(1, rank)):
            at = first + 2 * dim - 1
            (step, tiles), (inner, extent) = seen.layout.pairs[at : at + 2]
            if tiles == 1 or extent == 1 or step == inner * extent:
                seen = seen.flatten_dims(at, at + 1)
                self._joined[dim] = True
        self._seen = seen

    @staticmethod
    def capacity(shape: Sequence[int], tile_shape: Sequence[int]) -> tuple[int, int]:
        """Partitions, and elements in each, that all tiles take."""
        untiled = len(shape) - len(tile_shape)
        tiles = prod(_tile_counts(shape[untiled:], tile_shape))
        return tile_shape[0], prod((*shape[:untiled], tiles, *tile_shape[1:]))

    def find(self, ranges: Sequence[Range]) -> NkiTensor | str:
        """The view of these ranges, or why there is none."""
        untiled = len(self.shape) - self.tiled_rank
        slabs, (rows, *free) = ranges[:untiled], ranges[untiled:]
        for dim, slab in enumerate(slabs):
            if not slab.dropped:
                return (
                    f"dimension {dim} is not tiled and in front of the partitions; "
                    "select one slab with an integer"
                )
        place = _place(rows, self._tile[0])
        if isinstance(place, str):
            return (
                f"its {rows.length} rows {place}, which all have the same "
                f"{self._tile[0]} partitions; select one row of tiles with an integer, "
                "of a block after nl.tiles(block)"
            )
        row, partition = place
        items: list[object] = [
            DynamicSlice(partition, rows.length),
            *(_index(slab.start) for slab in slabs),
            _index(row),
        ]
        for dim, each in enumerate(free, 1):
            if self._joined[dim]:
                items.append(DynamicSlice(each.start, each.length))
                continue
            place = _place(each, self._tile[dim])
            if isinstance(place, str):
                return (
                    f"its {each.length} elements along dimension {dim + untiled} "
                    f"{place}, and a tile is stored whole; select one with an integer"
                )
            items += (_index(place[0]), DynamicSlice(place[1], each.length))
        return self._seen[tuple(items)]


Storage = InOrder | TileByTile


def _tile_counts(shape: Sequence[int], tile_shape: Sequence[int]) -> list[int]:
    pairs = zip(shape, tile_shape, strict=True)
    return [-(-extent // tile) for extent, tile in pairs]


def _place(each: Range, tile: int) -> tuple[Expr, int] | str:
    """The tile that a range is in, and where it starts in that; or what is wrong."""
    start = Affine.of(each.start)
    number, first = divmod(start.constant, tile)
    if any(factor % tile for _, factor in start.terms):
        return (
            f"start at {start}, which is known while running and no whole number of "
            f"tiles of {tile}"
        )
    if first + each.length > tile:
        return f"are in more than one tile of {tile}"
    terms = [(atom, factor // tile) for atom, factor in start.terms]
    return (Affine(number, terms) if terms else number), first


def _item(each: Range) -> object:
    if each.dropped:
        return _index(each.start)
    return DynamicSlice(each.start, each.length)


def _index(place: Expr) -> object:
    return IndexExpr(place) if isinstance(place, Affine) else place
