"""
Warnings of what a kernel relies on and some release has not.

A rule that only a later release has refuses nothing where people's kernels were written
for an earlier one: it is said once per line of a kernel, with the release.
"""

import warnings
from typing import Final

from xdsl_neuron.diagnostics import SourceLocation
from xdsl_neuron.tracer.frames import kernel_place

_SHOWN: Final[dict[str | tuple[str, type[Warning], int], int]] = {}
"""Python's own record of what it has shown once."""


class NKIReleaseWarning(UserWarning):
    """A kernel is not legal in every release that has its names; `place` is where."""

    def __init__(self, message: str, place: SourceLocation | None) -> None:
        super().__init__(message)
        self.place = place


def warn_of_release(message: str) -> None:
    """Warns at the kernel's line; the message names the release."""
    place = kernel_place()
    file, line = ("<unknown>", 1) if place is None else (place.file, place.line)
    warning = NKIReleaseWarning(message, place)
    warnings.warn_explicit(warning, None, file, line, registry=_SHOWN)
