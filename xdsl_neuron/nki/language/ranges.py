"""
Loops of the destination-passing generations: all unrolled (nki.md 1.4).

From 0.6 on they are deprecated names of Python's `range`, which does the same.
"""

from typing import SupportsIndex

from xdsl_neuron.nki.api import api
from xdsl_neuron.tracer.errors import NKIValueError
from xdsl_neuron.tracer.index import as_integer


def _unrolled(
    start: SupportsIndex, stop: SupportsIndex | None, step: SupportsIndex
) -> range:
    first = _bound(start, "start")
    if stop is None:
        return range(first)
    by = _bound(step, "step")
    if by == 0:
        raise NKIValueError("step of a loop must be non-zero")
    return range(first, _bound(stop, "stop"), by)


def _bound(value: SupportsIndex, what: str) -> int:
    return value if isinstance(value, int) else as_integer(value, what)


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
