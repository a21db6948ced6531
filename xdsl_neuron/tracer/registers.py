"""Builders of register arithmetic and of loops whose trips are in a register."""

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.instruction import REGISTER_BITS
from xdsl_neuron.dialects.neuron import AffineAttr, AluOpAttr
from xdsl_neuron.geometry.affine import Affine, FloorDiv, Index
from xdsl_neuron.isa import AluOp
from xdsl_neuron.tracer.index import Expr
from xdsl_neuron.tracer.symbols import Register
from xdsl_neuron.tracer.tiles import TileBuilders


def is_plain(value: Affine) -> bool:
    """Whether it is a constant, or one register or loop index."""
    if value.is_constant:
        return True
    (atom, factor), *more = value.terms
    return not more and factor == 1 and not value.constant and isinstance(atom, Index)


class RegisterBuilders(TileBuilders):
    """Arithmetic of the sequencers, and run-time loops (bir.md 6.12, 7.6)."""

    def register_alu(
        self, op: AluOp, lhs: Expr, rhs: Expr, bits: int = REGISTER_BITS
    ) -> Affine:
        """A register, or a pair, that holds `lhs op rhs`."""
        properties: dict[str, Attribute] = {
            "op": AluOpAttr(op),
            "lhs": AffineAttr(self.plain(lhs, bits)),
            "rhs": AffineAttr(self.plain(rhs, bits)),
        }
        if bits != REGISTER_BITS:
            properties["is_64bit"] = UnitAttr()
        self.emit(penguin.RegisterAluOp, [], properties)
        return self._result()

    def register_move(self, value: Expr) -> Affine:
        """A register that holds a constant, or what another one holds."""
        held = self.plain(value)
        self.emit(penguin.RegisterMoveOp, [], {"value": AffineAttr(held)})
        return self._result()

    def _result(self) -> Affine:
        assert self.last is not None
        (value,) = self.last.operation.results
        value.name_hint = self.locator.variable() or "r"
        return self.add_register(value)

    def plain(self, value: Expr, bits: int = REGISTER_BITS) -> Affine:
        """The expression as one register or constant; sums are computed (bir.md 5)."""
        value = Affine.of(value)
        if is_plain(value):
            return value
        found: Affine | None = None
        for atom, factor in value.terms:
            term = self._atom(atom)
            if factor != 1:
                term = self.register_alu(AluOp.MULT, term, factor, bits)
            if found is not None:
                term = self.register_alu(AluOp.ADD, found, term, bits)
            found = term
        assert found is not None
        if value.constant:
            found = self.register_alu(AluOp.ADD, found, value.constant, bits)
        return found

    def _atom(self, atom: object) -> Affine:
        """An index, or the floor division or remainder of an expression."""
        if isinstance(atom, Index):
            return Affine.index(atom.position)
        operand = getattr(atom, "operand")
        divisor = getattr(atom, "divisor")
        held = self.plain(operand)
        rest = self.register_alu(AluOp.MOD, held, divisor)
        if not isinstance(atom, FloorDiv):
            return rest
        whole = self.register_alu(AluOp.SUBTRACT, held, rest)
        return self.register_alu(AluOp.DIVIDE, whole, divisor)

    @contextmanager
    def counted_scope(
        self, lower: int, upper: Affine, step: int = 1, hint: str = "i"
    ) -> Generator[Affine]:
        """A loop of `lower, lower + step, ...` below a register; gives its index."""
        operation = penguin.DynamicForOp.make(
            lower, Affine.index(0), (self._in_register(upper),), step, hint
        )
        body = operation.body.block
        index = self._dynamic_index(operation.index, body)
        with self._runtime_body(operation, body):
            yield index

    @contextmanager
    def repeated_scope(self) -> Generator[list[Affine]]:
        """A body that runs again while the register put into the list is not zero."""
        operation = penguin.DoWhileOp.make()
        condition: list[Affine] = []
        with self._runtime_body(operation, operation.body.block):
            yield condition
            again = self._in_register(condition[0])
            self.insert(penguin.ContinueIfOp.make(again))

    def _in_register(self, value: Affine) -> SSAValue:
        """A value that decides a loop; a constant and a loop's index are moved."""
        value = self.plain(value)
        if not value.is_constant:
            (number,) = value.positions
            found = self._index_value(number)
            if isinstance(found, OpResult):
                return found
        (number,) = self.register_move(value).positions
        return self._index_value(number)

    def _dynamic_index(self, value: SSAValue, body: Block) -> Affine:
        number = len(self.loops)
        self.loops.append(Register(number, value, body))
        self._numbers[value] = number
        self._reach.append((-(1 << 31), (1 << 32) - 1))
        return Affine.index(number)

    @contextmanager
    def _runtime_body(self, operation: Operation, body: Block) -> Generator[None]:
        self.insert(operation)
        outer = self.block
        self.block = body
        self.blocks.append(body)
        self.runtime_loops += 1
        self.runtime_loops_made += 1
        try:
            yield
        finally:
            self.runtime_loops -= 1
            if body in self.blocks:
                del self.blocks[self.blocks.index(body) :]
                self.block = outer
