"""Rows of random numbers, of registers and of indices from data."""

from itertools import groupby
from typing import Any

import numpy as np
from kernels.names.rows import (
    ONE_LENGTH,
    Operand,
    Row,
    Shape,
    fisa,
    fl,
    integers,
    nisa,
    nl,
    one,
)
from oracle.generators import MASK, draws, philox, uniform
from oracle.numbers import F32, STORAGE, Array

LANES = 24
"""Words of the vector engine's state in each partition."""
FEW: tuple[Shape, ...] = ((3, 13), (1, 13), (5, 1), (1, 1), (5, 2, 3), (3, 2, 1, 5))


LANE = {"corner": "a state belongs to a partition, whoever reads it"}


def _state(shape: Shape) -> Shape:
    return (shape[0], LANES)


def _single(shape: Shape) -> Shape:
    return (1, 1)


def _words(random: np.random.Generator, shape: Shape, dtype: str) -> Array:
    return random.integers(1, 1 << 32, shape).astype(np.uint32)


def seeded(key: int, rows: int) -> Array:
    """The state that a seed stands for."""
    found = [
        [philox([word, row, 0, 0], [key & MASK, 0])[0] for word in range(LANES)]
        for row in range(rows)
    ]
    return np.array(found, np.uint32)


def _numbers(state: Array, shape: Shape) -> Array:
    words, _ = draws(state, int(np.prod(shape[1:])))
    return words.reshape(shape)


def _drawn(old: Array, last: Array, state: Array) -> tuple[Array, Array]:
    words, after = draws(state, int(np.prod(old.shape[1:])))
    return words.reshape(old.shape), after


def _rng(out: Any, last: Any, state: Any) -> None:
    nisa.rand_set_state(state, nisa.vector_engine)
    nisa.rng(out, nisa.vector_engine)
    nisa.rand_get_state(last, nisa.vector_engine)


def _rand2(out: Any, last: Any, state: Any) -> None:
    nisa.rand_set_state(state, nisa.vector_engine)
    nisa.rand2(out, -1.0, 3.0)
    nisa.rand_get_state(last, nisa.vector_engine)


def _uniform(old: Array, last: Array, state: Array) -> tuple[Array, Array]:
    words, after = _drawn(old, last, state)
    return uniform(words) * F32(4) + F32(-1), after


def _seeds(out: Any, seed: Any) -> None:
    nisa.set_rng_seed(seed)
    nisa.rng(out)


def _dropped(x: Array, where: Array) -> Array:
    """Elements that the mask keeps take the numbers, in order."""
    rows = x.shape[0]
    kept = where.reshape(rows, -1)
    found = x.reshape(rows, -1).copy()
    words, _ = draws(seeded(7, rows), int(kept.sum(axis=1).max()))
    for row in range(rows):
        places = np.flatnonzero(kept[row])
        lost = uniform(words[row, : places.size]) < F32(0.25)
        found[row, places[lost]] = 0
    return found.reshape(x.shape)


def _after_seed(module: Any, function: Any) -> Any:
    def call(*operands: Any, **named: Any) -> Any:
        # Later generations take the seed in a tile.
        seed = 7 if module is fl else nl.full((1, 1), 7, nl.int32)
        module.random_seed(seed)
        return function(*operands, **named)

    return call


RANDOM = (
    *(
        Row(
            name=f"nisa.{name}",
            shapes=FEW,
            operands=one("u32", shape=_state, draw=_words),
            outs=(Operand("u32"), Operand("u32", shape=_state)),
            updates=True,
            without=LANE,
            destination=_rng,
            thorough=name == "rng",
            want=_drawn,
        )
        for name in ("rng", "rand_set_state", "rand_get_state")
    ),
    Row(
        name="nisa.rand2",
        shapes=FEW,
        operands=one("u32", shape=_state, draw=_words),
        outs=(Operand(), Operand("u32", shape=_state)),
        updates=True,
        without=LANE,
        destination=_rand2,
        target="trn3",
        want=_uniform,
    ),
    Row(
        name="nisa.set_rng_seed",
        shapes=FEW,
        operands=one("u32", shape=_single, draw=_words),
        outs=one("u32"),
        updates=True,
        without=LANE,
        destination=_seeds,
        thorough=False,
        want=lambda old, seed: _numbers(
            seeded(int(seed[0, 0]), old.shape[0]), old.shape
        ),
    ),
    *(
        Row(
            name=f"nl.{name}",
            shapes=FEW,
            functional=_after_seed(fl, lambda x: fl.rand(x.shape, x.dtype)),
            destination=_after_seed(nl, lambda x: nl.rand(x.shape, x.dtype)),
            returns=True,
            thorough=False,
            without={"mask": "an engine has one generator", "loop": "it starts once"},
            want=lambda x: uniform(_numbers(seeded(7, x.shape[0]), x.shape)),
        )
        for name in ("rand", "random_seed")
    ),
    Row(
        name="nl.dropout",
        shapes=FEW,
        functional=_after_seed(fl, lambda x, **k: fl.dropout(x, 0.25, **k)),
        destination=_after_seed(nl, lambda x: nl.dropout(x, 0.25)),
        returns=True,
        folds=True,
        thorough=False,
        masked=FEW[:1],
        refused=ONE_LENGTH,
        without={"of a loop": "the generator goes on", **LANE},
        want=_dropped,
    ),
    Row(
        name="nisa.dropout",
        thorough=False,
        shapes=FEW,
        functional=_after_seed(fl, lambda x, **k: fisa.dropout(x, 0.25, **k)),
        destination=_after_seed(nl, lambda out, x: nisa.dropout(out, x, 0.25)),
        folds=True,
        masked=FEW[:1],
        refused=ONE_LENGTH,
        without={"of a loop": "the generator goes on", **LANE},
        want=_dropped,
    ),
)

