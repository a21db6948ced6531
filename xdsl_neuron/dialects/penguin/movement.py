"""DMA and loads of registers, by the tracer's names."""

from xdsl.irdl import irdl_op_definition

from xdsl_neuron.dialects.instructions import (
    dma,
    dma_fold,
    dma_indirect,
    gather,
    transpose,
)


@irdl_op_definition
class SBAtomLoadOp(dma.Load):
    """`nl.load`: HBM to SBUF."""

    name = "penguin.sb_atom_load"


@irdl_op_definition
class SBAtomStoreOp(dma.Save):
    """`nl.store`: SBUF to HBM."""

    name = "penguin.sb_atom_store"


@irdl_op_definition
class DMACopyOp(dma.OpenCopy):
    """`nisa.dma_copy`, direct on both sides."""

    name = "penguin.dma_copy"


@irdl_op_definition
class NeuronIndirectLoadOp(dma_indirect.IndirectLoad):
    """Gather by an index tile."""

    name = "penguin.neuron_indirect_load"


@irdl_op_definition
class NeuronIndirectSaveOp(dma_indirect.IndirectSave):
    """Scatter by an index tile."""

    name = "penguin.neuron_indirect_save"


@irdl_op_definition
class NeuronIndirectRMWOp(dma_indirect.IndirectAccumulate):
    """Scatter-add by an index tile."""

    name = "penguin.neuron_indirect_rmw"


@irdl_op_definition
class DMATransposeLoadOp(transpose.DmaTranspose):
    """`nisa.dma_transpose` from HBM."""

    name = "penguin.dma_transpose_load"


@irdl_op_definition
class NeuronReplicateAPOp(dma.Replicate):
    """A copy of rows to several groups of partitions."""

    name = "penguin.neuron_replicate_ap"


@irdl_op_definition
class TiledOffloadedFMAOp(dma_fold.Fold):
    """A weighted sum of several tensors, made by the DMA engines."""

    name = "penguin.tiled_offloaded_fma"


@irdl_op_definition
class DMATransposeCopyOp(transpose.DmaTranspose):
    """`nisa.dma_transpose` from SBUF."""

    name = "penguin.dma_transpose_copy"


@irdl_op_definition
class DMAIndirectTransposeOp(transpose.DmaIndirectTranspose):
    """`nisa.dma_transpose` of gathered rows."""

    name = "penguin.dma_indirect_transpose"


@irdl_op_definition
class LoadTensorToRegisterOp(gather.TensorLoad):
    """`nisa.register_load`."""

    name = "penguin.load_tensor_to_register"
