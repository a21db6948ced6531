"""
Loops whose trips are known only while running: counted by a register, or do-while.

A register is an `index` result; the values a loop computes reach its next iteration
through memory.
"""

from typing import Self

from xdsl.dialects.builtin import IndexType, IntegerAttr, i64
from xdsl.ir import Block, BlockArgument, OpResult, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator, NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import check_gates, gate
from xdsl_neuron.dialects.instruction import REGISTER_BITS, register_bits
from xdsl_neuron.dialects.instruction_text import integer, value_text
from xdsl_neuron.dialects.neuron import AffineAttr
from xdsl_neuron.dialects.neuron.text import Cursor, resume
from xdsl_neuron.geometry.affine import Affine, Index


class DynamicFor(IRDLOperation):
    """
    A loop whose upper bound is `c + k * register`, iterations in order.

        penguin.dynamic_for %i = 0 to %n * 2 + 1 step 4 { ... }

    Its index is no constant in any iteration: what uses it stays dynamic.
    """

    registers = var_operand_def(IndexType)
    lower = prop_def(IntegerAttr)
    upper = prop_def(AffineAttr)
    step = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    @classmethod
    def make(
        cls,
        lower: int,
        upper: Affine,
        registers: tuple[SSAValue, ...],
        step: int = 1,
        hint: str = "i",
    ) -> Self:
        """A loop with an empty body; `upper` is an expression of the registers."""
        block = Block(arg_types=[IndexType()])
        block.args[0].name_hint = hint if SSAValue.is_valid_name(hint) else "i"
        return cls.create(
            operands=registers,
            properties={
                "lower": integer(lower),
                "upper": AffineAttr(upper),
                "step": integer(step),
            },
            regions=[Region(block)],
        )

    @property
    def index(self) -> BlockArgument:
        """The loop index."""
        return self.body.block.args[0]

    def verify_(self) -> None:
        """An index argument, then the gates."""
        arguments = self.body.block.args
        if len(arguments) != 1 or arguments[0].type != IndexType():
            raise VerifyException("loop body takes exactly one index argument")
        check_gates(self)

    @gate(
        "DynamicForLoop: lb affine and constant, stride affine and constant",
        "bir.md 7.6 codes 182, 183, 187, 188",
    )
    def constant_bounds(self) -> None:
        """The lower bound is a constant; so is the stride, a positive one."""
        if self.step.value.data <= 0:
            raise VerifyException(
                f"loop step must be positive, got {self.step.value.data}"
            )

    @gate(
        "Only scalar values supported in Dynamic For Loop upper bound expressions "
        "currently",
        "bir.md 7.6 codes 184, 185, 186, 195, 1910",
    )
    def one_register(self) -> None:
        """The upper bound is `c + k * register`."""
        terms = self.upper.data.terms
        atoms = [atom for atom, _ in terms if isinstance(atom, Index)]
        if len(self.registers) != 1 or len(atoms) != 1 or len(terms) != 1:
            raise VerifyException(
                "Only scalar values supported in Dynamic For Loop upper bound "
                f"expressions currently: expected c + k * register, got {self.upper}"
            )
        if atoms[0].position or not isinstance(self.registers[0], OpResult):
            raise VerifyException(
                "Only scalar values supported in Dynamic For Loop upper bound "
                "expressions currently: the upper bound is no register"
            )
        if register_bits(self.registers[0]) != REGISTER_BITS:
            raise VerifyException(
                "Only scalar values supported in Dynamic For Loop upper bound "
                "expressions currently: the upper bound is a pair of registers"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads the text form."""
        argument = parser.parse_argument(expect_type=False).resolve(IndexType())
        cursor = Cursor.at(parser)
        cursor.indices = []
        cursor.expect("=")
        lower = cursor.integer()
        if not cursor.keyword("to"):
            cursor.fail("expected 'to'")
        upper = cursor.affine()
        step = cursor.integer() if cursor.keyword("step") else 1
        resume(parser, cursor.pos)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region([argument])
        return cls.create(
            operands=cursor.indices,
            properties={
                "lower": integer(lower),
                "upper": AffineAttr(upper),
                "step": integer(step),
            },
            attributes=attributes.data if attributes is not None else {},
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        """Writes the text form."""
        printer.print_string(" ")
        printer.print_ssa_value(self.index)
        names = [value_text(printer, value) for value in self.registers]
        upper = self.upper.render(names.__getitem__)
        step = self.step.value.data
        suffix = f" step {step}" if step != 1 else ""
        printer.print_string(f" = {self.lower.value.data} to {upper}{suffix} ")
        _print_attributes(self, printer)
        printer.print_region(
            self.body, print_entry_block_args=False, print_empty_block=False
        )


class DoWhile(IRDLOperation):
    """
    A body that runs once, and again while the register it ends with is not zero.

        penguin.do_while {
          ...
          penguin.continue_if %r
        }
    """

    body = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect())

    @classmethod
    def make(cls) -> Self:
        """A loop with an empty body."""
        return cls.create(regions=[Region(Block())])

    def verify_(self) -> None:
        """The gates."""
        check_gates(self)

    @gate("DoWhile: condition is a runtime integer", "bir.md 7.6 code 119")
    def register_condition(self) -> None:
        """The body takes no argument and ends with the condition, a register."""
        block = self.body.block
        last = block.last_op
        if block.args or not isinstance(last, ContinueIf):
            raise VerifyException(
                "a do-while body takes no arguments and ends in continue_if"
            )
        if not isinstance(last.condition, OpResult):
            raise VerifyException(
                "DoWhile: condition is a runtime integer, got a loop index"
            )
        if register_bits(last.condition) != REGISTER_BITS:
            raise VerifyException(
                "DoWhile: condition is a runtime integer, got a pair of registers"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads the text form."""
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        return cls.create(
            attributes=attributes.data if attributes is not None else {},
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        """Writes the text form."""
        printer.print_string(" ")
        _print_attributes(self, printer)
        printer.print_region(self.body, print_empty_block=False)


class ContinueIf(IRDLOperation):
    """Ends the body of a do-while: `penguin.continue_if %r`."""

    condition = operand_def(IndexType)

    traits = traits_def(IsTerminator())

    @classmethod
    def make(cls, condition: SSAValue) -> Self:
        """The condition of the loop around it."""
        return cls.create(operands=[condition])

    def verify_(self) -> None:
        """It stands in a do-while."""
        if not isinstance(self.parent_op(), DoWhile):
            raise VerifyException(f"'{self.name}' stands in a do-while only")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads the register."""
        cursor = Cursor.at(parser)
        value = cursor.value()
        resume(parser, cursor.pos)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            operands=[value],
            attributes=attributes.data if attributes is not None else {},
        )

    def print(self, printer: Printer) -> None:
        """Writes the register."""
        printer.print_string(" ")
        printer.print_ssa_value(self.condition)
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)


def _print_attributes(operation: IRDLOperation, printer: Printer) -> None:
    if operation.attributes:
        printer.print_string("attributes ")
        printer.print_attr_dict(operation.attributes)
        printer.print_string(" ")
