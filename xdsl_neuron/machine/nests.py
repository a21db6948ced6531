"""
Several accesses walked together: common shapes, loop nests, and words to move.

Everything is in bytes and starts at 0, so a result serves all iterations and all
instructions of the same form; it is computed once and kept.
"""

from functools import lru_cache
from itertools import pairwise
from math import gcd
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from xdsl_neuron.geometry.pattern import Pattern, align

Nums: TypeAlias = tuple[int, ...]
Strides: TypeAlias = tuple[int, ...]

_WORDS: Final = {n: np.dtype(f"uint{8 * n}") for n in (1, 2, 4, 8)}


class Walk(NamedTuple):
    """One nest of a transfer: extents, and first byte and strides of both sides."""

    nums: Nums
    start_a: int
    strides_a: Strides
    start_b: int
    strides_b: Strides
    word: int
    """Bytes of the words that are moved."""


@lru_cache(maxsize=8192)
def transfer(a: Nums, a_strides: Strides, b: Nums, b_strides: Strides) -> list[Walk]:
    """The nests that take the k-th element of `b` to the k-th element of `a`."""
    first = Pattern(0, tuple(zip(a_strides, a, strict=True)))
    second = Pattern(0, tuple(zip(b_strides, b, strict=True)))
    return [
        Walk(
            nest.nums or (1,),
            nest.start_a,
            nest.steps_a or (0,),
            nest.start_b,
            nest.steps_b or (0,),
            0,
        )
        for nest in align(first, second)
    ]


@lru_cache(maxsize=8192)
def word_transfer(
    a: Nums, a_strides: Strides, b: Nums, b_strides: Strides, itemsize: int, grain: int
) -> list[Walk]:
    """
    The same for raw elements of `itemsize` bytes, in words as wide as runs allow.

    `grain` divides the first byte of both sides (0: both are 0).
    """
    return [
        _widened(walk, itemsize, grain) for walk in transfer(a, a_strides, b, b_strides)
    ]


def _widened(walk: Walk, itemsize: int, grain: int) -> Walk:
    *outer_a, inner_a = walk.strides_a
    *outer_b, inner_b = walk.strides_b
    *outer, run = walk.nums
    if run == 1:
        inner_a = inner_b = itemsize
    if inner_a != itemsize or inner_b != itemsize:
        return walk._replace(word=itemsize)
    run_bytes = run * itemsize
    common = gcd(run_bytes, walk.start_a, walk.start_b, grain, 8, *outer_a, *outer_b)
    return walk._replace(
        nums=(*outer, run_bytes // common),
        strides_a=(*outer_a, common),
        strides_b=(*outer_b, common),
        word=common,
    )


def word_type(width: int) -> "np.dtype[np.unsignedinteger]":
    """The unsigned integer of 1, 2, 4 or 8 bytes."""
    return _WORDS[width]


@lru_cache(maxsize=8192)
def regroup(nums: Nums, strides: Strides, shape: Nums) -> Strides | None:
    """
    The strides that walk the same elements in the same order with extents `shape`.

    None where no strides do. The first dimension (partitions) stays as it is.
    """
    if nums == shape:
        return strides
    free = Pattern(0, tuple(zip(strides[1:], nums[1:], strict=True)))
    left = list(free.normalise().pairs)
    found: list[int] = []
    for extent in reversed(shape[1:]):
        if extent == 1:
            found.append(0)
            continue
        if not left or left[-1][1] % extent:
            return None
        step, num = left.pop()
        found.append(step)
        if num > extent:
            left.append((step * extent, num // extent))
    if left or nums[0] != shape[0]:
        return None
    return (strides[0], *reversed(found))


@lru_cache(maxsize=8192)
def common_shape(sides: tuple[tuple[Nums, Strides], ...]) -> Nums | None:
    """
    A shape that all accesses can be regrouped to, or None where there is none.

    Their extents are cut at every place where one of them jumps; the cuts must divide
    each other.
    """
    cuts = {1}
    for nums, strides in sides:
        free = Pattern(0, tuple(zip(strides[1:], nums[1:], strict=True)))
        inside = 1
        for _, num in reversed(free.normalise().pairs):
            inside *= num
            cuts.add(inside)
    ordered = sorted(cuts)
    extents: list[int] = []
    for small, large in pairwise(ordered):
        if large % small:
            return None
        extents.append(large // small)
    return (sides[0][0][0], *reversed(extents))


@lru_cache(maxsize=8192)
def dense_strides(nums: Nums, itemsize: int) -> Strides:
    """The strides of a C-contiguous array."""
    strides: list[int] = []
    step = itemsize
    for num in reversed(nums):
        strides.append(step)
        step *= num
    return tuple(reversed(strides))
