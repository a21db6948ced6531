"""
Diagnostics: what is wrong, where it is, and how it is shown.

A diagnostic reads as in MLIR, `file:line:col: error: message`, with the source line and
a caret under it. The source is the text being parsed or the file that the location
names, which for a traced kernel is its `.py` file.
"""

import linecache
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import (
    DiagnosticException,
    MultipleSpansParseError,
    ParseError,
)

Severity = Literal["error", "warning", "note"]

_MAX_SOURCE_BYTES = 16 << 20
_MAX_COLUMNS = 160


class SourceLocation(NamedTuple):
    """A place in a text; line and column count from 1, as in MLIR."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


def python_place(file: str, line: int, offset: int | None) -> SourceLocation:
    """A place that Python names: it counts the bytes of UTF-8 in front of it."""
    if offset:
        text = linecache.getline(file, line)
        if not text.isascii():
            offset = len(text.encode()[:offset].decode(errors="ignore"))
    return SourceLocation(file, line, (offset or 0) + 1)


Where = Operation | Attribute | SourceLocation | None
"""What a diagnostic can be put at: an operation, its location, a place in a text."""


def source_location(location: Attribute) -> SourceLocation | None:
    """The first file position in a location attribute, or None where there is none."""
    match location:
        case FileLineColLoc():
            return SourceLocation(
                location.filename.data, location.line.data, location.column.data
            )
        case CallSiteLoc():
            return source_location(location.callee)
        case NameLoc():
            return source_location(location.location)
        case FusedLoc(locations=ArrayAttr() as fused):
            places = (source_location(part) for part in fused)
            return next((place for place in places if place is not None), None)
        case _:
            return None


def _callers(location: Attribute) -> tuple["Diagnostic", ...]:
    """A note for each call site, innermost first."""
    notes: list[Diagnostic] = []
    while isinstance(location, CallSiteLoc):
        location = location.caller
        if (place := source_location(location)) is not None:
            notes.append(Diagnostic("called from here", place, "note"))
    return tuple(notes)


@dataclass(frozen=True)
class Diagnostic:
    """One message at one place, with the notes that belong to it."""

    message: str
    location: SourceLocation | None = None
    severity: Severity = "error"
    notes: tuple[Self, ...] = ()

    @staticmethod
    def at(
        where: Where,
        message: str,
        severity: Severity = "error",
        notes: Sequence["Diagnostic"] = (),
    ) -> "Diagnostic":
        """
        A diagnostic at `where`; an operation puts `'name' op` before the message.
        """
        # xDSL breaks a line where it wraps an error in another.
        message = re.sub(r":\s*\n\s*", ": ", message.rstrip())
        if where is None or isinstance(where, SourceLocation):
            return Diagnostic(message, where, severity, tuple(notes))
        if isinstance(where, Operation):
            message = f"'{where.name}' op {message}"
            where = where.location
        return Diagnostic(
            message, source_location(where), severity, (*notes, *_callers(where))
        )

    @staticmethod
    def from_parse_error(error: ParseError) -> "Diagnostic":
        """The diagnostic of a text that xDSL's parser refused."""
        notes: list[Diagnostic] = []
        if isinstance(error, MultipleSpansParseError):
            for span, text in error.refs:
                message = text or error.ref_text or "see here"
                place = SourceLocation(*span.get_location())
                notes.append(Diagnostic(message.rstrip(":"), place, "note"))
        place = SourceLocation(*error.span.get_location())
        return Diagnostic(error.msg.strip(), place, notes=tuple(notes))

    def with_notes(self, *notes: "Diagnostic") -> "Diagnostic":
        """The same diagnostic with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def __str__(self) -> str:
        return render(self, Sources())


class DiagnosticError(DiagnosticException):
    """
    One or more diagnostics, raised by whoever refuses a kernel or a module.

    Args:
        where: the operation, location attribute or text position that is refused.
        message: MLIR's form: lower case, no full stop, a documented literal first.
        notes: further places that explain it.
    """

    diagnostics: tuple[Diagnostic, ...]

    def __init__(
        self, where: Where, message: str, *, notes: Sequence[Diagnostic] = ()
    ) -> None:
        super().__init__(message)
        self.diagnostics = (Diagnostic.at(where, message, notes=notes),)

    @classmethod
    def of(cls, diagnostics: Sequence[Diagnostic]) -> Self:
        """An error that carries diagnostics made elsewhere; there is at least one."""
        error = cls(None, diagnostics[0].message)
        error.diagnostics = tuple(diagnostics)
        return error

    @classmethod
    def from_exception(cls, error: DiagnosticException, where: Where = None) -> Self:
        """
        The same refusal with a place.

        xDSL's exceptions carry none: `where` is the operation or location the caller
        knows. One that already has diagnostics keeps them.
        """
        if isinstance(error, DiagnosticError):
            return cls.of(error.diagnostics)
        return cls(where, str(error))

    def __str__(self) -> str:
        sources = Sources()
        return "\n".join(render(each, sources) for each in self.diagnostics)


@dataclass
class Sources:
    """The texts that diagnostics quote, each split into lines once."""

    _lines: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def add(self, name: str, text: str) -> None:
        """Quote `text` for locations in `name`."""
        self._lines[name] = text.split("\n")

    def line(self, place: SourceLocation) -> str | None:
        """The line a location points into, or None where it cannot be read."""
        if place.file not in self._lines:
            self._lines[place.file] = _read_lines(place.file)
        lines = self._lines[place.file]
        return lines[place.line - 1] if 0 < place.line <= len(lines) else None


def _read_lines(name: str) -> list[str]:
    """The lines of a file that a location names; none where it is not a text file."""
    if name.startswith("<"):  # a cell of a notebook, a doctest: Python knows its text
        return [line.rstrip("\n") for line in linecache.getlines(name)]
    try:
        path = Path(name)
        if not path.is_file() or path.stat().st_size > _MAX_SOURCE_BYTES:
            return []
        return path.read_bytes().decode("utf-8-sig", "replace").split("\n")
    except (OSError, ValueError):  # a ValueError is a NUL in the name
        return []


def render(diagnostic: Diagnostic, sources: Sources) -> str:
    """The diagnostic and its notes as text, without a newline at the end."""
    place = diagnostic.location
    head = "" if place is None else f"{place}: "
    parts = [f"{head}{diagnostic.severity}: {diagnostic.message}"]
    if place is not None and (line := sources.line(place)) is not None:
        parts.append(_excerpt(line.rstrip("\r"), place.column))
    parts += (render(note, sources) for note in diagnostic.notes)
    return "\n".join(parts)


def _excerpt(line: str, column: int) -> str:
    """The line with a caret under `column`; of a long line, the part around it."""
    caret = min(max(column - 1, 0), len(line))
    start, mark = 0, ""
    if len(line) > _MAX_COLUMNS:
        start = max(0, caret - _MAX_COLUMNS // 2)
        mark = "..." if start else ""
    shown = mark + line[start : start + _MAX_COLUMNS]
    # Control characters of a damaged file must not reach the terminal.
    shown = "".join(c if c.isprintable() or c == "\t" else "\ufffd" for c in shown)
    pad = re.sub(r"[^\t]", " ", shown[: caret - start + len(mark)])
    return f"{shown}\n{pad}^"
