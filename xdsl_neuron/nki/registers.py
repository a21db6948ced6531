"""
Registers: scalars of the engines' sequencers, and the loops they decide.

What a register holds while tracing is an expression of loads and loop indices. A loop
whose trips are known only while running is traced once, so registers that its body
changes reach the next iteration, and what follows, through a cell in memory.
"""

import ast
import linecache
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import FrameType
from typing import Any, TypeVar
from weakref import ref

from xdsl.ir import Block, Operation, OpResult

from xdsl_neuron.diagnostics import SourceLocation
from xdsl_neuron.dialects.edges import discard
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp, Space
from xdsl_neuron.nki.rebinding import refuse_rebinding
from xdsl_neuron.nki.scalars import NkiScalar
from xdsl_neuron.nki.trace import KernelTrace, session
from xdsl_neuron.tracer.errors import NKISyntaxError, NKITypeError, SymbolicValueError
from xdsl_neuron.tracer.frames import kernel_frame, place_of
from xdsl_neuron.tracer.index import Expr, IndexExpr, as_expr, is_integer
from xdsl_neuron.tracer.rebinding import Watch
from xdsl_neuron.tracer.symbols import Register as LoadedRegister
from xdsl_neuron.tracer.views import View


class Register(IndexExpr):
    """
    A register, usable in offsets: `t[r, :]`, `nl.ds(r, 4)`, `ap(scalar_offset=r)`.

    Arithmetic takes what it holds now; a comparison is a register of 0 or 1. In Python
    control flow only `while register:` has a meaning: the loop runs on the device (to
    0.6; 0.7 has `nl.while_loop` in its place).
    """

    __slots__ = ("__weakref__", "body", "value")

    def __init__(self, value: Affine | None, body: Block | None = None) -> None:
        self.value = value
        self.shape = ()
        self.body = body
        """The body of the loop whose index it holds."""
        session().live_registers.append(ref(self))

    @property
    def expr(self) -> Affine:
        """What the register holds; NKISyntaxError where nothing was put into it."""
        if self.value is None:
            raise NKISyntaxError(
                "a register is used before register_load or register_move"
            )
        return self.value

    @expr.setter
    def expr(self, value: Affine) -> None:
        if self.body is not None:
            raise NKISyntaxError(
                "the index of a run-time loop is read-only; make a register of its "
                "value (nisa.register_alloc(i)) and change that one"
            )
        self.value = value

    def _alu(self, op: AluOp, other: object, swapped: bool = False) -> "Register":
        _refuse_scalar(other)
        left: Expr = self.expr
        right = as_expr(other, "operand")
        if swapped:
            left, right = right, left
        return Register(session().register_alu(op, left, right))

    def _combine(self, other: object, sign: int) -> "IndexExpr | None":
        _refuse_scalar(other)
        found = super()._combine(other, sign)
        return found if found is None or found.shape else Register(found.expr)

    def __neg__(self) -> "Register":
        return Register(self.expr * -1)

    def __mul__(self, other: object) -> "IndexExpr":
        if isinstance(other, IndexExpr) and not other.expr.is_constant:
            return self._alu(AluOp.MULT, other)
        return Register(super().__mul__(other).expr)

    __rmul__ = __mul__

    def __floordiv__(self, other: object) -> "IndexExpr":
        return Register(super().__floordiv__(other).expr)

    def __mod__(self, other: object) -> "IndexExpr":
        return Register(super().__mod__(other).expr)

    def __lt__(self, other: object) -> Any:
        return self._alu(AluOp.IS_LT, other)

    def __le__(self, other: object) -> Any:
        return self._alu(AluOp.IS_LE, other)

    def __gt__(self, other: object) -> Any:
        return self._alu(AluOp.IS_GT, other)

    def __ge__(self, other: object) -> Any:
        return self._alu(AluOp.IS_GE, other)

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, IndexExpr) and not is_integer(other):
            return NotImplemented
        return self._alu(AluOp.IS_EQUAL, other)

    def __ne__(self, other: object) -> Any:
        if not isinstance(other, IndexExpr) and not is_integer(other):
            return NotImplemented
        return self._alu(AluOp.NOT_EQUAL, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        """The condition of a `while` statement: the body is traced once."""
        return _while(self)


def _refuse_scalar(other: object) -> None:
    if isinstance(other, NkiScalar) and not isinstance(other, Register):
        raise NKITypeError(
            "a register and an NkiScalar have no arithmetic together: take both from "
            "nisa.scalar_load"
        )


class LoopIndex(Register, NkiScalar):
    """
    The index of an `nl.fori_loop` whose bounds are integers, and sums made of it.

    0.6 has a register here and 0.7 a scalar. It is both: combined with a scalar it is
    one, with a register one; compared it is a register, as in 0.6.
    """

    def __init__(self, value: Affine, body: Block | None = None) -> None:
        NkiScalar.__init__(self, value)
        Register.__init__(self, value, body)

    def __mul__(self, other: object) -> Any:
        return self._applied(AluOp.MULT, other)

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self._applied(AluOp.SUBTRACT, 0, swapped=True)

    def __floordiv__(self, other: object) -> Any:
        return LoopIndex(IndexExpr.__floordiv__(self, other).expr)

    def __mod__(self, other: object) -> Any:
        return LoopIndex(IndexExpr.__mod__(self, other).expr)

    def made(self, value: Affine, other: object = None) -> IndexExpr:
        """A scalar, or a register, where the other operand is only that."""
        if isinstance(other, LoopIndex) or not isinstance(other, NkiScalar | Register):
            return LoopIndex(value)
        kind = NkiScalar if isinstance(other, NkiScalar) else Register
        return kind(value)

    def _operand(self, op: AluOp, other: object) -> Affine:
        if isinstance(other, Register):
            return other.expr
        return super()._operand(op, other)


def as_register(value: Any, what: str) -> Register:
    """A register argument."""
    if isinstance(value, Register):
        return value
    raise NKITypeError(
        f"`{what}` must be a register of register_alloc(), got {type(value).__name__}"
    )


# -- run-time loops ----------------------------------------------------------------

T = TypeVar("T")


@dataclass(slots=True)
class _Carried:
    """
    A register of before a loop: what it held, and the cell it is carried in.

    `inside` is what the body finds in it, `spill` what was made only for that.
    """

    register: Register
    held: Affine
    before: OpResult
    made: Operation
    cell: View
    spill: list[Operation]
    inside: Affine | None = None


@contextmanager
def runtime_loop(
    trace: KernelTrace, scope: AbstractContextManager[T]
) -> Generator[T, None, None]:
    """
    A body that is traced once, with the registers of before.

    Each is read from its cell at the start, written back at the end if the body put
    something else into it, and read again behind the loop. One that the body leaves as
    it is gets no cell.
    """
    carried = [_spilled(trace, register) for register in _live(trace)]
    outer = trace.block
    with scope as opened:
        for each in carried:
            loaded = trace.load_tensor_to_register(each.cell)
            each.spill.insert(0, _last(trace))
            each.inside = each.register.value = loaded.expr
        try:
            yield opened
        except BaseException:
            for each in carried:
                each.register.value = each.held
            raise
        for each in carried:
            if each.register.value is not each.inside:
                held = trace.plain(each.register.expr)
                trace.store_register_to_tensor(each.cell, held)
    for each in carried:
        if each.register.value is each.inside:
            _unspill(trace, each, outer)
        else:
            each.register.value = trace.load_tensor_to_register(each.cell).expr


def _live(trace: KernelTrace) -> list[Register]:
    """The registers in use whose value can be read here, in the order of making."""
    found: list[Register] = []
    for reference in trace.live_registers:
        register = reference()
        if isinstance(register, Register) and register.value is not None:
            if register.body is None and _is_visible(trace, register.value):
                found.append(register)
    return found


def _is_visible(trace: KernelTrace, held: Affine) -> bool:
    """Whether no part of it was computed in the body of a loop that is complete."""
    symbols = [trace.loops[number] for number in held.positions]
    return all(
        symbol.block in trace.blocks
        if isinstance(symbol, LoadedRegister)
        else symbol.open
        for symbol in symbols
    )


def _last(trace: KernelTrace) -> Operation:
    assert trace.last is not None
    return trace.last.operation


def _spilled(trace: KernelTrace, register: Register) -> _Carried:
    held = register.expr
    moved = trace.register_move(held)
    before = _last(trace)
    buffer = trace.create_tensor((1, 1), DType.INT32, Space.SBUF, "carried")
    cell = trace.view.of(buffer)
    trace.store_register_to_tensor(cell, moved)
    allocation = buffer.value.owner
    assert isinstance(allocation, Operation)
    spill = [_last(trace), allocation]
    return _Carried(register, held, before.results[0], before, cell, spill)


def _unspill(trace: KernelTrace, each: _Carried, outer: Block) -> None:
    """The body reads what the register held before."""
    load, *_ = each.spill
    load.results[0].replace_all_uses_with(each.before)
    assert each.inside is not None
    for number in each.inside.positions:
        trace.loops[number] = LoadedRegister(number, each.before, outer)
    for operation in each.spill:
        discard(operation)
    # An expression of the body may name it and be used later.
    trace.moves_for_bodies.append(each.made)
    each.register.value = each.held


@contextmanager
def repeated(trace: KernelTrace, value: Affine) -> Generator[list[Affine]]:
    """A body that runs while the register in the list is not zero, at first `value`."""
    if value.is_constant:
        with trace.repeated_scope() as condition:
            yield condition
        return
    some = trace.register_alu(AluOp.NOT_EQUAL, value, 0)
    with (
        trace.counted_scope(0, some, hint="once"),
        trace.repeated_scope() as condition,
    ):
        yield condition


@dataclass(slots=True)
class OpenWhile:
    """A `while register:` whose body is being traced."""

    frame: FrameType
    statement: tuple[int, int]
    place: SourceLocation | None
    scopes: ExitStack
    watch: Watch
    condition: list[Affine]


def _while(register: Register) -> bool:
    """
    Python asks for a `while` statement's condition, before its body and after it.

    The second time, from the same place of the same call, the loop is complete.
    """
    trace, frame = session(), kernel_frame()
    place = None if frame is None else place_of(frame)
    statement = None if place is None else _whiles(place.file).get(_spot(place))
    if place is not None and statement is None and not linecache.getlines(place.file):
        raise NKISyntaxError(
            f"the text of {place.file} is not known, so `while register:` cannot be "
            "told from `if register:`; put the kernel into a file, or use nl.while_loop"
        )
    if frame is None or statement is None:
        raise SymbolicValueError(
            "a register has no value while a kernel is traced: Python control flow on "
            "it is `while register:` alone; use nl.fori_loop or nl.while_loop, or "
            "compute both sides and select with nisa.tensor_copy_predicated"
        )
    trace.settle()
    around = trace.whiles[-1] if trace.whiles else None
    if around is not None and (around.frame, around.statement) == (
        frame,
        statement,
    ):
        trace.whiles.pop()
        refuse_rebinding(around.watch, trace, "`while register:`")
        around.condition.append(register.expr)
        around.scopes.close()
        return False
    held = register.expr
    if held.is_constant and not held.constant:
        return False
    watch = Watch.while_statement(frame)
    scopes = ExitStack()
    condition = scopes.enter_context(runtime_loop(trace, repeated(trace, held)))
    trace.whiles.append(OpenWhile(frame, statement, place, scopes, watch, condition))
    return True


def _spot(place: SourceLocation) -> tuple[int, int]:
    return (place.line, place.column)


@lru_cache(maxsize=64)
def _whiles(file: str) -> dict[tuple[int, int], tuple[int, int]]:
    """
    The `while` statements of a file, by where they and their conditions begin.

    The test before the body and the one after it have either place.
    """
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return {}
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.While):
            statement = (node.lineno, node.col_offset + 1)
            found[statement] = statement
            found[(node.test.lineno, node.test.col_offset + 1)] = statement
    return found
