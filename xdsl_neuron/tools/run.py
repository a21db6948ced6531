"""
`neuron-run`: execute a module, or a script of kernels.

    neuron-run kernel.mlir --inputs in.npz --outputs out.npz --level dma
    neuron-run kernel.py arguments

A module is lowered to the level that is asked for and run on the arrays of a file,
found by the inputs' names or as `arr_0`, ... A script runs with `import nki` and
`import neuronxcc.nki` meaning ours; what each simulated kernel did is shown afterwards.
Exit codes: 0 fine, 1 the input was refused or the kernel failed, 2 wrong command line.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any, Final

from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import get_all_dialects as upstream_dialects
from xdsl.dialects.builtin import ModuleOp

from xdsl_neuron import machine
from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dialects import register_dialects
from xdsl_neuron.dtypes import DType
from xdsl_neuron.machine.summary import Summary, summarize
from xdsl_neuron.machine.target import describe, made_up_inputs
from xdsl_neuron.parsing import parse_module
from xdsl_neuron.passes.levels import LEVELS, lower, lowered
from xdsl_neuron.tools.console import CrashReport, ExitCode, read_text, run_command
from xdsl_neuron.tools.npz import load_arrays, save_arrays
from xdsl_neuron.tools.script import run_script
from xdsl_neuron.verification import verify

DEFAULTS: Final = machine.MachineOptions()

_VALUED: Final = (
    "--inputs",
    "--outputs",
    "--level",
    "--entry",
    "--seed",
    "--uninitialized-memory",
    "--max-unrolled-steps",
    "--max-iterations",
    "--max-tensor-bytes",
)


def make_context() -> Context:
    """A context with our dialects and xDSL's."""
    ctx = Context()
    for name, factory in upstream_dialects().items():
        ctx.register_dialect(name, factory)
    ctx.load_registered_dialect("builtin")
    register_dialects(ctx)
    return ctx


def run_module(args: argparse.Namespace) -> int:
    """Execute the function of a module."""
    text, name = read_text(args.file)
    ctx = make_context()
    module = parse_module(ctx, text, name)
    verify(module)
    if args.level is not None:
        lower(module, args.level, ctx)
    program = machine.prepare(module, _options(args), entry=args.entry)
    arrays = _inputs(program, args)
    outputs = program.run(arrays)
    _show(program, module, arrays, outputs, args)
    return ExitCode.OK


def _options(args: argparse.Namespace) -> machine.MachineOptions:
    """The machine's switches the command line sets."""
    given = {
        "uninitialized_memory": args.uninitialized_memory,
        "max_unrolled_steps": args.max_unrolled_steps,
        "max_iterations": args.max_iterations,
        "max_tensor_bytes": args.max_tensor_bytes,
    }
    return machine.MachineOptions(**given)


def _inputs(program: machine.Program, args: argparse.Namespace) -> list[NDArray[Any]]:
    if args.inputs is not None:
        arrays, notes = load_arrays(args.inputs, program.inputs)
        for note in notes:
            print(f"note: {note}", file=sys.stderr)
        return [a if a.flags.writeable else a.copy() for a in arrays]
    if program.inputs and args.seed is None:
        expected = ", ".join(map(str, program.inputs))
        raise DiagnosticError(
            None,
            f"'{program.name}' takes {expected}; give them with --inputs, or let "
            "--seed make them up",
        )
    return made_up_inputs(program.inputs, args.seed)


def _show(
    program: machine.Program,
    module: ModuleOp,
    arrays: Sequence[NDArray[Any]],
    outputs: Sequence[NDArray[Any]],
    args: argparse.Namespace,
) -> None:
    """Print a line per result, and save the results: outputs and mutable inputs."""
    results: dict[str, tuple[DType, NDArray[Any]]] = {}
    written = [
        (port, array)
        for port, array in zip(program.inputs, arrays, strict=True)
        if port.mutable
    ]
    for port, array in (*zip(program.outputs, outputs, strict=True), *written):
        if port.name not in results:
            results[port.name] = (port.dtype, array)
            print(describe(port, array))
    if args.summary:
        print(summarize(module, args.entry).render())
    if args.outputs is not None:
        save_arrays(args.outputs, results)


def run_kernels(args: argparse.Namespace, arguments: Sequence[str]) -> int:
    """Run a script of kernels and show what they did."""
    import xdsl_neuron.nki

    xdsl_neuron.nki.install()
    seen: dict[int, tuple[Summary, int]] = {}
    kept: list[machine.Program] = []

    def observe(module: ModuleOp, program: machine.Program) -> None:
        key = id(program)
        if key not in seen:
            kept.append(program)  # so that its id stays its own
            seen[key] = (_whole_summary(module), 0)
        summary, runs = seen[key]
        seen[key] = (summary, runs + 1)

    token = machine.default_level.set(args.level or "penguin")
    machine.observers.append(observe)
    try:
        return run_script(args.file, arguments)
    finally:
        machine.observers.remove(observe)
        machine.default_level.reset(token)
        sys.stdout.flush()
        for summary, runs in seen.values():
            print(f"\n{summary.render()}\nruns  {runs}")


def _whole_summary(module: ModuleOp) -> Summary:
    """The summary of a kernel, its descriptors counted in the lowered form."""
    summary = summarize(module)
    if summary.descriptors is None:
        summary.descriptors = summarize(lowered(module, "dma")).descriptors
    return summary


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="neuron-run",
        description="Execute a module of NeuronCore IR, or a script of kernels.",
    )
    add = parser.add_argument
    add("file", help="an .mlir file ('-' is stdin), or a .py file with its arguments")
    add("--inputs", metavar="NPZ", help="arrays by name, or arr_0, arr_1, ...")
    add("--outputs", metavar="NPZ", help="where to write the results")
    add("--level", choices=list(LEVELS), help="lower to this level first")
    add("--entry", metavar="NAME", help="which function, if there are several")
    add("--seed", type=int, metavar="N", help="make up the inputs")
    add(
        "--uninitialized-memory",
        choices=["poison", "zero"],
        default=DEFAULTS.uninitialized_memory,
        help="what a buffer holds that nothing has written (default: poison)",
    )
    for name, what in (
        ("max-unrolled-steps", "instructions up to which a plan is kept"),
        ("max-iterations", "executions of loop bodies a program may ask for"),
        ("max-tensor-bytes", "largest tensor that is allocated"),
    ):
        default = getattr(DEFAULTS, name.replace("-", "_"))
        add(
            f"--{name}",
            type=int,
            metavar="N",
            default=default,
            help=f"{what} (default: {default})",
        )
    add("--summary", action="store_true", help="count instructions and bytes")
    return parser


def split_arguments(given: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our part of a command line, and what follows the name of a script."""
    position = 0
    while position < len(given):
        word = given[position]
        if word in _VALUED:
            position += 1
        elif not word.startswith("-") and word.endswith(".py"):
            return list(given[: position + 1]), list(given[position + 1 :])
        position += 1
    return list(given), []


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; the result is the exit code."""
    ours, theirs = split_arguments(sys.argv[1:] if args is None else args)
    parsed = make_parser().parse_args(ours)
    with CrashReport("neuron-run", "", None):
        if parsed.file.endswith(".py"):
            return run_command(lambda: run_kernels(parsed, theirs))
        return run_command(lambda: run_module(parsed))
    return ExitCode.REFUSED


if __name__ == "__main__":
    sys.exit(main())
