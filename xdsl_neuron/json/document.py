"""
JSON text as a document whose every value knows its place.

Strict where Python's reader is lax: no NaN, no key twice, no number out of range, no
nesting beyond a limit. Errors are `DiagnosticError`s with the line of the enclosing
object and the JSON path.
"""

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias, TypeVar

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from xdsl_neuron.diagnostics import DiagnosticError, SourceLocation
from xdsl_neuron.isa import NumberedEnum

MAX_DEPTH: Final = 500
"""Objects and arrays inside each other."""

_MAX_DIGITS = 40
_STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]]|NaN|-?Infinity', re.DOTALL)

EnumT = TypeVar("EnumT", bound=NumberedEnum)


class Object(dict[str, "Json"]):
    """A JSON object and the offset of its brace in the text."""

    start: int = 0


@dataclass(frozen=True)
class Huge:
    """An integer literal that no field can hold, kept for the message."""

    digits: int


Json: TypeAlias = (
    "bool | int | float | str | Huge | list[Json] | dict[str, Json] | None"
)
"""A JSON value; what is read has an `Object` for each object."""


class Text:
    """The text of a document: its name and its lines."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._lines = [0, *(m.end() for m in re.finditer("\n", text))]
        self._file = StringAttr(name)

    def place(self, offset: int) -> SourceLocation:
        """The line and column of an offset."""
        line = bisect_right(self._lines, offset)
        return SourceLocation(self.name, line, offset - self._lines[line - 1] + 1)

    def location(self, offset: int) -> FileLineColLoc:
        """The same as an operation's location."""
        place = self.place(offset)
        return FileLineColLoc(self._file, IntAttr(place.line), IntAttr(place.column))

    def fail(self, offset: int, message: str) -> NoReturn:
        """Refuses the text."""
        raise DiagnosticError(self.place(offset), message)

    def parse(self) -> Json:
        """
        The document.

        Raises `DiagnosticError` where it is not JSON, or JSON that has no one meaning.
        """
        starts = iter(self._scan())

        def objects(pairs: list[tuple[str, Json]]) -> Object:
            found = Object(pairs)
            found.start = next(starts, 0)
            if len(found) != len(pairs):
                names = [name for name, _ in pairs]
                twice = next(name for name in names if names.count(name) > 1)
                self.fail(found.start, f"key {twice!r} is given twice in one object")
            return found

        def integer(literal: str) -> int | Huge:
            large = len(literal) > _MAX_DIGITS
            return Huge(len(literal)) if large else int(literal)

        try:
            return json.loads(self.text, object_pairs_hook=objects, parse_int=integer)
        except json.JSONDecodeError as error:
            self.fail(min(error.pos, len(self.text)), f"not JSON: {error.msg}")

    def _scan(self) -> list[int]:
        """Offsets of opening braces, in the order in which their objects end."""
        found: list[int] = []
        stack: list[int] = []
        for match in _STRUCTURE.finditer(self.text):
            token = match.group()
            if token in ("{", "["):
                stack.append(match.start())
                if len(stack) > MAX_DEPTH:
                    self.fail(match.start(), f"nested more than {MAX_DEPTH} deep")
            elif token in ("}", "]") and stack:
                start = stack.pop()
                if token == "}":
                    found.append(start)
            elif token[0] in "NI-":
                self.fail(match.start(), f"not JSON: {token} is not a number")
        return found


class Node:
    """A value of a document with its path; every accessor checks what it returns."""

    __slots__ = ("path", "start", "text", "value")

    def __init__(self, text: Text, value: Json, path: str, start: int) -> None:
        self.text = text
        self.value = value
        self.path = path
        self.start = value.start if isinstance(value, Object) else start

    def fail(self, message: str) -> NoReturn:
        """Refuses the value."""
        where = f"{self.path}: " if self.path else ""
        self.text.fail(self.start, f"{where}{message}")

    def _expected(self, what: str) -> NoReturn:
        match self.value:
            case dict():
                shown = "an object"
            case list():
                shown = "an array"
            case Huge(digits):
                shown = f"a number of {digits} digits"
            case scalar:
                shown = json.dumps(scalar)
        shown = shown if len(shown) <= 60 else f"{shown[:60]}..."
        self.fail(f"expected {what}, got {shown}")

    def object(self) -> dict[str, Json]:
        """The value as an object."""
        if not isinstance(self.value, dict):
            self._expected("an object")
        return self.value

    def child(self, key: str) -> "Node":
        """The value of a key that must be there."""
        found = self.get(key)
        if found is None:
            self.object()
            self.fail(f"key '{key}' is missing")
        return found

    def get(self, key: str) -> "Node | None":
        """The value of a key, None where it is absent."""
        found = self.object()
        if key not in found:
            return None
        path = f"{self.path}.{key}" if self.path else key
        return Node(self.text, found[key], path, self.start)

    def array(self, message: str | None = None) -> list["Node"]:
        """The elements; `message` is the documented literal of what is no array."""
        if not isinstance(self.value, list):
            if message is not None:
                self.fail(message)
            self._expected("an array")
        return [
            Node(self.text, item, f"{self.path}[{number}]", self.start)
            for number, item in enumerate(self.value)
        ]

    def elements(self, key: str) -> list["Node"]:
        """The elements of a key's array; none where the key is absent."""
        found = self.get(key)
        return [] if found is None else found.array()

    def items(self) -> Iterator[tuple[str, "Node"]]:
        """Keys and values of an object."""
        for key in self.object():
            yield key, self.child(key)

    def integer(self, low: int = -(1 << 63), high: int = (1 << 63) - 1) -> int:
        """An integer in a range, by default that of 64 bits."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int):
            self._expected("an integer")
        if not low <= value <= high:
            self.fail(f"{value} is not in {low} .. {high}")
        return value

    def boolean(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            self._expected("true or false")
        return self.value

    def string(self) -> str:
        """Text that can be shown and written."""
        if not isinstance(self.value, str):
            self._expected("a string")
        if not all(char.isprintable() for char in self.value):
            self.fail("a string has characters that cannot be printed")
        return self.value

    def name(self) -> str:
        """A name: a string that is not empty."""
        found = self.string()
        if not found:
            self.fail("a name is empty")
        return found

    def integers(self) -> list[int]:
        """An array of integers."""
        return [item.integer() for item in self.array()]

    def member(self, members: type[EnumT]) -> EnumT:
        """An enumeration's member by its name."""
        value = self.string()
        try:
            return members(value)
        except ValueError:
            names = ", ".join(member.value for member in members)
            self.fail(f"expected one of {names}, got '{value}'")

    def number(self) -> int | float:
        """A finite number."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            self._expected("a number")
        if isinstance(value, float) and not math.isfinite(value):
            self.fail("number out of range")
        return value


def parse_document(text: str, name: str) -> Node:
    """
    The root of a JSON text.

    Raises `DiagnosticError` where it is not JSON.
    """
    document = Text(name, text)
    return Node(document, document.parse(), "", 0)
