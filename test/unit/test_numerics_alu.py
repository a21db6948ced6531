"""The ALU's elementwise kernels against NumPy statements of the same operations."""

import math
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp
from xdsl_neuron.numerics.alu import (
    evaluate,
    scalar_tensor_tensor,
    tensor_scalar,
    tensor_tensor,
)
from xdsl_neuron.numerics.rules import collect_rules

Array = NDArray[Any]

F32, BF16, I32, U32, U8 = (
    DType.FLOAT32,
    DType.BFLOAT16,
    DType.INT32,
    DType.UINT32,
    DType.UINT8,
)

NAN, INF, TINY = float("nan"), float("inf"), 1.4e-45
SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 2.5, -7.25, TINY, -TINY, 3e38, 1e-38, INF, -INF, NAN],
    np.float32,
)
LEFT, RIGHT = (side.reshape(-1) for side in np.meshgrid(SPECIAL, SPECIAL))


@pytest.fixture(autouse=True)
def ieee_exceptions_pass() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def f32(values: Any) -> Array:
    return np.asarray(values, np.float32)


def truth(values: Any) -> Array:
    return np.where(values, np.float32(1), np.float32(0))


EXPECTED: dict[AluOp, Callable[[Array, Array], Array]] = {
    AluOp.BYPASS: lambda a, b: a,
    AluOp.ADD: lambda a, b: a + b,
    AluOp.SUBTRACT: lambda a, b: a - b,
    AluOp.MULT: lambda a, b: a * b,
    AluOp.DIVIDE: lambda a, b: a / b,
    AluOp.MAX: lambda a, b: np.where(
        np.isnan(a) | np.isnan(b), np.float32(NAN), np.where(a > b, a, b)
    ),
    AluOp.MIN: lambda a, b: np.where(
        np.isnan(a) | np.isnan(b), np.float32(NAN), np.where(a < b, a, b)
    ),
    AluOp.LOGICAL_AND: lambda a, b: truth((a != 0) & (b != 0)),
    AluOp.LOGICAL_OR: lambda a, b: truth((a != 0) | (b != 0)),
    AluOp.LOGICAL_XOR: lambda a, b: truth((a != 0) ^ (b != 0)),
    AluOp.IS_EQUAL: lambda a, b: truth(a == b),
    AluOp.NOT_EQUAL: lambda a, b: truth(~(a == b)),
    AluOp.IS_GT: lambda a, b: truth(a > b),
    AluOp.IS_GE: lambda a, b: truth(a >= b),
    AluOp.IS_LT: lambda a, b: truth(a < b),
    AluOp.IS_LE: lambda a, b: truth(a <= b),
    AluOp.AVERAGE: lambda a, b: (a + b) * np.float32(0.5),
    AluOp.ELEMWISE_MUL: lambda a, b: a * b,
    AluOp.MOD: lambda a, b: a - np.floor(a / b) * b,
    AluOp.RSQRT: lambda a, b: np.float32(1) / np.sqrt(a),
    AluOp.ABS: lambda a, b: np.abs(a),
    # The operand as it is, the second on a tie (nki.language.abs_max of 2.30).
    AluOp.ABS_MAX: lambda a, b: np.where(np.abs(a) > np.abs(b), a, b),
    AluOp.ABS_MIN: lambda a, b: np.where(np.abs(a) < np.abs(b), a, b),
}


@pytest.mark.parametrize("op", EXPECTED)
def test_fp32_operations_on_special_values(op: AluOp):
    result = evaluate(op, LEFT, RIGHT)
    assert result.dtype == np.float32
    # assert_array_equal takes 0.0 and -0.0 for equal; the sign is checked below.
    np.testing.assert_array_equal(result, EXPECTED[op](LEFT, RIGHT))


@pytest.mark.parametrize("op", EXPECTED)
def test_tensor_tensor_in_place_and_strided(op: AluOp):
    expected = EXPECTED[op](LEFT, RIGHT)
    kernel = tensor_tensor(op, F32, F32, F32)
    for target in range(2):
        operands = [np.repeat(LEFT, 2)[::2], np.repeat(RIGHT, 2)[::2]]
        kernel(operands[target], *operands)
        np.testing.assert_array_equal(operands[target], expected)