# -- registers ---------------------------------------------------------------------


def _through_register(out: Any, x: Any) -> None:
    register = nisa.register_alloc()
    nisa.register_load(register, x)
    nisa.register_store(out, register)


def _through_scalar(out: Any, x: Any) -> None:
    nisa.scalar_store(out, nisa.scalar_load(x))


def _computed_scalar(out: Any, x: Any) -> None:
    scalar = nisa.scalar_load(x)
    assert isinstance(scalar, nisa.NkiScalar)
    nisa.scalar_store(out, 7 - scalar * scalar * 4 + 1)


def _moved_register(out: Any, x: Any) -> None:
    register, other = nisa.register_alloc(x), nisa.register_alloc(3)
    nisa.register_move(other, register)
    nisa.register_store(out, other)


REGISTERS = tuple(
    Row(
        name=f"nisa.{name}",
        shapes=((1, 1),),
        operands=one("i32", draw=integers(-99, 99)),
        outs=one("i32"),
        destination=call,
        thorough=name == "register_load",
        want=lambda x: x,
    )
    for name, call in (
        ("register_load", _through_register),
        ("register_store", _through_register),
        ("register_alloc", _moved_register),
        ("register_move", _moved_register),
    )
)

SCALARS = tuple(
    Row(
        name=f"nisa.{name}",
        shapes=((1, 1),),
        operands=one(dtype, draw=integers(-(1 << 31), 1 << 31)),
        outs=one(dtype),
        destination=call,
        want=want,
        note=dtype,
    )
    for dtype in ("i32", "i64")
    for name, call, want in (
        ("scalar_load", _through_scalar, lambda x: x),
        ("scalar_store", _through_scalar, lambda x: x),
        ("NkiScalar", _computed_scalar, lambda x: 8 - 4 * x * x),
    )
)

# -- indices from data ---------------------------------------------------------------


def _more(shape: Shape) -> Shape:
    return (shape[0], shape[1] + 1)


def _nonzero(x: Array) -> Array:
    found = np.full((x.shape[0], x.shape[1] + 1), -7, np.int32)
    for row, given in zip(found, x, strict=True):
        places = np.flatnonzero(given) + 100
        row[: places.size] = places
        row[-1] = places.size
    return found


def _kept_nonzero(old: Array, x: Array) -> Array:
    cores = (np.arange(x.shape[0]) % 16 == 0)[:, None]
    return np.where(cores, _nonzero(x), old)


def _bounds_of(ids: Array) -> Array:
    """A segment is a run of one id (nki.isa.sequence_bounds of 2.26)."""
    count = ids.shape[1]
    found = np.zeros((1, 2, count), np.int32)
    place = 0
    for each, run in groupby(ids[0].tolist()):
        after = place + len(list(run))
        bounds = (place, after) if each else (count, -1)
        found[0, :, place:after] = np.array(bounds)[:, None]
        place = after
    return found


def _segments(random: np.random.Generator, shape: Shape, dtype: str) -> Array:
    """Segments of two of the storage, whose ids come back, whatever part is seen."""
    flat = np.arange(int(np.prod(shape))) // 2 % 3
    return flat.astype(STORAGE[dtype]).reshape(shape)


def _sixteen(random: np.random.Generator, shape: Shape, dtype: str) -> Array:
    count = int(np.prod(shape))
    return random.permutation(count).reshape(shape).astype(STORAGE[dtype])


def _largest(values: Array, places: Array, x: Array) -> tuple[Array, Array]:
    """The 16 largest of the snake through each 16 partitions, ascending."""
    values, places = values.astype(F32), places.copy()
    for first in range(0, x.shape[0], 16):
        group = slice(first, first + 16)
        snake = x[group].astype(F32).T.reshape(-1)[:20]
        taken = np.argsort(-snake, kind="stable")[:16][::-1]
        values[group, 0], places[group, 0] = snake[taken], taken
    return values, places


def _sixteen_columns(shape: Shape) -> Shape:
    return (shape[0], 16)


INDICES = (
    Row(
        name="nisa.nonzero_with_count",
        shapes=((1, 13), (17, 7), (128, 5), (1, 1)),
        operands=one("i32", draw=integers(0, 2)),
        outs=(Operand("i32", shape=_more),),
        updates=True,
        destination=lambda out, x: nisa.nonzero_with_count(
            out, x, index_offset=100, padding_val=-7
        ),
        want=_kept_nonzero,
    ),
    Row(
        name="nisa.sequence_bounds",
        shapes=((1, 13), (1, 6), (1, 1)),
        operands=one("i32", draw=_segments, never=("broadcast",)),
        outs=(Operand("i32", shape=lambda s: (1, 2, s[1])),),
        destination=lambda out, x: nisa.sequence_bounds(out, x),
        want=_bounds_of,
    ),
    Row(
        name="nisa.topk",
        shapes=((16, 2), (32, 3), (128, 2)),
        operands=one("bf16", draw=_sixteen, never=("broadcast",)),
        outs=(
            Operand("bf16", shape=_sixteen_columns),
            Operand("u32", shape=_sixteen_columns),
        ),
        updates=True,
        destination=lambda out, places, x: nisa.topk(out, places, x, 20),
        thorough=False,
        want=_largest,
    ),
)

ROWS = (*RANDOM, *REGISTERS, *SCALARS, *INDICES)
