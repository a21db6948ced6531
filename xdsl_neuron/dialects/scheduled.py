"""What everything that an engine or a queue executes has, at any level."""

from typing import TypeVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, opt_prop_def, traits_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.effects import OperandEffects
from xdsl_neuron.dialects.function_names import names_around
from xdsl_neuron.dialects.neuron import EdgesAttr, EngineAttr, IterationsAttr
from xdsl_neuron.isa import EdgeKind, Engine

Edges = tuple[tuple[EdgeKind, str], ...]

NAME_PROPERTY = "inst_name"
EDGES_PROPERTY = "after"

AttrT = TypeVar("AttrT", bound=Attribute)


class Scheduled(IRDLOperation):
    """
    An instruction, a DMA's trigger, or a call of code that is not looked into.

    It has a name that others refer to, edges to what it must follow, and the turns of
    unrolled loops that it belongs to. Where a
    level has them it also has an engine, a queue, and what it waits for and updates.
    """

    inst_name = opt_prop_def(StringAttr)
    after = opt_prop_def(EdgesAttr)
    iterations = opt_prop_def(IterationsAttr)

    traits = traits_def(OperandEffects())

    @property
    def label(self) -> str | None:
        """The name, None where it has none."""
        found = self.properties.get(NAME_PROPERTY)
        return found.data if isinstance(found, StringAttr) else None

    @property
    def edges(self) -> Edges:
        """What it must follow: the kind of each edge, and a name."""
        found = self.properties.get(EDGES_PROPERTY)
        return found.data if isinstance(found, EdgesAttr) else ()

    @edges.setter
    def edges(self, edges: Edges) -> None:
        if edges:
            self.properties[EDGES_PROPERTY] = EdgesAttr(edges)
        else:
            self.properties.pop(EDGES_PROPERTY, None)

    @property
    def issued_by(self) -> Engine:
        """The engine whose program it is in; `ALL` where its class has no engine."""
        found = self.properties.get("engine")
        if found is None:
            definition = type(self).get_irdl_definition().properties.get("engine")
            found = None if definition is None else definition.default_value
        return found.data if isinstance(found, EngineAttr) else Engine.ALL

    @property
    def queue_name(self) -> str | None:
        """The DMA queue it uses, None where that is open or it uses none."""
        found = self.properties.get("queue")
        return found.data if isinstance(found, StringAttr) else None

    def check_edges(self) -> None:
        """Raises where it must follow what the function does not have."""
        if EDGES_PROPERTY not in self.properties:
            return
        names = names_around(self)
        if names is None:
            return
        for kind, name in self.edges:
            if name not in names.instructions:
                raise VerifyException(
                    f"has an edge ({kind}) to '{name}', but no instruction of the "
                    "function has that name"
                )

    def erase(self, safe_erase: bool = True, drop_references: bool = True) -> None:
        """
        As xDSL does it; whoever had to follow this follows what it had to follow.

        For generic passes, which erase what they find dead: it walks the function, so
        passes of ours use `dialects.edges`. It finds the function by the operands.
        """
        if EdgesAttr.in_use and (label := self.label) is not None:
            from xdsl_neuron.dialects.edges import hand_on

            hand_on(label, self.edges, self.operands)
        super().erase(safe_erase, drop_references)
