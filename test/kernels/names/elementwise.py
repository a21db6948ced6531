"""Rows of what computes each element by itself."""

import numpy as np
from kernels.names.rows import (
    WHOLE_ROWS,
    Operand,
    Row,
    between,
    column,
    fisa,
    fl,
    integers,
    nisa,
    nl,
    one,
)
from oracle import activation, alu
from oracle.numbers import F32, Array, Near

# -- functions of two tiles ------------------------------------------------------------

BINARY = {
    "add": "add",
    "subtract": "subtract",
    "multiply": "mult",
    "divide": "divide",
    "maximum": "max",
    "minimum": "min",
    "power": "pow",
    "mod": "mod",
    "fmod": "mod",
    "equal": "is_equal",
    "not_equal": "not_equal",
    "greater": "is_gt",
    "greater_equal": "is_ge",
    "less": "is_lt",
    "less_equal": "is_le",
    "logical_and": "logical_and",
    "logical_or": "logical_or",
    "logical_xor": "logical_xor",
    "abs_max": "abs_max",
    "abs_min": "abs_min",
}
COMPARES = ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")
TRUTHS = (*COMPARES, "logical_and", "logical_or", "logical_xor")


def _binary(name: str, op: str) -> Row:
    draw = between(0.5, 3) if name in ("divide", "power", "mod", "fmod") else None
    given = Operand("f32", draw=draw) if draw else Operand("f32")
    return Row(
        name=f"nl.{name}",
        operands=(given, given),
        outs=one("u8" if name in TRUTHS else "f32"),
        functional=lambda x, y, **k: getattr(fl, name)(x, y, **k),
        destination=lambda x, y: getattr(nl, name)(x, y),
        returns=True,
        thorough=name == "add",
        target="trn3" if name.startswith("abs_m") else None,
        want=lambda x, y: _result(op, x, y),
    )


def _result(op: str, x: Array, y: Array) -> Array | Near:
    found = alu.apply(op, x, y)
    error = activation.RELATIVE * np.abs(found)
    return Near(found.astype(np.float64), error) if op == "pow" else found


BITS = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
}


def _bits(name: str, dtype: str) -> Row:
    shift = name.endswith("shift")
    second = Operand(dtype, draw=integers(0, 6 if shift else 99))
    return Row(
        name=f"nl.{name}",
        note=dtype,
        operands=(Operand(dtype, draw=integers(0, 99)), second),
        outs=one(dtype),
        functional=lambda x, y, **k: getattr(fl, name)(x, y, **k),
        destination=lambda x, y: getattr(nl, name)(x, y),
        returns=True,
        thorough=False,
        want=lambda x, y: BITS[name](x, y),
    )


# -- functions of one tile -------------------------------------------------------------

FUNCTIONS = {
    "exp": "Exp",
    "log": "Ln",
    "sqrt": "Sqrt",
    "rsqrt": "Rsqrt",
    "sin": "Sin",
    "arctan": "Arctan",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "silu": "Silu",
    "silu_dx": "Derivative_silu",
    "gelu": "Gelu",
    "gelu_dx": "Derivative_Gelu",
    "gelu_apprx_tanh": "Gelu_apprx_tanh",
    "gelu_apprx_sigmoid": "Gelu_apprx_sigmoid",
    "gelu_apprx_sigmoid_dx": "Derivative_Gelu_apprx_sigmoid",
    "softplus": "Softplus",
    "mish": "Mish",
    "relu": "Relu",
    "erf": "Erf",
    "erf_dx": "Derivative_Erf",
    "square": "Square",
    "sign": "Sign",
    "abs": "Abs",
    "reciprocal": "Reciprocal",
    "copy": "Copy",
}


def _unary(name: str, function: str) -> Row:
    positive = name in ("log", "sqrt", "rsqrt", "reciprocal")
    bound = between(0.5, 3) if positive else between(-3, 3)

    def want(x: Array) -> Near:
        found = activation.function_of(function, x, 0)
        # The sine's argument is reduced first.
        extra = 2.0**-18 if name == "sin" else 0
        return Near(found.values, np.asarray(found.error) + extra)

    return Row(
        name=f"nl.{name}",
        operands=one(draw=bound),
        functional=lambda x, **k: getattr(fl, name)(x, **k),
        destination=lambda x: getattr(nl, name)(x),
        returns=True,
        thorough=name == "exp",
        want=want,
    )


def _near(function: object, low: float = -3, high: float = 3) -> dict[str, object]:
    return {
        "operands": one(draw=between(low, high)),
        "want": lambda x: Near(function(x.astype(np.float64)), 2.0**-15),
    }


