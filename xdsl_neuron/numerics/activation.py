"""
The activation engine: func(x * scale + bias) in fp32 (bir.md 10.5, penguin.md 7).

`scale`, `bias` and `alpha` are Python floats or fp32 arrays shaped [P, 1, ...].
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

from ..dtypes import DType
from ..isa import ActivationFunction, AluOp
from .alu import float_function
from .bits import blend
from .casts import copy, to_float32
from .erf import erf
from .kernel import Array, Kernel, Scalar
from .reduction import partition_rows, row_fold
from .rules import Rule

# f(x, alpha, out) -> result, on fp32 arrays; `out` may be `x`, or None for a new one.
Function: TypeAlias = Callable[..., Any]

_F32: Final = DType.FLOAT32


_LARGEST: Final = np.finfo(np.float32).max
_PI: Final = np.float32(np.pi)
_SIXTH: Final = np.float32(1 / 6)


def _above(x: Array) -> Array:
    """`x` with -inf as the lowest number, so that 0 times it is a zero, not NaN."""
    return np.maximum(x, -_LARGEST)


def _within(x: Array) -> Array:
    """`x` with both infinities as the outermost numbers."""
    return np.clip(x, -_LARGEST, _LARGEST)


def _sin(x: Array, alpha: Scalar, out: Array | None) -> Array:
    """The sine in [-pi, pi]; beyond, the cubic about pi, nowhere reduced."""
    size: Array = np.absolute(x)
    outside = np.greater(size, _PI)
    result: Array = np.sin(x, out=np.empty_like(x))
    if outside.any():
        past = size[outside] - _PI
        cubic = (past * past * _SIXTH - np.float32(1)) * past
        result[outside] = np.copysign(np.float32(1), x[outside]) * cubic
    if out is None:
        return result
    np.copyto(out, result)
    return out


def _plain(ufunc: Function) -> Function:
    """`ufunc`, which has no alpha."""

    def function(x: Array, alpha: Scalar, out: Array | None) -> Array:
        return ufunc(x, out=out)

    return function


def _relu(x: Array, alpha: Scalar, out: Array | None) -> Array:
    return np.maximum(x, 0.0, out=out)


def _prelu(x: Array, alpha: Scalar, out: Array | None) -> Array:
    result = blend(np.greater(x, 0.0), x, np.multiply(x, alpha))
    if out is None:
        return result
    np.copyto(out, result)
    return out


def _lrelu(x: Array, alpha: Scalar, out: Array | None) -> Array:
    return _prelu(x, 0.01, out)


def _negative(x: Array, out: Array | None = None) -> Array:
    """
    -x, without `np.negative`.

    NumPy's own mixes elements up where both arrays are strided and the destination's
    step is 16 bytes (2.4).
    """
    return np.multiply(x, -1.0, out=out)


def _sigmoid(x: Array, alpha: Scalar, out: Array | None) -> Array:
    result: Array = _negative(x, out)
    np.exp(result, out=result)
    np.add(result, 1.0, out=result)
    return np.reciprocal(result, out=result)


def _silu(x: Array, alpha: Scalar, out: Array | None) -> Array:
    divisor: Array = _negative(x)
    np.exp(divisor, out=divisor)
    np.add(divisor, 1.0, out=divisor)
    return np.divide(_above(x), divisor, out=out)


def _softplus(x: Array, alpha: Scalar, out: Array | None) -> Array:
    """log1p(e^-|x|) + max(x, 0)."""
    tail: Array = np.absolute(x)
    _negative(tail, tail)
    np.exp(tail, out=tail)
    np.log1p(tail, out=tail)
    result: Array = np.maximum(x, 0.0, out=out)
    return np.add(result, tail, out=result)


def _mish(x: Array, alpha: Scalar, out: Array | None) -> Array:
    factor = _softplus(x, alpha, None)
    np.tanh(factor, out=factor)
    return np.multiply(_above(x), factor, out=out)


def _rsqrt(x: Array, alpha: Scalar, out: Array | None) -> Array:
    result: Array = np.sqrt(x, out=out)
    return np.reciprocal(result, out=result)


def _abs_reciprocal_sqrt(x: Array, alpha: Scalar, out: Array | None) -> Array:
    result: Array = np.absolute(x, out=out)
    return _rsqrt(result, alpha, result)


def _sign(x: Array, alpha: Scalar, out: Array | None) -> Array:
    """(x > 0) - (x < 0), so 0 for NaN."""
    negative = np.less(x, 0.0)
    result = np.empty_like(x) if out is None else out
    np.greater(x, 0.0, out=result)
    return np.subtract(result, negative, out=result)


def _is_finite(x: Array, alpha: Scalar, out: Array | None) -> Array:
    result = np.empty_like(x) if out is None else out
    return np.isfinite(x, out=result)


def _gelu(x: Array, alpha: Scalar, out: Array | None) -> Array:
    """0.5 * x * (1 + erf(x / sqrt(2)))."""
    factor: Array = np.divide(x, 1.414213562373095)
    erf(factor, factor)
    np.add(factor, 1.0, out=factor)
    half: Array = np.multiply(_above(x), 0.5, out=out)
    return np.multiply(half, factor, out=half)


def _gelu_apprx_tanh(x: Array, alpha: Scalar, out: Array | None) -> Array:
    """0.5 * x * (1 + tanh(0.797884... * (x + 0.044715 * x^3)))."""
    factor: Array = np.multiply(x, x)
    np.multiply(factor, x, out=factor)
    np.multiply(factor, 0.044715, out=factor)
    np.add(factor, x, out=factor)
    np.multiply(factor, 0.7978845608028654, out=factor)
    np.tanh(factor, out=factor)
    np.add(factor, 1.0, out=factor)
    half: Array = np.multiply(_above(x), 0.5, out=out)
    return np.multiply(half, factor, out=half)


def _gelu_apprx_sigmoid(x: Array, alpha: Scalar, out: Array | None) -> Array:
    """x * sigmoid(1.702 * x)."""
    factor: Array = np.multiply(x, 1.702)
    _sigmoid(factor, alpha, factor)
    return np.multiply(_above(x), factor, out=out)


def _derivative_silu(x: Array, alpha: Scalar, out: Array | None) -> Array:
    """
    s * (1 + x * (1 - s)) with s = sigmoid(x).

    The same function as (x + e^x + 1) * e^x / (e^x + 1)^2, without its overflow.
    """
    sigmoid = _sigmoid(x, alpha, None)
    slope: Array = np.subtract(1.0, sigmoid)
    np.multiply(slope, _within(x), out=slope)
    np.add(slope, 1.0, out=slope)
    return np.multiply(slope, sigmoid, out=out)


def _derivative_gelu_apprx_sigmoid(x: Array, alpha: Scalar, out: Array | None) -> Array:
    """The derivative of SiLU at 1.702 * x."""
    scaled: Array = np.multiply(x, 1.702, out=out)
    return _derivative_silu(scaled, alpha, scaled)


def _derivative_gelu(x: Array, alpha: Scalar, out: Array | None) -> Array:
    """0.5 * (1 + erf(x / sqrt(2))) + 0.3989423 * x * e^(-x^2 / 2)."""
    cumulative: Array = np.multiply(x, 0.7071067811865476)
    erf(cumulative, cumulative)
    np.add(cumulative, 1.0, out=cumulative)
    np.multiply(cumulative, 0.5, out=cumulative)
    density: Array = np.multiply(x, x)
    np.multiply(density, -0.5, out=density)
    np.exp(density, out=density)
    np.multiply(density, _within(x), out=density)
    np.multiply(density, 0.3989423, out=density)
    return np.add(cumulative, density, out=out)


def _derivative_erf(x: Array, alpha: Scalar, out: Array | None) -> Array:
    """1.1283792 * e^(-x^2)."""
    result: Array = np.multiply(x, x, out=out)
    _negative(result, result)
    np.exp(result, out=result)
    return np.multiply(result, 1.1283792, out=result)


_FUNCTIONS: Final[dict[ActivationFunction, Function]] = {
    ActivationFunction.IDENTITY: _plain(np.positive),
    ActivationFunction.SQUARE: _plain(np.square),
    ActivationFunction.RELU: _relu,
    ActivationFunction.LRELU: _lrelu,
    ActivationFunction.PRELU: _prelu,
    ActivationFunction.SIGMOID: _sigmoid,
    ActivationFunction.TANH: _plain(np.tanh),
    ActivationFunction.EXP: _plain(np.exp),
    ActivationFunction.SOFTPLUS: _softplus,
    ActivationFunction.SQRT: _plain(np.sqrt),
    ActivationFunction.RSQRT: _rsqrt,
    ActivationFunction.LN: _plain(np.log),
    ActivationFunction.ERF: _plain(erf),
    ActivationFunction.SIN: _sin,
    ActivationFunction.ARCTAN: _plain(np.arctan),
    ActivationFunction.SIGN: _sign,
    ActivationFunction.GELU: _gelu,
    ActivationFunction.MISH: _mish,
    ActivationFunction.GELU_APPRX_TANH: _gelu_apprx_tanh,
    ActivationFunction.GELU_APPRX_SIGMOID: _gelu_apprx_sigmoid,
    ActivationFunction.DERIVATIVE_GELU_APPRX_SIGMOID: _derivative_gelu_apprx_sigmoid,
    ActivationFunction.DERIVATIVE_GELU: _derivative_gelu,
    ActivationFunction.DERIVATIVE_ERF: _derivative_erf,
    ActivationFunction.COPY: _plain(np.positive),
    ActivationFunction.ABS: _plain(np.absolute),
    ActivationFunction.RECIPROCAL: _plain(np.reciprocal),
    ActivationFunction.ABS_RECIPROCAL_SQRT: _abs_reciprocal_sqrt,
    ActivationFunction.SILU: _silu,
    ActivationFunction.DERIVATIVE_SILU: _derivative_silu,
    ActivationFunction.IS_FINITE: _is_finite,
}

_COPIES: Final = (ActivationFunction.IDENTITY, ActivationFunction.COPY)

# Functions with f(-0) = f(+0) to the bit, for which adding a bias of 0 changes nothing.
_BLIND_TO_ZERO_SIGN: Final = frozenset(
    {
        ActivationFunction.SQUARE,
        ActivationFunction.SIGMOID,
        ActivationFunction.EXP,
        ActivationFunction.SOFTPLUS,
        ActivationFunction.LN,
        ActivationFunction.SIGN,
        ActivationFunction.DERIVATIVE_GELU,
        ActivationFunction.DERIVATIVE_ERF,
        ActivationFunction.ABS,
        ActivationFunction.ABS_RECIPROCAL_SQRT,
        ActivationFunction.DERIVATIVE_SILU,
        ActivationFunction.DERIVATIVE_GELU_APPRX_SIGMOID,
        ActivationFunction.IS_FINITE,
    }
)

# Where the hardware's tables are valid (nki.md 5.4): magnitudes of the fp32 input.
# Outside they give "invalid results"; here the function is evaluated all the same.
DOMAINS: Final[dict[ActivationFunction, tuple[float, float]]] = {
    ActivationFunction.LN: (2.0**-64, 2.0**64),
    ActivationFunction.SIN: (0.0, float(np.float32(np.pi))),
    ActivationFunction.ARCTAN: (0.0, float(np.float32(np.pi / 2))),
    ActivationFunction.SQRT: (2.0**-116, 2.0**118),
    ActivationFunction.RSQRT: (2.0**-87, 2.0**97),
    ActivationFunction.RECIPROCAL: (2.0**-42, 2.0**42),
}
_POSITIVE_DOMAIN: Final = frozenset(
    {ActivationFunction.LN, ActivationFunction.SQRT, ActivationFunction.RSQRT}
)


def outside_domain(func: ActivationFunction, x: Array) -> Array:
    """Where an fp32 input is outside the range the hardware's table documents."""
    domain = DOMAINS.get(func)
    if domain is None:
        return np.zeros(x.shape, np.bool_)
    low, high = domain
    magnitude = x if func in _POSITIVE_DOMAIN else np.absolute(x)
    return ~((magnitude >= low) & (magnitude <= high))


