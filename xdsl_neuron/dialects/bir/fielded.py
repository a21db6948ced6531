"""Operations that are written as a header and their fields."""

from abc import abstractmethod
from collections.abc import Sequence
from functools import cache
from typing import ClassVar, Self

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.printer import Printer

from xdsl_neuron.dialects.gate import check_gates
from xdsl_neuron.dialects.instruction import Layout
from xdsl_neuron.dialects.instruction_text import (
    field_class,
    fields_text,
    scan_fields,
)
from xdsl_neuron.dialects.neuron.text import Cursor, resume


class Fielded(IRDLOperation):
    """`bir.semaphore @s {id = 3}`: the text of a subclass's header, then its fields."""

    IN_HEADER: ClassVar[tuple[str, ...]]
    """Properties that are no fields."""

    @classmethod
    @cache
    def layout(cls) -> Layout:
        """The fields, for the text form."""
        fields = {
            name: field_class(prop.constr)
            for name, prop in cls.get_irdl_definition().properties.items()
            if name not in cls.IN_HEADER
        }
        return Layout((), 0, frozenset(), fields)

    @classmethod
    @abstractmethod
    def scan_header(
        cls, cursor: Cursor, properties: dict[str, Attribute]
    ) -> Sequence[SSAValue]:
        """Reads what stands before the fields; its operands."""

    @abstractmethod
    def header_text(self, printer: Printer) -> str:
        """What `scan_header` reads."""

    def verify_(self) -> None:
        """The gates."""
        check_gates(self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads the header and `{fields}`."""
        cursor = Cursor.at(parser)
        properties: dict[str, Attribute] = {}
        operands = cls.scan_header(cursor, properties)
        if cursor.accept("{"):
            scan_fields(cursor, cls.layout(), properties)
        resume(parser, cursor.pos)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            operands=operands,
            properties=properties,
            attributes=attributes.data if attributes is not None else {},
        )

    def print(self, printer: Printer) -> None:
        """Writes the text `parse` reads."""
        fields = fields_text(self, self.layout(), printer, ())
        printer.print_string(f" {self.header_text(printer)}{fields}")
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)
