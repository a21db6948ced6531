"""What instructions compute element by element (bir.md 6.4, 6.5; penguin.md 7)."""

from typing import Final

import numpy as np
from oracle.alu import (
    ARITHMETIC,
    BITWISE,
    EXACT,
    INTEGER,
    UNARY,
    apply,
    bitwise,
    cut,
    integer,
    stored as stored_as,
)
from oracle.kernel import Draw, Tile, oracle
from oracle.numbers import (
    F32,
    INTEGERS,
    NUMBERS,
    PACKED,
    WIDE_INTEGERS,
    Array,
    Near,
    Result,
    bits_of,
    immediate,
    is_integer,
    narrow,
)

POW_ERROR: Final = 2.0**-21
"""NumPy's fp32 power is a few ulp off; two of its inputs may differ by that."""


def tile_space(d: Draw, engine: str) -> str:
    """SBUF, or PSUM where the engine reaches it."""
    return "psum" if engine != "Pool" and d.chance(5) else "sbuf"


def destination(
    d: Draw,
    shape: tuple[int, ...],
    dtype: str,
    engine: str = "",
    like: Tile | None = None,
) -> Tile:
    """A tile to write; sometimes the very access that is read."""
    if like is not None and like.dtype == dtype and d.chance(8):
        pitch = like.array.shape[1]
        distinct = np.unique(like.places).size == like.places.size
        if distinct and like.shape[0] and pitch and like.space == "sbuf":
            return like
    return d.tile(shape, dtype, space=tile_space(d, engine), written=True)


def engine_field(engine: str) -> str:
    """The field's text."""
    return f", engine = {engine}" if engine else ""


@oracle("penguin.tensor_tensor", "bir.tensor_tensor")
def tensor_tensor(d: Draw) -> None:
    d.arch()
    shape = (d.partitions(), *d.free())
    engine = d.pick(("", "", "DVE", "Pool"))
    if d.chance(3):
        _tensor_tensor_bits(d, shape, engine)
        return
    op = d.pick([op for op in ARITHMETIC if op not in UNARY])
    native = d.chance(4)
    types = ("i32", "u32") if native else NUMBERS
    if native:
        op = d.pick((*INTEGER, "average"))
    # A power runs on GpSimd, which has no port to PSUM.
    place = "Pool" if op == "pow" else engine
    a = d.tile(shape, d.pick(types), space=tile_space(d, place))
    other = "sbuf" if a.space == "psum" else tile_space(d, place)
    b = d.tile((shape[0], *d.another(shape[1:])), d.pick(types), space=other)
    out = destination(d, shape, d.pick(types), place, a)
    where, mask = d.mask(out.shape)
    field = f" {{engine = {engine}}}" if engine else ""
    d.run(f"penguin.tensor_tensor {op} {out} <- {a}, {b}{where}{field}")
    integers = all(t.dtype in ("i32", "u32") and t.space == "sbuf" for t in (a, b, out))
    if integers and engine in ("", "Pool") and op in INTEGER:
        d.expect(out, Result(cut(integer(op, a.raw, b.raw), out.dtype)), mask)
    elif op == "pow":
        d.expect(out, _power(a.wide, b.wide), mask)
    else:
        d.expect(out, stored_as(apply(op, a.wide, b.wide), out.dtype, op), mask)


def _power(a: Array, b: Array) -> Near:
    with np.errstate(all="ignore"):
        found = apply("pow", a, b).astype(np.float64)
    return Near(found, np.abs(np.nan_to_num(found, posinf=0, neginf=0)) * POW_ERROR)


