"""The scalar ALU of the engines' sequencers, on Python integers."""

from collections.abc import Callable
from typing import Final

from ..isa import AluOp
from .rules import Rule


def wrapped(value: int, bits: int) -> int:
    """The signed integer of so many bits with the same low bits."""
    half = 1 << bits - 1
    return (value + half & (1 << bits) - 1) - half


def _divide(a: int, b: int) -> int:
    quotient = abs(a) // abs(b) if b else 0
    return quotient if (a < 0) == (b < 0) else -quotient


_FUNCTIONS: Final[dict[AluOp, Callable[[int, int], int]]] = {
    AluOp.BYPASS: lambda a, b: a,
    AluOp.BITWISE_NOT: lambda a, b: ~a,
    AluOp.ADD: lambda a, b: a + b,
    AluOp.SUBTRACT: lambda a, b: a - b,
    AluOp.MULT: lambda a, b: a * b,
    AluOp.DIVIDE: _divide,
    AluOp.MOD: lambda a, b: a % b if b else 0,
    AluOp.MAX: max,
    AluOp.MIN: min,
    AluOp.ABS: lambda a, b: abs(a),
    AluOp.BITWISE_AND: lambda a, b: a & b,
    AluOp.BITWISE_OR: lambda a, b: a | b,
    AluOp.BITWISE_XOR: lambda a, b: a ^ b,
    AluOp.LOGICAL_AND: lambda a, b: int(bool(a) and bool(b)),
    AluOp.LOGICAL_OR: lambda a, b: int(bool(a) or bool(b)),
    AluOp.LOGICAL_XOR: lambda a, b: int(bool(a) is not bool(b)),
    AluOp.IS_EQUAL: lambda a, b: int(a == b),
    AluOp.NOT_EQUAL: lambda a, b: int(a != b),
    AluOp.IS_GT: lambda a, b: int(a > b),
    AluOp.IS_GE: lambda a, b: int(a >= b),
    AluOp.IS_LT: lambda a, b: int(a < b),
    AluOp.IS_LE: lambda a, b: int(a <= b),
}


def register_alu(op: AluOp, bits: int) -> Callable[[int, int], int]:
    """
    `f(a, b)`: the operation on signed integers of `bits` bits, wrapping.

    Raises `ValueError` for an operation that has no integer form.
    """
    if op in (
        AluOp.ARITH_SHIFT_LEFT,
        AluOp.LOGICAL_SHIFT_LEFT,
        AluOp.ARITH_SHIFT_RIGHT,
        AluOp.LOGICAL_SHIFT_RIGHT,
    ):
        return _shift(op, bits)
    function = _FUNCTIONS.get(op)
    if function is None:
        raise ValueError(f"'{op}' has no form on registers")
    return lambda a, b: wrapped(function(wrapped(a, bits), wrapped(b, bits)), bits)


def _shift(op: AluOp, bits: int) -> Callable[[int, int], int]:
    ones = (1 << bits) - 1

    def shift(a: int, b: int) -> int:
        # A count of the width or more leaves nothing, or the sign.
        count = min(b & ones, bits)
        if op is AluOp.ARITH_SHIFT_RIGHT:
            return wrapped(a, bits) >> count
        if op is AluOp.LOGICAL_SHIFT_RIGHT:
            return wrapped((a & ones) >> count, bits)
        return wrapped(a << count, bits)

    return shift


RULES: Final = (
    Rule(
        "register arithmetic",
        "signed integers of 32 bits, or 64 with is_64bit, that wrap",
        "our choice",
        "bir.md 6.12, 10.4",
    ),
    Rule(
        "NkiScalar",
        "sums, differences and products wrap at its 32 or 64 bits",
        "documented",
        "nki.isa.NkiScalar of NKI 0.7",
    ),
    Rule(
        "register divide and mod",
        "divide rounds towards zero, mod has the sign of the divisor; by zero both "
        "are 0",
        "our choice",
        "bir.md 6.12",
    ),
    Rule(
        "register shifts",
        "the count is unsigned; one of the width or more leaves 0 or the sign",
        "our choice",
        "bir.md 6.12",
    ),
    Rule(
        "uint32 in a register",
        "TensorLoad keeps it unsigned; arithmetic takes it as int32; TensorSave stores "
        "the low 32 bits",
        "our choice",
        "bir.md 6.3",
    ),
)
