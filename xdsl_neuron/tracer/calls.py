"""
How a kernel came to the line that is refused: its calls, and the trips of its loops.

Looked at only when something is refused. A loop that is traced once has no value to
show; of one that is unrolled, the variables hold that of the trip.
"""

import dis
import inspect
import sysconfig
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import CodeType, FrameType, TracebackType
from typing import Any, Final, NamedTuple

from xdsl_neuron.diagnostics import Diagnostic, SourceLocation
from xdsl_neuron.tracer.bytecode import flow_of, is_tuple, names_of
from xdsl_neuron.tracer.frames import is_ours, place_at

_LIBRARY: Final = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
_COMPREHENSIONS: Final = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_LONGEST: Final = 40
"""Characters of a loop variable's value."""
_MOST_CALLS: Final = 12
"""Calls that are shown; of a recursion, the innermost."""


class Call(NamedTuple):
    """A frame of the kernel and the instruction it is at."""

    frame: FrameType
    offset: int
    line: int

    @property
    def place(self) -> SourceLocation:
        """The call, or the expression that failed."""
        return place_at(self.frame.f_code, self.offset, self.line)


def run_kernel(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Calls a kernel; what stands above this frame is not the kernel's."""
    return function(*args, **kwargs)


def running() -> list[Call]:
    """The calls of the kernel that is being traced, innermost first; else none."""
    found: list[Call] = []
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code is run_kernel.__code__:
            return found
        if _is_kernels(frame.f_code):
            found.append(Call(frame, frame.f_lasti, frame.f_lineno))
        frame = frame.f_back
    return []


def raised(trace: TracebackType | None) -> list[Call]:
    """The kernel's calls that an exception came through, innermost first."""
    found: list[Call] = []
    inside = False
    while trace is not None:
        code = trace.tb_frame.f_code
        if code is run_kernel.__code__:
            found, inside = [], True
        elif inside and _is_kernels(code):
            found.insert(0, Call(trace.tb_frame, trace.tb_lasti, trace.tb_lineno))
        trace = trace.tb_next
    return found


def _is_kernels(code: CodeType) -> bool:
    """Whether code was written by whoever wrote the kernel."""
    if is_ours(code):
        return False
    name = code.co_filename
    return "site-packages" in name or not name.startswith(_LIBRARY)


def notes_of(calls: list[Call]) -> tuple[Diagnostic, ...]:
    """A note for the trip of the innermost call, and one for each of its callers."""
    if not calls:
        return ()
    notes: list[Diagnostic] = []
    trips = trips_of(calls[0])
    for inner, call in pairwise(calls):
        if inner.frame.f_code.co_name in _COMPREHENSIONS:
            trips += trips_of(call)  # a comprehension is part of its function
            continue
        if not notes:
            notes += _in_iteration(trips)
            trips = []
        text = "called from here" + _shown(trips_of(call))
        notes.append(Diagnostic(text, call.place, "note"))
    if not notes:
        notes += _in_iteration(trips)
    left_out = len(notes) - _MOST_CALLS
    if left_out > 0:
        last = notes[-1]
        notes[_MOST_CALLS - 1 :] = [
            Diagnostic(f"... {left_out} more calls", None, "note"),
            last,
        ]
    return tuple(notes)


def _in_iteration(trips: list[tuple[str, object]]) -> list[Diagnostic]:
    return [Diagnostic(_shown(trips).strip(", "), None, "note")] if trips else []


def _shown(trips: list[tuple[str, object]]) -> str:
    values = ", ".join(f"{name} = {value!r}" for name, value in trips)
    return f", in the iteration {values}" if values else ""


def trips_of(call: Call) -> list[tuple[str, object]]:
    """The variables of the `for` statements around a call, outermost first."""
    found: dict[str, object] = {}
    names = call.frame.f_locals
    for name in _loop_variables(call.frame.f_code, call.offset):
        if name in names and _is_short(names[name]):
            found[name] = names[name]
    return list(found.items())


def _is_short(value: Any) -> bool:
    """Whether a value says in which trip a loop is."""
    if is_tuple(value):
        return all(map(_is_short, value)) and len(repr(value)) <= _LONGEST
    return isinstance(value, int | float | str) and len(repr(value)) <= _LONGEST


def _loop_variables(code: CodeType, offset: int) -> Iterator[str]:
    """What the loops around an instruction bind, outermost first."""
    instructions = flow_of(code).instructions
    for start, each in instructions.items():
        if each.opname == "FOR_ITER" and start <= offset < each.argval:
            yield from _bound_behind(instructions, start)


def _bound_behind(instructions: dict[int, dis.Instruction], start: int) -> list[str]:
    """The names that take what a loop's iterator gives."""
    found: list[str] = []
    left = 1
    for offset, each in instructions.items():
        if offset <= start or left == 0:
            continue
        if each.opname == "UNPACK_SEQUENCE":
            left += int(each.argval) - 1
        elif each.opname.startswith("STORE_"):
            names = names_of(each)
            stored = names if each.opname.count("STORE") == len(names) else names[:1]
            found += [str(name) for name in stored]
            left -= len(stored)
        else:
            break
    return found
