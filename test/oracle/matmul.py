"""The tensor engine, and transposes on chip (bir.md 6.9, 6.10)."""

from typing import Final

import numpy as np
from oracle.elementwise import fields
from oracle.kernel import Draw, Tile, oracle
from oracle.movement import EVERY
from oracle.numbers import (
    FP8,
    PACKED,
    STORAGE,
    WIDE_INTEGERS,
    Array,
    Near,
    Result,
    narrow,
    tf32,
    wide,
)

LOW: Final = ("bf16", "f16", *FP8[1:2], "f8e5m2")
"""Types of operands: these among each other, fp32 and tf32 among each other."""


def operand_values(tile: Tile) -> Array:
    """What the array multiplies: tf32 rounds, the others are exact in float64."""
    values = tile.wide
    return (tf32(values) if tile.dtype == "tf32" else values).astype(np.float64)


def product(left: Array, right: Array) -> Near:
    """left.T @ right, in any order of fp32 additions."""
    error = np.abs(left).T @ np.abs(right) * (left.shape[0] + 2) * 2.0**-23
    return Near(left.T @ right, error)


def joined(found: Near, old: Array, accumulate: bool) -> Near:
    """With what PSUM held."""
    if not accumulate:
        return found
    error = found.error + (np.abs(found.values) + np.abs(old)) * 2.0**-23
    return Near(found.values + old, error)


@oracle("penguin.matmul", "bir.matmult")
def matmul(d: Draw) -> None:
    d.arch()
    if d.level >= 30 and d.chance(5):
        _array_transpose(d)
        return
    depth, height = d.partitions(), d.number(1, 40)
    columns = d.free(24)
    types = ("f32", "tf32") if d.chance(2) else LOW
    left = d.tile((depth, height), d.pick(types), plain=True)
    right = d.tile((depth, *columns), d.pick(types), plain=True)
    dtype = "bf16" if d.level == 40 and d.chance(3) else "f32"
    out = d.tile((height, *columns), dtype, space="psum", written=True, plain=True)
    how = d.pick(("", "overwrite", "accumulate"))
    where, kept, terms = _matmul_mask(d, depth, out)
    first = operand_values(left) * terms
    if not where and d.chance(4):
        # Over the contraction and the stationary's rows: 0 in the left-out places.
        shift = d.number(-3, 6)
        k, m = np.indices(first.shape)
        where, first = f" where {shift} + l0 - l1 >= 0", first * (shift + k - m >= 0)
        kept = kept & (shift + depth - 1 >= 0)
    field = f"accumulate = {how}" if how else ""
    d.run(f"penguin.matmul {out} <- {left}, {right}{where}{fields(field)}")
    found = product(first, operand_values(right) * terms)
    # Its tile was written before, so an open flag adds.
    found = joined(found, out.wide.astype(np.float64), how != "overwrite")
    d.expect(out, found, kept)


def _matmul_mask(d: Draw, depth: int, out: Tile) -> tuple[str, Array, Array]:
    """Over the contraction, or over rows and columns of the result."""
    everywhere = np.ones(out.rows.shape, bool)
    terms = np.ones((depth, 1))
    match d.number(1, 6):
        case 1:
            last = d.number(0, depth - 1)
            terms = (np.arange(depth) <= last)[:, None] * 1.0
            return f" where {last} - l0 >= 0", everywhere, terms
        case 2:
            last = d.number(0, out.shape[0] - 1)
            rows = (np.arange(out.shape[0]) <= last)[:, None]
            return f" where {last} - l1 >= 0", everywhere & rows, terms
        case _:
            return "", everywhere, terms


def _array_transpose(d: Draw) -> None:
    depth, height = d.partitions(), d.number(1, 40)
    dtype = d.pick(("f32", "bf16", "f16", "f8e4m3"))
    identity = np.eye(depth, dtype=np.float32).astype(STORAGE[dtype])
    left = d.tile((depth, height), dtype)
    right = d.tile((depth, depth), dtype, contents=identity)
    out = d.tile((height, depth), dtype, space="psum", written=True)
    d.run(
        f"penguin.matmul {out} <- {left}, {right} "
        "{accumulate = overwrite, is_transpose}"
    )
    d.expect(out, Result(left.raw.T, "bits"))


@oracle("penguin.transpose", "bir.stream_transpose")
def transpose(d: Draw) -> None:
    d.arch()
    on_vector = d.chance(2)
    limit = 32 if on_vector else 128
    shape = (min(d.partitions(), limit), d.number(1, limit))
    # Gen2's array multiplies by an identity, which is exact for finite values only.
    plain = not on_vector and d.level == 20
    types = ("f32", "bf16", "f16") if not on_vector else EVERY
    dtype = d.pick([t for t in types if t not in (*PACKED, *WIDE_INTEGERS)])
    a = d.tile(shape, dtype, plain=plain)
    to = "f32" if plain else dtype
    space = "psum" if not on_vector else d.pick(("sbuf", "psum"))
    out = d.tile(shape[::-1], to, space=space, written=True)
    where, mask = d.mask(shape)
    engine = d.pick(("", "engine = PE")) if not on_vector else "engine = DVE"
    d.run(f"penguin.transpose {out} <- {a}{where}{fields(engine)}")
    if to == dtype:
        d.expect(out, Result(a.raw.T, "values" if plain else "bits"), mask.T)
    else:
        d.expect(out, Result(narrow(wide(a.raw, dtype), to).T, "numbers"), mask.T)


@oracle("penguin.matmul_sparse", "bir.matmult_sparse")
def matmul_sparse(d: Draw) -> None:
    """Weights of groups of 4 rows, each at one of 4 * ratio dense rows by its tag."""
    d.arch(30)
    ratio = d.pick((1, 2, 4))
    depth, height, columns = 4 * d.number(1, 8), 4 * d.number(1, 6), 2 * d.number(1, 12)
    types = ("bf16", "f16")
    tags = d.random.integers(0, 4 * ratio, (depth, height))
    words = (tags.reshape(depth, -1, 4) << np.array([0, 4, 8, 12])).sum(axis=2)
    left = d.tile((depth, height), d.pick(types), plain=True, start=0)
    right = d.tile((depth, ratio, columns), d.pick(types), plain=True, start=0)
    tag = d.tile(words.shape, "u16", contents=words.astype(np.uint16), start=0)
    out = d.tile(
        (height, columns), "f32", space="psum", written=True, plain=True, start=0
    )
    d.run(
        f"penguin.matmul_sparse {out} <- {left}, {right}, {tag} "
        f"{{compress_ratio = {ratio}, accumulate = overwrite}}"
    )
    weights = operand_values(left)
    dense = np.zeros((depth * ratio, height))
    for row in range(depth):
        for column in range(height):
            place = row // 4 * 4 * ratio + tags[row, column]
            dense[place, column] += weights[row, column]
    moving = operand_values(right).reshape(depth * ratio, columns)
    d.expect(out, product(dense, moving))
