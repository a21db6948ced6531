"""What a kernel may be: a function, a method, a partial, an object that is called."""

from functools import partial
from types import FunctionType, MethodType
from typing import Any, Final, TypeGuard

_MOST_LAYERS: Final = 8
"""Wrappers around each other; more are a ring."""


def is_wrapped(value: object) -> TypeGuard["staticmethod[..., Any]"]:
    """Whether it is a method that gets no object: of a class, or a static one."""
    return isinstance(value, staticmethod | classmethod)


def is_partial(value: object) -> TypeGuard["partial[Any]"]:
    """Whether it is a function with some of its arguments."""
    return isinstance(value, partial)


def function_of(value: Any) -> FunctionType | None:
    """The Python function that a call of the value runs, None where there is none."""
    for _ in range(_MOST_LAYERS):
        if isinstance(value, FunctionType):
            return value
        if is_wrapped(value) or isinstance(value, MethodType):
            value = value.__func__
        elif is_partial(value):
            value = value.func
        else:
            value = getattr(value.__class__, "__call__", None)
            if not isinstance(value, FunctionType):
                return None
    return None


def name_of(value: object) -> str:
    """What messages and modules call it: an object by its class."""
    while is_partial(value):
        value = value.func
    found = getattr(value, "__name__", None)
    return found if isinstance(found, str) else type(value).__name__


def is_method(value: object) -> bool:
    """
    Whether it was defined in the body of a class.

    A kernel of a module that a class merely holds is called without the object.
    """
    if is_wrapped(value):
        return True
    if not isinstance(value, FunctionType):
        return False
    around = value.__qualname__.rpartition(".")[0]
    return around != "" and not around.endswith("<locals>")
