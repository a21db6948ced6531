"""
Casts between element types, as kernels that write strided arrays in place.

The rule (design.md 7, nki.md 5.3): equal types copy raw bits; every other cast goes
through fp32, rounds to nearest even, then saturates for integers and fp8, overflows to
inf for bf16, fp16 and tf32. NaN becomes 0 in an integer. So integers above 2^24 lose
bits, between integer types too. `RULES` has the details.

Right for every shape and all strides, and where `out` is the very view that is read.
No cast raises a floating-point warning, whatever the caller's `np.errstate`.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

import ml_dtypes
import numpy as np

from ..dtypes import DType
from .kernel import Array, Kernel
from .rules import Rule

# convert(x) -> result, an array of another type with the values of `x`.
Convert: TypeAlias = Callable[[Array], Array]

_FLOAT32: Final = np.dtype(np.float32)
_HALVES: Final = (DType.BFLOAT16, DType.FLOAT16)


@cache
def storage(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype of arrays of this type; it has `dtype.bytes` bytes."""
    return np.dtype(getattr(ml_dtypes, dtype.numpy_name, dtype.numpy_name))


@cache
def copy(dst: DType, src: DType) -> Kernel:
    """
    The kernel `(out, x)` that casts `x` of type `src` into `out` of type `dst`.

    `x` has the shape of `out` or broadcasts to it. `ValueError` where a packed type
    meets another one.
    """
    if dst in _HALVES and storage(src) == _FLOAT32:
        return _assign_quietly
    prepare = _prepare(dst, src)
    if prepare is None:
        return _assign

    def kernel(out: Array, x: Array) -> None:
        out[...] = prepare(x)

    return kernel


@cache
def copy_through_float32(dtype: DType) -> Kernel:
    """The kernel `(out, x)` of a copy that casts to fp32 and back (nki.md 5.2)."""
    if dtype.is_packed:
        return _assign
    there, back = to_float32(dtype), from_float32(dtype)

    def kernel(out: Array, x: Array) -> None:
        out[...] = back(there(x))

    return kernel


@cache
def to_float32(src: DType) -> Convert:
    """The function from an array of `src` to fp32: itself for fp32 and tf32."""
    if storage(src) == _FLOAT32:
        return _same
    return _converter(DType.FLOAT32, src)


@cache
def from_float32(dst: DType) -> Convert:
    """The function from an fp32 array to `dst`: itself for fp32."""
    return _converter(dst, DType.FLOAT32)


def cast(x: Array, src: DType, dst: DType) -> Array:
    """A new array of type `dst` with the values of `x`; `x` itself for equal types."""
    return _converter(dst, src)(x)


@cache
def _converter(dst: DType, src: DType) -> Convert:
    if dst is src:
        return _same
    prepare, dtype = _prepare(dst, src), storage(dst)
    if prepare is None:
        return lambda x: x.astype(dtype, copy=False)
    return lambda x: np.asarray(prepare(x), dtype)


def _assign(out: Array, x: Array) -> None:
    out[...] = x


def _assign_quietly(out: Array, x: Array) -> None:
    # fp16 overflows; both halves meet signalling NaNs.
    with np.errstate(all="ignore"):
        out[...] = x


def _same(x: Array) -> Array:
    return x


def _prepare(dst: DType, src: DType) -> Convert | None:
    """
    What to do to an array of `src` so that NumPy's assignment to `dst` is the cast.

    None where the assignment alone is. Measured on 128 x 512: ml_dtypes' bf16 casts (7
    and 40 us) beat every sequence of integer ufuncs; its fp8 casts (450 and 600 us) and
    NumPy's from fp16 (155 us) lose to a table (65 and 90 us).
    """
    if dst is src:
        return None
    if dst.is_packed or src.is_packed:
        raise ValueError(
            f"cannot cast {src.nki_name} to {dst.nki_name}: a packed type is copied "
            "to the same type only"
        )
    if _assignment_casts(dst, src):
        return None
    if src.bytes <= 2 and (_is_slow(dst) or _is_slow(src)):
        return _look_up(_table(dst, src))
    narrow = _narrow(dst)
    if storage(src) == _FLOAT32:
        return narrow
    return lambda x: narrow(x.astype(_FLOAT32))


def _is_slow(dtype: DType) -> bool:
    """Whether NumPy's and ml_dtypes' casts of it are slow, or are not the cast."""
    return not (dtype.is_float or dtype.is_integer) or (
        dtype.is_fp8 or dtype is DType.FLOAT16
    )


def _assignment_casts(dst: DType, src: DType) -> bool:
    """Whether NumPy's plain assignment is the cast, and as fast as any."""
    if dst is DType.FLOAT32:
        return not _is_slow(src)
    if dst is DType.TFLOAT32:
        return src in (DType.BFLOAT16, DType.UINT8, DType.INT8)
    if not (dst.is_integer and src.is_integer and src.bytes <= 2):
        return False
    have, want = np.iinfo(storage(src)), np.iinfo(storage(dst))
    return want.min <= have.min and have.max <= want.max


def _narrow(dst: DType) -> Convert:
    """The function from fp32 to what assigns to `dst`, any type but fp32."""
    if dst.is_fp8:
        return _narrow_by_odd(_table(dst, DType.BFLOAT16))
    if dst.is_integer:
        return _narrow_to_integer(storage(dst))
    if dst is DType.FLOAT8_E8M0FNU:
        to_byte = from_float32(DType.UINT8)
        return lambda x: to_byte(x).view(storage(dst))
    if dst in _HALVES:
        return _narrow_to_half(storage(dst))
    return _narrow_to_tfloat32


