"""Views of masked, open and indirect views, in the functional generation."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import xdsl_neuron.nki.functional as nki
import xdsl_neuron.nki.functional.language as functional_language
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.conditions import places_in
from xdsl_neuron.tracer.errors import NKIError

nl: Any = functional_language
X = np.arange(128 * 60, dtype=np.float32).reshape(128, 60)
TABLE = np.arange(50 * 12, dtype=np.float32).reshape(50, 12)
ROWS = np.random.default_rng(3).permutation(50)[:40].astype(np.int32)[:, None]


def stored_where(change: Callable[[Any], Any], *shape: int) -> Any:
    """Stores ones into `change` of the tensor, whose result has `shape`."""

    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        tile = nl.load(x)
        nl.store(out, tile)
        i_p, i_f = nl.arange(128)[:, None], nl.arange(60)[None, :]
        ones = nl.full(shape, 1, x.dtype)
        nl.store(change(out[i_p, i_f][(i_f < 45) & (i_p + i_f < 130)]), ones)
        return out

    return nki.jit(kernel)


def masked() -> np.ndarray[Any, Any]:
    p, f = np.mgrid[0:128, 0:60]
    return (f < 45) & (p + f < 130)


def ones_in(part: Any) -> np.ndarray[Any, Any]:
    """X with ones in that part of it, where the mask holds."""
    chosen = np.zeros(X.shape, bool)
    chosen[part] = True
    return np.where(chosen & masked(), np.float32(1), X)


def test_a_masked_view_is_sliced() -> None:
    kernel = stored_where(lambda v: v[32:96, 10:60:2], 64, 25)
    assert_kernel_ok(kernel, X, expected=ones_in(np.s_[32:96, 10:60:2]))


def test_a_masked_view_is_indexed_by_tensors() -> None:
    kernel = stored_where(
        lambda v: v[nl.arange(64)[:, None] + 64, 2 * nl.arange(30)[None, :] + 1],
        64,
        30,
    )
    assert_kernel_ok(kernel, X, expected=ones_in(np.s_[64:, 1::2]))


def test_a_dimension_of_a_masked_view_is_split() -> None:
    kernel = stored_where(lambda v: v.reshape((128, 4, 15))[:, 2], 128, 15)
    assert_kernel_ok(kernel, X, expected=ones_in(np.s_[:, 30:45]))


def test_masked_dimensions_are_not_merged() -> None:
    kernel = stored_where(lambda v: v.reshape((64, 120)), 64, 120)
    with pytest.raises(
        NKIError, match=r"from \(128, 60\) to .* merges dimension"
    ) as caught:
        kernel(X)
    assert caught.value.location is not None
    assert caught.value.location.file.endswith("test_nki_views_again.py")


@nki.jit
def ragged(x: Any) -> Any:
    """Tiles of 50 rows, of which a loop's last is cut by the mask behind a slice."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(50)[:, None], nl.arange(60)[None, :]
    for i in nl.affine_range(3):
        rows = x[i * 50 + i_p, i_f]
        left = nl.load(rows[:, 0:20], mask=i * 50 + i_p < 128)
        right = nl.load(rows[:, 20:60], mask=i * 50 + i_p < 128)
        there = out[i * 50 + i_p, i_f]
        nl.store(there[:, 0:20], left, mask=i * 50 + i_p < 128)
        nl.store(there[:, 20:60], right, mask=i * 50 + i_p < 128)
    return out


def test_an_open_range_is_sliced() -> None:
    assert_kernel_ok(ragged, X, expected=X)


def test_an_open_range_stays_open_behind_a_slice() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        i_p, i_f = nl.arange(50)[:, None], nl.arange(60)[None, :]
        for i in nl.affine_range(3):
            nl.load(x[i * 50 + i_p, i_f][10:50, 0:20])
        return x

    with pytest.raises(NKIError, match=r"range \[110, 149\] exceed .* of 128"):
        kernel(X)


def gathered(change: Callable[[Any], Any]) -> Any:
    """Loads `change` of the rows that an index tile picks."""

    def kernel(table: Any, rows: Any) -> Any:
        index = nl.load(rows)
        tile = nl.load(change(table[index, :]))
        out = nl.ndarray(tile.shape, tile.dtype, buffer=nl.shared_hbm)
        nl.store(out, tile)
        return out

    return nki.jit(kernel)


@pytest.mark.parametrize(
    ("part", "part_of_array"),
    [
        (np.s_[:, 3:9], np.s_[:, 3:9]),
        (np.s_[0:32, ::2], np.s_[0:32, ::2]),
        (np.s_[32:40], np.s_[32:40]),
    ],
)
def test_gathered_rows_are_sliced(part: Any, part_of_array: Any) -> None:
    expected = TABLE[ROWS[:, 0]][part_of_array]
    assert_kernel_ok(gathered(lambda v: v[part]), TABLE, ROWS, expected=expected)


def test_columns_of_gathered_rows_are_indexed_by_tensors() -> None:
    kernel = gathered(lambda v: v[nl.arange(40)[:, None], nl.arange(4)[None, :] * 3])
    assert_kernel_ok(kernel, TABLE, ROWS, expected=TABLE[ROWS[:, 0]][:, ::3])