def activation_function(func: ActivationFunction, x: Array, alpha: Scalar) -> Array:
    """`func` of an fp32 array, as a new fp32 array."""
    return _FUNCTIONS[func](x, alpha, None)


def _affine(src: DType, keeps_zero_sign: bool) -> Function:
    """
    a(x, scale, bias, out=None) = x * scale + bias in fp32.

    Without `out` it is `x` itself where that is exact.
    """
    widen = to_float32(src)

    def affine(
        x: Array, scale: Scalar, bias: Scalar, out: Array | None = None
    ) -> Array:
        scaled = widen(x)
        if not (isinstance(scale, float) and scale == 1.0):
            # A new array: an array `bias` may be a column of `out`.
            scaled = np.multiply(scaled, scale)
            return np.add(scaled, bias, out=scaled if out is None else out)
        if not keeps_zero_sign and isinstance(bias, float) and bias == 0.0:
            return scaled
        return np.add(scaled, bias, out=out)

    return affine


def _finisher(func: ActivationFunction, dst: DType) -> Function:
    """w(out, x, alpha): func(x) cast into `out`."""
    function = _FUNCTIONS[func]
    if dst is _F32:

        def write(out: Array, x: Array, alpha: Scalar) -> None:
            function(x, alpha, out)

        return write
    store = copy(dst, _F32)

    def write_cast(out: Array, x: Array, alpha: Scalar) -> None:
        store(out, function(x, alpha, None))

    return write_cast


