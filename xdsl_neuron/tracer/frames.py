"""
Which line of a kernel is being executed.

The innermost frame whose code is not of the tracer or the language is the kernel's.
"""

import inspect
import os
from types import CodeType, FrameType
from typing import Final

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from xdsl_neuron.diagnostics import SourceLocation

_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS: Final = tuple(
    os.path.join(_PACKAGE, part) + os.sep
    for part in ("tracer", "nki", "tools", "dialects", "machine")
)
# Generated methods (dataclasses, enumerations) and frozen modules.
_NOWHERE: Final = "<"


def is_ours(code: CodeType) -> bool:
    """Whether a code object belongs to the implementation, not to a kernel."""
    name = code.co_filename
    return name.startswith(_OURS) or name.startswith(_NOWHERE)


def kernel_frame() -> FrameType | None:
    """The innermost frame of a kernel, None where there is none."""
    frame = inspect.currentframe()
    while frame is not None and is_ours(frame.f_code):
        frame = frame.f_back
    return frame


def place_of(frame: FrameType) -> SourceLocation:
    """File, line and column (both from 1) of the expression a frame is executing."""
    code = frame.f_code
    line, _, column, _ = list(code.co_positions())[frame.f_lasti // 2]
    return SourceLocation(
        code.co_filename,
        frame.f_lineno if line is None else line,
        1 if column is None else column + 1,
    )


def kernel_place() -> SourceLocation | None:
    """The place of the kernel's innermost frame."""
    frame = kernel_frame()
    return None if frame is None else place_of(frame)


def location_attribute(place: SourceLocation) -> FileLineColLoc:
    """A place as a location attribute."""
    return FileLineColLoc(
        StringAttr(place.file), IntAttr(place.line), IntAttr(place.column)
    )


class Locator:
    """Locations of a kernel's expressions, each computed once per trace."""

    def __init__(self) -> None:
        self._ours: dict[CodeType, bool] = {}
        self._places: dict[tuple[CodeType, int], FileLineColLoc] = {}

    def here(self) -> FileLineColLoc | None:
        """The location of the innermost kernel frame, None where there is none."""
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
        if frame is None:
            return None
        key = (frame.f_code, frame.f_lasti)
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = location_attribute(place_of(frame))
        return found
