"""The 8-wide search, and indices from data (bir.md 6.8, nki.md 1.1)."""

from typing import Final

import numpy as np
from oracle.elementwise import destination, fields
from oracle.kernel import Draw, Tile, oracle
from oracle.numbers import F32, FLOATS, NUMBERS, Array, Result, cast, immediate, narrow

WIDTH: Final = 8


def _searched(d: Draw) -> tuple[int, ...]:
    """8 to 16384 elements; ordinary numbers, so that many are equal."""
    return d.pick(((8,), (9,), (3, 5), (4, 7), (40,), (300,)))


def _source(d: Draw, rows: int, dtype: str) -> Tile:
    free = _searched(d)
    shape = (rows, *free)
    small = d.random.integers(-6, 7, shape).astype(F32)
    special = np.array([np.nan, np.inf, -np.inf, 0.5, 1e-40, 3e38], F32)
    rare = d.random.random(shape) < d.pick((0.0, 0.05, 0.4))
    values = np.where(rare, d.random.choice(special, shape), small)
    return d.tile(shape, dtype, contents=narrow(values, dtype))


def _ordered(row: Array) -> Array:
    """Descending, and a NaN is larger than every number (numerics.md)."""
    bad = np.isnan(row)
    return np.concatenate([row[bad], np.sort(row[~bad])[::-1]])


@oracle("penguin.sunda_max8", "bir.max")
def max8(d: Draw) -> None:
    d.arch()
    a = _source(d, d.partitions(), d.pick(NUMBERS))
    out = d.tile((a.shape[0], *d.another((WIDTH,))), d.pick(NUMBERS), written=True)
    where, mask = d.mask((a.shape[0],), "rows")
    d.run(f"penguin.sunda_max8 {out} <- {a}{where}")
    found = np.stack([_ordered(row)[:WIDTH] for row in a.wide])
    written = np.broadcast_to(mask, found.shape)
    d.expect(out, Result(narrow(found, out.dtype), "numbers"), written)


def _values(d: Draw, a: Tile) -> Tile:
    """Values to look for: of the data, some twice, some absent."""
    rows, count = a.raw.shape
    places = d.random.integers(0, count, (rows, WIDTH))
    found = np.take_along_axis(a.wide, places, axis=1)
    absent = d.random.random(found.shape) < 0.2
    found = np.where(absent, d.random.integers(-9, 9, found.shape), found)
    dtype = a.dtype if d.chance(2) else "f32"
    return d.tile((rows, WIDTH), dtype, contents=narrow(found, dtype))


def _find(row: Array, values: Array, order: range) -> list[int]:
    """The place of each value; equal ones take one occurrence after another."""
    taken = np.zeros(row.shape, bool)
    found = [-1] * WIDTH
    for each in order:
        places = np.flatnonzero((row == values[each]) & ~taken)
        if places.size:
            found[each] = int(places[0])
            taken[places[0]] = True
    return found


def _indices(found: Array, dtype: str) -> Array:
    """All ones where there is none."""
    return found.astype(np.int64).astype(np.uint16 if dtype == "u16" else np.uint32)


@oracle("penguin.sunda_max_index8", "bir.max_index")
def find_index8(d: Draw) -> None:
    d.arch()
    a = _source(d, d.partitions(), d.pick(NUMBERS))
    values = _values(d, a)
    out = d.tile((a.shape[0], WIDTH), d.pick(("u16", "u32")), written=True)
    where, mask = d.mask((a.shape[0],), "rows")
    d.run(f"penguin.sunda_max_index8 {out} <- {a}, {values}{where}")
    pairs = zip(a.wide, values.wide, strict=True)
    found = np.array([_find(row, wanted, range(WIDTH)) for row, wanted in pairs])
    written = np.broadcast_to(mask, found.shape)
    d.expect(out, Result(_indices(found, out.dtype)), written)


@oracle("penguin.sunda_match_replace8", "bir.match_replace")
def match_replace8(d: Draw) -> None:
    _match_replace(d, with_index=False)


@oracle("penguin.max_index_and_match_replace", "bir.max_index_and_match_replace")
def match_replace_indices8(d: Draw) -> None:
    _match_replace(d, with_index=True)


