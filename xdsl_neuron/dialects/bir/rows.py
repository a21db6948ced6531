"""Compute instructions that work on whole rows or blocks, by their roster rows."""

from typing import ClassVar

from xdsl.irdl import irdl_op_definition

from xdsl_neuron.dialects.bir.base import BirInstruction
from xdsl_neuron.dialects.bir.row import Row
from xdsl_neuron.dialects.instructions import (
    exponential,
    index,
    mx,
    pool,
    random,
    scan,
    search,
    selection,
    statistics,
)


@irdl_op_definition
class TensorTensorScanOp(scan.TensorTensorScan, BirInstruction):
    """A TensorScalarPtr with `is_tensor_tensor_scan`."""

    name = "bir.tensor_tensor_scan"
    ROW: ClassVar = Row(29, "TensorScalarPtr")


@irdl_op_definition
class TensorScalarCacheCumulativeOp(scan.TensorScalarCumulative, BirInstruction):
    """A TensorScalarCache in mode Cumulative."""

    name = "bir.tensor_scalar_cache_cumulative"
    ROW: ClassVar = Row(30, "TensorScalarCache")


@irdl_op_definition
class ScalarTensorTensorOp(scan.ScalarTensorTensor, BirInstruction):
    """A TensorScalarPtr with `is_scalar_tensor_tensor`."""

    name = "bir.scalar_tensor_tensor"
    ROW: ClassVar = Row(29, "TensorScalarPtr")


@irdl_op_definition
class TensorScalarCacheReduceOp(scan.TensorScalarReduce, BirInstruction):
    """A TensorScalarPtr with `acc` and, to read it, a second output."""

    name = "bir.tensor_scalar_cache_reduce"
    ROW: ClassVar = Row(29, "TensorScalarPtr")


@irdl_op_definition
class ActivationAccumulationOp(scan.ActivationReduce, BirInstruction):
    """An Activation with `acc` and, to read it, a second output."""

    name = "bir.activation_accumulation"
    ROW: ClassVar = Row(4, "Activation")


@irdl_op_definition
class PartitionReduceOp(pool.PartitionReduce, BirInstruction):
    """A TensorReduce along axis C."""

    name = "bir.partition_reduce"
    ROW: ClassVar = Row(27, "TensorReduce")


@irdl_op_definition
class PoolOp(pool.Pool, BirInstruction):
    """A fold of windows."""

    name = "bir.pool"
    ROW: ClassVar = Row(20, "Pool")


@irdl_op_definition
class MaxOp(search.Max8, BirInstruction):
    """The 8 largest."""

    name = "bir.max"
    ROW: ClassVar = Row(88, "Max")


@irdl_op_definition
class MaxIndexOp(search.FindIndex8, BirInstruction):
    """Places of 8 values."""

    name = "bir.max_index"
    ROW: ClassVar = Row(89, "MaxIndex")


@irdl_op_definition
class MatchReplaceOp(search.MatchReplace8, BirInstruction):
    """Replaces 8 values."""

    name = "bir.match_replace"
    ROW: ClassVar = Row(90, "MatchReplace")


@irdl_op_definition
class MaxIndexAndMatchReplaceOp(search.MatchReplaceIndices8, BirInstruction):
    """Replaces 8 values and tells their places."""

    name = "bir.max_index_and_match_replace"
    ROW: ClassVar = Row(91, "MaxIndexAndMatchReplace", 30)


@irdl_op_definition
class BNStatsOp(statistics.BNStats, BirInstruction):
    """Statistics of each partition."""

    name = "bir.bn_stats"
    ROW: ClassVar = Row(34, "BNStats")


@irdl_op_definition
class BNStatsAggregateOp(statistics.BNStatsAggregate, BirInstruction):
    """Merged statistics."""

    name = "bir.bn_stats_aggregate"
    ROW: ClassVar = Row(35, "BNStatsAggregate")


@irdl_op_definition
class BNGradientsOp(statistics.BNGradients, BirInstruction):
    """Sums for the gradients of batch normalisation."""

    name = "bir.bn_gradients"
    ROW: ClassVar = Row(36, "BNGradients")


@irdl_op_definition
class BNBackpropOp(statistics.BNBackprop, BirInstruction):
    """The gradient of batch normalisation."""

    name = "bir.bn_backprop"
    ROW: ClassVar = Row(37, "BNBackprop")


@irdl_op_definition
class TensorScalarAffineSelectOp(selection.AffineSelect, BirInstruction):
    """A choice by the sign of an affine value."""

    name = "bir.tensor_scalar_affine_select"
    ROW: ClassVar = Row(62, "TensorScalarAffineSelect")


