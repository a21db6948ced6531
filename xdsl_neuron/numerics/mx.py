"""
Microscaling: blocks of 8 partitions x 4 elements share a power of two.

Sources: penguin.md 14, nki.md 5.5. A packed array is [P, F / 4] containers of four
elements, lane 0 in the low bits. A scale array holds the biased exponents (uint8, bias
127) of P / 8 rows of blocks: one after another, or row i at partition
(i & 3) + 32 * (i >> 2) of an array with more rows than that.
"""

from functools import cache
from typing import Final

import ml_dtypes
import numpy as np

from ..arch import Arch
from ..dtypes import DType
from .casts import cast, to_float32
from .kernel import Array, Kernel
from .matmul import product_writer
from .rules import Rule

_F32: Final = DType.FLOAT32
_BLOCK_PARTITIONS: Final = Arch.mx_block_partitions
_LANES: Final = Arch.mx_block_elements
_BIAS: Final = 127
_MAX_EXPONENT: Final = 254  # 255 is NaN

_ELEMENTS: Final = {
    DType.FLOAT8_E4M3FN_X4: DType.FLOAT8_E4M3FN,
    DType.FLOAT8_E5M2_X4: DType.FLOAT8_E5M2,
}
# The exponent of the largest power of two of an element type (penguin.md 14).
_EMAX: Final = {
    DType.FLOAT4_E2M1FN_X4: 2,
    DType.FLOAT8_E4M3FN_X4: 8,
    DType.FLOAT8_E5M2_X4: 15,
}
_FP4_MAX: Final = np.float32(6.0)
_FP4_SHIFTS: Final = np.array([0, 4, 8, 12], np.uint16)
_FP4_VALUES: Final = (
    np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)
)


def _emax(dtype: DType) -> int:
    emax = _EMAX.get(dtype)
    if emax is None:
        raise ValueError(f"{dtype.nki_name} is not a packed type")
    return emax


def scale_rows(blocks: int, rows: int) -> Array:
    """Which rows of a scale array of `rows` rows hold the `blocks` rows of blocks."""
    index = np.arange(blocks)
    return index if rows == blocks else (index & 3) + 32 * (index >> 2)


def _powers(exponents: Array) -> Array:
    """2 ** exponents in fp32, exact down to 2 ** -149."""
    return np.ldexp(np.float32(1), exponents.astype(np.int32))


def _round_fp4(x: Array) -> Array:
    """fp32 to the 4-bit patterns: RNE, saturating, NaN to a signed zero."""
    finite = np.where(np.isnan(x), np.copysign(np.float32(0), x), x)
    bounded = np.clip(finite, -_FP4_MAX, _FP4_MAX)
    return bounded.astype(ml_dtypes.float4_e2m1fn).view(np.uint8) & np.uint8(15)


def pack(dtype: DType, x: Array) -> Array:
    """fp32 [..., 4] rounded to the elements of `dtype`, as containers [...]."""
    element = _ELEMENTS.get(dtype)
    if element is not None:
        lanes = np.ascontiguousarray(cast(x, _F32, element))
        return lanes.view(np.uint32)[..., 0]
    nibbles = _round_fp4(x).astype(np.uint16) << (
        4 * np.arange(_LANES, dtype=np.uint16)
    )
    return np.bitwise_or.reduce(nibbles, axis=-1)


def unpack(dtype: DType, x: Array) -> Array:
    """Containers [...] of `dtype` as fp32 [..., 4]."""
    _emax(dtype)
    element = _ELEMENTS.get(dtype)
    if element is not None:
        lanes = np.ascontiguousarray(x)[..., None].view(np.uint8)
        kind = getattr(ml_dtypes, element.numpy_name)
        return to_float32(element)(lanes.view(kind))
    return _FP4_VALUES[(x[..., None] >> _FP4_SHIFTS) & 15]


