"""The named pipelines; each is a pass of its own, so any xDSL tool can run it."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xdsl_neuron.passes.bir_legalize_mm_accumulation_groups import (
    BirLegalizeMmAccumulationGroups,
)
from xdsl_neuron.passes.bir_lower_dma import BirLowerDma
from xdsl_neuron.passes.bir_unroll import BirUnroll
from xdsl_neuron.passes.convert_penguin_to_bir import ConvertPenguinToBir
from xdsl_neuron.passes.penguin_const_rewrite import PenguinConstRewrite
from xdsl_neuron.passes.penguin_initialize_tensors import PenguinInitializeTensors
from xdsl_neuron.passes.penguin_lower_predicates import PenguinLowerPredicates
from xdsl_neuron.passes.penguin_lower_transpose import PenguinLowerTranspose
from xdsl_neuron.passes.penguin_scalar_expansion import PenguinScalarExpansion


class Pipeline(ModulePass):
    """A pass made of passes: `steps` in order."""

    @abstractmethod
    def steps(self) -> Sequence[ModulePass]:
        """The passes; `neuron-opt` times and verifies them one by one."""
        ...

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Runs the steps."""
        for step in self.steps():
            step.apply(ctx, op)


@dataclass(frozen=True)
class PenguinToBir(Pipeline):
    """
    From what the tracer builds to what the back end sees.

    Precondition: the module names its target where it has a transpose in PSUM.
    Postcondition: no `penguin` operation is left; compute masks are boxes.
    """

    name = "penguin-to-bir"

    def steps(self) -> Sequence[ModulePass]:
        """Constants, predicates, expansion, transposes, initial values, conversion."""
        return (
            PenguinConstRewrite(),
            PenguinLowerPredicates(),
            PenguinScalarExpansion(),
            PenguinLowerTranspose(),
            PenguinInitializeTensors(),
            ConvertPenguinToBir(),
        )


@dataclass(frozen=True)
class BirToDma(Pipeline):
    """
    From loops and DMA instructions to descriptors and triggers.

    Precondition: none.
    Postcondition: that of `bir-unroll` and `bir-lower-dma`; no matmul is `auto`.
    """

    name = "bir-to-dma"

    max_instructions: int = BirUnroll.max_instructions
    max_blocks: int = BirLowerDma.max_blocks

    def steps(self) -> Sequence[ModulePass]:
        """Unrolling, accumulation groups, descriptors."""
        return (
            BirUnroll(self.max_instructions),
            BirLegalizeMmAccumulationGroups(),
            BirLowerDma(self.max_blocks),
        )


@dataclass(frozen=True)
class NeuronPipeline(Pipeline):
    """Everything: `penguin-to-bir`, then `bir-to-dma`."""

    name = "neuron"

    max_instructions: int = BirUnroll.max_instructions
    max_blocks: int = BirLowerDma.max_blocks

    def steps(self) -> Sequence[ModulePass]:
        """Both halves."""
        return (PenguinToBir(), BirToDma(self.max_instructions, self.max_blocks))
