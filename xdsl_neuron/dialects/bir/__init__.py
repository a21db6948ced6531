"""
The `bir` dialect: what the back end sees.

A function holds named memory locations and instructions with engines, queues and
dependency edges. Inputs and outputs are locations with a kind. An instruction's class
is its row of the roster (bir.md 2): ordinal, JSON name, engines, first generation.
"""

from xdsl.ir import Dialect

from xdsl_neuron.dialects.bir import (
    collective,
    compute,
    control,
    declarations,
    engines,
    kernel,
    movement,
    registers,
    rows,
    structure,
    sync,
    transfer,
)
from xdsl_neuron.dialects.bir.base import (
    BirInstruction as BirInstruction,
)
from xdsl_neuron.dialects.bir.collective import (
    CollectiveComputeOp as CollectiveComputeOp,
    CollectiveRecvOp as CollectiveRecvOp,
    CollectiveSendOp as CollectiveSendOp,
    GetCurProcessingRankIDOp as GetCurProcessingRankIDOp,
    GetGlobalRankIdOp as GetGlobalRankIdOp,
)
from xdsl_neuron.dialects.bir.compute import (
    ActivationOp as ActivationOp,
    CopyPredicatedOp as CopyPredicatedOp,
    GatherOp as GatherOp,
    IndirectCopyOp as IndirectCopyOp,
    IotaOp as IotaOp,
    MatmultOp as MatmultOp,
    MatmultSparseOp as MatmultSparseOp,
    MemsetOp as MemsetOp,
    ReciprocalOp as ReciprocalOp,
    SelectOp as SelectOp,
    StreamShuffleOp as StreamShuffleOp,
    StreamTransposeOp as StreamTransposeOp,
    TensorCopyOp as TensorCopyOp,
    TensorReduceOp as TensorReduceOp,
    TensorScalarOp as TensorScalarOp,
    TensorScalarPtrOp as TensorScalarPtrOp,
    TensorTensorOp as TensorTensorOp,
)
from xdsl_neuron.dialects.bir.control import (
    BasicBlockOp as BasicBlockOp,
)
from xdsl_neuron.dialects.bir.declarations import (
    EventOp as EventOp,
    QueueOp as QueueOp,
    SemaphoreOp as SemaphoreOp,
)
from xdsl_neuron.dialects.bir.engines import (
    DevicePrintOp as DevicePrintOp,
)
from xdsl_neuron.dialects.bir.kernel import (
    OpaqueInstruction as OpaqueInstruction,
)
from xdsl_neuron.dialects.bir.registers import (
    ContinueIfOp as ContinueIfOp,
    DoWhileOp as DoWhileOp,
    DynamicForLoopOp as DynamicForLoopOp,
    RegisterAluOp as RegisterAluOp,
    RegisterMoveOp as RegisterMoveOp,
    TensorSaveOp as TensorSaveOp,
)
from xdsl_neuron.dialects.bir.row import (
    Row as Row,
)
from xdsl_neuron.dialects.bir.rows import (
    Activate2Op as Activate2Op,
    Activate2ReduceOp as Activate2ReduceOp,
    ActivationAccumulationOp as ActivationAccumulationOp,
    BNBackprop2Op as BNBackprop2Op,
    BNBackpropOp as BNBackpropOp,
    BNGradientsOp as BNGradientsOp,
    BNStatsAggregateOp as BNStatsAggregateOp,
    BNStatsOp as BNStatsOp,
    DropoutOp as DropoutOp,
    ExponentialOp as ExponentialOp,
    ExponentialReduceOp as ExponentialReduceOp,
    GetRandStateOp as GetRandStateOp,
    GetSequenceBoundsOp as GetSequenceBoundsOp,
    MatchReplaceOp as MatchReplaceOp,
    MatmultMxOp as MatmultMxOp,
    MaxIndexAndMatchReplaceOp as MaxIndexAndMatchReplaceOp,
    MaxIndexOp as MaxIndexOp,
    MaxOp as MaxOp,
    NonzeroWithCountOp as NonzeroWithCountOp,
    PartitionReduceOp as PartitionReduceOp,
    PoolOp as PoolOp,
    QuantizeMxOp as QuantizeMxOp,
    Rand2Op as Rand2Op,
    RandGetStateOp as RandGetStateOp,
    RandOp as RandOp,
    RandSetStateOp as RandSetStateOp,
    RangeSelectOp as RangeSelectOp,
    RangeSelectReduceOp as RangeSelectReduceOp,
    RngOp as RngOp,
    ScalarTensorTensorOp as ScalarTensorTensorOp,
    SelectReduceOp as SelectReduceOp,
    SetRandStateOp as SetRandStateOp,
    TensorScalarAffineSelectOp as TensorScalarAffineSelectOp,
    TensorScalarCacheCumulativeOp as TensorScalarCacheCumulativeOp,
    TensorScalarCacheReduceOp as TensorScalarCacheReduceOp,
    TensorTensorScanOp as TensorTensorScanOp,
)
from xdsl_neuron.dialects.bir.structure import (
    FuncOp as FuncOp,
    LocationOp as LocationOp,
    LoopOp as LoopOp,
    ReturnOp as ReturnOp,
    enclosing_function as enclosing_function,
)
from xdsl_neuron.dialects.bir.sync import (
    CoreBarrierOp as CoreBarrierOp,
)
from xdsl_neuron.dialects.bir.transfer import (
    DMACopyCceOp as DMACopyCceOp,
    DMACopyGatherTransposeOp as DMACopyGatherTransposeOp,
    DMACopyOp as DMACopyOp,
    DMACopyReplicateOp as DMACopyReplicateOp,
    DMACopyTransposeOp as DMACopyTransposeOp,
    DMATriggerOp as DMATriggerOp,
    GenericIndirectLoadOp as GenericIndirectLoadOp,
    GenericIndirectSaveOp as GenericIndirectSaveOp,
    IndirectSaveAccumulateOp as IndirectSaveAccumulateOp,
    LoadOp as LoadOp,
    SaveOp as SaveOp,
    TensorLoadOp as TensorLoadOp,
)
from xdsl_neuron.dialects.bir.trigger import (
    BirDma as BirDma,
)
from xdsl_neuron.dialects.defined import operations_in

Bir = Dialect(
    "bir",
    operations_in(
        structure,
        transfer,
        compute,
        registers,
        control,
        sync,
        declarations,
        movement,
        collective,
        engines,
        kernel,
        rows,
    ),
    [],
)
