"""Folds over free dimensions, windows and partitions, and scans (bir.md 6.7, 6.5)."""

from collections.abc import Callable
from typing import Final

import numpy as np
from oracle.alu import EXACT, ROW, apply, bitwise, compared, cut
from oracle.elementwise import destination, fields, scalar, tile_space
from oracle.kernel import Draw, Tile, oracle
from oracle.numbers import (
    F32,
    INTEGERS,
    NUMBERS,
    Array,
    Near,
    Result,
    any_of,
    bits_of,
    immediate,
    narrow,
)

IDENTITY: Final = {
    "add": 0.0,
    "subtract": 0.0,
    "mult": 1.0,
    "max": -np.inf,
    "min": np.inf,
    "logical_and": 1.0,
    "logical_or": 0.0,
    "logical_xor": 0.0,
    "abs_max": 0.0,
    "abs_min": np.inf,
}
"""What a fold starts from, and what a mask puts in the places it leaves out."""

FOLDS: Final = tuple(op for op in IDENTITY if op != "abs_min")
"""What the vector engine folds free dimensions with (Supported Math Operators)."""

NARROW: Final = tuple(t for t in NUMBERS if t not in ("i32", "u32"))


def _many(values: Array, operation: Callable[[Array], Array]) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(operation(values))


def _one_by_one(op: str, values: Array) -> Array:
    """Each element folded into those before it."""
    found = values[:, 0]
    for at in range(1, values.shape[1]):
        found = apply(op, found, values[:, at])
    return found[:, None]


def fold(op: str, values: Array, where: Array) -> Near | Result:
    """
    fp32 rows [P, N] folded with `op` over the places that count, uncast.

    Sums and products may be taken in any order; the rest is exact.
    """
    count = values.shape[1]
    kept = np.where(where, values, F32(IDENTITY[op]))
    if op in ("abs_max", "abs_min"):
        return Result(_one_by_one(op, kept))
    if op in ("max", "min"):
        largest = np.fmin if op == "min" else np.fmax
        found = _many(kept, lambda v: largest.reduce(v, axis=1, keepdims=True))
        bad = np.isnan(kept).any(axis=1, keepdims=True)
        return Result(np.where(bad, np.nan, found).astype(F32), "numbers")
    if op.startswith("logical"):
        true = kept != 0
        both = {
            "logical_and": true.all(axis=1),
            "logical_or": true.any(axis=1),
            "logical_xor": true.sum(axis=1) % 2 == 1,
        }[op]
        return Result(both[:, None].astype(F32))
    exact = kept.astype(np.float64)
    if op == "mult":
        found = _many(exact, lambda v: np.prod(v, axis=1, keepdims=True))
        scale = np.abs(np.nan_to_num(found, posinf=0, neginf=0))
        # Another order may underflow on its way, or overflow: then it is anything.
        scale = scale + 1e-24
        grown = _many(np.maximum(np.abs(exact), 1), lambda v: np.prod(v, 1)[:, None])
        scale = np.where(grown > np.finfo(F32).max, np.inf, scale)
    else:
        # subtract: the first that counts without the others (bir.md 6.7).
        signs = np.full(exact.shape, -1.0 if op == "subtract" else 1.0)
        signs[np.arange(len(signs)), where.argmax(axis=1)] = 1.0
        found = _many(exact * signs, lambda v: v.sum(axis=1, keepdims=True))
        sizes = np.abs(np.nan_to_num(exact, posinf=0, neginf=0))
        scale = sizes.sum(axis=1, keepdims=True)
    return Near(found, scale * count * 2.0**-23)


def settled(found: Near | Result, dtype: str) -> Near | Result:
    """An uncast fp32 result as its destination holds it."""
    if isinstance(found, Near):
        return found
    return Result(narrow(found.stored, dtype), found.how)


@oracle("penguin.tensor_reduce", "bir.tensor_reduce")
def tensor_reduce(d: Draw) -> None:
    d.arch()
    shape = (d.partitions(), *d.free())
    count = d.number(1, len(shape) - 1)
    axes = list(range(len(shape) - count, len(shape)))
    kept = shape[: len(shape) - count]
    bits = d.chance(3)
    op = d.pick(("bitwise_and", "bitwise_or", "bitwise_xor") if bits else FOLDS)
    negate = not bits and d.chance(3)
    a = d.tile(
        shape,
        d.pick(INTEGERS if bits else NUMBERS),
        space=tile_space(d, ""),
        plain=op in ("add", "subtract", "mult"),
    )
    outer = kept if len(kept) > 1 else (*kept, 1)
    out = d.tile(
        (*kept, *(1,) * count) if d.chance(2) else outer,
        d.pick(INTEGERS if bits else NUMBERS),
        space=tile_space(d, ""),
        written=True,
    )
    where, mask = d.mask(shape, "box")
    mask = mask.reshape(shape[0], -1, int(np.prod(shape[len(kept) :])))
    d.run(
        f"penguin.tensor_reduce {op} {out} <- {a}{where}"
        f"{fields(f'axes = {axes}', 'negate' if negate else '')}"
    )
    rows = mask.reshape(-1, mask.shape[-1])
    written = rows.any(axis=1).reshape(shape[0], -1)
    if bits:
        value = a.raw.astype(object).reshape(rows.shape)
        width = max(bits_of(a.dtype), 8)
        start = -1 if op == "bitwise_and" else 0
        found = np.full((rows.shape[0],), start, object)
        signed = a.dtype.startswith("i")
        for column in range(rows.shape[1]):
            step = bitwise(op, found, value[:, column], width, signed)
            found = np.where(rows[:, column], step, found)
        stored = cut(
            bitwise("bitwise_or", found, np.array(0), width, signed), out.dtype
        )
        d.expect(out, Result(stored), written)
        return
    found = fold(op, a.wide.reshape(rows.shape), rows)
    if negate and isinstance(found, Near):
        found = Near(-found.values, found.error)
    elif negate and isinstance(found, Result):
        found = Result(-found.stored, found.how)
    d.expect(out, settled(found, out.dtype), written)


