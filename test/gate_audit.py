"""Which gates the sections of a test file trip, seen while they are verified."""

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from run_lines import ROOT
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.diagnostics import Diagnostic, DiagnosticError
from xdsl_neuron.dialects import get_all_dialects
from xdsl_neuron.dialects.gate import Gate
from xdsl_neuron.parsing import parse_module
from xdsl_neuron.testing import context
from xdsl_neuron.verification import verification_errors

NEAR_MISS = re.compile(r"^\s*// near miss: `(.*)` -> `(.*)`$")


@dataclass(frozen=True)
class GateKey:
    """A gate: the method of a class, whatever operations inherit it."""

    owner: str
    method: str

    def __str__(self) -> str:
        return f"{self.owner}.{self.method}"


@dataclass(frozen=True)
class Trip:
    """One refusal."""

    key: GateKey
    operation: str
    message: str
    line: int


def every_gate() -> dict[GateKey, tuple[Gate, tuple[str, ...]]]:
    """All gates, each with the names of the operations that check it."""
    found: dict[GateKey, tuple[Gate, tuple[str, ...]]] = {}
    for operation in _operations():
        for key, (_, _, gate) in _methods(operation).items():
            names = found.get(key, (gate, ()))[1]
            found[key] = (gate, (*names, operation.name))
    return found


def _operations() -> list[type[Operation]]:
    return [
        operation
        for factory in get_all_dialects().values()
        for operation in factory().operations
    ]


def _methods(operation: type[Operation]) -> dict[GateKey, tuple[type, str, Gate]]:
    """The gates of an operation, each where it is defined last."""
    last: dict[str, tuple[GateKey, tuple[type, str, Gate]] | None] = {}
    for parent in reversed(operation.mro()):
        for name, member in vars(parent).items():
            marked = getattr(member, "__gate__", None)
            if isinstance(marked, Gate):
                key = GateKey(parent.__qualname__, name)
                last[name] = (key, (parent, name, marked))
            elif name in last:
                last[name] = None
    return dict(entry for entry in last.values() if entry is not None)


@contextmanager
def recorded() -> Generator[list[Trip]]:
    """Records every refusal of a gate meanwhile."""
    trips: list[Trip] = []
    replaced: list[tuple[type, str, Callable[..., Any]]] = []
    for operation in _operations():
        for key, (owner, name, _) in _methods(operation).items():
            original = vars(owner)[name]
            if not hasattr(original, "__wrapped__"):
                replaced.append((owner, name, original))
                setattr(owner, name, _watched(trips, key, original))
    try:
        yield trips
    finally:
        for owner, name, original in replaced:
            setattr(owner, name, original)


def _watched(
    trips: list[Trip], key: GateKey, original: Callable[..., None]
) -> Callable[..., None]:
    @wraps(original)
    def gate(self: Operation) -> None:
        try:
            original(self)
        except VerifyException as error:
            place = Diagnostic.at(self, "").location
            line = 0 if place is None else place.line
            trips.append(Trip(key, self.name, str(error), line))
            raise

    return gate


@dataclass(frozen=True)
class Section:
    """A part of a test file, which is a module by itself."""

    path: Path
    lines: tuple[str, ...]

    def near_misses(self) -> Iterator[tuple[int, "Section"]]:
        """(number of the refused line, the section with the legal line instead)."""
        for place, line in enumerate(self.lines):
            found = NEAR_MISS.match(line)
            if found is None:
                continue
            old, new = found.groups()
            target = place + 1
            while self.lines[target].strip().startswith("//"):
                target += 1
            changed = list(self.lines)
            if old in changed[target]:
                changed[target] = changed[target].replace(old, new)
            else:
                changed = [each.replace(old, new) for each in changed]
                changed[place] = line
            yield target + 1, Section(self.path, tuple(changed))

    def refused_lines(self) -> set[int] | None:
        """Lines with an error; None where the text does not parse."""
        try:
            module = parse_module(context(), "\n".join(self.lines), str(self.path))
        except DiagnosticError:
            return None
        places = [error.location for error in verification_errors(module)]
        return {0 if place is None else place.line for place in places}


def sections() -> Iterator[Section]:
    """The sections of all files of expected errors of the dialects."""
    for path in sorted((ROOT / "test" / "dialects").rglob("*.mlir")):
        text = path.read_text()
        if "expected-error" in text:
            for part in re.split(r"(?m)^// -----\n", text):
                yield Section(path.relative_to(ROOT), tuple(part.split("\n")))
