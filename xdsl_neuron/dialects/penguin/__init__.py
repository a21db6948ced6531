"""
The `penguin` dialect: what the tracer builds from a kernel.

Functions, rolled loops and buffers in a memory space, and instructions that read and
write them through access patterns. What an instruction is and which rules it keeps
stands in `dialects.instructions`; here it gets its name.
"""

from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition

from xdsl_neuron.dialects import structure
from xdsl_neuron.dialects.instructions import (
    dma,
    dma_fold,
    elementwise,
    gather,
    indirect_matmul,
    matrix,
    reduction,
    transpose,
)
from xdsl_neuron.dialects.penguin.control import (
    ContinueIfOp,
    DoWhileOp,
    DynamicForOp,
    RegisterAluOp,
    RegisterMoveOp,
    StoreRegisterToTensorOp,
)
from xdsl_neuron.dialects.penguin.rows import (
    Activate2Op,
    Activate2ReduceOp,
    ActivationAccumulationOp,
    AffSelTensorScalarOp,
    BNBackprop2Op,
    BNBackpropOp,
    BNGradientsOp,
    DropoutMaskOp,
    ExponentialOp,
    ExponentialReduceOp,
    GetRandStateOp,
    GetSequenceBoundsOp,
    MatMulMXOp,
    MatMulSparseOp,
    MaxIndexAndMatchReplaceOp,
    NonzeroWithCountOp,
    PartitionReduceOp,
    PoolOp,
    QuantizeMXOp,
    Rand2Op,
    RandGetStateOp,
    RandOp,
    RandSetStateOp,
    RangeSelectOp,
    RangeSelectReduceOp,
    RngOp,
    ScalarTensorTensorOp,
    SelectReduceOp,
    SetRngSeedOp,
    SundaBNAggrOp,
    SundaBNStatsOp,
    SundaMatchReplace8Op,
    SundaMax8Op,
    SundaMaxIndex8Op,
    TensorScalarCacheCumulativeOp,
    TensorScalarCacheReduceOp,
    TensorTensorScanOp,
)
from xdsl_neuron.dialects.penguin.system import (
    CollectiveComputeOp,
    CollectiveRecvOp,
    CollectiveSendOp,
    CoreBarrierOp,
    DevicePrintOp,
    GetCurProcessingRankIdOp,
    GetGlobalRankIdOp,
)


@irdl_op_definition
class FuncOp(structure.Function):
    """A traced kernel."""

    name = "penguin.func"


@irdl_op_definition
class ReturnOp(structure.Return):
    """Ends a kernel and names its outputs."""

    name = "penguin.return"


@irdl_op_definition
class ForOp(structure.For):
    """A rolled loop."""

    name = "penguin.for"


@irdl_op_definition
class AllocOp(structure.Alloc):
    """A tile or an HBM tensor, fresh each time it executes."""

    name = "penguin.alloc"


@irdl_op_definition
class ConstantOp(structure.Constant):
    """A weight, an identity or another read-only tensor."""

    name = "penguin.constant"


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
class NeuronIndirectLoadOp(dma.IndirectLoad):
    """Gather by an index tile."""

    name = "penguin.neuron_indirect_load"


@irdl_op_definition
class NeuronIndirectSaveOp(dma.IndirectSave):
    """Scatter by an index tile."""

    name = "penguin.neuron_indirect_save"


@irdl_op_definition
class NeuronIndirectRMWOp(dma.IndirectAccumulate):
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


@irdl_op_definition
class StreamShuffleOp(gather.StreamShuffle):
    """`nisa.nc_stream_shuffle`."""

    name = "penguin.stream_shuffle"


@irdl_op_definition
class IndirectCopyOp(gather.IndirectCopy):
    """`nisa.local_gather`."""

    name = "penguin.indirect_copy"


@irdl_op_definition
class PoolGatherOp(gather.Gather):
    """`nl.gather_flattened`."""

    name = "penguin.pool_gather"


@irdl_op_definition
class TensorTensorOp(elementwise.TensorTensor):
    """`nisa.tensor_tensor`."""

    name = "penguin.tensor_tensor"


@irdl_op_definition
class TensorScalarPtrOp(elementwise.TensorScalar):
    """`nisa.tensor_scalar`."""

    name = "penguin.tensor_scalar_ptr"


