"""`nl.NKIObject`, and the tensors inside such objects and dataclasses."""

import copy
import dataclasses
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from xdsl_neuron.tracer.errors import NKITypeError
from xdsl_neuron.tracer.index import is_tuple
from xdsl_neuron.tracer.wrong_calls import wrong_call


class _Fields(type):
    """
    Makes objects whose class attributes are fields, annotated or not.

    A dataclass takes only annotated ones; kernels give the others to it as well.
    """

    def __call__(cls, *values: Any, **named: Any) -> Any:
        if not dataclasses.is_dataclass(cls):
            return cls._make(values, named)
        known = {each.name for each in dataclasses.fields(cls)}
        others = {
            name: value
            for name, value in named.items()
            if name not in known and hasattr(cls, name)
        }
        for name in others:
            del named[name]
        made = cls._make(values, named)
        for name, value in others.items():
            object.__setattr__(made, name, value)
        return made

    def _make(cls, values: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """A call of the class; wrong arguments are the error of who gives them."""
        try:
            return super().__call__(*values, **named)
        except TypeError as error:
            trace = error.__traceback__
            if trace is not None and trace.tb_next is not None:
                raise  # from the code of the class
            made: Any = cls
            found = inspect.signature(made.__init__)
            own = list(found.parameters.values())[1:]
            signature = found.replace(parameters=own)
            wrong = wrong_call(f"{cls.__name__}()", signature, values, named)
            raise NKITypeError(wrong or f"{cls.__name__}() {error}") from None


class NKIObject(metaclass=_Fields):
    """Base class of configuration objects: keyword arguments become attributes."""

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self, name, value)


def is_record(value: object) -> bool:
    """Whether a value is an object whose fields may hold tensors."""
    if isinstance(value, type):
        return False
    return isinstance(value, NKIObject) or dataclasses.is_dataclass(value)


def is_named_tuple(value: object) -> bool:
    """Whether a value is a named tuple."""
    return is_tuple(value) and hasattr(value, "_fields")


def fields_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of an object's fields."""
    if is_named_tuple(value):
        yield from zip(value._fields, value, strict=True)
        return
    named: dict[str, Any] = dict(getattr(value, "__dict__", {}))
    if not named and dataclasses.is_dataclass(value):
        for each in dataclasses.fields(value):
            named[each.name] = getattr(value, each.name)
    yield from named.items()


def with_fields(value: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of an object with each field changed; the object itself where none is."""
    changed = {name: change(field) for name, field in fields_of(value)}
    if all(changed[name] is field for name, field in fields_of(value)):
        return value
    if is_named_tuple(value):
        return type(value)(**changed)
    found = copy.copy(value)
    for name, field in changed.items():
        object.__setattr__(found, name, field)
    return found
