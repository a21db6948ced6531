"""The scalar engine's functions and the vector engine's exponential (bir.md 6.6)."""

from collections.abc import Callable
from math import erf as erf_of_number
from typing import Final

import numpy as np
from oracle.alu import apply
from oracle.elementwise import Scalar, destination, fields, scalar, tile_space
from oracle.kernel import Draw, Tile, oracle
from oracle.numbers import F32, NUMBERS, Array, Near, Result, any_of, immediate, narrow

TYPES: Final = ("f32", "f32", "bf16", "f16", "f8e4m3", "i32", "u8")
RELATIVE: Final = 2.0**-20
"""The closed forms are evaluated in fp32, each step a few ulp off (numerics.md)."""

erf: Final[Callable[[Array], Array]] = np.vectorize(erf_of_number, otypes=[np.float64])


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softplus(x: Array) -> Array:
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0)


def _silu_slope(x: Array) -> Array:
    return sigmoid(x) * (1 + x * sigmoid(-x))


def _sine(x: Array) -> Array:
    """Beyond pi the cubic there goes on: sin(9) is 27.65 (nki.api.shared of 2.32)."""
    past = np.abs(x) - np.pi
    return np.where(past > 0, np.sign(x) * (past**3 / 6 - past), np.sin(x))


def _maximum(x: Array) -> Array:
    return np.where(np.isnan(x), np.nan, np.fmax(x, 0))


EXACT_FUNCTIONS: Final[dict[str, Callable[[Array], Array]]] = {
    "Identity": lambda x: x,
    "Copy": lambda x: x,
    "Square": lambda x: x * x,
    "Relu": _maximum,
    "Lrelu": lambda x: np.where(x <= 0, F32(0.01) * x, x),
    "Abs": np.abs,
    "Sign": lambda x: (x > 0).astype(F32) - (x < 0).astype(F32),
    "Is_finite": lambda x: np.isfinite(x).astype(F32),
    "Reciprocal": lambda x: F32(1) / x,
    "Sqrt": np.sqrt,
    "Rsqrt": lambda x: F32(1) / np.sqrt(x),
    "Abs_reciprocal_sqrt": lambda x: F32(1) / np.sqrt(np.abs(x)),
}
"""In fp32, bit for bit."""

TOTAL: Final[dict[str, Callable[[Array], Array]]] = {
    "Exp": np.exp,
    "Tanh": np.tanh,
    "Sigmoid": sigmoid,
    "Erf": erf,
    "Arctan": np.arctan,
    "Ln": np.log,
}
"""In float64, for every input."""

CANCELLING: Final[dict[str, Callable[[Array], Array]]] = {
    "Softplus": softplus,
    "Sin": _sine,
    "Gelu": lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2))),
    "Mish": lambda x: x * np.tanh(softplus(x)),
    "Gelu_apprx_tanh": lambda x: (
        0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
    ),
    "Gelu_apprx_sigmoid": lambda x: x * sigmoid(1.702 * x),
    "Derivative_Gelu_apprx_sigmoid": lambda x: _silu_slope(1.702 * x),
    "Derivative_Gelu": lambda x: (
        0.5 * (1 + erf(x / np.sqrt(2))) + 0.3989423 * x * np.exp(-(x**2) / 2)
    ),
    "Derivative_Erf": lambda x: 1.1283792 * np.exp(-(x**2)),
    "Silu": lambda x: x * sigmoid(x),
    "Derivative_silu": _silu_slope,
}
"""In float64, for finite inputs."""

LIMITS: Final[dict[str, tuple[float, float]]] = {
    "Softplus": (0.0, np.inf),
    "Sin": (-np.inf, np.inf),
    "Gelu": (0.0, np.inf),
    "Mish": (0.0, np.inf),
    "Gelu_apprx_tanh": (0.0, np.inf),
    "Gelu_apprx_sigmoid": (0.0, np.inf),
    "Derivative_Gelu_apprx_sigmoid": (0.0, 1.0),
    "Derivative_Gelu": (0.0, 1.0),
    "Derivative_Erf": (0.0, 0.0),
    "Silu": (0.0, np.inf),
    "Derivative_silu": (0.0, 1.0),
}
"""At -inf and inf, which are valid inputs (nki.api.shared of 2.32)."""


