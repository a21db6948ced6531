"""Memset and iota: arrays that come from numbers (bir.md 6.4)."""

from functools import cache, lru_cache
from math import prod
from typing import Final, TypeAlias

import numpy as np

from ..dtypes import DType
from .bits import pattern_dtype
from .casts import cast, copy, storage
from .kernel import Array, Kernel
from .rules import Rule

# (step, num) pairs over the free elements, outermost first.
Pattern: TypeAlias = tuple[tuple[int, int], ...]

_INT32_HALF: Final = 1 << 31


def constant(dtype: DType, value: float) -> Array:
    """
    A Python number as a 0-d array of the storage of `dtype`.

    An int is exact in an integer type and saturates outside it; everything else goes
    through fp32 as any cast does. A packed type holds only 0 (nki.md 5.1), and
    `ValueError` is raised for another value.
    """
    kind = storage(dtype)
    if dtype.is_packed:
        if value:
            raise ValueError(f"{dtype.nki_name} can only be filled with 0, got {value}")
        return np.zeros((), kind)
    if dtype.is_integer and isinstance(value, int):
        limits = np.iinfo(kind)
        return np.array(min(max(value, int(limits.min)), int(limits.max)), kind)
    with np.errstate(over="ignore"):
        single = np.array([value], np.float64).astype(np.float32)
    return cast(single, DType.FLOAT32, dtype).reshape(())


def constant_bits(dtype: DType, value: float) -> int:
    """The raw pattern of `constant(dtype, value)`, as memset's wire field has it."""
    return int(constant(dtype, value).view(pattern_dtype(dtype.bytes)))


@cache
def memset_bits(dst: DType, bits: int) -> Kernel:
    """Kernel(out): every element of `out` is this raw pattern of `dst`."""
    value = np.array(bits, pattern_dtype(dst.bytes)).view(storage(dst))

    def kernel(out: Array) -> None:
        out[...] = value

    return kernel


def memset(dst: DType, value: float) -> Kernel:
    """Kernel(out): every element of `out` is `value`, cast as in `constant`."""
    return memset_bits(dst, constant_bits(dst, value))


def wrap_int32(value: int) -> int:
    """The 32-bit two's complement value of the low bits of `value`."""
    return ((value + _INT32_HALF) % (2 * _INT32_HALF)) - _INT32_HALF


@lru_cache(maxsize=64)
def affine_values(
    pattern: Pattern, channel_multiplier: int, partitions: int, base: int
) -> Array:
    """
    The affine form of iota and affine_select, as int32 [partitions, free elements].

    base + sum of step * index + channel_multiplier * row, wrapping at 32 bits. The
    result is shared between calls and not writeable.
    """
    free = np.zeros((1,), np.int64)
    for step, num in pattern:
        free = np.add.outer(free, step * np.arange(num)).reshape(-1)
    row = base + channel_multiplier * np.arange(partitions)
    values = np.add.outer(row, free).astype(np.int32)
    values.flags.writeable = False
    return values


@cache
def iota(dst: DType, pattern: Pattern, channel_multiplier: int = 0) -> Kernel:
    """
    Kernel(out, base): out = int32 affine values, cast to `dst`.

    `out` is [P, ...] with the pattern's number of elements in every partition; its
    first row is partition 0 of the formula.
    """
    store = copy(dst, DType.INT32)
    per_partition = prod(num for _, num in pattern)

    def kernel(out: Array, base: int) -> None:
        partitions = out.size // per_partition
        values = affine_values(
            pattern, channel_multiplier, partitions, wrap_int32(base)
        )
        store(out, values.reshape(out.shape))

    return kernel


RULES: Final = (
    Rule(
        "memset value",
        "an int fills an integer type exactly, saturating; other values go through "
        "fp32",
        "our choice",
        "bir.md 6.4, nki.md 1.1",
    ),
    Rule(
        "iota",
        "computed in int32, which wraps, then cast; channel_multiplier multiplies the "
        "row of the tile, which starts at 0 wherever the tile does",
        "inferred",
        "bir.md 6.4, nki.md 1.1",
    ),
)
