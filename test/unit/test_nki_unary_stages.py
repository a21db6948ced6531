"""Unary operations as stages of `tensor_scalar` and its relatives (NKI 0.5, 0.1)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_pieces import F32, fl, loaded, nisa, nl, normal, saved, stored, tile

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.isa as functional_isa
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

fisa: Any = functional_isa
P, F = 32, 40
UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": np.abs,
    "square": lambda x: x * x,
    "relu": lambda x: np.maximum(x, F32(0)),
    "rsqrt": lambda x: F32(1) / np.sqrt(x),
    "reciprocal": lambda x: F32(1) / x,
}
"""What the table "Supported Math Operators" of 0.5 calls arithmetic unary."""


def positive() -> Any:
    return np.abs(normal(P, F)) + F32(0.25)


@pytest.mark.parametrize("operand", [None, 0, 0.0])
@pytest.mark.parametrize("name", UNARY)
def test_either_stage(name: str, operand: Any) -> None:
    x = positive() * (1 if name in ("rsqrt", "reciprocal") else -1)

    def kernel(x: Any) -> Any:
        dst, op = tile(P, F), getattr(nl, name)
        nisa.tensor_scalar(dst, loaded(x), op, operand, op1=nl.add, operand1=1.0)
        nisa.tensor_scalar(dst, dst, nl.multiply, 2.0, op1=op, operand1=operand)
        return saved(dst)

    expected = UNARY[name]((UNARY[name](x) + F32(1)) * F32(2))
    assert_kernel_ok(nki.jit(kernel), x, expected=expected)


@pytest.mark.parametrize("name", UNARY)
def test_relatives(name: str) -> None:
    x = positive()

    def kernel(x: Any) -> Any:
        op, data, both = getattr(nl, name), loaded(x), tile(P, F)
        total, running, one = tile(P, 1), tile(P, F), tile(P, F)
        nisa.scalar_tensor_tensor(both, data, op, None, nl.subtract, data)
        nisa.tensor_scalar_reduce(one, data, op, None, nl.maximum, total)
        nisa.tensor_scalar_cumulative(running, data, op, nl.maximum, None)
        return saved(both), saved(one), saved(total), saved(running)

    value = UNARY[name](x)
    largest = np.maximum.accumulate(value, axis=1)
    expected = (value - x, value, largest[:, -1:], largest)
    assert_kernel_ok(nki.jit(kernel), x, expected=expected)


def test_bit_patterns() -> None:
    x = np.arange(P * F, dtype=np.int32).reshape(P, F)

    def kernel(x: Any) -> Any:
        dst = tile(P, F, dtype=nl.int32)
        nisa.tensor_scalar(dst, loaded(x), nl.invert, None)
        return saved(dst)

    assert_kernel_ok(nki.jit(kernel), x, expected=~x)


def test_operations_of_generation_0_1() -> None:
    x = np.round(normal(P, F))
    x[:, 0] = 3

    def kernel(x: Any) -> Any:
        data = fl.load(x)
        nots = fisa.tensor_scalar(data, fl.logical_not, None, dtype=fl.float32)
        return stored(nots), stored(fisa.tensor_scalar(data, fl.reciprocal, 0.0))

    with np.errstate(divide="ignore"):
        expected = (x == 0).astype(F32), F32(1) / x
    assert_kernel_ok(functional.jit(kernel), x, expected=expected)


def test_an_operand_of_a_unary_operation() -> None:
    def kernel(x: Any) -> Any:
        dst = tile(P, F)
        nisa.tensor_scalar(dst, loaded(x), nl.square, 3.0)
        return saved(dst)

    with pytest.raises(NKIError, match=r"`operand0` must be None or 0, got 3\.0"):
        nki.trace(nki.jit(kernel))(positive())
