"""
Basic blocks and the instructions that leave them (bir.md 6.12, 10.6).

A branch names the `bir.basic_block`s it goes to. The machine executes the structured
forms (`bir.loop`, `bir.dynamic_for_loop`, `bir.do_while`) and no branches.
"""

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import ClassVar, Self

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Block, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.collected import collected
from xdsl_neuron.dialects.bir.row import Row
from xdsl_neuron.dialects.bir.structure import FuncOp, enclosing_function, name_of
from xdsl_neuron.dialects.bir.sync import Synchronised
from xdsl_neuron.dialects.gate import check_gates, gate
from xdsl_neuron.dialects.instruction_text import symbol_text
from xdsl_neuron.dialects.neuron import AffineAttr, DTypeAttr
from xdsl_neuron.dialects.neuron.system import (
    BranchCompareOpAttr,
    BranchOutcomeHintAttr,
)
from xdsl_neuron.dialects.neuron.text import Cursor, resume
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Index


@irdl_op_definition
class BasicBlockOp(IRDLOperation):
    """`bir.basic_block @b1 { ... }`: instructions with one way in and one end."""

    name = "bir.basic_block"

    block_name = prop_def(StringAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), RecursiveMemoryEffect())

    @classmethod
    def make(cls, name: str) -> Self:
        """An empty block."""
        return cls.create(
            properties={"block_name": StringAttr(name)}, regions=[Region(Block())]
        )

    def verify_(self) -> None:
        """The gates."""
        check_gates(self)

    @gate("names are unique per container", "bir.md 3.1")
    def unique_name(self) -> None:
        """No block before it has the name."""
        if _beside(self).first[self.block_name.data] is not self:
            raise VerifyException(f"name '{self.block_name.data}' is given twice")

    @gate("backEdgeAssertCondition", "bir.md 7.6 CFG: one back edge per loop header")
    def one_back_edge(self) -> None:
        """At most one branch from here or from behind leads to a block."""
        name, beside = self.block_name.data, _beside(self)
        sources = beside.sources.get(name, [])
        edges = len(sources) - bisect_left(sources, beside.place[self])
        if edges > 1:
            raise VerifyException(
                f"backEdgeAssertCondition: block '{name}' has {edges} back edges"
            )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads `@name { ... }`."""
        cursor = Cursor.at(parser)
        name = cursor.symbol()
        resume(parser, cursor.pos)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        return cls.create(
            properties={"block_name": StringAttr(name)},
            attributes=attributes.data if attributes is not None else {},
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        """Writes the text `parse` reads."""
        printer.print_string(f" {symbol_text(self.block_name.data)} ")
        if self.attributes:
            printer.print_string("attributes ")
            printer.print_attr_dict(self.attributes)
            printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)


@dataclass
class _Blocks:
    """The basic blocks of a container."""

    place: dict[BasicBlockOp, int] = field(default_factory=dict[BasicBlockOp, int])
    """How many stand before each."""
    first: dict[str, BasicBlockOp] = field(default_factory=dict[str, BasicBlockOp])
    """The first of each name."""
    sources: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """The places of the blocks that branch to each name, ascending."""

    @staticmethod
    def of(container: Block) -> "_Blocks":
        found = _Blocks()
        for operation in container.ops:
            if isinstance(operation, BasicBlockOp):
                found._add(operation)
        return found

    def _add(self, operation: BasicBlockOp) -> None:
        place = self.place[operation] = len(self.place)
        self.first.setdefault(operation.block_name.data, operation)
        last = operation.body.block.last_op
        if isinstance(last, Terminator):
            for name in set(last.targets):
                self.sources.setdefault(name, []).append(place)


def _beside(operation: BasicBlockOp) -> _Blocks:
    """The blocks of the container a block stands in, itself among them."""
    container = operation.parent
    if container is None:
        found = _Blocks()
        found.place[operation] = 0
        found.first[operation.block_name.data] = operation
        return found
    return collected(container, _Blocks.of)


class Terminator(Synchronised):
    """An instruction that ends its block (bir.md 2: ordinals 77, 78, 79, 81 to 83)."""

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the blocks it may go to."""
        return ()

    @gate("BasicBlock does not exist!", "bir.md 4.6")
    def existing_targets(self) -> None:
        """The blocks stand beside the block it ends."""
        if not self.targets:
            return
        block = self.parent_op()
        if not isinstance(block, BasicBlockOp):
            raise VerifyException(
                f"'{self.name}' branches from a bir.basic_block to another only"
            )
        known = _beside(block).first
        for target in self.targets:
            if target not in known:
                raise VerifyException(f"BasicBlock does not exist! ('{target}')")

    @gate("a terminator ends its block", "bir.md 10.6", "inferred")
    def ends_block(self) -> None:
        """Nothing stands behind it."""
        if self.next_op is not None:
            raise VerifyException(f"'{self.name}' must be the last of its block")