@cache
def activation(func: ActivationFunction, dst: DType, src: DType) -> Kernel:
    """Kernel(out, x, scale, bias, alpha=0.0): out = func(x * scale + bias; alpha)."""
    affine = _affine(src, func not in _BLIND_TO_ZERO_SIGN)
    if func in _COPIES and dst is _F32:

        def copy_kernel(
            out: Array, x: Array, scale: Scalar, bias: Scalar, alpha: Scalar = 0.0
        ) -> None:
            affine(x, scale, bias, out)

        return copy_kernel
    finish = _finisher(func, dst)

    def kernel(
        out: Array, x: Array, scale: Scalar, bias: Scalar, alpha: Scalar = 0.0
    ) -> None:
        finish(out, affine(x, scale, bias), alpha)

    return kernel


@cache
def activation_reduce(func: ActivationFunction, dst: DType, src: DType) -> Kernel:
    """
    Kernel(out, row, x, scale, bias, alpha=0.0): activation, and its sums.

    `row` is fp32 with one element per partition (say [P, 1]): the sum over all free
    axes of the fp32 results before their cast to `dst`.
    """
    affine = _affine(src, func not in _BLIND_TO_ZERO_SIGN)
    function = _FUNCTIONS[func]
    store = copy(dst, _F32)

    def kernel(
        out: Array,
        row: Array,
        x: Array,
        scale: Scalar,
        bias: Scalar,
        alpha: Scalar = 0.0,
    ) -> None:
        result = function(affine(x, scale, bias), alpha, None)
        row[...] = row_sum(result).reshape(row.shape)
        store(out, result)

    return kernel


