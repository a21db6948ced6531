"""How diagnostics are made and shown."""

from pathlib import Path

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.utils.exceptions import PassFailedException, VerifyException

from xdsl_neuron.diagnostics import (
    Diagnostic,
    DiagnosticError,
    SourceLocation,
    Sources,
    render,
    source_location,
)

PLACE = SourceLocation("k.mlir", 2, 3)


def location(file: str, line: int, column: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))


def op_at(where: LocationAttr) -> test.TestOp:
    op = test.TestOp()
    op.location = where
    return op


def shown(text: str, column: int) -> list[str]:
    """The excerpt of a one-line text."""
    sources = Sources()
    sources.add("k.mlir", text)
    place = SourceLocation("k.mlir", 1, column)
    return render(Diagnostic("bad", place), sources).split("\n")[1:]


def test_a_place_in_each_kind_of_location() -> None:
    here = location("k.mlir", 2, 3)
    there = location("x.py", 7, 1)
    assert source_location(here) == PLACE
    assert source_location(UnknownLoc()) is None
    assert source_location(NameLoc(StringAttr("n"), here)) == PLACE
    assert source_location(NameLoc(StringAttr("n"), NoneAttr())) is None
    assert source_location(FusedLoc((UnknownLoc(), here, there), NoneAttr())) == PLACE
    assert source_location(CallSiteLoc(here, there)) == PLACE


def test_an_operation_is_named_and_its_callers_are_noted() -> None:
    op = op_at(CallSiteLoc(location("a.py", 1, 2), location("b.py", 3, 4)))
    assert Diagnostic.at(op, "is wrong") == Diagnostic(
        "'test.op' op is wrong",
        SourceLocation("a.py", 1, 2),
        notes=(Diagnostic("called from here", SourceLocation("b.py", 3, 4), "note"),),
    )


def test_an_error_reads_its_source(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text("import nki\n  nki.isa.memset(t, 0)\n")
    note = Diagnostic("declared here", SourceLocation(str(kernel), 1, 1), "note")
    error = DiagnosticError(location(str(kernel), 2, 3), "no engine", notes=[note])
    assert str(error) == (
        f"{kernel}:2:3: error: no engine\n  nki.isa.memset(t, 0)\n  ^\n"
        f"{kernel}:1:1: note: declared here\nimport nki\n^"
    )


@pytest.mark.parametrize("file", ["absent.py", "/", "\0", "", "/dev/zero"])
def test_a_source_that_cannot_be_read_is_left_out(file: str) -> None:
    error = DiagnosticError(SourceLocation(file, 1, 1), "bad")
    assert str(error) == f"{file}:1:1: error: bad"


def test_positions_outside_the_source() -> None:
    sources = Sources()
    sources.add("k.mlir", "ab")
    for line in (0, 2):
        place = SourceLocation("k.mlir", line, 1)
        assert render(Diagnostic("bad", place), sources).count("\n") == 0
    assert shown("ab", 0) == ["ab", "^"]
    assert shown("ab", 9) == ["ab", "  ^"]


def test_excerpts() -> None:
    assert shown("\ta b", 4) == ["\ta b", "\t  ^"]
    assert shown("a\x1b[31m", 1) == ["a\ufffd[31m", "^"]
    line, caret = shown("x" * 500 + "Y" + "x" * 500, 501)
    assert len(line) == 163
    assert line[caret.index("^")] == "Y"
    line, caret = shown("x" * 30 + "Y" + "x" * 500, 31)
    assert line[caret.index("^")] == "Y"


def test_conversion_of_xdsl_exceptions() -> None:
    op = op_at(location("k.mlir", 2, 3))
    error = DiagnosticError.from_exception(VerifyException("bad"), op)
    assert error.diagnostics == (Diagnostic("'test.op' op bad", PLACE),)
    assert DiagnosticError.from_exception(error).diagnostics == error.diagnostics
    bare = DiagnosticError.from_exception(PassFailedException("bad: \n  worse\n"))
    assert str(bare) == "error: bad: worse"