@irdl_op_definition
class TensorScalarOp(elementwise.TensorScalarConst):
    """A tensor and constants of the instruction."""

    name = "penguin.tensor_scalar"


@irdl_op_definition
class ActivationOp(elementwise.Activation):
    """`nisa.activation`."""

    name = "penguin.activation"


@irdl_op_definition
class ReciprocalOp(elementwise.Reciprocal):
    """`nisa.reciprocal`."""

    name = "penguin.reciprocal"


@irdl_op_definition
class TensorCopyOp(elementwise.TensorCopy):
    """`nisa.tensor_copy`."""

    name = "penguin.tensor_copy"


@irdl_op_definition
class MemsetOp(elementwise.Memset):
    """`nisa.memset`."""

    name = "penguin.memset"


@irdl_op_definition
class IndexValueOp(elementwise.Iota):
    """`nisa.iota`."""

    name = "penguin.index_value"


@irdl_op_definition
class TensorCopyPredicatedOp(elementwise.TensorCopyPredicated):
    """`nisa.tensor_copy_predicated`."""

    name = "penguin.tensor_copy_predicated"


@irdl_op_definition
class TensorSelectOp(elementwise.Select):
    """`nl.where`."""

    name = "penguin.tensor_select"


@irdl_op_definition
class MatMulOp(indirect_matmul.IndirectMatmul):
    """`nisa.nc_matmul`."""

    name = "penguin.matmul"


@irdl_op_definition
class TransposeOp(matrix.Transpose):
    """`nisa.nc_transpose`."""

    name = "penguin.transpose"


@irdl_op_definition
class TensorReduceOp(reduction.TensorReduce):
    """`nisa.tensor_reduce`."""

    name = "penguin.tensor_reduce"


Penguin = Dialect(
    "penguin",
    [
        FuncOp,
        ReturnOp,
        ForOp,
        AllocOp,
        ConstantOp,
        SBAtomLoadOp,
        SBAtomStoreOp,
        DMACopyOp,
        NeuronIndirectLoadOp,
        NeuronIndirectSaveOp,
        NeuronIndirectRMWOp,
        DMATransposeLoadOp,
        DMATransposeCopyOp,
        NeuronReplicateAPOp,
        TiledOffloadedFMAOp,
        DMAIndirectTransposeOp,
        LoadTensorToRegisterOp,
        StoreRegisterToTensorOp,
        RegisterAluOp,
        RegisterMoveOp,
        DynamicForOp,
        DoWhileOp,
        ContinueIfOp,
        CollectiveComputeOp,
        CollectiveSendOp,
        CollectiveRecvOp,
        GetGlobalRankIdOp,
        GetCurProcessingRankIdOp,
        CoreBarrierOp,
        DevicePrintOp,
        StreamShuffleOp,
        IndirectCopyOp,
        PoolGatherOp,
        TensorTensorOp,
        TensorScalarPtrOp,
        TensorScalarOp,
        ActivationOp,
        ReciprocalOp,
        TensorCopyOp,
        MemsetOp,
        IndexValueOp,
        TensorCopyPredicatedOp,
        TensorSelectOp,
        MatMulOp,
        TransposeOp,
        TensorReduceOp,
        TensorTensorScanOp,
        TensorScalarCacheCumulativeOp,
        ScalarTensorTensorOp,
        TensorScalarCacheReduceOp,
        ActivationAccumulationOp,
        PartitionReduceOp,
        PoolOp,
        SundaMax8Op,
        SundaMaxIndex8Op,
        SundaMatchReplace8Op,
        MaxIndexAndMatchReplaceOp,
        SundaBNStatsOp,
        SundaBNAggrOp,
        BNGradientsOp,
        BNBackpropOp,
        BNBackprop2Op,
        AffSelTensorScalarOp,
        RangeSelectOp,
        RangeSelectReduceOp,
        SelectReduceOp,
        ExponentialOp,
        ExponentialReduceOp,
        Activate2Op,
        Activate2ReduceOp,
        NonzeroWithCountOp,
        GetSequenceBoundsOp,
        RngOp,
        Rand2Op,
        SetRngSeedOp,
        RandSetStateOp,
        RandGetStateOp,
        GetRandStateOp,
        RandOp,
        DropoutMaskOp,
        QuantizeMXOp,
        MatMulMXOp,
        MatMulSparseOp,
    ],
    [],
)
