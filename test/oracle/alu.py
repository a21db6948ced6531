"""The operations of the ALU on fp32 values and on bit patterns (bir.md 1.14, 6.5)."""

from collections.abc import Callable
from typing import Final

import numpy as np
from oracle.numbers import F32, STORAGE, Array, Result, bits_of, narrow

EXACT: Final = (
    "bypass",
    "add",
    "subtract",
    "mult",
    "divide",
    "max",
    "min",
    "logical_and",
    "logical_or",
    "logical_xor",
    "is_equal",
    "not_equal",
    "is_gt",
    "is_ge",
    "is_lt",
    "is_le",
    "average",
    "elemwise_mul",
    "mod",
    "rsqrt",
    "abs",
    "abs_max",
    "abs_min",
)
"""Arithmetic whose fp32 result is one rounding, or a few that are documented."""

ARITHMETIC: Final = (*EXACT, "pow")
BITWISE: Final = (
    "bitwise_not",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "arith_shift_left",
    "arith_shift_right",
    "logical_shift_left",
    "logical_shift_right",
    "mod_int",
)
ROW: Final = ("add", "subtract", "mult", "max", "min")
"""What an accumulator folds with (penguin.md 7)."""
UNARY: Final = ("bypass", "rsqrt", "abs", "bitwise_not")
FREE_ZERO: Final = ("max", "min")
"""Whose zero has no specified sign (numerics.md)."""


def truth(x: Array) -> Array:
    """NaN is true."""
    return x != 0


def flag(x: Array) -> Array:
    """1 or 0."""
    return x.astype(F32)


def power(a: Array, b: Array) -> Array:
    """Through float64; the product is one rounding of fp32."""
    return np.power(a.astype(np.float64), b.astype(np.float64)).astype(F32)


OPERATIONS: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "bypass": lambda a, b: a,
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "mult": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "max": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, np.fmax(a, b)),
    "min": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, np.fmin(a, b)),
    "logical_and": lambda a, b: flag(truth(a) & truth(b)),
    "logical_or": lambda a, b: flag(truth(a) | truth(b)),
    "logical_xor": lambda a, b: flag(truth(a) != truth(b)),
    "is_equal": lambda a, b: flag(a == b),
    "not_equal": lambda a, b: flag(a != b),
    "is_gt": lambda a, b: flag(a > b),
    "is_ge": lambda a, b: flag(a >= b),
    "is_lt": lambda a, b: flag(a < b),
    "is_le": lambda a, b: flag(a <= b),
    "average": lambda a, b: (a + b) * F32(0.5),
    "elemwise_mul": lambda a, b: a * b,
    "mod": lambda a, b: a - np.floor(a / b) * b,
    "rsqrt": lambda a, b: F32(1) / np.sqrt(a),
    "abs": lambda a, b: np.abs(a),
    # The operand itself, the second on a tie (nki.language.abs_max of 2.30).
    "abs_max": lambda a, b: np.where(np.abs(a) > np.abs(b), a, b),
    "abs_min": lambda a, b: np.where(np.abs(a) < np.abs(b), a, b),
    "pow": power,
}
"""On fp32 arrays; each step rounds to fp32."""


def apply(op: str, a: Array, b: Array, *, reverse: bool = False) -> Array:
    """One operation in fp32; `reverse` swaps the sides of a binary one."""
    if reverse and op not in UNARY:
        a, b = b, a
    with np.errstate(all="ignore"):
        found = OPERATIONS[op](*np.broadcast_arrays(a.astype(F32), b.astype(F32)))
    return np.asarray(found, F32)


def compared(*ops: str) -> str:
    """How a result of these operations is compared."""
    return "numbers" if any(op in FREE_ZERO for op in ops) else "values"


def stored(values: Array, dtype: str, *ops: str) -> Result:
    """fp32 results cast to their destination."""
    return Result(narrow(values, dtype), compared(*ops))


# -- integers ------------------------------------------------------------------------

INTEGER: Final[dict[str, Callable[[int, int], int]]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "mult": lambda a, b: a * b,
    "max": max,
    "min": min,
    "is_equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "is_gt": lambda a, b: a > b,
    "is_ge": lambda a, b: a >= b,
    "is_lt": lambda a, b: a < b,
    "is_le": lambda a, b: a <= b,
    "logical_and": lambda a, b: a != 0 and b != 0,
    "logical_or": lambda a, b: a != 0 or b != 0,
    "logical_xor": lambda a, b: (a != 0) != (b != 0),
    "pow": lambda a, b: pow(a, b, 1 << 32) if b >= 0 else _reciprocal_power(a, b),
}
"""What GpSIMD computes of 32-bit integers without fp32 (tensor_tensor of 2.29)."""


def _reciprocal_power(a: int, b: int) -> int:
    """Of 1 / a^n only 1 and -1 have a whole part; 0 has none (numerics.md)."""
    return a ** (b % 2) if a in (1, -1) else 0


def integer(op: str, a: Array, b: Array) -> Array:
    """One operation on Python's unbounded integers."""
    pairs = zip(_words(a), _words(b.reshape(a.shape)), strict=True)
    return np.array([int(INTEGER[op](x, y)) for x, y in pairs], object).reshape(a.shape)


# -- bit patterns --------------------------------------------------------------------


def _words(x: Array) -> list[int]:
    return [int(each) for each in x.reshape(-1)]


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _bitwise(op: str, a: int, b: int, bits: int) -> int:
    """One operation on integers of `bits`, as Python's unbounded integers have it."""
    match op:
        case "bitwise_not":
            return ~a
        case "bitwise_and":
            return a & b
        case "bitwise_or":
            return a | b
        case "bitwise_xor":
            return a ^ b
        case "mod_int":
            return a % b if b else 0
        case _:
            return _shifted(op, a, b, bits)


def _shifted(op: str, a: int, b: int, bits: int) -> int:
    shift = b if 0 <= b < bits else bits
    return a << shift if op.endswith("left") else a >> shift


def bitwise(op: str, a: Array, b: Array, bits: int, signed: bool) -> Array:
    """
    An operation on bit patterns of one width; the result as Python integers.

    `signed` says how operands are read; arithmetic shifts are signed and logical ones
    are not (penguin.md 2.2). A shift's amount keeps its own width.
    """
    shift = "shift" in op
    if shift:
        signed = op.startswith("arith")

    def read(value: int) -> int:
        return _signed(value, bits) if signed else value & ((1 << bits) - 1)

    pairs = zip(_words(a), _words(np.broadcast_to(b, a.shape)), strict=True)
    found = [_bitwise(op, read(x), y if shift else read(y), bits) for x, y in pairs]
    return np.array([read(x) for x in found], object).reshape(a.shape)


def cut(values: Array, dtype: str) -> Array:
    """Python integers as the low bits of a type."""
    bits = bits_of(dtype)
    words = [int(v) & ((1 << bits) - 1) for v in values.reshape(-1)]
    return np.array(words, f"u{bits // 8}").view(STORAGE[dtype]).reshape(values.shape)
