"""
`nl.tiles`, `nl.blocks` and their kin: tensors counted in tiles, or in blocks of tiles.

A grid is a view: it has storage only where `nl.alloc_tiles` or `nl.alloc_blocks` made
it, and no instruction takes one. `grid[i, j].data` is the tensor that one takes.
"""

from typing import Any, NoReturn, Self

from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.destination import NkiTensor
from xdsl_neuron.nki.dtype import LanguageDtype
from xdsl_neuron.nki.enums import MemoryRegion
from xdsl_neuron.nki.language.creation import ndarray
from xdsl_neuron.nki.tiled_selection import Selection
from xdsl_neuron.nki.tiled_storage import InOrder, Storage, TileByTile
from xdsl_neuron.tracer.errors import NKISyntaxError, NKITypeError, NKIValueError
from xdsl_neuron.tracer.index import is_tuple


class NkiGrid:
    """
    Tiles or blocks of a tensor; `nl.tiles` and `nl.blocks` make one.

    Indexed by coordinates: integers, registers, slices, `nl.ds`, `...`. The result is a
    grid again, without the coordinates that an integer or a register has named.
    """

    __slots__ = ("selection",)

    selection: Selection

    def __init__(self, **kwargs: Any) -> None:
        raise NKITypeError(
            f"{type(self).__name__} is not made by its class; use nl.tiles, nl.blocks, "
            "nl.alloc_tiles or nl.alloc_blocks"
        )

    @classmethod
    def of(cls, selection: Selection) -> Self:
        """The grid of these coordinates."""
        found = object.__new__(cls)
        found.selection = selection
        return found

    # -- what it says of itself ------------------------------------------------------

    @property
    def buffer(self) -> MemoryRegion:
        """The memory region of the tensor behind it."""
        return self.selection.storage.tensor.buffer

    @property
    def dtype(self) -> LanguageDtype:
        """The element type of the tensor behind it."""
        return self.selection.storage.tensor.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """How many coordinates it has along each dimension that has any left."""
        return self.selection.shape

    @property
    def tile_shape(self) -> tuple[int, ...]:
        """Elements of a whole tile, along the tiled dimensions."""
        return self.selection.tile_shape

    @property
    def element_shape(self) -> tuple[int, ...]:
        """
        Elements that are selected along each dimension of the source.

        An untiled dimension that an integer has indexed is left out.
        """
        return self.selection.element_shape

    @property
    def index_step_elements(self) -> tuple[int, ...]:
        """Elements from a coordinate to the next one, for each entry of `shape`."""
        axes = self.selection.axes
        return tuple(axis.size * axis.step for axis in axes if not axis.indexed)

    @property
    def is_remainder(self) -> bool:
        """Whether the end of the source leaves some tile or block incomplete."""
        return any(axis.tiled and axis.missing for axis in self.selection.axes)

    @property
    def is_data_representable(self) -> bool:
        """Whether `data` is there: one operand of exactly these elements."""
        return not isinstance(self.selection.find(), str)

    @property
    def data(self) -> NkiTensor:
        """
        The selected elements as one tensor of shape `element_shape`.

        Raises NKIValueError where no single access pattern has them in this shape.
        """
        found = self.selection.find()
        if isinstance(found, str):
            raise NKIValueError(
                f"{self!r} is not one operand: {found}; is_data_representable asks "
                "whether a selection is one"
            )
        return found

    # -- selecting -------------------------------------------------------------------

    def __getitem__(self, item: Any) -> Self:
        items = item if is_tuple(item) else (item,)
        return self.of(self.selection.select(items, repr(self)))

    def __setitem__(self, item: Any, value: Any) -> NoReturn:
        raise NKISyntaxError(
            f"{self!r} cannot be assigned to; give an instruction dst=grid[...].data"
        )

    def __iter__(self) -> NoReturn:
        raise NKISyntaxError(
            f"{self!r} cannot be iterated over; loop over range(grid.shape[...])"
        )

    def __repr__(self) -> str:
        counts = "x".join(str(extent) for extent in self.shape)
        elements = "x".join(str(extent) for extent in self.element_shape)
        return (
            f"<{type(self).__name__} of '{self.selection.storage.tensor.name}': "
            f"{counts or 'one coordinate'}, {elements} elements, operand: .data>"
        )


class NkiTileGrid(NkiGrid):
    """A grid whose coordinates are tiles."""

    __slots__ = ()


class NkiBlockGrid(NkiGrid):
    """A grid whose coordinates are blocks of `block_shape` tiles."""

    __slots__ = ()

    @property
    def block_shape(self) -> tuple[int, ...]:
        """Tiles of a whole block, along the tiled dimensions."""
        return self.selection.per_coordinate


# -- views of what there is ----------------------------------------------------------


@api
def tiles(source: Any, *, tile_shape: Any = None) -> NkiTileGrid:
    """
    A tensor, or what a grid has selected, as a grid of tiles.

    `tile_shape` applies to the last dimensions; those in front, of a tensor in HBM, are
    indexed one slab at a time. Without it a grid keeps its tiles. The tiles at the end
    are as large as the source leaves them. Raises NKITypeError unless `tile_shape` is a
    tuple of int, NKIValueError where it does not fit the source.
    """
    selection, tile = _source(source, tile_shape, "tiles")
    return NkiTileGrid.of(selection.counted(tile, (1,) * len(tile), repr(source)))


