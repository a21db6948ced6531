"""
What is collected of a container once, for the rules of all operations in it.

A rule such as "the branch goes to a block that exists" asks for something of a whole
function. Collected anew for each operation, verification would be quadratic. Kept
beyond a verification, it would be out of date after the next pass.
"""

from collections.abc import Callable, Generator, Hashable
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

_Key = tuple[Callable[[Any], Any], Hashable]
_tables: ContextVar[dict[_Key, Any] | None] = ContextVar("tables", default=None)

ContainerT = TypeVar("ContainerT", bound=Hashable)
T = TypeVar("T")


@contextmanager
def one_verification() -> Generator[None]:
    """Nothing changes in here: what is collected is kept to the end."""
    if _tables.get() is not None:
        yield
        return
    token = _tables.set({})
    try:
        yield
    finally:
        _tables.reset(token)


def collected(container: ContainerT, collect: Callable[[ContainerT], T]) -> T:
    """`collect(container)`, in one verification the first answer."""
    tables = _tables.get()
    if tables is None:
        return collect(container)
    key = (collect, container)
    if key not in tables:
        tables[key] = collect(container)
    return tables[key]
