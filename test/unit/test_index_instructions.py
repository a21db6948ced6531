"""Indices of non-zero elements and bounds of segments, in the machine."""

import numpy as np
from machines import compute, random, run


def test_nonzero_indices_of_every_sixteenth_partition() -> None:
    a = np.maximum(random((32, 20)), np.float32(0))
    body = (
        "penguin.memset %t {value = 5}\n"
        "penguin.nonzero_with_count %t <- %x0 {index_offset = 3, padding = -2}"
    )
    (result,) = run(compute(body, "32x20xf32", out="32x21xi32"), a)
    expected = np.full((32, 21), 5, np.int32)
    for row in (0, 16):
        places = np.flatnonzero(a[row]) + 3
        expected[row] = -2
        expected[row, : places.size] = places
        expected[row, -1] = places.size
    assert np.array_equal(result, expected)


def test_bounds_of_segments() -> None:
    ids = np.array([[1, 1, 1, 4, 4, 2, 0, 0]], np.int32)
    body = "penguin.get_sequence_bounds %t <- %x0"
    (result,) = run(compute(body, "1x8xi32", out="1x2x8xf32"), ids)
    assert result.tolist() == [[[0, 0, 0, 3, 3, 5, 8, 8], [3, 3, 3, 5, 5, 6, -1, -1]]]
