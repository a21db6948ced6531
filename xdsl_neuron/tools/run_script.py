"""What `neuron-run` does with a script: runs it and shows what its kernels did."""

import argparse
import random
import sys
import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TextIO

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from xdsl_neuron import machine
from xdsl_neuron.diagnostics import Diagnostic, Sources
from xdsl_neuron.machine.summary import Summary, summarize
from xdsl_neuron.passes.levels import level_of, lowered
from xdsl_neuron.tools.console import ExitCode, report
from xdsl_neuron.tools.script import run_script
from xdsl_neuron.tracer.release_warnings import NKIReleaseWarning

_TENSOR: Final = "f32[128,512]"


def run_kernels(args: argparse.Namespace, options: machine.MachineOptions) -> int:
    """Run a script of kernels and show what they did; the result is the exit code."""
    import xdsl_neuron.nki
    from xdsl_neuron.nki.specialise import TRACED

    xdsl_neuron.nki.install()
    before = TRACED.total()
    names: dict[str, Any] = {}
    with _observed(args.level or "penguin", options), _warnings_shown():
        if args.seed is not None:
            random.seed(args.seed)
            np.random.seed(args.seed)
        code = run_script(args.file, args.arguments, names)
    if code == ExitCode.OK and TRACED.total() == before:
        _say_what_was_not_called(args.file, names)
    return code


@contextmanager
def _observed(level: str, options: machine.MachineOptions) -> Generator[None]:
    """Kernels run so, and the summary of each that ran is printed at the end."""
    seen: dict[int, tuple[Summary, str, int]] = {}
    kept: list[machine.Program] = []

    def observe(module: ModuleOp, program: machine.Program) -> None:
        key = id(program)
        if key not in seen:
            kept.append(program)  # so that its id stays its own
            seen[key] = (_whole_summary(module), executed_level(program), 0)
        summary, executed, runs = seen[key]
        seen[key] = (summary, executed, runs + 1)

    tokens = machine.default_level.set(level), machine.default_options.set(options)
    machine.observers.append(observe)
    try:
        yield
    finally:
        machine.observers.remove(observe)
        machine.default_level.reset(tokens[0])
        machine.default_options.reset(tokens[1])
        sys.stdout.flush()
        for summary, executed, runs in seen.values():
            print(f"\n{summary.render()}\nlevel  {executed}\nruns  {runs}")


def executed_level(program: machine.Program) -> str:
    """The level of what a program executes."""
    return level_of(program.function)


def _whole_summary(module: ModuleOp) -> Summary:
    """The summary of a kernel, its descriptors counted in the lowered form."""
    summary = summarize(module)
    if summary.descriptors is None:
        summary.descriptors = summarize(lowered(module, "dma")).descriptors
    return summary


@contextmanager
def _warnings_shown() -> Generator[None]:
    """Warnings of ours look like every message of ours."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if isinstance(message, machine.UnwrittenOutput):
            place = None if message.finding is None else message.finding.place
        elif isinstance(message, NKIReleaseWarning):
            place = message.place
        else:
            usual(message, category, filename, lineno, file, line)
            return
        report([Diagnostic(str(message), place, "warning")], Sources())

    with warnings.catch_warnings():
        usual = warnings.showwarning
        for kind in (machine.UnwrittenOutput, NKIReleaseWarning):
            warnings.simplefilter("default", kind)
        warnings.showwarning = show
        yield


def _say_what_was_not_called(file: str, names: Mapping[str, Any]) -> None:
    """How to run the kernels of a script that has traced none."""
    from xdsl_neuron.nki.kernel import Kernel

    found = {
        name: value
        for name, value in names.items()
        if isinstance(value, Kernel)
        and getattr(value.function, "__module__", None) == "__main__"
    }
    if not found:
        return
    listed = ", ".join(f"'{name}'" for name in found)
    name, kernel = next(iter(found.items()))
    arguments = "".join(f" --arg {each}={_TENSOR}" for each in kernel.required)
    report(
        [
            Diagnostic(
                f"'{file}' defines {listed} and calls no kernel: call it, or run it "
                f"with\n  neuron-run {file}:{name}{arguments} --seed 0\nwhere --arg "
                "gives a tensor's element type and shape, or a Python literal",
                severity="note",
            )
        ],
        Sources(),
    )