def _language(name: str, want: object, dtype: str = "f32", **named: object) -> Row:
    named.setdefault("operands", one(draw=between(-9, 9)))
    return Row(
        name=f"nl.{name}",
        functional=lambda x, **k: getattr(fl, name)(x, **k),
        destination=lambda x: getattr(nl, name)(x),
        returns=True,
        thorough=False,
        outs=one(dtype),
        want=want,
        **named,
    )


LANGUAGE = (
    *(_binary(name, op) for name, op in BINARY.items()),
    *(_bits(name, dtype) for name in BITS for dtype in ("i32", "u8")),
    *(_unary(name, function) for name, function in FUNCTIONS.items()),
    _language("negative", lambda x: -x),
    _language("logical_not", lambda x: x == 0, dtype="u8", operands=one("f32")),
    _language("invert", lambda x: ~x, dtype="i32", operands=one("i32")),
    _language("floor", np.floor),
    _language("ceil", np.ceil),
    _language("trunc", np.trunc),
    _language("cos", lambda x: Near(np.cos(x.astype(np.float64)), 2.0**-15)),
    _language(
        "tan",
        lambda x: Near(np.tan(x.astype(np.float64)), 2.0**-12),
        operands=one(draw=between(-1, 1)),
    ),
    Row(
        name="nl.where",
        thorough=False,
        operands=(Operand("u8", draw=integers(0, 2)), Operand(), Operand()),
        functional=lambda c, x, y, **k: fl.where(c, x, y, **k),
        destination=lambda c, x, y: nl.where(c, x, y),
        returns=True,
        want=lambda c, x, y: np.where(c, x, y),
    ),
    Row(
        name="nl.where",
        note="scalar",
        thorough=False,
        operands=(Operand("u8", draw=integers(0, 2)), Operand("bf16")),
        outs=one("bf16"),
        functional=lambda c, x, **k: fl.where(c, x, 2.0, **k),
        destination=lambda c, x: nl.where(c, x, 2.0),
        returns=True,
        want=lambda c, x: np.where(c, x, F32(2)),
    ),
)

# -- instructions ----------------------------------------------------------------------


def _tensor_tensor(dtype: str, op: str, result: str) -> Row:
    names = {"add": "add", "max": "maximum", "bitwise_xor": "bitwise_xor"}
    name = names[op]

    def want(x: Array, y: Array) -> Array:
        return x ^ y if op.startswith("bit") else alu.apply(op, x, y)

    return Row(
        name="nisa.tensor_tensor",
        note=f"{op} {dtype} {result}",
        thorough=result == "f32",
        operands=(Operand(dtype), Operand(dtype)),
        outs=one(result),
        functional=lambda x, y, **k: fisa.tensor_tensor(
            x, y, getattr(fl, name), dtype=_named(result), **k
        ),
        destination=lambda out, x, y: nisa.tensor_tensor(out, x, y, getattr(nl, name)),
        want=want,
    )


def _named(dtype: str) -> str:
    return {"f32": "float32", "bf16": "bfloat16", "i32": "int32", "u8": "uint8"}.get(
        dtype, dtype
    )


def _tensor_scalar(dtype: str) -> Row:
    return Row(
        name="nisa.tensor_scalar",
        note=dtype,
        thorough=dtype == "f32",
        operands=(Operand(dtype), Operand("f32", shape=column)),
        outs=one(dtype),
        functional=lambda x, c, **k: fisa.tensor_scalar(
            x, np.multiply, c, op1=np.subtract, operand1=1.0, reverse1=True, **k
        ),
        destination=lambda out, x, c: nisa.tensor_scalar(
            out, x, nl.multiply, c, op1=nl.subtract, operand1=1.0, reverse1=True
        ),
        want=lambda x, c: _flat(lambda a, b: F32(1) - a * b, x, c),
    )


def _flat(function: object, x: Array, *columns: Array) -> Array:
    """A function of a tile in fp32 and columns, along the tile's partitions."""
    rank = x.ndim
    wide = [c.astype(F32).reshape(c.shape[0], *(1,) * (rank - 1)) for c in columns]
    return np.asarray(function(x.astype(F32), *wide), F32)


def _activation(dtype: str) -> Row:
    return Row(
        name="nisa.activation",
        note=dtype,
        thorough=dtype == "f32",
        operands=(
            Operand(dtype),
            Operand("f32", shape=column),
            Operand("f32", shape=column),
        ),
        outs=one(dtype),
        functional=lambda x, b, s, **k: fisa.activation(
            np.square, x, bias=b, scale=s, **k
        ),
        destination=lambda out, x, b, s: nisa.activation(
            out, nl.square, x, bias=b, scale=s
        ),
        want=lambda x, b, s: _flat(lambda a, c, d: (a * d + c) ** 2, x, b, s),
    )