@irdl_op_definition
class RangeSelectOp(selection.RangeSelect, BirInstruction):
    """A range of columns."""

    name = "bir.range_select"
    ROW: ClassVar = Row(63, "RangeSelect", 30)


@irdl_op_definition
class RangeSelectReduceOp(selection.RangeSelectReduce, BirInstruction):
    """A range of columns, and the maxima."""

    name = "bir.range_select_reduce"
    ROW: ClassVar = Row(63, "RangeSelect", 30)


@irdl_op_definition
class SelectReduceOp(selection.SelectReduce, BirInstruction):
    """A CopyPredicated with an accumulator."""

    name = "bir.select_reduce"
    ROW: ClassVar = Row(52, "CopyPredicated")


@irdl_op_definition
class ExponentialOp(exponential.Exponential, BirInstruction):
    """The exponential of a difference."""

    name = "bir.exponential"
    ROW: ClassVar = Row(103, "Exponential", 40)


@irdl_op_definition
class ExponentialReduceOp(exponential.ExponentialReduce, BirInstruction):
    """The exponential of a difference, and its sums."""

    name = "bir.exponential_reduce"
    ROW: ClassVar = Row(103, "Exponential", 40)


@irdl_op_definition
class Activate2Op(exponential.Activate2, BirInstruction):
    """An Activation with `is_activate2`."""

    name = "bir.activate2"
    ROW: ClassVar = Row(4, "Activation", 40)


@irdl_op_definition
class Activate2ReduceOp(exponential.Activate2Reduce, BirInstruction):
    """An Activation with `is_activate2` and a command to the accumulator."""

    name = "bir.activate2_reduce"
    ROW: ClassVar = Row(4, "Activation", 40)


@irdl_op_definition
class NonzeroWithCountOp(index.NonzeroWithCount, BirInstruction):
    """Indices of non-zero elements."""

    name = "bir.nonzero_with_count"
    ROW: ClassVar = Row(104, "NonzeroWithCount", 30)


@irdl_op_definition
class GetSequenceBoundsOp(index.GetSequenceBounds, BirInstruction):
    """Bounds of segments."""

    name = "bir.get_sequence_bounds"
    ROW: ClassVar = Row(64, "GetSequenceBounds", 30)


@irdl_op_definition
class RngOp(random.Rng, BirInstruction):
    """Random bits: a Memset in mode Random."""

    name = "bir.rng"
    ROW: ClassVar = Row(100, "Rng")


@irdl_op_definition
class Rand2Op(random.Rand2, BirInstruction):
    """Uniform numbers."""

    name = "bir.rand2"
    ROW: ClassVar = Row(97, "Rand2", 40)


@irdl_op_definition
class SetRandStateOp(random.SetRandState, BirInstruction):
    """A state from a seed."""

    name = "bir.set_rand_state"
    ROW: ClassVar = Row(59, "SetRandState")


@irdl_op_definition
class RandSetStateOp(random.RandSetState, BirInstruction):
    """Loads a state."""

    name = "bir.rand_set_state"
    ROW: ClassVar = Row(98, "RandSetState", 30)


@irdl_op_definition
class RandGetStateOp(random.RandGetState, BirInstruction):
    """Stores a state."""

    name = "bir.rand_get_state"
    ROW: ClassVar = Row(99, "RandGetState", 30)


@irdl_op_definition
class DropoutOp(random.Dropout, BirInstruction):
    """Random zeros."""

    name = "bir.dropout"
    ROW: ClassVar = Row(65, "Dropout")


@irdl_op_definition
class BNBackprop2Op(statistics.BNBackprop2, BirInstruction):
    """The gradient of batch normalisation, its coefficients in two tensors."""

    name = "bir.bn_backprop2"
    ROW: ClassVar = Row(38, "BNBackprop2")


@irdl_op_definition
class GetRandStateOp(random.GetRandState, BirInstruction):
    """Stores a state, on every generation."""

    name = "bir.get_rand_state"
    ROW: ClassVar = Row(58, "GetRandState")


@irdl_op_definition
class RandOp(random.Rand, BirInstruction):
    """The bits of a published generator."""

    name = "bir.rand"
    ROW: ClassVar = Row(60, "Rand")


@irdl_op_definition
class QuantizeMxOp(mx.QuantizeMx, BirInstruction):
    """Packed data and its scales."""

    name = "bir.quantize_mx"
    ROW: ClassVar = Row(96, "QuantizeMx", 40)


@irdl_op_definition
class MatmultMxOp(mx.MatmulMx, BirInstruction):
    """A matrix product of packed data."""

    name = "bir.matmult_mx"
    ROW: ClassVar = Row(95, "MatmultMx", 40)