def test_signs_of_zero():
    zero = f32([0.0, -0.0])
    added = evaluate(AluOp.ADD, zero, f32([-0.0, -0.0]))
    assert np.signbit(added).tolist() == [False, True]
    product = evaluate(AluOp.MULT, zero, f32(-1.0))
    assert np.signbit(product).tolist() == [True, False]
    assert np.signbit(evaluate(AluOp.BYPASS, zero)).tolist() == [False, True]


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (5.5, 2.0, 1.5),
        (-5.5, 2.0, 0.5),
        (5.5, -2.0, -0.5),
        (-5.5, -2.0, -1.5),
    ],
)
def test_mod_has_the_sign_of_the_divisor(a: float, b: float, expected: float):
    assert evaluate(AluOp.MOD, f32(a), b) == expected


def test_pow():
    base = f32([2.0, -2.0, -8.0, 0.0, 4.0, 9.0])
    exponent = f32([10.0, 3.0, 1 / 3, -1.0, -0.5, 0.0])
    np.testing.assert_array_equal(
        evaluate(AluOp.POW, base, exponent), f32([1024.0, -8.0, NAN, INF, 0.5, 1.0])
    )


def test_a_scalar_result_keeps_its_shape():
    assert evaluate(AluOp.MOD, f32(7.0), f32(4.0)).shape == ()
    assert evaluate(AluOp.RSQRT, f32(4.0), f32([0.0, 0.0])).tolist() == [0.5, 0.5]


def test_integers_above_two_to_the_24_lose_bits():
    big = np.array([2**24 + 1, -(2**24) - 1, 2**31 - 1], np.int32)
    out = np.zeros(3, np.int32)
    tensor_tensor(AluOp.ADD, I32, I32, I32)(out, big, np.zeros(3, np.int32))
    assert out.tolist() == [2**24, -(2**24), 2**31 - 1]


def test_native_int32_wraps():
    a = np.array([2**24 + 1, 2**31 - 1, -(2**31), 65537], np.int32)
    b = np.array([1, 1, -1, 65537], np.int32)
    out = np.zeros(4, np.int32)
    tensor_tensor(AluOp.ADD, I32, I32, I32, native_int32=True)(out, a, b)
    assert out.tolist() == [2**24 + 2, -(2**31), 2**31 - 1, 131074]
    tensor_tensor(AluOp.MULT, I32, I32, I32, native_int32=True)(out, a, b)
    assert out.tolist() == [2**24 + 1, 2**31 - 1, -(2**31), 131073]


def test_native_int32_with_both_signednesses():
    a, b = np.array([0], np.uint32), np.array([1], np.int32)
    out = np.zeros(1, np.uint32)
    tensor_tensor(AluOp.SUBTRACT, U32, U32, I32, native_int32=True)(out, a, b)
    assert out.tolist() == [2**32 - 1]


SIGNED = np.array([2**24 + 1, -(2**31), -1, 2**31 - 1, 0, 7], np.int32)


def integer_power(a: int, b: int) -> int:
    """Its low 32 bits; the whole part of 1 / a^n, and 0 for a base of 0."""
    if b >= 0:
        return int(pow(a, b, 2**32))
    return (a if b % 2 else 1) if a in (1, -1) else 0


NATIVE: dict[AluOp, Callable[[int, int], int]] = {
    AluOp.ADD: lambda a, b: a + b,
    AluOp.SUBTRACT: lambda a, b: a - b,
    AluOp.MULT: lambda a, b: a * b,
    AluOp.MAX: max,
    AluOp.MIN: min,
    AluOp.IS_EQUAL: lambda a, b: a == b,
    AluOp.NOT_EQUAL: lambda a, b: a != b,
    AluOp.IS_GT: lambda a, b: a > b,
    AluOp.IS_GE: lambda a, b: a >= b,
    AluOp.IS_LT: lambda a, b: a < b,
    AluOp.IS_LE: lambda a, b: a <= b,
    AluOp.LOGICAL_AND: lambda a, b: bool(a) and bool(b),
    AluOp.LOGICAL_OR: lambda a, b: bool(a) or bool(b),
    AluOp.LOGICAL_XOR: lambda a, b: bool(a) is not bool(b),
    AluOp.POW: integer_power,
}


