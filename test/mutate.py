"""
Damages every `.mlir` test file and runs `neuron-opt` on the result.

Whatever the damage, the answer must be an output or a diagnostic: never a traceback, an
internal error or a hang. From the root of the repository:

    python test/mutate.py --count 10000 --seed 0
    python test/mutate.py --seed 0 --only 1234       # one mutant again, shown
"""

import argparse
import random
import re
import shlex
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from run_lines import ROOT, call

LIMIT_SECONDS = 120.0
"""A mutant may take this long; on an idle machine one takes 20 ms."""

_RUN = re.compile(r"RUN:.*?\bneuron-opt\b([^|&>\n]*)")
_HARNESS = ("--verify-diagnostics", "--split-input-file", "%s", "-", "<")
_SPLIT = re.compile(r"(?m)^// -----.*$")
_COMMENT = re.compile(r"(?m)^\s*//.*$\n?")
_TOKEN = re.compile(r'"[^"\n]*"|[%@#!^]?[\w.$]+|->|<-|\s+|.')
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_NUMBERS = ("0", "-1", "1", "129", "65536", "2147483648", "-9223372036854775809", "1e9",
            "0x7F800000", "1.5", "9" * 5000)  # fmt: skip
_MAX_LINES = 60


class HangError(BaseException):
    """
    The time limit has passed.

    Not an Exception, so that nothing takes it for a failure of its own.
    """


@dataclass(frozen=True)
class Case:
    """A part of a test file, and the options its RUN line gives to neuron-opt."""

    path: Path
    text: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Failure:
    """A mutant that got neither an output nor a diagnostic."""

    index: int
    case: Case
    mutant: bytes
    reason: str


def cases(folder: Path) -> list[Case]:
    """Every part of every test file below a folder, small enough to be quick."""
    found: list[Case] = []
    for path in sorted(folder.rglob("*.mlir")):
        text = path.read_text(encoding="utf-8")
        runs = {_options(match) for match in _RUN.findall(text)} or {()}
        for part in _SPLIT.split(text):
            for unit in _units(_COMMENT.sub("", part)):
                found += (Case(path, unit, run) for run in sorted(runs))
    return found


def _options(arguments: str) -> tuple[str, ...]:
    words = shlex.split(arguments.replace("2>", " "))
    return tuple(word for word in words if word not in _HARNESS)


def _units(text: str) -> Iterator[str]:
    """The text, or the operations at its top where it is long."""
    if text.count("\n") <= _MAX_LINES:
        if text.strip():
            yield text
        return
    depth, unit = 0, list[str]()
    for line in text.splitlines(keepends=True):
        unit.append(line)
        depth += line.count("{") - line.count("}")
        if depth <= 0 and "".join(unit).strip():
            yield "".join(unit)
            unit = []
    if unit:
        yield "".join(unit)


def mutant(text: str, rng: random.Random) -> bytes:
    """The text with one to three damages."""
    tokens = _TOKEN.findall(text)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        rng.choice(_DAMAGES)(tokens, rng)
    data = bytearray("".join(tokens).encode())
    if data and rng.random() < 0.1:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    if rng.random() < 0.02:
        del data[rng.randrange(len(data) + 1) :]
    return bytes(data)


def _pick(tokens: Sequence[str], rng: random.Random) -> int:
    """The index of a token that is not blank."""
    solid = [i for i, token in enumerate(tokens) if not token.isspace()]
    return rng.choice(solid) if solid else 0


def _drop(tokens: list[str], rng: random.Random) -> None:
    if tokens:
        del tokens[_pick(tokens, rng)]


def _double(tokens: list[str], rng: random.Random) -> None:
    if tokens:
        i = _pick(tokens, rng)
        tokens.insert(i, tokens[i] + rng.choice(("", " ")))


def _swap(tokens: list[str], rng: random.Random) -> None:
    if tokens:
        i, j = _pick(tokens, rng), _pick(tokens, rng)
        tokens[i], tokens[j] = tokens[j], tokens[i]


