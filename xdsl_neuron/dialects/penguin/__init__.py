"""
The `penguin` dialect: what the tracer builds from a kernel.

Functions, rolled loops and buffers in a memory space, and instructions that read and
write them through access patterns. What an instruction is and which rules it keeps
stands in `dialects.instructions`; here it gets its name.
"""

from xdsl.ir import Dialect

from xdsl_neuron.dialects.defined import operations_in
from xdsl_neuron.dialects.penguin import (
    compute,
    control,
    movement,
    rows,
    structure,
    system,
)
from xdsl_neuron.dialects.penguin.compute import (
    ActivationOp as ActivationOp,
    IndexValueOp as IndexValueOp,
    IndirectCopyOp as IndirectCopyOp,
    MatMulOp as MatMulOp,
    MemsetOp as MemsetOp,
    PoolGatherOp as PoolGatherOp,
    ReciprocalOp as ReciprocalOp,
    StreamShuffleOp as StreamShuffleOp,
    TensorCopyOp as TensorCopyOp,
    TensorCopyPredicatedOp as TensorCopyPredicatedOp,
    TensorReduceOp as TensorReduceOp,
    TensorScalarOp as TensorScalarOp,
    TensorScalarPtrOp as TensorScalarPtrOp,
    TensorSelectOp as TensorSelectOp,
    TensorTensorOp as TensorTensorOp,
    TransposeOp as TransposeOp,
)
from xdsl_neuron.dialects.penguin.control import (
    ContinueIfOp as ContinueIfOp,
    DoWhileOp as DoWhileOp,
    DynamicForOp as DynamicForOp,
    RegisterAluOp as RegisterAluOp,
    RegisterMoveOp as RegisterMoveOp,
    StoreRegisterToTensorOp as StoreRegisterToTensorOp,
)
from xdsl_neuron.dialects.penguin.movement import (
    DMACopyOp as DMACopyOp,
    DMAIndirectTransposeOp as DMAIndirectTransposeOp,
    DMATransposeCopyOp as DMATransposeCopyOp,
    DMATransposeLoadOp as DMATransposeLoadOp,
    LoadTensorToRegisterOp as LoadTensorToRegisterOp,
    NeuronIndirectLoadOp as NeuronIndirectLoadOp,
    NeuronIndirectRMWOp as NeuronIndirectRMWOp,
    NeuronIndirectSaveOp as NeuronIndirectSaveOp,
    NeuronReplicateAPOp as NeuronReplicateAPOp,
    SBAtomLoadOp as SBAtomLoadOp,
    SBAtomStoreOp as SBAtomStoreOp,
    TiledOffloadedFMAOp as TiledOffloadedFMAOp,
)
from xdsl_neuron.dialects.penguin.rows import (
    Activate2Op as Activate2Op,
    Activate2ReduceOp as Activate2ReduceOp,
    ActivationAccumulationOp as ActivationAccumulationOp,
    AffSelTensorScalarOp as AffSelTensorScalarOp,
    BNBackprop2Op as BNBackprop2Op,
    BNBackpropOp as BNBackpropOp,
    BNGradientsOp as BNGradientsOp,
    DropoutMaskOp as DropoutMaskOp,
    ExponentialOp as ExponentialOp,
    ExponentialReduceOp as ExponentialReduceOp,
    GetRandStateOp as GetRandStateOp,
    GetSequenceBoundsOp as GetSequenceBoundsOp,
    MatMulMXOp as MatMulMXOp,
    MatMulSparseOp as MatMulSparseOp,
    MaxIndexAndMatchReplaceOp as MaxIndexAndMatchReplaceOp,
    NonzeroWithCountOp as NonzeroWithCountOp,
    PartitionReduceOp as PartitionReduceOp,
    PoolOp as PoolOp,
    QuantizeMXOp as QuantizeMXOp,
    Rand2Op as Rand2Op,
    RandGetStateOp as RandGetStateOp,
    RandOp as RandOp,
    RandSetStateOp as RandSetStateOp,
    RangeSelectOp as RangeSelectOp,
    RangeSelectReduceOp as RangeSelectReduceOp,
    RngOp as RngOp,
    ScalarTensorTensorOp as ScalarTensorTensorOp,
    SelectReduceOp as SelectReduceOp,
    SetRngSeedOp as SetRngSeedOp,
    SundaBNAggrOp as SundaBNAggrOp,
    SundaBNStatsOp as SundaBNStatsOp,
    SundaMatchReplace8Op as SundaMatchReplace8Op,
    SundaMax8Op as SundaMax8Op,
    SundaMaxIndex8Op as SundaMaxIndex8Op,
    TensorScalarCacheCumulativeOp as TensorScalarCacheCumulativeOp,
    TensorScalarCacheReduceOp as TensorScalarCacheReduceOp,
    TensorTensorScanOp as TensorTensorScanOp,
)
from xdsl_neuron.dialects.penguin.structure import (
    AllocOp as AllocOp,
    ConstantOp as ConstantOp,
    ForOp as ForOp,
    FuncOp as FuncOp,
    ReturnOp as ReturnOp,
)
from xdsl_neuron.dialects.penguin.system import (
    CollectiveComputeOp as CollectiveComputeOp,
    CollectiveRecvOp as CollectiveRecvOp,
    CollectiveSendOp as CollectiveSendOp,
    CoreBarrierOp as CoreBarrierOp,
    DevicePrintOp as DevicePrintOp,
    GetCurProcessingRankIdOp as GetCurProcessingRankIdOp,
    GetGlobalRankIdOp as GetGlobalRankIdOp,
)

Penguin = Dialect(
    "penguin",
    operations_in(structure, movement, control, system, compute, rows),
    [],
)
