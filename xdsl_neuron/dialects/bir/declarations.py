"""
Semaphores, events and DMA queues of a function, by name (bir.md 9, dma.md 9.8).

They stand at the top of their function, before its instructions.
"""

from collections.abc import Iterator
from typing import ClassVar, Self, TypeVar

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.bir.structure import enclosing_function
from xdsl_neuron.dialects.gate import check_gates, gate
from xdsl_neuron.dialects.instruction import Instruction, Layout
from xdsl_neuron.dialects.instruction_text import (
    field_class,
    fields_text,
    scan_fields,
)
from xdsl_neuron.dialects.neuron import EngineAttr
from xdsl_neuron.dialects.neuron.system import QueueTypeAttr
from xdsl_neuron.dialects.neuron.text import Cursor, resume, symbol_text
from xdsl_neuron.isa import Engine
from xdsl_neuron.system import QueueType

SEMAPHORES = 256
"""Semaphores, and events, of a core: the width of an id is 8 bits (bir.md 5, 9)."""


class Declaration(IRDLOperation):
    """A named thing of a function: `bir.semaphore @s {id = 3}`."""

    NAME: ClassVar = "declared_name"

    declared_name = prop_def(StringAttr)

    @classmethod
    def layout(cls) -> Layout:
        """The fields, for the text form."""
        definition = cls.get_irdl_definition()
        fields = {
            name: field_class(prop.constr)
            for name, prop in definition.properties.items()
            if name != cls.NAME
        }
        return Layout((), 0, frozenset(), fields)

    def verify_(self) -> None:
        """The gates."""
        check_gates(self)

    @gate("names are unique per container", "bir.md 3.1")
    def unique_name(self) -> None:
        """No other one of its kind in the function has the name."""
        for other in declared(self, type(self)):
            if other is self:
                return
            if other.declared_name == self.declared_name:
                raise VerifyException(
                    f"name '{self.declared_name.data}' is given twice"
                )
        raise VerifyException(
            f"'{self.name}' stands at the top of a bir.func, before its instructions"
        )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads `@name {fields}`."""
        cursor = Cursor.at(parser)
        properties: dict[str, Attribute] = {cls.NAME: StringAttr(cursor.symbol())}
        if cursor.accept("{"):
            scan_fields(cursor, cls.layout(), properties)
        resume(parser, cursor.pos)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            properties=properties,
            attributes=attributes.data if attributes is not None else {},
        )

    def print(self, printer: Printer) -> None:
        """Writes the text `parse` reads."""
        fields = fields_text(self, self.layout(), printer, ())
        printer.print_string(f" {symbol_text(self.declared_name.data)}{fields}")
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)


class _Numbered(Declaration):
    id = opt_prop_def(IntegerAttr)

    @gate("Integer too large for field", "bir.md 9: id width 8 bits")
    def id_width(self) -> None:
        """An id fits in 8 bits; without one the allocation is open."""
        if self.id is not None and not 0 <= self.id.value.data < SEMAPHORES:
            raise VerifyException(
                f"Integer too large for field: id {self.id.value.data} of 8 bits"
            )


@irdl_op_definition
class SemaphoreOp(_Numbered):
    """A counter that instructions wait for and update."""

    name = "bir.semaphore"


@irdl_op_definition
class EventOp(_Numbered):
    """A bit that one instruction sets and another waits for and clears."""

    name = "bir.event"


@irdl_op_definition
class QueueOp(Declaration):
    """
    A DMA queue: who triggers it, what it carries, its instances.

        bir.queue @q0 {type = data, engine = SP, instances = ["q0.0", "q0.1"]}
    """

    name = "bir.queue"

    type = prop_def(QueueTypeAttr, default_value=QueueTypeAttr(QueueType.DYNAMIC))
    engine = prop_def(EngineAttr, default_value=EngineAttr(Engine.SP))
    num_dma_engines = prop_def(IntegerAttr, default_value=IntegerAttr(16, i64))
    instances = prop_def(ArrayAttr[StringAttr], default_value=ArrayAttr[StringAttr]([]))

    @property
    def instance_names(self) -> tuple[str, ...]:
        """Names of the instances."""
        return tuple(each.data for each in self.instances)

    @gate("InstDMA cannot be on PE engine", "dma.md 9.4")
    def queue_engine(self) -> None:
        """One queue per triggering engine; the tensor engine triggers none."""
        if self.engine.data is Engine.PE:
            raise VerifyException("InstDMA cannot be on PE engine")

    @gate("an SQI may not reuse an instance in a queue", "dma.md 9.8 OQS010")
    def distinct_instances(self) -> None:
        """Instances have distinct names."""
        names = self.instance_names
        if len(set(names)) != len(names):
            raise VerifyException(
                f"queue '{self.declared_name.data}' has an instance twice: "
                f"{', '.join(names)}"
            )


DeclarationT = TypeVar("DeclarationT", bound=Declaration)


def declared(user: Operation, kind: type[DeclarationT]) -> Iterator[DeclarationT]:
    """The declarations of a kind in the function around an operation."""
    function = enclosing_function(user)
    if function is None:
        return
    for operation in function.body.block.ops:
        if isinstance(operation, Instruction):
            return
        if isinstance(operation, kind):
            yield operation


def find(user: Operation, kind: type[DeclarationT], name: str) -> DeclarationT | None:
    """The declaration of this name, None where there is none."""
    for operation in declared(user, kind):
        if operation.declared_name.data == name:
            return operation
    return None