def _tensor_tensor_bits(d: Draw, shape: tuple[int, ...], engine: str) -> None:
    op = d.pick([op for op in BITWISE if op not in UNARY])
    one = d.pick(INTEGERS) if d.chance(2) else None
    a = d.tile(shape, one or d.pick(INTEGERS))
    b = d.tile((shape[0], *d.another(shape[1:])), one or d.pick(INTEGERS))
    out = destination(d, shape, one or d.pick(INTEGERS), engine, a)
    where, mask = d.mask(out.shape)
    field = f" {{engine = {engine}}}" if engine else ""
    d.run(f"penguin.tensor_tensor {op} {out} <- {a}, {b}{where}{field}")
    signed = "i" in (a.dtype[0], b.dtype[0])
    # Shifts and `not` work at the width of their tensor, the others at the widest.
    wide = max(bits_of(t.dtype) for t in (a, b, out))
    own = "shift" in op or op == "bitwise_not"
    bits = bits_of(a.dtype) if own else wide
    if op == "bitwise_not":
        signed = a.dtype.startswith("i")
    found = bitwise(op, a.raw, b.raw, bits, signed)
    d.expect(out, Result(cut(found, out.dtype)), mask)


def scalar(d: Draw, number: int, like: Tile, dtypes: tuple[str, ...]) -> "Scalar":
    """An immediate or a column."""
    if d.chance(2):
        return Scalar(column=d.column(like, d.pick(dtypes)), number=number)
    if all(is_integer(each) for each in dtypes):
        return Scalar(value=d.pick((0, 1, 2, 3, 7, 31, 255, 65535, -1)), number=number)
    values = (0.0, 1.0, -1.5, 0.25, 3.0, 1e-3, 65504.0, float("inf"), 2, -7, 100000)
    return Scalar(value=d.pick(values), number=number)


class Scalar:
    """A scalar of an instruction: its text, and its values for each partition."""

    def __init__(
        self,
        *,
        number: int,
        column: Tile | None = None,
        value: float = 0.0,
    ) -> None:
        self.column, self.value, self.number = column, value, number

    @property
    def operand(self) -> str:
        """Its text among the operands."""
        return "" if self.column is None else f", scalar{self.number} = {self.column}"

    @property
    def field(self) -> str:
        """Its text among the fields."""
        if self.column is not None:
            return ""
        return f"imm{self.number} = {immediate(self.value)}"

    @property
    def wide(self) -> Array:
        """fp32, [partitions, 1]."""
        if self.column is not None:
            return self.column.wide
        return np.array([[self.value]], F32)

    @property
    def raw(self) -> Array:
        """As it is stored."""
        if self.column is not None:
            return self.column.raw
        return np.array([[int(self.value)]], object)


def fields(*texts: str) -> str:
    """The fields of an instruction."""
    found = [text for text in texts if text]
    return f" {{{', '.join(found)}}}" if found else ""


@oracle("penguin.tensor_scalar_ptr", "bir.tensor_scalar_ptr")
def tensor_scalar(d: Draw) -> None:
    d.arch()
    shape = (d.partitions(), *d.free())
    engine = d.pick(("", "", "DVE", "Pool", "Activation"))
    bits = engine in ("", "DVE") and d.chance(3)
    two = d.chance(2)
    reverse = [d.chance(4), d.chance(4)]
    if engine == "Activation":
        ops = list(d.pick((("mult", "add"), ("mult",), ("add",))))
        reverse = [False, False]
    else:
        choice = BITWISE if bits else EXACT
        ops = [d.pick(choice) for _ in range(2 if two else 1)]
    types = INTEGERS if bits else NUMBERS
    a = d.tile(shape, d.pick(types), space=tile_space(d, engine))
    out = destination(d, shape, d.pick(types), engine, a)
    columns = INTEGERS if bits else ("f32", "f32", "bf16", "i32")
    scalars = [scalar(d, number, a, columns) for number in range(len(ops))]
    where, mask = d.mask(out.shape)
    texts: list[str] = []
    for number, given in enumerate(scalars):
        texts += [f"op1 = {ops[1]}" if number else "", given.field]
        texts.append(f"reverse{number}" if reverse[number] else "")
    texts.append(f"engine = {engine}" if engine else "")
    operands = "".join(each.operand for each in scalars)
    d.run(
        f"penguin.tensor_scalar_ptr {ops[0]} {out} <- {a}{operands}{where}"
        f"{fields(*texts)}"
    )
    if bits:
        value = a.raw.astype(object)
        width, signed = bits_of(a.dtype), a.dtype.startswith("i")
        for op, given, swap in zip(ops, scalars, reverse, strict=False):
            other = np.broadcast_to(given.raw, value.shape).astype(object)
            swap = swap and op not in UNARY
            left, right = (other, value) if swap else (value, other)
            if swap:  # the amount is the tensor, of its own width
                right = bitwise("bitwise_or", right, np.array(0), width, signed)
            value = bitwise(op, left, right, width, signed)
        d.expect(out, Result(cut(value, out.dtype)), mask)
        return
    value = a.wide
    for op, given, swap in zip(ops, scalars, reverse, strict=False):
        value = apply(op, value, given.wide, reverse=swap)
    d.expect(out, stored_as(value, out.dtype, *ops), mask)


