"""
A fast scanner for the text of instructions.

xDSL's lexer costs about 12 microseconds a token; instructions are the bulk of a
module, so their custom form is read here with one regular expression per token, and
xDSL's parser resumes behind it.
"""

import re
from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

from xdsl.ir import SSAValue
from xdsl.parser import AttrParser, Parser

from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import NumberedEnum

_SPACE: Final = re.compile(r"(?:\s+|//[^\n]*)*")
_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$.]*")
_INTEGER: Final = re.compile(r"-?(?:0x[0-9A-Fa-f]{1,16}|[0-9]{1,20})(?![0-9])")
_NUMBER: Final = re.compile(
    r"-?(?:inf\b|nan\b|[0-9]{1,400}(?:\.[0-9]{0,400})?(?:[eE][+-]?[0-9]{1,4})?)"
)
_VALUE: Final = re.compile(r"%([0-9]+|[A-Za-z_$.-][A-Za-z0-9_$.-]*)(?:#([0-9]{1,9}))?")
_ESCAPE: Final = re.compile(r"\\([0-9A-Fa-f]{2}|.)")
_UNQUOTABLE: Final = re.compile(r'["\\\x00-\x1f\x7f]')
_ESCAPED: Final = {"n": "\n", "t": "\t"}
_STRING: Final = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_SYMBOL: Final = re.compile(r"@([A-Za-z_][A-Za-z0-9_$.]*)")
_SHAPE: Final = re.compile(r"((?:[0-9]{1,12}x)*)([A-Za-z][A-Za-z0-9_]*)")
_PUNCTUATION: Final = re.compile(r"<-|->|>=|[<>()\[\]{},:=*+-]")
_DEPTH: Final = 64

EnumT = TypeVar("EnumT", bound=NumberedEnum)


class _Access(Parser):
    """Reaches the parts of a parser that its subclasses may touch."""

    @staticmethod
    def resume(parser: AttrParser, position: int) -> None:
        parser._resume_from(position)


def resume(parser: AttrParser, position: int) -> None:
    """Lets `parser` go on at `position`."""
    _Access.resume(parser, position)


def quoted(text: str) -> str:
    """A string literal; control characters as `\\0A`, which all readers know."""
    return '"' + _UNQUOTABLE.sub(_escaped, text) + '"'


def symbol_text(name: str) -> str:
    """`@name`, quoted where it is not an identifier."""
    return "@" + (name if _WORD.fullmatch(name) else quoted(name))


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    return "\\" + char if char in '"\\' else f"\\{ord(char):02X}"


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code, 16)) if len(code) == 2 else _ESCAPED.get(code, code)