def row_sum(x: Array) -> Array:
    """The sum over all free axes of an fp32 array, one per partition, pairwise."""
    rows = np.ascontiguousarray(x).reshape(x.shape[0], -1)
    return np.add.reduce(rows, axis=1)


@cache
def activate2(
    func: ActivationFunction,
    dst: DType,
    src: DType,
    op0: AluOp | None = None,
    reverse0: bool = False,
    op1: AluOp | None = None,
    reverse1: bool = False,
) -> Kernel:
    """
    Kernel(out, x, s0, s1, alpha=0.0): out = func((x op0 s0) op1 s1; alpha).

    An absent operation leaves its stage out (nki.md 1.1).
    """
    widen = to_float32(src)
    stages = [
        float_function(op, reverse)
        for op, reverse in ((op0, reverse0), (op1, reverse1))
        if op is not None
    ]
    finish = _finisher(func, dst)

    def kernel(
        out: Array, x: Array, s0: Scalar, s1: Scalar, alpha: Scalar = 0.0
    ) -> None:
        value = widen(x)
        for stage, scalar in zip(stages, (s0, s1), strict=False):
            value = stage(value, scalar)
        finish(out, value, alpha)

    return kernel


@cache
def activate2_reduce(
    func: ActivationFunction,
    dst: DType,
    src: DType,
    reduce_op: AluOp,
    op0: AluOp | None = None,
    reverse0: bool = False,
    op1: AluOp | None = None,
    reverse1: bool = False,
) -> Kernel:
    """Kernel(out, row, x, s0, s1, alpha=0.0): activate2, and its fp32 row folds."""
    inner = activate2(func, _F32, src, op0, reverse0, op1, reverse1)
    fold, store = row_fold(reduce_op), copy(dst, _F32)

    def kernel(
        out: Array, row: Array, x: Array, s0: Scalar, s1: Scalar, alpha: Scalar = 0.0
    ) -> None:
        result = np.empty(x.shape, np.float32)
        inner(result, x, s0, s1, alpha)
        row[...] = partition_rows(fold, result).reshape(row.shape)
        store(out, result)

    return kernel