@oracle("penguin.tensor_scalar", "bir.tensor_scalar")
def tensor_scalar_const(d: Draw) -> None:
    d.arch()
    shape = (d.partitions(), *d.free())
    bits, two = d.chance(3), d.chance(2)
    ops = [d.pick(BITWISE if bits else EXACT) for _ in range(2 if two else 1)]
    ops = [op for at, op in enumerate(ops) if not at or op != "bypass"]
    types = INTEGERS if bits else NUMBERS
    integers = (0, 1, 2, 3, 7, 31, 255, 65535, -1)
    numbers = (0.0, 1.0, -1.5, 0.25, 3.0, 65504.0, float("inf"), 2, -7, 100000)
    given = [d.pick(integers if bits else numbers) for _ in ops]
    reverse = [d.chance(4) for _ in ops]
    a = d.tile(shape, d.pick(types), space=tile_space(d, "DVE"))
    out = destination(d, shape, d.pick(types), "DVE", a)
    where, mask = d.mask(out.shape)
    texts: list[str] = []
    for at, (op, value) in enumerate(zip(ops, given, strict=True)):
        texts += [f"op1 = {op}" if at else "", f"const{at} = {immediate(value)}"]
        texts.append(f"reverse{at}" if reverse[at] else "")
    d.run(f"penguin.tensor_scalar {ops[0]} {out} <- {a}{where}{fields(*texts)}")
    if not bits:
        wide = a.wide
        for op, value, swap in zip(ops, given, reverse, strict=True):
            wide = apply(op, wide, np.array([[value]], F32), reverse=swap)
        d.expect(out, stored_as(wide, out.dtype, *ops), mask)
        return
    raw = a.raw.astype(object)
    width, signed = bits_of(a.dtype), a.dtype.startswith("i")
    for op, value, swap in zip(ops, given, reverse, strict=True):
        other = np.full(raw.shape, value, object)
        left, right = raw, other
        if swap and op not in UNARY:
            left = other
            right = bitwise("bitwise_or", raw, np.array(0), width, signed)
        raw = bitwise(op, left, right, width, signed)
    d.expect(out, Result(cut(raw, out.dtype)), mask)


@oracle("penguin.scalar_tensor_tensor", "bir.scalar_tensor_tensor")
def scalar_tensor_tensor(d: Draw) -> None:
    d.arch()
    shape = (d.partitions(), *d.free())
    ops = [d.pick(EXACT), d.pick(EXACT)]
    reverse = [d.chance(4), d.chance(4)]
    a = d.tile(shape, d.pick(NUMBERS))
    b = d.tile(
        (shape[0], *d.another(shape[1:])), d.pick(NUMBERS), space=tile_space(d, "")
    )
    out = destination(d, shape, d.pick(NUMBERS), "", a)
    given = scalar(d, 0, a, ("f32", "bf16"))
    where, mask = d.mask(out.shape)
    swaps = [f"reverse{n}" if swap else "" for n, swap in enumerate(reverse)]
    d.run(
        f"penguin.scalar_tensor_tensor {' '.join(ops)} {out} <- {a}, {b}{given.operand}"
        f"{where}{fields(given.field, *swaps)}"
    )
    value = apply(ops[0], a.wide, given.wide, reverse=reverse[0])
    value = apply(ops[1], value, b.wide, reverse=reverse[1])
    d.expect(out, stored_as(value, out.dtype, *ops), mask)


