"""What a kernel says about its run: order of instructions, and prints."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_view
from xdsl_neuron.nki.trace import KernelTrace, session
from xdsl_neuron.tracer.errors import NKISyntaxError, NKITypeError


@api
def no_reorder() -> AbstractContextManager[None]:
    """
    Instructions inside keep their order, as all do here.

    Run-time loops do not stand in it (nki.md 1.2).
    """
    return _in_order(session())


@contextmanager
def _in_order(trace: KernelTrace) -> Generator[None]:
    made = trace.runtime_loops_made
    yield
    if trace.runtime_loops_made != made:
        raise NKISyntaxError(
            "a run-time loop (dynamic_range, fori_loop, while_loop) stands inside of "
            "nl.no_reorder(); put no_reorder into the loop's body"
        )


@api
def device_print(print_prefix: Any, tensor: Any) -> None:
    """Prints a tensor of SBUF or HBM behind a constant prefix, while running."""
    if not isinstance(print_prefix, str):
        raise NKITypeError(
            "device_print: `print_prefix` must be a constant string, got "
            f"{type(print_prefix).__name__}"
        )
    session().device_print(print_prefix, as_view(tensor, "tensor"))
