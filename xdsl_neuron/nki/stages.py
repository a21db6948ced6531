"""
A stage of `tensor_scalar` and its relatives: an operation, its scalar and its side.

A unary operation takes no scalar: `None` or 0 stands in its place. Some have no
operation of the ALU to themselves and are one of its binary operations with a constant
(a power, because not every instruction has sides to swap).
"""

from dataclasses import dataclass
from typing import Any, Final

from xdsl_neuron.isa import AluOp
from xdsl_neuron.nki.arguments import as_flag, as_operand, as_optional_operand
from xdsl_neuron.nki.ops import Op, as_alu, as_op
from xdsl_neuron.tracer.context import current
from xdsl_neuron.tracer.errors import NKIValueError
from xdsl_neuron.tracer.tiles import Number
from xdsl_neuron.tracer.views import View


@dataclass(frozen=True)
class Stage:
    """`x op scalar`, or `scalar op x` with `reverse`."""

    op: AluOp
    scalar: View | Number
    reverse: bool = False


_UNARY: Final = (AluOp.ABS, AluOp.RSQRT, AluOp.BITWISE_NOT, AluOp.BYPASS)

_CONSTANT: Final = {
    "square": Stage(AluOp.POW, 2.0),
    "relu": Stage(AluOp.MAX, 0.0),
    "reciprocal": Stage(AluOp.POW, -1.0),
}
"""Unary operations of the ALU table of NKI 0.5 and later, as binary ones."""

_FIRST: Final = {
    "logical_not": Stage(AluOp.IS_EQUAL, 0.0),
    "reciprocal": _CONSTANT["reciprocal"],
}
"""The ones of the table of generation 0.1."""


def _swaps(reverse: Any, names: tuple[str, str]) -> bool:
    """The flag of a stage: `reverse0` beside `op0`."""
    return as_flag(reverse, f"reverse{names[0].removeprefix('op')}")


def as_stage(
    op: Any, operand: Any, reverse: Any, api: str, names: tuple[str, str]
) -> Stage:
    """The stage of a call; `names` are those of the operation and its scalar."""
    given, swapped = as_op(op, names[0]), _swaps(reverse, names)
    constant = _constant(given)
    if constant is not None:
        _check_unary(given, operand, names[1])
        return constant
    alu = as_alu(given, api, names[0])
    if operand is None and alu in _UNARY:
        return Stage(alu, 0 if alu.is_bitvec else 0.0, swapped)
    return Stage(alu, as_operand(operand, names[1]), swapped)


def as_second_stage(
    op: Any, operand: Any, reverse: Any, api: str, names: tuple[str, str]
) -> tuple[AluOp | None, View | Number | None, bool]:
    """An operation that may be left out, its scalar and its side."""
    unary = op is not None and _takes_nothing(as_op(op, names[0]))
    if op is None or (operand is None and not unary):
        # The gate of the pair says which of the two is missing.
        alu = None if op is None else as_alu(op, api, names[0])
        return alu, as_optional_operand(operand, names[1]), _swaps(reverse, names)
    stage = as_stage(op, operand, reverse, api, names)
    return stage.op, stage.scalar, stage.reverse


def _constant(op: Op) -> Stage | None:
    return (_FIRST if current().masks_allowed else _CONSTANT).get(op.name)


def _takes_nothing(op: Op) -> bool:
    return op.alu in _UNARY or _constant(op) is not None


def _check_unary(op: Op, operand: Any, what: str) -> None:
    if operand is None or (not isinstance(operand, View) and operand == 0):
        return
    raise NKIValueError(
        f"{op} is a unary operation: `{what}` must be None or 0, got {operand!r}"
    )
