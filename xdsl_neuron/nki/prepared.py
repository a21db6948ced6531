"""The one slot of collectives that are prepared and not triggered yet (0.7)."""

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Block

from xdsl_neuron.dialects.instruction import Instruction


@dataclass(frozen=True)
class Prepared:
    """What a `..._prepare` has left for its trigger."""

    what: str
    """The collective that it is a half of."""
    operation: Instruction
    """The prepare's last instruction, which stands for it."""
    block: Block
    location: FileLineColLoc | None
    trigger: Callable[[str | None], None]
    """Emits the exchange, with a name."""

    @property
    def name(self) -> str:
        """The prepare's name."""
        given = self.operation.inst_name
        return "" if given is None else given.data
