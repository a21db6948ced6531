"""
The roster of instruction types (bir.md 2): every ordinal, and what stands for it here.

Names, abstract bases, and what creates the instructions that no operation of penguin
stands above (bir.md 8; where no pass is named there, our reading of it); the rest is
read from the classes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from xdsl.ir import Operation

from xdsl_neuron.dialects import structure
from xdsl_neuron.dialects.bir import Bir, BirDma, DMATriggerOp, Row
from xdsl_neuron.dialects.dma import Dma
from xdsl_neuron.dialects.penguin import Penguin

NAMES: Final = tuple(
    """
    Generic GenericCopy GenericRelu AbstractCopy Activation ReadActivationAccumulator
    LoadActFuncSet MatmultBase Matmult MatmultSparse Memset GetGlobalRankId NoOp
    EventSemaphore GroupResetSemaphores AllEngineBarrier Drain Halt DMA Load Pool
    Reciprocal Save TensorCopy TensorCopyDynamicSrc TensorCopyDynamicDst IndirectCopy
    TensorReduce TensorScalar TensorScalarPtr TensorScalarCache TensorTensor DMACopy
    GPSIMDSB2SB BNStats BNStatsAggregate BNGradients BNBackprop BNBackprop2
    StreamShuffle StreamTranspose ReadVarAddr GenericIndirectLoad IndirectLoad
    GenericIndirectSave IndirectSave IndirectSaveAccumulate Collective CollectiveCompute
    CollectiveSend CollectiveRecv Select CopyPredicated CustomOp BIRKernel NKIKernel
    NKIKLIRKernel DevicePrint GetRandState SetRandState Rand Iota
    TensorScalarAffineSelect RangeSelect GetSequenceBounds Dropout
    GetCurProcessingRankID DMATrigger DMADescriptor DMADescriptorCopy DMADescriptorCCE
    DMADescriptorTranspose DMADescriptorReplicate RegisterAlu RegisterMove TensorLoad
    TensorSave Terminator CompareAndBranch UnconditionalBranch BranchHint Return Exit
    Break Call SwitchQueueInstance ResetQueueInstance CoreBarrier Max MaxIndex
    MatchReplace MaxIndexAndMatchReplace Gather InlineASMBytes TensorCompletion
    MatmultMx QuantizeMx Rand2 RandSetState RandGetState Rng ActivationReadAccumulator
    DveReadAccumulator Exponential NonzeroWithCount Loop DynamicForLoop DMABlock DoWhile
    TongaReduceMacroSymbolic
    """.split()
)
"""JSON names by ordinal."""

ABSTRACT: Final = frozenset({0, 7, 18, 47, 68, 77})
"""Ordinals of bases, of which no program has an instruction."""

_BRANCHES: Final = "lower_control, lower_branch"
_INDIRECT: Final = "lower_generic_indirect"
_FRONT_END: Final = "the framework's front end"

CREATED_BY: Final = {
    "GenericCopy": "lower_select",
    "GenericRelu": "nothing in this version",
    "AbstractCopy": "the allocators' spill code; lower_ac removes it",
    "ReadActivationAccumulator": "peephole_opts",
    "ActivationReadAccumulator": "lower_act",
    "DveReadAccumulator": "lower_dve",
    "LoadActFuncSet": "lower_act",
    "NoOp": "lower_sync",
    "EventSemaphore": "synchronizer",
    "GroupResetSemaphores": "alloc_semaphores",
    "AllEngineBarrier": "lower_control",
    "Drain": "lower_control",
    "Halt": "codegen",
    "TensorCopyDynamicSrc": "the KLR front end, for a scalar offset",
    "TensorCopyDynamicDst": "the KLR front end, for a scalar offset",
    "GPSIMDSB2SB": "lower_local_collectives",
    "ReadVarAddr": _INDIRECT,
    "IndirectLoad": _INDIRECT,
    "IndirectSave": _INDIRECT,
    "CustomOp": _FRONT_END,
    "BIRKernel": _FRONT_END,
    "NKIKernel": _FRONT_END,
    "NKIKLIRKernel": _FRONT_END,
    "InlineASMBytes": _FRONT_END,
    "DMATrigger": "bir-lower-dma",
    "DMADescriptorCopy": "bir-lower-dma",
    "DMADescriptorCCE": "bir-lower-dma",
    "DMADescriptorTranspose": "bir-lower-dma",
    "DMADescriptorReplicate": "bir-lower-dma",
    "DMABlock": "bir-lower-dma",
    "CompareAndBranch": _BRANCHES,
    "UnconditionalBranch": _BRANCHES,
    "BranchHint": "branch_hint",
    "Exit": _BRANCHES,
    "Break": _BRANCHES,
    "Call": "bir_splitter",
    "SwitchQueueInstance": "insert_dma_switch_queue_instance",
    "ResetQueueInstance": "insert_dma_switch_queue_instance",
    "TensorCompletion": "insert_ptcom_flat",
    "TongaReduceMacroSymbolic": "nothing in this version",
}
"""What creates an instruction that has no operation in penguin above it."""

_MEANINGS: Final = ("xdsl_neuron.dialects.instructions.", structure.__name__)
"""Modules that say what an instruction is, for all levels."""

_DESCRIPTORS: Final = {
    "dma.block": "DMABlock",
    "dma.copy": "DMADescriptorCopy",
    "dma.gather": "DMADescriptorCopy",
    "dma.scatter": "DMADescriptorCopy",
    "dma.cce": "DMADescriptorCCE",
    "dma.fold": "DMADescriptorCCE",
    "dma.replicate": "DMADescriptorReplicate",
    "dma.transpose": "DMADescriptorTranspose",
    "dma.gather_transpose": "DMADescriptorTranspose",
}
"""Operations of the descriptor level, which have no row of their own."""


@dataclass(frozen=True)
class Line:
    """An ordinal and the operations that stand for it."""

    ordinal: int
    name: str
    operations: tuple[type[Operation], ...]
    above: tuple[type[Operation], ...]
    """Operations of penguin that are converted to one of them."""

    @property
    def is_abstract(self) -> bool:
        """Whether no program has it."""
        return self.ordinal in ABSTRACT

    @property
    def created_by(self) -> str:
        """What creates it where penguin has nothing above it."""
        return "" if self.above else CREATED_BY.get(self.name, "")

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines that can run it; none where it is lowered away."""
        found: dict[str, None] = {}
        for operation in self.operations:
            if issubclass(operation, BirDma | DMATriggerOp):
                found["any but PE"] = None
            for engine in getattr(operation, "ENGINES", ()):
                found[engine.value] = None
        return tuple(found)

    @property
    def min_level(self) -> int:
        """The first architecture level that has it."""
        rows = [row_of(operation) for operation in self.operations]
        return min((row.min_level for row in rows if row is not None), default=20)


def row_of(operation: type[Operation]) -> Row | None:
    """An operation's line of the roster, None where it has none."""
    row = getattr(operation, "ROW", None)
    return row if isinstance(row, Row) else None


def _above(operation: type[Operation]) -> Iterator[type[Operation]]:
    """The operations of penguin that share an operation's meaning."""
    meaning = operation.__bases__[0]
    if not meaning.__module__.startswith(_MEANINGS):
        return
    same = [other for other in Penguin.operations if meaning in other.__bases__]
    yield from same or (o for o in Penguin.operations if issubclass(o, meaning))


def lines() -> Iterator[Line]:
    """Every ordinal of the roster."""
    by_name: dict[str, list[type[Operation]]] = {name: [] for name in NAMES}
    for operation in Bir.operations:
        row = row_of(operation)
        if row is not None:
            by_name[row.name].append(operation)
    for operation in Dma.operations:
        by_name[_DESCRIPTORS[operation.name]].append(operation)
    for ordinal, name in enumerate(NAMES):
        operations = tuple(by_name[name])
        shared = () if name in CREATED_BY else operations
        above = dict.fromkeys(p for each in shared for p in _above(each))
        yield Line(ordinal, name, operations, tuple(above))