def _look_up(table: Array) -> Convert:
    """Reads a value per bit pattern: any cast of a type of one or two bytes."""
    index = np.uint8 if table.size == 256 else np.uint16

    def prepare(x: Array) -> Array:
        return table.take(x.view(index), mode="clip")

    return prepare


def _narrow_by_odd(table: Array) -> Convert:
    """
    Round fp32 to odd in bf16, then read the cast of that bf16.

    Round to odd (truncate, and set the last bit where bits were lost) to 8 bits of
    precision keeps the second rounding right for types of up to 6 bits; fp8 has 5.
    """

    def prepare(x: Array) -> Array:
        bits = x.view(np.uint32)
        odd = np.bitwise_and(bits, 0xFFFF)
        odd += 0xFFFF  # carries into bit 16 where a lost bit is set
        odd |= bits
        odd >>= 16
        return table.take(odd, mode="clip")

    return prepare


def _narrow_to_integer(dtype: np.dtype[Any]) -> Convert:
    limits = np.iinfo(dtype)
    low = np.float32(limits.min)
    # The largest fp32 that the type holds: the maximum itself up to 16 bits.
    high = np.float32(limits.max)
    if int(high) > limits.max:
        high = np.nextafter(high, np.float32(0))

    def prepare(x: Array) -> Array:
        # Two reductions cost half of what clipping does; a NaN fails both.
        least = np.minimum.reduce(x, axis=None, initial=0)
        most = np.maximum.reduce(x, axis=None, initial=0)
        if least >= low and most <= high:
            return np.rint(x)
        rounded = np.rint(x) if most == most else _round_and_zero_nans(x)
        bounded = np.clip(rounded, low, high)
        if int(high) == limits.max or most <= high:
            return bounded
        return np.where(rounded > high, dtype.type(limits.max), bounded.astype(dtype))

    return prepare


def _round_and_zero_nans(x: Array) -> Array:
    with np.errstate(invalid="ignore"):
        rounded = np.rint(x)
    return np.where(np.isnan(rounded), np.float32(0), rounded)


def _narrow_to_half(dtype: np.dtype[Any]) -> Convert:
    def prepare(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return x.astype(dtype)

    return prepare


def _narrow_to_tfloat32(x: Array) -> Array:
    """Round to 10 fraction bits (1-8-10, nki.md 5.1), in the fp32 encoding."""
    bits = x.view(np.uint32)
    rounded = np.right_shift(bits, 13, out=np.empty_like(bits))
    rounded &= 1
    rounded += 0xFFF
    rounded += bits
    rounded &= 0xFFFFE000
    result = rounded.view(np.float32)
    # Rounding can carry a NaN's bits out of the NaN range.
    most = np.maximum.reduce(x, axis=None, initial=0)
    if most != most:
        np.copyto(result, np.float32(np.nan), where=np.isnan(x))
    return result


@cache
def _table(dst: DType, src: DType) -> Array:
    """The cast of every bit pattern of `src`, a type of one or two bytes."""
    values = _all_values(src)
    if dst.is_fp8:
        reached = _all_values(dst)
        limit = reached[np.isfinite(reached)].max()
        with np.errstate(all="ignore"):
            table = np.clip(values, -limit, limit).astype(storage(dst))
    else:
        table = from_float32(dst)(values)
    table.flags.writeable = False
    return table


def _all_values(dtype: DType) -> Array:
    """The fp32 value of every bit pattern of a type of one or two bytes."""
    patterns = np.arange(1 << (8 * dtype.bytes), dtype=f"uint{8 * dtype.bytes}")
    if dtype is not DType.FLOAT8_E8M0FNU:
        patterns = patterns.view(storage(dtype))
    with np.errstate(all="ignore"):
        return patterns.astype(_FLOAT32)


RULES: Final = (
    Rule(
        "cast",
        "through fp32, round to nearest even, then saturate in integers and fp8; "
        "bf16 and fp16 overflow to inf; equal types copy raw bits",
        "documented",
        "nki.md 5.3, bir.md 10.3",
    ),
    Rule(
        "copy on the scalar engine of trn1",
        "goes through fp32 even between equal types, so 32-bit integers lose bits",
        "documented",
        "nki.md 5.2",
    ),
    Rule("cast of NaN to an integer", "0", "our choice", "nki.md 5.3"),
    Rule(
        "cast of inf to fp8",
        "saturates to the largest finite value of the type, as every other overflow",
        "our choice",
        "bir.md 10.3",
    ),
    Rule(
        "cast of NaN to a float",
        "NaN; its sign and payload are not specified (the vendor's simulator has "
        "canonical ones)",
        "our choice",
        "bir.md 10.3",
    ),
    Rule(
        "cast between integers",
        "through fp32, so it saturates and values above 2^24 lose bits",
        "inferred",
        "nki.md 5.2, 4.4",
    ),
    Rule(
        "tfloat32",
        "10 fraction bits in the fp32 encoding; a cast to it rounds and overflows to "
        "inf, reading it does not round again",
        "our choice",
        "nki.md 5.1, bir.md 10.3",
    ),
    Rule(
        "float8_e8m0fnu",
        "a cast reads and writes the raw byte as uint8",
        "documented",
        "bir.md 10.3",
    ),
    Rule(
        "packed types",
        "cast to nothing but themselves",
        "documented",
        "nki.md 5.1",
    ),
)
