"""Batch normalisation in the machine, against NumPy in double precision."""

import numpy as np
from machines import compute, random, run

F64 = np.float64


def test_statistics_of_even_and_odd_elements() -> None:
    a = random((16, 41)) + np.float32(3)
    text = compute("penguin.sunda_bn_stats %t <- %x0", "16x41xf32", out="16x6xf32")
    (result,) = run(text, a)
    for column, part in ((0, a[:, ::2]), (3, a[:, 1::2])):
        exact = part.astype(F64)
        assert np.all(result[:, column] == part.shape[1])
        np.testing.assert_allclose(result[:, column + 1], exact.mean(1), rtol=1e-6)
        squares = exact.var(axis=1) * part.shape[1]
        np.testing.assert_allclose(result[:, column + 2], squares, rtol=1e-5)


def test_merged_statistics_are_those_of_all_elements() -> None:
    a = random((16, 40)) + np.float32(3)
    body = """
    %s = penguin.alloc : <16x12xf32, sbuf>
    penguin.sunda_bn_stats %s[0, 0][1 x 16, 1 x 6] <- %x0[0, 0][1 x 16, 1 x 11]
    penguin.sunda_bn_stats %s[0, 6][1 x 16, 1 x 6] <- %x0[0, 11][1 x 16, 1 x 29]
    penguin.sunda_bn_aggr %t <- %s
    """
    (result,) = run(compute(body, "16x40xf32", out="16x2xf32"), a)
    exact = a.astype(F64)
    np.testing.assert_allclose(result[:, 0], exact.mean(axis=1), rtol=1e-6)
    np.testing.assert_allclose(result[:, 1], exact.var(axis=1), rtol=1e-5)


def test_gradient_sums() -> None:
    x, dy, mean, factor = (
        random(s, i) for i, s in enumerate([(16, 40)] * 2 + [(16, 1)] * 2)
    )
    text = compute(
        "penguin.bn_gradients %t <- %x0, %x1, %x2, %x3",
        "16x40xf32",
        "16x40xf32",
        "16x1xf32",
        "16x1xf32",
        out="16x3xf32",
    )
    (result,) = run(text, x, dy, mean, factor)
    exact, slopes, scale = x.astype(F64), dy.astype(F64), factor[:, 0].astype(F64)
    covariance = ((exact - mean) * slopes).sum(axis=1)
    expected = np.stack(
        [slopes.sum(axis=1), covariance * scale**2, covariance * scale], axis=1
    )
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_gradient_of_the_input() -> None:
    x, dy, mean, c = (
        random(s, i) for i, s in enumerate([(16, 40)] * 2 + [(16, 1), (16, 3)])
    )
    text = compute(
        "penguin.bn_backprop %t <- %x0, %x1, %x2, %x3 {total_elements = 40.0}",
        "16x40xf32",
        "16x40xf32",
        "16x1xf32",
        "16x3xf32",
        out="16x40xf32",
    )
    (result,) = run(text, x, dy, mean, c)
    scale, offset, slope = (c[:, i, None] for i in range(3))
    expected = (dy * np.float32(40) - ((x - mean) * slope + offset)) * scale
    assert np.array_equal(result, expected)


def test_coefficients_in_two_tensors_or_in_one_give_the_same_bits() -> None:
    """Also NaN, infinities, zeros, subnormals and one element per partition."""
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3e38], np.float32)
    x, dy = np.meshgrid(special, special)
    x, dy = np.tile(x, (2, 1)), np.tile(dy, (2, 1))
    mean, c = random((12, 1), 2), random((12, 3), 3)
    c[0], mean[1] = 0, np.inf
    for columns in (6, 1):
        shape = f"12x{columns}xf32"
        given = [np.ascontiguousarray(a[:, :columns]) for a in (x, dy)]
        three = compute(
            "penguin.bn_backprop %t <- %x0, %x1, %x2, %x3 {total_elements = 7.0}",
            shape, shape, "12x1xf32", "12x3xf32", out=shape,
        )  # fmt: skip
        two = compute(
            "penguin.bn_backprop2 %t <- %x0, %x1, %x2, %x3, %x4 "
            "{total_elements = 7.0}",
            shape, shape, "12x1xf32", "12x1xf32", "12x2xf32", out=shape,
        )  # fmt: skip
        (expected,) = run(three, *given, mean, c)
        (result,) = run(two, *given, mean, c[:, 1:2].copy(), c[:, ::2].copy())
        assert result.tobytes() == expected.tobytes()
        with np.errstate(all="ignore"):
            centred = (given[0] - mean) * c[:, 2:] + c[:, 1:2]
            direct = (given[1] * np.float32(7) - centred) * c[:, :1]
        assert np.array_equal(result, direct, equal_nan=True)