INSTRUCTIONS = (
    _tensor_tensor("f32", "add", "f32"),
    _tensor_tensor("bf16", "max", "bf16"),
    _tensor_tensor("i32", "add", "i32"),
    _tensor_tensor("u8", "bitwise_xor", "u8"),
    _tensor_tensor("f32", "add", "bf16"),
    _tensor_scalar("f32"),
    _tensor_scalar("bf16"),
    _activation("f32"),
    _activation("f16"),
    *(
        Row(
            name="nisa.tensor_copy",
            note=f"{source} to {target}",
            thorough=source == target,
            operands=one(source),
            outs=one(target),
            functional=lambda x, target=target, **k: fisa.tensor_copy(
                x, dtype=_named(target), **k
            ),
            destination=lambda out, x: nisa.tensor_copy(out, x),
            want=lambda x: x,
        )
        for source, target in (("f32", "f32"), ("f32", "i32"), ("u8", "bf16"))
    ),
    Row(
        name="nisa.reciprocal",
        operands=one(draw=between(0.5, 3)),
        functional=lambda x, **k: fisa.reciprocal(x, **k),
        destination=lambda out, x: nisa.reciprocal(out, x),
        want=lambda x: F32(1) / x,
    ),
    Row(
        name="nisa.scalar_tensor_tensor",
        thorough=False,
        operands=(Operand(), Operand(shape=column), Operand("bf16")),
        functional=lambda x, c, y, **k: fisa.scalar_tensor_tensor(
            data=x,
            op0=np.subtract,
            operand0=c,
            op1=np.multiply,
            operand1=y,
            reverse0=True,
            **k,
        ),
        destination=lambda out, x, c, y: nisa.scalar_tensor_tensor(
            out, x, nl.subtract, c, nl.multiply, y, reverse0=True
        ),
        want=lambda x, c, y: _flat(lambda a, b: b - a, x, c) * y.astype(F32),
    ),
    Row(
        name="nisa.tensor_copy_predicated",
        operands=(Operand(), Operand("u8", draw=integers(0, 2))),
        updates=True,
        writes=True,
        functional=lambda out, x, p, **k: fisa.tensor_copy_predicated(
            src=x, dst=out, predicate=p, **k
        ),
        destination=lambda out, x, p: nisa.tensor_copy_predicated(out, x, p),
        want=lambda old, x, p: np.where(p, x, old),
    ),
    Row(
        name="nisa.tensor_copy_predicated",
        note="reversed number",
        thorough=False,
        operands=one("u16", draw=integers(0, 2)),
        updates=True,
        writes=True,
        functional=lambda out, p, **k: fisa.tensor_copy_predicated(
            src=7.0, dst=out, predicate=p, reverse_pred=True, **k
        ),
        destination=lambda out, p: nisa.tensor_copy_predicated(
            out, 7.0, p, reverse_pred=True
        ),
        want=lambda old, p: np.where(p, old, F32(7)),
    ),
    Row(
        name="nisa.select_reduce",
        thorough=False,
        operands=(Operand("u8", draw=integers(0, 2)), Operand()),
        writes=True,
        functional=lambda out, p, x, **k: fisa.select_reduce(
            dst=out, predicate=p, on_true=x, on_false=-9.0, **k
        ),
        destination=lambda out, p, x: nisa.select_reduce(out, p, x, -9.0),
        refused=WHOLE_ROWS,
        want=lambda p, x: np.where(p, x, F32(-9)),
    ),
    Row(
        name="nisa.exponential",
        operands=(Operand(draw=between(-3, 3)), Operand(shape=column)),
        destination=lambda out, x, c: nisa.exponential(out, x, c),
        target="trn3",
        want=lambda x, c: activation.function_of(
            "Exp", _flat(lambda a, b: a - b, x, c), 0
        ),
    ),
    Row(
        name="nisa.activate2",
        operands=(Operand(), Operand(shape=column)),
        destination=lambda out, x, c: nisa.activate2(
            out, nl.relu, x, c, 1.0, nl.multiply, nl.add
        ),
        target="trn3",
        want=lambda x, c: _flat(lambda a, b: np.maximum(a * b + 1, 0), x, c),
    ),
    Row(
        name="nisa.activate2",
        note="on gpsimd",
        operands=(Operand("bf16"), Operand(shape=column)),
        outs=one("bf16"),
        destination=lambda out, x, c: nisa.activate2(
            out, nl.relu, x, c, 1.0, nl.multiply, nl.add, engine=nisa.engine.gpsimd
        ),
        target="trn3",
        want=lambda x, c: _flat(lambda a, b: np.maximum(a * b + 1, 0), x, c),
    ),
)

ROWS = (*LANGUAGE, *INSTRUCTIONS)
