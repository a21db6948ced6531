"""
The ALU of the vector, scalar and GpSIMD engines: elementwise maps of one or two ops.

Arithmetic, logical and compare operations widen to fp32, compute in fp32 and cast the
result to the destination; bit operations see raw integer patterns (penguin.md 2.2).
The scalars of the arithmetic kernels are Python numbers or fp32 arrays shaped
[P, 1, ...]; those of bit operations are Python ints or integer arrays shaped alike.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

from ..dtypes import DType
from ..isa import AluOp
from .bits import bit_tensor_scalar, bit_tensor_tensor
from .casts import copy, to_float32
from .integers import native_int32_kernel
from .kernel import Array, Kernel, Scalar
from .rules import Rule

# f(a, b, out=None) -> result, like a binary ufunc. `out` may be `a` or `b`.
Function: TypeAlias = Callable[..., Any]

_F32: Final = DType.FLOAT32


def _bypass(a: Array, b: Scalar, out: Array | None = None) -> Array:
    return np.positive(a, out=out)


def _rsqrt(a: Array, b: Scalar, out: Array | None = None) -> Array:
    root: Array = np.sqrt(a, out=out)
    return np.reciprocal(root, out=root)


def _power(a: Scalar, b: Scalar, out: Array | None = None) -> Array:
    # Rounded once, as NumPy's operator ** has it.
    if isinstance(b, float) and b == 2.0:
        return np.square(a, out=out)
    if isinstance(b, float) and b == -1.0:
        return np.reciprocal(a, out=out)
    return np.power(a, b, out=out)


def _abs(a: Array, b: Scalar, out: Array | None = None) -> Array:
    return np.absolute(a, out=out)


def _mod(a: Scalar, b: Scalar, out: Array | None = None) -> Array:
    """a - floor(a / b) * b, each step rounded to fp32."""
    quotient: Array = np.divide(a, b)
    np.floor(quotient, out=quotient)
    np.multiply(quotient, b, out=quotient)
    return np.subtract(a, quotient, out=out)


def _by_magnitude(wins: Function) -> Function:
    """The operand whose magnitude `wins`, with its sign; the second where neither."""

    def function(a: Scalar, b: Scalar, out: Array | None = None) -> Array:
        first, second = np.asarray(a, np.float32), np.asarray(b, np.float32)
        chosen = np.where(wins(np.abs(first), np.abs(second)), first, second)
        if out is None:
            return chosen
        np.copyto(out, chosen)
        return out

    return function


def _average(a: Scalar, b: Scalar, out: Array | None = None) -> Array:
    total: Array = np.add(a, b, out=out)
    return np.multiply(total, 0.5, out=total)


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


def _as_float32(predicate: Function) -> Function:
    """`predicate` with a result of 1.0 and 0.0."""

    def function(a: Scalar, b: Scalar, out: Array | None = None) -> Array:
        if out is None:
            return predicate(a, b).astype(np.float32)
        return predicate(a, b, out=out)

    return function


_FUNCTIONS: Final[dict[AluOp, Function]] = {
    AluOp.BYPASS: _bypass,
    AluOp.ADD: np.add,
    AluOp.SUBTRACT: np.subtract,
    AluOp.MULT: np.multiply,
    AluOp.DIVIDE: np.divide,
    AluOp.MAX: np.maximum,
    AluOp.MIN: np.minimum,
    AluOp.AVERAGE: _average,
    AluOp.ELEMWISE_MUL: np.multiply,
    AluOp.POW: _power,
    AluOp.MOD: _mod,
    AluOp.RSQRT: _rsqrt,
    AluOp.ABS: _abs,
    AluOp.ABS_MAX: _by_magnitude(np.greater),
    AluOp.ABS_MIN: _by_magnitude(np.less),
} | {op: _as_float32(predicate) for op, predicate in _PREDICATES.items()}

_UNARY: Final = frozenset({AluOp.BYPASS, AluOp.RSQRT, AluOp.ABS})


def float_function(op: AluOp, reverse: bool = False) -> Function:
    """
    The fp32 function f(a, b, out=None) of `op`, with swapped operands if `reverse`.

    Raises `ValueError` for a bit operation.
    """
    function = _FUNCTIONS.get(op)
    if function is None:
        raise ValueError(f"'{op}' is not an arithmetic operation")
    if not reverse or op in _UNARY:
        return function

    def reversed_function(a: Array, b: Scalar, out: Array | None = None) -> Array:
        return function(b, a, out=out)

    return reversed_function


def evaluate(op: AluOp, a: Array, b: Array | float = 0.0) -> Array:
    """`op` on fp32 operands that broadcast, as a new fp32 array; `a` is on the left."""
    left = np.asarray(a, np.float32)
    right = np.asarray(b, np.float32)
    shape = np.broadcast_shapes(left.shape, right.shape)
    result = float_function(op)(np.atleast_1d(left), np.atleast_1d(right))
    if op in _UNARY:
        result = np.broadcast_to(result.reshape(left.shape), shape).copy()
    return result.reshape(shape)


def writer(op: AluOp, reverse: bool, dst: DType) -> Function:
    """
    w(a, b, out=out): `op` on fp32 operands, cast into `out` of the storage of `dst`.

    A predicate is written straight into an integer destination.
    """
    function = float_function(op, reverse)
    if dst is _F32:
        return function
    if op in _PREDICATES and dst.is_integer:
        return _predicate_writer(_PREDICATES[op], reverse, dst)
    store = copy(dst, _F32)

    def write(a: Array, b: Scalar, out: Array) -> None:
        store(out, function(a, b))

    return write


def _predicate_writer(predicate: Function, reverse: bool, dst: DType) -> Function:
    # A byte holding 0 or 1 is NumPy's bool: no buffered cast.
    view = np.bool_ if dst.bytes == 1 else None

    def write(a: Array, b: Scalar, out: Array) -> None:
        target = out if view is None else out.view(view)
        if reverse:
            predicate(b, a, out=target)
        else:
            predicate(a, b, out=target)

    return write


@cache
def tensor_tensor(
    op: AluOp, dst: DType, a: DType, b: DType, *, native_int32: bool = False
) -> Kernel:
    """
    Kernel(out, a, b): out = a op b elementwise.

    `native_int32` selects GpSIMD's integer ALU, which is exact. Raises `ValueError`
    for operands it does not have.
    """
    if native_int32:
        return native_int32_kernel(op, dst, a, b)
    if op.is_bitvec:
        return bit_tensor_tensor(op, dst, a, b)
    write = writer(op, False, dst)
    if a is _F32 and b is _F32:

        def kernel(out: Array, a: Array, b: Array) -> None:
            write(a, b, out=out)

        return kernel
    widen_a, widen_b = to_float32(a), to_float32(b)

    def widening_kernel(out: Array, a: Array, b: Array) -> None:
        write(widen_a(a), widen_b(b), out=out)

    return widening_kernel


@cache
def tensor_scalar(
    dst: DType,
    src: DType,
    op0: AluOp,
    reverse0: bool = False,
    op1: AluOp | None = None,
    reverse1: bool = False,
) -> Kernel:
    """
    Kernel(out, x, s0, s1=None): out = (x op0 s0) op1 s1, in fp32 between the stages.

    A reverse flag swaps the operands of its stage. Both operations are arithmetic or
    both are bit operations (penguin.md 7), `ValueError` otherwise.
    """
    if op1 is not None and op0.is_bitvec != op1.is_bitvec:
        raise ValueError("must be both bitvec or both arithmetic operators.")
    if op0.is_bitvec:
        return bit_tensor_scalar(dst, src, op0, reverse0, op1, reverse1)
    if op1 is None:
        return _one_stage(writer(op0, reverse0, dst), src)
    first = float_function(op0, reverse0)
    second = writer(op1, reverse1, dst)
    widen = to_float32(src)
    in_place = dst is _F32

    def kernel(out: Array, x: Array, s0: Scalar, s1: Scalar) -> None:
        # An array s1 may be a column of `out`, which the first stage must not touch.
        if in_place and isinstance(s1, float):
            first(widen(x), s0, out=out)
            second(out, s1, out=out)
        else:
            second(first(widen(x), s0), s1, out=out)

    return kernel


def _one_stage(write: Function, src: DType) -> Kernel:
    if src is _F32:

        def kernel(out: Array, x: Array, s0: Scalar, s1: Scalar | None = None) -> None:
            write(x, s0, out=out)

        return kernel
    widen = to_float32(src)

    def widening_kernel(
        out: Array, x: Array, s0: Scalar, s1: Scalar | None = None
    ) -> None:
        write(widen(x), s0, out=out)

    return widening_kernel


@cache
def scalar_tensor_tensor(
    dst: DType,
    data: DType,
    tensor: DType,
    op0: AluOp,
    reverse0: bool,
    op1: AluOp,
    reverse1: bool,
) -> Kernel:
    """
    Kernel(out, data, s0, tensor): out = (data op0 s0) op1 tensor, arithmetic only.

    Raises `ValueError` for a bit operation (nki.md 1.1).
    """
    first = float_function(op0, reverse0)
    second = writer(op1, reverse1, dst)
    widen_data, widen_tensor = to_float32(data), to_float32(tensor)

    def kernel(out: Array, data: Array, s0: Scalar, tensor: Array) -> None:
        # Between the stages a new array: `tensor` is often `out` (a running sum).
        second(first(widen_data(data), s0), widen_tensor(tensor), out=out)

    return kernel


RULES: Final = (
    Rule(
        "ALU arithmetic",
        "operands are widened to fp32, computed in fp32, and the result is cast to "
        "the destination, so integers above 2^24 are not exact",
        "documented",
        "penguin.md 2.2, nki.md 5.2",
    ),
    Rule(
        "ALU bypass",
        "bypass in an arithmetic instruction goes through fp32 like any other "
        "operation; only a copy moves raw bits",
        "our choice",
        "bir.md 6.5",
    ),
    Rule(
        "ALU max and min",
        "a NaN operand gives NaN, in elementwise operations, reductions, searches, "
        "DMA and collectives alike, as in the NumPy functions that name the "
        "operations; the sign of a zero chosen among zeros is not specified",
        "our choice",
        "bir.md 10.3, 12.6; nki.md 5.5",
    ),
    Rule(
        "ALU abs_max and abs_min",
        "a where its magnitude is larger (smaller) than that of b, else b, each with "
        "its own sign; so b where a is NaN, and a fold forgets a NaN that is not last",
        "documented",
        "nki.language.abs_max of 2.30",
    ),
    Rule(
        "ALU compare and logical",
        "the result is 1 or 0; a compare with NaN is 0 except not_equal; NaN is true "
        "in a logical operation",
        "inferred",
        "bir.md 6.5, nki.md 5.5",
    ),
    Rule("ALU mod", "a - floor(a/b)*b in fp32", "documented", "penguin.md 6.3"),
    Rule("ALU rsqrt", "1/sqrt(a), rounded twice", "documented", "bir.md 1.14"),
    Rule(
        "ALU pow",
        "NumPy's fp32 power; a constant exponent of 2 or -1 is the product or the "
        "quotient, rounded once, which nl.square and nl.reciprocal are",
        "our choice",
        "bir.md 6.5; Supported Math Operators of NKI 0.5",
    ),
    Rule("ALU average", "(a + b) * 0.5", "our choice", "bir.md 10.4"),
    Rule("ALU elemwise_mul", "a * b", "our choice", "bir.md 10.4"),
    Rule(
        "ALU reverse",
        "swaps the operands of its stage; unary operations (bypass, rsqrt, abs) "
        "always take the tensor",
        "our choice",
        "bir.md 6.5",
    ),
    Rule(
        "ALU two stages",
        "the value between the two stages stays fp32 and is rounded after each",
        "inferred",
        "bir.md 6.5",
    ),
)
