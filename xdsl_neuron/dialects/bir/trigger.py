"""What every DMA of BIR has beside its meaning: who triggers it, and how."""

from xdsl.dialects.builtin import StringAttr
from xdsl.irdl import opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.bir.base import BirInstruction
from xdsl_neuron.dialects.bir.declarations import check_queue_engine
from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instruction import target_of
from xdsl_neuron.dialects.instructions.descriptor_generators import (
    HARDWARE_DGE_ENGINE,
    check_hardware_dge_engine,
)
from xdsl_neuron.dialects.neuron import DgeTypeAttr, EngineAttr
from xdsl_neuron.isa import DgeType, Engine


class QueuedInstruction(BirInstruction):
    """What an engine hands to a DMA queue."""

    engine = prop_def(EngineAttr, default_value=EngineAttr(Engine.DMA))
    queue = opt_prop_def(StringAttr)

    @gate("InstDMA cannot be on PE engine", "dma.md 9.4", stage=Stage.ENGINE)
    def trigger_engine(self) -> None:
        """The tensor engine triggers no DMA."""
        if self.engine.data is Engine.PE:
            raise VerifyException("InstDMA cannot be on PE engine")

    @gate(
        "Trigger engine does not match queue's engine", "dma.md 9.4", stage=Stage.ENGINE
    )
    def queue_engine(self) -> None:
        """The queue is one of the engine that triggers."""
        check_queue_engine(self, self.engine.data, self.queue)


class BirDma(QueuedInstruction):
    """A DMA: who triggers it, who builds its descriptors, its queue."""

    dge = prop_def(DgeTypeAttr, default_value=DgeTypeAttr(DgeType.UNASSIGNED))

    @gate(HARDWARE_DGE_ENGINE, "dma.md 9.4 EDGE001, code 1698", stage=Stage.ENGINE)
    def hardware_dge_engine(self) -> None:
        """Two engines have the hardware descriptor generators."""
        check_hardware_dge_engine(self.dge.data, self.engine.data)

    @gate(
        "Found Instruction with unsupported DGE type DGEType::HWDGE on Sunda Arch",
        "dma.md 9.4 DMA140",
        stage=Stage.ARCH,
    )
    def hardware_dge_arch(self) -> None:
        """Gen2 has no hardware descriptor generator."""
        arch = target_of(self)
        if arch is not None and not arch.has_hwdge and self.dge.data is DgeType.HWDGE:
            raise VerifyException(
                "Found Instruction with unsupported DGE type DGEType::HWDGE on Sunda "
                "Arch"
            )
