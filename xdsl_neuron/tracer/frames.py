"""
Which line of a kernel is being executed.

The innermost frame whose code is not of the tracer or the language is the kernel's.
"""

import contextlib
import dis
import inspect
import os
from collections.abc import Generator
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Final

import xdsl
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from xdsl_neuron.diagnostics import SourceLocation, python_place, source_location

_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# `with trace.scope(...)` goes through contextlib.
_OURS: Final = (_PACKAGE + os.sep, contextlib.__file__)
_TOOLS: Final = os.path.join(_PACKAGE, "tools") + os.sep
# The implementation and what it is built on.
_INSIDE: Final = (_PACKAGE + os.sep, os.path.dirname(xdsl.__file__) + os.sep)
# Frozen modules and generated functions. What is typed at a prompt, piped into Python
# or given to `exec` has a name in angle brackets too, and is the kernel's.
_GENERATED: Final = ("<frozen ", "<__array_function__", "<attrs generated")
_DATACLASS: Final = "__create_fn__"


def is_ours(code: CodeType) -> bool:
    """Whether a code object belongs to the implementation, not to a kernel."""
    name = code.co_filename
    if not name.startswith("<"):
        return name.startswith(_OURS)
    return name.startswith(_GENERATED) or code.co_qualname.startswith(_DATACLASS)


def kernel_frame() -> FrameType | None:
    """The innermost frame of a kernel, None where there is none."""
    frame = inspect.currentframe()
    while frame is not None and is_ours(frame.f_code):
        # What has called a tool is its command, not a kernel.
        if frame.f_code.co_filename.startswith(_TOOLS):
            return None
        frame = frame.f_back
    return frame


def place_of(frame: FrameType) -> SourceLocation:
    """File, line and column (both from 1) of the expression a frame is executing."""
    return place_at(frame.f_code, frame.f_lasti, frame.f_lineno)


def place_at(code: CodeType, at: int, around: int) -> SourceLocation:
    """The place of the instruction at an offset; it is near the line `around`."""
    line, _, column, _ = list(code.co_positions())[at // 2]
    return python_place(code.co_filename, around if line is None else line, column)


def own_failure(error: BaseException) -> tuple[bool, SourceLocation | None]:
    """
    Whether an exception was raised in the implementation, and for which kernel line.

    What a function of the kernel raises is not ours, whoever has called it.
    """
    step, ours, place = error.__traceback__, False, None
    while step is not None:
        code = step.tb_frame.f_code
        ours = code.co_filename.startswith(_INSIDE)
        if not is_ours(code):
            place = place_at(code, step.tb_lasti, step.tb_lineno)
        step = step.tb_next
    return ours, place


_put_off: ContextVar[FileLineColLoc | None] = ContextVar("put_off", default=None)


@contextlib.contextmanager
def placed_at(location: FileLineColLoc | None) -> Generator[None]:
    """What happens meanwhile belongs to this place, where the kernel asked for it."""
    token = _put_off.set(location or _put_off.get())
    try:
        yield
    finally:
        _put_off.reset(token)


def kernel_place() -> SourceLocation | None:
    """The place of the kernel's innermost frame, or of what was put off."""
    asked = _put_off.get()
    if asked is not None:
        return source_location(asked)
    frame = kernel_frame()
    return None if frame is None else place_of(frame)


def location_attribute(place: SourceLocation) -> FileLineColLoc:
    """A place as a location attribute."""
    return FileLineColLoc(
        StringAttr(place.file), IntAttr(place.line), IntAttr(place.column)
    )


_STORES: Final = ("STORE_FAST", "STORE_NAME", "STORE_DEREF", "STORE_GLOBAL")


def stored_names(code: CodeType) -> dict[int, str]:
    """
    For each instruction, by offset, the variable that its value is bound to at once.

    A `for` statement binds what its iterator gives.
    """
    found: dict[int, str] = {}
    before: list[int] = []
    # A frame that has called Python code stands at the last cache entry of the call.
    for instruction in dis.get_instructions(code, show_caches=True):
        if instruction.opname in _STORES and str(instruction.argval).isidentifier():
            found.update(dict.fromkeys(before, str(instruction.argval)))
        if instruction.opname in ("FOR_ITER", "CACHE"):
            before.append(instruction.offset)
        else:
            before = [instruction.offset]
    return found


def is_for_statement(frame: FrameType) -> bool:
    """Whether a frame is about to loop over what it asks an iterator of."""
    code = frame.f_code
    name = dis.opname[code.co_code[frame.f_lasti]]
    if name != "GET_ITER":
        return False
    # A comprehension calls (3.11) or inlines (3.12) its loop instead.
    following = dis.opname[code.co_code[frame.f_lasti + 2]]
    return following not in ("PRECALL", "CALL", "RESUME", "LOAD_FAST_AND_CLEAR")


class Locator:
    """Where a kernel is, each place worked out once per trace."""

    def __init__(self) -> None:
        self._ours: dict[CodeType, bool] = {}
        self._places: dict[tuple[CodeType, int], FileLineColLoc] = {}
        self._stored: dict[CodeType, dict[int, str]] = {}

    def here(self) -> FileLineColLoc | None:
        """The location of the innermost kernel frame, None where there is none."""
        asked = _put_off.get()
        if asked is not None:
            return asked
        frame = self._kernel_frame()
        if frame is None:
            return None
        key = (frame.f_code, frame.f_lasti)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = location_attribute(place_of(frame))
        return found

    def variable(self) -> str | None:
        """The kernel's variable that gets the value being computed, if it is one."""
        if _put_off.get() is not None:
            return None
        frame = self._kernel_frame()
        if frame is None:
            return None
        code = frame.f_code
        if code not in self._stored:
            self._stored[code] = stored_names(code)
        return self._stored[code].get(frame.f_lasti)

    def _kernel_frame(self) -> FrameType | None:
        frame = inspect.currentframe()
        ours = self._ours
        while frame is not None:
            code = frame.f_code
            own = ours.get(code)
            if own is None:
                own = ours[code] = is_ours(code)
            if not own:
                break
            frame = frame.f_back
        return frame
