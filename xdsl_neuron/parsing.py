"""
Parsing with locations, bounds on hostile text, and a cache of types.

xDSL's parser fills in a location only from an explicit `loc(...)`. Here every operation
has one, that of its name, as in MLIR; and a text that cannot be parsed gives a
`ParseError` with a place, whatever exception xDSL's parser met it with.
"""

import re
import sys
from bisect import bisect_right
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache
from typing import NoReturn

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, TypeAttribute
from xdsl.parser import Parser, ParserState
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Position, Span, Token
from xdsl.utils.mlir_lexer import (
    KIND_BY_PUNCTUATION_SPELLING,
    MLIRLexer,
    MLIRToken,
    MLIRTokenKind,
)

from xdsl_neuron.diagnostics import Diagnostic, DiagnosticError
from xdsl_neuron.upstream import UPSTREAM_FAILURES, raised_by_xdsl

DEFAULT_MAX_NESTING = 100
"""Regions and attributes inside each other; IR that means something stays below 20."""

MAX_DIGITS = 1000
"""Digits of a number literal; Python itself refuses to print more than 4300."""

_FRAMES_PER_LEVEL = 40
"""Python frames that parsing, printing or cloning one level of nesting may take."""

_BODY = r"""<(?:[^<>"-]|->?|<(?:[^<>"-]|->?)*>)*>"""
_DIALECT_ATTRIBUTE = re.compile(rf"[!#][\w.$-]+{_BODY}")


_int_attr = lru_cache(maxsize=1 << 16)(IntAttr)


