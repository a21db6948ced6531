"""
Scalars of 0.7: integers computed on the device, by value (`nisa.NkiScalar`).

What an operator computes is a new scalar. Where its value cannot leave the width, which
is known of loop indices, it is an expression; else an instruction, and it wraps.
"""

from operator import index
from typing import Any, Final, NoReturn, SupportsIndex, cast

from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp
from xdsl_neuron.nki.dtype import NAMED, LanguageDtype, as_dtype
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKITypeError, NKIValueError
from xdsl_neuron.tracer.index import IndexExpr, is_integer

SCALAR_TYPES: Final = (DType.INT32, DType.INT64)


class NkiScalar(IndexExpr):
    """
    An integer in a register, of `nl.int32` or `nl.int64`; `scalar_load` makes one.

    Usable in offsets where a register is. Operators take an integer or a scalar of the
    same type and wrap at its width. A comparison is computed, and cannot be used.
    """

    def __init__(
        self, state: Any, dtype: Any = None, is_comparison: bool = False
    ) -> None:
        if not isinstance(state, Affine):
            raise NKITypeError(
                "an NkiScalar is made by nisa.scalar_load, by nl.fori_loop and by "
                f"arithmetic on others, not of {type(state).__name__}"
            )
        self._state = state
        self.shape = ()
        self.is_comparison = is_comparison
        self.dtype: LanguageDtype = NAMED[
            DType.INT32 if dtype is None else as_dtype(dtype)
        ]

    @property
    def expr(self) -> Affine:
        """What it is; NKITypeError for the result of a comparison."""
        if self.is_comparison:
            raise NKITypeError(
                "the result of comparing scalars cannot be used: it has no value while "
                "a kernel is traced, and no instruction takes it; bound an "
                "nl.fori_loop by the scalar, or select with "
                "nisa.tensor_copy_predicated"
            )
        return self._state

    @property
    def bits(self) -> int:
        """Its width."""
        return self.dtype.itemsize * 8

    def made(self, value: Affine, other: object = None) -> "IndexExpr":
        """What an operation on it and another operand gives."""
        return NkiScalar(value, self.dtype)

    # -- arithmetic ----------------------------------------------------------------

    def __add__(self, other: object) -> Any:
        return self._applied(AluOp.ADD, other)

    __radd__ = __add__

    def __sub__(self, other: object) -> Any:
        return self._applied(AluOp.SUBTRACT, other)

    def __rsub__(self, other: object) -> Any:
        return self._applied(AluOp.SUBTRACT, other, swapped=True)

    def __mul__(self, other: object) -> Any:
        return self._applied(AluOp.MULT, other)

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self._applied(AluOp.SUBTRACT, 0, swapped=True)

    def __floordiv__(self, other: object) -> Any:
        self._no_operator("//")

    def __rfloordiv__(self, other: object) -> Any:
        self._no_operator("//")

    def __mod__(self, other: object) -> Any:
        self._no_operator("%")

    def __rmod__(self, other: object) -> Any:
        self._no_operator("%")

    def __truediv__(self, other: object) -> Any:
        self._no_operator("/")

    def __rtruediv__(self, other: object) -> Any:
        self._no_operator("/")

    def _no_operator(self, operator: str) -> NoReturn:
        raise NKITypeError(
            f"'{operator}' is not defined for an NkiScalar: it has + - * and unary -"
        )

    def _applied(self, op: AluOp, other: object, swapped: bool = False) -> Any:
        right = self._operand(op, other)
        left = self.expr
        if swapped:
            left, right = right, left
        return self.made(computed(op, left, right, self.bits), other)

    def _operand(self, op: AluOp, other: object) -> Affine:
        """The other operand; NKITypeError for one of another kind."""
        if isinstance(other, bool) or is_integer(other):
            value = index(cast(SupportsIndex, other))
            half = 1 << self.bits - 1
            if not -half <= value < half:
                raise NKIValueError(
                    f"{value} does not fit the {self.dtype} of the scalar it is "
                    "combined with"
                )
            return Affine(value)
        if isinstance(other, NkiScalar):
            if other.dtype != self.dtype:
                raise NKITypeError(
                    f"'{op}' takes scalars of one type, got {self.dtype} and "
                    f"{other.dtype}"
                )
            return other.expr
        if type(other) is IndexExpr and not other.shape:
            return other.expr  # of the launch grid
        if isinstance(other, IndexExpr):
            raise NKITypeError(
                f"'{op}' of an NkiScalar and a register: take the other operand from "
                "nisa.scalar_load too"
            )
        raise NKITypeError(
            f"'{op}' of an NkiScalar takes an integer or a scalar of {self.dtype}, got "
            f"{type(other).__name__}"
        )

    # -- comparisons ---------------------------------------------------------------

    def __lt__(self, other: object) -> Any:
        return self._compared(AluOp.IS_LT, other)

    def __le__(self, other: object) -> Any:
        return self._compared(AluOp.IS_LE, other)

    def __gt__(self, other: object) -> Any:
        return self._compared(AluOp.IS_GT, other)

    def __ge__(self, other: object) -> Any:
        return self._compared(AluOp.IS_GE, other)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, IndexExpr) and not is_integer(other):
            return NotImplemented
        return self._compared(AluOp.IS_EQUAL, other)

    def __ne__(self, other: object) -> Any:
        if not isinstance(other, IndexExpr) and not is_integer(other):
            return NotImplemented
        return self._compared(AluOp.NOT_EQUAL, other)

    __hash__ = object.__hash__

    def _compared(self, op: AluOp, other: object) -> Any:
        if self.dtype.kind is not DType.INT32:
            raise NKITypeError(
                f"'{op}' is not defined for an NkiScalar of {self.dtype}: registers of "
                "64 bits are not compared"
            )
        right = self._operand(op, other)
        return NkiScalar(session().register_alu(op, self.expr, right), self.dtype, True)

    # -- no value while tracing ----------------------------------------------------

    def __bool__(self) -> bool:
        self._no_value("a condition")

    def __int__(self) -> NoReturn:
        self._no_value("int()")

    def __float__(self) -> NoReturn:
        self._no_value("float()")

    def __index__(self) -> NoReturn:
        self._no_value("range(), or indexing a Python sequence,")

    def _no_value(self, what: str) -> NoReturn:
        raise NKITypeError(
            f"{what} needs a value, and an NkiScalar has none while a kernel is "
            "traced: use nl.fori_loop or nl.while_loop, or select with "
            "nisa.tensor_copy_predicated"
        )

    def __repr__(self) -> str:
        return f"<scalar {self.dtype.name}>"

    __str__ = __repr__


def computed(op: AluOp, left: Affine, right: Affine, bits: int) -> Affine:
    """The sum, difference or product at a width: exact, or in a register."""
    exact = _exact(op, left, right)
    if exact is not None:
        low, high = session().bounds(exact)
        half = 1 << bits - 1
        if exact in (left, right) or (-half <= low and high < half):
            return exact
    return session().register_alu(op, left, right, bits)


def _exact(op: AluOp, left: Affine, right: Affine) -> Affine | None:
    """The result as an expression, None where it has none."""
    if op is AluOp.MULT:
        if right.is_constant:
            return left * right.constant
        return right * left.constant if left.is_constant else None
    return left + right * (1 if op is AluOp.ADD else -1)
