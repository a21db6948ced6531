"""
Enumerations of control flow, synchronisation, queues, collectives and kernels.

As in `isa`: a member's value is its spelling, `number` its ordinal in bir.md 1.
"""

from xdsl_neuron.isa import NumberedEnum


class BranchCompareOp(NumberedEnum):
    """What a branch tests of its registers (bir.md 1.18)."""

    IS_LTIMM = "IS_LTIMM", 0
    IS_LEIMM = "IS_LEIMM", 1
    IS_EQIMM = "IS_EQIMM", 2
    IS_NEIMM = "IS_NEIMM", 3
    IS_GEIMM = "IS_GEIMM", 4
    IS_GTIMM = "IS_GTIMM", 5
    IS_LTREG = "IS_LTREG", 6
    IS_LEREG = "IS_LEREG", 7
    IS_EQREG = "IS_EQREG", 8
    IS_NEREG = "IS_NEREG", 9
    IS_GEREG = "IS_GEREG", 10
    IS_GTREG = "IS_GTREG", 11

    @property
    def takes_immediate(self) -> bool:
        """Whether the right side is an immediate, else a register."""
        return self.number < BranchCompareOp.IS_LTREG.number


class BranchOutcomeHint(NumberedEnum):
    """Which way a branch usually goes (bir.md 1.18)."""

    LIKELY_TAKEN = "LikelyTaken", 0
    LIKELY_NOT_TAKEN = "LikelyNotTaken", 1


class WaitMode(NumberedEnum):
    """What an instruction waits for (bir.md 1.18)."""

    EVENT_SET_THEN_CLEAR = "EVENT_SET_THEN_CLEAR", 0
    SEM_GE_IMM = "SEM_GE_IMM", 1
    SEM_GE_REG = "SEM_GE_REG", 2


class UpdateMode(NumberedEnum):
    """What a finished instruction does to a semaphore or event (bir.md 1.18)."""

    EVENT_SET = "EVENT_SET", 0
    SEM_ADD_IMM = "SEM_ADD_IMM", 1
    SEM_SUB_IMM = "SEM_SUB_IMM", 2
    SEM_INC = "SEM_INC", 3
    SEM_DEC = "SEM_DEC", 4
    SEM_WRITE_IMM = "SEM_WRITE_IMM", 5


class SemaphoreClearMode(NumberedEnum):
    """`EventSemaphoreClearMode` (bir.md 1.18)."""

    SEMAPHORE_ZERO = "SemaphoreZero", 0
    SEMAPHORE_ZERO_BITMASK = "SemaphoreZeroBitmask", 1


class QueueType(NumberedEnum):
    """`DMAQueue::Type` (dma.md 1.10)."""

    INPUT = "input", 0
    OUTPUT = "output", 1
    DATA = "data", 2
    PINNED_WEIGHT = "pinned_weight", 3
    INDIRECT_LOADSAVE = "indirect_loadsave", 4
    EMBEDDING_UPDATE = "embedding_update", 5
    COLLECTIVE_COMPUTE = "collective_compute", 6
    DYNAMIC_ACT_TABLE = "dynamic_act_table", 7
    DYNAMIC = "dynamic", 8


class CollectiveKind(NumberedEnum):
    """What a collective does (bir.md 1.19)."""

    SEND_RECV = "SendRecv", 0
    SEND_RECV_CCE = "SendRecvCCE", 1
    ALL_REDUCE = "AllReduce", 2
    REDUCE_SCATTER = "ReduceScatter", 3
    ALL_GATHER = "AllGather", 4
    ALL_TO_ALL = "AllToAll", 5
    ALL_TO_ALL_V = "AllToAllV", 6
    PERMUTE = "Permute", 7
    PERMUTE_REDUCE = "PermuteReduce", 8
    PERMUTE_IMPLICIT = "PermuteImplicit", 9
    PERMUTE_REDUCE_IMPLICIT = "PermuteReduceImplicit", 10

    @property
    def reduces(self) -> bool:
        """Whether it needs an operation (bir.md 1.19)."""
        return self in _REDUCING


_REDUCING = frozenset(
    {
        CollectiveKind.ALL_REDUCE,
        CollectiveKind.REDUCE_SCATTER,
        CollectiveKind.PERMUTE_REDUCE,
        CollectiveKind.PERMUTE_REDUCE_IMPLICIT,
    }
)


class CollectiveDimension(NumberedEnum):
    """Along which dimension ranks are concatenated or split (bir.md 1.19)."""

    PARTITION = "Partition", 0
    FREE = "Free", 1


class CollectiveTypeHint(NumberedEnum):
    """`CollectiveComputeTypeHint` (bir.md 1.19)."""

    TP = "TP", 0
    FSDP = "FSDP", 1
    NONE = "None", 2


class UniqueTensors(NumberedEnum):
    """`UniqueTensorsType` (bir.md 1.16)."""

    UNKNOWN = "Unknown", 0
    NO = "No", 1
    YES = "Yes", 2


class TensorCompletionMode(NumberedEnum):
    """What a completed tensor is announced for (bir.md 1.16)."""

    DEFAULT = "Default", 0
    DEBUG_TENSOR_READ = "DebugTensorRead", 1


class SyncType(NumberedEnum):
    """`InstSyncType` (bir.md 1.12)."""

    DATAPATH = "datapath", 0
    SEQUENCER = "sequencer", 1
    DMA = "dma", 2


class DebugBuffer(NumberedEnum):
    """`DebugDeviceBuffer` (bir.md 1.16)."""

    STDOUT = "stdout", 0
    STDERR = "stderr", 1


class KernelSource(NumberedEnum):
    """Which front end a kernel was written for (bir.md 1.16)."""

    BETA1 = "Beta1", 0
    BETA2 = "Beta2", 1
    BETA3 = "Beta3", 2


class AddressRotationScope(NumberedEnum):
    """Where buffers rotate through addresses (bir.md 1.16)."""

    NONE = "None", 0
    KERNEL = "Kernel", 1
    GLOBAL = "Global", 2
