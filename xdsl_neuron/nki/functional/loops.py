"""
Loops of the functional generation (design.md 7b).

`affine_range` and `sequential_range` trace their body once into a rolled loop;
`static_range` and Python's `range` unroll. So do the former where Python control flow
needs the value of their index: the kernel is traced again for that.
"""

import inspect
import operator
from collections.abc import Generator, Iterable, Iterator
from typing import Any, Final, NoReturn

from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import LoopKind
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.rebinding import refuse_rebinding
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKISyntaxError, NKITypeError, NKIValueError
from xdsl_neuron.tracer.frames import is_for_statement
from xdsl_neuron.tracer.index import IndexExpr, is_integer
from xdsl_neuron.tracer.output_dependencies import refuse_shared_outputs
from xdsl_neuron.tracer.rebinding import Watch
from xdsl_neuron.tracer.wrong_calls import unexpected

DIRECTIVES: Final = frozenset(
    {"auto_pipeline", "directives", "multi_buffer", "no_reorder", "precise_schedule"}
)
"""Hints to the vendor's scheduler (penguin.md 3.2; nki.md 2 names their makers)."""


class SymbolicRange:
    """What `for i in nl.affine_range(n)` iterates over: once, with a symbolic index."""

    def __init__(self, name: str, kind: LoopKind, values: range) -> None:
        self._name = name
        self._kind = kind
        self._values = values

    def __iter__(self) -> Iterator[IndexExpr | int]:
        frame = inspect.currentframe()
        caller = None if frame is None else frame.f_back
        if caller is None or not is_for_statement(caller):
            raise NKISyntaxError(
                f"{self._name} is traced once with a symbolic index, so it can only be "
                "the iterable of a for statement (not of zip, enumerate, list or a "
                "comprehension); use static_range or range there"
            )
        if session().locator.here() in session().unrolled:
            return iter(self._values)
        once = len(self._values) == 1
        return self._body(None if once else Watch.for_statement(caller))

    def _body(self, watch: Watch | None) -> Generator[IndexExpr, None, None]:
        trace = session()
        trace.settle()
        location, name = trace.locator.here(), trace.locator.variable() or "i"
        with trace.scope(self._kind, self._values, name, location=location) as loop:
            finished = False
            try:
                yield IndexExpr(Affine.index(loop.number))
                finished = True
                trace.settle()
                refuse_rebinding(watch, trace, self._name)
                if self._kind is LoopKind.PARALLEL:
                    refuse_shared_outputs(loop, trace.reductions)
            finally:
                if not finished and trace.broken_loop is None:
                    trace.broken_loop = location

    def __len__(self) -> NoReturn:
        raise NKITypeError(f"{self._name} has no length: its body is traced once")

    def __getitem__(self, item: object) -> NoReturn:
        raise NKITypeError(f"{self._name} cannot be indexed: its body is traced once")

    def __repr__(self) -> str:
        return f"nl.{self._name}({self._values})"


def _values(bounds: tuple[Any, ...]) -> range:
    """The range of constant bounds."""
    for bound in bounds:
        if isinstance(bound, IndexExpr):
            raise NKITypeError(
                f"loop bounds must be known while tracing, got {bound}; loop over the "
                "largest range and use a mask"
            )
        if not isinstance(bound, bool) and not is_integer(bound):
            raise NKITypeError(
                f"loop bounds must be int, got {type(bound).__name__} ({bound!r})"
            )
    if not 1 <= len(bounds) <= 3:
        raise NKITypeError(f"a range takes 1 to 3 bounds, got {len(bounds)}")
    found = [operator.index(bound) for bound in bounds]
    if len(found) == 3 and found[2] <= 0:
        raise NKIValueError(f"step of a loop must be positive, got {found[2]}")
    return range(*found)


def _check_directives(api: str, given: Iterable[str]) -> None:
    for key in given:
        if key not in DIRECTIVES:
            bounds = ("start", "stop", "step")
            others = {"without effect": sorted(DIRECTIVES)}
            raise NKITypeError(unexpected(f"{api}()", key, bounds, others))


@api
def affine_range(*bounds: Any, **directives: Any) -> SymbolicRange:
    """A loop whose iterations are independent, traced once."""
    _check_directives("affine_range", directives)
    return SymbolicRange("affine_range", LoopKind.PARALLEL, _values(bounds))


@api
def sequential_range(*bounds: Any, **directives: Any) -> SymbolicRange:
    """A loop whose iterations are in order, traced once."""
    _check_directives("sequential_range", directives)
    return SymbolicRange("sequential_range", LoopKind.SEQUENTIAL, _values(bounds))


@api
def static_range(*bounds: Any) -> range:
    """A loop that is unrolled while tracing."""
    return _values(bounds)
