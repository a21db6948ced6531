"""
Which variables a body that is traced once hands to its next iteration.

Python binds names; a body that is traced once sees the bindings of before the loop. A
name that is another object after the body, and that the body reads before it binds it,
would need the object of the iteration before. What is read and bound in which order is
in the bytecode; loading a function counts as calling it.
"""

import dis
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from numbers import Number
from types import (
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    ModuleType,
)
from typing import Any, Final

from xdsl_neuron.diagnostics import SourceLocation
from xdsl_neuron.tracer.bytecode import (
    ENDS,
    Region,
    bound_names,
    flow_of,
    names_of,
    place_in,
    region_of,
    whole,
)
from xdsl_neuron.tracer.callables import function_of
from xdsl_neuron.tracer.frames import is_ours

_OF_THE_TYPE: Final = ("shape", "dtype", "ndim", "itemsize", "element_type")
"""Attributes that a tile has whatever is in it."""


@dataclass(frozen=True, slots=True)
class _First:
    """
    What can happen to a variable first.

    It is read; it is bound; or the end comes without either.
    """

    read: bool
    bound: bool
    through: bool


_NEITHER: Final = _First(False, False, True)
_READ: Final = _First(True, False, False)
_BOUND: Final = _First(False, True, False)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What the names of a piece of code stand for; `refers` is about the variable."""

    region: Region
    refers: bool
    names: Mapping[str, Any]
    module: Mapping[str, Any]


@dataclass(slots=True)
class _Order:
    """In which order a variable is read and bound."""

    name: str
    value: object
    is_global: bool
    empty_loops: bool
    functions: dict[int, _First] = field(default_factory=dict[int, _First])

    def of(self, scope: _Scope) -> _First:
        """From the start of a piece of code to its end; loops have a trip or more."""
        region = scope.region
        code = flow_of(region.code)
        read = bound = through = False
        seen: set[tuple[int, bool]] = set()
        left = [(region.start, False)]
        while left:
            offset, again = left.pop()
            if offset in region.stops:
                through = True
                continue
            if (offset, again) in seen or offset not in region.inside:
                continue
            seen.add((offset, again))
            instruction = code.instructions[offset]
            first = self._at(instruction, scope)
            read, bound = read or first.read, bound or first.bound
            if not first.through:
                continue
            through = through or instruction.opname in ENDS
            targets = code.after[offset]
            if instruction.opname == "FOR_ITER" and not (again or self.empty_loops):
                targets = targets[:1]
            left.extend((target, target <= offset) for target in targets)
        return _First(read, bound, through)

    def _at(self, instruction: dis.Instruction, scope: _Scope) -> _First:
        operation = instruction.opname
        if operation.startswith(("LOAD_", "STORE_")):
            pair = names_of(instruction)
            kinds = [part for part in operation.split("_") if part in ("LOAD", "STORE")]
            kinds = kinds * len(pair) if len(kinds) < len(pair) else kinds
            for kind, name in zip(kinds, pair, strict=False):
                found = self._access(kind, name, instruction, scope)
                if found != _NEITHER:
                    return found
        return _NEITHER

    def _access(
        self, kind: str, name: object, instruction: dis.Instruction, scope: _Scope
    ) -> _First:
        operation = instruction.opname
        code = scope.region.code
        if operation.endswith(("_ATTR", "_METHOD", "_CONST")):
            return _NEITHER
        in_module = operation.endswith(("_GLOBAL", "_NAME"))
        if name == self.name and scope.refers and in_module == self.is_global:
            if kind == "STORE" or operation == "LOAD_FAST_AND_CLEAR":
                return _BOUND
            closed = operation == "LOAD_CLOSURE" or (
                operation.startswith("LOAD_FAST")
                and name in (*code.co_cellvars, *code.co_freevars)
            )
            if closed:
                return self._closed(instruction, scope)
            return _NEITHER if self._asks_type(instruction, scope) else _READ
        if kind == "LOAD" and isinstance(name, str):
            held = scope.module if in_module else scope.names
            return self._called(held.get(name))
        return _NEITHER

    def _closed(self, instruction: dis.Instruction, scope: _Scope) -> _First:
        """A function is made: one without a name is called at once."""
        made = flow_of(scope.region.code).following(instruction.offset, "LOAD_CONST")
        inner: Any = made.argval
        if not isinstance(inner, CodeType) or not inner.co_name.startswith("<"):
            return _NEITHER
        return self.of(_Scope(whole(inner), True, {}, scope.module))

    def _asks_type(self, instruction: dis.Instruction, scope: _Scope) -> bool:
        code = flow_of(scope.region.code)
        follower = code.instructions[code.after[instruction.offset][0]]
        return follower.opname == "LOAD_ATTR" and follower.argval in _OF_THE_TYPE

    def _called(self, value: object) -> _First:
        function = plain_function(value)
        if function is None:
            return _NEITHER
        found = self.functions.get(id(function))
        if found is None:
            self.functions[id(function)] = _NEITHER  # it may call itself
            found = self.functions[id(function)] = self.of(self.scope(function))
        return found

    def scope(self, function: FunctionType) -> _Scope:
        """The names of a function: its closure's and its module's."""
        names = closure_values(function)
        refers = self.is_global or (
            self.name in names and names[self.name] is self.value
        )
        return _Scope(whole(function.__code__), refers, names, function.__globals__)


def plain_function(value: object) -> FunctionType | None:
    """The kernel's function behind a method, a partial or a wrapper."""
    found = function_of(value)
    return None if found is None or is_ours(found.__code__) else found


