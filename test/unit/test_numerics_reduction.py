"""Reduction kernels against NumPy's reductions of contiguous fp32 rows."""

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp
from xdsl_neuron.numerics.reduction import (
    partition_reduce,
    pool,
    tensor_reduce,
    tensor_scalar_reduce,
)

Array = NDArray[Any]

F32, BF16, I32, U8 = DType.FLOAT32, DType.BFLOAT16, DType.INT32, DType.UINT8
NAN, INF = float("nan"), float("inf")


@pytest.fixture(autouse=True)
def ieee_exceptions_pass() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def f32(values: Any) -> Array:
    return np.asarray(values, np.float32)


def reduce(op: AluOp, x: Array, axes: tuple[int, ...], negate: bool = False) -> Array:
    shape = tuple(n for axis, n in enumerate(x.shape) if axis not in axes)
    out = np.empty(shape, np.float32)
    tensor_reduce(op, F32, F32, axes, negate)(out, x)
    return out


NORMAL = f32(np.random.default_rng(0).normal(size=(4, 3, 700)) * 100)


@pytest.mark.parametrize("axes", [(2,), (1, 2), (1,), (0,), (0, 2)])
def test_add_is_pairwise_over_contiguous_rows(axes: tuple[int, ...]):
    kept = [axis for axis in range(3) if axis not in axes]
    moved = NORMAL.transpose(*kept, *axes)
    rows = np.array(moved, order="C").reshape([NORMAL.shape[a] for a in kept] + [-1])
    assert reduce(AluOp.ADD, NORMAL, axes).tobytes() == rows.sum(axis=-1).tobytes()


@pytest.mark.parametrize(
    "op", [AluOp.ADD, AluOp.MULT, AluOp.MAX, AluOp.AVERAGE, AluOp.SUBTRACT]
)
def test_bits_do_not_depend_on_the_layout(op: AluOp):
    contiguous = reduce(op, NORMAL, (1, 2))
    wide = np.zeros((700, 4, 6), np.float32)
    view = wide.transpose(1, 2, 0)[:, ::2]
    view[...] = NORMAL
    assert reduce(op, view, (1, 2)).tobytes() == contiguous.tobytes()


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (AluOp.ADD, 1.5),
        (AluOp.SUBTRACT, 2.5),
        (AluOp.MULT, -6.0),
        (AluOp.ELEMWISE_MUL, -6.0),
        (AluOp.MAX, 2.0),
        (AluOp.MIN, -2.0),
        (AluOp.ABS_MAX, -2.0),
        (AluOp.ABS_MIN, 1.5),
        (AluOp.LOGICAL_AND, 1.0),
        (AluOp.LOGICAL_OR, 1.0),
        (AluOp.LOGICAL_XOR, 1.0),
    ],
)
def test_operations(op: AluOp, expected: float):
    x = f32([[2.0, 1.5, -2.0]])
    assert reduce(op, x, (1,)).tolist() == [expected]
    assert reduce(op, x, (1,), negate=True).tolist() == [-expected]


def test_average_divides_each_term_first():
    assert reduce(AluOp.AVERAGE, f32([[2.0, 1.0, 4.0, -1.0]]), (1,)).tolist() == [1.5]
    # The sum would overflow.
    assert reduce(AluOp.AVERAGE, f32([[3e38, 3e38, 3e38, 3e38]]), (1,)) == f32(3e38)


def test_the_element_of_the_best_magnitude_keeps_its_sign():
    x = f32([[3, -5, 5, 2, -2], [1, NAN, -4, 0.0, -0.0], [1, 2, NAN, NAN, NAN]])
    largest, smallest = (reduce(op, x, (1,)) for op in (AluOp.ABS_MAX, AluOp.ABS_MIN))
    np.testing.assert_array_equal(largest, f32([5, -4, NAN]))
    np.testing.assert_array_equal(smallest, f32([-2, 0, NAN]))
    assert np.signbit(smallest[1])


def test_nan_wins_in_max_and_min():
    x = f32([[1.0, NAN, INF], [-INF, -INF, -INF]])
    np.testing.assert_array_equal(reduce(AluOp.MAX, x, (1,)), f32([NAN, -INF]))
    np.testing.assert_array_equal(reduce(AluOp.MIN, x, (1,)), f32([NAN, -INF]))


def test_one_element_rows():
    x = f32([[-0.0], [5.0]])
    assert reduce(AluOp.ADD, x, (1,)).tolist() == [0.0, 5.0]
    assert np.signbit(reduce(AluOp.MAX, x, (1,))).tolist() == [True, False]


