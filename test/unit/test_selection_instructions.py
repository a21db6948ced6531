"""Selections in the machine, against NumPy."""

import ml_dtypes
import numpy as np
from machines import compute, random, run

BF16 = ml_dtypes.bfloat16
F32 = np.float32
SMALLEST = np.finfo(F32).min


def test_affine_select_is_causal() -> None:
    a = random((16, 40)).astype(BF16)
    text = compute(
        "penguin.aff_sel_tensor_scalar is_ge %t <- %x0 "
        "{value = l0 * 2 - l1 + 3, fill = -2.5}",
        "16x40xbf16",
        out="16x40xf32",
    )
    (result,) = run(text, a)
    keep = 2 * np.arange(16)[:, None] - np.arange(40) + 3 >= 0
    assert np.array_equal(result, np.where(keep, a.astype(F32), F32(-2.5)))


def test_affine_select_makes_an_identity() -> None:
    text = compute(
        "penguin.memset %t {value = 0.0}\n"
        "penguin.aff_sel_tensor_scalar not_equal %t <- %t "
        "{value = l0 - l1, fill = 1.0}",
        "16x1xf32",
        out="16x16xbf16",
    )
    (result,) = run(text, random((16, 1)))
    assert np.array_equal(result, np.eye(16, dtype=F32).astype(BF16))


def test_affine_select_under_a_mask_and_in_a_loop() -> None:
    a = random((16, 4, 10))
    text = compute(
        "penguin.memset %t {value = 7.0}\n"
        "penguin.for sequential %i = 0 to 2 {\n"
        "penguin.aff_sel_tensor_scalar is_gt %t[0, %i * 20][1 x 16, 10 x 2, 1 x 10] <- "
        "%x0[0, %i * 20][1 x 16, 10 x 2, 1 x 10] where l0 - l2 + %i >= 0 "
        "{value = l1 * 10 + l2 - %i * 4, fill = 0.0}\n}",
        "16x4x10xf32",
        out="16x4x10xf32",
    )
    (result,) = run(text, a)
    expected = np.full((16, 4, 10), 7, F32)
    p, r, c = np.ogrid[:16, :2, :10]
    for i in range(2):
        part = expected[:, 2 * i : 2 * i + 2]
        chosen = np.where(r * 10 + c - i * 4 > 0, a[:, 2 * i : 2 * i + 2], F32(0))
        expected[:, 2 * i : 2 * i + 2] = np.where(p - c + i >= 0, chosen, part)
    assert np.array_equal(result, expected)


def test_range_select_with_its_maximum() -> None:
    a = random((16, 40)).astype(BF16)
    low = np.arange(16, dtype=F32)[:, None]
    high = low + F32(9)
    body = """
    %r = penguin.alloc : <16x1xf32, sbuf>
    penguin.range_select_reduce is_ge is_lt %t[0, 0][1 x 16, 1 x 40] <- %x0, %x1, %x2,
        reduce_res = %r {range_start = 4}
    penguin.tensor_copy %t[0, 40][1 x 16, 1 x 1] <- %r
    """
    text = compute(body, "16x40xbf16", "16x1xf32", "16x1xf32", out="16x41xf32")
    (result,) = run(text, a, low, high)
    column = np.arange(40) + 4
    expected = np.where((column >= low) & (column < high), a.astype(F32), SMALLEST)
    assert np.array_equal(result[:, :40], expected)
    assert np.array_equal(result[:, 40], expected.max(axis=1))


def test_range_select_alone_is_the_same() -> None:
    a, low, high = random((16, 4, 10)), random((16, 1), 1) * 9, random((16, 1), 2) * 40
    text = compute(
        "penguin.range_select is_gt is_le %t <- %x0, %x1, %x2",
        "16x4x10xf32",
        "16x1xf32",
        "16x1xf32",
        out="16x40xf32",
    )
    (result,) = run(text, a, low, high)
    column = np.arange(40)
    keep = (column > low) & (column <= high)
    assert np.array_equal(result, np.where(keep, a.reshape(16, 40), SMALLEST))


def test_select_reduce() -> None:
    a, other = random((16, 40)), random((16, 1), 1)
    bits = np.random.default_rng(0).integers(0, 2, (16, 40)).astype(np.uint8)
    body = """
    %r = penguin.alloc : <16x1xf32, sbuf>
    penguin.select_reduce %t[0, 0][1 x 16, 1 x 40] <- %x0, %x1,
        reduce_res = %r, on_false = %x2 {reverse}
    penguin.tensor_copy %t[0, 40][1 x 16, 1 x 1] <- %r
    """
    text = compute(body, "16x40xu8", "16x40xf32", "16x1xf32", out="16x41xf32")
    (result,) = run(text, bits, a, other)
    expected = np.where(bits == 0, a, other)
    assert np.array_equal(result[:, :40], expected)
    assert np.array_equal(result[:, 40], expected.max(axis=1))