@oracle("penguin.partition_reduce", "bir.partition_reduce")
def partition_reduce(d: Draw) -> None:
    d.arch()
    free = d.free()
    rows = d.partitions()
    bits = d.chance(2)
    op = d.pick(("bitwise_and", "bitwise_or") if bits else ("add", "average", "max"))
    types = INTEGERS if bits else NUMBERS
    a = d.tile((rows, *free), d.pick(types), plain=op in ("add", "average"))
    out = d.tile((1, *d.another(free)), d.pick(types), written=True)
    d.run(f"penguin.partition_reduce {op} {out} <- {a}")
    columns = a.wide.T
    if bits:
        width = bits_of(a.dtype)
        found = a.raw.astype(object)[0]
        for row in a.raw[1:]:
            found = bitwise(op, found, row, width, a.dtype.startswith("i"))
        d.expect(out, Result(cut(found[None], out.dtype)))
        return
    average = op == "average"
    result = fold("add" if average else op, columns, np.ones(columns.shape, bool))
    if isinstance(result, Near):
        size = rows if average else 1
        d.expect(out, Near(result.values.T / size, result.error.T / size))
    else:
        d.expect(out, settled(Result(result.stored.T, result.how), out.dtype))


@oracle("penguin.pool", "bir.pool")
def pool(d: Draw) -> None:
    d.arch()
    outer = d.free(6)[:2]
    window = (d.number(1, 4), d.number(1, 4))
    rows = d.partitions()
    op = d.pick(("max", "average"))
    a = d.tile((rows, *outer, *window), d.pick(NUMBERS), plain=op == "average")
    out = d.tile((rows, *d.another(outer)), d.pick(NUMBERS), written=True)
    where, mask = d.mask((rows,), "rows")
    d.run(f"penguin.pool {op} {out} <- {a}{where}")
    size = window[0] * window[1]
    values = a.wide.reshape(-1, size)
    everywhere = np.ones(values.shape, bool)
    written = np.broadcast_to(mask, out.rows.shape)
    if op == "max":
        largest = fold("max", values, everywhere)
        assert isinstance(largest, Result)
        # Max starts at -FLT_MAX (bir.md 6.7).
        found = np.where(
            np.isnan(largest.stored),
            np.nan,
            np.fmax(largest.stored, -F32(3.4028235e38)),
        )
        d.expect(out, Result(narrow(found, out.dtype), "numbers"), written)
        return
    total = fold("add", values, everywhere)
    assert isinstance(total, Near)
    d.expect(out, Near(total.values / size, total.error / size), written)


@oracle("penguin.tensor_scalar_cache_reduce", "bir.tensor_scalar_cache_reduce")
def tensor_scalar_reduce(d: Draw) -> None:
    d.arch()
    # It takes three free dimensions.
    shape = (d.partitions(), *d.free()[:3])
    source = d.another(shape[1:])
    source = source if len(source) <= 3 else shape[1:]
    reduce_op = d.pick(ROW)
    sums = reduce_op not in ("max", "min")
    op = d.pick(("add", "mult", "subtract", "max") if sums else EXACT)
    a = d.tile((shape[0], *source), d.pick(NUMBERS), plain=sums)
    out = destination(d, shape, d.pick(NUMBERS), "", a)
    result = d.tile((shape[0], 1), d.pick(NUMBERS), written=True)
    given = scalar(d, 0, a, ("f32",))
    if sums and given.column is not None:
        given.column.array[...] = np.clip(np.nan_to_num(given.column.array), -4, 4)
    elif sums:
        given.value = d.pick((0.5, -1.0, 2.0))
    reverse = d.chance(4)
    where, mask = d.mask(out.shape, "box")
    d.run(
        f"penguin.tensor_scalar_cache_reduce {op} {reduce_op} {out} <- {a}, "
        f"reduce_res = {result}{given.operand}{where}"
        f"{fields(given.field, 'reverse0' if reverse else '')}"
    )
    value = apply(op, a.wide, given.wide, reverse=reverse)
    d.expect(out, Result(narrow(value, out.dtype), compared(op)), mask)
    rows = any_of(mask)
    found = settled(_row_result(reduce_op, value, mask), result.dtype)
    d.expect(result, found, rows)