@api
def blocks(source: Any, *, tile_shape: Any = None, block_shape: Any) -> NkiBlockGrid:
    """
    As `tiles`, counted in blocks: `block_shape` tiles along each tiled dimension.

    `nl.tiles(grid[i, j])` are the tiles of a block.
    """
    selection, tile = _source(source, tile_shape, "blocks")
    block = _block_shape(block_shape, tile)
    return NkiBlockGrid.of(selection.counted(tile, block, repr(source)))


def _source(
    source: Any, tile_shape: Any, what: str
) -> tuple[Selection, tuple[int, ...]]:
    """What is selected, and the shape of a tile."""
    if isinstance(source, NkiGrid):
        if tile_shape is None:
            return source.selection, source.tile_shape
        return source.selection, _exact(tile_shape, "tile_shape")
    if not isinstance(source, NkiTensor):
        raise NKITypeError(
            f"`source` of nl.{what} must be a tensor or a grid, got "
            f"{type(source).__name__} ({source!r})"
        )
    if tile_shape is None:
        raise NKITypeError(f"nl.{what} of a tensor needs `tile_shape`")
    source.refuse_columns(f"nl.{what}")
    return Selection.whole(InOrder(source)), _exact(tile_shape, "tile_shape")


# -- storage of its own --------------------------------------------------------------


@api
def alloc_tiles(
    *,
    tile_shape: Any,
    element_shape: Any,
    buffer: Any,
    dtype: Any,
    address: Any = None,
    name: str | None = "",
) -> NkiTileGrid:
    """
    A grid of tiles with a tensor of its own, whose elements are undefined.

    In HBM the tensor has the shape `element_shape`. On chip it has the partitions of
    one tile, and in each the tiles one behind the other with room for whole ones: our
    choice, the documentation says that the layout is dense and of rank two. `address`
    and `name` are those of `nl.ndarray`. Raises NKITypeError unless the shapes are
    tuples of int and `buffer` is a memory region, NKIValueError for a wrong extent or
    rank.
    """
    tile = _exact(tile_shape, "tile_shape")
    storage = _allocated(tile, element_shape, buffer, dtype, address, name)
    made = Selection.whole(storage)
    return NkiTileGrid.of(made.counted(tile, (1,) * len(tile), "the source"))


@api
def alloc_blocks(
    *,
    tile_shape: Any,
    block_shape: Any,
    element_shape: Any,
    buffer: Any,
    dtype: Any,
    address: Any = None,
    name: str | None = "",
) -> NkiBlockGrid:
    """As `alloc_tiles`, counted in blocks; these do not change where tiles are."""
    tile = _exact(tile_shape, "tile_shape")
    block = _block_shape(block_shape, tile)
    storage = _allocated(tile, element_shape, buffer, dtype, address, name)
    made = Selection.whole(storage)
    return NkiBlockGrid.of(made.counted(tile, block, "the source"))


def _allocated(
    tile_shape: tuple[int, ...],
    element_shape: Any,
    buffer: Any,
    dtype: Any,
    address: Any,
    name: str | None,
) -> Storage:
    shape = _exact(element_shape, "element_shape")
    if not isinstance(buffer, MemoryRegion):
        raise NKITypeError(
            f"`buffer` must be a memory region (nl.sbuf, nl.psum, nl.shared_hbm, ...), "
            f"got {type(buffer).__name__} ({buffer!r})"
        )
    if len(tile_shape) > len(shape):
        raise NKIValueError(
            f"tile_shape {tile_shape} has more dimensions than element_shape {shape}"
        )
    on_chip = buffer.space.on_chip
    stored = TileByTile.capacity(shape, tile_shape) if on_chip else shape
    tensor = ndarray(stored, dtype, buffer, name, address)
    assert isinstance(tensor, NkiTensor)
    return TileByTile(tensor, shape, tile_shape) if on_chip else InOrder(tensor)


def _exact(shape: Any, what: str) -> tuple[int, ...]:
    """A shape as the documentation wants it: a tuple of Python's int, two or more."""
    if not is_tuple(shape) or any(type(extent) is not int for extent in shape):
        raise NKITypeError(
            f"`{what}` must be a tuple of int, got {type(shape).__name__} ({shape!r})"
        )
    if any(extent < 1 for extent in shape):
        raise NKIValueError(f"extents of `{what}` must be positive, got {shape}")
    if len(shape) < 2:
        raise NKIValueError(f"`{what}` needs two dimensions or more, got {shape}")
    return shape


def _block_shape(block_shape: Any, tile_shape: tuple[int, ...]) -> tuple[int, ...]:
    block = _exact(block_shape, "block_shape")
    if len(block) != len(tile_shape):
        raise NKIValueError(
            f"block_shape {block} must have as many dimensions as tile_shape "
            f"{tile_shape}"
        )
    return block
