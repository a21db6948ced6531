"""Element types of the oracle: casts, interesting values, and how results compare."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Random = np.random.Generator

F32: Final = np.float32

STORAGE: Final[dict[str, Any]] = {
    "u8": np.uint8,
    "i8": np.int8,
    "u16": np.uint16,
    "i16": np.int16,
    "u32": np.uint32,
    "i32": np.int32,
    "u64": np.uint64,
    "i64": np.int64,
    "f32": np.float32,
    "tf32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f8e3m4": ml_dtypes.float8_e3m4,
    "f8e4m3": ml_dtypes.float8_e4m3,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "f4e2m1fn_x4": np.uint16,
    "f8e4m3fn_x4": np.uint32,
    "f8e5m2_x4": np.uint32,
}
"""What NumPy holds a type in (bir.md 1.3)."""

UNSIGNED: Final = ("u8", "u16", "u32")
INTEGERS: Final = ("u8", "i8", "u16", "i16", "u32", "i32")
WIDE_INTEGERS: Final = ("u64", "i64")
FP8: Final = ("f8e3m4", "f8e4m3", "f8e4m3fn", "f8e5m2")
FLOATS: Final = ("f32", "bf16", "f16", "tf32", *FP8)
NUMBERS: Final = (*FLOATS, *INTEGERS)
PACKED: Final = ("f4e2m1fn_x4", "f8e4m3fn_x4", "f8e5m2_x4")

LARGEST: Final = {
    "f8e3m4": 15.5,
    "f8e4m3": 240.0,
    "f8e4m3fn": 448.0,
    "f8e5m2": 57344.0,
}
"""What saturates (bir.md 10.3, nki.md 5.1)."""

FRACTION_BITS: Final = {
    "f32": 23,
    "tf32": 10,
    "bf16": 7,
    "f16": 10,
    "f8e3m4": 4,
    "f8e4m3": 3,
    "f8e4m3fn": 3,
    "f8e5m2": 2,
}
SMALLEST: Final = {
    "f32": 2.0**-149,
    "tf32": 2.0**-136,
    "bf16": 2.0**-133,
    "f16": 2.0**-24,
    "f8e3m4": 2.0**-6,
    "f8e4m3": 2.0**-9,
    "f8e4m3fn": 2.0**-9,
    "f8e5m2": 2.0**-16,
}
"""Distance of the subnormals."""


def any_of(where: Array) -> Array:
    """Which rows have a place, [P, 1]."""
    return np.asarray(where.any(axis=1, keepdims=True))


def is_integer(dtype: str) -> bool:
    """Whether a type is an integer."""
    return dtype[0] in "ui"


def bits_of(dtype: str) -> int:
    """Its width."""
    return np.dtype(STORAGE[dtype]).itemsize * 8


def tf32(x: Array) -> Array:
    """fp32 with 10 fraction bits, rounded to nearest even (nki.md 5.1)."""
    word = x.astype(F32).view(np.uint32).astype(np.uint64)
    rounded = word + 0xFFF + ((word >> np.uint64(13)) & np.uint64(1))
    found = (rounded & np.uint64(0xFFFFE000)).astype(np.uint32).view(F32)
    return np.where(np.isfinite(x), found, x.astype(F32))


def wide(x: Array, dtype: str) -> Array:
    """Stored values as fp32, which every arithmetic instruction reads (nki.md 5.2)."""
    if dtype == "f8e8m0fnu":
        x = x.view(np.uint8)  # a cast sees the raw byte (bir.md 10.3)
    return x.astype(F32)


def to_integer(x: Array, dtype: str) -> Array:
    """Nearest even, then saturation; NaN is 0 (nki.md 5.3; our choice)."""
    limits = np.iinfo(STORAGE[dtype])
    rounded = np.rint(np.where(np.isnan(x), 0.0, x.astype(np.float64)))
    # float64 holds every fp32 and 2^64, so that these compares are exact.
    low, high = rounded <= float(limits.min), rounded >= float(limits.max)
    inside = np.where(low | high, 0.0, rounded).astype(STORAGE[dtype])
    inside[high] = limits.max
    inside[low] = limits.min
    return inside


def narrow(x: Array, dtype: str) -> Array:
    """fp32 values cast to a type, as it is stored."""
    with np.errstate(all="ignore"):
        return _narrow(np.asarray(x).astype(F32), dtype)


def _narrow(x: Array, dtype: str) -> Array:
    if dtype == "f8e8m0fnu":
        return to_integer(x, "u8").view(STORAGE[dtype])
    if is_integer(dtype):
        return to_integer(x, dtype)
    if dtype == "tf32":
        return tf32(x)
    if dtype in LARGEST:
        x = np.clip(x, -LARGEST[dtype], LARGEST[dtype])
    return x.astype(STORAGE[dtype])


def cast(x: Array, source: str, target: str) -> Array:
    """Stored values as another type's; equal types keep every bit (nki.md 5.3)."""
    return x.copy() if source == target else narrow(wide(x, source), target)


