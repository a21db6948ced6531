"""Activation kernels against double-precision statements of the documented forms."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import ActivationFunction, AluOp
from xdsl_neuron.numerics.activation import (
    activate2,
    activation,
    activation_reduce,
    exponential,
    exponential_reduce,
    outside_domain,
    reciprocal,
)
from xdsl_neuron.numerics.erf import erf

Array = NDArray[Any]
Func = ActivationFunction

F32, BF16, I32 = DType.FLOAT32, DType.BFLOAT16, DType.INT32
NAN, INF = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def ieee_exceptions_pass() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def f32(values: Any) -> Array:
    return np.asarray(values, np.float32)


def run(func: Func, x: Any, scale: Any = 1.0, bias: Any = 0.0, *alpha: float) -> Array:
    x = f32(x)
    out = np.empty_like(x)
    activation(func, F32, F32)(out, x, scale, bias, *alpha)
    return out


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def softplus(x: float) -> float:
    return math.log1p(math.exp(-abs(x))) + max(x, 0.0)


def silu_slope(x: float) -> float:
    e = math.exp(x)
    return (x + e + 1) * e / (e + 1) ** 2


def gelu_tanh(x: float) -> float:
    inner = 0.7978845608028654 * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + math.tanh(inner))


def sine(x: float) -> float:
    """Beyond pi its cubic there, sin(9) = 27.65 (nki.api.shared of 2.32)."""
    past = abs(x) - math.pi
    return math.sin(x) if past <= 0 else math.copysign(1, x) * (past**3 / 6 - past)


FORMS: dict[Func, Callable[[float], float]] = {
    Func.IDENTITY: lambda x: x,
    Func.COPY: lambda x: x,
    Func.SQUARE: lambda x: x * x,
    Func.RELU: lambda x: max(x, 0.0),
    Func.LRELU: lambda x: 0.01 * x if x <= 0 else x,
    Func.SIGMOID: sigmoid,
    Func.TANH: math.tanh,
    Func.EXP: math.exp,
    Func.SOFTPLUS: softplus,
    Func.ERF: math.erf,
    Func.SIN: sine,
    Func.ARCTAN: math.atan,
    Func.SIGN: lambda x: (x > 0) - (x < 0),
    Func.GELU: lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))),
    Func.MISH: lambda x: x * math.tanh(softplus(x)),
    Func.GELU_APPRX_TANH: gelu_tanh,
    Func.GELU_APPRX_SIGMOID: lambda x: x * sigmoid(1.702 * x),
    Func.DERIVATIVE_GELU_APPRX_SIGMOID: lambda x: silu_slope(1.702 * x),
    Func.DERIVATIVE_GELU: lambda x: (
        0.5 * (1 + math.erf(x / math.sqrt(2))) + 0.3989423 * x * math.exp(-x * x / 2)
    ),
    Func.DERIVATIVE_ERF: lambda x: 1.1283792 * math.exp(-x * x),
    Func.ABS: abs,
    Func.SILU: lambda x: x * sigmoid(x),
    Func.DERIVATIVE_SILU: silu_slope,
    Func.IS_FINITE: lambda x: 1.0,
}
POSITIVE_FORMS: dict[Func, Callable[[float], float]] = {
    Func.SQRT: math.sqrt,
    Func.RSQRT: lambda x: 1 / math.sqrt(x),
    Func.LN: math.log,
    Func.RECIPROCAL: lambda x: 1 / x,
    Func.ABS_RECIPROCAL_SQRT: lambda x: 1 / math.sqrt(abs(x)),
}


def test_every_function_is_covered():
    assert {*FORMS, *POSITIVE_FORMS, Func.PRELU} == set(Func)


@pytest.mark.parametrize("func", FORMS)
def test_closed_forms(func: Func):
    x = f32(np.linspace(-9, 9, 4001))
    expected = [FORMS[func](v) for v in x.tolist()]
    np.testing.assert_allclose(run(func, x), expected, rtol=1e-6, atol=4e-7)


@pytest.mark.parametrize("func", POSITIVE_FORMS)
def test_closed_forms_of_positive_numbers(func: Func):
    x = f32(np.geomspace(1e-9, 1e9, 4001))
    expected = [POSITIVE_FORMS[func](v) for v in x.tolist()]
    np.testing.assert_allclose(run(func, x), expected, rtol=3e-7, atol=1e-7)


def test_erf_is_within_one_ulp():
    x = f32(np.r_[np.linspace(-4.5, 4.5, 30001), np.geomspace(1e-40, 1, 5001)])
    exact = np.array([math.erf(v) for v in x.tolist()])
    ulp = np.spacing(np.abs(f32(exact))).astype(np.float64)
    assert np.max(np.abs(erf(x).astype(np.float64) - exact) / ulp) < 0.6


def test_erf_of_special_values():
    x = f32([0.0, -0.0, INF, -INF, NAN, 3.92, 4.0, 100.0])
    result = erf(x)
    expected = [0.0, 0.0, 1.0, -1.0, NAN, 1.0, 1.0, 1.0]
    np.testing.assert_array_equal(result, f32(expected))
    assert np.signbit(result[:2]).tolist() == [False, True]


@pytest.mark.parametrize(
    ("func", "x", "expected"),
    [
        (Func.SQRT, [-1.0, 0.0, INF], [NAN, 0.0, INF]),
        (Func.RSQRT, [0.0, INF, -1.0, 4.0], [INF, 0.0, NAN, 0.5]),
        (Func.LN, [0.0, -1.0, 1.0, INF], [-INF, NAN, 0.0, INF]),
        (Func.RECIPROCAL, [0.0, INF, -4.0], [INF, 0.0, -0.25]),
        (Func.ABS_RECIPROCAL_SQRT, [-4.0, 0.0], [0.5, INF]),
        (Func.EXP, [-INF, INF, 0.0, NAN], [0.0, INF, 1.0, NAN]),
        (Func.SIGMOID, [-INF, INF, 0.0, NAN], [0.0, 1.0, 0.5, NAN]),
        (Func.SOFTPLUS, [-INF, INF, 0.0, NAN], [0.0, INF, np.log(2.0), NAN]),
        (Func.SIN, [-INF, INF, NAN], [-INF, INF, NAN]),
        (Func.GELU, [-INF, INF, NAN], [0.0, INF, NAN]),
        (Func.GELU_APPRX_TANH, [-INF, INF, NAN], [0.0, INF, NAN]),
        (Func.GELU_APPRX_SIGMOID, [-INF, INF, NAN], [0.0, INF, NAN]),
        (Func.SILU, [-INF, INF, NAN], [0.0, INF, NAN]),
        (Func.MISH, [-INF, INF, NAN], [0.0, INF, NAN]),
        (Func.DERIVATIVE_GELU, [-INF, INF, NAN], [0.0, 1.0, NAN]),
        (Func.DERIVATIVE_SILU, [-INF, INF, NAN], [0.0, 1.0, NAN]),
        (Func.DERIVATIVE_GELU_APPRX_SIGMOID, [-INF, INF, NAN], [0.0, 1.0, NAN]),
        (Func.DERIVATIVE_ERF, [-INF, INF, NAN], [0.0, 0.0, NAN]),
        (Func.RELU, [-INF, INF, -0.5, NAN], [0.0, INF, 0.0, NAN]),
        (Func.SIGN, [-INF, -0.0, 0.0, NAN, 1e-45], [-1.0, 0.0, 0.0, 0.0, 1.0]),
        (Func.IS_FINITE, [-INF, INF, NAN, 3e38], [0.0, 0.0, 0.0, 1.0]),
        (Func.ABS, [-INF, -2.0, NAN], [INF, 2.0, NAN]),
        (Func.DERIVATIVE_SILU, [-200.0, 200.0, 0.0], [0.0, 1.0, 0.5]),
        (Func.GELU, [-40.0, 40.0], [-0.0, 40.0]),
        (Func.LRELU, [NAN, -INF, INF], [NAN, -INF, INF]),
    ],
)
def test_special_values(func: Func, x: list[float], expected: list[float]):
    np.testing.assert_array_equal(run(func, x), f32(expected))


def test_alpha_is_preludes_alone():
    assert run(Func.PRELU, [-4.0, 0.0, 4.0], 1.0, 0.0, 0.25).tolist() == [-1, 0, 4]
    assert run(Func.LRELU, [-100.0, 4.0], 1.0, 0.0, 0.25).tolist() == [-1.0, 4.0]


def test_scale_and_bias_per_partition():
    x = f32([[1.0, 2.0], [3.0, 4.0]])
    scale, bias = f32([[2.0], [0.5]]), f32([[1.0], [-1.0]])
    assert run(Func.COPY, x, scale, bias).tolist() == [[3.0, 5.0], [0.5, 1.0]]
    assert run(Func.SQUARE, x, 3.0, bias).tolist() == [[16.0, 49.0], [64.0, 121.0]]
    assert run(Func.SQUARE, x, 1.0, bias).tolist() == [[4.0, 9.0], [4.0, 9.0]]


@pytest.mark.parametrize("func", Func)
@pytest.mark.parametrize("zero", [0.0, np.zeros((1, 1), np.float32)])
def test_an_absent_bias_is_a_bias_of_zero(func: Func, zero: Any):
    x = f32([[-0.0, 0.0, -1.5, 2.0, NAN, INF]])
    whole = run(func, x, np.ones((1, 1), np.float32), np.zeros((1, 1), np.float32))
    assert run(func, x, 1.0, zero).view(np.uint32).tolist() == (
        whole.view(np.uint32).tolist()
    )


@pytest.mark.parametrize("func", Func)
@pytest.mark.parametrize("step", [2, 3, 4, 8, -1, -4])
def test_in_place_on_a_strided_view(func: Func, step: int):
    """A step of 16 bytes too, where `np.negative` mixes elements up."""
    x = f32(np.random.default_rng(1).normal(size=(3, 80)))
    expected = run(func, x[:, ::step].copy(), 1.0, 0.0, 0.5)
    kernel = activation(func, F32, F32)
    # Two views of one memory: not the same object.
    kernel(x[:, ::step], x[:, ::step], 1.0, 0.0, 0.5)
    assert x[:, ::step].tobytes() == expected.tobytes()


@pytest.mark.parametrize("func", Func)
@pytest.mark.parametrize("step", [1, 3, 4, -4])
def test_into_a_strided_view(func: Func, step: int):
    x = f32(np.random.default_rng(1).normal(size=(3, 80)))[:, ::2]
    expected = run(func, x.copy(), 1.0, 0.0, 0.5)
    out = np.zeros((3, 40 * abs(step)), np.float32)[:, ::step]
    activation(func, F32, F32)(out, x, 1.0, 0.0, 0.5)
    assert out.tobytes() == expected.tobytes()


def test_bias_inside_the_output():
    x = f32([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    activation(Func.SQUARE, F32, F32)(x, x, 2.0, x[:, :1])
    assert x.tolist() == [[9.0, 25.0, 49.0], [144.0, 196.0, 256.0]]


def test_types_are_cast_on_both_sides():
    x = np.array([[1.0, 2.5, -3.5]], ml_dtypes.bfloat16)
    out = np.zeros((1, 3), np.int32)
    activation(Func.COPY, I32, BF16)(out, x, 1.0, 0.0)
    assert out.tolist() == [[1, 2, -4]]


def test_reduce_sums_before_the_cast():
    x = f32([[0.3, 0.3, 0.3], [1.0, 2.0, 3.0]])
    out, row = np.zeros((2, 3), np.int32), np.zeros((2, 1), np.float32)
    activation_reduce(Func.COPY, I32, F32)(out, row, x, 1.0, 0.0)
    assert out.tolist() == [[0, 0, 0], [1, 2, 3]]
    assert row[:, 0].tolist() == [f32([0.3, 0.3, 0.3]).sum(), 6.0]


def test_reduce_covers_all_free_axes_of_a_strided_view():
    x = f32(np.random.default_rng(2).normal(size=(4, 6, 10)))
    view = x[:, ::2, 1::3]
    out, row = np.zeros((4, 3, 3), np.float32), np.zeros((4, 1), np.float32)
    activation_reduce(Func.SQUARE, F32, F32)(out, row, view, 1.0, 0.0)
    flat = np.ascontiguousarray(view).reshape(4, 9)
    assert row[:, 0].tobytes() == np.sum(flat * flat, axis=1).tobytes()


def test_activate2():
    x, out = f32([[1.0, 4.0]]), np.zeros((1, 2), np.float32)
    kernel = activate2(Func.SQUARE, F32, F32, AluOp.SUBTRACT, True, AluOp.MULT, False)
    kernel(out, x, 3.0, 2.0)
    assert out.tolist() == [[16.0, 4.0]]
    activate2(Func.COPY, F32, F32)(out, x, 0.0, 0.0)
    assert out.tolist() == [[1.0, 4.0]]


def test_exponential():
    x, peak = f32([[1.0, 2.0], [5.0, -INF]]), f32([[2.0], [5.0]])
    out, row = np.zeros((2, 2), np.float32), np.zeros((2, 1), np.float32)
    exponential(F32, F32)(out, x, peak)
    np.testing.assert_allclose(out, [[math.exp(-1), 1.0], [1.0, 0.0]], rtol=3e-7)
    exponential_reduce(F32, F32)(x, row, x, peak)
    assert x.tobytes() == out.tobytes()
    assert row[:, 0].tobytes() == out.sum(axis=1).tobytes()


def test_reciprocal_is_exact():
    x = f32([3.0, 0.0, -INF, 1e-40])
    out = np.zeros(4, np.float32)
    reciprocal(F32, F32)(out, x)
    np.testing.assert_array_equal(out, f32([np.float32(1) / 3, INF, -0.0, INF]))


def test_domains():
    assert outside_domain(Func.SIN, f32([3.0, -3.5, NAN])).tolist() == [0, 1, 1]
    assert outside_domain(Func.LN, f32([-1.0, 2.0, 0.0])).tolist() == [1, 0, 1]
    assert outside_domain(Func.EXP, f32([1e9])).tolist() == [False]
