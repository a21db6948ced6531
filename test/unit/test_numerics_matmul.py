"""Matmul kernels against NumPy and exact integer statements."""

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import MatmulPerfMode
from xdsl_neuron.numerics.matmul import identity_product, matmul, matmul_transpose

Array = NDArray[Any]

F32, TF32, BF16 = DType.FLOAT32, DType.TFLOAT32, DType.BFLOAT16
NAN, INF = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def ieee_exceptions_pass() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def small_integers(*shape: int, seed: int = 0, kind: Any = np.float32) -> Array:
    """Values whose products and sums are exact in fp32, whatever the order."""
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(kind)


def exact(stationary: Array, moving: Array) -> Array:
    """The sum over the first axis, in integers."""
    left, right = (np.rint(x.astype(np.float64)) for x in (stationary, moving))
    return np.einsum("km,kn->mn", left, right)


@pytest.mark.parametrize(
    ("k", "m", "n"),
    [(128, 128, 512), (1, 4, 5), (7, 1, 5), (7, 4, 1), (1, 1, 1), (33, 65, 17)],
)
@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        (F32, np.float32),
        (TF32, np.float32),
        (BF16, ml_dtypes.bfloat16),
        (DType.FLOAT16, np.float16),
        (DType.FLOAT8_E4M3, ml_dtypes.float8_e4m3),
        (DType.FLOAT8_E5M2, ml_dtypes.float8_e5m2),
    ],
)
def test_overwrite_and_accumulate(k: int, m: int, n: int, dtype: DType, kind: Any):
    s = small_integers(k, m, kind=kind)
    t = small_integers(k, n, seed=1, kind=kind)
    out = np.full((m, n), NAN, np.float32)
    kernel = matmul(F32, dtype, dtype)
    kernel(out, s, t)
    np.testing.assert_array_equal(out, exact(s, t))
    kernel(out, s, t, True)
    np.testing.assert_array_equal(out, 2 * exact(s, t))


def test_free_dimensions_count_as_one():
    s, t = small_integers(8, 3, 2), small_integers(8, 2, 5, seed=1)
    out = np.zeros((6, 2, 5), np.float32)
    matmul(F32, F32, F32)(out, s, t)
    flat = exact(s.reshape(8, 6), t.reshape(8, 10))
    np.testing.assert_array_equal(out.reshape(6, 10), flat)
    spread = np.zeros((6, 2, 10), np.float32)
    matmul(F32, F32, F32)(spread[:, :, ::2], s, t)
    assert spread[:, :, ::2].tobytes() == out.tobytes()
    assert not spread[:, :, 1::2].any()


def test_double_row_sums_over_the_first_free_dimension():
    s, t = small_integers(4, 2, 3), small_integers(4, 2, 5, seed=1)
    out = np.zeros((3, 5), np.float32)
    expected = np.einsum("kjm,kjn->mn", s, t)
    matmul(F32, F32, F32, MatmulPerfMode.DOUBLE_ROW)(out, s, t)
    np.testing.assert_array_equal(out, expected)
    interleaved = np.moveaxis(s, 1, 2)
    matmul(F32, F32, F32, MatmulPerfMode.DOUBLE_ROW_SW_INTERLEAVE)(out, interleaved, t)
    np.testing.assert_array_equal(out, expected)


def test_modes_without_a_meaning_have_no_kernel():
    for mode in (MatmulPerfMode.DOUBLE_COLUMN, MatmulPerfMode.DOUBLE_PIXEL):
        with pytest.raises(ValueError, match=f"{mode} has no documented meaning"):
            matmul(F32, F32, F32, mode)


def test_zero_points_are_subtracted_first():
    s = np.array([[0, 255], [7, 128]], np.uint8)
    t = np.array([[1, 2, 3], [255, 0, 9]], np.uint8)
    out = np.zeros((2, 3), np.float32)
    U8 = DType.UINT8
    matmul(F32, U8, U8, MatmulPerfMode.NONE, (128, 3))(out, s, t)
    expected = (s.astype(int) - 128).T @ (t.astype(int) - 3)
    np.testing.assert_array_equal(out, expected)
    matmul(F32, U8, U8)(out, s, t)
    np.testing.assert_array_equal(out, s.astype(int).T @ t.astype(int))


def test_into_int32_psum():
    s = np.array([[2.0**31, 0.5], [0.0, 1.0]], np.float32)
    t = np.array([[1.0, -1.0], [1.0, 2.0]], np.float32)
    out = np.full((2, 2), 5, np.int32)
    matmul(F32, F32, F32)(np.zeros((2, 2), np.float32), s, t)
    kernel = matmul(DType.INT32, F32, F32)
    kernel(out, s, t)
    # Rounded to nearest even, saturated; added with wrap.
    assert out.tolist() == [[2**31 - 1, -(2**31)], [2, 2]]
    kernel(out, s, t, True)
    assert out.tolist() == [[-2, 0], [4, 4]]


def layouts(x: Array) -> list[Array]:
    """Arrays of equal values: contiguous, wide rows, strided columns, transposed."""
    rows, columns = x.shape
    wide = np.zeros((rows, columns + 3), x.dtype)[:, :columns]
    strided = np.zeros((rows, 2 * columns), x.dtype)[:, ::2]
    turned = np.zeros((columns, rows), x.dtype).T
    copies = [x, wide, strided, turned]
    for copy in copies[1:]:
        copy[...] = x
    return copies


