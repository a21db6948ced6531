"""
Which line of a kernel is being executed.

The innermost frame whose code is not of the tracer or the language is the kernel's.
Codes are classified once, and a place is computed once per instruction of bytecode.
"""

import os
import sys
from types import CodeType, FrameType
from typing import Final

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from xdsl_neuron.diagnostics import SourceLocation

_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS: Final = tuple(
    os.path.join(_PACKAGE, part) + os.sep
    for part in ("tracer", "nki", "tools", "dialects", "machine")
)
_OUTSIDE: Final = ("<frozen ", "<string>")

_is_ours: dict[CodeType, bool] = {}
_places: dict[tuple[CodeType, int], FileLineColLoc] = {}


def is_ours(code: CodeType) -> bool:
    """Whether a code object belongs to the implementation, not to a kernel."""
    known = _is_ours.get(code)
    if known is None:
        name = code.co_filename
        known = name.startswith(_OURS) or name.startswith(_OUTSIDE)
        _is_ours[code] = known
    return known


def kernel_frame() -> FrameType | None:
    """The innermost frame of a kernel, None where there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not is_ours(frame.f_code):
            return frame
        frame = frame.f_back
    return None


def location_of(frame: FrameType) -> FileLineColLoc:
    """The location attribute of the expression a frame is executing."""
    key = (frame.f_code, frame.f_lasti)
    found = _places.get(key)
    if found is None:
        file, line, column = _place(frame)
        found = FileLineColLoc([StringAttr(file), IntAttr(line), IntAttr(column)])
        _places[key] = found
    return found


def kernel_place() -> SourceLocation | None:
    """File, line and column of the kernel's innermost frame."""
    frame = kernel_frame()
    return None if frame is None else _place(frame)


def _place(frame: FrameType) -> SourceLocation:
    code = frame.f_code
    positions = list(code.co_positions())
    line, _, column, _ = positions[frame.f_lasti // 2]
    return SourceLocation(
        code.co_filename,
        frame.f_lineno if line is None else line,
        0 if column is None else column + 1,
    )
