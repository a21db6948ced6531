"""What an instruction of the destination-passing generations returns: a handle."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.neuron import EdgesAttr
from xdsl_neuron.isa import EdgeKind
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKISyntaxError, NKITypeError

P = ParamSpec("P")


class NkiInstruction:
    """An instruction of the trace; `depends_on` makes others come first."""

    def __init__(self, handle: Instruction) -> None:
        self._operation = handle

    @property
    def name(self) -> str:
        """The instruction's name."""
        given = self._operation.inst_name
        return "" if given is None else given.data

    def is_handle_of(self, operation: Instruction) -> bool:
        """Whether it stands for this operation."""
        return self._operation is operation

    def depends_on(self, *producers: Any) -> "NkiInstruction":
        """
        This instruction runs after each of `producers`; returns itself.

        Both stand in the same run-time loop, or the producer around it.
        """
        names: list[str] = []
        for producer in producers:
            if not isinstance(producer, NkiInstruction):
                raise NKITypeError(
                    "depends_on takes what instructions return, got "
                    f"{type(producer).__name__}"
                )
            self._check_scope(producer)
            names.append(producer.name)
        known = self._operation.after
        edges = () if known is None else known.data
        added = [(EdgeKind.ORDERED, name) for name in names]
        self._operation.properties["after"] = EdgesAttr.of(
            [*edges, *(edge for edge in added if edge not in edges)]
        )
        return self

    def _check_scope(self, producer: "NkiInstruction") -> None:
        block = self._operation.parent
        while block is not None:
            if block is producer._operation.parent:
                break
            around = block.parent_op()
            block = None if around is None else around.parent
        else:
            raise NKISyntaxError(
                f"'{self.name}' cannot wait for '{producer.name}': it is in the body "
                "of a loop around which this instruction is not"
            )
        if self._operation is producer._operation:
            raise NKISyntaxError(f"'{self.name}' cannot wait for itself")

    def __repr__(self) -> str:
        return f"<instruction {self.name}>"


def instruction(function: Callable[P, None]) -> Callable[P, NkiInstruction | None]:
    """An `api` function that returns the last instruction it emitted."""
    checked = api(function)

    @wraps(function)
    def emitted(*args: P.args, **kwargs: P.kwargs) -> NkiInstruction | None:
        checked(*args, **kwargs)
        last = session().last
        return None if last is None else NkiInstruction(last.operation)

    return emitted
