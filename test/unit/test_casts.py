"""
Casts against a statement of the rule in float64 and in Python integers.

The statement decodes and rounds by the formats' definitions; it uses neither the
module's tables nor ml_dtypes' casts. It is exact: every value of every type of up to 32
bits is a float64, and so is every power of two it scales by.
"""

import itertools
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from xdsl_neuron.dtypes import DType
from xdsl_neuron.numerics.casts import cast, copy, from_float32, storage, to_float32

Array = NDArray[Any]

pytestmark = pytest.mark.filterwarnings("error")


class Format(NamedTuple):
    """A float format: field widths, and whether the top exponent is inf and NaN."""

    exponent_bits: int
    fraction_bits: int
    is_ieee: bool = True
    saturates: bool = False

    @property
    def bias(self) -> int:
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def largest(self) -> float:
        if not self.is_ieee:
            return 448.0
        return (2.0 - 2.0**-self.fraction_bits) * 2.0**self.bias


FORMATS = {
    DType.FLOAT8_E3M4: Format(3, 4, saturates=True),
    DType.FLOAT8_E4M3: Format(4, 3, saturates=True),
    DType.FLOAT8_E4M3FN: Format(4, 3, is_ieee=False, saturates=True),
    DType.FLOAT8_E5M2: Format(5, 2, saturates=True),
    DType.BFLOAT16: Format(8, 7),
    DType.FLOAT16: Format(5, 10),
    DType.FLOAT32: Format(8, 23),
    DType.TFLOAT32: Format(8, 10),
}
# Stored as fp32.
ENCODINGS = FORMATS | {DType.TFLOAT32: FORMATS[DType.FLOAT32]}
LIMITS = {
    dtype: (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    if dtype.is_signed
    else (0, (1 << bits) - 1)
    for dtype in DType
    if dtype.is_integer or dtype is DType.FLOAT8_E8M0FNU
    for bits in (8 * dtype.bytes,)
}
CASTABLE = [dtype for dtype in DType if not dtype.is_packed]
PACKED = [dtype for dtype in DType if dtype.is_packed]


def patterns(x: Array) -> Array:
    return x.view(f"uint{8 * x.itemsize}")


def decode(x: Array, dtype: DType) -> NDArray[np.float64]:
    """The values of an array of up to 32 bits."""
    bits = patterns(x)
    if dtype not in FORMATS:
        signed = np.dtype(f"int{8 * x.itemsize}")
        return (bits.view(signed) if dtype.is_signed else bits).astype(np.float64)
    form = ENCODINGS[dtype]
    bits = bits.astype(np.int64)
    fraction = bits & ((1 << form.fraction_bits) - 1)
    top = (1 << form.exponent_bits) - 1
    exponent = (bits >> form.fraction_bits) & top
    is_normal = exponent > 0
    significand = fraction + (is_normal << form.fraction_bits)
    scale = np.where(is_normal, exponent, 1) - form.bias - form.fraction_bits
    value = np.ldexp(significand.astype(np.float64), scale)
    if form.is_ieee:
        special = np.where(fraction == 0, np.inf, np.nan)
        value = np.where(exponent == top, special, value)
    else:
        last = (exponent == top) & (fraction == (1 << form.fraction_bits) - 1)
        value = np.where(last, np.nan, value)
    return np.copysign(value, np.where(bits >> (8 * x.itemsize - 1), -1.0, 1.0))


def rounded(values: NDArray[np.float64], form: Format) -> NDArray[np.float64]:
    """Values on the format's grid, to nearest even, with its rule of overflow."""
    _, exponent = np.frexp(values)
    exponent = np.maximum(exponent - 1, 1 - form.bias)
    quantum = np.ldexp(1.0, exponent - form.fraction_bits)
    result = np.where(np.isfinite(values), np.rint(values / quantum) * quantum, values)
    limit = form.largest if form.saturates else np.inf
    return np.where(np.abs(result) > form.largest, np.copysign(limit, values), result)


def to_integers(values: NDArray[np.float64], dtype: DType) -> list[int]:
    low, high = LIMITS[dtype]

    @cache
    def convert(value: float) -> int:
        if value != value:
            return 0
        if abs(value) == float("inf"):
            return high if value > 0 else low
        return min(max(round(Fraction(value)), low), high)

    return [convert(value) for value in values.tolist()]


def nearest_float32(value: int) -> float:
    """An integer rounded to 24 significant bits, to nearest even."""
    shift = max(abs(value).bit_length() - 24, 0)
    return float(round(Fraction(value, 1 << shift)) << shift)


def float32_values(x: Array, src: DType) -> NDArray[np.float64]:
    """The first step of a cast: the fp32 value of each element."""
    if src.is_integer and src.bytes >= 4:
        return np.array([nearest_float32(int(value)) for value in x])
    return decode(x, src)


def assert_cast(result: Array, x: Array, src: DType, dst: DType):
    """`result` of type `dst` holds the casts of `x`; a NaN is compared as a NaN."""
    assert result.dtype == storage(dst)
    assert result.shape == x.shape
    if src is dst:
        assert result.tobytes() == x.tobytes()
        return
    values = float32_values(x, src)
    if dst in LIMITS:
        got = patterns(result)
        if dst.is_signed:
            got = got.view(f"int{8 * dst.bytes}")
        assert got.tolist() == to_integers(values, dst)
        return
    wanted, got = rounded(values, FORMATS[dst]), decode(result, dst)
    np.testing.assert_array_equal(got, wanted)
    number = wanted == wanted
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(wanted[number]))


