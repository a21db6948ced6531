"""Which bytes of a buffer have been written, for definedness and PSUM's freshness."""

from math import gcd
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from xdsl_neuron.geometry.pattern import Pattern

Span: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...], int]
"""Byte offset, extents, byte strides and bytes of an element."""

_MAX_PATTERNS: Final = 16
_BOOL: Final = np.dtype(np.bool_)


class Region:
    """
    A set of bytes, as one flag each.

    One flag stands for `unit` bytes as long as every span consists of such units.
    """

    def __init__(self, size: int, unit: int = 1) -> None:
        self._unit = 1 if size % unit else unit
        self._flags = np.zeros(size // self._unit, np.bool_)

    def view(self, span: Span) -> NDArray[Any]:
        """The flags of the span's elements, and of the units of each."""
        offset, nums, strides, itemsize = span
        unit = self._unit
        if unit > 1:
            if gcd(offset, itemsize, *strides) % unit:
                self._flags, self._unit = self.bytes(), 1
                return self.view(span)
            offset, itemsize = offset // unit, itemsize // unit
            strides = tuple([stride // unit for stride in strides])
        shape, steps = (*nums, itemsize), (*strides, 1)
        return np.ndarray(shape, _BOOL, self._flags, offset, steps)

    def bytes(self) -> NDArray[np.bool_]:
        """A flag for each byte."""
        return self._flags if self._unit == 1 else self._flags.repeat(self._unit)

    def clear(self) -> None:
        """No byte is in the set."""
        self._flags[...] = False

    def add(self, span: Span, where: NDArray[np.bool_] | None = None) -> None:
        """The elements of the span, or those where `where` holds, are in the set."""
        view = self.view(span)
        if where is None:
            view[...] = True
        else:
            np.logical_or(view, where[..., None], out=view)

    def holds(self, span: Span) -> NDArray[np.bool_]:
        """For each element of the span whether any of its bytes is in the set."""
        return np.logical_or.reduce(self.view(span), axis=-1)

    def has_all(self, span: Span) -> bool:
        """Whether all bytes of the span are in the set."""
        return bool(self.view(span).all())

    def is_full(self) -> bool:
        """Whether all bytes are in the set."""
        return bool(self._flags.all())


class Freshness:
    """
    Which elements of a PSUM buffer have been written since its allocation.

    Spans that were written are kept as they are while they are few and the answer
    follows from equality or disjointness; otherwise as one flag per byte.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._full = False
        self._spans: dict[Span, Pattern] = {}
        self._region: Region | None = None

    def written_all(self) -> None:
        """Every element has been written."""
        self._full = True

    def written(self, span: Span, where: NDArray[np.bool_] | None = None) -> None:
        """The elements of the span (where `where` holds) have been written."""
        if self._full:
            return
        if where is not None:
            self._flags().add(span, where)
        elif self._region is not None:
            self._region.add(span)
        elif span not in self._spans:
            self._spans[span] = _pattern(span)
            if len(self._spans) > _MAX_PATTERNS:
                self._flags()

    def fresh(self, span: Span) -> bool | NDArray[np.bool_]:
        """Whether all (True) or none of the elements are fresh, or which of them."""
        if self._full:
            return False
        if self._region is None:
            if span in self._spans:
                return False
            pattern = _pattern(span)
            if not any(
                span[3] != other[3] or pattern.overlaps(written)
                for other, written in self._spans.items()
            ):
                return True
        held = self._flags().holds(span)
        if not held.any():
            return True
        return False if held.all() else ~held

    def _flags(self) -> Region:
        if self._region is None:
            self._region = Region(self._size)
            for span in self._spans:
                self._region.add(span)
        return self._region


def _pattern(span: Span) -> Pattern:
    """The first byte of each element; elements of one width are aligned to it."""
    offset, nums, strides, _ = span
    return Pattern(offset, tuple(zip(strides, nums, strict=True)))
