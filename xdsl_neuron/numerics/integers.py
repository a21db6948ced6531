"""GpSIMD's native 32-bit integer ALU: exact, without a cast."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from ..dtypes import DType
from ..isa import AluOp
from .kernel import Array, Kernel
from .rules import Rule

# f(a, b, out=None) -> result, like a binary ufunc.
Function: TypeAlias = Callable[..., Any]

_WRAPPING: Final[dict[AluOp, Function]] = {
    AluOp.ADD: np.add,
    AluOp.SUBTRACT: np.subtract,
    AluOp.MULT: np.multiply,
}
_CHOOSING: Final[dict[AluOp, Function]] = {
    AluOp.MAX: np.maximum,
    AluOp.MIN: np.minimum,
}
_PREDICATES: Final[dict[AluOp, Function]] = {
    AluOp.LOGICAL_AND: np.logical_and,
    AluOp.LOGICAL_OR: np.logical_or,
    AluOp.LOGICAL_XOR: np.logical_xor,
    AluOp.IS_EQUAL: np.equal,
    AluOp.NOT_EQUAL: np.not_equal,
    AluOp.IS_GT: np.greater,
    AluOp.IS_GE: np.greater_equal,
    AluOp.IS_LT: np.less,
    AluOp.IS_LE: np.less_equal,
}


def native_int32_kernel(op: AluOp, dst: DType, a: DType, b: DType) -> Kernel:
    """
    Kernel(out, a, b): out = a op b on 32-bit integers, the low 32 bits of the result.

    Raises `ValueError` for an operation or a type it does not have.
    """
    for dtype in (dst, a, b):
        if dtype not in (DType.INT32, DType.UINT32):
            raise ValueError(f"expected int32 or uint32, got {dtype.nki_name}")
    if op is AluOp.POW:
        return _power
    if op in _WRAPPING:
        return _wrapping(_WRAPPING[op])
    function = _CHOOSING.get(op) or _PREDICATES.get(op)
    if function is None:
        raise ValueError(f"'{op}' has no native 32-bit integer form")
    return _comparing(function, a is b, op in _PREDICATES or dst is a)


def _wrapping(function: Function) -> Kernel:
    """The same bits, whatever the signs."""

    def kernel(out: Array, a: Array, b: Array) -> None:
        function(a.view(np.uint32), b.view(np.uint32), out=out.view(np.uint32))

    return kernel


def _comparing(function: Function, alike: bool, fits: bool) -> Kernel:
    """Signed with unsigned meet in 64 bits, where both are what they are."""
    if alike and fits:

        def kernel(out: Array, a: Array, b: Array) -> None:
            function(a, b, out=out)

        return kernel

    def mixed_kernel(out: Array, a: Array, b: Array) -> None:
        result = function(a.astype(np.int64), b.astype(np.int64))
        out.view(np.uint32)[...] = result.astype(np.uint32)

    return mixed_kernel


def _power(out: Array, a: Array, b: Array) -> None:
    """a ** b; with a negative b it is the quotient rounded towards 0, and 0 for 0."""
    negative = np.less(b, 0)
    times = np.where(negative, -b.astype(np.int64), b).astype(np.uint32)
    result: Array = np.power(a.view(np.uint32), times)
    unit = np.equal(a, 1) | np.equal(a.astype(np.int64), -1)
    out.view(np.uint32)[...] = np.where(negative & ~unit, np.uint32(0), result)


RULES: Final = (
    Rule(
        "native 32-bit integers",
        "tensor_tensor whose tiles are all int32 or uint32, none in PSUM, is exact on "
        "GpSIMD; add, subtract, mult and power keep the low 32 bits",
        "documented",
        "nki.isa.tensor_tensor of 2.29, penguin.md 2.2",
    ),
    Rule(
        "native power",
        "with a negative exponent the quotient rounded towards 0; 0 for a base of 0",
        "our choice",
        "nki.isa.tensor_tensor of 2.29",
    ),
    Rule(
        "native integers of both signs",
        "are compared as the numbers they are; a result that does not fit keeps its "
        "low 32 bits",
        "our choice",
        "nki.isa.tensor_tensor of 2.29",
    ),
)
