"""
What a kernel reads besides its arguments.

A trace holds the values that the variables of the kernel's module, of the functions
around it, and of those it calls had while it was made. It can be used again while they
are the same.
"""

import dis
import logging
import os
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum, EnumMeta
from functools import lru_cache, partial
from operator import is_
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
)
from typing import Any, Final
from weakref import WeakKeyDictionary

from xdsl_neuron.nki.arguments import is_mapping
from xdsl_neuron.tracer.frames import is_ours

_MISSING: Final = object()
_PLAIN: Final = (int, str, bytes, bool, type(None), Enum, range, type(Ellipsis))
_FIXED: Final = (logging.Logger, re.Pattern, typing.TypeVar)
_COLLECTIONS: Final = (tuple, frozenset, list, set, dict)
_LIBRARIES: Final = ("site-packages", "dist-packages", f"lib{os.sep}python")


class _Mutable(Exception):
    """A value may change without being another object."""


class Captured:
    """The variables that a function and those it calls read."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._package = str(getattr(function, "__module__", "")).partition(".")[0]
        self._variables: list[tuple[Mapping[str, Any], str]] = []
        self._cells: list[CellType] = []
        self._values: list[object] = []
        self._containers: list[object] = []
        self._contents: list[object] = []
        self._state: int | None = None
        self._states: dict[object, int] = {}
        self._looked = False

    def state(self) -> int | None:
        """
        The same number while the variables hold the same.

        None where one holds an object that can change and is not a list, dict or set
        of values.
        """
        if not self._looked or not all(map(is_, self._held(), self._values)):
            self._look()
        elif self._containers and self._contents != self._now():
            self._look()
        return self._state

    def _held(self) -> list[object]:
        found = [names.get(name, _MISSING) for names, name in self._variables]
        if self._cells:
            found.extend(map(_content, self._cells))
        return found

    def _now(self) -> list[object]:
        """What is in the containers; that of one that cannot be told is itself new."""
        try:
            return [_Key().of(each) for each in self._containers]
        except _Mutable:
            return [object()]

    def _look(self) -> None:
        """Finds the variables again: functions may be others now."""
        self._looked = True
        walk = _Walk(self._package)
        try:
            walk.key.of(self._function)
            walk.visit_functions()
            stable = True
        except _Mutable:
            stable = False
        self._variables, self._cells = walk.variables, walk.cells
        self._values = self._held()
        self._containers = walk.key.containers if stable else []
        self._contents = self._now()
        self._state = None
        if stable:
            key = tuple(walk.keys)
            self._state = self._states.setdefault(key, len(self._states))


def _members(owner: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = owner.__dict__
    return found


def _kind(value: object) -> Any:
    return type(value)


def _is(value: object, *kinds: type) -> bool:
    return isinstance(value, kinds)


class _Key:
    """What stands for a value: equal where kernels cannot tell two values apart."""

    def __init__(self) -> None:
        self.functions: list[FunctionType] = []
        self.containers: list[object] = []
        self._open: list[object] = []

    def of(self, value: Any) -> object:
        """
        A hashable stand-in.

        Raises:
            _Mutable: the value may change without being another object.
        """
        if _is(value, *_PLAIN):
            return (_kind(value), value)
        if _is(value, float, complex):
            return (_kind(value), repr(value))
        if _is(value, *_COLLECTIONS):
            return self._collection(value)
        if isinstance(value, FunctionType):
            self.functions.append(value)
            return _Same(value)
        return self._object(value)

    def _collection(self, value: Any) -> object:
        if any(each is value for each in self._open):
            raise _Mutable
        if not _is(value, tuple, frozenset) and not self._watched():
            self.containers.append(value)
        self._open.append(value)
        items: list[Any] = list(value.items() if is_mapping(value) else value)
        found = [self.of(each) for each in items]
        self._open.pop()
        kind = _kind(value)
        return (kind, *found)

    def _watched(self) -> bool:
        """Whether it is in a container whose values are looked at already."""
        return any(not _is(each, tuple, frozenset) for each in self._open)

    def _object(self, value: Any) -> object:
        if _is(value, type):
            members = list(_members(value).values())
            self.functions.extend(m for m in members if isinstance(m, FunctionType))
            return _Same(value)
        kind = _kind(value)
        if _is(value, MethodType, BuiltinFunctionType):
            function = self.of(getattr(value, "__func__", None))
            return (kind, value.__name__, function, self.of(value.__self__))
        if _is(value, partial):
            return (kind, *map(self.of, (value.func, value.args, value.keywords)))
        if _is(value, ModuleType, *_FIXED):
            return _Same(value)
        library: str = kind.__module__
        if library == "functools" or library.startswith("xdsl_neuron."):
            inner = getattr(value, "__wrapped__", None)
            return (_Same(value), None if inner is None else self.of(inner))
        if library in ("numpy", "numpy.dtypes") and kind.__hash__ is not None:
            return (kind, repr(value))
        if is_dataclass(value) and kind.__dataclass_params__.frozen:
            names = [each.name for each in fields(value)]
            held = (self.of(getattr(value, name)) for name in names)
            return (self.of(kind), *held)
        raise _Mutable


class _Same:
    """Equal to what stands for the same object, which is kept."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __hash__(self) -> int:
        return id(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._value is other._value


class _Walk:
    """The variables that functions read, and what stands for their values."""

    def __init__(self, package: str) -> None:
        self._package = package
        self.key = _Key()
        self.keys: list[object] = []
        self.variables: list[tuple[Mapping[str, Any], str]] = []
        self.cells: list[CellType] = []
        self._seen: set[tuple[int, str]] = set()

    def visit_functions(self) -> None:
        """Each function that was found, and those that it leads to."""
        seen: set[int] = set()
        first = True
        while self.key.functions:
            function = self.key.functions.pop()
            if id(function) in seen or not (first or self._is_followed(function)):
                continue
            first = False
            seen.add(id(function))
            self._visit(function)

    def _is_followed(self, function: FunctionType) -> bool:
        """Whether it is the user's: not ours, and of no other library."""
        if is_ours(function.__code__):
            return False
        return self._is_users(function.__module__, function.__code__.co_filename)

    def _is_users(self, module: str | None, file: str | None) -> bool:
        if file is None:
            return False
        own = (module or "").partition(".")[0] == self._package
        return own or not any(part in file for part in _LIBRARIES)

    def _visit(self, function: FunctionType) -> None:
        self.keys.append(function.__code__)
        self.keys.append(self.key.of(function.__defaults__))
        self.keys.append(self.key.of(function.__kwdefaults__))
        closure = dict(
            zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        )
        for cell in closure.values():
            self.cells.append(cell)
            value = _content(cell)
            self.keys.append(None if value is _MISSING else self.key.of(value))
        for is_global, name, attributes in names_read(function.__code__):
            if is_global:
                value = self._variable(function.__globals__, name)
            else:
                value = _content(closure[name]) if name in closure else _MISSING
            self._attributes(value, attributes)

    def _variable(self, names: Mapping[str, Any], name: str) -> object:
        value = names.get(name, _MISSING)
        if (id(names), name) not in self._seen:
            self._seen.add((id(names), name))
            self.variables.append((names, name))
            key = None if value is _MISSING else self.key.of(value)
            self.keys.append((name, key))
        return value

    def _attributes(self, value: object, attributes: tuple[str, ...]) -> None:
        """`module.name` and `Class.name` are variables too."""
        for name in attributes:
            if isinstance(value, ModuleType):
                file = getattr(value, "__file__", None)
                own = self._is_users(value.__name__, file)
                if not own or is_ours_file(str(file)):
                    return
                value = self._variable(vars(value), name)
            elif _is(value, type) and not _is(value, EnumMeta):
                kind: Any = value
                owner: Any = next((k for k in kind.__mro__ if name in vars(k)), kind)
                if owner.__module__.startswith(("xdsl_neuron.", "builtins", "numpy")):
                    return
                attribute = _members(owner).get(name, _MISSING)
                if isinstance(attribute, staticmethod | classmethod | property):
                    return
                value = self._variable(_members(owner), name)
            else:
                return


def is_ours_file(file: str) -> bool:
    """Whether a module's file belongs to the implementation."""
    return os.path.abspath(file).startswith(_ROOT)


_ROOT: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@lru_cache(maxsize=1024)
def names_read(code: CodeType) -> tuple[tuple[bool, str, tuple[str, ...]], ...]:
    """Variables of the module (True) and of the closure, with the attributes asked."""
    return tuple(dict.fromkeys(_names_read(code)))


def _names_read(code: CodeType) -> Iterator[tuple[bool, str, tuple[str, ...]]]:
    listed = list(dis.get_instructions(code))
    for at, each in enumerate(listed):
        is_global = each.opname in ("LOAD_GLOBAL", "LOAD_NAME")
        if is_global or each.opname in ("LOAD_DEREF", "LOAD_CLASSDEREF"):
            attributes: list[str] = []
            for follower in listed[at + 1 :]:
                if follower.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
                    break
                attributes.append(str(follower.argval))
            yield is_global, str(each.argval), tuple(attributes)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_read(constant)


def _content(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


_functions: WeakKeyDictionary[FunctionType, Captured] = WeakKeyDictionary()


def state_of(value: Any) -> object | None:
    """
    The state of a function or method that is an argument.

    None where what it reads may change without being another object.
    """
    try:
        key = _Key()
        found = [key.of(value)]
    except _Mutable:
        return None
    if key.containers:
        return None
    for function in key.functions:
        if is_ours(function.__code__):
            continue
        captured = _functions.get(function)
        if captured is None:
            captured = _functions[function] = Captured(function)
        state = captured.state()
        if state is None:
            return None
        found.append(state)
    return tuple(found)
