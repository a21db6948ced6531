"""What an index atom of a trace stands for: a rolled loop, or a register."""

from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Block, SSAValue

from xdsl_neuron.dialects import penguin


@dataclass(eq=False, slots=True)
class Loop:
    """One rolled loop of the trace; `number` is its index's atom in expressions."""

    number: int
    operation: penguin.ForOp
    values: range
    grid: bool
    open: bool = True

    @property
    def index(self) -> SSAValue:
        """The loop index."""
        return self.operation.index


@dataclass(frozen=True, slots=True, eq=False)
class Register:
    """
    A loaded register; its value is known only while running.

    `block` is where it was loaded: it may be used there and in loops inside.
    """

    number: int
    index: SSAValue
    block: Block


Symbol: TypeAlias = Loop | Register
