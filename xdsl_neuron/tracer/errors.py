"""
What a kernel is refused with: errors that know the kernel's line.

Every rule of the language raises through `NKIError` or a subclass of it (penguin.md 5:
the default is `NKISyntaxError`, some rules are value, type or index errors). The place
is that of the innermost frame that is not ours, unless one is given.
"""

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Attribute, Operation

from xdsl_neuron.diagnostics import (
    DiagnosticError,
    SourceLocation,
    Where,
    source_location,
)
from xdsl_neuron.tracer.calls import notes_of, running
from xdsl_neuron.tracer.frames import kernel_place, own_failure

OUTSIDE_KERNEL = "calling NKI API outside of NKI kernels is not supported."

_MOST = 120
"""Characters of a value that a message quotes."""


class NKIError(DiagnosticError):
    """A kernel breaks a rule of the language or of the hardware."""

    def __init__(self, message: str, where: Where = None) -> None:
        calls = running()
        where = kernel_place() if where is None else where
        is_here = calls and _place_of(where) == calls[0].place
        super().__init__(where, message, notes=notes_of(calls) if is_here else ())
        self.message = message

    @property
    def location(self) -> SourceLocation | None:
        """The kernel's line, None where no kernel frame is known."""
        return self.diagnostics[0].location


def _place_of(where: Where) -> SourceLocation | None:
    if isinstance(where, Operation):
        where = where.location
    return source_location(where) if isinstance(where, Attribute) else where


class NKISyntaxError(NKIError):
    """The default: a construct the language does not have."""


class NKIValueError(NKIError, ValueError):
    """An argument has a value that is not allowed."""


class NKITypeError(NKIError, TypeError):
    """An argument has a type that is not allowed."""


class NKIIndexError(NKIError, IndexError):
    """An index leaves its tensor."""


class NKIAttributeError(NKIError, AttributeError):
    """A name that this generation of the language does not have."""


class NKIImportError(NKIError, ImportError):
    """A name that is imported and that this generation does not have."""


class NKIRuntimeError(NKIError, RuntimeError):
    """The language is used where there is no kernel."""


def described(value: object) -> str:
    """A wrong value as messages show it: its type, and itself where that is short."""
    kind = type(value).__name__
    if hasattr(value, "__array_interface__"):
        shape = tuple(getattr(value, "shape", ()))
        return f"{kind} (an array of shape {shape}; make it an argument of the kernel)"
    text = " ".join(repr(value).split())
    return f"{kind} ({text if len(text) <= _MOST else text[: _MOST - 3] + '...'})"


class NKIInternalError(NKIRuntimeError):
    """The implementation failed on what a kernel asked for."""


def internal_error(error: Exception) -> NKIInternalError | None:
    """
    The exception as an error at the kernel's line; None where it is not ours.

    Not ours are errors that know their place, what a kernel's own functions raise,
    warnings that the user made errors, and running out of memory or stack.
    """
    if isinstance(error, DiagnosticError | MemoryError | RecursionError | Warning):
        return None
    ours, place = own_failure(error)
    if not ours:
        return None
    return NKIInternalError(
        f"internal error: {type(error).__name__}: {error}; the arguments of this call "
        "are not handled, please report the kernel",
        place or kernel_place(),
    )


class SymbolicValueError(NKIError):
    """
    Python control flow asks for the value of something that has none while tracing.

    `program_id` says whether only the launch grid's indices are involved: then the
    kernel is traced once per grid point instead. `loops` are the places of the `for`
    statements whose indices are involved: then these are unrolled instead.
    """

    def __init__(
        self,
        message: str,
        program_id: bool = False,
        loops: frozenset[FileLineColLoc] = frozenset(),
    ) -> None:
        super().__init__(message)
        self.program_id = program_id
        self.loops = loops