def extreme_floats() -> Array:
    """fp32 bit patterns around every bound of every type, and the special ones."""
    tiny = [2.0**-k for k in (1, 2, 6, 9, 10, 14, 16, 17, 24, 25, 126, 133, 149)]
    bounds = [bound for limits in LIMITS.values() for bound in limits]
    largest = [form.largest for form in FORMATS.values()]
    steps = [
        *(0.0, 0.5, 1.5, 2.5, 126.5, 127.5, 254.5, 32766.5, 65534.5),
        *(244.0, 247.9, 248.0, 464.0, 480.0, 15.75, 16.0, 61440.0, 65519.0, 65520.0),
        *(2.0**24 - 1, 2.0**24, 2.0**31, 2.0**32, 2.0**63, 2.0**64, 1e30),
    ]
    with np.errstate(over="ignore"):
        values = np.array([*tiny, *bounds, *largest, *steps, np.inf], np.float64)
        values = values.astype(np.float32)
    values = values[np.isfinite(values) | (values == np.inf)]
    bits = patterns(values).astype(np.int64)
    near = (bits[:, None] + np.arange(-2, 3)).ravel()
    near = near[(near >= 0) & (near <= 0x7F800000)]
    ties = (bits[:, None] + (1 << np.arange(10, 22))[None]).ravel()
    nans = np.array([0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0x7F801FFF])
    every = np.unique(np.concatenate((near, ties[ties < 0x7F800000], nans)))
    return np.concatenate((every, every | 0x80000000)).astype(np.uint32)


def samples(src: DType) -> Array:
    """All patterns of up to 16 bits; the extremes and some random ones beyond."""
    bits = 8 * src.bytes
    if bits <= 16:
        return np.arange(1 << bits, dtype=f"uint{bits}").view(storage(src))
    random = np.random.default_rng(src.ordinal)
    if src.is_float:
        some = random.integers(0, 1 << 32, 2000, np.uint32)
        result = np.concatenate((extreme_floats(), some))
        if src is DType.TFLOAT32:
            result &= ~np.uint32(0x1FFF)
        return result.view(np.float32)
    low, high = LIMITS[src]
    every = {low, high, 0, *range(-3, 4)}
    for power, step in itertools.product(range(7, 65), (-129, -1, 0, 1, 3, 129)):
        every |= {(1 << power) + step, -(1 << power) + step}
    every |= set(random.integers(low, high, 500, storage(src), endpoint=True).tolist())
    return np.array(sorted(v for v in every if low <= v <= high), storage(src))


@pytest.mark.parametrize("dst", CASTABLE, ids=str)
@pytest.mark.parametrize("src", CASTABLE, ids=str)
def test_every_pair(src: DType, dst: DType):
    x = samples(src)
    out = np.empty(x.shape, storage(dst))
    copy(dst, src)(out, x)
    assert_cast(out, x, src, dst)
    assert cast(x, src, dst).tobytes() == out.tobytes()


@pytest.mark.parametrize("src", CASTABLE, ids=str)
def test_to_and_from_float32(src: DType):
    x = samples(src)
    wide = to_float32(src)(x)
    assert wide.dtype == np.float32
    if src.numpy_name == "float32":
        assert wide is x
    assert wide.tobytes() == cast(x, src, DType.FLOAT32).tobytes()
    narrow = from_float32(src)(wide)
    assert narrow.tobytes() == cast(wide, DType.FLOAT32, src).tobytes()


