"""
The arguments of a call: which are tensors, which are values known while tracing.

Arrays become tensors, also inside tuples, lists and dicts; everything else is a
compile-time value. The key of a call says when an earlier trace can be used again.
"""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from xdsl_neuron.diagnostics import SourceLocation
from xdsl_neuron.nki.arguments import is_mapping, is_sequence
from xdsl_neuron.nki.captured import state_of
from xdsl_neuron.nki.dtype import LanguageDtype
from xdsl_neuron.nki.objects import (
    fields_of,
    is_named_tuple,
    is_record,
    with_fields,
)
from xdsl_neuron.nki.specs import TensorSpec, is_array, spec_of
from xdsl_neuron.tracer.callables import function_of, is_partial, is_wrapped, name_of
from xdsl_neuron.tracer.errors import NKITypeError, described
from xdsl_neuron.tracer.wrong_calls import wrong_call

_VALUES = (int, float, complex, str, bytes, bool, type(None), Enum, type)


@dataclass(frozen=True, slots=True)
class Binding:
    """
    One call's arguments.

    `names` and `arrays` are the tensors in order; `key` is None where some value may
    change without being another object, so that no trace can be kept.
    """

    names: tuple[str, ...]
    arrays: tuple[Any, ...]
    key: tuple[object, ...] | None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def specs(self) -> tuple[TensorSpec, ...]:
        """Shape and element type of each tensor."""
        return tuple(
            spec_of(array, name)
            for name, array in zip(self.names, self.arrays, strict=True)
        )

    def with_tensors(
        self, tensors: Sequence[Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with each array replaced by its tensor."""
        left = iter(tensors)

        def replaced(value: Any) -> Any:
            if is_array(value):
                return next(left)
            if is_sequence(value) and _is_plain(value):
                items = [replaced(item) for item in value]
                return tuple(items) if isinstance(value, tuple) else items
            if is_mapping(value):
                return {key: replaced(item) for key, item in value.items()}
            if is_record(value) or is_named_tuple(value):
                return with_fields(value, replaced)
            return value

        args = tuple(replaced(value) for value in self.args)
        return args, {key: replaced(value) for key, value in self.kwargs.items()}


def _is_plain(value: object) -> bool:
    """A tuple or list itself: a named tuple is one value."""
    return type(value) in (tuple, list)


def refuse_lists(binding: Binding, binder: "Binder") -> None:
    """
    Refuses lists among the arguments of a kernel.

    Releases from 0.3 on take tuples only (NKI 0.3.0 Update Guide, "Replace list kernel
    arguments with tuples", release 2.29).
    """
    given = zip(binder.signature.parameters, binding.args, strict=False)
    for name, value in (*given, *binding.kwargs.items()):
        if _has_list(value):
            raise NKITypeError(
                f"argument '{name}' of the kernel is or holds a list: from release 0.3 "
                "on kernels take tuples, so pass tuple(...)",
                binder.place,
            )


def _has_list(value: object) -> bool:
    if not (is_sequence(value) and _is_plain(value)):
        return False
    return isinstance(value, list) or any(map(_has_list, value))


class Binder:
    """
    Binds calls of one function.

    What a partial already holds are arguments of the call like the others.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._given: tuple[Any, ...] = ()
        self._named: dict[str, Any] = {}
        while is_partial(function):
            self._given = (*function.args, *self._given)
            self._named = {**function.keywords, **self._named}
            function = function.func
        if is_wrapped(function):
            function = function.__func__
        if function_of(function) is None:
            raise NKITypeError(
                f"a kernel is a function written in Python, got {described(function)}"
            )
        self.signature = inspect.signature(function)
        self.function = function

    @property
    def place(self) -> SourceLocation | None:
        """Where the function is defined."""
        found = function_of(self.function)
        if found is None:
            return None
        code = found.__code__
        return SourceLocation(code.co_filename, code.co_firstlineno, 1)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Binding:
        """One call; NKITypeError where Python would refuse it."""
        args, kwargs = (*self._given, *args), {**self._named, **kwargs}
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            call = f"{name_of(self.function)}()"
            wrong = wrong_call(call, self.signature, args, kwargs) or str(error)
            raise NKITypeError(wrong, self.place) from None
        collector = _Collector()
        for name, value in bound.arguments.items():
            collector.visit(name, value)
        key = tuple(collector.key) if collector.stable else None
        return Binding(
            tuple(collector.names),
            tuple(collector.arrays),
            key,
            bound.args,
            bound.kwargs,
        )


class _Collector:
    def __init__(self) -> None:
        self.names: list[str] = []
        self.arrays: list[Any] = []
        self.key: list[object] = []
        self.stable = True

    def visit(self, name: str, value: Any) -> None:
        if is_array(value):
            self.names.append(name)
            self.arrays.append(value)
            kind = value.kind if isinstance(value, TensorSpec) else value.dtype
            truth = isinstance(value, TensorSpec) and value.truth
            self.key.append((name, tuple(value.shape), kind, truth))
        elif is_sequence(value) and _is_plain(value):
            self.key.append((name, isinstance(value, tuple), len(value)))
            for at, item in enumerate(value):
                self.visit(f"{name}.{at}", item)
        elif is_mapping(value):
            self.key.append((name, dict, tuple(value)))
            for key, item in value.items():
                self.visit(f"{name}.{key}", item)
        elif is_record(value) or is_named_tuple(value):
            self.stable = False
            for key, item in fields_of(value):
                self.visit(f"{name}.{key}", item)
        else:
            self._value(name, value)

    def _value(self, name: str, value: Any) -> None:
        if isinstance(value, float):
            self.key.append((name, float, repr(value)))
        elif isinstance(value, LanguageDtype):
            self.key.append((name, LanguageDtype, value.kind, value.truth))
        elif isinstance(value, _VALUES):
            self.key.append((name, type(value), value))
        elif inspect.isroutine(value):
            state = state_of(value)
            self.stable = self.stable and state is not None
            self.key.append((name, state))
        else:
            self.stable = False
