"""
`neuronxcc.nki.compiler`: directives that change no result; they have no effect.

Addresses are assigned by our own allocation, so a placement asked for is only the
memory region it is in.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

from xdsl_neuron.nki.enums import MemoryRegion

F = TypeVar("F", bound=Callable[..., Any])


class _Placement:
    """`ncc.sbuf` and `ncc.psum`: values for `buffer=` of `nl.ndarray`."""

    def __init__(self, region: MemoryRegion) -> None:
        self._region = region

    def alloc(self, func: Callable[..., Any]) -> MemoryRegion:
        """Addresses from a function of the block indices."""
        return self._region

    def mod_alloc(self, **placement: Any) -> MemoryRegion:
        """Addresses that rotate over some tiles."""
        return self._region

    def auto_alloc(self) -> MemoryRegion:
        """Addresses chosen by the compiler."""
        return self._region


sbuf = _Placement(MemoryRegion.sbuf)
psum = _Placement(MemoryRegion.psum)


def skip_middle_end_transformations(function: F) -> F:
    """Accepted."""
    return function


def enable_stack_allocator(
    function: F | None = None, **options: Any
) -> F | Callable[[F], F]:
    """Accepted, with or without arguments."""

    def same(function: F) -> F:
        return function

    return same if function is None else function


def force_auto_alloc(function: F) -> F:
    """Accepted."""
    return function


@contextmanager
def no_reorder() -> Generator[None]:
    """Accepted: instructions keep their order anyway."""
    yield


@contextmanager
def multi_buffer(count: int) -> Generator[None]:
    """Accepted."""
    yield
