"""Rows of tensors that are counted in tiles and blocks: copies tile by tile."""

from typing import Any

import numpy as np
from kernels.names.rows import Row, nisa, nl, one


def _tile(shape: Any) -> tuple[int, ...]:
    """A tile that no shape is a multiple of in each dimension."""
    return (50, *(3 for _ in shape[1:-1]), 2)


def _copied(out: Any, x: Any) -> None:
    """Each tile of one grid to the same tile of another one."""
    assert out.shape == x.shape
    for index in np.ndindex(x.shape):
        nisa.dma_copy(out[index].data, x[index].data)


def _tiles(out: Any, x: Any) -> None:
    tile = _tile(x.shape)
    _copied(nl.tiles(out, tile_shape=tile), nl.tiles(x, tile_shape=tile))


def _blocks(out: Any, x: Any) -> None:
    shapes = {"tile_shape": _tile(x.shape), "block_shape": (2,) * x.ndim}
    after, before = nl.blocks(out, **shapes), nl.blocks(x, **shapes)
    for index in np.ndindex(before.shape):
        _copied(nl.tiles(after[index]), nl.tiles(before[index]))


def _alloc_tiles(out: Any, x: Any) -> None:
    tile = _tile(x.shape)
    for buffer in (nl.sbuf, nl.private_hbm):
        middle = nl.alloc_tiles(
            tile_shape=tile, element_shape=x.shape, buffer=buffer, dtype=x.dtype
        )
        _copied(middle, nl.tiles(x, tile_shape=tile))
        _copied(nl.tiles(out, tile_shape=tile), middle)


def _alloc_blocks(out: Any, x: Any) -> None:
    shapes = {"tile_shape": _tile(x.shape), "block_shape": (2,) * x.ndim}
    middle = nl.alloc_blocks(
        **shapes, element_shape=x.shape, buffer=nl.sbuf, dtype=x.dtype
    )
    before = nl.blocks(x, **shapes)
    for index in np.ndindex(before.shape):
        _copied(nl.tiles(middle[index]), nl.tiles(before[index]))
    _copied(nl.tiles(out, tile_shape=shapes["tile_shape"]), nl.tiles(middle))


def _row(name: str, call: Any) -> Row:
    return Row(
        name=name,
        operands=one(space="hbm"),
        writes=True,
        destination=call,
        thorough=False,
        want=lambda x: x,
    )


ROWS = (
    _row("nl.tiles", _tiles),
    _row("nl.blocks", _blocks),
    _row("nl.alloc_tiles", _alloc_tiles),
    _row("nl.alloc_blocks", _alloc_blocks),
)
