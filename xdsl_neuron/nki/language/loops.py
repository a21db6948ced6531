"""Loops whose trips are known only while running (nki.md 1.2, 1.4)."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from inspect import currentframe
from types import TracebackType
from typing import Any, TypeAlias, TypeVar

from xdsl.ir import Block

from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp, LoopKind
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.rebinding import refuse_rebinding
from xdsl_neuron.nki.registers import (
    LoopIndex,
    Register,
    as_register,
    repeated,
    runtime_loop,
)
from xdsl_neuron.nki.scalars import NkiScalar
from xdsl_neuron.nki.trace import KernelTrace, session
from xdsl_neuron.tracer.errors import NKISyntaxError, NKITypeError, NKIValueError
from xdsl_neuron.tracer.frames import is_for_statement
from xdsl_neuron.tracer.index import IndexExpr, as_expr, is_integer
from xdsl_neuron.tracer.rebinding import Watch

Held = TypeVar("Held", bound=IndexExpr)
IndexMaker: TypeAlias = Callable[[Affine, Block], Held]


class DynamicRange:
    """What `for i in nl.dynamic_range(...)` iterates over: once, with a register."""

    def __init__(self, lower: Affine, upper: Affine, step: int) -> None:
        self._bounds = (lower, upper, step)

    def __iter__(self) -> Iterator[Register]:
        frame = currentframe()
        caller = None if frame is None else frame.f_back
        if caller is None or not is_for_statement(caller):
            raise NKISyntaxError(
                "dynamic_range is traced once with a register, so it can only be the "
                "iterable of a for statement (not of zip, enumerate, list or a "
                "comprehension); use range there"
            )
        once = _is_once(*self._bounds)
        return self._body(None if once else Watch.for_statement(caller))

    def _body(self, watch: Watch | None) -> Iterator[Register]:
        trace = session()
        trace.settle()
        location, name = trace.locator.here(), trace.locator.variable() or "i"
        with _loop(trace, *self._bounds, name, Register) as index:
            finished = False
            try:
                yield index
                finished = True
                trace.settle()
                refuse_rebinding(watch, trace, "dynamic_range")
            finally:
                if not finished and trace.broken_loop is None:
                    trace.broken_loop = location


@api
def dynamic_range(start: Any, stop: Any = None, step: Any = 1) -> DynamicRange:
    """
    A loop on the device: bounds are integers or registers, `step` is an integer.

    Of generations 0.3 to 0.6; 0.7 has `fori_loop` in its place, which is the same.
    """
    lower, upper = (0, start) if stop is None else (start, stop)
    return DynamicRange(_bound(lower, "start"), _bound(upper, "stop"), _step(step))


@api
def fori_loop(
    lower: Any, upper: Any, body_fun: Callable[[Any], Any], step: Any = 1
) -> None:
    """
    `for i in range(lower, upper, step): body_fun(i)` on the device.

    The body is traced once, with the index in a register where a bound is in one, else
    in a scalar.
    """
    bounds = (_bound(lower, "lower"), _bound(upper, "upper"), _step(step))
    made = _index_of(lower, upper)
    trace = session()
    trace.settle()
    watch = None if _is_once(*bounds) else Watch.call(body_fun)
    with _loop(trace, *bounds, "i", made) as index:
        body_fun(index)
        trace.settle()
        refuse_rebinding(watch, trace, "fori_loop")


@api
def while_loop(init: Any, body_fun: Callable[[Any], Any]) -> None:
    """
    `r = init; while r != 0: r = body_fun(r)` on the device.

    The body is traced once; other state is carried through memory.
    """
    trace = session()
    trace.settle()
    held = as_register(init, "init").expr
    if held.is_constant and not held.constant:
        return
    condition = Register(held)
    watch = Watch.call(body_fun)
    with runtime_loop(trace, repeated(trace, held)) as again:
        returned = body_fun(condition)
        if not isinstance(returned, Register):
            raise NKITypeError(
                "while_loop: body_fun returns the register that says whether to go on, "
                f"got {type(returned).__name__}"
            )
        trace.settle()
        refuse_rebinding(watch, trace, "while_loop")
        condition.expr = returned.expr
        again.append(returned.expr)


def _index_of(*bounds: Any) -> IndexMaker[IndexExpr]:
    """What the index of a loop with such bounds is."""
    if any(_is_only(bound, Register) for bound in bounds):
        return Register
    if any(_is_only(bound, NkiScalar) for bound in bounds):
        return lambda value, body: NkiScalar(value)
    return LoopIndex


def _is_only(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, LoopIndex)


def _bound(value: Any, what: str) -> Affine:
    if isinstance(value, NkiScalar) and value.dtype.kind is not DType.INT32:
        raise NKITypeError(
            f"`{what}` of a run-time loop is an NkiScalar of {value.dtype.name}; it "
            "must be of int32, trips of 64 bits are not counted"
        )
    return Affine.of(as_expr(value, what))


def _step(step: Any) -> int:
    if not is_integer(step):
        raise NKITypeError(
            "the step of a run-time loop must be an integer known while tracing, got "
            f"{type(step).__name__}"
        )
    if step <= 0:
        raise NKIValueError(f"the step of a run-time loop must be positive, got {step}")
    return int(step)


def _is_once(lower: Affine, upper: Affine, step: int) -> bool:
    """Whether there is one trip, so that nothing goes from one to the next."""
    if not (lower.is_constant and upper.is_constant):
        return False
    return len(range(lower.constant, upper.constant, step)) == 1


def _loop(
    trace: KernelTrace,
    lower: Affine,
    upper: Affine,
    step: int,
    name: str,
    made: IndexMaker[Held],
) -> AbstractContextManager[Held]:
    """A counted loop: rolled where its bounds are known, else up to a register."""
    return runtime_loop(trace, _Counted(trace, lower, upper, step, name, made))


class _Counted(AbstractContextManager[Held]):
    """The scope of a counted loop; its value is the index, by value."""

    def __init__(
        self,
        trace: KernelTrace,
        lower: Affine,
        upper: Affine,
        step: int,
        name: str,
        made: IndexMaker[Held],
    ) -> None:
        self._trace = trace
        self._made = made
        if lower.is_constant and upper.is_constant:
            values = range(lower.constant, upper.constant, step)
            kind = LoopKind.SEQUENTIAL
            self._static = trace.scope(kind, values, name)
            self._start = Affine(0)
            return
        self._static = None
        first = lower.constant if lower.is_constant else 0
        self._start = Affine(0) if lower.is_constant else lower
        if not lower.is_constant:
            upper = trace.register_alu(AluOp.SUBTRACT, upper, lower)
        elif upper.is_constant:
            upper = trace.register_move(upper)
        self._dynamic = trace.counted_scope(first, trace.plain(upper), step, name)

    def __enter__(self) -> Held:
        if self._static is not None:
            loop = self._static.__enter__()
            return self._made(Affine.index(loop.number), self._trace.block)
        index = self._dynamic.__enter__()
        return self._made(index + self._start, self._trace.block)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        scope = self._dynamic if self._static is None else self._static
        return scope.__exit__(kind, error, trace)