def _match_replace(d: Draw, *, with_index: bool) -> None:
    d.arch(30 if with_index else 20)
    a = _source(d, d.partitions(), d.pick(NUMBERS))
    values = _values(d, a)
    shape = (a.shape[0], *d.another(a.shape[1:]))
    out = destination(d, shape, a.dtype if d.chance(2) else d.pick(FLOATS), "", a)
    index = None
    if with_index:
        index = d.tile((a.shape[0], WIDTH), d.pick(("u16", "u32")), written=True)
    value = d.pick((0.0, float("-inf"), -1.25))
    where, mask = d.mask((a.shape[0],), "rows")
    name = "max_index_and_match_replace" if with_index else "sunda_match_replace8"
    second = "" if index is None else f", {index}"
    d.run(
        f"penguin.{name} {out}{second} <- {a}, {values}{where}"
        f"{fields(f'imm = {immediate(value)}')}"
    )
    # Equal values are processed from 7 down to 0 (nki.md 1.1).
    pairs = zip(a.wide, values.wide, strict=True)
    found = np.array(
        [_find(row, wanted, range(WIDTH - 1, -1, -1)) for row, wanted in pairs]
    )
    stored = cast(a.raw, a.dtype, out.dtype)
    filled = narrow(np.array([value]), out.dtype)[0]
    for row, places in zip(stored, found, strict=True):
        row[places[places >= 0]] = filled
    d.expect(out, Result(stored), np.broadcast_to(mask, stored.shape))
    if index is not None:
        written = np.broadcast_to(mask, found.shape)
        d.expect(index, Result(_indices(found, index.dtype)), written)


@oracle("penguin.nonzero_with_count", "bir.nonzero_with_count")
def nonzero_with_count(d: Draw) -> None:
    d.arch(30)
    rows, count = d.pick((1, 16, 17, 32, 64, 128)), d.number(1, 20)
    kind = d.pick(("f32", "i32"))
    values = d.random.integers(-1, 2, (rows, count)).astype(F32)
    if kind == "f32":
        special = d.random.choice(np.array([np.nan, -0.0, 1e-45], F32), values.shape)
        values = np.where(d.random.random(values.shape) < 0.2, special, values)
    a = d.tile((rows, count), kind, contents=narrow(values, kind))
    out = d.tile((rows, count + 1), "i32", written=True)
    offset, padding = d.pick((0, 3, -7)), d.pick((-1, 0, 99))
    d.run(
        f"penguin.nonzero_with_count {out} <- {a}"
        f"{fields(f'index_offset = {offset}', f'padding = {padding}')}"
    )
    found = np.full((rows, count + 1), padding, np.int32)
    for row, given in zip(found, a.wide, strict=True):
        places = np.flatnonzero(given != 0) + offset
        row[: places.size] = places
        row[count] = places.size
    # Only the first partition of each core is read and written.
    cores = (np.arange(rows) % 16 == 0)[:, None]
    d.expect(out, Result(found), np.broadcast_to(cores, found.shape))


@oracle("penguin.get_sequence_bounds", "bir.get_sequence_bounds")
def sequence_bounds(d: Draw) -> None:
    d.arch(30)
    lengths = [d.number(1, 6) for _ in range(d.number(1, 8))]
    # Few ids, so that one comes back: another segment (sequence_bounds of 2.26).
    segments = np.repeat([d.number(0, 4) for _ in lengths], lengths)
    count = segments.size
    kind = d.pick(("f32", "i32"))
    a = d.tile((1, count), kind, contents=narrow(segments[None].astype(F32), kind))
    out = d.tile((1, 2, count), d.pick(("f32", "i32")), written=True)
    d.run(f"penguin.get_sequence_bounds {out} <- {a}")
    found = np.zeros((2, count), F32)
    for place, segment in enumerate(segments):
        if segment == 0:
            found[:, place] = (count, -1)
            continue
        first = last = place
        while first > 0 and segments[first - 1] == segment:
            first -= 1
        while last + 1 < count and segments[last + 1] == segment:
            last += 1
        found[:, place] = (first, last + 1)
    d.expect(out, Result(narrow(found.reshape(1, -1), out.dtype)))
