"""Types and places of biases, slopes and `reduce_res` (nki.isa of NKI 0.5, 0.6)."""

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
P, F = 32, 12
FLOATS = ("float8_e4m3", "float8_e5m2", "float16", "bfloat16", "float32")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
NEW = nisa.reduce_cmd.reset_reduce


def small() -> Any:
    """Numbers whose sums every type holds."""
    ones = np.abs(np.round(normal(P, F))).clip(0, 1)
    ones[:, 4:] = 0
    return ones


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_bias_of_any_type(name: str) -> None:
    x = normal(P, F)

    def kernel(x: Any) -> Any:
        dst, bias = tile(P, F), tile(P, 1, dtype=getattr(nl, name))
        nisa.memset(bias, 3)
        nisa.activation(dst, nl.relu, loaded(x), bias=bias, scale=2.0)
        return saved(dst)

    expected = np.maximum(x * F32(2) + F32(3), 0)
    assert_kernel_ok(nki.jit(kernel), x, expected=expected)


def test_bias_of_generation_0_1() -> None:
    def kernel(x: Any) -> Any:
        bias = fl.zeros((P, 1), fl.int32)
        return stored(fisa.activation(fl.relu, fl.load(x), bias=bias))

    with pytest.raises(NKIError, match="float32, float16, or bfloat16, got 'int32'"):
        functional.trace(functional.jit(kernel))(normal(P, F))


def _activation(dst: Any, x: Any, result: Any) -> None:
    nisa.activation(dst, nl.copy, x, None, 1.0, nl.add, result, NEW)


def _activation_reduce(dst: Any, x: Any, result: Any) -> None:
    nisa.activation_reduce(dst, nl.copy, x, nl.add, result)


def _activate2(dst: Any, x: Any, result: Any) -> None:
    nothing = (None, None, nl.bypass, nl.bypass)
    nisa.activate2(
        dst, nl.copy, x, *nothing, reduce_op=nl.add, reduce_res=result, reduce_cmd=NEW
    )


def _tensor_scalar_reduce(dst: Any, x: Any, result: Any) -> None:
    nisa.tensor_scalar_reduce(dst, x, nl.add, 0.0, nl.add, result)


SUMS = (_activation, _activation_reduce, _activate2, _tensor_scalar_reduce)


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("instruction", SUMS)
def test_sums_of_any_type(instruction: Any, name: str) -> None:
    x = small()

    def kernel(x: Any) -> Any:
        dst, result = tile(P, F), tile(P, 1, dtype=getattr(nl, name))
        instruction(dst, loaded(x), result)
        return saved(dst), saved(result)

    expected = x, x.sum(axis=1, keepdims=True)
    assert_kernel_ok(nki.jit(kernel), x, expected=expected)


@pytest.mark.parametrize("name", FLOATS)
def test_results_of_floating_point(name: str) -> None:
    x = small()

    def kernel(x: Any) -> Any:
        dst, data, kind = tile(P, F), loaded(x), getattr(nl, name)
        sums, most = tile(P, 1, dtype=kind), tile(P, 1, dtype=kind)
        nisa.exponential(dst, data, 1e4, sums, NEW)
        nisa.select_reduce(dst, chosen(), data, 0.0, most, NEW)
        return saved(sums), saved(most)

    expected = np.zeros((P, 1), F32), x.max(axis=1, keepdims=True)
    assert_kernel_ok(nki.jit(kernel), x, expected=expected)


def chosen() -> Any:
    ones = tile(P, F, dtype=nl.uint8)
    nisa.memset(ones, 1)
    return ones


@pytest.mark.parametrize("instruction", SUMS[:3])
def test_sums_inside_the_result(instruction: Any) -> None:
    x = normal(P, F)

    def kernel(x: Any) -> Any:
        dst = tile(P, F)
        instruction(dst, loaded(x), dst[:, 3:4])
        return saved(dst)

    expected = x.copy()
    expected[:, 3] = x.sum(axis=1)
    assert_kernel_ok(nki.jit(kernel), x, expected=expected)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "int32"])
def test_slope_of_each_partition(name: str) -> None:
    x, slopes = normal(P, F), np.arange(P, dtype=F32).reshape(P, 1)

    def kernel(x: Any, slopes: Any) -> Any:
        dst, slope = tile(P, F), tile(P, 1, dtype=getattr(nl, name))
        nisa.tensor_copy(slope, loaded(slopes))
        nisa.activate2(
            dst,
            nl.prelu,
            loaded(x),
            imm0=2.0,
            imm1=None,
            op0=nl.multiply,
            op1=nl.bypass,
            relu_param=slope,
        )
        return saved(dst)

    doubled = x * F32(2)
    expected = np.where(doubled < 0, doubled * slopes, doubled)
    assert_kernel_ok(nki.jit(kernel), x, slopes, expected=expected)
