"""Fills, selections, transposes, shuffles, gathers and scatters."""

import math
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp, TransposeOp
from xdsl_neuron.numerics.fill import (
    constant,
    constant_bits,
    iota,
    memset,
    memset_bits,
)
from xdsl_neuron.numerics.indirect import (
    gather_rows,
    local_gather,
    nc_n_gather,
    scatter_add_rows,
    scatter_rows,
)
from xdsl_neuron.numerics.movement import (
    dma_accumulate,
    dma_reduce,
    dma_transpose,
    replicate,
    stream_shuffle,
    stream_transpose,
    transpose,
)
from xdsl_neuron.numerics.selection import (
    FP32_MIN,
    affine_select,
    copy_predicated,
    range_select,
    range_select_reduce,
    select,
    select_reduce,
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


@pytest.mark.parametrize(
    ("dtype", "value", "bits"),
    [
        (F32, 1.0, 0x3F800000),
        (F32, -0.0, 0x80000000),
        (F32, 1e300, 0x7F800000),
        (BF16, 1.0, 0x3F80),
        (DType.FLOAT16, 65536, 0x7C00),
        (DType.FLOAT8_E4M3FN, 1e9, 0x7E),
        (I32, 2**24 + 1, 2**24 + 1),
        (I32, -1, 0xFFFFFFFF),
        (I32, 2**40, 0x7FFFFFFF),
        (I32, 2.5, 2),
        (I32, NAN, 0),
        (U8, -5, 0),
        (U8, 255, 255),
        (DType.FLOAT8_E5M2_X4, 0, 0),
        (DType.UINT64, 2**64 - 1, 2**64 - 1),
    ],
)
def test_memset(dtype: DType, value: float, bits: int):
    assert constant_bits(dtype, value) == bits
    kind = np.dtype(getattr(ml_dtypes, dtype.numpy_name, dtype.numpy_name))
    raw = np.full((2, 6), 0x5A, f"u{dtype.bytes}")
    memset(dtype, value)(raw.view(kind)[:, ::2])
    assert raw.tolist() == [[bits, 0x5A] * 3] * 2


def test_memset_keeps_the_pattern_of_a_nan():
    out = np.zeros((1, 1), np.float32)
    memset_bits(F32, 0x7F812345)(out)
    assert out.view(np.uint32).tolist() == [[0x7F812345]]


def test_a_packed_type_is_filled_with_zero_only():
    with pytest.raises(ValueError, match="float8_e5m2_x4 can only be filled with 0"):
        constant(DType.FLOAT8_E5M2_X4, 1)


def test_iota():
    out = np.zeros((2, 2, 3), np.int32)
    iota(I32, ((10, 2), (1, 3)), 100)(out, 5)
    assert out.reshape(2, 6).tolist() == [
        [5, 6, 7, 15, 16, 17],
        [105, 106, 107, 115, 116, 117],
    ]
    flat = np.zeros((2, 12), np.float32)
    iota(F32, ((10, 2), (1, 3)), 100)(flat[:, ::2], 5)
    assert flat[:, ::2].tolist() == out.reshape(2, 6).tolist()


def test_iota_wraps_in_int32_before_the_cast():
    out = np.zeros((1, 2), np.float32)
    iota(F32, ((1, 2),))(out, 2**31 - 1)
    assert out.tolist() == [[2.0**31, -(2.0**31)]]
    byte = np.zeros((1, 3), np.uint8)
    iota(U8, ((1, 3),))(byte, 254)
    assert byte.tolist() == [[254, 255, 255]]


def test_select():
    predicate = np.array([[0, 1, 2]], np.uint8)
    out = np.zeros((1, 3), np.float32)
    select(F32, F32, F32)(out, predicate, f32([[1, 2, 3]]), f32([[-1, -2, -3]]))
    assert out.tolist() == [[-1.0, 2.0, 3.0]]
    select(F32, F32, F32)(out, predicate, 7.0, out)
    assert out.tolist() == [[-1.0, 7.0, 7.0]]
    integer = np.zeros((1, 3), np.int32)
    select(I32, F32, I32)(integer, predicate, f32([[0, 2.5, 9e9]]), 2**24 + 1)
    assert integer.tolist() == [[2**24 + 1, 2, 2**31 - 1]]


def test_select_moves_bits():
    patterns = np.array([[0x7F81, 0xFFC1]], np.uint16)
    out = np.zeros((1, 2), ml_dtypes.bfloat16)
    x = patterns.view(ml_dtypes.bfloat16)
    select(BF16, BF16, BF16)(out, np.array([[1, 0]]), x, x)
    assert out.view(np.uint16).tolist() == patterns.tolist()


def test_copy_predicated():
    predicate = np.array([[0, 1, 256]], np.int32)
    out = f32([[1.0, 2.0, 3.0]])
    copy_predicated(F32, F32)(out, f32([[10.0, 20.0, NAN]]), predicate)
    np.testing.assert_array_equal(out, f32([[1.0, 20.0, NAN]]))
    copy_predicated(F32, F32, True)(out, 5.0, predicate)
    np.testing.assert_array_equal(out, f32([[5.0, 20.0, NAN]]))
    whole = np.zeros((1, 6), np.int32)
    copy_predicated(I32, F32)(whole[:, ::2], f32([[9.0, 1.5, -1.5]]), predicate)
    assert whole.tolist() == [[0, 0, 2, 0, -2, 0]]


@pytest.mark.parametrize("reverse", [False, True])
def test_select_reduce(reverse: bool):
    predicate = np.array([[0, 1, 1], [0, 0, 0]], np.uint8)
    x, out = f32([[9.0, -2.5, -1.0], [1.0, 2.0, 3.0]]), np.zeros((2, 3), np.int32)
    row = np.zeros((2, 1), np.float32)
    select_reduce(I32, F32, AluOp.MAX, reverse)(
        out, row, 1 - predicate if reverse else predicate, x, f32([[-5.0], [-0.25]])
    )
    assert out.tolist() == [[-5, -2, -1], [0, 0, 0]]
    assert row.tolist() == [[-1.0], [-0.25]]


@pytest.mark.parametrize(
    ("compare", "expected"),
    [
        (AluOp.IS_GE, [[1, 0, 0], [1, 1, 0]]),
        (AluOp.IS_GT, [[0, 0, 0], [1, 0, 0]]),
        (AluOp.IS_EQUAL, [[1, 0, 0], [0, 1, 0]]),
        (AluOp.NOT_EQUAL, [[0, 1, 1], [1, 0, 1]]),
        (AluOp.IS_LT, [[0, 1, 1], [0, 0, 1]]),
        (AluOp.IS_LE, [[1, 1, 1], [0, 1, 1]]),
    ],
)
def test_affine_select(compare: AluOp, expected: list[list[int]]):
    x = f32([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    kernel = affine_select(F32, F32, ((-1, 3),), 1, compare)
    wanted = np.where(np.array(expected, bool), x, f32(-1.0))
    kernel(x, x, 0, -1.0)
    assert x.tolist() == wanted.tolist()
    kernel(x, x, 100, 0.0)


def test_affine_select_depends_on_base():
    kernel = affine_select(F32, F32, ((1, 4),), 0, AluOp.IS_GE)
    x, out = f32([[1.0, 2.0, 3.0, 4.0]]), np.zeros((1, 4), np.float32)
    for base in range(-5, 3):
        kernel(out, x, base, NAN)
        assert np.isnan(out[0]).tolist() == [base + i < 0 for i in range(4)]


def test_affine_select_refuses_an_operation_that_does_not_compare():
    with pytest.raises(ValueError, match="'add' is not a compare operation"):
        affine_select(F32, F32, ((1, 4),), 0, AluOp.ADD)


def test_range_select():
    x = f32([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]])
    low, high = f32([[10.0], [11.0]]), f32([[12.0], [99.0]])
    out = np.zeros((2, 4), np.float32)
    row = np.zeros((2, 1), np.float32)
    range_select(F32, F32, AluOp.IS_GE, AluOp.IS_LT)(out, x, low, high, 10)
    fill = np.float32(FP32_MIN)
    assert out.tolist() == [[1.0, 2.0, fill, fill], [fill, 6.0, 7.0, 8.0]]
    range_select_reduce(F32, F32, AluOp.IS_GE, AluOp.IS_LT)(x, row, x, low, high, 10)
    assert x.tolist() == out.tolist()
    assert row.tolist() == [[2.0], [8.0]]


def test_transpose_of_itself():
    x = np.arange(9, dtype=np.float32).reshape(3, 3)
    wanted = x.T.tolist()
    transpose(F32, F32)(x, x)
    assert x.tolist() == wanted
    out = np.zeros((3, 6), np.int32)
    transpose(I32, F32)(out[:, ::2], x + 0.5)
    assert out[:, ::2].tolist() == np.rint(x + 0.5).T.tolist()


@pytest.mark.parametrize("op", TransposeOp)
def test_dma_transpose(op: TransposeOp):
    x = np.arange(120, dtype=np.int32).reshape(2, 3, 4, 5)
    letters = "WZYX" if op is TransposeOp.NONE else op.value
    wanted = np.einsum(f"WZYX->{letters}".replace(" ", ""), x)
    out = np.zeros(wanted.shape, np.int32)
    dma_transpose(I32, I32, op)(out, x)
    assert out.tolist() == wanted.tolist()


@pytest.mark.parametrize("shape", [(32, 32), (128, 64), (64, 4, 32), (7, 32), (3, 5)])
def test_stream_transpose_swaps_the_low_bits(shape: tuple[int, ...]):
    partitions, elements = shape[0], math.prod(shape[1:])
    x = np.arange(partitions * elements, dtype=np.int32).reshape(shape)
    wanted = {
        (p & ~31 | e & 31, e & ~31 | p & 31): x.reshape(partitions, -1)[p, e]
        for p in range(partitions)
        for e in range(elements)
    }
    square = partitions % 32 == 0 and elements % 32 == 0
    out = np.zeros(shape if square else (elements, partitions), np.int32)
    stream_transpose(out, x)
    flat = out.reshape(out.shape[0], -1)
    assert all(flat[place] == value for place, value in wanted.items())


def test_stream_transpose_in_place():
    x = np.arange(64 * 32, dtype=np.float32).reshape(64, 32)
    wanted = np.concatenate([x[:32].T, x[32:].T])
    stream_transpose(x, x)
    assert x.tolist() == wanted.tolist()


def test_stream_shuffle():
    mask = [255, *range(30, -1, -1)]
    x = np.arange(128, dtype=np.float32).reshape(64, 2)
    out = -np.ones_like(x)
    stream_shuffle(tuple(mask))(out, x)
    for p in range(64):
        source = mask[p % 32]
        wanted = [-1.0, -1.0] if source == 255 else x[p // 32 * 32 + source].tolist()
        assert out[p].tolist() == wanted
    before = x.copy()
    stream_shuffle(tuple(mask))(x, x)
    assert x[1:32].tolist() == before[30::-1].tolist()


@pytest.mark.parametrize(
    ("mask", "message"),
    [((0,) * 31, "must have 32 elements"), ((32,) * 32, "entry must be <32")],
)
def test_stream_shuffle_refuses(mask: tuple[int, ...], message: str):
    with pytest.raises(ValueError, match=message):
        stream_shuffle(mask)


def test_replicate():
    out = np.zeros((6, 2), np.float32)
    replicate(F32, I32)(out, np.array([[1, 2], [3, 4]], np.int32))
    assert out.tolist() == [[1, 2], [3, 4]] * 3


def test_dma_reduce():
    a, b = f32([1.0, -2.0]), np.array([3, 4], np.int32)
    out = np.zeros(2, np.float32)
    dma_reduce(F32, (F32, I32), AluOp.ADD, (2.0, 0.5))(out, a, b)
    assert out.tolist() == [3.5, -2.0]
    dma_reduce(F32, (F32, I32), AluOp.MAX)(out, a, b)
    assert out.tolist() == [3.0, 4.0]
    dma_reduce(F32, (F32, F32), AluOp.MIN)(a, a, f32([-9.0, NAN]))
    np.testing.assert_array_equal(a, f32([-9.0, NAN]))
    with pytest.raises(ValueError, match="'mult' is not a reduction of a DMA"):
        dma_reduce(F32, (F32,), AluOp.MULT)


def test_dma_accumulate():
    out = np.array([2**31 - 1], np.int32)
    dma_accumulate(I32, I32)(out, np.array([1], np.int32))
    assert out.tolist() == [-(2**31)]
    byte = np.array([250], np.uint8)
    dma_accumulate(U8, U8)(byte, byte)
    assert byte.tolist() == [255]


def test_gather_rows():
    table = np.arange(20, dtype=np.float32).reshape(5, 4)
    out = np.full((2, 2, 2), -1.0, np.float32)
    index = np.array([[4, 0], [3, 4]], np.uint32)
    gather_rows(F32, F32)(out, table[:, ::2], index)
    assert out.tolist() == [[[16, 18], [0, 2]], [[12, 14], [16, 18]]]


@pytest.mark.parametrize("bad", [-1, 5, 2**31 - 1])
def test_gather_rows_outside(bad: int):
    table = np.arange(10, dtype=np.float32).reshape(5, 2)
    index = np.array([[1], [bad]], np.int32)
    out = np.full((2, 1, 2), -1, np.int32)
    gather_rows(I32, F32, skip=True)(out, table, index)
    assert out.tolist() == [[[2, 3]], [[-1, -1]]]
    with pytest.raises(IndexError, match=f"index {bad} is out of bounds for 5 rows"):
        gather_rows(I32, F32)(out, table, index)


def test_scatter_rows_last_wins():
    table = np.zeros((3, 2), np.int32)
    index = np.array([1, 0, 1], np.int32)
    scatter_rows(I32, F32)(table, f32([[1, 1], [2, 2], [3.5, 3]]), index)
    assert table.tolist() == [[2, 2], [4, 3], [0, 0]]
    scatter_rows(I32, I32, skip=True)(table, table, np.array([-1, 3, 0]))
    assert table.tolist() == [[0, 0], [4, 3], [0, 0]]
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        scatter_rows(I32, I32)(table, table, np.array([1, 3, 0]))


@given(st.lists(st.integers(-1, 4), min_size=1, max_size=12))
def test_scatter_add_is_serial(index: list[int]):
    x = np.array([2.0**-k for k in range(len(index))], ml_dtypes.bfloat16)
    expected = [np.float32(1)] * 4
    for row, value in zip(index, x.astype(np.float32), strict=True):
        if 0 <= row < 4:
            total = np.float32(expected[row] + value)
            expected[row] = np.float32(total.astype(ml_dtypes.bfloat16))
    table = np.ones((4, 1), ml_dtypes.bfloat16)
    kernel = scatter_add_rows(BF16, BF16, skip=True)
    kernel(table, x.reshape(-1, 1), np.array(index))
    assert table.reshape(-1).astype(np.float32).tolist() == expected


def test_local_gather():
    x = np.arange(32 * 6, dtype=np.float32).reshape(32, 6)
    index = np.random.default_rng(0).integers(0, 5, (32, 2)).astype(np.uint16)
    out = np.zeros((32, 20, 2), np.float32)
    local_gather(2, 20)(out, x, index)
    for p in range(32):
        core = p // 16 * 16
        for i in range(20):
            start = int(index[core + i % 16, i // 16])
            assert out[p, i].tolist() == x[p, start : start + 2].tolist()
    with pytest.raises(IndexError, match="index 5 with 2 elements from there is out"):
        local_gather(2)(np.zeros((32, 64), np.float32), x, index + 1)


@pytest.mark.parametrize("columns", [1, 3, 7])
def test_local_gather_of_rows_that_do_not_end_with_a_run(columns: int):
    x = np.arange(16 * columns, dtype=np.float32).reshape(16, columns)
    index = np.zeros((16, 1), np.uint16)
    out = np.zeros((16, 32), np.float32)
    if columns == 1:
        with pytest.raises(
            IndexError, match="index 0 with 2 elements from there is out"
        ):
            local_gather(2)(out, x, index)
        return
    local_gather(2)(out, x, index)
    np.testing.assert_array_equal(out, np.tile(x[:, :2], 16))


def test_nc_n_gather():
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    index = np.array([[0, 5, 5], [1, 2, 0]], np.uint32)
    out = np.zeros((2, 3), np.float32)
    nc_n_gather(F32, F32)(out, x, index)
    assert out.tolist() == [[0.0, 5.0, 5.0], [7.0, 8.0, 6.0]]
    with pytest.raises(IndexError, match="index 6 is out of bounds"):
        nc_n_gather(F32, F32)(out, x, index + 1)
