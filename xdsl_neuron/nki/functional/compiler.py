"""`neuronxcc.nki.compiler`: directives that change no result; they have no effect."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


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
