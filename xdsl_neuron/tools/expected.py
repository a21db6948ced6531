"""
`--verify-diagnostics`: the diagnostics that a test file says it expects.

As in mlir-opt, a comment names a diagnostic and the line it belongs to:

    // expected-error @below {{part of the message}}
    // expected-error @+2 {{...}}      two lines further down
    // expected-error-re {{exactly {{[0-9]+}} of them}}
    // expected-error @unknown {{...}}  one without a place in this file

`@above` and `@below` skip other such comments. Every error and warning must be
expected; a note may be. Unlike in mlir-opt, a comment that is nearly one is an error.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl_neuron.diagnostics import Diagnostic, SourceLocation

_DIRECTIVE = re.compile(
    r"expected-(?P<kind>error|warning|note|remark)(?P<re>-re)?\s*"
    r"(?:@(?P<where>[+-][0-9]+|above|below|unknown))?\s*\{\{(?P<text>.*)\}\}\s*$"
)
_NEARLY = re.compile(r"//.*expected-(error|warning|note|remark)\b")


@dataclass(frozen=True)
class Expectation:
    """One comment: the diagnostic of `kind` on `line` whose message has `pattern`."""

    kind: str
    line: int | None
    pattern: re.Pattern[str]
    text: str
    comment: SourceLocation

    def accepts(self, found: Diagnostic) -> bool:
        """Whether this is the diagnostic that the comment names."""
        place = found.location
        here = place is not None and place.file == self.comment.file
        line = place.line if place is not None and here else None
        return (
            found.severity == self.kind
            and line == self.line
            and self.pattern.search(found.message) is not None
        )


def mismatches(
    text: str, name: str, diagnostics: Iterable[Diagnostic]
) -> list[Diagnostic]:
    """
    What differs between the expectations in `text` and the diagnostics of it.

    Args:
        text: the input; its first line is line 1 of the locations.
        name: the file that the locations name.
        diagnostics: what the input gave, in order.
    """
    errors: list[Diagnostic] = []
    expected = list(_expectations(text, name, errors))
    for found in _flat(diagnostics):
        match = next((e for e in expected if e.accepts(found)), None)
        if match is not None:
            expected.remove(match)
        elif found.severity != "note":
            message = f"unexpected {found.severity}: {found.message}"
            errors.append(Diagnostic(message, found.location))
    for missing in expected:
        message = f'expected {missing.kind} "{missing.text}" was not produced'
        errors.append(Diagnostic(message, missing.comment))
    return errors


def _flat(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    for diagnostic in diagnostics:
        yield diagnostic
        yield from _flat(diagnostic.notes)


def _expectations(
    text: str, name: str, errors: list[Diagnostic]
) -> Iterator[Expectation]:
    """The expectations in a text; a malformed one is added to `errors`."""
    lines = text.split("\n")
    plain = [_NEARLY.search(line) is None for line in lines]
    for index, line in enumerate(lines):
        if plain[index]:
            continue
        match = _DIRECTIVE.search(line)
        if match is None:
            column = line.index("expected-") + 1
            errors.append(
                Diagnostic(
                    "malformed expectation, write: "
                    "expected-error @below {{part of the message}}",
                    SourceLocation(name, index + 1, column),
                )
            )
            continue
        yield Expectation(
            match["kind"],
            _line(match["where"], index, plain),
            _pattern(match["text"], match["re"] is not None),
            match["text"],
            SourceLocation(name, index + 1, match.start() + 1),
        )


def _line(where: str | None, index: int, plain: Sequence[bool]) -> int | None:
    """The line that a comment on line `index + 1` is about."""
    match where:
        case None:
            return index + 1
        case "unknown":
            return None
        case "below":
            after = (i for i in range(index + 1, len(plain)) if plain[i])
            return next(after, len(plain)) + 1
        case "above":
            before = (i for i in range(index - 1, -1, -1) if plain[i])
            return next(before, -1) + 1
        case _:
            return index + 1 + int(where)


def _pattern(text: str, has_regex: bool) -> re.Pattern[str]:
    """The text literally, except that `{{...}}` in an `-re` comment is a regex."""
    if not has_regex:
        return re.compile(re.escape(text))
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return re.compile(
        "".join(f"(?:{p})" if i % 2 else re.escape(p) for i, p in enumerate(parts))
    )