def function_of(name: str, x: Array, alpha: float) -> Near:
    """The function of fp32 arguments; an error of 0 is a promise of every bit."""
    with np.errstate(all="ignore"):
        if name == "Prelu":
            return Near(np.where(x <= 0, F32(alpha) * x, x).astype(np.float64))
        if name in EXACT_FUNCTIONS:
            return Near(EXACT_FUNCTIONS[name](x).astype(np.float64))
        found = (TOTAL | CANCELLING)[name](x.astype(np.float64))
        if name in LIMITS:
            found = np.where(x == -np.inf, LIMITS[name][0], found)
            found = np.where(x == np.inf, LIMITS[name][1], found)
            found = np.where(np.abs(found) > np.finfo(F32).max, found * np.inf, found)
    error = RELATIVE * np.abs(np.nan_to_num(found, posinf=0, neginf=0))
    # Below the smallest normal number fp32 has no relative precision: 1 / (1 + e^92)
    # is 0 where the power overflows.
    error = error + 2.0**-126
    if name in CANCELLING:
        # Their terms cancel: 1 + erf, x + 1.
        size = np.abs(x.astype(np.float64))
        error = error + RELATIVE * (1 + np.where(np.isfinite(size), size, 0))
    return Near(found, error)


def expect(d: Draw, out: Tile, found: Near, where: Array) -> None:
    """Bits where they are promised."""
    if np.all(np.asarray(found.error) == 0):
        d.expect(out, Result(narrow(found.values.astype(F32), out.dtype)), where)
    else:
        d.expect(out, found, where)


def drawn_function(d: Draw) -> tuple[str, float]:
    """Its name, and alpha."""
    name = d.pick((*EXACT_FUNCTIONS, "Prelu", *TOTAL, *CANCELLING))
    alpha = d.pick((0.25, -1.0, 0.0)) if name == "Prelu" or d.chance(9) else 0.0
    return name, alpha if name in ("Prelu", "Lrelu") else 0.0


def row_sum(found: Near, where: Array) -> Near:
    """Sums over rows, in any order of fp32 additions."""
    values = np.where(where, found.values, 0)
    with np.errstate(invalid="ignore"):
        total = values.sum(axis=1, keepdims=True)
        sizes = np.abs(np.nan_to_num(values, posinf=0, neginf=0))
    own = np.where(where, found.error, 0).sum(axis=1, keepdims=True)
    most = sizes.sum(axis=1, keepdims=True)
    return Near(total, own + most * values.shape[1] * 2.0**-23)


def _affine(d: Draw, reduces: bool) -> None:
    d.arch()
    shape = (d.partitions(), *d.free())
    name, alpha = drawn_function(d)
    plain = reduces
    engine = d.pick(("", "Activation"))
    a = d.tile(
        (shape[0], *d.another(shape[1:])),
        d.pick(TYPES),
        space=tile_space(d, engine),
        plain=plain,
    )
    out = destination(d, shape, d.pick(NUMBERS), engine, a)
    operands = ""
    texts = [f"alpha = {immediate(alpha)}" if alpha else ""]
    scale: Array = np.ones((1, 1), F32)
    bias: Array = np.zeros((1, 1), F32)
    if d.chance(2) and not (name == "Reciprocal" and d.level == 20):
        if d.chance(2):
            types = [each for each in NUMBERS if each != "tf32"]
            column = d.column(a, d.pick(types), plain=plain)
            operands += f", bias = {column}"
            bias = column.wide
        else:
            bias = np.array([[d.pick((0.5, -1.0, 3.0))]], F32)
            texts.append(f"bias_imm = {immediate(float(bias[0, 0]))}")
    if d.chance(2):
        if d.chance(2):
            column = d.column(a, "f32", plain=plain)
            operands += f", scale = {column}"
            scale = column.wide
        else:
            scale = np.array([[d.pick((0.5, -2.0, 0.0))]], F32)
            texts.append(f"scale_imm = {immediate(float(scale[0, 0]))}")
    where, mask = d.mask(out.shape, "box" if reduces else "lanes")
    texts.append(f"engine = {engine}" if engine else "")
    with np.errstate(all="ignore"):
        x = np.asarray(np.asarray(a.wide * scale, F32) + bias, F32)
    found = function_of(name, x, alpha)
    if not reduces:
        d.run(
            f"penguin.activation {name} {out} <- {a}{operands}{where}{fields(*texts)}"
        )
        expect(d, out, found, mask)
        return
    sums = d.tile((shape[0], 1), d.pick(NUMBERS), written=True)
    d.run(
        f"penguin.activation_accumulation {name} {out} <- {a}, reduce_res = {sums}"
        f"{operands}{where}"
        f"{fields(*texts)}"
    )
    expect(d, out, found, mask)
    d.expect(sums, row_sum(found, mask), any_of(mask))


