"""
`neuron-opt`: parse, verify, run passes, print.

Takes xDSL's dialects, passes and targets beside our own. Beyond `xdsl-opt`, every
error has a place and there is no traceback, all verifier errors are shown at once,
values must be defined before their use, `--verify-diagnostics` checks `expected-error`
comments, and nothing is written unless everything succeeded.
"""

import argparse
import inspect
import re
import shlex
import sys
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from io import BytesIO, StringIO
from typing import IO, Protocol, cast, runtime_checkable

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.printer import Printer
from xdsl.targets.mlir import MLIRTarget
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline, parse_spec
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, ParseError
from xdsl.utils.frontend import Frontend
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from xdsl_neuron.diagnostics import Diagnostic, DiagnosticError, Sources
from xdsl_neuron.parsing import DEFAULT_MAX_NESTING, parse_module, recursion_room
from xdsl_neuron.tools.console import (
    CrashReport,
    ExitCode,
    ShowVersion,
    read_text,
    report,
    run_command,
    write_text,
)
from xdsl_neuron.tools.expected import mismatches
from xdsl_neuron.tools.frontends import frontend_of
from xdsl_neuron.tools.installed import universe
from xdsl_neuron.verification import verify

SPLIT_MARKER = "// -----"
_SPLIT = re.compile(r"(?m)^// -----[ \t]*\r?$\n?")
_ONLY_COMMENTS = re.compile(r"(?:\s|//[^\n]*)*")
_MAX_NESTING_LIMIT = 1000


@runtime_checkable
class Composite(Protocol):
    """A pass that is a named pipeline: its steps are timed and verified one by one."""

    def steps(self) -> Sequence[ModulePass]: ...


