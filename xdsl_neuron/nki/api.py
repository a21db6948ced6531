"""The check of a call that every function of the language shares."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from xdsl_neuron.nki.arguments import HIDDEN
from xdsl_neuron.tracer.context import current
from xdsl_neuron.tracer.errors import NKITypeError, internal_error
from xdsl_neuron.tracer.wrong_calls import wrong_call

P = ParamSpec("P")
R = TypeVar("R")


def api(function: Callable[P, R]) -> Callable[P, R]:
    """
    Refuses calls outside of a kernel, and wrong arguments at the kernel's line.

    The message names the accepted arguments; Python's own TypeError has neither. Where
    the implementation itself fails, the error says so at the kernel's line.
    """
    signature = inspect.signature(function)
    name = function.__name__
    named = [
        p
        for p in signature.parameters.values()
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    names = frozenset(p.name for p in named)
    positional = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in named)
    variadic = any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
    rest = [p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD]
    hides = rest == ["hidden"]
    open_ended = bool(rest) and not hides
    accepted = names | frozenset(HIDDEN) if hides else names
    required = [p.name for p in named if p.default is p.empty]
    # needed[n]: names that n positional arguments leave to be given.
    needed = tuple(
        frozenset(
            p.name
            for at, p in enumerate(named)
            if p.name in required and (at >= given or p.kind is p.KEYWORD_ONLY)
        )
        for given in range(len(named) + 1)
    )
    last = len(needed) - 1

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        current()
        given, names_given = len(args), kwargs.keys()
        if not (
            (open_ended or names_given <= accepted)
            and (variadic or given <= positional)
            and needed[min(given, last)] <= names_given
        ):
            others = {"as every instruction": HIDDEN} if hides else None
            wrong = wrong_call(f"{name}()", signature, args, kwargs, others)
            if wrong is not None:
                raise NKITypeError(wrong)
        try:
            return function(*args, **kwargs)
        except Exception as error:
            found = internal_error(error)
            if found is None:
                raise
            raise found from error

    return checked


def one_instruction(function: Callable[P, R]) -> Callable[P, R]:
    """As `api`, of a call that is one instruction whatever its operands are."""
    call = api(function)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        trace = current()
        before, trace.splits = trace.splits, False
        try:
            return call(*args, **kwargs)
        finally:
            trace.splits = before

    return checked