@pytest.mark.parametrize("kinds", [(I32, I32, I32), (U32, U32, U32), (I32, U32, U32)])
@pytest.mark.parametrize("op", NATIVE)
def test_native_int32_is_exact(op: AluOp, kinds: tuple[DType, DType, DType]):
    """Neighbours above 2^24, both signs, and every pair."""
    near = SIGNED - np.int32(1)
    pairs = np.array(np.meshgrid(SIGNED, [*near, *SIGNED])).reshape(2, -1)
    dst, *sources = (np.dtype(kind.numpy_name) for kind in kinds)
    a, b = (x.astype(kind) for x, kind in zip(pairs, sources, strict=True))
    out = np.zeros(2 * a.size, dst)[::2]
    tensor_tensor(op, *kinds, native_int32=True)(out, a, b)
    wanted = [NATIVE[op](x, y) % 2**32 for x, y in zip(a.tolist(), b.tolist())]
    assert out.view(np.uint32).tolist() == wanted


@pytest.mark.parametrize(
    ("op", "dst", "message"),
    [
        (AluOp.ABS_MAX, I32, "'abs_max' has no native 32-bit integer form"),
        (AluOp.ADD, DType.INT16, "expected int32 or uint32, got int16"),
    ],
)
def test_native_int32_refuses(op: AluOp, dst: DType, message: str):
    with pytest.raises(ValueError, match=message):
        tensor_tensor(op, dst, I32, I32, native_int32=True)


def test_bf16_rounds_to_nearest_even():
    a = np.array([1.0, 1.0, 3.0], ml_dtypes.bfloat16)
    b = np.array([2**-8, 3 * 2**-8, 2**-7], ml_dtypes.bfloat16)
    out = np.zeros(3, ml_dtypes.bfloat16)
    tensor_tensor(AluOp.ADD, BF16, BF16, BF16)(out, a, b)
    assert out.astype(np.float32).tolist() == [1.0, 1.0 + 2**-6, 3.0]


def test_result_saturates_in_an_integer():
    a = f32([300.0, -3.0, 2.5, 3.5, NAN, INF])
    out = np.zeros(6, np.uint8)
    tensor_tensor(AluOp.ADD, U8, F32, F32)(out, a, f32(np.zeros(6)))
    assert out.tolist() == [255, 0, 2, 4, 0, 255]


@pytest.mark.parametrize(
    ("dst", "kind"),
    [(U8, np.uint8), (I32, np.int32), (F32, np.float32), (BF16, ml_dtypes.bfloat16)],
)
def test_a_compare_writes_one_and_zero(dst: DType, kind: Any):
    out = np.full((2, 6), 9, kind)
    a = f32([1.0, 2.0, 3.0])
    tensor_tensor(AluOp.IS_GE, dst, F32, F32)(out[0, ::2], a, f32([2.0, 2.0, NAN]))
    tensor_scalar(dst, F32, AluOp.IS_GT, True)(out[1, ::2], a, 2.0)
    assert out.astype(np.float32).tolist() == [
        [0.0, 9.0, 1.0, 9.0, 0.0, 9.0],
        [1.0, 9.0, 0.0, 9.0, 0.0, 9.0],
    ]


def test_tensor_scalar_stages_and_reverse():
    x = f32([[1.0, 2.0], [4.0, 8.0]])
    out = np.zeros_like(x)
    tensor_scalar(F32, F32, AluOp.SUBTRACT, True, AluOp.DIVIDE, True)(out, x, 9.0, 2.0)
    assert out.tolist() == [[2 / 8, f32(2) / f32(7)], [f32(2) / f32(5), 2.0]]
    column = f32([[10.0], [20.0]])
    tensor_scalar(F32, F32, AluOp.MULT, False, AluOp.ADD)(out, x, column, column)
    assert out.tolist() == [[20.0, 30.0], [100.0, 180.0]]


def test_reverse_does_not_turn_a_unary_operation_to_the_scalar():
    out = np.zeros(2, np.float32)
    tensor_scalar(F32, F32, AluOp.RSQRT, True)(out, f32([4.0, 16.0]), 1.0)
    assert out.tolist() == [0.5, 0.25]


