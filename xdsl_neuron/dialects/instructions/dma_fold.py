"""The DMA that folds several tensors into one (bir.md 6.1 mode CCE)."""

from typing import ClassVar, Final

from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions.dma import DmaInstruction
from xdsl_neuron.dialects.neuron import AluOpAttr, ImmediatesAttr, TensorType
from xdsl_neuron.isa import AluOp

SOURCES: Final = ("src", *(f"src{at}" for at in range(1, Arch.max_dma_sources)))
"""Names of the sources, in the order they are folded."""

FOLDS: Final = (AluOp.ADD, AluOp.MAX, AluOp.MIN)


class FoldedSources(Instruction):
    """
    Up to sixteen sources with as many elements, and what they are folded by.

    fp32 throughout: the sum of `constants[i] * source i` in order, or the largest or
    smallest, cast once to the type of `dst`.
    """

    INS: ClassVar = SOURCES
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    src1 = opt_operand_def(TensorType)
    src2 = opt_operand_def(TensorType)
    src3 = opt_operand_def(TensorType)
    src4 = opt_operand_def(TensorType)
    src5 = opt_operand_def(TensorType)
    src6 = opt_operand_def(TensorType)
    src7 = opt_operand_def(TensorType)
    src8 = opt_operand_def(TensorType)
    src9 = opt_operand_def(TensorType)
    src10 = opt_operand_def(TensorType)
    src11 = opt_operand_def(TensorType)
    src12 = opt_operand_def(TensorType)
    src13 = opt_operand_def(TensorType)
    src14 = opt_operand_def(TensorType)
    src15 = opt_operand_def(TensorType)
    op = prop_def(AluOpAttr, default_value=AluOpAttr(AluOp.ADD))
    constants = opt_prop_def(ImmediatesAttr)

    def sources(self) -> list[str]:
        """The names of the sources that are there, in order."""
        return [name for name in SOURCES if name in self.data_values()]

    @gate("CCE DMA: ops {add, max, min}", "bir.md 7.5")
    def fold_op(self) -> None:
        """What the engine folds by."""
        if self.op.data not in FOLDS:
            raise VerifyException(
                f"a DMA folds by add, max or min, got {self.op.data}; fold on an engine"
            )

    @gate("srcs/scales same length", "penguin.md 6.3 row 163")
    def constant_count(self) -> None:
        """A constant for each source of a sum, or none at all."""
        if self.constants is None:
            return
        given, sources = len(self.constants.data), len(self.sources())
        if self.op.data is not AluOp.ADD:
            raise VerifyException(
                f"only a sum has constants, but the op is {self.op.data}"
            )
        if given != sources:
            raise VerifyException(
                f"srcs and scales must have the same length, len(srcs)={sources}, "
                f"len(scales)={given}"
            )


class Fold(FoldedSources, DmaInstruction):
    """
    Folds tensors of HBM and SBUF elementwise.

        penguin.tiled_offloaded_fma %d <- %a, src1 = %b {constants = [1.0, 0.5]}
    """

    MOVED: ClassVar = ("dst", *SOURCES)
