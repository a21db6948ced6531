"""Functions, loops and memory locations of BIR."""

from collections.abc import Mapping
from typing import ClassVar, Self

from xdsl.dialects.builtin import StringAttr, SymbolNameConstraint, UnitAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    MemoryAllocEffect,
    MemoryWriteEffect,
    NoTerminator,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.collected import one_verification
from xdsl_neuron.dialects import structure
from xdsl_neuron.dialects.bir.row import Row
from xdsl_neuron.dialects.capacity import Sized, render_storage, scan_storage
from xdsl_neuron.dialects.neuron import (
    Contents,
    ContentsAttr,
    TensorKindAttr,
    TensorType,
)
from xdsl_neuron.dialects.neuron.text import Cursor, resume, symbol_text
from xdsl_neuron.dialects.neuron.types import render_tensor_spec
from xdsl_neuron.dialects.scheduled import Scheduled
from xdsl_neuron.isa import Space, TensorKind


@irdl_op_definition
class FuncOp(IRDLOperation):
    """`bir.func @add { ... }`: locations, then instructions."""

    name = "bir.func"

    sym_name = prop_def(SymbolNameConstraint())
    body = region_def("single_block")

    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove(), NoTerminator())

    @classmethod
    def make(cls, name: str) -> Self:
        """A function with an empty body."""
        return cls.create(
            properties={"sym_name": StringAttr(name)}, regions=[Region(Block())]
        )

    def verify_(self) -> None:
        """Names of locations and of instructions are unique."""
        structure.check_not_nested(self)
        locations: set[str] = set()
        instructions: set[str] = set()
        for operation in self.body.walk():
            if isinstance(operation, LocationOp):
                name, seen = operation.location_name.data, locations
            else:
                name, seen = name_of(operation), instructions
            if name in seen:
                raise VerifyException(f"name '{name}' is given twice")
            if name is not None:
                seen.add(name)

    def verify(self, verify_nested_ops: bool = True) -> None:
        """As xDSL does it, but what rules ask of the function is collected once."""
        with one_verification():
            super().verify(verify_nested_ops)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads `@name [attributes {...}] { ... }`."""
        name = parser.parse_symbol_name()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        return cls.create(
            properties={"sym_name": name},
            attributes=attributes.data if attributes is not None else {},
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        """Writes the text `parse` reads."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)


@irdl_op_definition
class ReturnOp(structure.Return):
    """Ends a function and names its outputs."""

    name = "bir.return"
    ROW: ClassVar = Row(81, "Return")


@irdl_op_definition
class LoopOp(structure.For):
    """`InstLoop` (ordinal 105): a loop kept rolled."""

    name = "bir.loop"
    ROW: ClassVar = Row(105, "Loop")


@irdl_op_definition
class LocationOp(Sized):
    """
    A named memory location, alive from here to its last use.

    Its kind says what it is to the caller; an internal one is fresh each time the
    operation executes. `blocks` is the number of tiles it stands for. `mutable` marks
    an input that is also written. A `Const` has contents and is read-only.

        %a = bir.location @a ExternalInput : <8x4xf32, hbm>
    """

    name = "bir.location"

    location_name = prop_def(StringAttr)
    kind = prop_def(TensorKindAttr, default_value=TensorKindAttr(TensorKind.INTERNAL))
    mutable = opt_prop_def(UnitAttr)
    contents = opt_prop_def(ContentsAttr)
    result = result_def(TensorType)

    traits = traits_def(MemoryAllocEffect(), MemoryWriteEffect())

    @classmethod
    def make(
        cls,
        kind: TensorType,
        name: str,
        role: TensorKind = TensorKind.INTERNAL,
        mutable: bool = False,
        contents: Contents | None = None,
        storage: Mapping[str, Attribute] | None = None,
    ) -> Self:
        """A location of this type and name; `storage` as `scan_storage` gives it."""
        properties: dict[str, Attribute] = {
            "location_name": StringAttr(name),
            "kind": TensorKindAttr(role),
        }
        if mutable:
            properties["mutable"] = UnitAttr()
        if contents is not None:
            properties["contents"] = ContentsAttr(contents)
        properties |= storage or {}
        operation = cls.create(result_types=[kind], properties=properties)
        if SSAValue.is_valid_name(name):
            operation.results[0].name_hint = name
        return operation

    @property
    def tensor(self) -> TensorType:
        """The location's type."""
        kind = self.results[0].type
        assert isinstance(kind, TensorType)
        return kind

    def verify_(self) -> None:
        """The gates; what the caller sees is in HBM; only an input is mutable."""
        self.check_gates()
        role = self.kind.data
        if role is not TensorKind.INTERNAL and self.tensor.space is not Space.HBM:
            raise VerifyException(
                f"location of kind {role} must be in hbm, got {self.tensor.space}"
            )
        if (self.contents is not None) != (role is TensorKind.CONST):
            raise VerifyException("a location has contents where its kind is Const")
        if self.contents is not None:
            self.contents.check(self.tensor.data)
        if self.mutable is not None and role is not TensorKind.INPUT:
            raise VerifyException(f"only an input is mutable, got kind {role}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """
        Reads `@name [blocks n] [at addresses] [mutable] [kind [contents]] : <type>`.
        """
        cursor = Cursor.at(parser)
        name = cursor.symbol()
        storage = scan_storage(cursor)
        role, mutable = TensorKind.INTERNAL, False
        if not cursor.peek(":"):
            mutable = cursor.keyword("mutable")
            role = cursor.enum(TensorKind)
        contents = None if cursor.peek(":") else ContentsAttr.scan(cursor)
        cursor.expect(":")
        kind = structure.scan_type(cursor)
        resume(parser, cursor.pos)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        operation = cls.make(kind, name, role, mutable, contents, storage)
        if attributes is not None:
            operation.attributes.update(attributes.data)
        return operation

    def print(self, printer: Printer) -> None:
        """Writes the text `parse` reads."""
        text = f" {symbol_text(self.location_name.data)}{render_storage(self)}"
        if self.mutable is not None:
            text += " mutable"
        if self.kind.data is not TensorKind.INTERNAL or self.mutable is not None:
            text += f" {self.kind.data}"
        if self.contents is not None:
            text += f" {self.contents.render()}"
        printer.print_string(f"{text} : {render_tensor_spec(self.tensor.data)}")
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)


def name_of(operation: Operation) -> str | None:
    """The name of an instruction, of whatever class, None where it has none."""
    return operation.label if isinstance(operation, Scheduled) else None


def enclosing_function(operation: Operation) -> FuncOp | None:
    """The function an operation stands in."""
    parent = operation.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        parent = parent.parent_op()
    return parent
