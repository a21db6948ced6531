"""What a kernel may be: a function, a method, a partial, an object that is called."""

from functools import partial
from types import FunctionType, MethodType

_MOST_LAYERS = 8
"""Wrappers around each other; more are a ring."""


def function_of(value: object) -> FunctionType | None:
    """The Python function that a call of the value runs, None where there is none."""
    for _ in range(_MOST_LAYERS):
        if isinstance(value, FunctionType):
            return value
        if isinstance(value, MethodType | staticmethod | classmethod):
            value = value.__func__
        elif isinstance(value, partial):
            value = value.func
        else:
            value = getattr(type(value), "__call__", None)
            if not isinstance(value, FunctionType):
                return None
    return None


def name_of(value: object) -> str:
    """What messages and modules call it: an object by its class."""
    while isinstance(value, partial):
        value = value.func
    found = getattr(value, "__name__", None)
    return found if isinstance(found, str) else type(value).__name__


def is_method(value: object) -> bool:
    """
    Whether it was defined in the body of a class.

    A kernel of a module that a class merely holds is called without the object.
    """
    if isinstance(value, staticmethod | classmethod):
        return True
    if not isinstance(value, FunctionType):
        return False
    around = value.__qualname__.rpartition(".")[0]
    return around != "" and not around.endswith("<locals>")