@pytest.mark.parametrize("dst", [F32, BF16, I32])
def test_tensor_scalar_in_place_with_a_scalar_inside_the_output(dst: DType):
    kind = np.dtype(getattr(ml_dtypes, dst.numpy_name, dst.numpy_name))
    x = np.arange(1, 9).reshape(2, 4).astype(kind)
    wide = x.astype(np.float32)
    expected = wide * wide[:, :1] + wide[:, 1:2]
    kernel = tensor_scalar(dst, dst, AluOp.MULT, False, AluOp.ADD, False)
    if dst is F32:
        kernel(x, x, x[:, :1].copy(), x[:, 1:2])
    else:
        kernel(x, x, wide[:, :1], wide[:, 1:2])
    assert x.astype(np.float32).tolist() == expected.tolist()


def test_between_the_stages_the_value_is_fp32():
    # 256 * 256 does not fit fp16, and 2^-8 + 1 does not fit bf16.
    x = np.array([256.0], np.float16)
    out = np.zeros(1, np.float16)
    kernel = tensor_scalar(
        DType.FLOAT16, DType.FLOAT16, AluOp.MULT, False, AluOp.DIVIDE
    )
    kernel(out, x, 256.0, 512.0)
    assert out.tolist() == [128.0]


def test_scalar_rounds_to_fp32():
    out = np.zeros(1, np.float32)
    tensor_scalar(F32, F32, AluOp.MULT)(out, f32([1.0]), 0.1)
    assert out[0] == np.float32(0.1)
    tensor_scalar(F32, F32, AluOp.ADD)(out, f32([0.0]), 2**24 + 1)
    assert out[0] == 2.0**24


def test_scalar_tensor_tensor_accumulates_in_place():
    x, total = f32([[1.0, -2.0]]), f32([[10.0, 20.0]])
    kernel = scalar_tensor_tensor(F32, F32, F32, AluOp.MULT, False, AluOp.ADD, False)
    kernel(total, x, 3.0, total)
    assert total.tolist() == [[13.0, 14.0]]
    reverse = scalar_tensor_tensor(
        F32, F32, F32, AluOp.SUBTRACT, True, AluOp.SUBTRACT, True
    )
    reverse(total, x, 5.0, f32([[1.0, 1.0]]))
    assert total.tolist() == [[-3.0, -6.0]]


def test_bit_operations_mix_with_nothing_else():
    with pytest.raises(ValueError, match="both bitvec or both arithmetic"):
        tensor_scalar(I32, I32, AluOp.BITWISE_AND, False, AluOp.ADD)
    with pytest.raises(ValueError, match="'bitwise_and' is not an arithmetic"):
        scalar_tensor_tensor(I32, I32, I32, AluOp.BITWISE_AND, False, AluOp.ADD, False)


@pytest.mark.parametrize(
    ("op", "dtype", "a", "b", "expected"),
    [
        (AluOp.BITWISE_AND, U32, 0xF0F0F0F0, 0xFF00FF00, 0xF000F000),
        (AluOp.BITWISE_OR, U8, 0x81, 0x18, 0x99),
        (AluOp.BITWISE_XOR, I32, -1, 1, -2),
        (AluOp.BITWISE_NOT, U8, 0x0F, 0, 0xF0),
        (AluOp.BITWISE_NOT, I32, 0, 0, -1),
        (AluOp.LOGICAL_SHIFT_RIGHT, I32, -1, 28, 15),
        (AluOp.ARITH_SHIFT_RIGHT, U32, 0x80000000, 28, 0xFFFFFFF8),
        (AluOp.ARITH_SHIFT_RIGHT, I32, -16, 2, -4),
        (AluOp.LOGICAL_SHIFT_LEFT, I32, 1, 31, -(2**31)),
        (AluOp.ARITH_SHIFT_LEFT, I32, -3, 1, -6),
        (AluOp.LOGICAL_SHIFT_LEFT, U32, 1, 32, 0),
        (AluOp.LOGICAL_SHIFT_RIGHT, I32, -1, 32, 0),
        (AluOp.ARITH_SHIFT_RIGHT, I32, -1, 40, -1),
        (AluOp.MOD_INT, I32, -7, 4, 1),
        (AluOp.MOD_INT, I32, 2**31 - 1, 10, 7),
        (AluOp.MOD_INT, U32, 2**32 - 1, 10, 5),
        (AluOp.MOD_INT, I32, 5, 0, 0),
    ],
)
def test_bit_operations(op: AluOp, dtype: DType, a: int, b: int, expected: int):
    left, right = (np.array([v, v, v, v], dtype.numpy_name)[::2] for v in (a, b))
    tensor_tensor(op, dtype, dtype, dtype)(left, left, right)
    assert left.tolist() == [expected, expected]
    left = np.array([a], dtype.numpy_name)
    tensor_scalar(dtype, dtype, op)(left, left, b)
    assert left.tolist() == [expected]