@contextmanager
def recursion_room(max_nesting: int) -> Generator[None]:
    """Let Python recurse deeply enough for IR nested `max_nesting` deep."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 1000 + _FRAMES_PER_LEVEL * max_nesting))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def parse_module(
    ctx: Context,
    text: str,
    name: str,
    *,
    implicit_module: bool = True,
    max_nesting: int = DEFAULT_MAX_NESTING,
) -> ModuleOp:
    """
    The module in `text`, its operations located in the file `name`.

    Raises:
        DiagnosticError: the text cannot be parsed.
    """
    try:
        with recursion_room(max_nesting):
            parser = LocatedParser(ctx, text, name, max_nesting=max_nesting)
            return parser.parse_module(implicit_module)
    except ParseError as error:
        raise DiagnosticError.of([Diagnostic.from_parse_error(error)]) from error


_PUNCTUATION = r"[:,(){}\[\]<>=+/*?|]"
_COMMON_TOKEN = re.compile(
    rf"""(?:\s|//[^\n]*)*+(?:
        (?P<word>[a-zA-Z_][\w$.]*)
        |(?P<name>[%\#!^](?:[0-9]+|[a-zA-Z$._][\w$.-]*))
        |(?P<integer>[0-9]{{1,99}})(?![0-9.x])
        |(?P<punctuation>->|(?!{{-\#){_PUNCTUATION})
    )""",
    re.ASCII | re.VERBOSE,
)
_NAMES = {
    "%": MLIRTokenKind.PERCENT_IDENT,
    "#": MLIRTokenKind.HASH_IDENT,
    "!": MLIRTokenKind.EXCLAMATION_IDENT,
    "^": MLIRTokenKind.CARET_IDENT,
}


class FastLexer(MLIRLexer):
    """
    xDSL's lexer, with one pattern for the common tokens and without its traps.

    xDSL's takes any numeric character and any length for a number, and its pattern for
    a string takes exponential time on one that is not closed.
    """

    _unescaped_characters_regex = re.compile(
        r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"'
    )

    def lex(self) -> MLIRToken:
        match = _COMMON_TOKEN.match(self.input.content, self.pos)
        if match is None:
            return super().lex()
        group = match.lastgroup
        assert group is not None
        start, self.pos = match.span(group)
        match group:
            case "word":
                kind = MLIRTokenKind.BARE_IDENT
            case "name":
                kind = _NAMES[self.input.content[start]]
            case "integer":
                kind = MLIRTokenKind.INTEGER_LIT
            case _:
                kind = KIND_BY_PUNCTUATION_SPELLING[match.group(group)]
        return Token(kind, Span(start, self.pos, self.input))

    def _lex_number(self, start_pos: Position) -> MLIRToken:
        if not self.input.content[start_pos].isascii():
            raise ParseError(
                Span(start_pos, start_pos + 1, self.input),
                f"unexpected character {self.input.content[start_pos]!r}",
            )
        token = super()._lex_number(start_pos)
        if len(token.span) > MAX_DIGITS:
            raise ParseError(
                token.span,
                f"number literal with {len(token.span)} digits, at most {MAX_DIGITS} "
                "are supported",
            )
        return token


class LocatedParser(Parser):
    """
    Gives every operation without a `loc(...)` the position of its name.

    Args:
        max_nesting: how deep regions and attributes may be nested; the caller makes
            room for it with `recursion_room`.
    """

    def __init__(
        self,
        ctx: Context,
        input: str,
        name: str,
        *,
        max_nesting: int = DEFAULT_MAX_NESTING,
    ) -> None:
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(FastLexer(Input(input, name)))
        self._text = input
        self._file = StringAttr(name)
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", input))]
        self._name_positions: list[Position] = []
        self._max_nesting = max_nesting
        self._depth = 0
        self._known: dict[str, Attribute] = {}

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        try:
            if self._current_token.kind is MLIRTokenKind.EOF:
                self.raise_error("expected an operation, but the input is empty")
            module = super().parse_module(allow_implicit_module)
        except ParseError as error:
            if error.msg.startswith("values used but not defined"):
                raise DiagnosticError.of(self._undefined_values()) from error
            if error.msg == "Could not parse entire input!":
                self.raise_error("expected an operation", self._current_token.span)
            raise
        except RecursionError:
            self._raise_too_deep()
        except UPSTREAM_FAILURES as error:
            if not raised_by_xdsl(error):
                raise
            reason = str(error) or type(error).__name__
            self.raise_error(f"malformed input: {reason}")
        if module.location is UNKNOWN_LOC:
            module.location = self._location(0)
        return module

    def parse_operation(self) -> Operation:
        depth = len(self._name_positions)
        try:
            op = super().parse_operation()
        except VerifyException as error:
            # An IRDL constraint or the invariant of a type: both carry no place.
            self.raise_error(str(error), self._name_positions[-1], self.pos)
        position = self._name_positions[depth]
        del self._name_positions[depth:]
        if op.location is UNKNOWN_LOC:
            op.location = self._location(position)
        return op

    def parse_optional_region(
        self, arguments: Sequence[Parser.Argument] | None = None
    ) -> Region | None:
        self._enter()
        region = super().parse_optional_region(arguments)
        self._depth -= 1
        return region

    def parse_optional_type(self) -> TypeAttribute | None:
        start = self.pos
        if isinstance(known := self._parse_known(), TypeAttribute):
            return known
        self._enter()
        result = super().parse_optional_type()
        self._depth -= 1
        self._remember(start, result)
        return result

    def parse_optional_attribute(self) -> Attribute | None:
        start = self.pos
        if (known := self._parse_known()) is not None:
            return known
        self._enter()
        result = super().parse_optional_attribute()
        self._depth -= 1
        self._remember(start, result)
        return result

    def _parse_block(self) -> Block:
        if self._current_token.kind is not MLIRTokenKind.CARET_IDENT:
            self.raise_error("expected an operation, a block or '}'")
        return super()._parse_block()

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        self._name_positions.append(self.pos)
        return results

    def _get_op_by_name(self, name: str) -> type[Operation]:
        known = self.ctx.get_optional_op(
            name, dialect_stack=self._parser_state.dialect_stack
        )
        if known is not None:
            return known
        position = self._name_positions[-1]
        self.raise_error(self._unknown_op(name), position, position + len(name))

    def _unknown_op(self, name: str) -> str:
        dialect = name.partition(".")[0]
        if "." not in name or dialect not in self.ctx.registered_dialect_names:
            return f"operation '{name}' is not registered: unknown dialect '{dialect}'"
        names = [op.name for op in self.ctx.loaded_ops]
        close = get_close_matches(name, names, 1)
        hint = f", did you mean '{close[0]}'?" if close else ""
        return f"operation '{name}' is not registered{hint}"

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > self._max_nesting:
            self._raise_too_deep()

    def _raise_too_deep(self) -> NoReturn:
        self.raise_error(f"nested more than {self._max_nesting} deep")

    def _parse_known(self) -> Attribute | None:
        """The dialect attribute or type whose very text has been parsed before."""
        if self._text[self.pos : self.pos + 1] not in ("!", "#"):
            return None
        match = _DIALECT_ATTRIBUTE.match(self._text, self.pos)
        if match is None or (known := self._known.get(match.group())) is None:
            return None
        self._resume_from(match.end())
        return known

    def _remember(self, start: Position, attribute: Attribute | None) -> None:
        if attribute is None or self._text[start] not in "!#":
            return
        match = _DIALECT_ATTRIBUTE.match(self._text, start)
        if match is not None and not self._text[match.end() : self.pos].strip():
            self._known[match.group()] = attribute

    def _location(self, position: Position) -> FileLineColLoc:
        line = bisect_right(self._line_starts, position)
        column = position - self._line_starts[line - 1] + 1
        # The constructor verifies what is right here, in ten times the time.
        location = FileLineColLoc.__new__(FileLineColLoc)
        object.__setattr__(location, "filename", self._file)
        object.__setattr__(location, "line", _int_attr(line))
        object.__setattr__(location, "column", _int_attr(column))
        return location

    def _undefined_values(self) -> list[Diagnostic]:
        """An error at the first use of each value that no operation defines."""
        errors: list[Diagnostic] = []
        for name, references in self.forward_ssa_references.items():
            for value in references.values():
                use = next(iter(value.uses), None)
                where = self._location(self.pos) if use is None else use.operation
                errors.append(Diagnostic.at(where, f"uses %{name}, not defined"))
        return errors