@oracle("penguin.reciprocal", "bir.reciprocal")
def reciprocal(d: Draw) -> None:
    d.arch()
    shape = (d.partitions(), *d.free())
    a = d.tile(shape, d.pick(NUMBERS), space=tile_space(d, ""))
    out = destination(d, shape, d.pick(NUMBERS), "", a)
    where, mask = d.mask(out.shape)
    d.run(f"penguin.reciprocal {out} <- {a}{where}")
    with np.errstate(all="ignore"):
        d.writes(out, F32(1) / a.wide, mask)


def copied(d: Draw, name: str, engines: tuple[str, ...]) -> None:
    """A copy with a cast, or of every bit."""
    d.arch()
    shape = (d.partitions(), *d.free())
    engine = d.pick(("", *engines))
    every = (*NUMBERS, *WIDE_INTEGERS)
    dtype = d.pick((*every, *PACKED, "f8e8m0fnu"))
    other = d.pick(every) if dtype in every and d.chance(2) else dtype
    a = d.tile((shape[0], *d.another(shape[1:])), dtype, space=tile_space(d, engine))
    out = destination(d, shape, other, engine)
    where, mask = d.mask(out.shape)
    field = f" {{engine = {engine}}}" if engine else ""
    text = f"{out} <- {a}{where}{field}"
    if name == "tensor_copy":
        d.run(f"penguin.tensor_copy {text}")
    else:
        d.run(f"penguin.tensor_copy @K {text}")
        d.instead["K"] = f"bir.{name} @K {text}"
    # Gen2's scalar engine copies through fp32 (nki.md 5.2).
    lossy = d.level == 20 and engine == "Activation" and dtype not in PACKED
    if dtype == other and not lossy:
        d.expect(out, Result(a.raw, "bits"), mask)
    else:
        d.expect(out, Result(narrow(a.wide, other)), mask)


@oracle("penguin.tensor_copy", "bir.tensor_copy")
def tensor_copy(d: Draw) -> None:
    copied(d, "tensor_copy", ("DVE", "Pool", "Activation"))


@oracle("bir.generic_copy")
def generic_copy(d: Draw) -> None:
    copied(d, "generic_copy", ("DVE", "Pool"))


@oracle("bir.abstract_copy")
def abstract_copy(d: Draw) -> None:
    copied(d, "abstract_copy", ("DVE", "Pool"))


@oracle("penguin.memset", "bir.memset")
def memset(d: Draw) -> None:
    d.arch()
    engine = d.pick(("", "DVE", "Pool"))
    dtype = d.pick((*NUMBERS, *WIDE_INTEGERS, *PACKED))
    value: float = 0
    if dtype not in PACKED:
        value = d.pick((0, 1, -1, 300, 2**31 - 1, -(2**40), 16777217, 2**63 - 1))
        if d.chance(2):
            value = d.pick((0.5, -2.5, 1e30, 3.14, 1e-40, float("inf"), float("-inf")))
    out = destination(d, (d.partitions(), *d.free()), dtype, engine)
    where, mask = d.mask(out.shape)
    field = f", engine = {engine}" if engine else ""
    d.run(f"penguin.memset {out}{where} {{value = {immediate(value)}{field}}}")
    if isinstance(value, int) and is_integer(dtype):
        limits = np.iinfo(narrow(np.zeros(1), dtype).dtype)
        exact = min(max(value, int(limits.min)), int(limits.max))
        found = np.full(out.rows.shape, exact, limits.dtype)
    elif dtype in PACKED:
        found = np.zeros(out.rows.shape, out.array.dtype)
    else:
        found = narrow(np.full(out.rows.shape, value, F32), dtype)
    d.expect(out, Result(found), mask)