@oracle("penguin.activation", "bir.activation")
def activation(d: Draw) -> None:
    _affine(d, reduces=False)


@oracle("penguin.activation_accumulation", "bir.activation_accumulation")
def activation_accumulation(d: Draw) -> None:
    _affine(d, reduces=True)


@oracle("penguin.activate2", "bir.activate2")
def activate2(d: Draw) -> None:
    d.arch(40)
    shape = (d.partitions(), *d.free())
    name, alpha = drawn_function(d)
    # What cancels shows the rounding of an ALU's steps; then those are simple ones.
    total = name not in CANCELLING
    a = d.tile(shape, d.pick(TYPES), space=tile_space(d, ""), plain=not total)
    out = destination(d, shape, d.pick(NUMBERS), "", a)
    pairs = ((), ("mult",), ("add",), ("subtract",), ("mult", "add"))
    ops = d.pick((*pairs, ("mult", "subtract")))
    kind = d.pick(("f32", "bf16"))
    scalars: list[Scalar] = []
    for number in range(len(ops)):
        if total:
            scalars.append(scalar(d, number, a, (kind,)))
        else:
            scalars.append(Scalar(value=d.pick((0.5, -1.0, 2.0)), number=number))
    reverse = [bool(ops) and d.chance(3), len(ops) > 1 and d.chance(3)]
    where, mask = d.mask(out.shape)
    texts: list[str] = [f"alpha = {immediate(alpha)}" if alpha else ""]
    for number, given in enumerate(scalars):
        texts += [f"op{number} = {ops[number]}", given.field]
    texts += [f"reverse{n}" for n, swap in enumerate(reverse) if swap]
    operands = "".join(each.operand for each in scalars)
    d.run(f"penguin.activate2 {name} {out} <- {a}{operands}{where}{fields(*texts)}")
    x = a.wide
    for op, given, swap in zip(ops, scalars, reverse, strict=False):
        x = apply(op, x, given.wide, reverse=swap)
    found = function_of(name, x, alpha)
    if np.all(np.asarray(found.error) == 0):
        # An ALU's zero may have either sign, and a reciprocal shows it.
        with np.errstate(all="ignore"):
            error = np.where(x == 0, np.inf, 0) if "recip" in name.lower() else 0
        d.expect(
            out,
            Near(found.values, error) if np.any(error) else _numbers(found, out.dtype),
            mask,
        )
    else:
        d.expect(out, found, mask)


def _numbers(found: Near, dtype: str) -> Result:
    return Result(narrow(found.values.astype(F32), dtype), "numbers")


SUMS = ("f8e4m3", "f8e5m2", "f16", "bf16", "f32", "tf32")
"""Those of a sum of exponentials (nki.isa.exponential of NKI 0.6)."""


def _exponential(d: Draw, reduces: bool) -> None:
    d.arch(40)
    shape = (d.partitions(), *d.free())
    a = d.tile(
        (shape[0], *d.another(shape[1:])),
        d.pick(TYPES),
        plain=reduces,
    )
    out = destination(d, shape, d.pick([t for t in NUMBERS if t != "u32"]), "", a)
    operand, text, most = "", "", np.zeros((1, 1), F32)
    if d.chance(2):
        column = d.column(a, plain=reduces)
        operand, most = f", max_value = {column}", column.wide
    elif d.chance(2):
        most = np.array([[1.5]], F32)
        text = "max_value_imm = 1.5"
    where, mask = d.mask(out.shape, "box" if reduces else "lanes")
    with np.errstate(all="ignore"):
        x = np.asarray(a.wide - most, F32)
    found = function_of("Exp", x, 0)
    if not reduces:
        d.run(f"penguin.exponential {out} <- {a}{operand}{where}{fields(text)}")
        d.expect(out, found, mask)
        return
    sums = d.tile((shape[0], 1), d.pick(SUMS), written=True)
    d.run(
        f"penguin.exponential_reduce {out} <- {a}, reduce_res = {sums}{operand}{where}"
        f"{fields(text)}"
    )
    d.expect(out, found, mask)
    d.expect(sums, row_sum(found, mask), any_of(mask))


@oracle("penguin.exponential", "bir.exponential")
def exponential(d: Draw) -> None:
    _exponential(d, reduces=False)


@oracle("penguin.exponential_reduce", "bir.exponential_reduce")
def exponential_reduce(d: Draw) -> None:
    _exponential(d, reduces=True)