@cache
def exponential(dst: DType, src: DType) -> Kernel:
    """Kernel(out, x, max_value): out = exp(x - max_value) (nki.md 1.1)."""
    widen = to_float32(src)
    finish = _finisher(ActivationFunction.EXP, dst)

    def kernel(out: Array, x: Array, max_value: Scalar) -> None:
        finish(out, np.subtract(widen(x), max_value), 0.0)

    return kernel


@cache
def exponential_reduce(dst: DType, src: DType) -> Kernel:
    """Kernel(out, row, x, max_value): exponential and its fp32 row sums."""
    widen = to_float32(src)
    store = copy(dst, _F32)

    def kernel(out: Array, row: Array, x: Array, max_value: Scalar) -> None:
        result: Array = np.subtract(widen(x), max_value)
        np.exp(result, out=result)
        row[...] = row_sum(result).reshape(row.shape)
        store(out, result)

    return kernel


@cache
def reciprocal(dst: DType, src: DType) -> Kernel:
    """Kernel(out, x): out = 1 / x in fp32, exact to the rounding (bir.md 6.5)."""
    widen = to_float32(src)
    finish = _finisher(ActivationFunction.RECIPROCAL, dst)

    def kernel(out: Array, x: Array) -> None:
        finish(out, widen(x), 0.0)

    return kernel


RULES: Final = (
    Rule(
        "activation input",
        "x * scale + bias in fp32, rounded after each step; an absent bias is +0, so "
        "-0 becomes +0",
        "documented",
        "bir.md 6.6, 10.5",
    ),
    Rule(
        "activation functions",
        "the closed forms, evaluated in fp32 with NumPy's elementary functions "
        "(a few ulp), erf in double and rounded once",
        "our choice",
        "bir.md 10.5, nki.md 5.4",
    ),
    Rule(
        "activation domain",
        "outside the range of the hardware's tables the exact function is "
        "evaluated, but for sin",
        "our choice",
        "nki.md 5.4, bir.md 10.5",
    ),
    Rule(
        "activation sin",
        "beyond pi its cubic there goes on, d^3 / 6 - d with d = |x| - pi and the sign "
        "of x: sin(9) is 27.65; nl.sin brings its argument into [-pi, pi] first",
        "documented",
        "nki.api.shared of 2.32",
    ),
    Rule(
        "activations of infinities",
        "the limits: gelu, silu and mish are 0 and inf, their derivatives 0 and 1",
        "documented",
        "nki.api.shared of 2.32: valid on [-inf, inf]",
    ),
    Rule(
        "Derivative_silu",
        "(x + e^x + 1) * e^x / (e^x + 1)^2, the derivative of SiLU, not the "
        "printed formula; this and Derivative_Gelu_apprx_sigmoid in a form that "
        "does not overflow",
        "our choice",
        "bir.md 10.5",
    ),
    Rule("Lrelu", "slope 0.01, alpha is ignored", "documented", "bir.md 10.5"),
    Rule("Is_finite", "1 where finite, else 0", "our choice", "bir.md 10.5"),
    Rule("Sign of NaN", "0: (x>0) - (x<0)", "documented", "bir.md 10.5"),
    Rule(
        "activation row sum",
        "adds the fp32 results before their cast to the destination",
        "inferred",
        "nki.md 5.5",
    ),
)