@pytest.mark.parametrize("shape", [(2,), (2, 1), (2, 1, 1)])
def test_output_with_or_without_the_reduced_axes(shape: tuple[int, ...]):
    out = np.zeros(shape, np.float32)
    tensor_reduce(AluOp.ADD, F32, F32, (1,))(out, f32([[1.0, 2.0], [3.0, 4.0]]))
    assert out.reshape(-1).tolist() == [3.0, 7.0]


def test_output_inside_the_input():
    x = f32([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    tensor_reduce(AluOp.ADD, F32, F32, (1,))(x[:, :1], x)
    assert x[:, 0].tolist() == [6.0, 15.0]


def test_bf16_sums_in_fp32():
    x = np.ones((1, 300), ml_dtypes.bfloat16)
    out = np.zeros((1, 1), ml_dtypes.bfloat16)
    tensor_reduce(AluOp.ADD, BF16, BF16, (1,))(out, x)
    assert float(out[0, 0]) == 300.0


def test_integers_are_added_in_fp32_and_saturate():
    x = np.array([[200, 100], [1, 2]], np.uint8)
    out = np.zeros((2, 1), np.uint8)
    tensor_reduce(AluOp.ADD, U8, U8, (1,))(out, x)
    assert out.tolist() == [[255], [3]]
    big, total = np.array([[2**24, 1]], np.int32), np.zeros((1, 1), np.int32)
    tensor_reduce(AluOp.ADD, I32, I32, (1,))(total, big)
    assert total.tolist() == [[2**24]]


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (AluOp.BITWISE_AND, [[-(2**31)]]),
        (AluOp.BITWISE_OR, [[-1]]),
        (AluOp.BITWISE_XOR, [[2**31 - 1]]),
    ],
)
def test_bit_operations(op: AluOp, expected: list[list[int]]):
    x = np.array([[-1, -(2**31)]], np.int32)
    out = np.zeros((1, 1), np.int32)
    tensor_reduce(op, I32, I32, (1,))(out, x)
    assert out.tolist() == expected


def test_bit_operations_widen_by_sign():
    out = np.zeros((1, 1), np.int32)
    x = np.array([[-1, -2]], np.int8)
    tensor_reduce(AluOp.BITWISE_AND, I32, DType.INT8, (1,))(out, x)
    assert out.tolist() == [[-2]]


def test_refusals():
    with pytest.raises(ValueError, match="'bitwise_and' has no negated form"):
        tensor_reduce(AluOp.BITWISE_AND, I32, I32, (1,), True)
    with pytest.raises(ValueError, match="'is_gt' is not a reduction"):
        tensor_reduce(AluOp.IS_GT, F32, F32, (1,))
    with pytest.raises(ValueError, match="'bitwise_not' is not a reduction"):
        tensor_reduce(AluOp.BITWISE_NOT, I32, I32, (1,))


def test_partition_reduce():
    x = f32(np.random.default_rng(3).normal(size=(128, 5)))
    out = np.zeros((1, 5), np.float32)
    partition_reduce(AluOp.ADD, F32, F32)(out, x)
    assert out[0].tobytes() == np.array(x.T, order="C").sum(axis=1).tobytes()
    partition_reduce(AluOp.MAX, F32, F32)(out, x)
    assert out[0].tobytes() == x.max(axis=0).tobytes()


def test_tensor_scalar_reduce_sees_fp32():
    x = f32([[0.25, 0.25, 0.25], [1.0, 2.0, 3.0]])
    out, row = np.zeros((2, 3), np.int32), np.zeros((2, 1), np.float32)
    kernel = tensor_scalar_reduce(I32, F32, AluOp.MULT, False, AluOp.ADD)
    kernel(out, row, x, f32([[1.0], [2.0]]))
    assert out.tolist() == [[0, 0, 0], [2, 4, 6]]
    assert row.tolist() == [[0.75], [12.0]]


def test_pool():
    x = f32(np.random.default_rng(5).normal(size=(2, 3, 4, 6)))
    out = np.zeros((2, 3), np.float32)
    pool(F32, F32)(out, x[..., ::2])
    np.testing.assert_array_equal(out, x[..., ::2].max(axis=(2, 3)))
    pool(F32, F32, average=True)(out, x)
    total = np.array(x).reshape(2, 3, 24).sum(axis=-1)
    np.testing.assert_array_equal(out, total * (f32(1) / f32(24)))
