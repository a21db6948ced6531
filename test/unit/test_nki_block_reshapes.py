"""Reshapes of tensors with block dimensions (generation 0.1)."""

from typing import Any

import numpy as np
import pytest
from kernel_pieces import fl, normal

import xdsl_neuron.nki.functional as functional
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

BLOCKS, P, F = 4, 32, 16


def blocks(x: Any) -> Any:
    """Block i holds x + i."""
    made = fl.ndarray((BLOCKS, fl.par_dim(P), F), fl.float32, buffer=fl.sbuf)
    for i in fl.static_range(BLOCKS):
        made[i] = fl.load(x) + float(i)
    return made


def output() -> Any:
    return fl.ndarray((BLOCKS, P, F), fl.float32, buffer=fl.shared_hbm)


def expected(x: Any) -> Any:
    return x + np.arange(BLOCKS, dtype=np.float32)[:, None, None]


def test_blocks_are_split_and_merged() -> None:
    def kernel(x: Any) -> Any:
        out, grid = output(), blocks(x).reshape((2, 2, fl.par_dim(P), F))
        again = grid.reshape((BLOCKS, P, F))
        for i in fl.affine_range(2):
            for j in fl.affine_range(2):
                fl.store(out[2 * i + j], grid[i, j] + again[2 * i + j] - grid[i, j])
        return out

    x = np.round(normal(P, F) * 4)
    assert_kernel_ok(functional.jit(kernel), x, expected=expected(x))


def test_free_dimensions_are_split() -> None:
    def kernel(x: Any) -> Any:
        out, parts = output(), blocks(x).reshape((BLOCKS, fl.par_dim(P), 4, 4))
        for i in fl.affine_range(BLOCKS):
            for j in fl.affine_range(4):
                fl.store(out[i, :, fl.ds(4 * j, 4)], parts[i, :, j])
        return out

    x = normal(P, F)
    assert_kernel_ok(functional.jit(kernel), x, expected=expected(x))


def test_one_block_comes_and_goes() -> None:
    def kernel(x: Any) -> Any:
        out, one = output(), fl.load(x).reshape((1, fl.par_dim(P), F))
        for i in fl.static_range(BLOCKS):
            fl.store(out[i], one.reshape((P, F)) + float(i))
        return out

    x = normal(P, F)
    assert_kernel_ok(functional.jit(kernel), x, expected=expected(x))


@pytest.mark.parametrize("shape", [(P, BLOCKS, F), (BLOCKS * P, F), (2, P, 2, F)])
def test_partitions_stay(shape: tuple[int, ...]) -> None:
    def kernel(x: Any) -> Any:
        blocks(x).reshape(shape)
        return output()

    with pytest.raises(NKIError, match="keep the partition dimension"):
        functional.trace(functional.jit(kernel))(normal(P, F))