@pytest.mark.parametrize(
    ("k", "m", "n"), [(128, 128, 512), (64, 1, 48), (64, 48, 1), (128, 32, 100)]
)
def test_bits_do_not_depend_on_the_layout(k: int, m: int, n: int):
    rng = np.random.default_rng(5)
    s, t = (rng.normal(size=(k, c)).astype(np.float32) for c in (m, n))
    kernel = matmul(F32, F32, F32)
    expected = np.zeros((m, n), np.float32)
    kernel(expected, s, t)
    for left in layouts(s):
        for right in layouts(t):
            for out in layouts(np.zeros((m, n), np.float32)):
                kernel(out, left, right)
                assert out.tobytes() == expected.tobytes()
                kernel(out, left, right, True)
                assert out.tobytes() == (expected + expected).tobytes()


def test_operands_in_one_buffer_give_the_same_bits():
    x = np.random.default_rng(6).normal(size=(128, 96)).astype(np.float32)
    kernel, expected, out = matmul(F32, F32, F32), *np.zeros((2, 96, 96), np.float32)
    kernel(expected, x, x.copy())
    kernel(out, x, x)
    assert out.tobytes() == expected.tobytes()


def test_tf32_operands_are_rounded():
    one = np.ones((1, 1), np.float32)
    out = np.zeros((1, 1), np.float32)
    # Halfway cases of 10 fraction bits: down to even, up to even; then NaN.
    for value, expected in (
        (1 + 2**-11, 1.0),
        (1 + 3 * 2**-11, 1 + 2**-9),
        (1 + 2**-11 + 2**-20, 1 + 2**-10),
    ):
        matmul(F32, TF32, TF32)(out, one, np.array([[value]], np.float32))
        assert out[0, 0] == expected
    matmul(F32, TF32, TF32)(out, one, np.array([[NAN]], np.float32))
    assert np.isnan(out[0, 0])


def test_into_bf16_psum():
    one = np.ones((1, 1), ml_dtypes.bfloat16)
    out = np.full((1, 1), 1.0, ml_dtypes.bfloat16)
    kernel = matmul(BF16, BF16, BF16)
    small = np.full((1, 1), 2**-8, ml_dtypes.bfloat16)
    kernel(out, one, small, True)
    assert float(out[0, 0]) == 1.0
    kernel(out, one, np.full((1, 1), 3 * 2**-8, ml_dtypes.bfloat16), True)
    assert float(out[0, 0]) == 1 + 2**-6
    kernel(out, one, small)
    assert float(out[0, 0]) == 2**-8


def test_zero_times_infinity_spreads():
    s = np.eye(2, dtype=np.float32)
    out = np.zeros((2, 2), np.float32)
    matmul(F32, F32, F32)(out, s, np.array([[INF, 1.0], [0.0, 2.0]], np.float32))
    np.testing.assert_array_equal(out, [[INF, 1.0], [NAN, 2.0]])


@pytest.mark.parametrize(
    ("dtype", "kind"), [(F32, np.uint32), (BF16, np.uint16), (DType.INT32, np.uint32)]
)
def test_transpose_moves_bits(dtype: DType, kind: Any):
    storage = getattr(ml_dtypes, dtype.numpy_name, dtype.numpy_name)
    patterns = np.arange(60, dtype=kind) * kind(0x7FA1) + kind(0x7F81)
    x = patterns.reshape(4, 15).view(storage)
    out = np.zeros((15, 4), storage)
    matmul_transpose(dtype, dtype)(out, x, np.eye(4).astype(storage))
    assert out.view(kind).tolist() == patterns.reshape(4, 15).T.tolist()


def test_transpose_of_fp8_pads_bytes():
    x = np.array([[1.0, -2.0]], ml_dtypes.float8_e4m3)
    out = np.zeros((2, 1), ml_dtypes.bfloat16)
    matmul_transpose(BF16, DType.FLOAT8_E4M3)(out, x, np.ones((1, 1), x.dtype))
    assert out.view(np.uint16).tolist() == [[0x38], [0xC0]]


def test_transpose_of_several_free_dimensions():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    out = np.zeros((12, 2), np.float32)
    matmul_transpose(F32, F32)(out, x, np.eye(2, dtype=np.float32))
    np.testing.assert_array_equal(out, x.reshape(2, 12).T)


@pytest.mark.parametrize(
    ("moving", "message"),
    [
        ([[2.0, 0.0], [0.0, 1.0]], "something else than 0 and 1"),
        ([[NAN, 0.0], [0.0, 1.0]], "something else than 0 and 1"),
        ([[1.0, 0.0], [1.0, 0.0]], "column 0 .* has 2 ones"),
    ],
)
def test_transpose_refuses_what_is_no_choice(moving: list[Any], message: str):
    x, out = np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32)
    with pytest.raises(ValueError, match=message):
        matmul_transpose(F32, F32)(out, x, np.array(moving, np.float32))


def test_product_with_an_identity_is_no_exact_transpose():
    x = np.array([[1.5, -0.0], [INF, 2.0]], np.float32)
    out = np.zeros((2, 2), np.float32)
    identity_product(F32, F32)(out, x)
    assert repr(out.tolist()) == "[[nan, inf], [0.0, 2.0]]"