class NeuronOptMain(xDSLOptMain):
    """
    The driver; a downstream compiler may subclass it and register more.

    Args:
        args: the command line without the program's name; that of the process if None.

    Raises:
        SystemExit: a wrong command line (code 2), `--help`, `--version`.
    """

    def __init__(self, args: Sequence[str] | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self.mlir_options = MLIRTarget()
        super().__init__("Parse, verify, transform and print NeuronCore IR.", args)

    def register_all_dialects(self) -> None:
        for name, factory in universe().all_dialects.items():
            self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        self.available_passes.update(universe().all_passes)

    def register_all_targets(self) -> None:
        self.available_targets.update(universe().all_targets)

    def register_all_frontends(self) -> None:
        self.available_frontends.update(universe().all_frontends)

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        self._arg_parser = arg_parser
        arg_parser.prog = "neuron-opt"
        arg_parser.usage = "%(prog)s [options] [file]"
        # What xDSLOptMain reads and this command does not offer.
        arg_parser.set_defaults(disable_verify=False, syntax_highlight=False)
        add = arg_parser.add_argument
        add(
            "input_file",
            nargs="?",
            metavar="file",
            help="MLIR text, or BIR JSON (.json); stdin if absent",
        )
        add(
            "-f",
            "--frontend",
            type=_spec,
            metavar="FRONTEND",
            help="what to read, by the file's extension if absent; one of: "
            + ", ".join(self.available_frontends),
        )
        add(
            "-o",
            "--output-file",
            metavar="FILE",
            help="where to write; stdout if absent",
        )
        add(
            "-p",
            "--passes",
            default="",
            metavar="PIPELINE",
            help="passes to run: 'name{option=value},name'; see --list-passes",
        )
        add(
            "-t",
            "--target",
            type=_spec,
            default="mlir",
            metavar="TARGET",
            help="what to write; one of: " + ", ".join(self.available_targets),
        )
        add("-v", "--version", action=ShowVersion)
        add(
            "--max-nesting",
            type=_nesting,
            default=DEFAULT_MAX_NESTING,
            metavar="N",
            help="how deep regions and attributes may nest (default: %(default)s)",
        )
        add(
            "--reproducer-dir",
            metavar="DIR",
            help="where an internal error leaves its reproducer",
        )
        for name, text in _FLAGS.items():
            add(*name.split(), action="store_true", help=text)

    def setup_pipeline(self) -> None:
        passes = [self._make_pass(spec) for spec in self._parse_passes()]
        self.pipeline = PassPipeline(tuple(_flat(passes)))
        self._emit = self._make_target(parse_spec(self.args.target))
        self._parse = self._make_frontend(parse_spec(self._frontend()))

    def _frontend(self) -> str:
        return frontend_of(self.args.frontend, self.args.input_file)

    def _make_frontend(self, spec: ArgSpec) -> Callable[[str, str], ModuleOp]:
        if spec.name == "mlir":
            return self._parse_mlir
        entry = self.available_frontends[spec.name]
        frontend_class = cast(Callable[[], type[Frontend]], entry)()
        try:
            frontend = frontend_class.from_spec(spec)
        except ValueError as error:
            self._arg_parser.error(f"argument -f/--frontend: '{spec.name}': {error}")
        return lambda text, name: frontend.parse(self.ctx, BytesIO(text.encode()), name)

    def _parse_mlir(self, text: str, name: str) -> ModuleOp:
        return parse_module(
            self.ctx,
            text,
            name,
            implicit_module=not self.args.no_implicit_module,
            max_nesting=self.args.max_nesting,
        )

    def _parse_passes(self) -> list[ArgSpec]:
        try:
            return list(parse_pipeline(self.args.passes))
        except ArgSpecParseError as error:
            self._arg_parser.error(f"argument -p/--passes: {error}")

    def _make_pass(self, spec: ArgSpec) -> ModulePass:
        factory = self.available_passes.get(spec.name)
        if factory is None:
            close = get_close_matches(spec.name, self.available_passes, 3)
            hint = (
                f"did you mean {' or '.join(close)}?" if close else "see --list-passes"
            )
            self._arg_parser.error(
                f"argument -p/--passes: unknown pass '{spec.name}', {hint}"
            )
        pass_class = factory()
        try:
            return pass_class.from_pass_spec(spec)
        except (ValueError, DiagnosticException) as error:
            self._arg_parser.error(f"argument -p/--passes: '{spec.name}': {error}")

    def _make_target(self, spec: ArgSpec) -> Callable[[ModuleOp, IO[str]], None]:
        entry = self.available_targets[spec.name]
        if inspect.signature(entry).parameters:
            return cast(Callable[[ModuleOp, IO[str]], None], entry)
        target_class = cast(Callable[[], type[Target]], entry)()
        try:
            target = target_class.from_spec(spec)
        except ValueError as error:
            self._arg_parser.error(f"argument -t/--target: '{spec.name}': {error}")
        if isinstance(target, MLIRTarget):
            self.mlir_options = target
            return self.print_module
        return lambda module, output: target.emit(self.ctx, module, output)

    def make_printer(self, stream: IO[str]) -> Printer:
        """The printer of the `mlir` target; a subclass may bring its own."""
        args, options = self.args, self.mlir_options
        return Printer(
            stream=stream,
            print_generic_format=args.print_op_generic or options.print_generic_format,
            print_properties_as_attributes=args.print_no_properties
            or options.print_properties_as_attributes,
            print_debuginfo=args.print_debuginfo or options.print_debuginfo,
        )

    def print_module(self, module: ModuleOp, stream: IO[str]) -> None:
        """Print as MLIR text, with the resources that the module refers to."""
        printer = self.make_printer(stream)
        printer.print_op(module)
        printer.print_metadata(self.ctx.loaded_dialects)
        printer.print_string("\n")

    def run(self) -> None:
        sys.exit(self.execute())

    def execute(self) -> int:
        """Do what the command line says; the result is the exit code."""
        if self.args.list_passes or self.args.list_dialects:
            registered = self.ctx.registered_dialect_names
            names = self.available_passes if self.args.list_passes else registered
            print("\n".join(sorted(names)))
            return ExitCode.OK
        text, name = read_text(self.args.input_file)
        sources = Sources()
        sources.add(name, text)
        outputs: list[str] = []
        errors: list[Diagnostic] = []
        for chunk in _split(text) if self.args.split_input_file else [text]:
            crash = CrashReport(self._command(), chunk, self.args.reproducer_dir)
            with crash:
                output, found = self._process(chunk, name)
                if self.args.verify_diagnostics:
                    found = mismatches(chunk, name, found)
                errors += found
                if output is not None:
                    outputs.append(output)
            if crash.crashed:
                return ExitCode.REFUSED
        if self.args.timing:
            print(_timing_table(self.seconds), file=sys.stderr)
        if errors:
            report(errors, sources)
            return ExitCode.REFUSED
        write_text(self.args.output_file, f"{SPLIT_MARKER}\n".join(outputs))
        return ExitCode.OK

    def _process(self, text: str, name: str) -> tuple[str | None, list[Diagnostic]]:
        """The output for one input, or None, and the diagnostics."""
        try:
            with self._timed("parse"):
                module = self._parse(text, name)
            with recursion_room(self.args.max_nesting):
                self._run_passes(module)
                with self._timed("print"):
                    output = StringIO()
                    self._emit(module, output)
            return output.getvalue(), []
        except DiagnosticException as error:
            return None, list(DiagnosticError.from_exception(error).diagnostics)

    def _run_passes(self, module: ModuleOp) -> None:
        passes = self.pipeline.passes
        self._verify(module)
        for each in passes:
            with self._timed(each.name):
                self._run_pass(each, module)
            if self.args.print_ir_after_all:
                print(f"// -----// IR after {each.name} //----- //", file=sys.stderr)
                self.print_module(module, sys.stderr)
            if self.args.verify_each:
                self._verify(module, f"pass '{each.name}' left the module invalid")
        if passes and not self.args.verify_each:
            self._verify(module, "after the pipeline; --verify-each names the pass")

    def _run_pass(self, each: ModulePass, module: ModuleOp) -> None:
        try:
            each.apply(self.ctx, module)
        except DiagnosticException as error:
            found = DiagnosticError.from_exception(error, module.location).diagnostics
        except ParseError as error:  # what `mlir-opt[...]` gave back
            found = (Diagnostic.from_parse_error(error),)
        except (OSError, RecursionError) as error:
            found = (Diagnostic.at(module.location, str(error)),)
        except Exception as error:
            if type(each).__module__.startswith("xdsl_neuron."):
                raise
            found = (Diagnostic.at(module.location, _raised(error)),)
        else:
            return
        note = Diagnostic(f"in pass '{each.name}'", severity="note")
        raise DiagnosticError.of([each.with_notes(note) for each in found])

    def _verify(self, module: ModuleOp, context: str | None = None) -> None:
        if self.args.skip_verify:
            return
        with self._timed("verify"):
            try:
                verify(module)
            except DiagnosticError as error:
                if context is None:
                    raise
                note = Diagnostic(context, severity="note")
                last = error.diagnostics[-1].with_notes(note)
                raise DiagnosticError.of([*error.diagnostics[:-1], last]) from error

    @contextmanager
    def _timed(self, what: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        spent = time.perf_counter() - start
        self.seconds[what] = self.seconds.get(what, 0.0) + spent

    def _command(self) -> str:
        """The command line that does the same to another file."""
        command = ["neuron-opt"]
        for option, value, usual in (
            ("-p", self.args.passes, ""),
            ("-f", self._frontend(), "mlir"),
            ("-t", self.args.target, "mlir"),
        ):
            if value != usual:
                command += [option, shlex.quote(value)]
        for name in _FLAGS:
            flag = name.split()[0]
            if flag in _REPRODUCED and getattr(self.args, flag[2:].replace("-", "_")):
                command.append(flag)
        return " ".join(command)


_FLAGS = {
    "--split-input-file": f"treat parts between '{SPLIT_MARKER}' lines as inputs",
    "--verify-diagnostics": "check the errors against 'expected-error' comments",
    "--verify-each": "verify after each pass, not only after the last",
    "--print-op-generic": "print every operation in generic form",
    "--print-no-properties": "print properties in the attribute dictionary",
    "--print-debuginfo": "print locations",
    "--print-ir-after-all --print-between-passes": "print the IR after each pass, on "
    "stderr",
    "--timing --time-passes": "print where the time went, on stderr",
    "--allow-unregistered-dialect": "accept unknown dialects in generic form",
    "--no-implicit-module": "require a builtin.module around the input",
    "--skip-verify --disable-verify": "do not verify",
    "--list-passes": "list the passes and exit",
    "--list-dialects": "list the dialects and exit",
}
_REPRODUCED = (
    "--verify-each",
    "--print-op-generic",
    "--print-no-properties",
    "--print-debuginfo",
    "--allow-unregistered-dialect",
    "--no-implicit-module",
    "--skip-verify",
)


def _raised(error: Exception) -> str:
    """What a pass that is not ours raised, and the line that did."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    message = f"{type(error).__name__}: {error}"
    return f"{message} (raised at {last.filename}:{last.lineno})"


def _spec(text: str) -> str:
    """The text, if it reads `name` or `name{option=value}`."""
    try:
        parse_spec(text)
    except ArgSpecParseError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _nesting(text: str) -> int:
    value = int(text)
    if not 1 <= value <= _MAX_NESTING_LIMIT:
        raise argparse.ArgumentTypeError(f"must be 1 to {_MAX_NESTING_LIMIT}")
    return value


def _flat(passes: Sequence[ModulePass]) -> Generator[ModulePass]:
    for each in passes:
        if isinstance(each, Composite):
            yield from _flat(each.steps())
        else:
            yield each


def _split(text: str) -> Generator[str]:
    """
    The parts between split markers that hold more than comments.

    Empty lines stand for what came before, so that line numbers are those of the file.
    """
    line = 0
    for part in _SPLIT.split(text):
        if _ONLY_COMMENTS.fullmatch(part) is None:
            yield "\n" * line + part
        line += part.count("\n") + 1


def _timing_table(seconds: dict[str, float]) -> str:
    total = sum(seconds.values())
    rows = [
        f"  {spent:10.4f} s  {spent / total if total else 0.0:6.1%}  {what}"
        for what, spent in seconds.items()
    ]
    return "\n".join(["time report", *rows, f"  {total:10.4f} s  total"])


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; the result is the exit code."""
    with CrashReport("neuron-opt", "", None):
        return run_command(lambda: NeuronOptMain(args).execute())
    return ExitCode.REFUSED


if __name__ == "__main__":
    sys.exit(main())
