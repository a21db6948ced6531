"""Structured sparsity and the transpose mode, against loops over elements."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from xdsl_neuron.dtypes import DType
from xdsl_neuron.numerics.matmul import matmul_transpose
from xdsl_neuron.numerics.sparse import decode_tags, matmul_sparse

F32 = DType.FLOAT32


def packed(tags: NDArray[Any]) -> NDArray[Any]:
    """Tags [K, M] as words [K, M / 4], the first of four in the low bits."""
    words = np.zeros((tags.shape[0], tags.shape[1] // 4), np.uint16)
    for (row, column), tag in np.ndenumerate(tags):
        words[row, column // 4] |= int(tag) << (4 * (column % 4))
    return words


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_tags_choose_dense_rows(data: st.DataObject) -> None:
    ratio = data.draw(st.integers(1, 4))
    groups, words = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 3))
    columns = data.draw(st.integers(1, 5))
    seed = data.draw(st.integers(0, 1000))
    random = np.random.default_rng(seed)
    weights = random.integers(-8, 9, (4 * groups, 4 * words)).astype(np.float32)
    moving = random.integers(-8, 9, (4 * groups, ratio, columns)).astype(np.float32)
    tags = random.integers(0, 4 * ratio, weights.shape)
    out = np.ones((4 * words, columns), np.float32)
    kernel = matmul_sparse(F32, F32, F32, ratio)
    kernel(out, weights, moving, packed(tags))
    expected = np.zeros_like(out)
    for (row, column), weight in np.ndenumerate(weights):
        place = row // 4 * 4 * ratio + tags[row, column]
        partition, slot = divmod(int(place), ratio)
        expected[column] += weight * moving[partition, slot]
    np.testing.assert_array_equal(out, expected)
    kernel(out, weights, moving, packed(tags), True)
    np.testing.assert_array_equal(out, 2 * expected)


def test_lanes_of_a_word() -> None:
    words = np.array([[0x3210, 0xFEDC]], np.uint16)
    assert decode_tags(words).tolist() == [[0, 1, 2, 3, 12, 13, 14, 15]]


def test_zero_points_are_subtracted_from_what_is_kept() -> None:
    weights = np.array([[130], [128], [128], [128]], np.uint8).repeat(4, axis=1)
    moving = np.arange(8, dtype=np.uint8).reshape(4, 2, 1)
    out = np.zeros((4, 1), np.float32)
    words = packed(np.array([[5, 6, 7, 0], [0] * 4, [0] * 4, [0] * 4]))
    kernel = matmul_sparse(F32, DType.UINT8, DType.UINT8, 2, (128, 1))
    kernel(out, weights, moving, words)
    assert out[:, 0].tolist() == [8.0, 10.0, 12.0, -2.0]


def test_a_tag_beyond_its_group_is_refused() -> None:
    words = np.full((4, 1), 8, np.uint16)
    kernel = matmul_sparse(F32, F32, F32, 2)
    weights, moving = np.ones((4, 4), np.float32), np.ones((4, 2, 2), np.float32)
    with pytest.raises(ValueError, match=r"tag 8 .* beyond the 8 dense rows"):
        kernel(np.zeros((4, 2), np.float32), weights, moving, words)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_transpose_moves_the_rows_that_are_chosen(data: st.DataObject):
    k, m, n = (data.draw(st.integers(1, 9)) for _ in range(3))
    choice = data.draw(st.lists(st.integers(-1, k - 1), min_size=n, max_size=n))
    patterns = np.arange(k * m, dtype=np.uint32) * np.uint32(0x9E3779B1)
    x = patterns.reshape(k, m).view(np.float32)
    moving = np.full((k, n), -0.0, np.float32)
    expected = np.zeros((m, n), np.uint32)
    for column, row in enumerate(choice):
        if row >= 0:
            moving[row, column] = 1.0
            expected[:, column] = x.view(np.uint32)[row]
    out = np.empty((m, n), np.float32)
    matmul_transpose(F32, F32)(out, x, moving)
    assert out.view(np.uint32).tolist() == expected.tolist()