@irdl_op_definition
class CompareAndBranchOp(Terminator):
    """
    Goes to one of two blocks, one of which is the next.

        bir.compare_and_branch @B IS_LTIMM {lhs = %r, rhs = 4, on_true = "a", ...}
    """

    name = "bir.compare_and_branch"
    ROW: ClassVar = Row(78, "CompareAndBranch")
    HEADER: ClassVar = ("comp_op",)
    REGISTERS: ClassVar = ("lhs", "rhs")

    comp_op = prop_def(BranchCompareOpAttr)
    lhs = prop_def(AffineAttr)
    rhs = prop_def(AffineAttr)
    dtype = prop_def(DTypeAttr, default_value=DTypeAttr(DType.INT32))
    on_true = prop_def(StringAttr)
    on_false = prop_def(StringAttr)

    @property
    def targets(self) -> tuple[str, ...]:
        """Both ways."""
        return (self.on_true.data, self.on_false.data)

    @gate("typed compare at lhs dtype (scalar dtypes up to fp32)", "bir.md 10.6 1468")
    def scalar_dtype(self) -> None:
        """A type of at most 32 bits that is one number."""
        dtype = self.dtype.data
        if dtype.bytes > 4 or dtype.is_packed:
            raise VerifyException(
                f"a branch compares scalars of at most 32 bits, got {dtype.bir_name}"
            )

    @gate("lhs register, rhs register or immediate", "bir.md 6.12")
    def compared(self) -> None:
        """The sides are what the comparison says."""
        lhs, rhs = self.lhs.data, self.rhs.data
        self.check_register("lhs", lhs, 32)
        self.check_register("rhs", rhs, 32)
        if lhs.is_constant or not isinstance(lhs.terms[0][0], Index):
            raise VerifyException(f"'lhs' must be a register, got {lhs}")
        comparison = self.comp_op.data
        if comparison.takes_immediate != rhs.is_constant:
            what = "an immediate" if comparison.takes_immediate else "a register"
            raise VerifyException(f"{comparison} compares with {what}, got {rhs}")

    @gate("onFalse == I.getParent()->getNextNode()", "bir.md 6.12")
    def falls_through(self) -> None:
        """One of the two blocks comes next."""
        block = self.parent_op()
        assert isinstance(block, BasicBlockOp)
        following = block.next_op
        while following is not None and not isinstance(following, BasicBlockOp):
            following = following.next_op
        if following is None or following.block_name.data not in self.targets:
            raise VerifyException(
                "onFalse == I.getParent()->getNextNode(): neither "
                f"'{self.on_true.data}' nor '{self.on_false.data}' is the next block"
            )


@irdl_op_definition
class UnconditionalBranchOp(Terminator):
    """Goes to a block."""

    name = "bir.unconditional_branch"
    ROW: ClassVar = Row(79, "UnconditionalBranch")

    target = prop_def(StringAttr)

    @property
    def targets(self) -> tuple[str, ...]:
        """The one way."""
        return (self.target.data,)


@irdl_op_definition
class BranchHintOp(Synchronised):
    """Says which way a branch usually goes; it ends no block."""

    name = "bir.branch_hint"
    ROW: ClassVar = Row(80, "BranchHint")

    hint = prop_def(BranchOutcomeHintAttr)
    associate_branch = prop_def(StringAttr)

    @gate("associate_branch names a branch", "bir.md 4.5", "inferred")
    def hinted_branch(self) -> None:
        """The instruction of that name is a branch of the function."""
        function = enclosing_function(self)
        if function is None:
            return
        name = self.associate_branch.data
        if name not in collected(function, _branches):
            raise VerifyException(f"the function has no branch '{name}'")


def _branches(function: FuncOp) -> set[str | None]:
    """The names of a function's branches."""
    return {
        name_of(operation)
        for operation in function.walk()
        if isinstance(operation, CompareAndBranchOp | UnconditionalBranchOp)
    }


@irdl_op_definition
class ExitOp(Terminator):
    """Ends the program on its core."""

    name = "bir.exit"
    ROW: ClassVar = Row(82, "Exit")


@irdl_op_definition
class BreakOp(Terminator):
    """Leaves the loop around its block."""

    name = "bir.break"
    ROW: ClassVar = Row(83, "Break")

    @gate("Break leaves a loop", "bir.md 10.6", "inferred")
    def in_loop(self) -> None:
        """It stands in one."""
        parent = self.parent_op()
        while isinstance(parent, BasicBlockOp):
            parent = parent.parent_op()
        if parent is None or isinstance(parent, FuncOp):
            raise VerifyException("'bir.break' stands in a loop only")


@irdl_op_definition
class HaltOp(Synchronised):
    """Stops an engine."""

    name = "bir.halt"
    ROW: ClassVar = Row(17, "Halt")


@irdl_op_definition
class CallOp(Synchronised):
    """Runs another function; `arguments` are the locations it gets, in order."""

    name = "bir.call"
    ROW: ClassVar = Row(84, "Call")

    target = prop_def(StringAttr)
    table_id = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    arguments = prop_def(ArrayAttr[StringAttr], default_value=ArrayAttr[StringAttr]([]))

    @gate("a call's target is a function of the module", "bir.md 4.6", "inferred")
    def existing_function(self) -> None:
        """A function beside this one, and not this one."""
        function = enclosing_function(self)
        if function is None or function.parent is None:
            return
        name = self.target.data
        if function.sym_name.data == name:
            raise VerifyException(f"function '{name}' calls itself")
        if name not in collected(function.parent, _functions):
            raise VerifyException(f"the module has no function '{name}' to call")


def _functions(container: Block) -> set[str]:
    """The names of the functions of a module."""
    return {
        operation.sym_name.data
        for operation in container.ops
        if isinstance(operation, FuncOp)
    }
