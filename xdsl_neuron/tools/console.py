"""
What the commands share: reading, writing, reporting, exit codes.

Exit codes: 0 fine, 1 the input was refused, 2 the command line was wrong.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from xdsl.utils.exceptions import DiagnosticException

from xdsl_neuron import __version__
from xdsl_neuron.diagnostics import (
    Diagnostic,
    DiagnosticError,
    SourceLocation,
    Sources,
    render,
)

STDIN_NAME = "<stdin>"


class ExitCode(IntEnum):
    OK = 0
    REFUSED = 1
    USAGE = 2
    INTERRUPTED = 130


def versions(tool: str) -> str:
    """What `--version` prints: our version, and that of xDSL."""
    from importlib.metadata import version

    return f"{tool} {__version__} built on xDSL {version('xdsl')}"


class ShowVersion(argparse.Action):
    """`--version`, worked out when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **kwargs: Any) -> None:
        super().__init__(
            option_strings, argparse.SUPPRESS, nargs=0, help="print the version"
        )

    def __call__(self, parser: argparse.ArgumentParser, *rest: object) -> None:
        print(versions(parser.prog))
        parser.exit()


def run_command(body: Callable[[], int]) -> int:
    """Run a command's body; what it refuses becomes diagnostics and an exit code."""
    if (reconfigure := getattr(sys.stdout, "reconfigure", None)) is not None:
        reconfigure(encoding="utf-8")
    try:
        return body()
    except DiagnosticException as error:
        report(DiagnosticError.from_exception(error).diagnostics, Sources())
        return ExitCode.REFUSED
    except BrokenPipeError:
        # The reader left; Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return ExitCode.REFUSED
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def report(diagnostics: Iterable[Diagnostic], sources: Sources) -> None:
    """Show diagnostics on stderr."""
    for diagnostic in diagnostics:
        print(render(diagnostic, sources), file=sys.stderr)


def read_text(path: str | None) -> tuple[str, str]:
    """
    The text of a file, or of stdin for None and "-", and the name to locate it by.

    Raises:
        DiagnosticError: it cannot be read or is not UTF-8.
    """
    name = STDIN_NAME if path in (None, "-") else str(path)
    try:
        data = (
            sys.stdin.buffer.read() if name == STDIN_NAME else Path(name).read_bytes()
        )
    except (OSError, ValueError) as error:
        raise DiagnosticError(
            None, f"cannot read '{name}': {_reason(error)}"
        ) from error
    try:
        return data.decode("utf-8-sig"), name
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before.rpartition(b"\n")[2].decode(errors="replace")) + 1
        raise DiagnosticError(
            SourceLocation(name, line, column),
            f"invalid UTF-8: byte 0x{data[error.start]:02x} ({error.reason})",
        ) from error


def write_text(path: str | None, text: str) -> None:
    """
    Write to a file, or to stdout for None and "-"; a file is replaced as a whole.

    Raises:
        DiagnosticError: it cannot be written; an existing file is then unchanged.
    """
    if path is None or path == "-":
        _print_whole(text)
        return
    try:
        target = Path(path).resolve()
        if target.exists() and not target.is_file():  # a device, a pipe
            target.write_text(text, encoding="utf-8")
            return
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        try:
            partial.write_text(text, encoding="utf-8")
            if target.exists():
                shutil.copymode(target, partial)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise DiagnosticError(
            None, f"cannot write '{path}': {_reason(error)}"
        ) from error


def _print_whole(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        # What is left in the buffer would be tried again when stdout is closed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise DiagnosticError(
            None, f"cannot write to standard output: {_reason(error)}"
        ) from error


def _reason(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


class CrashReport:
    """
    Turns an exception that no one foresaw into a message and a reproducer.

    Args:
        command: what to type before the reproducer's name to see the failure again.
        text: the input; the reproducer is this text, with the traceback after it.
        directory: where to put the reproducer; the temporary directory if None.
    """

    crashed: bool = False

    def __init__(self, command: str, text: str, directory: str | None) -> None:
        self._command = command
        self._text = text
        self._directory = directory

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        foreseen = (DiagnosticException, BrokenPipeError)
        if not isinstance(error, Exception) or isinstance(error, foreseen):
            return False
        self.crashed = True
        tool = self._command.partition(" ")[0]
        message = f"error: internal error in {tool}: {type(error).__name__}: {error}"
        try:
            path = self._write_reproducer(error)
            note = f"reproducer written to '{path}'; run: {self._command} {path}"
        except OSError as problem:
            note = f"no reproducer could be written: {_reason(problem)}"
        print(f"{message}\nnote: {note}", file=sys.stderr)
        return True

    def _write_reproducer(self, error: Exception) -> str:
        import tempfile
        import traceback

        # Notes hold xDSL's print of the whole module; the input is in the file anyway.
        error.__notes__ = []
        trace = "".join(traceback.format_exception(error))
        comments = "\n".join(f"// {line}" for line in trace.splitlines())
        directory = self._directory
        if directory is not None:
            Path(directory).mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w",
            prefix="neuron-reproducer-",
            suffix=".mlir",
            dir=directory,
            delete=False,
            encoding="utf-8",
        ) as file:
            arguments = self._command.partition(" ")[2]
            file.write(f"// configuration: {arguments}\n")
            file.write(f"{self._text.strip()}\n\n{comments}\n")
        return file.name
