"""Rows of what moves elements: DMA, transposes, gathers, shuffles, copies by index."""

from typing import Any

import numpy as np
from kernels.names.rows import (
    FLAT,
    WHOLE_ROWS,
    Operand,
    Row,
    Shape,
    column,
    fisa,
    fl,
    integers,
    nisa,
    nl,
    one,
)
from oracle.numbers import F32, Array

HBM = one(space="hbm")


def turned(shape: Shape) -> Shape:
    return shape[::-1]


def _copies(note: str, source: str, target: str, before: str, after: str) -> Row:
    return Row(
        name="nisa.dma_copy",
        note=note,
        operands=one(before, space=source),
        outs=one(after, space=target),
        writes=True,
        functional=lambda out, x, **k: fisa.dma_copy(dst=out, src=x, **k),
        destination=lambda out, x: nisa.dma_copy(out, x),
        thorough=source == "hbm",
        want=lambda x: x,
    )


DMA = (
    Row(
        name="nl.load",
        operands=HBM,
        functional=lambda x, **k: fl.load(x, **k),
        destination=lambda x: nl.load(x),
        returns=True,
        want=lambda x: x,
    ),
    Row(
        name="nl.load",
        note="cast",
        operands=one("i32", space="hbm"),
        outs=one("bf16"),
        functional=lambda x, **k: fl.load(x, dtype=fl.bfloat16, **k),
        destination=lambda x: nl.load(x, dtype=nl.bfloat16),
        returns=True,
        thorough=False,
        want=lambda x: x,
    ),
    Row(
        name="nl.store",
        outs=HBM,
        writes=True,
        functional=lambda out, x, **k: fl.store(out, x, **k),
        destination=lambda out, x: nl.store(out, x),
        want=lambda x: x,
    ),
    Row(
        name="nl.store",
        note="number",
        operands=(),
        outs=HBM,
        writes=True,
        functional=lambda out, **k: fl.store(out, 5.0, **k),
        destination=lambda out: nl.store(out, 5.0),
        thorough=False,
        want=lambda: F32(5),
    ),
    _copies("in", "hbm", "sbuf", "f32", "f32"),
    _copies("out", "sbuf", "hbm", "f32", "f32"),
    _copies("within", "sbuf", "sbuf", "u8", "u8"),
    _copies("cast", "hbm", "sbuf", "f32", "bf16"),
    Row(
        name="nisa.dma_copy",
        note="adds",
        outs=HBM,
        writes=True,
        updates=True,
        functional=lambda out, x, **k: fisa.dma_copy(
            dst=out, src=x, dst_rmw_op=np.add, **k
        ),
        destination=lambda out, x: nisa.dma_copy(out, x, dst_rmw_op=nl.add),
        thorough=False,
        want=lambda old, x: old + x,
    ),
    Row(
        name="nisa.dma_compute",
        operands=(Operand(space="hbm"), Operand(space="hbm"), Operand(space="hbm")),
        destination=lambda out, x, y, z: nisa.dma_compute(out, [x, y, z], nl.add),
        want=lambda x, y, z: x + y + z,
    ),
)


def _transposed(name: str, note: str, dtype: str, space: str, **named: Any) -> Row:
    return Row(
        name=name,
        note=note,
        shapes=named.pop("shapes", FLAT),
        operands=one(dtype, space=space),
        outs=(Operand(dtype, shape=turned),),
        kept=np.transpose,
        want=np.transpose,
        without={"of a loop": "columns become rows"},
        **named,
    )


