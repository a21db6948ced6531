"""Rows of what makes tiles: of numbers, of indices, of constants, views of tiles."""

from typing import Any

import numpy as np
from kernels.names.rows import (
    FLAT,
    Operand,
    Row,
    Shape,
    column,
    fisa,
    fl,
    nisa,
    nl,
    one,
)
from oracle.numbers import F32, Array


def _index(shape: Shape) -> Any:
    """2 + 3 partition - the free indices."""
    grid = fl.mgrid[tuple(slice(0, n) for n in shape)]
    found = grid[0] * 3 + 2
    for each in grid[1:]:
        found = found - each
    return found


def _numbers(shape: Shape) -> Array:
    found = np.full(shape, 2)
    for at, index in enumerate(np.indices(shape)):
        found = found + (index if at else -3 * index) * -1
    return found


def _pattern(tile: Any) -> list[list[int]]:
    return [[-1, n] for n in tile.shape[1:]]


def _filled(name: str, value: float, *given: Any) -> Row:
    return Row(
        name=f"nl.{name}",
        functional=lambda x: getattr(fl, name)(x.shape, *given, x.dtype),
        destination=lambda x: getattr(nl, name)(x.shape, *given, x.dtype),
        returns=True,
        thorough=False,
        want=lambda x: np.full(x.shape, value, F32),
    )


def _written(made: Any, x: Any) -> Any:
    made[...] = x
    return made


def _copied(made: Any, x: Any) -> Any:
    nisa.tensor_copy(made, x)
    return made


def _constant(shape: Shape) -> Array:
    return np.arange(int(np.prod(shape)), dtype=F32).reshape(shape)


TILES = (
    _filled("zeros", 0),
    _filled("ones", 1),
    _filled("full", 2.5, 2.5),
    Row(
        name="nl.zeros_like",
        functional=lambda x: fl.zeros_like(x),
        destination=lambda x: nl.zeros_like(x),
        returns=True,
        thorough=False,
        want=np.zeros_like,
    ),
    Row(
        name="nl.empty_like",
        functional=lambda x: _written(fl.empty_like(x), x),
        destination=lambda x: _copied(nl.empty_like(x), x),
        returns=True,
        thorough=False,
        want=lambda x: x,
    ),
    Row(
        name="nl.ndarray",
        functional=lambda x: _written(fl.ndarray(x.shape, x.dtype, buffer=fl.sbuf), x),
        destination=lambda x: _copied(nl.ndarray(x.shape, x.dtype), x),
        returns=True,
        thorough=False,
        want=lambda x: x,
    ),
    Row(
        name="nl.shared_constant",
        functional=lambda x: fl.load(fl.shared_constant(_constant(x.shape))),
        destination=lambda x: nl.load(nl.shared_constant(_constant(x.shape))),
        returns=True,
        thorough=False,
        want=lambda x: _constant(x.shape),
    ),
    Row(
        name="nl.shared_identity_matrix",
        shapes=((7, 7), (1, 1), (128, 128)),
        outs=one("u8"),
        functional=lambda x: fl.load(fl.shared_identity_matrix(x.shape[0])),
        destination=lambda x: nl.shared_identity_matrix(x.shape[0]),
        returns=True,
        thorough=False,
        want=lambda x: np.eye(x.shape[0], dtype=np.uint8),
    ),
    Row(
        name="nl.broadcast_to",
        operands=one(shape=column),
        outs=(Operand(shape=lambda s: (s[0], 6)),),
        shapes=FLAT,
        functional=lambda x: fl.broadcast_to(x, shape=(x.shape[0], 6)),
        destination=lambda x: nl.broadcast_to(x, (x.shape[0], 6)),
        returns=True,
        want=lambda x: np.broadcast_to(x, (x.shape[0], 6)),
    ),
    Row(
        name="nl.broadcast_to",
        note="partitions",
        operands=one(shape=lambda s: (1, *s[1:])),
        functional=lambda x: fl.broadcast_to(x, shape=(5, *x.shape[1:])),
        destination=lambda x: nl.broadcast_to(x, (5, *x.shape[1:])),
        outs=(Operand(shape=lambda s: (5, *s[1:])),),
        returns=True,
        thorough=False,
        want=lambda x: np.broadcast_to(x, (5, *x.shape[1:])),
    ),
    Row(
        name="nl.expand_dims",
        shapes=(*FLAT, (5, 2, 3)),
        outs=(Operand(shape=lambda s: (s[0], 1, *s[1:])),),
        functional=lambda x: fl.expand_dims(x, 1),
        destination=lambda x: nl.expand_dims(x, 1),
        returns=True,
        want=lambda x: x[:, None],
    ),
    Row(
        name="nl.ds",
        shapes=((7, 13), (1, 13), (128, 5), (5, 2, 3), (3, 2, 1, 5)),
        outs=(Operand(shape=lambda s: (*s[:-1], 2)),),
        functional=lambda x: fl.copy(x[..., fl.ds(1, 2)]),
        destination=lambda x: nl.copy(x[..., nl.ds(1, 2)]),
        returns=True,
        want=lambda x: x[..., 1:3],
    ),
    Row(
        name="nl.mgrid",
        functional=lambda x: fl.copy(x[fl.mgrid[tuple(slice(0, n) for n in x.shape)]]),
        thorough=False,
        want=lambda x: x,
    ),
    Row(
        name="nl.arange",
        shapes=FLAT,
        functional=lambda x: fl.copy(
            x[fl.arange(x.shape[0])[:, None], fl.arange(x.shape[1])[None, :]]
        ),
        thorough=False,
        want=lambda x: x,
    ),
)

INSTRUCTIONS = (
    Row(
        name="nisa.memset",
        functional=lambda x, **k: fisa.memset(x.shape, 2.5, x.dtype, **k),
        destination=lambda out, x: nisa.memset(out, 2.5),
        want=lambda x: np.full(x.shape, 2.5, F32),
    ),
    Row(
        name="nisa.iota",
        outs=one("i32"),
        functional=lambda x, **k: fisa.iota(_index(x.shape), np.int32, **k),
        destination=lambda out, x: nisa.iota(out, _pattern(out), 2, 3),
        want=lambda x: _numbers(x.shape),
        without={"of a loop": "counts from the tile"},
    ),
    Row(
        name="nisa.affine_select",
        functional=lambda x, **k: fisa.affine_select(
            _index(x.shape) >= 0, x, -5.0, **k
        ),
        destination=lambda out, x: nisa.affine_select(
            out, _pattern(out), 3, x, -5.0, nl.greater_equal, offset=2
        ),
        want=lambda x: np.where(_numbers(x.shape) >= 0, x, F32(-5)),
        without={"of a loop": "counts from the tile"},
    ),
)

ROWS = (*TILES, *INSTRUCTIONS)
