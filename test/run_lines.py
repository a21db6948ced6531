"""
Runs the RUN lines of a test file: our commands in this process, others outside.

Starting a Python that knows xDSL takes 0.4 s, and a test file starts several; in
process the same takes 15 ms. lit and pytest both run test files through here.
"""

import contextlib
import importlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

ROOT = Path(__file__).parent.parent
_TIMEOUT_SECONDS = 300

_KEYWORD = re.compile(r"(RUN|REQUIRES|UNSUPPORTED|XFAIL):[ \t]*(.*?)[ \t]*$", re.M)
_TOKEN = re.compile(
    r"""\s*(?:(2>&1|2>|>>|>|<|\|\||\||&&|;)"""
    r"""|((?:[^\s'"|&<>;\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+))"""
)
_NEEDS_SHELL = re.compile(r"[$`*?~()!]")
_QUOTED = re.compile(r"""'[^']*'|"[^"$`]*"|\\.""")


class Verdict(Enum):
    PASS = auto()
    FAIL = auto()
    XFAIL = auto()
    XPASS = auto()
    UNSUPPORTED = auto()
    UNRESOLVED = auto()


@dataclass(frozen=True)
class Outcome:
    """What became of a test, and what to show of it."""

    verdict: Verdict
    output: str = ""


def mlir_opt() -> str | None:
    """MLIR's own mlir-opt, version 22, where it is installed."""
    for name in ("mlir-opt-22", "/usr/lib/llvm-22/bin/mlir-opt", "mlir-opt"):
        if (path := shutil.which(name)) is not None:
            return path
    return None


def available_features() -> frozenset[str]:
    """What a REQUIRES line may name."""
    return frozenset() if mlir_opt() is None else frozenset(["mlir-opt"])


def run_test(
    path: Path, scratch: Path, features: frozenset[str] = frozenset()
) -> Outcome:
    """
    Run one test file.

    Args:
        path: the file with the RUN lines.
        scratch: the prefix of the files it may write: `%t` is `scratch` + ".tmp".
        features: what REQUIRES, UNSUPPORTED and XFAIL are about.
    """
    lines: dict[str, list[str]] = {}
    for keyword, text in _KEYWORD.findall(path.read_text(encoding="utf-8")):
        lines.setdefault(keyword, []).append(text)
    if missing := _names(lines.get("REQUIRES", ())) - features:
        return Outcome(Verdict.UNSUPPORTED, f"requires {', '.join(sorted(missing))}")
    if present := _names(lines.get("UNSUPPORTED", ())) & (features | {"*"}):
        return Outcome(Verdict.UNSUPPORTED, f"unsupported with {', '.join(present)}")
    commands = _joined(lines.get("RUN", ()))
    if not commands:
        return Outcome(Verdict.UNRESOLVED, f"{path} has no RUN line")
    scratch.parent.mkdir(parents=True, exist_ok=True)
    log: list[str] = []
    with contextlib.chdir(scratch.parent):
        passed = all(_run_line(_substitute(c, path, scratch), log) for c in commands)
    output = "\n".join(log)
    if _names(lines.get("XFAIL", ())) & (features | {"*"}):
        return Outcome(Verdict.XPASS if passed else Verdict.XFAIL, output)
    return Outcome(Verdict.PASS if passed else Verdict.FAIL, output)


def _names(lines: Sequence[str]) -> set[str]:
    return {name.strip() for line in lines for name in line.split(",")} - {""}


def _joined(lines: Sequence[str]) -> list[str]:
    """RUN lines with those that end in a backslash joined to the next."""
    text = "\n".join(lines).replace("\\\n", " ")
    return [line for line in text.split("\n") if line.strip()]


def _substitute(line: str, path: Path, scratch: Path) -> str:
    values = {
        "%mlir-opt": mlir_opt() or "mlir-opt",
        "%python": sys.executable,
        "%s": str(path),
        "%S": str(path.parent),
        "%p": str(path.parent),
        "%t": f"{scratch}.tmp",
        "%T": str(scratch.parent),
        "%%": "%",
    }
    return re.sub("|".join(values), lambda match: values[match.group()], line)


@dataclass
class _Command:
    """One command of a pipeline and where its streams go."""

    argv: list[str] = field(default_factory=list[str])
    stdin: str | None = None
    stdout: str | None = None
    stderr: str | None = None
    append: bool = False
    join_stderr: bool = False


@dataclass(frozen=True)
class Result:
    code: int
    out: bytes
    err: bytes


def _run_line(line: str, log: list[str]) -> bool:
    """Run one RUN line; what it did is added to `log`."""
    log.append(f"$ {line}")
    if _NEEDS_SHELL.search(_QUOTED.sub("", line)) or re.search(r"\|\||;", line):
        return _run_shell(line, log)
    return all(_run_pipeline(pipeline, log) for pipeline in _parse(line))