SMALL: tuple[Shape, ...] = ((7, 13), (1, 13), (7, 1), (1, 1), (32, 5))
TRANSPOSES = (
    _transposed(
        "nl.load_transpose2d",
        "",
        "bf16",
        "hbm",
        functional=lambda x, **k: fl.load_transpose2d(x, **k),
        destination=lambda x: nl.load_transpose2d(x),
        returns=True,
    ),
    _transposed(
        "nl.transpose",
        "",
        "f32",
        "sbuf",
        functional=lambda x, **k: fl.transpose(x, **k),
        destination=lambda x: nl.transpose(x),
        returns=True,
    ),
    _transposed(
        "nisa.nc_transpose",
        "vector",
        "f32",
        "sbuf",
        shapes=SMALL,
        functional=lambda x, **k: fisa.nc_transpose(x, engine=fisa.vector_engine, **k),
        destination=lambda out, x: nisa.nc_transpose(out, x, nisa.vector_engine),
    ),
    Row(
        name="nisa.nc_transpose",
        note="tensor",
        shapes=FLAT,
        outs=(Operand(shape=turned, space="psum"),),
        functional=lambda x, **k: fisa.nc_transpose(x, engine=fisa.tensor_engine, **k),
        destination=lambda out, x: nisa.nc_transpose(out, x, nisa.tensor_engine),
        kept=np.transpose,
        want=np.transpose,
        without={"of a loop": "columns become rows"},
    ),
    _transposed(
        "nisa.dma_transpose",
        "bf16",
        "bf16",
        "hbm",
        functional=lambda x, **k: fisa.dma_transpose(x, axes=(1, 0), **k),
        destination=lambda out, x: nisa.dma_transpose(out, x, (1, 0)),
    ),
    _transposed(
        "nisa.dma_transpose",
        "three dimensions",
        "f32",
        "hbm",
        shapes=((5, 2, 3), (7, 4, 1), (1, 3, 2)),
        functional=lambda x, **k: fisa.dma_transpose(x, axes=(2, 1, 0), **k),
        destination=lambda out, x: nisa.dma_transpose(out, x, (2, 1, 0)),
        thorough=False,
    ),
)


def _six(shape: Shape) -> Shape:
    return (shape[0], 6)


PICKED: tuple[Shape, ...] = ((7, 13), (1, 13), (128, 5), (5, 2, 3), (3, 2, 1, 5))
CORES: tuple[Shape, ...] = ((16, 13), (32, 7), (128, 5))
QUADRANTS: tuple[Shape, ...] = ((32, 13), (64, 1), (128, 5), (32, 2, 3))
ORDER = [31 - i if i % 5 else 255 for i in range(32)]


def _taken(x: Array, index: Array) -> Array:
    flat = x.reshape(x.shape[0], -1)
    return np.take_along_axis(flat, index.astype(np.int64), axis=1)


def _gathered(x: Array, index: Array) -> Array:
    """Indices run along the 16 partitions of a core first."""
    found = np.zeros((x.shape[0], 32), F32)
    for core in range(0, x.shape[0], 16):
        order = index[core : core + 16].T.reshape(-1).astype(int)
        found[core : core + 16] = x[core : core + 16][:, order]
    return found


def _shuffled(old: Array, x: Array) -> Array:
    rows = np.arange(x.shape[0])
    entries = np.array(ORDER)[rows % 32]
    keeps = (entries == 255).reshape(-1, *(1,) * (x.ndim - 1))
    source = rows // 32 * 32 + np.where(entries == 255, 0, entries)
    return np.where(keeps, old, x[source])


def _columns(tile: Any, start: Any, count: int) -> Any:
    """Some columns of a tile from a start that is known while running."""
    p, f = fl.mgrid[0 : tile.shape[0], 0:count]
    return tile[p, start[0, 0] + f]


def _scattered(old: Array, x: Array, index: Array) -> Array:
    found = old.copy()
    np.add.at(found, index[:, 0], x)
    return found


def _distinct_rows(random: np.random.Generator, shape: Shape, dtype: str) -> Array:
    # Any 20 of them that follow one another are distinct.
    found = np.arange(int(np.prod(shape))) * 7 % 20
    return found.astype(np.int32).reshape(shape)


def _at(start: int) -> Any:
    return lambda random, shape, dtype: np.full(shape, start, np.uint32)


