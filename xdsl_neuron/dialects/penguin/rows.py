"""Compute instructions that work on whole rows or blocks, by their names in penguin."""

from xdsl.irdl import irdl_op_definition

from xdsl_neuron.dialects.instructions import (
    exponential,
    index,
    mx,
    pool,
    random,
    scan,
    search,
    selection,
    sparse,
    statistics,
)


@irdl_op_definition
class TensorTensorScanOp(scan.TensorTensorScan):
    """`nisa.tensor_tensor_scan`."""

    name = "penguin.tensor_tensor_scan"


@irdl_op_definition
class TensorScalarCacheCumulativeOp(scan.TensorScalarCumulative):
    """`nisa.tensor_scalar_cumulative`."""

    name = "penguin.tensor_scalar_cache_cumulative"


@irdl_op_definition
class ScalarTensorTensorOp(scan.ScalarTensorTensor):
    """`nisa.scalar_tensor_tensor`."""

    name = "penguin.scalar_tensor_tensor"


@irdl_op_definition
class TensorScalarCacheReduceOp(scan.TensorScalarReduce):
    """`nisa.tensor_scalar_reduce`."""

    name = "penguin.tensor_scalar_cache_reduce"


@irdl_op_definition
class ActivationAccumulationOp(scan.ActivationReduce):
    """`nisa.activation_reduce`."""

    name = "penguin.activation_accumulation"


@irdl_op_definition
class PartitionReduceOp(pool.PartitionReduce):
    """`nisa.tensor_partition_reduce`."""

    name = "penguin.partition_reduce"


@irdl_op_definition
class PoolOp(pool.Pool):
    """A fold of windows."""

    name = "penguin.pool"


@irdl_op_definition
class SundaMax8Op(search.Max8):
    """`nisa.max8`."""

    name = "penguin.sunda_max8"


@irdl_op_definition
class SundaMaxIndex8Op(search.FindIndex8):
    """`nisa.nc_find_index8`."""

    name = "penguin.sunda_max_index8"


@irdl_op_definition
class SundaMatchReplace8Op(search.MatchReplace8):
    """`nisa.nc_match_replace8`."""

    name = "penguin.sunda_match_replace8"


@irdl_op_definition
class MaxIndexAndMatchReplaceOp(search.MatchReplaceIndices8):
    """`nisa.nc_match_replace8` with `dst_idx`."""

    name = "penguin.max_index_and_match_replace"


@irdl_op_definition
class SundaBNStatsOp(statistics.BNStats):
    """`nisa.bn_stats`."""

    name = "penguin.sunda_bn_stats"


@irdl_op_definition
class SundaBNAggrOp(statistics.BNStatsAggregate):
    """`nisa.bn_aggr`."""

    name = "penguin.sunda_bn_aggr"


@irdl_op_definition
class BNGradientsOp(statistics.BNGradients):
    """Sums for the gradients of batch normalisation."""

    name = "penguin.bn_gradients"


@irdl_op_definition
class BNBackpropOp(statistics.BNBackprop):
    """The gradient of batch normalisation."""

    name = "penguin.bn_backprop"


@irdl_op_definition
class AffSelTensorScalarOp(selection.AffineSelect):
    """`nisa.affine_select`."""

    name = "penguin.aff_sel_tensor_scalar"


@irdl_op_definition
class RangeSelectOp(selection.RangeSelect):
    """`nisa.range_select`."""

    name = "penguin.range_select"


@irdl_op_definition
class RangeSelectReduceOp(selection.RangeSelectReduce):
    """`nisa.range_select` with a reduction."""

    name = "penguin.range_select_reduce"


@irdl_op_definition
class SelectReduceOp(selection.SelectReduce):
    """`nisa.select_reduce`."""

    name = "penguin.select_reduce"


@irdl_op_definition
class ExponentialOp(exponential.Exponential):
    """`nisa.exponential`."""

    name = "penguin.exponential"


@irdl_op_definition
class ExponentialReduceOp(exponential.ExponentialReduce):
    """`nisa.exponential` with a reduction."""

    name = "penguin.exponential_reduce"


@irdl_op_definition
class Activate2Op(exponential.Activate2):
    """`nisa.activate2`."""

    name = "penguin.activate2"


@irdl_op_definition
class Activate2ReduceOp(exponential.Activate2Reduce):
    """`nisa.activate2` with a reduction."""

    name = "penguin.activate2_reduce"


@irdl_op_definition
class NonzeroWithCountOp(index.NonzeroWithCount):
    """`nisa.nonzero_with_count`."""

    name = "penguin.nonzero_with_count"


@irdl_op_definition
class GetSequenceBoundsOp(index.GetSequenceBounds):
    """`nisa.sequence_bounds`."""

    name = "penguin.get_sequence_bounds"


@irdl_op_definition
class RngOp(random.Rng):
    """`nisa.rng`."""

    name = "penguin.rng"


@irdl_op_definition
class Rand2Op(random.Rand2):
    """`nisa.rand2`."""

    name = "penguin.rand2"


@irdl_op_definition
class SetRngSeedOp(random.SetRandState):
    """`nisa.set_rng_seed`."""

    name = "penguin.set_rng_seed"


@irdl_op_definition
class RandSetStateOp(random.RandSetState):
    """`nisa.rand_set_state`."""

    name = "penguin.rand_set_state"


@irdl_op_definition
class RandGetStateOp(random.RandGetState):
    """`nisa.rand_get_state`."""

    name = "penguin.rand_get_state"


@irdl_op_definition
class DropoutMaskOp(random.Dropout):
    """`nisa.dropout`."""

    name = "penguin.dropout_mask"


@irdl_op_definition
class BNBackprop2Op(statistics.BNBackprop2):
    """The gradient of batch normalisation, its coefficients in two tensors."""

    name = "penguin.bn_backprop2"


@irdl_op_definition
class GetRandStateOp(random.GetRandState):
    """Stores a state, on every generation."""

    name = "penguin.get_rand_state"


@irdl_op_definition
class RandOp(random.Rand):
    """The bits of a published generator."""

    name = "penguin.rand"


@irdl_op_definition
class QuantizeMXOp(mx.QuantizeMx):
    """`nisa.quantize_mx`."""

    name = "penguin.quantize_mx"


@irdl_op_definition
class MatMulMXOp(mx.MatmulMx):
    """`nisa.nc_matmul_mx`."""

    name = "penguin.matmul_mx"


@irdl_op_definition
class MatMulSparseOp(sparse.MatmulSparse):
    """`nisa.nc_matmul_sparse`."""

    name = "penguin.matmul_sparse"