def _parse(line: str) -> Iterator[list[_Command]]:
    """The pipelines of `a | b && c`, each a list of commands."""
    pipeline = [_Command()]
    target: str | None = None
    for operator, word in _TOKEN.findall(line):
        command = pipeline[-1]
        if word:
            text = shlex.split(word)[0]
            if target is None:
                command.argv.append(text)
            else:
                setattr(command, target, text)
            target = None
        elif operator == "|":
            pipeline.append(_Command())
        elif operator == "&&":
            yield pipeline
            pipeline = [_Command()]
        elif operator == "2>&1":
            command.join_stderr = True
        else:
            target = {"<": "stdin", "2>": "stderr"}.get(operator, "stdout")
            command.append = operator == ">>"
    yield pipeline


def _run_pipeline(pipeline: list[_Command], log: list[str]) -> bool:
    """As with `pipefail`: every command must succeed."""
    data = b""
    passed = True
    for command in pipeline:
        if command.stdin is not None:
            data = Path(command.stdin).read_bytes()
        result = _run_command(command, data)
        data = result.out
        if command.stdout is not None:
            with open(command.stdout, "ab" if command.append else "wb") as file:
                file.write(data)
            data = b""
        if command.stderr is not None:
            Path(command.stderr).write_bytes(result.err)
        elif result.err:
            log.append(result.err.decode(errors="replace"))
        if result.code:
            log.append(f"{shlex.join(command.argv)}: exit code {result.code}")
            passed = False
    if data:
        log.append(data.decode(errors="replace"))
    return passed


def _run_command(command: _Command, data: bytes) -> Result:
    argv = command.argv
    inverted = False
    while argv[0] == "not":
        inverted = not inverted
        argv = argv[1:]
    if argv[0] in TOOLS:
        result = call(TOOLS[argv[0]], argv[1:], data, command.join_stderr)
    else:
        process = subprocess.run(
            argv,
            input=data,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if command.join_stderr else subprocess.PIPE,
            env=_environment(),
            timeout=_TIMEOUT_SECONDS,
        )
        result = Result(process.returncode, process.stdout, process.stderr or b"")
    code = int(not result.code) if inverted else result.code
    return Result(code, result.out, result.err)


def call(
    tool: Callable[[list[str]], object],
    argv: list[str],
    data: bytes = b"",
    join_stderr: bool = False,
) -> Result:
    """Call a command's `main` with `data` as stdin; an exception passes through."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    err = out if join_stderr else io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    stdin = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = tool(argv)
    except SystemExit as stop:
        code = stop.code
        if isinstance(code, str):
            print(code, file=err)
    finally:
        sys.stdin = stdin
    code = code if isinstance(code, int) else int(code is not None)
    return Result(code, _written(out), b"" if join_stderr else _written(err))


def _written(stream: "io.TextIOWrapper[io.BytesIO]") -> bytes:
    stream.flush()
    return stream.buffer.getvalue()


def _our_command(module: str) -> Callable[[list[str]], object]:
    def run(argv: list[str]) -> object:
        return importlib.import_module(module).main(argv)

    return run


def _filecheck(argv: list[str]) -> object:
    from filecheck.main import main

    return main(["filecheck", *argv])


TOOLS: Mapping[str, Callable[[list[str]], object]] = {
    "neuron-opt": _our_command("xdsl_neuron.tools.opt"),
    "neuron-trace": _our_command("xdsl_neuron.tools.trace"),
    "neuron-run": _our_command("xdsl_neuron.tools.run"),
    "filecheck": _filecheck,
}


def _environment() -> dict[str, str]:
    """Commands of this Python's environment first, and our package importable."""
    environment = dict(os.environ)
    environment["PATH"] = os.pathsep.join(
        [str(Path(sys.executable).parent), environment.get("PATH", os.defpath)]
    )
    environment["PYTHONPATH"] = str(ROOT)
    return environment


def _run_shell(line: str, log: list[str]) -> bool:
    """Run a line that needs a shell; our commands are functions in it."""
    functions = [
        f'{name}() {{ {shlex.quote(sys.executable)} -m {module} "$@"; }}'
        for name, module in (
            ("neuron-opt", "xdsl_neuron.tools.opt"),
            ("neuron-trace", "xdsl_neuron.tools.trace"),
            ("neuron-run", "xdsl_neuron.tools.run"),
            ("filecheck", "filecheck"),
        )
    ]
    script = "\n".join(["set -eo pipefail", 'not() { ! "$@"; }', *functions, line])
    process = subprocess.run(
        ["bash", "-c", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=_environment(),
        timeout=_TIMEOUT_SECONDS,
    )
    log.append(process.stdout.decode(errors="replace"))
    return process.returncode == 0