GATHERS = (
    Row(
        name="nl.gather_flattened",
        shapes=PICKED,
        operands=(Operand(), Operand("u32", shape=_six, draw=integers(0, 5))),
        outs=(Operand(shape=_six),),
        lanes=_six,
        refused=WHOLE_ROWS,
        masked=((7, 13), (5, 2, 3)),
        functional=lambda x, i, **k: fl.gather_flattened(x, i, **k),
        destination=lambda x, i: nl.gather_flattened(x, i),
        returns=True,
        want=_taken,
    ),
    Row(
        name="nisa.nc_n_gather",
        shapes=PICKED,
        operands=(Operand(), Operand("u32", shape=_six, draw=integers(0, 5))),
        outs=(Operand(shape=_six),),
        lanes=_six,
        destination=lambda out, x, i: nisa.nc_n_gather(out, x, i),
        want=_taken,
    ),
    Row(
        name="nisa.local_gather",
        shapes=CORES,
        operands=(
            Operand(),
            Operand("u16", shape=lambda s: (s[0], 2), draw=integers(0, 5)),
        ),
        outs=(Operand(shape=lambda s: (s[0], 2, 16, 1)),),
        lanes=lambda s: (s[0], 2, 16, 1),
        functional=lambda x, i, **k: fisa.local_gather(x, i, **k),
        destination=lambda out, x, i: nisa.local_gather(out, x, i),
        without={"of a loop": "cores have 16 partitions"},
        want=_gathered,
    ),
    Row(
        name="nisa.nc_stream_shuffle",
        shapes=QUADRANTS,
        writes=True,
        updates=True,
        functional=lambda out, x, **k: fisa.nc_stream_shuffle(x, out, ORDER, **k),
        destination=lambda out, x: nisa.nc_stream_shuffle(out, x, ORDER),
        without={"of a loop": "quadrants have 32 partitions"},
        want=_shuffled,
    ),
    Row(
        name="nisa.tensor_copy_dynamic_src",
        shapes=FLAT,
        operands=(
            Operand(shape=lambda s: (s[0], s[1] + 4)),
            Operand("u32", shape=lambda s: (1, 1), draw=_at(3)),
        ),
        functional=lambda x, i, **k: fisa.tensor_copy_dynamic_src(
            _columns(x, i, x.shape[1] - 4), **k
        ),
        without={"of a loop": "one offset"},
        want=lambda x, i: x[:, 3:-1],
    ),
    Row(
        name="nisa.tensor_copy_dynamic_dst",
        shapes=FLAT,
        operands=(Operand(), Operand("u32", shape=lambda s: (1, 1), draw=_at(2))),
        outs=(Operand(shape=lambda s: (s[0], s[1] + 4)),),
        writes=True,
        updates=True,
        functional=lambda out, x, i, **k: fisa.tensor_copy_dynamic_dst(
            dst=_columns(out, i, x.shape[1]), src=x, **k
        ),
        without={"of a loop": "one offset"},
        kept=lambda where: np.pad(where, ((0, 0), (2, 2))),
        want=lambda old, x, i: np.concatenate([old[:, :2], x, old[:, -2:]], axis=1),
    ),
    Row(
        name="nl.atomic_rmw",
        shapes=((7, 13), (1, 13), (7, 1), (1, 1)),
        operands=(
            Operand(),
            Operand("i32", shape=column, draw=_distinct_rows, never=("broadcast",)),
        ),
        outs=(Operand(shape=lambda s: (20, s[1]), space="hbm"),),
        writes=True,
        updates=True,
        functional=lambda out, x, i, **k: fl.atomic_rmw(
            out[i, fl.arange(x.shape[1])[None, :]], x, op=np.add, **k
        ),
        without={"of a loop": "rows by index", "mask": "by row of the index"},
        kept=lambda where: np.ones((20, where.shape[1]), bool),
        want=_scattered,
    ),
)

ROWS = (*DMA, *TRANSPOSES, *GATHERS)
