"""Instructions of the DMA engines, register loads and DMA triggers."""

from typing import ClassVar

from xdsl.irdl import (
    irdl_op_definition,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.bir.base import BirInstruction
from xdsl_neuron.dialects.bir.row import Row
from xdsl_neuron.dialects.bir.trigger import BirDma, QueuedInstruction
from xdsl_neuron.dialects.effects import WORLD, StateEffect
from xdsl_neuron.dialects.function_names import names_around
from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instructions import (
    dma,
    dma_fold,
    dma_indirect,
    gather,
    transpose,
)
from xdsl_neuron.dialects.neuron import EngineAttr, QosClassAttr, SymbolsAttr
from xdsl_neuron.isa import Engine, QosClass


@irdl_op_definition
class LoadOp(dma.Load, BirDma):
    """HBM to SBUF."""

    name = "bir.load"
    ROW: ClassVar = Row(19, "Load")


@irdl_op_definition
class SaveOp(dma.Save, BirDma):
    """SBUF to HBM."""

    name = "bir.save"
    ROW: ClassVar = Row(22, "Save")

    @gate("Save has no op field", "dma.md 5.1")
    def save_without_op(self) -> None:
        """An accumulating store is a DMACopy."""
        if self.rmw_op is not None:
            raise VerifyException(
                "Save has no op field; an accumulating store is a bir.dma_copy"
            )


@irdl_op_definition
class DMACopyOp(dma.Copy, BirDma):
    """A copy between any of HBM and SBUF, accumulating with `rmw_op`."""

    name = "bir.dma_copy"
    ROW: ClassVar = Row(32, "DMACopy")


@irdl_op_definition
class DMACopyReplicateOp(dma.Replicate, BirDma):
    """A `DMACopy` of mode Replicate."""

    name = "bir.dma_copy_replicate"
    ROW: ClassVar = Row(32, "DMACopy")


@irdl_op_definition
class DMACopyCceOp(dma_fold.Fold, BirDma):
    """A `DMACopy` of mode CCE: several sources, folded."""

    name = "bir.dma_copy_cce"
    ROW: ClassVar = Row(32, "DMACopy")


TRANSPOSE_RANK = 4
"""Dimensions of a transposing DMACopy, padded with unit dims (dma.md 13.14)."""


def _check_rank(operation: BirInstruction) -> None:
    for name in ("src", "dst"):
        rank = len(operation.data()[name].shape)
        if rank != TRANSPOSE_RANK:
            raise VerifyException(
                "DMA Tranpose must have 4-D access pattern. Explicitly writing AP is "
                f"required if slicing is not generating correct pattern (got {rank}-D "
                f"'{name}')"
            )


@irdl_op_definition
class DMACopyTransposeOp(transpose.DmaTranspose, BirDma):
    """A `DMACopy` of mode Transpose: XZYW, that is axes [3, 1, 2, 0]."""

    name = "bir.dma_copy_transpose"
    ROW: ClassVar = Row(32, "DMACopy")

    @gate(
        "DMA Tranpose must have 4-D access pattern. Explicitly writing AP is required "
        "if slicing is not generating correct pattern",
        "dma.md 9.3",
    )
    def four_dimensions(self) -> None:
        """Both sides have four dimensions."""
        _check_rank(self)


@irdl_op_definition
class DMACopyGatherTransposeOp(transpose.DmaIndirectTranspose, BirDma):
    """A `DMACopy` of mode Transpose over gathered rows, triggered by GpSIMD."""

    name = "bir.dma_copy_gather_transpose"
    ROW: ClassVar = Row(32, "DMACopy")

    @gate(
        "DGE xbar dynamic transpose only supports TransposeOps::XZYW, but it is "
        "TransposeOps::{actual}",
        "dma.md 9.7 BIR510",
    )
    def axes_per_rank(self) -> None:
        """Four dimensions, XZYW."""
        _check_rank(self)
        if self.permutation() != transpose.LEGAL_AXES[TRANSPOSE_RANK]:
            raise VerifyException(
                "DGE xbar dynamic transpose only supports TransposeOps::XZYW, but it "
                f"is {self.permutation()}"
            )

    @gate("Transpose with DynamicAP only on Pool", "dma.md 9.7", stage=Stage.ENGINE)
    def gather_engine(self) -> None:
        """The software descriptor generator runs on GpSIMD."""
        if self.engine.data is not Engine.POOL:
            raise VerifyException(
                f"Transpose with DynamicAP only on Pool, got {self.engine.data}"
            )


@irdl_op_definition
class GenericIndirectLoadOp(dma_indirect.IndirectLoad, BirDma):
    """Gather by an index tensor."""

    name = "bir.generic_indirect_load"
    ROW: ClassVar = Row(42, "GenericIndirectLoad")


@irdl_op_definition
class GenericIndirectSaveOp(dma_indirect.IndirectSave, BirDma):
    """Scatter by an index tensor."""

    name = "bir.generic_indirect_save"
    ROW: ClassVar = Row(44, "GenericIndirectSave")


@irdl_op_definition
class IndirectSaveAccumulateOp(dma_indirect.IndirectAccumulate, BirDma):
    """Scatter-add by an index tensor, in index order."""

    name = "bir.indirect_save_accumulate"
    ROW: ClassVar = Row(46, "IndirectSaveAccumulate")


@irdl_op_definition
class TensorLoadOp(gather.TensorLoad, BirInstruction):
    """One element into a register."""

    name = "bir.tensor_load"
    ROW: ClassVar = Row(75, "TensorLoad")


@irdl_op_definition
class DMATriggerOp(QueuedInstruction):
    """
    Fires the next of its `dma.block`s, round-robin.

        bir.dma_trigger @I3 [@I3_0, @I3_1] {engine = SP, queue = "q0"}
    """

    name = "bir.dma_trigger"
    ROW: ClassVar = Row(67, "DMATrigger")
    HEADER: ClassVar = ("blocks",)

    blocks = prop_def(SymbolsAttr)
    engine = prop_def(EngineAttr, default_value=EngineAttr(Engine.UNASSIGNED))
    dma_qos = prop_def(QosClassAttr, default_value=QosClassAttr(QosClass.UNASSIGNED))

    def state_effects(self) -> tuple[StateEffect, ...]:
        """Its blocks are executed here."""
        return (WORLD,)

    @property
    def block_names(self) -> tuple[str, ...]:
        """Names of the blocks, in the order they fire."""
        return self.blocks.data

    @gate("Block does not exist!", "bir.md 4.6")
    def existing_blocks(self) -> None:
        """The function has the blocks it fires."""
        names = names_around(self)
        if names is None:
            return
        for name in self.block_names:
            if name not in names.blocks:
                raise VerifyException(
                    f"Block does not exist! ('{name}'): the function has no dma.block "
                    "of that name"
                )

    @gate("DMATrigger must have queue and block set", "bir.md 4.6")
    def has_blocks(self) -> None:
        """There is a block to fire."""
        if not self.block_names:
            raise VerifyException("DMATrigger must have queue and block set")
