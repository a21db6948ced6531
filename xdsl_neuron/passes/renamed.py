"""Rows of `convert-penguin-to-bir`: instructions that only change their name."""

from typing import Final

from xdsl_neuron.dialects import bir, penguin
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction

RENAMED: Final[dict[type[ComputeInstruction], type[Instruction]]] = {
    penguin.TensorTensorScanOp: bir.TensorTensorScanOp,
    penguin.TensorScalarCacheCumulativeOp: bir.TensorScalarCacheCumulativeOp,
    penguin.ScalarTensorTensorOp: bir.ScalarTensorTensorOp,
    penguin.TensorScalarCacheReduceOp: bir.TensorScalarCacheReduceOp,
    penguin.ActivationAccumulationOp: bir.ActivationAccumulationOp,
    penguin.PartitionReduceOp: bir.PartitionReduceOp,
    penguin.PoolOp: bir.PoolOp,
    penguin.SundaMax8Op: bir.MaxOp,
    penguin.SundaMaxIndex8Op: bir.MaxIndexOp,
    penguin.SundaMatchReplace8Op: bir.MatchReplaceOp,
    penguin.MaxIndexAndMatchReplaceOp: bir.MaxIndexAndMatchReplaceOp,
    penguin.SundaBNStatsOp: bir.BNStatsOp,
    penguin.SundaBNAggrOp: bir.BNStatsAggregateOp,
    penguin.BNGradientsOp: bir.BNGradientsOp,
    penguin.BNBackpropOp: bir.BNBackpropOp,
    penguin.BNBackprop2Op: bir.BNBackprop2Op,
    penguin.AffSelTensorScalarOp: bir.TensorScalarAffineSelectOp,
    penguin.RangeSelectOp: bir.RangeSelectOp,
    penguin.RangeSelectReduceOp: bir.RangeSelectReduceOp,
    penguin.SelectReduceOp: bir.SelectReduceOp,
    penguin.ExponentialOp: bir.ExponentialOp,
    penguin.ExponentialReduceOp: bir.ExponentialReduceOp,
    penguin.Activate2Op: bir.Activate2Op,
    penguin.Activate2ReduceOp: bir.Activate2ReduceOp,
    penguin.NonzeroWithCountOp: bir.NonzeroWithCountOp,
    penguin.GetSequenceBoundsOp: bir.GetSequenceBoundsOp,
    penguin.RngOp: bir.RngOp,
    penguin.Rand2Op: bir.Rand2Op,
    penguin.SetRngSeedOp: bir.SetRandStateOp,
    penguin.RandSetStateOp: bir.RandSetStateOp,
    penguin.RandGetStateOp: bir.RandGetStateOp,
    penguin.GetRandStateOp: bir.GetRandStateOp,
    penguin.RandOp: bir.RandOp,
    penguin.DropoutMaskOp: bir.DropoutOp,
    penguin.QuantizeMXOp: bir.QuantizeMxOp,
    penguin.MatMulMXOp: bir.MatmultMxOp,
    penguin.MatMulSparseOp: bir.MatmultSparseOp,
}
"""The bir class of each penguin class."""
