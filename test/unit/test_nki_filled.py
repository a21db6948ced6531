"""Filled tensors in HBM, cast transposes, and offsets that are registers."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_pieces import F32, fl, loaded, nisa, nl, normal, saved, stored, tile

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

P, F = 32, 24


@pytest.mark.parametrize("shape", [(5,), (300, 16), (2, 3, 130, 17), (3, 2048)])
@pytest.mark.parametrize("name", ["float32", "bfloat16", "int32"])
def test_filled_in_hbm(shape: tuple[int, ...], name: str) -> None:
    def kernel() -> Any:
        options = {"dtype": getattr(nl, name), "buffer": nl.shared_hbm}
        return nl.zeros(shape, **options), nl.full(shape, 3, **options)

    expected = np.zeros(shape, F32), np.full(shape, 3, F32)
    assert_kernel_ok(nki.jit(kernel), expected=expected)


def test_ones_of_the_kernel_and_like_another() -> None:
    x = normal(P, F)

    def kernel(x: Any) -> Any:
        ones = nl.ones(x.shape, nl.float32, buffer=nl.private_hbm)
        zeros = nl.zeros_like(x)
        dst = loaded(ones)
        nisa.tensor_tensor(dst, dst, loaded(zeros), nl.subtract)
        return saved(dst)

    assert_kernel_ok(nki.jit(kernel), x, expected=np.ones_like(x))


def test_filled_in_hbm_in_generation_0_1() -> None:
    def kernel(x: Any) -> Any:
        return fl.zeros((P, F), fl.float32, buffer=fl.shared_hbm)

    with pytest.raises(NKIError, match="HBM tensor with init value"):
        functional.trace(functional.jit(kernel))(normal(P, F))


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32", "int32"])
def test_transposes_are_cast(name: str) -> None:
    x = np.round(normal(P, F) * 4)

    def destination(x: Any) -> Any:
        made = nl.transpose(loaded(x), dtype=getattr(nl, name))
        dst = tile(F, P, dtype=made.dtype)
        nisa.tensor_copy(dst, made)
        return saved(dst)

    def value(x: Any) -> Any:
        return stored(fl.transpose(fl.load(x), dtype=getattr(fl, name)))

    kind = np.dtype(getattr(ml_dtypes, name, name))
    for kernel in (nki.jit(destination), functional.jit(value)):
        found = assert_kernel_ok(kernel, x, expected=x.T)
        assert found.dtype == kind


def test_offsets_in_registers() -> None:
    x = normal(P, F)

    def kernel(x: Any, start: Any) -> Any:
        word, register = loaded(start), nisa.register_alloc()
        nisa.register_load(register, word)
        counted, chosen = tile(P, F, dtype=nl.int32), tile(P, F)
        nisa.iota(counted, [[2, F]], offset=register, channel_multiplier=1)
        nisa.affine_select(
            chosen, [[-1, F]], 1, loaded(x), 0.0, nl.greater_equal, offset=register
        )
        return saved(counted), saved(chosen)

    row, column = np.arange(P)[:, None], np.arange(F)[None, :]
    for start in (7, -3):
        expected = start + row + 2 * column, np.where(start + row >= column, x, 0)
        word = np.array([[start]], np.int32)
        assert_kernel_ok(nki.jit(kernel), x, word, expected=expected)
