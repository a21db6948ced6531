"""Masks over free dimensions, of instructions on whole rows and of means."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import xdsl_neuron.nki.functional as nki
import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
from xdsl_neuron.nki import tensor_spec
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

Array = npt.NDArray[Any]
Kernel = Callable[..., Any]
nl: Any = functional_language
nisa: Any = functional_isa

F32 = np.float32
P, F = 64, 40


def wrong(use: Callable[[Any, Any, Any], Any], message: str) -> tuple[object, str]:
    return use, message


def mask_of(function: Callable[[Any, Any], Any]) -> object:
    return function


def distinct(*shape: int) -> Array:
    size = int(np.prod(shape))
    return np.random.default_rng(2).permutation(size).reshape(shape).astype(F32)


def stored(out: Any, tile: Any, mask: Any = None) -> Any:
    nl.store(out, tile, mask=mask)
    return out


def test_max8_of_the_first_columns() -> None:
    def kernel(x: Any) -> Any:
        i, j = nl.mgrid[0:P, 0:F]
        top = nisa.max8(src=nl.load(x), mask=(i < 32) & (j < 24))
        out = nl.ndarray((32, 8), nl.float32, buffer=nl.shared_hbm)
        return stored(out, top[0:32])

    x = distinct(P, F)
    expected = np.sort(x[:32, :24])[:, :-9:-1]
    assert_kernel_ok(nki.jit(kernel), x, expected=expected)


def test_max8_of_columns_in_the_middle() -> None:
    def kernel(x: Any) -> Any:
        _, j = nl.mgrid[0:P, 0:F]
        top = nisa.max8(src=nl.load(x), mask=(j >= 5) & (j < 24))
        out = nl.ndarray((P, 8), nl.float32, buffer=nl.shared_hbm)
        return stored(out, top)

    x = distinct(P, F)
    expected = np.sort(x[:, 5:24])[:, :-9:-1]
    assert_kernel_ok(nki.jit(kernel), x, expected=expected)


def test_replaced_only_under_the_mask() -> None:
    """Elements that the mask leaves out keep what the destination held."""

    def kernel(x: Any) -> Any:
        i, j = nl.mgrid[0:P, 0:F]
        tile = nl.load(x)
        mask = (i < 32) & (j < 24)
        top = nisa.max8(src=tile, mask=mask)
        index = nl.zeros((P, 8), nl.uint32)
        out_tile = nl.full((P, F), 7.0, nl.float32)
        out_tile[i, j] = nisa.nc_match_replace8(
            data=tile, vals=top, imm=-1.0, dst_idx=index, mask=mask
        )
        out = nl.ndarray((P, F), nl.float32, buffer=nl.shared_hbm)
        places = nl.ndarray((P, 8), nl.uint32, buffer=nl.shared_hbm)
        nl.store(places, index)
        return stored(out, out_tile), places

    x = distinct(P, F)
    expected = np.full((P, F), 7, F32)
    expected[:32, :24] = x[:32, :24]
    places = np.zeros((P, 8), np.uint32)
    places[:32] = np.argsort(-x[:32, :24], axis=1)[:, :8]
    np.put_along_axis(expected[:32], places[:32].astype(np.int64), -1, axis=1)
    assert_kernel_ok(nki.jit(kernel), x, expected=(expected, places))


def test_statistics_of_the_first_columns() -> None:
    def kernel(x: Any) -> Any:
        _, j = nl.mgrid[0:P, 0:F]
        found = nisa.bn_aggr(nisa.bn_stats(nl.load(x), mask=j < 24))
        out = nl.ndarray((P, 2), nl.float32, buffer=nl.shared_hbm)
        return stored(out, found)

    x = distinct(P, F)
    part = x[:, :24].astype(np.float64)
    expected = np.stack([part.mean(1), part.var(1)], axis=1)
    assert_kernel_ok(nki.jit(kernel), x, expected=expected, rtol=1e-5)


def test_range_select_counts_columns_of_the_tile() -> None:
    def kernel(x: Any) -> Any:
        i, j = nl.mgrid[0:P, 0:F]
        low, high = nl.full((P, 1), 12.0, nl.float32), nl.full((P, 1), 20.0, nl.float32)
        tile = nl.full((P, F), 7.0, nl.float32)
        tile[i, j] = nisa.range_select(
            on_true_tile=nl.load(x),
            comp_op0=nl.greater_equal,
            comp_op1=nl.less,
            bound0=low,
            bound1=high,
            mask=(j >= 4) & (j < 24),
        )
        out = nl.ndarray((P, F), nl.float32, buffer=nl.shared_hbm)
        return stored(out, tile)

    x = distinct(P, F)
    expected = np.full((P, F), 7, F32)
    expected[:, 4:24] = np.finfo(F32).min
    expected[:, 12:20] = x[:, 12:20]
    assert_kernel_ok(nki.jit(kernel), x, expected=expected)


def refusal(use: Kernel) -> str:
    def kernel(x: Any) -> Any:
        i, j = nl.mgrid[0:P, 0:F]
        use(nl.load(x), i, j)

    with pytest.raises(NKIError) as raised:
        nki.trace(kernel)(tensor_spec("f32", (P, F)))
    assert raised.value.location is not None
    return str(raised.value)


def per_iteration(tile: Any, i: Any, j: Any) -> None:
    for k in nl.affine_range(2):
        nisa.max8(src=tile, mask=j < 20 + k)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        wrong(
            lambda t, i, j: nisa.nc_find_index8(
                data=t, vals=nisa.max8(src=t), mask=j >= 4
            ),
            "leaves out elements before others of a partition",
        ),
        wrong(
            lambda t, i, j: nisa.max8(src=t, mask=j < i),
            "leaves rows of different lengths",
        ),
        wrong(per_iteration, "leaves rows of different lengths"),
        wrong(
            lambda t, i, j: nisa.max8(src=t, mask=j < 0),
            "leaves no element of (64, 40)",
        ),
    ],
)
def test_masks_that_are_refused(use: Kernel, message: str) -> None:
    assert message in refusal(use)


def averaged(name: str, mask: Kernel) -> Kernel:
    def kernel(x: Any) -> Any:
        i, j = nl.mgrid[0:P, 0:F]
        given = mask(i, j)
        found = getattr(nl, name)(nl.load(x), axis=1, mask=given, keepdims=True)
        out = nl.ndarray((P, 1), nl.float32, buffer=nl.shared_hbm)
        return stored(out, found)

    return kernel


@pytest.mark.parametrize("name", ["mean", "var"])
@pytest.mark.parametrize(
    "mask",
    [
        mask_of(lambda i, j: j < 24),
        mask_of(lambda i, j: (j > 3) & (j <= i + 4)),
        mask_of(lambda i, j: i >= 0),
    ],
)
def test_averages_of_what_a_mask_keeps(name: str, mask: Kernel) -> None:
    x = np.random.default_rng(3).standard_normal((P, F), dtype=F32)
    expected = getattr(np, name)(x.astype(np.float64), axis=1, where=_kept(mask))
    kernel = averaged(name, mask)
    assert_kernel_ok(nki.jit(kernel), x, expected=expected[:, None], atol=1e-5)


def _kept(mask: Kernel) -> Array:
    """The mask of a kernel over NumPy's indices."""
    i, j = np.ogrid[0:P, 0:F]
    return np.broadcast_to(mask(i, j), (P, F))


def test_mean_of_some_rows() -> None:
    def kernel(x: Any) -> Any:
        i, j = nl.mgrid[0:P, 0:F]
        mask = (i < 32) & (j < 24)
        found = nl.mean(nl.load(x), axis=1, mask=mask, keepdims=True)
        out = nl.ndarray((32, 1), nl.float32, buffer=nl.shared_hbm)
        return stored(out, found[0:32])

    x = np.random.default_rng(3).standard_normal((P, F), dtype=F32)
    expected = x[:32, :24].mean(axis=1, keepdims=True)
    assert_kernel_ok(nki.jit(kernel), x, expected=expected, atol=1e-6)


def test_random_numbers_in_psum() -> None:
    def kernel() -> Any:
        tile = nl.rand((P, F), nl.float32, buffer=nl.psum)
        out = nl.ndarray((P, F), nl.float32, buffer=nl.shared_hbm)
        return stored(out, nl.copy(tile))

    found = nki.simulate_kernel(kernel)
    assert ((found >= 0) & (found < 1)).all()
    assert np.unique(found).size > P
