"""Microscaling in the machine, against a quantisation block by block."""

import ml_dtypes
import numpy as np
import pytest
from machines import Array, compute, random, run

BF16 = ml_dtypes.bfloat16


def blocks(x: Array) -> Array:
    """[P, F] as [P / 8, F / 4, 8, 4]."""
    partitions, free = x.shape
    return x.reshape(partitions // 8, 8, free // 4, 4).transpose(0, 2, 1, 3)


def quantised(x: Array, kind: type, emax: int, limit: float) -> tuple[Array, Array]:
    """What each element stands for, and the exponents [P / 8, F / 4]."""
    parts = blocks(x.astype(np.float64))
    largest = np.abs(parts).max(axis=(2, 3))
    exponents = np.floor(np.log2(largest)) - (emax - 1)
    power = np.exp2(exponents)[:, :, None, None]
    scaled = np.clip(parts / power, -limit, limit).astype(np.float32)
    values = scaled.astype(kind).astype(np.float64) * power
    return values.transpose(0, 2, 1, 3).reshape(x.shape), exponents


@pytest.mark.parametrize(
    ("packed", "kind", "emax", "limit"),
    [
        ("f8e4m3fn_x4", ml_dtypes.float8_e4m3fn, 8, 448.0),
        ("f8e5m2_x4", ml_dtypes.float8_e5m2, 15, 57344.0),
    ],
)
def test_quantised_operands_multiply(
    packed: str, kind: type, emax: int, limit: float
) -> None:
    a, b = random((64, 64)).astype(BF16), random((64, 96), 1).astype(BF16)
    body = f"""
    %w = penguin.alloc : <64x16x{packed}, sbuf>
    %m = penguin.alloc : <64x24x{packed}, sbuf>
    %ws = penguin.alloc : <64x16xu8, sbuf>
    %ms = penguin.alloc : <8x24xf8e8m0fnu, sbuf>
    %p = penguin.alloc : <16x24xf32, psum>
    penguin.quantize_mx %w, %ws <- %x0
    penguin.quantize_mx %m, %ms <- %x1
    penguin.matmul_mx %p <- %w, %m, %ws, %ms
    penguin.matmul_mx %p <- %w, %m, %ws, %ms
    penguin.tensor_copy %t <- %p
    """
    text = compute(body, "64x64xbf16", "64x96xbf16", out="16x24xf32")
    (result,) = run(text, a, b)
    left, _ = quantised(a, kind, emax, limit)
    right, _ = quantised(b, kind, emax, limit)
    rows = [
        x.reshape(64, -1, 4).transpose(0, 2, 1).reshape(256, -1) for x in (left, right)
    ]
    expected = 2 * rows[0].T @ rows[1]
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-4)


def test_scales_stand_in_each_quadrant() -> None:
    a = random((64, 32)).astype(BF16)
    body = """
    %q = penguin.alloc : <64x8xf8e4m3fn_x4, sbuf>
    penguin.memset %t {value = 77}
    penguin.quantize_mx %q, %t <- %x0
    """
    (result,) = run(compute(body, "64x32xbf16", out="64x8xu8"), a)
    _, exponents = quantised(a, ml_dtypes.float8_e4m3fn, 8, 448.0)
    expected = np.full((64, 8), 77, np.uint8)
    for row, found in enumerate(exponents):
        expected[(row & 3) + 32 * (row >> 2)] = found + 127
    assert np.array_equal(result, expected)
