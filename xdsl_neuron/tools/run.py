"""
`neuron-run`: execute a module, a kernel of a file, or a script of kernels.

    neuron-run kernel.mlir --inputs in.npz --outputs out.npz --level dma
    neuron-run kernel.py:add --arg a=f32[128,64] --arg b=f32[128,64] --seed 0
    neuron-run kernel.py --level bir -- arguments of the script

A module, of MLIR text or BIR JSON, is lowered to the level that is asked for and run on
the arrays of a file, found by the inputs' names or as `arr_0`, ... A kernel is traced
for `--arg`s, or for the arrays of the file. A script runs with `import nki` and
`import neuronxcc.nki` meaning ours; what each simulated kernel did is shown afterwards.
Exit codes: 0 fine, 1 the input was refused or the kernel failed, 2 wrong command line.
"""

import argparse
import sys
from collections.abc import Sequence
from io import BytesIO
from typing import Any, Final

from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import get_all_dialects as upstream_dialects
from xdsl.dialects.builtin import ModuleOp

from xdsl_neuron import machine
from xdsl_neuron.diagnostics import DiagnosticError, Sources
from xdsl_neuron.dialects import register_dialects
from xdsl_neuron.dtypes import DType
from xdsl_neuron.machine.summary import summarize
from xdsl_neuron.machine.target import describe, made_up_inputs
from xdsl_neuron.parsing import parse_module
from xdsl_neuron.passes.levels import LEVELS, lower
from xdsl_neuron.tools.console import (
    CrashReport,
    ExitCode,
    ShowVersion,
    read_text,
    report,
    run_command,
)
from xdsl_neuron.tools.frontends import FRONTENDS, frontend_of
from xdsl_neuron.tools.npz import load_arrays, save_arrays, specs_of
from xdsl_neuron.tools.run_script import run_kernels
from xdsl_neuron.tools.trace import (
    kernel_at,
    parse_argument,
    parse_grid,
    parse_target,
    split_kernel,
    trace_kernel_at,
)
from xdsl_neuron.verification import verify

DEFAULTS: Final = machine.MachineOptions()

MODULE, KERNEL, SCRIPT = "a module", "a kernel", "a script"

_ONLY: Final = {
    "inputs": (MODULE, KERNEL),
    "outputs": (MODULE, KERNEL),
    "entry": (MODULE,),
    "frontend": (MODULE,),
    "arg": (KERNEL,),
    "grid": (KERNEL,),
    "target": (KERNEL,),
    "arguments": (SCRIPT,),
}
"""What options apply to, where that is not everything."""


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
    if frontend_of(args.frontend, args.file) == "mlir":
        module = parse_module(ctx, text, name)
    else:
        from xdsl_neuron.json.target import BirJsonFrontend

        module = BirJsonFrontend().parse(ctx, BytesIO(text.encode()), name)
    verify(module)
    return _execute(module, ctx, args)


def run_kernel(args: argparse.Namespace) -> int:
    """Trace a kernel of a file and execute it."""
    kernel, file = kernel_at(args.file)
    values = dict(parse_argument(each) for each in args.arg)
    left = [name for name in kernel.parameters if name not in values]
    if args.inputs is not None:
        values |= specs_of(args.inputs, left)
    lacking = [name for name in kernel.required if name not in values]
    if lacking:
        raise DiagnosticError(
            None,
            f"'{args.file}' needs a value for '{lacking[0]}': give a tensor's element "
            f"type and shape, such as --arg {lacking[0]}=f32[128,512], a Python "
            "literal, or an array of this name in --inputs",
        )
    module = trace_kernel_at(kernel, file, values, args.grid or (), args.target)
    return _execute(module, make_context(), args)


def _execute(module: ModuleOp, ctx: Context, args: argparse.Namespace) -> int:
    """Lower a verified module, run its function, and show what came out."""
    if args.level is not None:
        lower(module, args.level, ctx)
    program = machine.prepare(module, _options(args), entry=args.entry)
    arrays = _inputs(program, args)
    unwritten: list[machine.Unwritten] = []
    outputs = program.run(arrays, unwritten)
    report([each.diagnostic() for each in unwritten], Sources())
    _show(program, module, arrays, outputs, args)
    return ExitCode.OK


