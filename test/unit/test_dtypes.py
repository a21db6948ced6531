"""The element types: each row, the lookups and the promotion rules."""

import itertools
import os
import pickle
import subprocess
import sys

import pytest

from xdsl_neuron.dtypes import DType, promote, promote_scalar

# BIR name, container bytes, wire tag, lanes: bir.md 1.3 and dma.md 1.12, by ordinal.
BIR_ROWS = [
    ("uint8", 1, 3, 1),
    ("int8", 1, 2, 1),
    ("float4_e2m1fn_x4", 2, 16, 4),
    ("float8e3", 1, 13, 1),
    ("float8e4", 1, 14, 1),
    ("float8_e4m3fn", 1, 14, 1),
    ("float8_e8m0fnu", 1, 3, 1),
    ("float8e5", 1, 15, 1),
    ("float8_e4m3fn_x4", 4, 14, 4),
    ("float8_e5m2_x4", 4, 15, 4),
    ("uint16", 2, 5, 1),
    ("int16", 2, 4, 1),
    ("bfloat16", 2, 6, 1),
    ("float16", 2, 7, 1),
    ("uint32", 4, 9, 1),
    ("int32", 4, 8, 1),
    ("float32", 4, 10, 1),
    ("float32r", 4, 11, 1),
    ("uint64", 8, 1, 1),
    ("int64", 8, 12, 1),
]
IR_NAMES = (
    "u8 i8 f4e2m1fn_x4 f8e3m4 f8e4m3 f8e4m3fn f8e8m0fnu f8e5m2 f8e4m3fn_x4 f8e5m2_x4 "
    "u16 i16 bf16 f16 u32 i32 f32 tf32 u64 i64"
).split()
NKI_NAMES = (
    "uint8 int8 float4_e2m1fn_x4 float8_e3m4 float8_e4m3 float8_e4m3fn float8_e8m0fnu "
    "float8_e5m2 float8_e4m3fn_x4 float8_e5m2_x4 uint16 int16 bfloat16 float16 uint32 "
    "int32 float32 tfloat32 uint64 int64"
).split()
NUMPY_NAMES = (
    "uint8 int8 uint16 float8_e3m4 float8_e4m3 float8_e4m3fn float8_e8m0fnu "
    "float8_e5m2 uint32 uint32 uint16 int16 bfloat16 float16 uint32 int32 float32 "
    "float32 uint64 int64"
).split()

FP8 = {
    DType.FLOAT8_E3M4,
    DType.FLOAT8_E4M3,
    DType.FLOAT8_E4M3FN,
    DType.FLOAT8_E5M2,
}
FLOATS = FP8 | {DType.BFLOAT16, DType.FLOAT16, DType.FLOAT32, DType.TFLOAT32}
SIGNED = {DType.INT8, DType.INT16, DType.INT32, DType.INT64}
UNSIGNED = {DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64}
PACKED = {DType.FLOAT4_E2M1FN_X4, DType.FLOAT8_E4M3FN_X4, DType.FLOAT8_E5M2_X4}
ARITHMETIC = FLOATS | SIGNED | UNSIGNED


def ordinal(dtype: DType) -> int:
    return dtype.ordinal


@pytest.mark.parametrize("dtype", DType, ids=str)
def test_row(dtype: DType):
    n = dtype.ordinal
    assert (dtype.bir_name, dtype.bytes, dtype.wire_tag, dtype.lanes) == BIR_ROWS[n]
    assert dtype.ir_name == IR_NAMES[n]
    assert dtype.value == IR_NAMES[n]
    assert dtype.nki_name == NKI_NAMES[n]
    assert dtype.name == NKI_NAMES[n].upper()
    assert dtype.numpy_name == NUMPY_NAMES[n]


def test_ordinals_are_dense():
    assert [dtype.ordinal for dtype in DType] == list(range(20))


@pytest.mark.parametrize("dtype", DType, ids=str)
def test_classes(dtype: DType):
    assert dtype.is_float == (dtype in FLOATS)
    assert dtype.is_integer == (dtype in SIGNED | UNSIGNED)
    assert dtype.is_packed == (dtype in PACKED)
    assert dtype.is_fp8 == (dtype in FP8)
    assert dtype.is_signed == (dtype in FLOATS | SIGNED | PACKED)


@pytest.mark.parametrize("dtype", DType, ids=str)
def test_lookups(dtype: DType):
    assert DType.from_ir(dtype.ir_name) is dtype
    assert DType.from_bir(dtype.bir_name) is dtype
    assert DType.from_nki(dtype.nki_name) is dtype
    assert DType.from_ordinal(dtype.ordinal) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype


def test_bool_is_uint8():
    assert DType.from_nki("bool") is DType.UINT8
    assert DType.from_nki("bool_") is DType.UINT8


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match=r"element type 'float32': .* f32, tf32, u64"):
        DType.from_ir("float32")
    with pytest.raises(ValueError, match=r"BIR dtype 'f32': .* float32, float32r"):
        DType.from_bir("f32")
    with pytest.raises(ValueError, match=r"NKI dtype 'f32': .* int64, bool_, bool"):
        DType.from_nki("f32")


