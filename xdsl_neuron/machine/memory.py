"""
Buffers of the machine: one dense array of bytes per allocation, pooled by size.

While a plan is built, a storage also knows what of it has been written: to fill it
with poison only where something undefined can be seen, and for PSUM's freshness.
"""

from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.pattern import Pattern
from xdsl_neuron.machine.regions import Freshness
from xdsl_neuron.machine.written import Written
from xdsl_neuron.numerics.casts import storage

Buffer = NDArray[np.uint8]

_ALIGNMENT: Final = 64
_POISON: Final = 0xFF
"""A NaN in every floating point type, also in the scales and halves."""
_POISON_INTEGER: Final = 4
"""What integers hold in the vendor's simulator (its guide, "Uninitialized Memory
Detection", 2.30); floating point types hold NaN."""


def new_buffer(size: int) -> Buffer:
    """Uninitialised bytes on a cache line."""
    raw = np.empty(size + _ALIGNMENT, np.uint8)
    skip = -raw.ctypes.data % _ALIGNMENT
    return raw[skip : skip + size]


class Pool:
    """Free buffers by size; the last one released is the first one taken again."""

    def __init__(self) -> None:
        self._free: dict[int, list[Buffer]] = {}

    def take(self, size: int) -> Buffer:
        """A buffer of this many bytes, with any content."""
        free = self._free.get(size)
        return free.pop() if free else new_buffer(size)

    def give(self, buffer: Buffer) -> None:
        """The buffer may be taken again."""
        self._free.setdefault(buffer.size, []).append(buffer)


class Storage:
    """
    What one execution of an allocation stands for while the plan is built.

    `buffer` is None for a tensor of the caller, whose array is bound in each run.
    `defined`: every element holds a value that the program or the fill has written.
    """

    __slots__ = (
        "buffer",
        "defined",
        "fill_step",
        "freshness",
        "size",
        "written",
    )

    def __init__(
        self, size: int, buffer: Buffer | None, *, defined: bool, psum: bool = False
    ) -> None:
        self.size = size
        self.buffer = buffer
        self.defined = defined
        self.freshness = Freshness(size) if psum else None
        self.fill_step: int | None = None
        """Where the fill of a caller's tensor stands if it turns out to be needed."""
        self.written: Written | None = None
        """What has been written, for an output without an initial value."""


def poison(dtype: DType) -> NDArray[Any]:
    """The number that fills undefined memory of a type, as bytes or as an integer."""
    if dtype.is_integer:
        return np.array(_POISON_INTEGER, storage(dtype))
    return np.array(_POISON, np.uint8)


def poison_text(dtype: DType, poisoned: bool) -> str:
    """What an element that nothing has written holds, for messages."""
    if not poisoned:
        return "0"
    if dtype.is_integer:
        return str(_POISON_INTEGER)
    return "bytes 0xFF" if dtype.is_packed else "NaN"


@lru_cache(maxsize=8192)
def covers(
    offset: int,
    nums: tuple[int, ...],
    strides: tuple[int, ...],
    itemsize: int,
    size: int,
) -> bool:
    """Whether these elements are all bytes of a buffer of `size` bytes."""
    if offset:
        return False
    count = itemsize
    for num in nums:
        count *= num
    if count < size:
        return False
    pairs = (*zip(strides, nums, strict=True), (1, itemsize))
    return Pattern(0, pairs).covers(size)


def array_bytes(array: NDArray[Any]) -> Buffer:
    """The bytes of a contiguous array; ml_dtypes' arrays export no buffer."""
    return array.reshape(-1).view(np.uint8)