def _options(args: argparse.Namespace) -> machine.MachineOptions:
    """The machine's switches the command line sets."""
    given = {
        "uninitialized_memory": args.uninitialized_memory,
        "max_unrolled_steps": args.max_unrolled_steps,
        "max_iterations": args.max_iterations,
        "max_tensor_bytes": args.max_tensor_bytes,
        "mx_scale": args.mx_scale,
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


def make_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="neuron-run",
        usage="%(prog)s [options] FILE [-- the script's arguments]",
        description="Execute a module of NeuronCore IR, a kernel, or a script of "
        "kernels.",
    )
    add = parser.add_argument
    add("--version", action=ShowVersion)
    add(
        "file",
        metavar="FILE",
        help="an .mlir or .json file ('-' is stdin), FILE.py:KERNEL, or a .py script",
    )
    # The default: argparse names an argument without one as required.
    add("arguments", nargs="*", default=[], help=argparse.SUPPRESS)
    frontends = ", ".join(FRONTENDS)
    add(
        "-f",
        "--frontend",
        choices=FRONTENDS,
        metavar="FRONTEND",
        help=f"what a module is read as, by its extension if absent: {frontends}",
    )
    add("--inputs", metavar="NPZ", help="arrays by name, or arr_0, arr_1, ...")
    add("--outputs", metavar="NPZ", help="where to write the results")
    add("--level", choices=list(LEVELS), help="lower to this level first")
    add("--entry", metavar="NAME", help="which function, if there are several")
    add(
        "--seed",
        type=_seed,
        metavar="N",
        help="make up the inputs; in a script, seed random and numpy.random",
    )
    _add_kernel_options(parser)
    _add_machine_options(parser)
    add("--summary", action="store_true", help="count instructions and bytes")
    return parser


def _add_kernel_options(parser: argparse.ArgumentParser) -> None:
    """How a kernel is traced, as in `neuron-trace`."""
    add = parser.add_argument
    add(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a kernel's argument: dtype[shape], or a Python literal; tensors without "
        "one are as in --inputs",
    )
    add("--grid", type=parse_grid, metavar="N,...", help="a kernel's launch grid")
    add("--target", type=parse_target, metavar="NAME", help="trn1, trn2 or trn3")


def _add_machine_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--mx-scale",
        choices=("doubled", "sample"),
        default=DEFAULTS.mx_scale,
        help="block scale of quantize_mx: doubled since NKI 0.5, before that of the "
        "OCP sample algorithm",
    )
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


def _seed(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 32:
        raise argparse.ArgumentTypeError(f"expected an integer from 0 on, got '{text}'")
    return number


def parse_command_line(given: Sequence[str]) -> tuple[argparse.Namespace, str]:
    """
    The options, which stand on either side of the file, and what the file is.

    What follows `--` is the script's.
    """
    ours, theirs = list(given), list[str]()
    if "--" in ours:
        at = ours.index("--")
        ours, theirs = ours[:at], ours[at + 1 :]
    parser = make_parser()
    # What is unknown here may be meant for a script.
    args, unknown = parser.parse_known_intermixed_args(ours)
    what = _kind(args.file)
    if unknown:
        hint = "; what follows '--' is the script's" if what is SCRIPT else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    args.arguments += theirs
    for name, applies in _ONLY.items():
        if what not in applies and getattr(args, name) not in (None, []):
            option = "an argument" if name == "arguments" else f"--{name}"
            hint = (
                "; run one of its kernels with FILE.py:KERNEL" if what is SCRIPT else ""
            )
            parser.error(
                f"{option} does not apply to {what}, only to "
                f"{' and '.join(applies)}: '{args.file}'{hint}"
            )
    return args, what


def _kind(file: str) -> str:
    if file.endswith(".py"):
        return SCRIPT
    path, kernel = split_kernel(file)
    return KERNEL if kernel is not None and path.endswith(".py") else MODULE


def main(args: Sequence[str] | None = None) -> int:
    """Run the command; the result is the exit code."""
    parsed, what = parse_command_line(sys.argv[1:] if args is None else args)

    def body() -> int:
        if what is SCRIPT:
            return run_kernels(parsed, _options(parsed))
        return run_kernel(parsed) if what is KERNEL else run_module(parsed)

    with CrashReport("neuron-run", "", None):
        return run_command(body)
    return ExitCode.REFUSED


if __name__ == "__main__":
    sys.exit(main())
