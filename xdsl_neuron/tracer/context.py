"""The trace that is running: ambient, per thread and per task, re-entrant."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl_neuron.tracer.codegen import NeuronCodegen

_current: ContextVar["NeuronCodegen | None"] = ContextVar("neuron_trace", default=None)


def current_or_none() -> "NeuronCodegen | None":
    """The running trace, None outside of a kernel."""
    return _current.get()


def current() -> "NeuronCodegen":
    """The running trace; NKIRuntimeError outside of a kernel (penguin.md 3.1)."""
    found = _current.get()
    if found is None:
        from xdsl_neuron.tracer.errors import OUTSIDE_KERNEL, NKIRuntimeError

        raise NKIRuntimeError(OUTSIDE_KERNEL)
    return found


@contextmanager
def tracing(codegen: "NeuronCodegen") -> Generator["NeuronCodegen"]:
    """Makes a trace the current one; the previous one comes back at the end."""
    token = _current.set(codegen)
    try:
        yield codegen
    finally:
        _current.reset(token)
