"""The kernels of a case: in each language, and in loops over rows and columns."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kernels.names.rows import Operand, Row, column, fl, nisa, nl

if TYPE_CHECKING:
    from kernels.names.driver import Case

Kernel = Callable[..., Any]
HEIGHT, TILE = 13, 5
"""Rows (or columns) in all, and of a tile: the last one is ragged."""


def row_rule(p: Any, t: Any) -> Any:
    """A mask of rows that differs from tile to tile."""
    return (p * 2 + t >= 1) & (p * 2 - t < 8)


def column_rule(p: Any, f: Any, t: Any) -> Any:
    """A mask of both that does."""
    return (p < 5 + t) & (f * 2 + t >= 1)


def values(case: "Case") -> Kernel:
    """Of the functional generation, without loops."""
    row, count = case.row, len(case.row.operands)
    specs = (*row.operands, *row.outs)

    def kernel(*arrays: Any) -> Any:
        stores = [_placed_value(spec, a) for spec, a in zip(specs, arrays, strict=True)]
        tiles = [case.tile(at, store) for at, store in enumerate(stores)]
        named: dict[str, Any] = {}
        if case.variant.mask is not None:
            lanes = row.lanes(case.shape)
            index = fl.mgrid[tuple(slice(0, n) for n in lanes)]
            named["mask"] = case.variant.mask.of(index, lanes)
        _call(row, tiles[:count], tiles[count:], named)
        return tuple(map(_saved_value, row.outs, stores[count:]))

    return kernel


def _call(
    row: Row, operands: Sequence[Any], outs: Sequence[Any], named: dict[str, Any]
) -> None:
    assert row.functional is not None
    if row.writes:
        row.functional(*outs, *operands, **named)
        return
    found = row.functional(*operands, *outs[1:], **named)
    if row.outs[0].space == "hbm":
        fl.store(outs[0], found)
    else:
        outs[0][...] = found


def _placed_value(spec: Operand, array: Any) -> Any:
    if spec.space == "hbm":
        out = fl.ndarray(array.shape, array.dtype, buffer=fl.shared_hbm)
        fl.store(out, fl.load(array))
        return out
    tile = fl.load(array)
    if spec.space == "sbuf":
        return tile
    psum = fl.ndarray(tile.shape, tile.dtype, buffer=fl.psum)
    psum[...] = tile
    return psum


def _saved_value(spec: Operand, tile: Any) -> Any:
    if spec.space == "hbm":
        return tile
    out = fl.ndarray(tile.shape, tile.dtype, buffer=fl.shared_hbm)
    fl.store(out, tile)
    return out


def destination(case: "Case") -> Kernel:
    """Of the destination-passing generations."""
    row, count = case.row, len(case.row.operands)
    specs = (*row.operands, *row.outs)

    def kernel(*arrays: Any) -> Any:
        stores = [_placed(spec, a) for spec, a in zip(specs, arrays, strict=True)]
        tiles = [case.tile(at, store) for at, store in enumerate(stores)]
        operands, outs = tiles[:count], tiles[count:]
        assert row.destination is not None
        if row.returns:
            nisa.tensor_copy(outs[0], row.destination(*operands, *outs[1:]))
        else:
            row.destination(*outs, *operands)
        return tuple(map(_saved, row.outs, stores[count:]))

    return kernel


def _placed(spec: Operand, array: Any) -> Any:
    if spec.space == "hbm":
        out = nl.ndarray(array.shape, array.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, array)
        return out
    tile = nl.ndarray(array.shape, array.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, array)
    if spec.space == "sbuf":
        return tile
    psum = nl.ndarray(array.shape, array.dtype, buffer=nl.psum)
    nisa.tensor_copy(psum, tile)
    return psum


def _saved(spec: Operand, tile: Any) -> Any:
    if spec.space == "hbm":
        return tile
    if spec.space == "psum":
        tile = nl.copy(tile)
    out = nl.ndarray(tile.shape, tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out


def _range(kind: str, count: int) -> Any:
    return range(count) if kind == "range" else getattr(fl, kind)(count)


def rows_loop(case: "Case") -> Kernel:
    """Tiles of some rows, the last one ragged."""
    row, count = case.row, len(case.row.operands)

    def place(spec: Operand, t: Any) -> tuple[tuple[Any, ...], Any]:
        _, *free = spec.shape((TILE, *case.shape[1:]))
        index = fl.mgrid[(slice(0, TILE), *(slice(0, n) for n in free))]
        down = t * TILE + index[0]
        return (down, *index[1:]), down < HEIGHT

    def kernel(*arrays: Any) -> Any:
        results = [
            fl.ndarray(a.shape, a.dtype, buffer=fl.shared_hbm) for a in arrays[count:]
        ]
        for result, before in zip(results, arrays[count:], strict=True):
            fl.store(result, fl.load(before))
        for t in _range(case.variant.loop, -(-HEIGHT // TILE)):
            tiles: list[Any] = []
            for spec, array in zip((*row.operands, *row.outs), arrays, strict=True):
                where, inside = place(spec, t)
                if spec.space == "hbm":
                    at = len(tiles) - count
                    tiles.append((array if at < 0 else results[at])[where])
                else:
                    tiles.append(fl.load(array[where], mask=inside))
            lanes = row.lanes((TILE, *case.shape[1:]))
            index = fl.mgrid[tuple(slice(0, n) for n in lanes)]
            mask = row_rule(index[0], t) & (t * TILE + index[0] < HEIGHT)
            operands, outs = tiles[:count], tiles[count:]
            assert row.functional is not None
            if row.writes:
                row.functional(*outs, *operands, mask=mask)
            else:
                outs[0] = row.functional(*operands, *outs[1:], mask=mask)
            for spec, result, out in zip(row.outs, results, outs, strict=True):
                if spec.space == "hbm":
                    continue
                where, inside = place(spec, t)
                rows = index[0] if len(where) == len(index) else where[0] - t * TILE
                fl.store(result[where], out, mask=row_rule(rows, t) & inside)
        return tuple(results)

    return kernel


def columns_loop(case: "Case") -> Kernel:
    """Some columns of tiles, the last ones ragged."""
    row, count = case.row, len(case.row.operands)

    def kernel(*arrays: Any) -> Any:
        stores = [
            _placed_value(spec, array)
            for spec, array in zip((*row.operands, *row.outs), arrays, strict=True)
        ]
        p, f = fl.mgrid[0 : case.shape[0], 0:TILE]
        for t in _range(case.variant.loop, -(-HEIGHT // TILE)):
            across = t * TILE + f
            tiles = [
                store if spec.shape is column else store[p, across]
                for spec, store in zip((*row.operands, *row.outs), stores, strict=True)
            ]
            mask = column_rule(p, f, t) & (across < HEIGHT)
            operands, outs = tiles[:count], tiles[count:]
            assert row.functional is not None
            if row.writes:
                row.functional(*outs, *operands, mask=mask)
            else:
                stores[count][p, across] = row.functional(
                    *operands, *outs[1:], mask=mask
                )
        return tuple(map(_saved_value, row.outs, stores[count:]))

    return kernel
