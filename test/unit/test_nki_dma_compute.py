"""`nisa.dma_compute`: sums made by the DMA engines."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_pieces import F32, Array, loaded, nisa, nl, tile

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

fl: Any = functional_language
fisa: Any = functional_isa
BF16 = ml_dtypes.bfloat16
TABLE = np.random.default_rng(5).standard_normal((40, 9)).astype(F32)


def normal(*shape: int, seed: int = 0, dtype: Any = F32) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", [F32, BF16, np.float16])
@pytest.mark.parametrize("space", ["shared_hbm", "sbuf"])
def test_a_sum_is_rounded_once(dtype: Any, space: str) -> None:
    def kernel(x: Any, y: Any, z: Any) -> Any:
        out = nl.ndarray(x.shape, dtype, buffer=nl.shared_hbm)
        total = out if space == "shared_hbm" else tile(*x.shape, dtype=dtype)
        nisa.dma_compute(total, [x, y, z], nl.add)
        if space == "sbuf":
            nisa.dma_copy(out, total)
        return out

    x, y, z = (normal(7, 33, seed=seed) for seed in range(3))
    assert_kernel_ok(nki.jit(kernel), x, y, z, expected=((x + y) + z).astype(dtype))


def test_two_sources_are_rounded_once() -> None:
    def kernel(x: Any, y: Any) -> Any:
        out = nl.ndarray(x.shape, BF16, buffer=nl.shared_hbm)
        nisa.dma_compute(out, [x, y], nl.add)
        return out

    x = np.full((3, 4), 1 + 2**-8, F32)
    y = np.full((3, 4), 2**-10, F32)
    assert_kernel_ok(nki.jit(kernel), x, y, expected=(x + y).astype(BF16))


def test_the_undocumented_names_of_the_first_generation() -> None:
    def kernel(x: Any, y: Any) -> Any:
        out = fl.ndarray(x.shape, x.dtype, buffer=fl.shared_hbm)
        fisa._tiled_offloaded_memcpy(src=x[:, :], dst=out[:, :])
        i_p = fl.arange(7)[:, None]
        i_f = fl.arange(33)[None, :]
        fisa._tiled_offloaded_fma(
            x[i_p, i_f],
            y[i_p, i_f],
            dst=out[i_p, i_f],
            scales=[1.0, -0.5],
            mask=i_f < 20,
        )
        return out

    x, y = (normal(7, 33, seed=seed) for seed in range(2))
    expected = np.where(np.arange(33) < 20, x + y * F32(-0.5), x)
    assert_kernel_ok(functional.jit(kernel), x, y, expected=expected)


def test_a_destination_among_three_sources() -> None:
    def kernel(x: Any, y: Any) -> Any:
        out = nl.ndarray(x.shape, BF16, buffer=nl.shared_hbm)
        nisa.dma_copy(out, x)
        nisa.dma_compute(out, [x, out, y], nl.add, scales=[1.0, 1.0, 1.0])
        return out

    x, y = (normal(5, 6, seed=seed, dtype=BF16) for seed in range(2))
    wide = x.astype(F32) + x.astype(F32) + y.astype(F32)
    assert_kernel_ok(nki.jit(kernel), x, y, expected=wide.astype(BF16))


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("skips", [False, True])
def test_gathered_rows_are_added(first: int, skips: bool) -> None:
    index = np.random.default_rng(2).permutation(40)[:16].astype(np.int32)[:, None]
    if skips:
        index[3] = 4000

    def kernel(table: Any, rows: Any, start: Any) -> Any:
        total = loaded(start)
        picked = table.ap([[9, 16], [1, 9]], vector_offset=loaded(rows))
        sources = [total, picked] if first else [picked, total]
        mode = nisa.oob_mode.skip if skips else nisa.oob_mode.error
        nisa.dma_compute(total, sources, nl.add, oob_mode=mode)
        out = nl.ndarray(start.shape, start.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, total)
        return out

    start = normal(16, 9, seed=8)
    start[3, 0] = -0.0
    there = index[:, 0] < 40
    expected = start.copy()
    expected[there] += TABLE[index[there, 0]]
    found = assert_kernel_ok(nki.jit(kernel), TABLE, index, start)
    np.testing.assert_array_equal(found.view(np.int32), expected.view(np.int32))


def picked(x: Any) -> Any:
    rows = tile(8, 1, dtype=nl.int32)
    nisa.iota(rows, [[0, 1]], 0, 1)
    return x.ap([[9, 8], [1, 9]], vector_offset=rows)


REFUSED: list[tuple[Callable[[Any], Any], str]] = [
    (
        lambda x: nisa.dma_compute(tile(40, 9), [x], nl.add, [0.5]),
        r"all values in `scales` must be 1.0, got \[0.5\]; scale the source on an",
    ),
    (
        lambda x: nisa.dma_compute(tile(40, 9), [x], nl.add, 1.0),
        "`scales` of dma_compute must be a list of numbers",
    ),
    (
        lambda x: nisa.dma_compute(tile(40, 9), [x] * 17, nl.add),
        "a DMA sums between 1 and 16 sources, got 17",
    ),
    (
        lambda x: nisa.dma_compute(tile(40, 9), x, nl.add),
        "`srcs` of dma_compute must be a list of tensors",
    ),
    (
        lambda x: nisa.dma_compute(tile(8, 9), [picked(x), x, x], nl.add),
        "takes exactly two sources, got 3",
    ),
    (
        lambda x: nisa.dma_compute(tile(8, 9), [picked(x), tile(8, 9)], nl.add),
        "adds one source to `dst`, which must be the other one",
    ),
    (
        lambda x: nisa.dma_compute(
            picked(x), [picked(x), tile(8, 9)], nl.add, unique_indices=False
        ),
        "needs unique_indices=True",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_messages(call: Callable[[Any], Any], message: str) -> None:
    def kernel(x: Any) -> Any:
        call(x)

    with pytest.raises(NKIError, match=message) as raised:
        nki.trace(kernel)(TABLE)
    assert raised.value.location is not None
