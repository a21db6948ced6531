"""Indices, and selections by values, ranges and predicates (bir.md 6.4, 6.5, 6.7)."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from oracle.elementwise import destination, fields, tile_space
from oracle.kernel import Draw, oracle
from oracle.numbers import (
    F32,
    FLOATS,
    NUMBERS,
    STORAGE,
    WIDE_INTEGERS,
    Array,
    Result,
    any_of,
    cast,
    immediate,
    is_integer,
    narrow,
    wide,
)
from oracle.reductions import fold, settled

COMPARES: Final = {
    "is_equal": np.equal,
    "not_equal": np.not_equal,
    "is_gt": np.greater,
    "is_ge": np.greater_equal,
    "is_lt": np.less,
    "is_le": np.less_equal,
}
FP32_MIN: Final = F32(-3.4028235e38)


def affine(d: Draw, shape: Sequence[int], small: bool) -> tuple[str, Array]:
    """An expression over lanes, and its int32 values, which wrap."""
    big = not small and d.chance(6)
    constant = (
        d.number(-20, 20) if not big else d.pick((2**31 - 5, -(2**31), 2**31 - 1))
    )
    value = np.full(shape, constant, np.int64)
    text = str(constant)
    for lane, extent in enumerate(shape):
        factor = d.number(-3, 3) * (100_000_000 if big else 1)
        if not factor:
            continue
        lanes = np.arange(extent).reshape(
            [-1 if each == lane else 1 for each in range(len(shape))]
        )
        form = d.pick(("", "", "mod", "floordiv"))
        atom = f"l{lane}"
        if form:
            divisor = d.number(2, 5)
            lanes = lanes % divisor if form == "mod" else lanes // divisor
            atom = f"(l{lane}) {form} {divisor}"
        sign = "+" if factor > 0 else "-"
        text += f" {sign} {_times(atom, abs(factor), bool(form))}"
        value = value + factor * lanes
    wrapped = (value & 0xFFFFFFFF).astype(np.uint32).view(np.int32)
    return text, wrapped.reshape(shape[0], -1)


def _times(atom: str, factor: int, grouped: bool) -> str:
    return f"({atom}) * {factor}" if grouped else f"{atom} * {factor}"


def from_int32(values: Array, dtype: str) -> Array:
    """int32 values as a type: computed in int32, then cast (bir.md 6.4)."""
    return values.copy() if dtype == "i32" else cast(values, "i32", dtype)


@oracle("penguin.index_value", "bir.iota")
def iota(d: Draw) -> None:
    d.arch()
    out = d.tile((d.partitions(), *d.free()), d.pick(NUMBERS), written=True)
    text, values = affine(d, out.shape, small=False)
    where, mask = d.mask(out.shape)
    engine = d.pick(("", "engine = Pool", "engine = DVE"))
    d.run(f"penguin.index_value {out}{where}{fields(f'value = {text}', engine)}")
    d.expect(out, Result(from_int32(values, out.dtype)), mask)


@oracle("penguin.aff_sel_tensor_scalar", "bir.tensor_scalar_affine_select")
def affine_select(d: Draw) -> None:
    d.arch()
    shape = (d.partitions(), *d.free())
    a = d.tile((shape[0], *d.another(shape[1:])), d.pick(NUMBERS))
    same = a.dtype if d.chance(2) else d.pick(NUMBERS)
    out = d.tile(shape, same, written=True)
    compare = d.pick(tuple(COMPARES))
    text, values = affine(d, out.shape, small=True)
    fill = d.pick((0.0, -1.5, 300.0, float("-inf")))
    where, mask = d.mask(out.shape)
    d.run(
        f"penguin.aff_sel_tensor_scalar {compare} {out} <- {a}{where}"
        f"{fields(f'value = {text}', f'fill = {immediate(fill)}')}"
    )
    chosen = COMPARES[compare](values, 0)
    filled = narrow(np.full(chosen.shape, fill), out.dtype)
    d.expect(
        out, Result(np.where(chosen, cast(a.raw, a.dtype, out.dtype), filled)), mask
    )


@oracle("penguin.range_select", "bir.range_select")
def range_select(d: Draw) -> None:
    _range_select(d, reduces=False)


@oracle("penguin.range_select_reduce", "bir.range_select_reduce")
def range_select_reduce(d: Draw) -> None:
    _range_select(d, reduces=True)


def _range_select(d: Draw, *, reduces: bool) -> None:
    d.arch(30)
    shape = (d.partitions(), *d.free())
    a = d.tile(
        (shape[0], *d.another(shape[1:])), d.pick(FLOATS), space=tile_space(d, "")
    )
    out = destination(d, shape, d.pick(FLOATS), "", a)
    bounds = [
        d.tile((shape[0], 1), "f32", contents=_bounds(d, shape[0])) for _ in range(2)
    ]
    result = d.tile((shape[0], 1), "f32", written=True) if reduces else None
    compares = [d.pick([c for c in COMPARES if c != "not_equal"]) for _ in range(2)]
    start = d.pick((0, 0, 7, 2**24 - 100))
    where, mask = d.mask((shape[0],), "rows")
    name = "range_select_reduce" if reduces else "range_select"
    second = "" if result is None else f", reduce_res = {result}"
    d.run(
        f"penguin.{name} {' '.join(compares)} {out} <- {a}, {bounds[0]}, {bounds[1]}"
        f"{second}{where}{fields(f'range_start = {start}' if start else '')}"
    )
    columns: Array = np.arange(start, start + a.wide.shape[1], dtype=F32)[None]
    inside = COMPARES[compares[0]](columns, bounds[0].wide)
    inside &= COMPARES[compares[1]](columns, bounds[1].wide)
    kept = np.where(
        inside, cast(a.raw, a.dtype, out.dtype), narrow(np.array(FP32_MIN), out.dtype)
    )
    written = np.broadcast_to(mask, kept.shape)
    d.expect(out, Result(kept), written)
    if result is not None:
        values = np.where(inside, a.wide, FP32_MIN)
        d.expect(result, fold("max", values, np.ones(values.shape, bool)), mask)


def _bounds(d: Draw, rows: int) -> Array:
    found = d.random.integers(-3, 45, (rows, 1)).astype(F32)
    return np.where(d.random.random((rows, 1)) < 0.1, F32(np.nan), found)


def predicate(d: Draw, shape: Sequence[int], dtype: str) -> Array:
    """Mostly 0 and 1; any non-zero value is true."""
    found = d.random.integers(0, 2, shape)
    other = d.random.integers(0, 1 << 7, shape)
    return np.where(d.random.random(shape) < 0.2, other, found).astype(STORAGE[dtype])


@oracle("penguin.select_reduce", "bir.select_reduce")
def select_reduce(d: Draw) -> None:
    d.arch()
    shape = (d.partitions(), *d.free())
    types = tuple(t for t in NUMBERS if t not in ("tf32", "i32", "u32"))
    kind = d.pick(("u8", "i8", "u16", "i16"))
    test = d.tile(shape, kind, contents=predicate(d, shape, kind))
    a = d.tile(
        (shape[0], *d.another(shape[1:])), d.pick(types), space=tile_space(d, "")
    )
    out = destination(d, shape, d.pick(types), "", a)
    result = d.tile((shape[0], 1), d.pick(FLOATS), written=True)
    if d.chance(2):
        column = d.column(a)
        operand, text, other = f", on_false = {column}", "", column.wide
    else:
        value = d.pick((0.0, -1.5, 1e9))
        operand, text, other = "", f"on_false_imm = {immediate(value)}", F32(value)
    reverse = d.chance(3)
    where, mask = d.mask(out.shape, "box")
    d.run(
        f"penguin.select_reduce {out} <- {test}, {a}, reduce_res = {result}"
        f"{operand}{where}{fields(text, 'reverse' if reverse else '')}"
    )
    true = (test.raw != 0) != reverse
    values = np.where(true, a.wide, other).astype(F32)
    # The values pass fp32 on their way to the accumulator.
    d.expect(out, Result(narrow(values, out.dtype)), mask)
    most = settled(fold("max", values, mask), result.dtype)
    d.expect(result, most, any_of(mask))


@oracle("penguin.tensor_copy_predicated", "bir.copy_predicated")
def copy_predicated(d: Draw) -> None:
    d.arch()
    shape = (d.partitions(), *d.free()[:3])
    kind = d.pick(("u8", "u16", "u32"))
    test = d.tile(shape, kind, contents=predicate(d, shape, kind))
    out = d.tile(
        (shape[0], *d.another(shape[1:])),
        d.pick((*NUMBERS, *WIDE_INTEGERS)),
        space=tile_space(d, ""),
        written=True,
    )
    reverse = d.chance(3)
    if d.chance(2):
        a = d.tile(shape, out.dtype)
        operand, text, values = f", src = {a}", "", a.raw
    else:
        value = (
            d.pick((0.0, -2.5, 7.0)) if not is_integer(out.dtype) else d.pick((0, 7))
        )
        operand, text = "", f"imm = {immediate(value)}"
        values = narrow(np.full(test.raw.shape, value, F32), out.dtype)
    where, mask = d.mask(out.shape)
    d.run(
        f"penguin.tensor_copy_predicated {out} <- {test}{operand}{where}"
        f"{fields(text, 'reverse' if reverse else '')}"
    )
    true = (test.raw != 0) != reverse
    d.expect(out, Result(values, "bits" if operand else "values"), mask & true)


@oracle("penguin.tensor_select", "bir.select")
def select(d: Draw) -> None:
    d.arch()
    shape = (d.partitions(), *d.free())
    kind = d.pick(NUMBERS)
    contents = predicate(d, shape, "u8").astype(STORAGE[kind])
    test = d.tile(shape, kind, contents=contents)
    out = d.tile((shape[0], *d.another(shape[1:])), d.pick(NUMBERS), written=True)
    operands, texts, branches = "", list[str](), list[Array]()
    for branch in ("true", "false"):
        if d.chance(2):
            a = d.tile(shape, out.dtype if d.chance(2) else d.pick(NUMBERS))
            operands += f", on_{branch} = {a}"
            branches.append(cast(a.raw, a.dtype, out.dtype))
        else:
            value = d.pick((0.0, 1.5, -3.0))
            texts.append(f"{branch}_imm = {immediate(value)}")
            branches.append(narrow(np.full(test.raw.shape, value), out.dtype))
    where, mask = d.mask(out.shape)
    d.run(f"penguin.tensor_select {out} <- {test}{operands}{where}{fields(*texts)}")
    true = wide(test.raw, kind) != 0
    d.expect(out, Result(np.where(true, *branches)), mask)
