"""Microscaling and collectives, against statements element by element."""

import math
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp
from xdsl_neuron.numerics.collectives import (
    all_gather,
    all_reduce,
    all_to_all,
    permute,
    reduce_scatter,
)
from xdsl_neuron.numerics.mx import (
    dequantize,
    matmul_mx,
    pack,
    quantize_mx,
    scale_rows,
    unpack,
)

Array = NDArray[Any]

F32, BF16, I32 = DType.FLOAT32, DType.BFLOAT16, DType.INT32
E4M3, E5M2, FP4 = (
    DType.FLOAT8_E4M3FN_X4,
    DType.FLOAT8_E5M2_X4,
    DType.FLOAT4_E2M1FN_X4,
)
NAN, INF = float("nan"), float("inf")
EMAX = {E4M3: 8, E5M2: 15, FP4: 2}
FP4_GRID = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]


@pytest.fixture(autouse=True)
def ieee_exceptions_pass() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def f32(values: Any) -> Array:
    return np.asarray(values, np.float32)


def containers(dtype: DType, *shape: int) -> Array:
    return np.zeros(shape, f"u{dtype.bytes}")


def test_pack_fp8():
    packed = pack(E4M3, f32([[1.0, -2.0, 1e9, NAN], [0.0, -0.0, 448, -INF]]))
    assert [hex(word) for word in packed.tolist()] == ["0x7f7ec038", "0xfe7e8000"]
    assert hex(int(pack(E5M2, f32([1.0, 57344, 1e9, -1.0])))) == "0xbc7b7b3c"


@pytest.mark.parametrize("sign", [1, -1])
def test_pack_fp4_rounds_to_nearest_even(sign: int):
    values = [0.25, 0.26, 0.75, 1.25, 2.5, 3.5, 5.0, 5.01, 7.0, INF, 0.0, 1.75]
    wanted = [0, 0.5, 1, 1, 2, 4, 4, 6, 6, 6, 0, 2]
    result = unpack(FP4, pack(FP4, sign * f32(values).reshape(3, 4)))
    assert result.reshape(-1).tolist() == [sign * value for value in wanted]


def test_fp4_nan_is_a_signed_zero():
    nans = np.array([0x7FC00000, 0xFFC00000, 0, 0x80000000], np.uint32)
    assert int(pack(FP4, nans.view(np.float32))) == 0x8080


@pytest.mark.parametrize("dtype", [E4M3, E5M2, FP4])
def test_unpack_inverts_pack(dtype: DType):
    every = np.arange(16 if dtype is FP4 else 256, dtype=np.uint8)
    kind = dtype.numpy_name if dtype is FP4 else dtype.nki_name.removesuffix("_x4")
    kind = "float4_e2m1fn" if dtype is FP4 else kind
    values = every.view(getattr(ml_dtypes, kind)).astype(np.float32).reshape(-1, 4)
    finite = np.where(np.isfinite(values), values, 0)
    np.testing.assert_array_equal(unpack(dtype, pack(dtype, finite)), finite)


def test_a_type_that_is_not_packed():
    with pytest.raises(ValueError, match="float32 is not a packed type"):
        quantize_mx(F32, BF16)


def test_scale_rows():
    assert scale_rows(4, 4).tolist() == [0, 1, 2, 3]
    assert scale_rows(6, 128).tolist() == [0, 1, 2, 3, 32, 33]


