"""Reductions over partitions and windows, in the machine."""

import ml_dtypes
import numpy as np
import pytest
from machines import compute, random, run

F32 = np.float32


def test_partitions_are_added() -> None:
    a = random((96, 40))
    text = compute(
        "penguin.partition_reduce add %t <- %x0", "96x40xf32", out="1x40xf32"
    )
    (result,) = run(text, a)
    assert np.array_equal(result[0], np.ascontiguousarray(a.T).sum(axis=1))


@pytest.mark.parametrize(
    ("name", "fold"),
    [("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or)],
)
def test_partitions_of_bits(name: str, fold: np.ufunc) -> None:
    bits = np.random.default_rng(0).integers(0, 1 << 16, (5, 40)).astype(np.uint16)
    text = compute(
        f"penguin.partition_reduce {name} %t <- %x0", "5x40xu16", out="1x40xu16"
    )
    (result,) = run(text, bits)
    assert np.array_equal(result[0], fold.reduce(bits, axis=0))


@pytest.mark.parametrize("average", [False, True])
def test_pool_folds_windows(average: bool) -> None:
    a = random((16, 8, 12))
    name = "average" if average else "max"
    text = compute(
        f"penguin.pool {name} %t <- %x0[0, 0][1 x 16, 24 x 4, 3 x 4, 12 x 2, 1 x 3]",
        "16x8x12xf32",
        out="16x4x4xbf16",
    )
    (result,) = run(text, a)
    windows = a.reshape(16, 4, 2, 4, 3).transpose(0, 1, 3, 2, 4).reshape(16, 4, 4, 6)
    windows = np.ascontiguousarray(windows)
    expected = windows.max(axis=3)
    if average:
        expected = windows.sum(axis=3) * (F32(1) / F32(6))
    assert np.array_equal(result, expected.astype(ml_dtypes.bfloat16))
