"""The roster row and what every BIR instruction has beside its meaning."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instruction import Instruction, target_of


@dataclass(frozen=True)
class Row:
    """An instruction's line in the roster (bir.md 2)."""

    ordinal: int
    name: str
    min_level: int = 20
    """First architecture level that has it."""


class BirInstruction(Instruction):
    """What every instruction of this level has beside its meaning."""

    ROW: ClassVar[Row]

    @gate("curArchLevel >= min.value()", "bir.md 7.2 code 366")
    def arch_window(self) -> None:
        """The generation has the instruction."""
        arch = target_of(self)
        if arch is not None and arch.level < self.ROW.min_level:
            raise VerifyException(
                f"curArchLevel >= min.value(): {self.ROW.name} needs level "
                f"{self.ROW.min_level}, {arch.name} is {arch.level}"
            )
