"""Running a Python file of kernels as a script, and what it may raise."""

import os
import runpy
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from xdsl.utils.exceptions import DiagnosticException

from xdsl_neuron.diagnostics import (
    Diagnostic,
    DiagnosticError,
    SourceLocation,
    Sources,
    python_place,
    render,
)
from xdsl_neuron.tools.console import ExitCode
from xdsl_neuron.tracer.calls import notes_of, raised

_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_INSTALLED: Final = ("site-packages", "dist-packages", f"lib{os.sep}python")


class ScriptErrors:
    """
    Shows what a script raises as a diagnostic at the script's line.

    `code` is the exit code afterwards. Errors that already are diagnostics, and
    `KeyboardInterrupt`, pass through.
    """

    code: int = ExitCode.OK

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if isinstance(error, SystemExit):
            self.code = _exit_code(error)
            return True
        if not isinstance(error, Exception):
            return False
        if isinstance(error, DiagnosticException | BrokenPipeError):
            return False
        self.code = ExitCode.REFUSED
        place = failing_line(error, trace)
        message = error.msg if isinstance(error, SyntaxError) else str(error)
        notes = callers_of(trace, place)
        text = f"{type(error).__name__}: {message}"
        diagnostic = Diagnostic(text, place, notes=notes)
        print(render(diagnostic, Sources()), file=sys.stderr)
        return True


def _exit_code(error: SystemExit) -> int:
    """What the interpreter would exit with."""
    if error.code is None:
        return ExitCode.OK
    if isinstance(error.code, int):
        return error.code
    print(error.code, file=sys.stderr)
    return ExitCode.REFUSED


def failing_line(
    error: BaseException, trace: TracebackType | None
) -> SourceLocation | None:
    """The innermost line that is the user's: not ours, not a library's."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return SourceLocation(error.filename, error.lineno or 1, error.offset or 1)
    for frame in reversed(traceback.extract_tb(trace)):
        name = frame.filename
        library = any(part in name for part in _INSTALLED)
        if not (name.startswith((_PACKAGE, "<frozen ")) or library):
            return python_place(name, frame.lineno or 1, frame.colno)
    return None


def callers_of(
    trace: TracebackType | None, place: SourceLocation | None
) -> tuple[Diagnostic, ...]:
    """Notes that lead from a place to the kernel, where a kernel's call came there."""
    calls = raised(trace)
    return notes_of(calls) if calls and calls[0].place == place else ()


def run_script(
    path: str, arguments: Sequence[str], names: dict[str, Any] | None = None
) -> int:
    """
    Run a Python file as `python file arguments` would; the result is the exit code.

    What the file has defined in the end is added to `names`.

    Raises:
        DiagnosticError: the file cannot be read.
    """
    try:
        Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise DiagnosticError(None, f"cannot read '{path}': {reason}") from error
    saved = sys.argv, list(sys.path)
    sys.argv = [path, *arguments]
    sys.path.insert(0, str(Path(path).resolve().parent))
    errors = ScriptErrors()
    try:
        with errors:
            found = runpy.run_path(path, run_name="__main__")
            if names is not None:
                names.update(found)
    finally:
        sys.argv, sys.path[:] = saved
    return errors.code