def _row_result(op: str, values: Array, where: Array) -> Near | Result:
    if op != "subtract":
        return fold(op, values, where)
    # The first element, less the others.
    first = np.argmax(where, axis=1)[:, None]
    head = np.take_along_axis(values, first, axis=1).astype(np.float64)
    total = fold("add", values, where)
    assert isinstance(total, Near)
    return Near(2 * head - total.values, total.error + np.abs(head) * 2.0**-22)


@oracle("penguin.tensor_tensor_scan", "bir.tensor_tensor_scan")
def tensor_tensor_scan(d: Draw) -> None:
    d.arch()
    shape = (d.partitions(), *d.free())
    ops = [d.pick(EXACT), d.pick(EXACT)]
    reverse = [d.chance(4), d.chance(4)]
    a = d.tile(
        (shape[0], *d.another(shape[1:])), d.pick(NUMBERS), space=tile_space(d, "")
    )
    space = "sbuf" if a.space == "psum" else tile_space(d, "")
    b = d.tile((shape[0], *d.another(shape[1:])), d.pick(NUMBERS), space=space)
    out = destination(d, shape, d.pick(NUMBERS), "", a)
    start, operand, text = _initial(d, a, ("f32", "bf16"), 0.5)
    where, mask = d.mask(out.shape, "box")
    swaps = [f"reverse{n}" if swap else "" for n, swap in enumerate(reverse)]
    d.run(
        f"penguin.tensor_tensor_scan {' '.join(ops)} {out} <- {a}, {b}{operand}{where}"
        f"{fields(text, *swaps)}"
    )
    state = np.broadcast_to(start, (shape[0], 1)).copy()
    found = np.zeros(mask.shape, F32)
    first, second = a.wide, b.wide
    for i in range(mask.shape[1]):
        step = apply(ops[0], first[:, i : i + 1], state, reverse=reverse[0])
        step = apply(ops[1], step, second[:, i : i + 1], reverse=reverse[1])
        state = np.where(mask[:, i : i + 1], step, state)
        found[:, i : i + 1] = state
    _expect_scan(d, out, found, mask, ops)


def _expect_scan(d: Draw, out: Tile, found: Array, mask: Array, ops: list[str]) -> None:
    """A zero of either sign may have passed through a division."""
    d.expect(out, Result(narrow(found, out.dtype), compared(*ops)), mask)


def _initial(
    d: Draw, like: Tile, dtypes: tuple[str, ...], default: float | None
) -> tuple[Array, str, str]:
    """(fp32 values, operand text, field text) of a state before the first element."""
    if d.chance(2):
        column = d.column(like, d.pick(dtypes))
        return column.wide, f", initial = {column}", ""
    value = d.pick((0.0, 1.0, -2.5))
    if default is None and d.chance(2):
        return np.full((1, 1), np.nan, F32), "", ""
    return np.array([[value]], F32), "", f"initial_imm = {immediate(value)}"


@oracle("penguin.tensor_scalar_cache_cumulative", "bir.tensor_scalar_cache_cumulative")
def tensor_scalar_cumulative(d: Draw) -> None:
    d.arch()
    shape = (d.partitions(), *d.free())
    ops = [d.pick(EXACT), d.pick(ROW)]
    a = d.tile((shape[0], *d.another(shape[1:])), d.pick(NARROW))
    out = destination(d, shape, d.pick(NARROW), "", a)
    last = d.tile((shape[0], 1), "f32", written=True) if d.chance(2) else None
    given = scalar(d, 0, a, ("f32",))
    start, operand, text = _initial(d, a, ("f32",), None)
    if not operand and not text:
        start = np.full((1, 1), IDENTITY[ops[1]], F32)
    loads = "command = LoadAccumulate" if operand or text else ""
    reverse = d.chance(4)
    where, mask = d.mask(out.shape, "box")
    accumulator = "" if last is None else f", accumulator = {last}"
    d.run(
        f"penguin.tensor_scalar_cache_cumulative {' '.join(ops)} {out} <- {a}"
        f"{accumulator}{given.operand}{operand}{where}"
        f"{fields(given.field, 'reverse0' if reverse else '', loads, text)}"
    )
    value = apply(ops[0], a.wide, given.wide, reverse=reverse)
    state = np.broadcast_to(start, (shape[0], 1)).copy()
    found = np.zeros(mask.shape, F32)
    for i in range(mask.shape[1]):
        step = apply(ops[1], value[:, i : i + 1], state)
        state = np.where(mask[:, i : i + 1], step, state)
        found[:, i : i + 1] = state
    _expect_scan(d, out, found, mask, ops)
    if last is not None:
        rows = any_of(mask)
        d.expect(last, Result(state, compared(*ops)), rows)
