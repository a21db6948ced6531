"""
Telling a failure inside xDSL from one of ours.

xDSL's parser and verifiers meet bad input with whatever exception falls out of them:
an assertion, a KeyError, a ValueError. For the person with the bad input these are
refusals; the same exceptions out of our code are bugs.
"""

from xdsl.utils.exceptions import (
    BuilderNotFoundException,
    InvalidIRException,
    PyRDLError,
    UnregisteredConstructException,
)

UPSTREAM_FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BuilderNotFoundException,
    InvalidIRException,
    LookupError,
    NotImplementedError,
    PyRDLError,
    TypeError,
    UnregisteredConstructException,
    ValueError,
)
"""What xDSL is known to raise on bad input beside its own diagnostics."""


def raised_by_xdsl(error: BaseException) -> bool:
    """Whether the innermost frame that is xDSL's or ours is one of xDSL's."""
    upstream = False
    traceback = error.__traceback__
    while traceback is not None:
        module = traceback.tb_frame.f_globals.get("__name__", "")
        package = str(module).partition(".")[0]
        if package in ("xdsl", "xdsl_neuron"):
            upstream = package == "xdsl"
        traceback = traceback.tb_next
    return upstream