@cache
def quantize_mx(dst: DType, src: DType, *, before_0_5: bool = False) -> Kernel:
    """
    Kernel(out, scale, x): x [P, F] as packed out [P, F / 4], and its block scales.

    The scale's exponent is floor(log2(amax)) - (Emax - 1), at least -127, so a block of
    zeros (or subnormals) gets 2^-127. `before_0_5` uses Emax instead of Emax - 1, and
    at least -126.
    """
    widen = to_float32(src)
    shift, lowest = (_emax(dst), 1) if before_0_5 else (_emax(dst) - 1, 0)

    def kernel(out: Array, scale: Array, x: Array) -> None:
        partitions = x.shape[0]
        blocks = partitions // _BLOCK_PARTITIONS
        values = widen(x).reshape(blocks, _BLOCK_PARTITIONS, -1, _LANES)
        exponents = (values.view(np.uint32) >> 23) & 0xFF
        largest = exponents.max(axis=(1, 3)).astype(np.int32)
        biased = np.clip(largest - shift, lowest, _MAX_EXPONENT)
        scaled = values * _powers(_BIAS - biased)[:, None, :, None]
        out[...] = pack(dst, scaled).reshape(out.shape)
        rows = biased.astype(np.uint8)
        target = scale.view(np.uint8)
        target[scale_rows(blocks, scale.shape[0])] = rows.reshape(
            blocks, *scale.shape[1:]
        )

    return kernel


def dequantize(dtype: DType, x: Array, scale: Array) -> Array:
    """
    fp32 [P, C, 4] of packed x [P, ...] with C containers a partition.

    value * 2^(scale - 127); a scale of 255 is NaN.
    """
    partitions = x.shape[0]
    blocks = partitions // _BLOCK_PARTITIONS
    biased = scale.view(np.uint8)[scale_rows(blocks, scale.shape[0])]
    biased = biased.reshape(blocks, -1).astype(np.int32)
    power = np.where(biased == 255, np.float32(np.nan), _powers(biased - _BIAS))
    values = unpack(dtype, x.reshape(partitions, -1))
    return values * np.repeat(power, _BLOCK_PARTITIONS, axis=0)[:, :, None]


@cache
def matmul_mx(dst: DType, stationary: DType, moving: DType) -> Kernel:
    """
    Kernel(out, stationary, moving, stationary_scale, moving_scale, accumulate=False).

    stationary [P, M] and moving [P, N] are packed; out[m, n] sums the products of
    dequantised values over the partitions and the four lanes, in fp32.
    """
    write = product_writer(dst)

    def terms(dtype: DType, x: Array, scale: Array) -> Array:
        values = dequantize(dtype, x, scale)
        return values.transpose(0, 2, 1).reshape(-1, values.shape[1])

    def kernel(
        out: Array,
        stationary_data: Array,
        moving_data: Array,
        stationary_scale: Array,
        moving_scale: Array,
        accumulate: bool = False,
    ) -> None:
        left = terms(stationary, stationary_data, stationary_scale)
        right = terms(moving, moving_data, moving_scale)
        write(out, left, right, accumulate)

    return kernel


RULES: Final = (
    Rule(
        "MX scale",
        "2^(floor(log2 amax) - (Emax - 1)), at least 2^-127; before 0.5 Emax and at "
        "least 2^-126",
        "documented",
        "nki.md 5.5, penguin.md 14",
    ),
    Rule(
        "MX data",
        "scaled exactly, then rounded to nearest even with saturation; NaN in fp4 is "
        "a signed zero",
        "documented",
        "penguin.md 14",
    ),
    Rule(
        "MX lanes",
        "element i of a block's row is lane i, lane 0 in the low bits of its container",
        "our choice",
        "penguin.md 14",
    ),
    Rule(
        "MX scale rows",
        "row i at partition (i & 3) + 32 * (i >> 2)",
        "documented",
        "penguin.md 14, bir.md 6.10",
    ),
    Rule(
        "MX matmul",
        "operands are dequantised to fp32 and multiplied like any fp32 matmul",
        "documented",
        "penguin.md 14",
    ),
)
