"""Element bit patterns, the `constant` of a Memset (bir.md 4.5), without NumPy."""

import math
import struct
from functools import cache

from xdsl_neuron.dtypes import DType

_STRUCT = {DType.FLOAT32: "f", DType.FLOAT16: "e"}
_SMALL = {  # exponent bits, mantissa bits, whether there are infinities
    DType.FLOAT8_E3M4: (3, 4, True),
    DType.FLOAT8_E4M3: (4, 3, True),
    DType.FLOAT8_E4M3FN: (4, 3, False),
    DType.FLOAT8_E5M2: (5, 2, True),
}


def encode(dtype: DType, value: float) -> int | None:
    """
    The pattern of a number as a Memset fills it: fp32, then a saturating cast.

    None for the types whose pattern is not one number's: packed ones, scales, tf32.
    """
    if dtype.is_packed:
        return 0 if value == 0 else None
    if dtype.is_integer:
        return _integer_bits(dtype, value)
    single = _single(float(value))
    if dtype in _SMALL:
        return _small_bits(dtype, single)
    if dtype is DType.BFLOAT16:
        return _bfloat_bits(single)
    if dtype not in _STRUCT:
        return None
    try:
        packed = struct.pack("<" + _STRUCT[dtype], single)
    except OverflowError:
        packed = struct.pack("<" + _STRUCT[dtype], math.copysign(math.inf, single))
    return int.from_bytes(packed, "little")


def decode(dtype: DType, bits: int) -> int | float | None:
    """The number a pattern stands for; None where it is not one number's."""
    if not 0 <= bits < 1 << (8 * dtype.bytes):
        return None
    if dtype.is_packed:
        return 0.0 if bits == 0 else None
    if dtype.is_integer:
        half = 1 << (8 * dtype.bytes - 1)
        return bits - 2 * half if dtype.is_signed and bits >= half else bits
    if dtype in _SMALL:
        return _values(dtype)[bits]
    if dtype is DType.BFLOAT16:
        return struct.unpack("<f", (bits << 16).to_bytes(4, "little"))[0]
    if dtype not in _STRUCT:
        return None
    return struct.unpack("<" + _STRUCT[dtype], bits.to_bytes(dtype.bytes, "little"))[0]


def _single(value: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _integer_bits(dtype: DType, value: float) -> int | None:
    width = 8 * dtype.bytes
    low = -(1 << (width - 1)) if dtype.is_signed else 0
    high = low + (1 << width) - 1
    if isinstance(value, float):
        value = _single(value)
        if math.isnan(value):
            return 0
        if math.isinf(value):
            value = high if value > 0 else low
    return min(max(round(value), low), high) & ((1 << width) - 1)


def _bfloat_bits(value: float) -> int:
    bits = int.from_bytes(struct.pack("<f", value), "little")
    if math.isnan(value):
        return 0x7FC0
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


@cache
def _values(dtype: DType) -> tuple[float, ...]:
    """The value of every 8-bit pattern."""
    exponent_bits, mantissa_bits, has_inf = _SMALL[dtype]
    bias = (1 << (exponent_bits - 1)) - 1
    top, full = (1 << exponent_bits) - 1, (1 << mantissa_bits) - 1
    found: list[float] = []
    for bits in range(128):
        exponent, mantissa = bits >> mantissa_bits, bits & full
        if has_inf and exponent == top:
            found.append(math.nan if mantissa else math.inf)
        elif not has_inf and exponent == top and mantissa == full:
            found.append(math.nan)
        elif exponent == 0:
            found.append(math.ldexp(mantissa, 1 - bias - mantissa_bits))
        else:
            scale = exponent - bias - mantissa_bits
            found.append(math.ldexp(mantissa + full + 1, scale))
    return (*found, *(-value for value in found))


def _small_bits(dtype: DType, value: float) -> int | None:
    """The nearest pattern, ties to even, the largest finite one beyond it."""
    if math.isnan(value):
        return None
    values = _values(dtype)
    finite = [bits for bits in range(128) if math.isfinite(values[bits])]
    size = min(abs(value), values[finite[-1]])
    nearest = min(finite, key=lambda bits: (abs(values[bits] - size), bits & 1))
    return nearest | (0x80 if math.copysign(1.0, value) < 0 else 0)
