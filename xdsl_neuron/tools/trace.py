"""
`neuron-trace`: trace a kernel for given shapes and print the `penguin` module.

    neuron-trace matmul.py:matmul --arg lhsT=bf16[512,512] --arg rhs=bf16[512,512]
    neuron-trace add.py:add --arg a=f32[300,1000] --arg b=f32[300,1000] --grid 3

The file is executed with `nki` and `neuronxcc.nki` meaning ours. What the kernel is
refused with is shown at its line; there is no traceback.
"""

import argparse
import ast
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException

from xdsl_neuron.arch import get_arch
from xdsl_neuron.diagnostics import DiagnosticError, SourceLocation
from xdsl_neuron.tools.console import ShowVersion, read_text, run_command, write_text
from xdsl_neuron.tools.script import callers_of, failing_line

if TYPE_CHECKING:
    from xdsl_neuron.nki.kernel import Kernel
    from xdsl_neuron.nki.specs import TensorSpec

_TENSOR: Final = re.compile(r"(\w+)\[([\d,\s]*)\]")


def load_file(path: str) -> ModuleType:
    """
    The module of a kernel's file, executed with our languages installed.

    Locations name the file as it was given.

    Raises:
        DiagnosticError: there is no such file, or it fails while it is executed.
    """
    from xdsl_neuron.nki import install

    install()
    text, _ = read_text(path)
    file = Path(path)
    module = ModuleType(file.stem)
    module.__file__ = path
    sys.path.insert(0, str(file.resolve().parent))
    sys.modules.setdefault(file.stem, module)
    try:
        with FailuresAt(path):
            exec(compile(text, path, "exec"), module.__dict__)
    finally:
        sys.path.pop(0)
    return module


class FailuresAt:
    """Turns what a kernel's file itself raises into a diagnostic at its line."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        if isinstance(error, Exception | SystemExit):
            if not isinstance(error, DiagnosticException):
                raise failure(error, self._path) from error
        return False


def failure(error: BaseException, path: str) -> DiagnosticError:
    """What a file's own exception becomes: its message at the innermost own line."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        place = SourceLocation(error.filename, error.lineno or 1, error.offset or 1)
        return DiagnosticError(place, f"SyntaxError: {error.msg}")
    message = f"{type(error).__name__}: {error}"
    place = failing_line(error, error.__traceback__)
    if place is None:
        return DiagnosticError(None, f"{path}: {message}")
    notes = callers_of(error.__traceback__, place)
    return DiagnosticError(place, message, notes=notes)


def find_kernel(module: ModuleType, name: str | None, path: str) -> "Kernel":
    """
    The kernel called `name`, or the only one that `nki.jit` made.

    A plain function is taken for one of the language that its file imports.
    """
    from xdsl_neuron.nki import PERSONALITY
    from xdsl_neuron.nki.functional import PERSONALITY as FUNCTIONAL
    from xdsl_neuron.nki.kernel import Kernel, as_kernel

    kernels = {k: v for k, v in vars(module).items() if isinstance(v, Kernel)}
    listed = ", ".join(kernels) or "none"
    if name is None:
        if len(kernels) != 1:
            raise DiagnosticError(
                None, f"'{path}' has not exactly one kernel ({listed}): use FILE:KERNEL"
            )
        return next(iter(kernels.values()))
    found = getattr(module, name, None)
    if found is None or not callable(found):
        raise DiagnosticError(None, f"'{path}' has no kernel '{name}', only {listed}")
    return as_kernel(found, FUNCTIONAL if _is_functional(found) else PERSONALITY)


def _is_functional(function: Any) -> bool:
    """Whether the file of a plain function imports the functional generation."""
    seen: dict[str, object] = getattr(function, "__globals__", {})
    return any(
        value.__name__.startswith(("neuronxcc", "xdsl_neuron.nki.functional"))
        for value in seen.values()
        if isinstance(value, ModuleType)
    )


