"""Loops of the destination-passing generations: all unrolled (nki.md 1.4)."""

import operator
from typing import SupportsIndex

from xdsl_neuron.nki.api import api


def _unrolled(
    start: SupportsIndex, stop: SupportsIndex | None, step: SupportsIndex
) -> range:
    first = operator.index(start)
    if stop is None:
        return range(first)
    return range(first, operator.index(stop), operator.index(step))


@api
def affine_range(
    start: SupportsIndex, stop: SupportsIndex | None = None, step: SupportsIndex = 1
) -> range:
    """`range`: iterations are independent, unrolled while tracing."""
    return _unrolled(start, stop, step)


@api
def sequential_range(
    start: SupportsIndex, stop: SupportsIndex | None = None, step: SupportsIndex = 1
) -> range:
    """`range`: iterations are in order, unrolled while tracing."""
    return _unrolled(start, stop, step)


@api
def static_range(
    start: SupportsIndex, stop: SupportsIndex | None = None, step: SupportsIndex = 1
) -> range:
    """`range`, unrolled while tracing."""
    return _unrolled(start, stop, step)
