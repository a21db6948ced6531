"""
Semaphores, events and DMA queues of a function, by name (bir.md 9, dma.md 9.8).

They stand at the top of their function, before its instructions.
"""

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    opt_prop_def,
    prop_def,
)
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.collected import collected
from xdsl_neuron.dialects.bir.fielded import Fielded
from xdsl_neuron.dialects.bir.structure import (
    FuncOp,
    enclosing_function,
)
from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.neuron import EngineAttr
from xdsl_neuron.dialects.neuron.system import QueueTypeAttr
from xdsl_neuron.dialects.neuron.text import Cursor, symbol_text
from xdsl_neuron.dialects.scheduled import Scheduled
from xdsl_neuron.isa import Engine
from xdsl_neuron.system import QueueType


class Declaration(Fielded):
    """A named thing of a function: `bir.semaphore @s {id = 3}`."""

    NAME: ClassVar = "declared_name"
    IN_HEADER: ClassVar = (NAME,)

    declared_name = prop_def(StringAttr)

    @gate("names are unique per container", "bir.md 3.1")
    def unique_name(self) -> None:
        """No other one of its kind in the function has the name."""
        name = self.declared_name.data
        first = find(self, type(self), name)
        if first is None:
            raise VerifyException(
                f"'{self.name}' stands at the top of a bir.func, before its "
                "instructions"
            )
        if first is not self:
            raise VerifyException(f"name '{name}' is given twice")

    @classmethod
    def scan_header(
        cls, cursor: Cursor, properties: dict[str, Attribute]
    ) -> Sequence[SSAValue]:
        """Reads `@name`."""
        properties[cls.NAME] = StringAttr(cursor.symbol())
        return ()

    def header_text(self, printer: Printer) -> str:
        """`@name`."""
        return symbol_text(self.declared_name.data)


class _Numbered(Declaration):
    id = opt_prop_def(IntegerAttr)

    @gate("Integer too large for field", "bir.md 9: id width 8 bits")
    def id_width(self) -> None:
        """An id fits in 8 bits; without one the allocation is open."""
        if self.id is not None and not 0 <= self.id.value.data < Arch.semaphores:
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

    @gate("InstDMA cannot be on PE engine", "dma.md 9.4", stage=Stage.ENGINE)
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


def find(user: Operation, kind: type[DeclarationT], name: str) -> DeclarationT | None:
    """The declaration of this name in the function around, None where none is."""
    function = enclosing_function(user)
    if function is None:
        return None
    found = collected(function, _declarations).get((kind, name))
    return found if isinstance(found, kind) else None


def _declarations(function: FuncOp) -> dict[tuple[type[Operation], str], Declaration]:
    """The first declaration of each kind and name at the top of a function."""
    found: dict[tuple[type[Operation], str], Declaration] = {}
    for operation in function.body.block.ops:
        if isinstance(operation, Declaration):
            key = (type(operation), operation.declared_name.data)
            found.setdefault(key, operation)
        elif operation.regions or isinstance(operation, Scheduled):
            break
    return found


def check_queue_engine(
    user: Operation, engine: Engine, queue_name: StringAttr | None
) -> None:
    """A DMA whose engine is known is triggered by the engine of its queue."""
    if queue_name is None or engine in (Engine.UNASSIGNED, Engine.DMA):
        return
    queue = find(user, QueueOp, queue_name.data)
    if queue is not None and queue.engine.data is not engine:
        raise VerifyException(
            f"Trigger engine does not match queue's engine: {engine} and, for queue "
            f"'{queue_name.data}', {queue.engine.data}"
        )