@pytest.mark.parametrize("dtype", [E4M3, E5M2, FP4])
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("scale_partitions", [8, 64])
def test_quantize(dtype: DType, before: bool, scale_partitions: int):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 12)) * np.exp2(rng.integers(-40, 40, (64, 12)))
    x = x.astype(ml_dtypes.bfloat16)
    x[8:16, :4] = 0
    out = containers(dtype, 64, 3)
    scale = np.full((scale_partitions, 3), 77, np.uint8)
    quantize_mx(dtype, BF16, before_0_5=before)(out, scale, x)
    values = unpack(dtype, out)
    for block in range(8):
        row = block if scale_partitions == 8 else block % 4 + 32 * (block // 4)
        for column in range(3):
            part = (slice(8 * block, 8 * block + 8), slice(4 * column, 4 * column + 4))
            elements: Array = x[part].astype(np.float64)
            peak = max(abs(v) for v in elements.reshape(-1).tolist())
            emax = EMAX[dtype] - (not before)
            power = math.frexp(peak)[1] - 1 - emax if peak else -127
            assert scale[row, column] == max(power + 127, 1 if before else 0)
            scaled = elements / 2.0 ** (int(scale[row, column]) - 127)
            check_rounding(dtype, scaled, values[part[0], column])
    if scale_partitions == 64:
        assert (scale[4:32] == 77).all()


def check_rounding(dtype: DType, scaled: Array, rounded: Array) -> None:
    if dtype is FP4:
        grid = f32(FP4_GRID)
        distance = np.abs(np.abs(scaled)[..., None] - grid)
        wanted = distance.min(axis=-1)
        assert (np.abs(np.abs(scaled) - np.abs(rounded)) == wanted).all()
        return
    kind = getattr(ml_dtypes, dtype.nki_name.removesuffix("_x4"))
    limit = 448.0 if dtype is E4M3 else 57344.0
    clipped = np.clip(scaled, -limit, limit).astype(np.float32)
    np.testing.assert_array_equal(rounded, clipped.astype(kind).astype(np.float32))


def test_quantize_of_special_values():
    x = np.zeros((8, 12), ml_dtypes.bfloat16)
    x[0, 0], x[0, 4], x[0, 8] = INF, NAN, 2.0**-130
    out, scale = containers(E4M3, 8, 3), np.zeros((1, 3), np.uint8)
    quantize_mx(E4M3, BF16)(out, scale, x)
    assert scale.tolist() == [[248, 248, 0]]
    values = unpack(E4M3, out)[0]
    assert values[0, 0] == 448.0
    assert np.isnan(values[1, 0])
    assert values[2, 0] == 2.0**-3


def test_dequantize():
    x = pack(E5M2, f32([[1.0, 2.0, -3.0, 0.0]] * 16)).reshape(16, 1)
    scale = np.array([[127 + 3], [255]], np.uint8)
    values = dequantize(E5M2, x, scale.view(ml_dtypes.float8_e8m0fnu))
    assert values[:8].tolist() == [[[8.0, 16.0, -24.0, 0.0]]] * 8
    assert np.isnan(values[8:]).all()


@pytest.mark.parametrize(("left", "right"), [(E4M3, E4M3), (E4M3, FP4), (E5M2, FP4)])
def test_matmul(left: DType, right: DType):
    rng = np.random.default_rng(1)
    s = f32(rng.choice([-2.0, -1.0, 0.0, 1.0, 3.0], (32, 6, 4)))
    t = f32(rng.choice([-2.0, -1.0, 0.0, 1.0, 3.0], (32, 10, 4)))
    s_scale = rng.integers(126, 129, (4, 6)).astype(np.uint8)
    t_scale = rng.integers(126, 129, (4, 10)).astype(np.uint8)
    out = np.zeros((6, 10), np.float32)
    kernel = matmul_mx(F32, left, right)
    operands = (pack(left, s), pack(right, t), s_scale, t_scale)
    kernel(out, *operands)
    s = s * np.repeat(2.0 ** (s_scale - 127.0), 8, axis=0)[..., None]
    t = t * np.repeat(2.0 ** (t_scale - 127.0), 8, axis=0)[..., None]
    wanted = np.einsum("kml,knl->mn", s, t)
    np.testing.assert_array_equal(out, wanted)
    kernel(out, *operands, True)
    np.testing.assert_array_equal(out, 2 * wanted)


def ranks(kind: Any = np.float32) -> list[Array]:
    return [np.arange(8).reshape(4, 2).astype(kind) + 10 * rank for rank in range(4)]


@pytest.mark.parametrize(
    ("op", "function"), [(AluOp.ADD, sum), (AluOp.MAX, max), (AluOp.MIN, min)]
)
def test_all_reduce_in_place(op: AluOp, function: Any):
    arrays = ranks()
    wanted = [function([rank.flat[i] for rank in ranks()]) for i in range(8)]
    all_reduce(op, F32)(arrays, arrays)
    assert [array.reshape(-1).tolist() for array in arrays] == [wanted] * 4


def test_all_reduce_rounds_once():
    ins = [np.full((1, 1), 1 if r else 256, ml_dtypes.bfloat16) for r in range(4)]
    all_reduce(AluOp.ADD, BF16)(ins, ins)
    assert [float(x[0, 0]) for x in ins] == [260.0] * 4


def test_reduce_scatter():
    outs = [np.zeros((1, 2), np.int32) for _ in range(4)]
    reduce_scatter(AluOp.ADD, I32)(outs, ranks(np.int32))
    assert [out.tolist() for out in outs] == [
        [[60 + 8 * r, 64 + 8 * r]] for r in range(4)
    ]


@pytest.mark.parametrize(("axis", "shape"), [(0, (16, 2)), (1, (4, 8))])
def test_all_gather(axis: int, shape: tuple[int, ...]):
    outs = [np.zeros(shape, np.float32) for _ in range(4)]
    all_gather(axis)(outs, ranks())
    whole = np.concatenate(ranks(), axis)
    assert all(out.tolist() == whole.tolist() for out in outs)


def test_all_to_all_in_place():
    arrays = ranks()
    all_to_all()(arrays, arrays)
    for rank, array in enumerate(arrays):
        assert array.tolist() == [sent[rank].tolist() for sent in ranks()]


def test_permute_in_place():
    arrays = ranks()
    permute(((0, 1), (1, 0), (2, 3)))(arrays, arrays)
    first = [array[0, 0] for array in arrays]
    assert first == [10.0, 0.0, 20.0, 20.0]