def _replace(tokens: list[str], rng: random.Random) -> None:
    if tokens:
        tokens[_pick(tokens, rng)] = tokens[_pick(tokens, rng)]


def _renumber(tokens: list[str], rng: random.Random) -> None:
    """Change a number, also one inside a token such as `128x512xf32`."""
    places = [i for i, token in enumerate(tokens) if _NUMBER.search(token)]
    if not places:
        return
    i = rng.choice(places)
    spans = [match.span() for match in _NUMBER.finditer(tokens[i])]
    start, end = rng.choice(spans)
    tokens[i] = tokens[i][:start] + rng.choice(_NUMBERS) + tokens[i][end:]


def _move_line(tokens: list[str], rng: random.Random) -> None:
    """Drop, double or move a line: uses before definitions, missing terminators."""
    lines = "".join(tokens).splitlines(keepends=True)
    if not lines:
        return
    line = lines.pop(rng.randrange(len(lines)))
    for _ in range(rng.choice((0, 1, 1, 2))):
        lines.insert(rng.randrange(len(lines) + 1), line)
    tokens[:] = _TOKEN.findall("".join(lines))


_DAMAGES: tuple[Callable[[list[str], random.Random], None], ...] = (
    _drop,
    _double,
    _swap,
    _replace,
    _renumber,
    _renumber,
    _move_line,
)


def failures(
    pool: Sequence[Case], seed: int, indices: Sequence[int], scratch: str
) -> Iterator[Failure]:
    """
    Run the mutants with these indices; each depends on the seed and its index only.

    Args:
        pool: what to damage.
        seed: another seed, other mutants.
        indices: which mutants.
        scratch: a folder for the reproducers of internal errors.
    """
    for index in indices:
        rng = random.Random(f"{seed} {index}")
        case = pool[rng.randrange(len(pool))]
        data = mutant(case.text, rng)
        if (reason := _run(case, data, scratch)) is not None:
            yield Failure(index, case, data, reason)


def _run(case: Case, data: bytes, scratch: str) -> str | None:
    """What is wrong with neuron-opt's answer, or None."""
    from xdsl_neuron.tools.opt import main

    options = [*case.options, "--reproducer-dir", scratch]
    try:
        with _time_limit():
            result = call(main, options, data)
    except HangError:
        return f"no answer within {LIMIT_SECONDS} s"
    error = result.err.decode(errors="replace")
    if "internal error" in error or "Traceback" in error:
        return error.partition("\nnote: ")[0]
    if result.code not in (0, 1) or (result.code and not error):
        return f"exit code {result.code}: {error}"
    return None


@contextmanager
def _time_limit() -> Generator[None]:
    def stop(signum: int, frame: FrameType | None) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main() -> int:
    """The command; the exit code is 1 where a mutant failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the index of one mutant to show")
    parser.add_argument("--folder", type=Path, default=ROOT / "test")
    args = parser.parse_args()
    pool = cases(args.folder)
    indices = range(args.count) if args.only is None else [args.only]
    start = time.perf_counter()
    kinds = Counter[str]()
    with tempfile.TemporaryDirectory() as scratch:
        for failure in failures(pool, args.seed, indices, scratch):
            kind = re.sub(r"\d+|'[^']*'", "*", failure.reason)
            kinds[kind] += 1
            if args.only is not None or kinds[kind] == 1:
                print(f"mutant {failure.index} of {failure.case.path}")
                print(f"  neuron-opt {shlex.join(failure.case.options)}")
                print(f"  {failure.reason}")
            if args.only is not None:
                sys.stdout.buffer.write(failure.mutant)
    spent = time.perf_counter() - start
    bad = kinds.total()
    print(
        f"{len(indices) - bad} passed, {bad} failed ({len(kinds)} kinds, {spent:.1f} s)"
    )
    return int(bad > 0)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