def immediate(value: float) -> str:
    """A number as the text form spells it."""
    if isinstance(value, int):
        return str(value)
    if np.isnan(value):
        return "nan"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    found = repr(float(value))
    return found if "." in found or "e" not in found else found.replace("e", ".0e")


SPECIAL: Final = (
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    2.5,
    2.0**-149,
    -(2.0**-140),
    2.0**-126,
    3.4028235e38,
    -3.4028235e38,
    2.0**24 + 1,
    2.0**31,
    -(2.0**31) - 1,
    255.5,
    65504.0,
    448.0,
    464.0,
    240.0,
    57344.0,
)


def anything(random: Random, shape: Sequence[int], dtype: str) -> Array:
    """Values of a type with all of its extremes."""
    kind, count = STORAGE[dtype], int(np.prod(shape))
    width = bits_of(dtype)
    # Every pattern: NaNs of all payloads, subnormals and extremes of integers.
    raw = random.integers(0, 1 << width, count, dtype=np.uint64, endpoint=False)
    patterns = raw.astype(f"u{width // 8}").view(kind)
    if dtype == "tf32":
        patterns = tf32(patterns)
    small: Array = random.standard_normal(count) * int(random.choice([1, 3, 40]))
    if dtype in PACKED or dtype == "f8e8m0fnu":
        return patterns.reshape(shape)
    if is_integer(dtype):
        limits = np.iinfo(kind)
        edges = np.array(
            [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1], kind
        )
        ordinary = random.integers(0, 9, count).astype(kind)
    else:
        edges = narrow(np.array(SPECIAL), dtype)
        ordinary = narrow(
            np.where(random.random(count) < 0.4, np.rint(small), small), dtype
        )
    choice = random.integers(0, 8, count)
    found = np.where(choice == 0, random.choice(edges, count), ordinary)
    return np.where(choice == 1, patterns, found).astype(kind).reshape(shape)


def ordinary(random: Random, shape: Sequence[int], dtype: str) -> Array:
    """Finite values of ordinary size."""
    if is_integer(dtype):
        low = 0 if dtype.startswith("u") else -20
        return random.integers(low, 21, shape).astype(STORAGE[dtype])
    return narrow(random.standard_normal(shape) * 2, dtype)


@dataclass(frozen=True)
class Result:
    """
    What an oracle says of the elements an instruction writes, as they are stored.

    `how` is "bits" (every bit), "values" (NaN is NaN, whatever its payload) or
    "numbers" (the sign of a zero is free as well).
    """

    stored: Array
    how: str = "values"


@dataclass(frozen=True)
class Near:
    """
    Values in float64, and how far a result may be off before its cast.

    `error` is absolute, one number or an array; the error of the cast is added. Where
    it is infinite a result may be anything, NaN too.
    """

    values: Array
    error: Any = 0.0


def differing(found: Array, want: "Result | Near", dtype: str) -> Array:
    """Where the found elements are not what was wanted."""
    if isinstance(want, Near):
        return _not_near(found, want, dtype)
    stored = np.asarray(want.stored)
    assert stored.dtype == found.dtype, (stored.dtype, found.dtype)
    unsigned = f"u{found.dtype.itemsize}"
    bits = found.view(unsigned) != stored.view(unsigned)
    if want.how == "bits" or is_integer(dtype) or dtype in PACKED:
        return bits
    left, right = wide(found, dtype), wide(stored, dtype)
    same = np.isnan(left) & np.isnan(right)
    if want.how == "numbers":
        same |= left == right
    return bits & ~same


def _not_near(found: Array, want: Near, dtype: str) -> Array:
    values = np.asarray(want.values, np.float64)
    anything = np.isinf(want.error)
    if is_integer(dtype):
        values = np.where(np.isnan(values), 0, values)
        limits = np.iinfo(STORAGE[dtype])
        values = np.clip(values, limits.min, limits.max)
        error = want.error + 0.5 + np.abs(values) * 2.0**-24
        return ~((np.abs(found.astype(np.float64) - values) <= error) | anything)
    error = want.error + np.abs(values) * 2.0 ** -(FRACTION_BITS[dtype] + 1)
    error = error + SMALLEST[dtype]
    if dtype in LARGEST:
        values = np.clip(values, -LARGEST[dtype], LARGEST[dtype])
    got = wide(found, dtype).astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = np.abs(got - values) <= error
    rounded = wide(narrow(values, dtype), dtype)
    equal = (got == values) | (got == rounded) | (np.isnan(got) & np.isnan(values))
    return ~(near | equal | anything)
