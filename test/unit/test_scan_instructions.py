"""Scans and elementwise instructions with a row reduction, in the machine."""

import ml_dtypes
import numpy as np
from machines import Array, compute, random, run

BF16 = ml_dtypes.bfloat16
F32 = np.float32


def both(body: str, *inputs: str, arrays: list[Array], row: str) -> list[Array]:
    """Runs `body`, which writes `%t` and the row `%r`; the two as outputs."""
    text = compute(body, *inputs, out=inputs[0])
    shape = row.split("x")[0]
    text = text.replace(
        "%t = penguin.alloc",
        f"%r = penguin.alloc : <{row}, sbuf>\n"
        f"%q = penguin.alloc : <{shape}x1xf32, hbm>\n%t = penguin.alloc",
    )
    text = text.replace(
        "penguin.return o = %o",
        "penguin.dma_copy %q <- %r\npenguin.return o = %o, q = %q",
    )
    return run(text, *arrays)


def test_scan_is_sequential() -> None:
    a, b, s = random((16, 40)), random((16, 40), 1).astype(BF16), random((16, 1), 2)
    text = compute(
        "penguin.tensor_tensor_scan mult subtract %t <- %x0, %x1, initial = %x2 "
        "{reverse1}",
        "16x40xf32",
        "16x40xbf16",
        "16x1xf32",
        out="16x40xf32",
    )
    (result,) = run(text, a, b, s)
    state, expected = s[:, 0], np.empty_like(a)
    for i in range(40):
        state = b[:, i].astype(F32) - a[:, i] * state
        expected[:, i] = state
    assert np.array_equal(result, expected)


def test_scan_runs_along_all_free_dimensions() -> None:
    a = random((16, 4, 10))
    text = compute(
        "penguin.tensor_tensor_scan mult add %t <- %x0, %x0 {initial_imm = 2.0}",
        "16x4x10xf32",
        out="16x40xf32",
    )
    (result,) = run(text, a)
    flat, state, expected = a.reshape(16, 40), np.full(16, 2, F32), np.empty((16, 40))
    for i in range(40):
        state = flat[:, i] * state + flat[:, i]
        expected[:, i] = state
    assert np.array_equal(result, expected)


def test_cumulative_sum_from_an_initial_value() -> None:
    a, s = random((16, 40)), random((16, 1), 2)
    result, last = both(
        "penguin.tensor_scalar_cache_cumulative mult add %t <- %x0, "
        "accumulator = %r, scalar0 = %x1, initial = %x1 {command = LoadAccumulate}",
        "16x40xf32",
        "16x1xf32",
        arrays=[a, s],
        row="16x1xf32",
    )
    expected = np.add.accumulate(np.concatenate([s, a * s], axis=1), axis=1)[:, 1:]
    assert np.array_equal(result, expected)
    assert np.array_equal(last, expected[:, -1:])


def test_cumulative_starts_with_the_identity() -> None:
    a = -np.abs(random((16, 4, 10)))
    text = compute(
        "penguin.tensor_scalar_cache_cumulative add max %t <- %x0 {imm0 = -1.0}",
        "16x4x10xf32",
        out="16x40xf32",
    )
    (result,) = run(text, a)
    expected = np.maximum.accumulate(a.reshape(16, 40) - F32(1), axis=1)
    assert np.array_equal(result, expected)


def test_scalar_tensor_tensor_in_place() -> None:
    a, b, s = random((16, 40)), random((16, 40), 1).astype(BF16), random((16, 1), 2)
    text = compute(
        "penguin.scalar_tensor_tensor subtract mult %x0 <- %x0, %x1, scalar0 = %x2 "
        "{reverse0}\npenguin.tensor_copy %t <- %x0",
        "16x40xf32",
        "16x40xbf16",
        "16x1xf32",
        out="16x40xf32",
    )
    (result,) = run(text, a, b, s)
    assert np.array_equal(result, (s - a) * b.astype(F32))


def test_tensor_scalar_reduce_sees_fp32() -> None:
    a = random((16, 40))
    result, row = both(
        "penguin.tensor_scalar_cache_reduce mult max %t <- %x0, reduce_res = %r "
        "{imm0 = -3.0}",
        "16x40xf32",
        arrays=[a],
        row="16x1xf32",
    )
    assert np.array_equal(result, a * F32(-3))
    assert np.array_equal(row[:, 0], (a * F32(-3)).max(axis=1))


def test_activation_sums_its_rows() -> None:
    a, bias = random((16, 4, 10)), random((16, 1), 3).astype(BF16)
    result, row = both(
        "penguin.activation_accumulation Square %t <- %x0, reduce_res = %r, bias = %x1 "
        "{scale_imm = 0.5}",
        "16x4x10xf32",
        "16x1xbf16",
        arrays=[a, bias],
        row="16x1xf32",
    )
    expected = np.square(a * F32(0.5) + bias.astype(F32)[:, :, None])
    assert np.array_equal(result, expected)
    assert np.array_equal(row[:, 0], expected.reshape(16, 40).sum(axis=1))


def test_box_mask_shortens_rows() -> None:
    a = random((16, 40))
    result, row = both(
        "penguin.memset %t {value = 7.0}\npenguin.memset %r {value = 7.0}\n"
        "penguin.activation_accumulation Copy %t <- %x0, reduce_res = %r "
        "where 11 - l0 >= 0 and 29 - l1 >= 0",
        "16x40xf32",
        arrays=[a],
        row="16x1xf32",
    )
    expected, sums = np.full((16, 40), 7, F32), np.full(16, 7, F32)
    expected[:12, :30] = a[:12, :30]
    sums[:12] = np.ascontiguousarray(a[:12, :30]).sum(axis=1)
    assert np.array_equal(result, expected)
    assert np.array_equal(row[:, 0], sums)


def test_prelu_takes_its_slope() -> None:
    a = random((16, 40))
    text = compute(
        "penguin.activation Prelu %t <- %x0 {alpha = 0.25}",
        "16x40xf32",
        out="16x40xf32",
    )
    (result,) = run(text, a)
    assert np.array_equal(result, np.where(a > 0, a, a * F32(0.25)))
