"""
The `bir` dialect: what the back end sees.

A function holds named memory locations and instructions with engines, queues and
dependency edges. Inputs and outputs are locations with a kind. An instruction's class
is its row of the roster (bir.md 2): ordinal, JSON name, engines, first generation.
"""

from xdsl.ir import Dialect

from xdsl_neuron.dialects.bir.base import (
    BirDma,
    BirInstruction,
    Row,
)
from xdsl_neuron.dialects.bir.compute import (
    ActivationOp,
    CopyPredicatedOp,
    GatherOp,
    IndirectCopyOp,
    IotaOp,
    MatmultOp,
    MemsetOp,
    ReciprocalOp,
    SelectOp,
    StreamShuffleOp,
    StreamTransposeOp,
    TensorCopyOp,
    TensorReduceOp,
    TensorScalarPtrOp,
    TensorTensorOp,
)
from xdsl_neuron.dialects.bir.structure import (
    FuncOp,
    LocationOp,
    LoopOp,
    ReturnOp,
    enclosing_function,
)
from xdsl_neuron.dialects.bir.transfer import (
    DMACopyGatherTransposeOp,
    DMACopyOp,
    DMACopyTransposeOp,
    DMATriggerOp,
    GenericIndirectLoadOp,
    GenericIndirectSaveOp,
    IndirectSaveAccumulateOp,
    LoadOp,
    SaveOp,
    TensorLoadOp,
)

Bir = Dialect(
    "bir",
    [
        FuncOp,
        ReturnOp,
        LoopOp,
        LocationOp,
        LoadOp,
        SaveOp,
        DMACopyOp,
        DMACopyTransposeOp,
        DMACopyGatherTransposeOp,
        GenericIndirectLoadOp,
        GenericIndirectSaveOp,
        IndirectSaveAccumulateOp,
        TensorTensorOp,
        TensorScalarPtrOp,
        ActivationOp,
        ReciprocalOp,
        TensorCopyOp,
        MemsetOp,
        IotaOp,
        CopyPredicatedOp,
        SelectOp,
        MatmultOp,
        StreamTransposeOp,
        TensorReduceOp,
        StreamShuffleOp,
        IndirectCopyOp,
        GatherOp,
        TensorLoadOp,
        DMATriggerOp,
    ],
    [],
)

__all__ = [
    "ActivationOp",
    "Bir",
    "BirDma",
    "BirInstruction",
    "CopyPredicatedOp",
    "DMACopyGatherTransposeOp",
    "DMACopyOp",
    "DMACopyTransposeOp",
    "DMATriggerOp",
    "FuncOp",
    "GatherOp",
    "GenericIndirectLoadOp",
    "GenericIndirectSaveOp",
    "IndirectCopyOp",
    "IndirectSaveAccumulateOp",
    "IotaOp",
    "LoadOp",
    "LocationOp",
    "LoopOp",
    "MatmultOp",
    "MemsetOp",
    "ReciprocalOp",
    "ReturnOp",
    "Row",
    "SaveOp",
    "SelectOp",
    "StreamShuffleOp",
    "StreamTransposeOp",
    "TensorCopyOp",
    "TensorLoadOp",
    "TensorReduceOp",
    "TensorScalarPtrOp",
    "TensorTensorOp",
    "enclosing_function",
]