def parse_argument(text: str) -> "tuple[str, TensorSpec | Any]":
    """
    `name=bf16[512,512]` or `name=<Python literal>`.

    Raises:
        DiagnosticError: an unknown element type, or no literal.
    """
    from xdsl_neuron.nki.specs import tensor_spec

    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise DiagnosticError(
            None, f"argument '{text}': expected name=dtype[shape] or name=literal"
        )
    tensor = _TENSOR.fullmatch(value.strip())
    if tensor is not None:
        extents = [part for part in tensor[2].split(",") if part.strip()]
        try:
            return name, tensor_spec(tensor[1], [int(extent) for extent in extents])
        except TypeError as error:
            raise DiagnosticError(None, f"argument '{name}': {_text(error)}") from None
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        raise DiagnosticError(
            None,
            f"argument '{name}': '{value}' is neither dtype[shape], such as "
            "bf16[512,512], nor a Python literal",
        ) from None


def _text(error: Exception) -> str:
    """The message of an error without its place."""
    return str(getattr(error, "message", error))


def parse_grid(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(extent) for extent in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected integers such as 2,1, got '{text}'"
        ) from None


def parse_target(text: str) -> str:
    try:
        return get_arch(text).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        "neuron-trace",
        usage="%(prog)s [options] FILE[:KERNEL]",
        description="Trace a kernel and print its penguin module.",
    )
    add = parser.add_argument
    add("--version", action=ShowVersion)
    add("kernel", metavar="FILE[:KERNEL]", help="a Python file and a kernel in it")
    add(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an argument: dtype[shape], such as bf16[512,512], or a Python literal",
    )
    add("--grid", type=parse_grid, default=(), metavar="N,...", help="the launch grid")
    add(
        "--target",
        type=parse_target,
        metavar="NAME",
        help="the generation: trn1, trn2 or trn3",
    )
    add(
        "--max-instructions",
        type=int,
        metavar="N",
        help="refuse a trace of more instructions (default: 250000)",
    )
    add("--print-debuginfo", action="store_true", help="print source locations")
    add("--print-op-generic", action="store_true", help="print the generic form")
    add("-o", "--output-file", metavar="FILE", help="where to write; stdout if absent")
    return parser


def trace(
    path: str,
    arguments: Sequence[str],
    grid: tuple[int, ...],
    target: str | None,
    max_instructions: int | None = None,
) -> ModuleOp:
    """The verified module of the kernel at `FILE[:KERNEL]`."""
    kernel, file = kernel_at(path)
    values = dict(parse_argument(argument) for argument in arguments)
    return trace_kernel_at(kernel, file, values, grid, target, max_instructions)


def kernel_at(path: str) -> "tuple[Kernel, str]":
    """The kernel at `FILE[:KERNEL]`, whose file is executed, and the file."""
    file, name = split_kernel(path)
    return find_kernel(load_file(file), name, file), file


def trace_kernel_at(
    kernel: "Kernel",
    file: str,
    values: "Mapping[str, TensorSpec | Any]",
    grid: tuple[int, ...] = (),
    target: str | None = None,
    max_instructions: int | None = None,
) -> ModuleOp:
    """The verified module of a file's kernel for these arguments."""
    from xdsl_neuron.nki.grid import as_grid
    from xdsl_neuron.nki.kernel import Kernel

    launched = Kernel(
        kernel.function,
        kernel.personality,
        target or kernel.platform_target,
        as_grid(grid),
        configs=kernel.configs,
    )
    if max_instructions is not None:
        launched = launched.with_options(max_instructions=max_instructions)
    with FailuresAt(file):
        return launched.trace(**values)


def split_kernel(path: str) -> tuple[str, str | None]:
    """`FILE:KERNEL` as its two parts; a drive letter is no separator."""
    file, colon, name = path.rpartition(":")
    if colon and name.isidentifier() and file:
        return file, name
    return path, None


def emit(module: ModuleOp, *, generic: bool, debuginfo: bool) -> str:
    """The module's text."""
    stream = StringIO()
    Printer(stream, print_generic_format=generic, print_debuginfo=debuginfo).print_op(
        module
    )
    return stream.getvalue() + "\n"


def main(args: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = build_parser().parse_args(args)

    def body() -> int:
        # What the script prints is not part of the module.
        with redirect_stdout(sys.stderr):
            module = trace(
                options.kernel,
                options.arg,
                options.grid,
                options.target,
                options.max_instructions,
            )
        text = emit(
            module, generic=options.print_op_generic, debuginfo=options.print_debuginfo
        )
        write_text(options.output_file, text)
        return 0

    return run_command(body)


if __name__ == "__main__":
    sys.exit(main())
