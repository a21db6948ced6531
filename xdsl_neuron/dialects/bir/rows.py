"""Compute instructions that work on whole rows or blocks, by their roster rows."""

from typing import ClassVar

from xdsl.irdl import irdl_op_definition

from xdsl_neuron.dialects.bir.base import BirInstruction, Row
from xdsl_neuron.dialects.instructions import (
    pool,
    scan,
    search,
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
    """A TensorScalarPtr with `acc = ZeroAccumulate` and a second output."""

    name = "bir.tensor_scalar_cache_reduce"
    ROW: ClassVar = Row(29, "TensorScalarPtr")


@irdl_op_definition
class ActivationAccumulationOp(scan.ActivationReduce, BirInstruction):
    """An Activation with `acc = ZeroAccumulate` and a second output."""

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
