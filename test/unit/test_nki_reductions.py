"""What folds rows and partitions, by the page "Supported Math Operators"."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_pieces import F32, loaded, nisa, nl, normal, saved, tile

import xdsl_neuron.nki as nki
from xdsl_neuron.testing import assert_kernel_ok

P, F = 32, 24


def rounded() -> Any:
    return np.round(normal(P, F) * 2)


@pytest.mark.parametrize("negate", [False, True])
@pytest.mark.parametrize("name", ["subtract", "logical_xor"])
def test_rows(name: str, negate: bool) -> None:
    x = rounded()

    def kernel(x: Any) -> Any:
        dst = tile(P, 1)
        nisa.tensor_reduce(dst, getattr(nl, name), loaded(x), 1, negate=negate)
        return saved(dst)

    if name == "subtract":
        expected = x[:, :1] - x[:, 1:].sum(axis=1, keepdims=True)
    else:
        expected = np.logical_xor.reduce(x, axis=1, keepdims=True).astype(F32)
    assert_kernel_ok(nki.jit(kernel), x, expected=-expected if negate else expected)


@pytest.mark.parametrize("op", [nl.average, np.average, np.mean, nl.mean])
@pytest.mark.parametrize("dtype", [F32, ml_dtypes.bfloat16, np.int16])
def test_partitions_are_averaged(op: Any, dtype: Any) -> None:
    x = rounded().astype(dtype)

    def kernel(x: Any) -> Any:
        dst = tile(1, F)
        nisa.tensor_partition_reduce(dst, op, loaded(x))
        return saved(dst)

    expected = x.astype(F32).mean(axis=0, keepdims=True)
    assert_kernel_ok(nki.jit(kernel), x, expected=expected, atol=1e-6)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or"])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint32])
def test_partitions_of_bits(name: str, dtype: Any) -> None:
    bits = np.random.default_rng(0).integers(0, 1 << 31, (P, F)).astype(dtype)

    def kernel(x: Any) -> Any:
        data = loaded(x)
        dst = tile(1, F, dtype=data.dtype)
        nisa.tensor_partition_reduce(dst, getattr(nl, name), data)
        return saved(dst)

    fold: np.ufunc = getattr(np, name)
    expected = fold.reduce(bits, axis=0, keepdims=True)
    assert_kernel_ok(nki.jit(kernel), bits, expected=expected)