def test_bit_operations_see_the_pattern_of_a_float():
    x = f32([-1.5, 1.5])
    tensor_scalar(F32, F32, AluOp.BITWISE_AND)(x, x, 0x7FFFFFFF)
    assert x.tolist() == [1.5, 1.5]


def test_bit_operations_on_several_widths():
    out = np.zeros(2, np.int32)
    x = np.array([-128, 127], np.int8)
    tensor_scalar(I32, DType.INT8, AluOp.ARITH_SHIFT_RIGHT)(out, x, 1)
    assert out.tolist() == [-64, 63]
    tensor_scalar(I32, DType.INT8, AluOp.LOGICAL_SHIFT_RIGHT)(out, x, 1)
    assert out.tolist() == [64, 63]
    mask = np.array([0xFFF0, 0xFFF0], np.uint16)
    tensor_tensor(AluOp.BITWISE_AND, I32, DType.INT8, DType.UINT16)(out, x, mask)
    assert out.tolist() == [-128 & 0xFFF0, 112]
    low = np.zeros(2, np.uint8)
    wide = np.array([0x12345678, -1], np.int32)
    tensor_scalar(U8, I32, AluOp.LOGICAL_SHIFT_RIGHT)(low, wide, 8)
    assert low.tolist() == [0x56, 0xFF]


@pytest.mark.parametrize(
    "op",
    [AluOp.LOGICAL_SHIFT_LEFT, AluOp.LOGICAL_SHIFT_RIGHT, AluOp.ARITH_SHIFT_RIGHT],
)
@pytest.mark.parametrize("amount", [8, 255, 256, 2**16, 2**31, -1])
def test_an_amount_wider_than_what_is_shifted(op: AluOp, amount: int):
    """It shifts everything out; its own low bits are not the amount."""
    x = np.array([[0x55, 0x2A]], np.uint8)
    wide = np.full_like(x, amount % 2**32, np.uint32)
    out = np.full_like(x, 9)
    tensor_tensor(op, U8, U8, U32)(out, x, wide)
    assert out.tolist() == [[0, 0]]
    for scalar in (amount, wide[:, :1]):
        out[...] = 9
        tensor_scalar(U8, U8, op)(out, x, scalar)
        assert out.tolist() == [[0, 0]]


def test_two_bit_stages_with_reverse_and_vector_scalars():
    x = np.array([[1, 2], [3, 4]], np.uint32)
    out = np.zeros_like(x)
    kernel = tensor_scalar(
        U32, U32, AluOp.LOGICAL_SHIFT_LEFT, True, AluOp.BITWISE_XOR, False
    )
    kernel(out, x, 1, np.array([[1], [-1]], np.int32))
    assert out.tolist() == [[3, 5], [0xFFFFFFF7, 0xFFFFFFEF]]


def test_a_scalar_pattern_is_cut_to_the_width():
    x = np.array([0x7F, -1], np.int8)
    tensor_scalar(DType.INT8, DType.INT8, AluOp.BITWISE_AND)(x, x, 0xF0)
    assert x.tolist() == [0x70, -16]


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (128, 1, 3)])
def test_shapes_with_a_dimension_of_one(shape: tuple[int, ...]):
    x = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    out = np.empty_like(x)
    tensor_tensor(AluOp.SUBTRACT, F32, F32, F32)(out, x, x[:1])
    np.testing.assert_array_equal(out, x - x[:1])


def test_fp32_add_makes_no_temporary():
    # What an add costs beside NumPy's is measured in bench/; this is why it is cheap.
    a, b, out = (np.ones((128, 512), np.float32) for _ in range(3))
    kernel = tensor_tensor(AluOp.ADD, F32, F32, F32)
    kernel(out, a, b)
    tracemalloc.start()
    kernel(out, a, b)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < out.nbytes // 8
    assert np.all(out == 2)


def test_every_rule_has_a_topic_of_its_own():
    rules = collect_rules()
    assert len({rule.topic for rule in rules}) == len(rules) > 30
    assert all(rule.source for rule in rules)
