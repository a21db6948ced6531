"""What DMA moves: direct, by an index, and transposed (dma.md 10, bir.md 6.1, 6.3)."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from oracle.alu import OPERATIONS
from oracle.elementwise import fields
from oracle.kernel import Draw, Tile, oracle
from oracle.numbers import (
    NUMBERS,
    PACKED,
    STORAGE,
    WIDE_INTEGERS,
    Array,
    Result,
    cast,
    is_integer,
    narrow,
    wide,
)

EVERY: Final = (*NUMBERS, *WIDE_INTEGERS, *PACKED, "f8e8m0fnu")
ADDED: Final = ("f32", "f32", "bf16", "f16", "f8e4m3", "i32", "u32", "i64", "i16", "u8")


def pair_of_types(d: Draw, *, add: bool = False) -> tuple[str, str]:
    """(destination, source); packed types go to themselves only."""
    source = d.pick(ADDED if add else EVERY)
    if d.chance(2) or source in PACKED:
        return source, source
    return d.pick(ADDED if add else (*NUMBERS, *WIDE_INTEGERS)), source


def moved(raw: Array, source: str, target: str) -> Result:
    """Every bit between equal types."""
    return Result(cast(raw, source, target), "bits" if source == target else "values")


def added(old: Array, dtype: str, new: Array, source: str) -> Array:
    """
    What memory holds after an addition (bir.md 10.3).

    32 and 64-bit integers of one type wrap; everything else is added in fp32.
    """
    if dtype == source and is_integer(dtype) and old.dtype.itemsize >= 4:
        unsigned = f"u{old.dtype.itemsize}"
        joined = old.view(unsigned) + new.view(unsigned)
        return joined.view(old.dtype)
    with np.errstate(all="ignore"):
        return narrow(wide(old, dtype) + wide(new, source), dtype)


def place(
    d: Draw, shape: Sequence[int], dtype: str, space: str, written: bool = False
) -> Tile:
    """A tensor in either memory."""
    if space == "hbm":
        return d.memory(shape, dtype, written=written)
    return d.tile(shape, dtype, written=written)


def _direct(d: Draw, name: str, dst_space: str, src_space: str, rmw: bool) -> None:
    d.arch()
    free = d.free()
    if "sbuf" in (dst_space, src_space):
        shape = (d.partitions(), *free)
    else:
        shape = (d.number(1, 20), *free)
    add = rmw and d.chance(2)
    kinds = pair_of_types(d, add=add)
    a = place(d, shape, kinds[1], src_space)
    out = place(d, shape, kinds[0], dst_space, written=True)
    where, mask = d.mask(shape)
    op = "rmw_op = add" if add else ""
    d.run(f"penguin.{name} {out} <- {a}{where}{fields(op)}")
    if add:
        d.expect(out, Result(added(out.raw, out.dtype, a.raw, a.dtype)), mask)
    else:
        d.expect(out, moved(a.raw, a.dtype, out.dtype), mask)


@oracle("penguin.sb_atom_load", "bir.load", "dma.copy")
def load(d: Draw) -> None:
    _direct(d, "sb_atom_load", "sbuf", "hbm", rmw=False)


@oracle("penguin.sb_atom_store", "bir.save", "dma.cce")
def store(d: Draw) -> None:
    _direct(d, "sb_atom_store", "hbm", "sbuf", rmw=True)


@oracle("penguin.dma_copy", "bir.dma_copy")
def dma_copy(d: Draw) -> None:
    spaces = d.pick(
        (("hbm", "hbm"), ("sbuf", "sbuf"), ("hbm", "sbuf"), ("sbuf", "hbm"))
    )
    _direct(d, "dma_copy", *spaces, rmw=True)


@oracle("penguin.neuron_replicate_ap", "bir.dma_copy_replicate", "dma.replicate")
def replicate(d: Draw) -> None:
    d.arch()
    rows, copies, columns = d.number(1, 16), d.number(1, 4), d.number(1, 20)
    kinds = pair_of_types(d)
    spaces = d.pick(
        (("hbm", "hbm"), ("sbuf", "sbuf"), ("hbm", "sbuf"), ("sbuf", "hbm"))
    )
    a = place(d, (rows, columns), kinds[1], spaces[1])
    out = place(d, (rows * copies, columns), kinds[0], spaces[0], written=True)
    d.run(f"penguin.neuron_replicate_ap {out} <- {a}")
    d.expect(out, moved(np.tile(a.raw, (copies, 1)), a.dtype, out.dtype))


@oracle("penguin.tiled_offloaded_fma", "bir.dma_copy_cce", "dma.fold")
def fold(d: Draw) -> None:
    """0 + constant * source in order, or the extreme from the first source on."""
    d.arch()
    shape = (d.partitions(), *d.free())
    count = d.number(1, 16) if d.chance(4) else d.number(2, 4)
    sources = [
        place(d, shape, d.pick(ADDED), d.pick(("hbm", "sbuf"))) for _ in range(count)
    ]
    space = d.pick(("hbm", "sbuf"))
    out = place(d, shape, d.pick(ADDED), space, written=True)
    where, mask = d.mask(shape)
    op = d.pick(("add", "add", "max", "min"))
    factors = [1.0] * count
    constants = ""
    if op == "add" and d.chance(2):
        factors = [d.pick((1.0, 0.5, -2.0, 0.1, 3.0)) for _ in sources]
        constants = f"constants = {factors}"
    first, *others = sources
    named = "".join(f", src{at} = {x}" for at, x in enumerate(others, 1))
    text = "" if op == "add" else f"op = {op}"
    d.run(
        f"penguin.tiled_offloaded_fma {out} <- {first}{named}{where}"
        f"{fields(text, constants)}"
    )
    with np.errstate(all="ignore"):
        if op == "add":
            total = np.zeros(first.wide.shape, np.float32)
            for x, factor in zip(sources, factors, strict=True):
                total = total + x.wide * np.float32(factor)
        else:
            total = first.wide
            for x in others:
                total = OPERATIONS[op](total, x.wide)
        d.expect(out, Result(narrow(total, out.dtype)), mask)


# -- by an index ---------------------------------------------------------------------


def drawn_index(d: Draw, rows: int, limit: int, skip: bool, dtype: str) -> Tile:
    """Rows to pick, some twice; beyond the limit where that is skipped."""
    found = d.random.integers(0, limit, (rows, 1))
    if skip:
        beyond = d.random.random((rows, 1)) < 0.3
        found = np.where(beyond, limit + d.random.integers(0, 5, (rows, 1)), found)
    if dtype == "i32":
        found = np.where(d.random.random((rows, 1)) < 0.1, -1, found)
    return d.tile((rows, 1), dtype, contents=found.astype(STORAGE[dtype]))


def picked(table: Tile, index: Tile, limit: int) -> tuple[Array, Array]:
    """(flat places of each row in the table, which rows are picked)."""
    rows = index.raw[:, 0].astype(np.int64)
    valid = (rows >= 0) & (rows < limit)
    first = table.places[0].reshape(1, -1)
    step = 0
    if table.places.shape[0] > 1:
        step = int((table.places[1] - table.places[0]).reshape(-1)[0])
    else:
        step = table.array.size  # one row: only index 0 can be named
    return first + step * np.where(valid, rows, 0)[:, None], valid[:, None]


@oracle("penguin.neuron_indirect_load", "bir.generic_indirect_load", "dma.gather")
def indirect_load(d: Draw) -> None:
    d.arch()
    rows, free = d.pick((2, 3, 32, 64, 70, 128)), d.free(24)
    limit = d.number(1, 9)
    skip = d.chance(3)
    kinds = pair_of_types(d)
    table = d.memory((rows, *free), kinds[1], rows=limit)
    index = drawn_index(d, rows, limit, skip, d.pick(("i32", "u32")))
    out = d.tile((rows, *free), kinds[0], written=True)
    where, mask = d.mask(out.shape)
    d.run(
        f"penguin.neuron_indirect_load {out} <- {table}, {index}{where}"
        f"{fields(f'max_index = {limit}', 'oob = skip' if skip else '')}"
    )
    places, valid = picked(table, index, limit)
    raw = table.array.reshape(-1)[places]
    d.expect(out, moved(raw, table.dtype, out.dtype), mask & valid)


@oracle(
    "penguin.neuron_indirect_save",
    "bir.generic_indirect_save",
    "dma.scatter",
)
def indirect_save(d: Draw) -> None:
    _scatter(d, add=False)


@oracle("penguin.neuron_indirect_rmw", "bir.indirect_save_accumulate")
def indirect_rmw(d: Draw) -> None:
    _scatter(d, add=True)


def _scatter(d: Draw, *, add: bool) -> None:
    d.arch()
    rows, free = d.pick((2, 3, 32, 64, 70, 128)), d.free(24)
    limit = d.number(1, 9)
    skip = not add and d.chance(3)
    kinds = pair_of_types(d, add=add)
    table = d.memory((rows, *free), kinds[0], written=True, rows=limit)
    index = drawn_index(d, rows, limit, skip, d.pick(("i32", "u32")))
    a = d.tile((rows, *free), kinds[1])
    where, mask = d.mask(table.shape)
    name = "neuron_indirect_rmw" if add else "neuron_indirect_save"
    d.run(
        f"penguin.{name} {table} <- {a}, {index}{where}"
        f"{fields(f'max_index = {limit}', 'oob = skip' if skip else '')}"
    )
    places, valid = picked(table, index, limit)
    new = a.raw if add else cast(a.raw, a.dtype, table.dtype)
    after = table.array.reshape(-1).copy()
    chosen = mask & valid
    for row in range(rows):  # in index order: the last of equal ones wins
        kept = chosen[row]
        target = places[row][kept]
        value = new[row][kept]
        if add:
            value = added(after[target], table.dtype, value, a.dtype)
        after[target] = value
    touched = np.unique(places[chosen])
    how = "bits" if not add and a.dtype == table.dtype else "values"
    d.expect_places(table, touched, Result(after[touched], how))


# -- transposes ----------------------------------------------------------------------

AXES: Final = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}


def _transpose(d: Draw, name: str, space: str) -> None:
    d.arch()
    rank = d.number(2, 4)
    shape = [d.number(1, 12) for _ in range(rank)]
    shape[-1] = d.partitions()
    if space == "sbuf":
        shape[0] = d.partitions()
        shape[1:-1] = [min(each, 3) for each in shape[1:-1]]
    dtype = d.pick(EVERY)
    axes = AXES[rank]
    a = place(d, shape, dtype, space)
    out = d.tile([shape[axis] for axis in axes], dtype, written=True)
    where, mask = d.mask(shape)
    d.run(f"penguin.{name} {out} <- {a}{where} {{axes = {list(axes)}}}")
    raw = a.array.reshape(-1)[a.places].transpose(axes)
    d.expect(
        out,
        Result(raw, "bits"),
        mask.reshape(shape).transpose(axes).reshape(out.rows.shape),
    )


@oracle("penguin.dma_transpose_load", "bir.dma_copy_transpose", "dma.transpose")
def transpose_load(d: Draw) -> None:
    _transpose(d, "dma_transpose_load", "hbm")


@oracle("penguin.dma_transpose_copy")
def transpose_copy(d: Draw) -> None:
    _transpose(d, "dma_transpose_copy", "sbuf")


@oracle(
    "penguin.dma_indirect_transpose",
    "bir.dma_copy_gather_transpose",
    "dma.gather_transpose",
)
def gather_transpose(d: Draw) -> None:
    d.arch(30)
    rows, limit = d.pick((16, 32, 64)), d.number(1, 9)
    free = (d.number(1, 4), d.number(1, 40))
    skip = d.chance(2)
    oob = "oob = skip" if skip else ""
    dtype = d.pick(("bf16", "f16", "i16", "u16"))
    table = d.memory((rows, *free), dtype, rows=limit)
    index = drawn_index(d, rows, limit, skip, "u32")
    out = d.tile((free[1], free[0], rows), dtype, written=True)
    d.run(
        f"penguin.dma_indirect_transpose {out} <- {table}, {index}"
        f"{fields('axes = [2, 1, 0]', f'max_index = {limit}', oob)}"
    )
    places, valid = picked(table, index, limit)
    raw = table.array.reshape(-1)[places].reshape(rows, *free).transpose(2, 1, 0)
    written = np.broadcast_to(valid[:, 0], (*free[::-1], rows))
    d.expect(out, Result(raw, "bits"), written.reshape(out.rows.shape))