def test_gathered_rows_are_not_picked_again() -> None:
    kernel = gathered(lambda v: v[nl.arange(20)[:, None] + 5, nl.arange(4)[None, :]])
    with pytest.raises(NKIError, match="index that tile instead"):
        kernel(TABLE, ROWS)


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes with the same number of elements, of factors 1, 2 and 3."""
    factors = draw(st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=6))
    cuts = [
        sorted(draw(st.sets(st.integers(1, len(factors)), max_size=3))) for _ in "ab"
    ]

    def shape(places: list[int]) -> tuple[int, ...]:
        ends = [*places, len(factors)]
        starts = [0, *places]
        return tuple(
            int(np.prod(factors[a:b])) for a, b in zip(starts, ends, strict=True)
        )

    return shape(cuts[0]), shape(cuts[1])


@given(reshapes())
def test_places_in_a_reshape(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    old, new = shapes
    places = places_in(old, new)
    for flat in range(int(np.prod(new))):
        before = np.unravel_index(flat, old)
        after = [int(at) for at in np.unravel_index(flat, new)]
        for at, place in zip(before, places, strict=True):
            if place is not None:
                assert place.evaluate([], after) == at


# -- index ranges of several axes ------------------------------------------------------


def diagonal(width: int, mask_at: int | None) -> Any:
    """Loads `x[p, i + j]` for i, j in 0..7, masked from a column on."""

    def kernel(x: Any) -> Any:
        i_p = nl.arange(16)[:, None, None]
        i, j = nl.arange(8)[None, :, None], nl.arange(8)[None, None, :]
        mask = None if mask_at is None else i + j < mask_at
        tile = nl.zeros((16, 8, 8), x.dtype, buffer=nl.sbuf)
        tile[i_p, i, j] = nl.load(x[i_p, i + j], mask=mask)
        out = nl.ndarray(tile.shape, tile.dtype, buffer=nl.shared_hbm)
        nl.store(out, tile)
        return out

    return nki.jit(kernel)


@pytest.mark.parametrize(("width", "mask_at"), [(15, None), (10, 10), (12, 10)])
def test_a_sum_of_axes_stays_in_its_dimension(width: int, mask_at: int | None) -> None:
    x = np.arange(16 * width, dtype=np.float32).reshape(16, width)
    i, j = np.mgrid[0:8, 0:8]
    inside = i + j < (width if mask_at is None else mask_at)
    expected = np.where(inside, x[:, np.minimum(i + j, width - 1)], np.float32(0))
    assert_kernel_ok(diagonal(width, mask_at), x, expected=expected)


@pytest.mark.parametrize(("width", "mask_at"), [(10, None), (10, 11), (14, None)])
def test_a_sum_of_axes_that_leaves_its_dimension(
    width: int, mask_at: int | None
) -> None:
    x = np.zeros((128, width), np.float32)
    with pytest.raises(NKIError, match=rf"on dimension 1 .* size of {width}"):
        diagonal(width, mask_at)(x)


def test_a_long_loop_that_leaves_its_dimension() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((1, 1), x.dtype, buffer=nl.shared_hbm)
        for j in nl.sequential_range(1500):
            nl.store(out, nl.load(x[0:1, nl.ds(j * 2, 1)]))
        return out

    with pytest.raises(NKIError, match=r"on dimension 1 index range \[2000, 2000\]"):
        kernel(np.zeros((128, 2000), np.float32))


def test_a_constant_index_beyond_the_end_is_refused_where_it_stands() -> None:
    def kernel(x: Any) -> Any:
        return nl.load(x)[:, 60]

    with pytest.raises(NKIError, match=r"index range \[60, 60\] exceed .* of 60"):
        nki.trace(kernel)(X)


def test_rows_of_a_masked_gather_keep_their_mask() -> None:
    @nki.jit
    def kernel(table: Any, rows: Any) -> Any:
        index = nl.load(rows)
        i, j = nl.arange(40)[:, None], nl.arange(12)[None, :]
        picked = table[index[i, 0], j][i < 12]
        tile = nl.zeros((8, 12), table.dtype, buffer=nl.sbuf)
        tile[...] = nl.load(picked[8:16])
        out = nl.ndarray(tile.shape, tile.dtype, buffer=nl.shared_hbm)
        nl.store(out, tile)
        return out

    expected = np.zeros((8, 12), np.float32)
    expected[:4] = TABLE[ROWS[8:12, 0]]
    assert_kernel_ok(kernel, TABLE, ROWS, expected=expected)


def test_rows_of_a_gather_chosen_by_a_loop() -> None:
    @nki.jit
    def kernel(table: Any, rows: Any) -> Any:
        out = nl.ndarray((40, 12), table.dtype, buffer=nl.shared_hbm)
        picked = table[nl.load(rows), :]
        for i in nl.affine_range(5):
            nl.store(out[i * 8 : i * 8 + 8], nl.load(picked[i * 8 : i * 8 + 8]))
        return out

    assert_kernel_ok(kernel, TABLE, ROWS, expected=TABLE[ROWS[:, 0]])


def test_two_loops_that_leave_a_dimension_together() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        i, j = nl.arange(64)[:, None], nl.arange(1)[None, :]
        out = nl.ndarray((64, 1), x.dtype, buffer=nl.shared_hbm)
        for m in nl.affine_range(40):
            for n in nl.affine_range(40):
                mask = m + n + j <= 50
                nl.store(out[i, j], nl.load(x[i, m + n + j], mask=mask), mask=mask)
        return out

    with pytest.raises(NKIError, match=r"on dimension 1 .* dimension size of 41"):
        kernel(np.zeros((128, 41), np.float32))
