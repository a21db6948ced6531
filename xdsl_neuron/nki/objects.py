"""`nl.NKIObject`, and the tensors inside such objects and dataclasses."""

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from xdsl_neuron.tracer.index import is_tuple


class _Fields(type):
    """
    Makes objects whose class attributes are fields, annotated or not.

    A dataclass takes only annotated ones; kernels give the others to it as well.
    """

    def __call__(cls, *values: Any, **named: Any) -> Any:
        if not dataclasses.is_dataclass(cls):
            return super().__call__(*values, **named)
        known = {each.name for each in dataclasses.fields(cls)}
        others = {
            name: value
            for name, value in named.items()
            if name not in known and hasattr(cls, name)
        }
        for name in others:
            del named[name]
        made = super().__call__(*values, **named)
        for name, value in others.items():
            object.__setattr__(made, name, value)
        return made


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