@pytest.mark.parametrize("number", [-1, 20])
def test_unknown_ordinal(number: int):
    with pytest.raises(ValueError, match=f"Unknown dtype {number}: .* 0 to 19"):
        DType.from_ordinal(number)


# nki.md 5.1, then bir.md 1.3 for what it leaves open.
PROMOTIONS = {
    ("float32", "tfloat32"): "float32",
    ("float32", "bfloat16"): "float32",
    ("float32", "float16"): "float32",
    ("tfloat32", "bfloat16"): "tfloat32",
    ("tfloat32", "float16"): "tfloat32",
    ("float16", "bfloat16"): "float32",
    ("float8_e4m3", "float16"): "float16",
    ("float8_e5m2", "float16"): "float16",
    ("float8_e4m3", "bfloat16"): "bfloat16",
    ("float8_e3m4", "bfloat16"): "bfloat16",
    ("float8_e4m3fn", "float32"): "float32",
    ("float8_e4m3", "float8_e5m2"): "bfloat16",
    ("float8_e4m3", "float8_e4m3fn"): "float8_e4m3",
    ("float8_e4m3fn", "float8_e5m2"): "float8_e4m3fn",
    ("int8", "int32"): "int32",
    ("uint8", "uint16"): "uint16",
    ("int8", "uint8"): "int16",
    ("int16", "uint8"): "int16",
    ("int8", "uint16"): "int32",
    ("int16", "uint16"): "int32",
    ("int32", "uint16"): "int32",
    ("int32", "uint32"): "float32",
    ("int8", "uint32"): "float32",
    ("int64", "uint32"): "int64",
    ("int64", "uint64"): "float32",
    ("int8", "uint64"): "float32",
    ("uint32", "uint64"): "uint64",
}


@pytest.mark.parametrize(("pair", "result"), PROMOTIONS.items(), ids=str)
def test_promotion(pair: tuple[str, str], result: str):
    a, b = map(DType.from_nki, pair)
    assert promote(a, b) is DType.from_nki(result)
    assert promote(b, a) is DType.from_nki(result)


@pytest.mark.parametrize("dtype", sorted(ARITHMETIC, key=ordinal), ids=str)
def test_promotion_with_itself(dtype: DType):
    assert promote(dtype, dtype) is dtype


@pytest.mark.parametrize("number", sorted(FLOATS, key=ordinal), ids=str)
@pytest.mark.parametrize("integer", sorted(SIGNED | UNSIGNED, key=ordinal), ids=str)
def test_float_with_integer_is_the_float(number: DType, integer: DType):
    assert promote(number, integer) is number
    assert promote(integer, number) is number


def refused() -> list[tuple[DType, DType]]:
    no_arithmetic = [*PACKED, DType.FLOAT8_E8M0FNU]
    pairs = [*itertools.product(no_arithmetic, DType)]
    pairs += [(DType.FLOAT8_E3M4, fp8) for fp8 in FP8 - {DType.FLOAT8_E3M4}]
    return sorted(pairs, key=lambda pair: (pair[0].ordinal, pair[1].ordinal))


@pytest.mark.parametrize(("a", "b"), refused(), ids=str)
def test_no_promotion(a: DType, b: DType):
    for x, y in ((a, b), (b, a)):
        with pytest.raises(ValueError, match="No available") as error:
            promote(x, y)
        assert str(error.value) == (
            "No available implicit dtype promotion path for input dtypes "
            f"{x.nki_name} and {y.nki_name}. Use .astype(dtype) explicitly."
        )


def test_every_other_pair_promotes():
    pairs = {frozenset(pair) for pair in refused()}
    for a, b in itertools.product(DType, DType):
        if frozenset({a, b}) not in pairs:
            assert promote(a, b) is promote(b, a)


@pytest.mark.parametrize(
    ("dtype", "value", "result"),
    [
        (DType.INT8, 2, DType.INT32),
        (DType.FLOAT16, 1.2, DType.FLOAT32),
        (DType.FLOAT16, 2, DType.FLOAT16),
        (DType.INT8, True, DType.INT16),
        (DType.UINT8, True, DType.UINT8),
        (DType.INT32, 1.0, DType.FLOAT32),
        (DType.UINT32, 1, DType.FLOAT32),
        (DType.BFLOAT16, False, DType.BFLOAT16),
        (DType.FLOAT8_E4M3, 3, DType.FLOAT8_E4M3),
        (DType.TFLOAT32, 0.5, DType.FLOAT32),
        (DType.INT32, 2**40, DType.INT32),
    ],
)
def test_scalar_promotion(dtype: DType, value: float, result: DType):
    assert promote_scalar(dtype, value) is result


def test_numpy_is_not_imported():
    program = "import sys, xdsl_neuron.dtypes; assert 'numpy' not in sys.modules"
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [sys.executable, "-c", program], check=True, env={**os.environ, **path}
    )