class Cursor:
    """A position in the text being parsed, moved by reading tokens."""

    __slots__ = ("depth", "indices", "parser", "pos", "text", "values")

    def __init__(self, parser: AttrParser, text: str, pos: int):
        self.parser = parser
        self.text = text
        self.pos = pos
        self.depth = 0
        self.indices: list[SSAValue] | None = None
        self.values = parser.ssa_values if isinstance(parser, Parser) else None

    @staticmethod
    def at(parser: AttrParser) -> "Cursor":
        """A cursor where `parser` stands."""
        content = parser.lexer.input.content
        return Cursor(parser, content, parser.pos)

    def fail(self, message: str, start: int | None = None) -> NoReturn:
        """Reports a syntax error at `start` (default: here)."""
        self.skip_space()
        start = self.pos if start is None else start
        self.parser.raise_error(
            message, start, max(start, min(self.pos, len(self.text)))
        )

    def skip_space(self) -> None:
        """Passes over white space and comments."""
        match = _SPACE.match(self.text, self.pos)
        if match is not None:
            self.pos = match.end()

    def peek(self, text: str) -> bool:
        """Whether `text` comes next."""
        self.skip_space()
        return self.text.startswith(text, self.pos)

    def accept(self, text: str) -> bool:
        """Reads `text` if it comes next."""
        char = self.text[self.pos : self.pos + 1]
        if char.isspace() or char == "/":
            self.skip_space()
        if self.text.startswith(text, self.pos):
            self.pos += len(text)
            return True
        return False

    def expect(self, text: str) -> None:
        """Reads `text` or fails."""
        if not self.accept(text):
            self.fail(f"expected '{text}'")

    def _match(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        self.skip_space()
        match = pattern.match(self.text, self.pos)
        if match is None:
            self.fail(f"expected {what}")
        self.pos = match.end()
        return match

    def optional_word(self) -> str | None:
        """Reads a bare identifier if one comes next."""
        self.skip_space()
        match = _WORD.match(self.text, self.pos)
        if match is None:
            return None
        self.pos = match.end()
        return match.group()

    def keyword(self, text: str) -> bool:
        """Reads the bare identifier `text` if it comes next."""
        self.skip_space()
        match = _WORD.match(self.text, self.pos)
        if match is None or match.group() != text:
            return False
        self.pos = match.end()
        return True

    def word(self) -> str:
        """Reads a bare identifier."""
        return self._match(_WORD, "a name").group()

    def integer(self) -> int:
        """Reads an integer of at most 64 bits."""
        start = self.pos
        text = self._match(_INTEGER, "an integer").group()
        value = int(text, 16 if "x" in text else 10)
        if not -(1 << 63) <= value < 1 << 64:
            self.fail("integer does not fit in 64 bits", start)
        return value

    def number(self) -> int | float:
        """Reads an integer or a floating-point number (also `inf`, `nan`)."""
        text = self._match(_NUMBER, "a number").group()
        is_integer = text.lstrip("-").isdigit()
        return int(text) if is_integer and len(text) < 32 else float(text)

    def string(self) -> str:
        """Reads a quoted string."""
        body = self._match(_STRING, "a string").group(1)
        return _ESCAPE.sub(_unescaped, body)

    def symbol(self) -> str:
        """Reads `@name` or `@"any name"`."""
        if self.accept('@"'):
            self.pos -= 1
            return self.string()
        return self._match(_SYMBOL, "a symbol name").group(1)

    def shape(self) -> tuple[tuple[int, ...], str]:
        """Reads `128x512xf32`: the extents and the element type's name."""
        dims, element = self._match(_SHAPE, "a shape with an element type").groups()
        return tuple(int(dim) for dim in dims.split("x")[:-1]), element

    def enum(self, members: type[EnumT]) -> EnumT:
        """Reads the spelling of a member."""
        start = self.pos
        word = self.word()
        try:
            return members(word)
        except ValueError:
            spellings = ", ".join(member.value for member in members)
            self.fail(f"expected one of {spellings}, got '{word}'", start)

    def value(self) -> SSAValue:
        """Reads an SSA value that has been defined."""
        self.skip_space()
        start = self.pos
        match = self._match(_VALUE, "an SSA value")
        if self.values is None:
            self.fail("an SSA value cannot stand in an attribute", start)
        name, number = match.group(1), int(match.group(2) or 0)
        found = self.values.get(name)
        if found is None or number >= len(found):
            self.fail(
                f"value %{match.group()[1:]} is used before its definition", start
            )
        return found[number]

    def index(self) -> Affine:
        """Reads a loop index: `%i` in an operation, `d0` in an attribute."""
        if self.indices is None:
            text = self._match(_WORD, "a loop index").group()
            if text[0] not in "dl" or not text[1:].isdigit() or len(text) > 6:
                self.fail(f"expected a loop index (d0) or a lane (l0), got '{text}'")
            number = int(text[1:])
            return Affine.index(number) if text[0] == "d" else Affine.lane(number)
        value = self.value()
        if value not in self.indices:
            self.indices.append(value)
        return Affine.index(self.indices.index(value))

    def affine(self) -> Affine:
        """Reads a quasi-affine expression."""
        self.depth += 1
        if self.depth > _DEPTH:
            self.fail("expression is nested too deeply")
        total = self._signed_term()
        while True:
            if self.peek("->"):
                break
            if self.accept("+"):
                total = total + self._signed_term()
            elif self.accept("-"):
                total = total - self._signed_term()
            else:
                break
        self.depth -= 1
        return total

    def _signed_term(self) -> Affine:
        if self.accept("-"):
            return -self._term()
        return self._term()

    def _term(self) -> Affine:
        result = self._atom()
        while True:
            if self.accept("*"):
                if result.is_constant:
                    result = self._atom() * result.constant
                else:
                    result = result * self.integer()
            elif self.keyword("floordiv"):
                result = result.floordiv(self._divisor())
            elif self.keyword("mod"):
                result = result.mod(self._divisor())
            else:
                return result

    def _divisor(self) -> int:
        start = self.pos
        divisor = self.integer()
        if divisor <= 0:
            self.fail(f"divisor must be positive, got {divisor}", start)
        return divisor

    def _atom(self) -> Affine:
        self.skip_space()
        char = self.text[self.pos : self.pos + 1]
        if char == "(":
            self.pos += 1
            inner = self.affine()
            self.expect(")")
            return inner
        if char == "%":
            return self.index()
        if char == "l" or (char == "d" and self.indices is None):
            saved, self.indices = self.indices, None
            result = self.index()
            self.indices = saved
            return result
        return Affine(self.integer())


def index_names(names: list[str]) -> Callable[[int], str]:
    """Names loop indices by position for `Affine.render`."""
    return names.__getitem__