def closure(function: FunctionType) -> Iterator[tuple[str, CellType]]:
    """The variables of a function that belong to the code around it."""
    cells = function.__closure__ or ()
    return zip(function.__code__.co_freevars, cells, strict=True)


def closure_values(function: FunctionType) -> dict[str, Any]:
    """What these variables hold, those that hold something."""
    found: dict[str, Any] = {}
    for name, cell in closure(function):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


@dataclass(frozen=True, slots=True)
class Rebound:
    """A variable that is handed on; `place` is where it is bound."""

    name: str
    before: object
    now: object
    place: SourceLocation | None


class Watch:
    """The variables of a body, from before it to its end."""

    def __init__(
        self,
        region: Region,
        names: Callable[[], Mapping[str, Any]],
        module: dict[str, Any],
    ) -> None:
        self._region = region
        self._names = names
        self._module = module
        held = names()
        code = region.code
        own = {*bound_names(region, False), *code.co_cellvars, *code.co_freevars}
        self._locals = {name: held[name] for name in own if name in held}
        named = (module[name] for name in code.co_names if name in module)
        self._functions = _functions([*held.values(), *named])
        self._cells = {
            id(cell): (name, cell, values[name])
            for function in self._functions
            for values in (closure_values(function),)
            for name, cell in closure(function)
            if name in values
        }
        self._places = {
            id(value): (name, value, _places(value)) for name, value in held.items()
        }
        regions = [region, *(whole(each.__code__) for each in self._functions)]
        self._globals = {
            name: module[name]
            for each in regions
            for name in bound_names(each, True)
            if name in module
        }

    @classmethod
    def for_statement(cls, frame: FrameType) -> "Watch":
        """Of a frame that is about to loop over what it asks an iterator of."""
        code = flow_of(frame.f_code)
        header = code.following(frame.f_lasti, "FOR_ITER").offset
        start, _ = code.after[header]
        region = region_of(frame.f_code, start, frozenset((header,)))
        return cls(region, lambda: dict(frame.f_locals), frame.f_globals)

    @classmethod
    def while_statement(cls, frame: FrameType) -> "Watch":
        """Of a frame that asks for the condition of `while` the first time."""
        code = flow_of(frame.f_code)
        test = code.following(frame.f_lasti - 1, "POP_JUMP")
        inward, outward = code.after[test.offset]
        start = inward if "IF_FALSE" in test.opname else outward
        again = [
            offset
            for offset, instruction in code.instructions.items()
            if instruction.opname.startswith("POP_JUMP")
            and offset > test.offset
            and any(
                target == start
                or (
                    code.instructions[target].opname == "JUMP_BACKWARD"
                    and code.after[target] == (start,)
                )
                for target in code.after[offset]
            )
        ]
        stops = frozenset((test.offset, *again))
        region = region_of(frame.f_code, start, stops)
        return cls(region, lambda: dict(frame.f_locals), frame.f_globals)

    @classmethod
    def call(cls, body: object) -> "Watch | None":
        """Of a function that is the body of a loop."""
        function = plain_function(body)
        if function is None:
            return None
        region = whole(function.__code__)
        given: dict[str, Any] = {}
        if isinstance(body, partial):
            parameters = function.__code__.co_varnames
            given = dict(zip(parameters, body.args, strict=False)) | body.keywords
        return cls(
            region, lambda: given | closure_values(function), function.__globals__
        )

    def rebound(self, used: Callable[[object], bool | None]) -> Rebound | None:
        """
        The first variable that is handed to the next iteration.

        `used` says whether the body uses what a variable held before, None where that
        cannot be told. It decides where one way through the body reads the variable
        first and another one binds it.
        """
        names = self._names()
        for name, before in self._locals.items():
            if name in names and not _same(before, names[name]):
                if self._handed_on(name, before, names[name], False, used):
                    return self._found(name, before, names[name])
        for name, cell, before in self._cells.values():
            try:
                now = cell.cell_contents
            except ValueError:
                continue
            if not _same(before, now):
                if self._handed_on(name, before, now, False, used):
                    return self._found(name, before, now)
        for name, before in self._globals.items():
            now = self._module.get(name)
            if not _same(before, now) and self._handed_on(
                name, before, now, True, used
            ):
                return self._found(name, before, now)
        return self._replaced(used)

    def _replaced(self, used: Callable[[object], bool | None]) -> Rebound | None:
        """
        What an attribute or item held and the body uses, where it holds another.

        What is held elsewhere too may be used from there.
        """
        names = self._names()
        after = {key: _places(value) for key, (_, value, _) in self._places.items()}
        held = {id(each) for now in (names, *after.values()) for each in now.values()}
        for key, (name, _, places) in self._places.items():
            for place, before in places.items():
                if after[key].get(place, before) is not before:
                    if id(before) not in held and used(before):
                        return Rebound(name + place, before, after[key][place], None)
        return None

    def _handed_on(
        self,
        name: str,
        before: object,
        now: object,
        is_global: bool,
        used: Callable[[object], bool | None],
    ) -> bool:
        uses = used(before)
        order = _Order(name, now, is_global, empty_loops=uses is not None)
        names = self._names()
        refers = is_global or (name in names and names[name] is now)
        first = order.of(_Scope(self._region, refers, names, self._module))
        if first.read and first.bound:
            return uses is not False
        return first.read

    def _found(self, name: str, before: object, now: object) -> Rebound:
        codes = (each.__code__ for each in self._functions)
        for region in (self._region, *map(whole, codes)):
            for offset in sorted(region.inside):
                instruction = flow_of(region.code).instructions[offset]
                if "STORE_" in instruction.opname and name in names_of(instruction):
                    where = place_in(region.code, instruction)
                    return Rebound(name, before, now, where)
        return Rebound(name, before, now, None)


def _places(value: Any) -> dict[str, object]:
    """The items or attributes of something that can change, as a kernel writes them."""
    kind: Any = value.__class__
    if kind is list:
        return {f"[{at}]": item for at, item in enumerate(value)}
    if kind is dict:
        return {f"[{key!r}]": item for key, item in value.items()}
    if isinstance(value, FunctionType | ModuleType | type):
        return {}
    held: dict[str, object] = getattr(value, "__dict__", {})
    return {f".{name}": item for name, item in held.items()}


def _functions(values: Any) -> list[FunctionType]:
    """The functions among values, and those that these close over."""
    found: dict[int, FunctionType] = {}
    left = list(values)
    while left:
        function = plain_function(left.pop())
        if function is not None and id(function) not in found:
            found[id(function)] = function
            left.extend(closure_values(function).values())
    return list(found.values())


def _same(one: object, other: object) -> bool:
    """Whether two bindings cannot be told apart."""
    if one is other:
        return True
    plain = isinstance(one, Number | str | bytes)
    return plain and type(one) is type(other) and bool(one == other)