@given(st.lists(st.integers(0, (1 << 32) - 1), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_random_float32(bits: list[int]):
    x = np.array(bits, np.uint32).view(np.float32)
    for dst in CASTABLE:
        assert_cast(cast(x, DType.FLOAT32, dst), x, DType.FLOAT32, dst)


@given(st.integers(-(1 << 63), (1 << 63) - 1))
@settings(max_examples=60, deadline=None)
def test_random_int64(value: int):
    x = np.array([value])
    for dst in CASTABLE:
        assert_cast(cast(x, DType.INT64, dst), x, DType.INT64, dst)


@pytest.mark.parametrize("dtype", PACKED, ids=str)
def test_packed(dtype: DType):
    x = np.arange(-4, 4).astype(storage(dtype))
    out = np.zeros_like(x)
    copy(dtype, dtype)(out, x)
    assert out.tolist() == x.tolist()
    assert cast(x, dtype, dtype) is x
    for other in set(DType) - {dtype}:
        for dst, src in ((other, dtype), (dtype, other)):
            with pytest.raises(ValueError, match="is copied to the same type only"):
                copy(dst, src)


@pytest.mark.parametrize("dtype", DType, ids=str)
def test_storage(dtype: DType):
    assert storage(dtype).itemsize == dtype.bytes
    assert storage(dtype).name == dtype.numpy_name


FLOAT32_TO = [
    (DType.INT32, 2.0**31, 2147483647),
    (DType.INT32, -(2.0**31), -2147483648),
    (DType.INT32, 2147483520.0, 2147483520),
    (DType.UINT32, 2.0**32, 4294967295),
    (DType.UINT32, -1.0, 0),
    (DType.INT64, 2.0**63, 9223372036854775807),
    (DType.INT64, -(2.0**64), -9223372036854775808),
    (DType.UINT64, 2.0**64, 18446744073709551615),
    (DType.INT8, 2.5, 2),
    (DType.INT8, -128.5, -128),
    (DType.UINT8, float("nan"), 0),
    (DType.INT16, float("inf"), 32767),
    (DType.FLOAT8_E8M0FNU, 127.0, 0x7F),
    (DType.FLOAT8_E8M0FNU, 300.0, 0xFF),
    (DType.FLOAT8_E4M3, 1e9, 0x77),
    (DType.FLOAT8_E4M3, float("-inf"), 0xF7),
    (DType.FLOAT8_E4M3FN, 1e9, 0x7E),
    (DType.FLOAT8_E4M3FN, float("nan"), 0x7F),
    (DType.FLOAT8_E5M2, float("inf"), 0x7B),
    (DType.FLOAT8_E3M4, 1e9, 0x6F),
    (DType.BFLOAT16, 3.4e38, 0x7F80),
    (DType.FLOAT16, 65520.0, 0x7C00),
    (DType.FLOAT16, 65519.0, 0x7BFF),
    (DType.TFLOAT32, 1.0 + 2.0**-11, 0x3F800000),
    (DType.TFLOAT32, 1.0 + 3 * 2.0**-11, 0x3F804000),
    (DType.TFLOAT32, 3.4028235e38, 0x7F800000),
]


@pytest.mark.parametrize(("dst", "value", "wanted"), FLOAT32_TO)
def test_known_casts(dst: DType, value: float, wanted: int):
    result = cast(np.array([value], np.float32), DType.FLOAT32, dst)
    assert (result if dst.is_integer else patterns(result)).tolist() == [wanted]


def test_integers_go_through_float32():
    x = np.array([(1 << 24) + 1, 300, -5], np.int32)
    assert cast(x, DType.INT32, DType.INT64).tolist() == [1 << 24, 300, -5]
    assert cast(x, DType.INT32, DType.UINT8).tolist() == [255, 255, 0]


BY_WIDTH = [
    (dst, src)
    for dst, src in itertools.product(CASTABLE, CASTABLE)
    if dst.bytes == src.bytes
]


@pytest.mark.parametrize(("dst", "src"), BY_WIDTH, ids=str)
def test_in_place(dst: DType, src: DType):
    x = np.resize(samples(src), (100, 7))
    wanted = cast(x, src, dst).tobytes()
    buffer = x.copy()
    copy(dst, src)(buffer.view(storage(dst)), buffer)
    assert buffer.tobytes() == wanted


@pytest.mark.parametrize("dst", CASTABLE, ids=str)
@pytest.mark.parametrize("src", CASTABLE, ids=str)
def test_layouts(src: DType, dst: DType):
    kernel = copy(dst, src)
    x = np.resize(samples(src)[::-1], (6, 8))
    wanted = cast(x, src, dst)
    for view, part in (
        (x[:, ::2], wanted[:, ::2]),
        (x.T, wanted.T),
        (x[::-1, ::-3], wanted[::-1, ::-3]),
        (np.broadcast_to(x[:, :1], x.shape), np.repeat(wanted[:, :1], 8, 1)),
        (x[:0], wanted[:0]),
        (x[2, 3], wanted[2, 3]),
    ):
        view, part = np.asarray(view), np.asarray(part)
        backing = np.zeros((*view.shape, 3), storage(dst))
        kernel(backing[..., 1], view)
        assert backing[..., 1].tobytes() == part.tobytes()
        assert not patterns(backing)[..., ::2].any()
        assert cast(view, src, dst).tobytes() == part.tobytes()
    out = np.zeros(x.shape, storage(dst))
    kernel(out, x[:, :1])
    assert out.tobytes() == np.repeat(wanted[:, :1], 8, 1).tobytes()
