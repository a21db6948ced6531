"""
The `neuron` dialect: types and attributes shared by `penguin`, `bir` and `dma`.

It has no operations. A module names its target with `neuron.target` and the version
of the format with `neuron.version`.
"""

from typing import Final

from xdsl.ir import Dialect

from xdsl_neuron.dialects.neuron.access import Access, Pair, whole
from xdsl_neuron.dialects.neuron.attributes import (
    AccessesAttr,
    AccumulateCommandAttr,
    ActivationFunctionAttr,
    AffineAttr,
    AluOpAttr,
    CopyModeAttr,
    DgeTypeAttr,
    DTypeAttr,
    EdgesAttr,
    EngineAttr,
    Expressions,
    ImmediateAttr,
    ImmediatesAttr,
    Iteration,
    IterationsAttr,
    LoopKindAttr,
    MatmulAccumulateAttr,
    MatmulPerfModeAttr,
    OobModeAttr,
    PredicatesAttr,
    QosClassAttr,
    RandomAlgorithmAttr,
    RandomDistributionAttr,
    SymbolsAttr,
    TargetAttr,
    TensorKindAttr,
    TextAttribute,
    TransposeOpAttr,
)
from xdsl_neuron.dialects.neuron.constant import (
    Blob,
    Contents,
    ContentsAttr,
    Identity,
    Splat,
)
from xdsl_neuron.dialects.neuron.system import SYSTEM_ATTRIBUTES
from xdsl_neuron.dialects.neuron.types import (
    PARTITIONS,
    TensorSpec,
    TensorType,
)

FORMAT_VERSION: Final = 1
"""Version of the textual format, the module attribute `neuron.version`."""

Neuron = Dialect(
    "neuron",
    [],
    [
        AccessesAttr,
        AccumulateCommandAttr,
        ActivationFunctionAttr,
        AffineAttr,
        AluOpAttr,
        ContentsAttr,
        CopyModeAttr,
        DTypeAttr,
        DgeTypeAttr,
        EdgesAttr,
        EngineAttr,
        ImmediateAttr,
        ImmediatesAttr,
        IterationsAttr,
        LoopKindAttr,
        MatmulAccumulateAttr,
        MatmulPerfModeAttr,
        OobModeAttr,
        PredicatesAttr,
        QosClassAttr,
        RandomAlgorithmAttr,
        RandomDistributionAttr,
        SymbolsAttr,
        TargetAttr,
        TensorKindAttr,
        TensorType,
        TransposeOpAttr,
        *SYSTEM_ATTRIBUTES,
    ],
)

__all__ = [
    "FORMAT_VERSION",
    "PARTITIONS",
    "Access",
    "AccessesAttr",
    "AccumulateCommandAttr",
    "ActivationFunctionAttr",
    "AffineAttr",
    "AluOpAttr",
    "Blob",
    "Contents",
    "ContentsAttr",
    "CopyModeAttr",
    "DTypeAttr",
    "DgeTypeAttr",
    "EdgesAttr",
    "EngineAttr",
    "Expressions",
    "Identity",
    "ImmediateAttr",
    "ImmediatesAttr",
    "Iteration",
    "IterationsAttr",
    "LoopKindAttr",
    "MatmulAccumulateAttr",
    "MatmulPerfModeAttr",
    "Neuron",
    "OobModeAttr",
    "Pair",
    "PredicatesAttr",
    "QosClassAttr",
    "RandomAlgorithmAttr",
    "RandomDistributionAttr",
    "Splat",
    "SymbolsAttr",
    "TargetAttr",
    "TensorKindAttr",
    "TensorSpec",
    "TensorType",
    "TextAttribute",
    "TransposeOpAttr",
    "whole",
]
