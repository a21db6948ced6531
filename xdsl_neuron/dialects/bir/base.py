"""The roster row and what every BIR instruction has beside its meaning."""

from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.irdl import (
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instruction import Instruction, target_of
from xdsl_neuron.dialects.neuron import (
    DgeTypeAttr,
    EngineAttr,
)
from xdsl_neuron.isa import DgeType, Engine


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


class BirDma(BirInstruction):
    """A DMA: the engine that triggers it, who builds its descriptors, its queue."""

    engine = prop_def(EngineAttr, default_value=EngineAttr(Engine.DMA))
    dge = prop_def(DgeTypeAttr, default_value=DgeTypeAttr(DgeType.UNASSIGNED))
    queue = opt_prop_def(StringAttr)

    @gate("InstDMA cannot be on PE engine", "dma.md 9.4")
    def trigger_engine(self) -> None:
        """The tensor engine triggers no DMA."""
        if self.engine.data is Engine.PE:
            raise VerifyException("InstDMA cannot be on PE engine")

    @gate(
        "Found Instruction with unsupported DGE type DGEType::HWDGE on Sunda Arch",
        "dma.md 9.4 DMA140",
    )
    def hardware_dge_arch(self) -> None:
        """Gen2 has no hardware descriptor generator."""
        arch = target_of(self)
        if arch is not None and not arch.has_hwdge and self.dge.data is DgeType.HWDGE:
            raise VerifyException(
                "Found Instruction with unsupported DGE type DGEType::HWDGE on Sunda "
                "Arch"
            )
