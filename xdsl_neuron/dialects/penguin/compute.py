"""Instructions on elements, of the matrix engine and across partitions."""

from xdsl.irdl import irdl_op_definition

from xdsl_neuron.dialects.instructions import (
    elementwise,
    gather,
    indirect_matmul,
    matrix,
    reduction,
)


@irdl_op_definition
class StreamShuffleOp(gather.StreamShuffle):
    """`nisa.nc_stream_shuffle`."""

    name = "penguin.stream_shuffle"


@irdl_op_definition
class IndirectCopyOp(gather.IndirectCopy):
    """`nisa.local_gather`."""

    name = "penguin.indirect_copy"


@irdl_op_definition
class PoolGatherOp(gather.Gather):
    """`nl.gather_flattened`."""

    name = "penguin.pool_gather"


@irdl_op_definition
class TensorTensorOp(elementwise.TensorTensor):
    """`nisa.tensor_tensor`."""

    name = "penguin.tensor_tensor"


@irdl_op_definition
class TensorScalarPtrOp(elementwise.TensorScalar):
    """`nisa.tensor_scalar`."""

    name = "penguin.tensor_scalar_ptr"


@irdl_op_definition
class TensorScalarOp(elementwise.TensorScalarConst):
    """A tensor and constants of the instruction."""

    name = "penguin.tensor_scalar"


@irdl_op_definition
class ActivationOp(elementwise.Activation):
    """`nisa.activation`."""

    name = "penguin.activation"


@irdl_op_definition
class ReciprocalOp(elementwise.Reciprocal):
    """`nisa.reciprocal`."""

    name = "penguin.reciprocal"


@irdl_op_definition
class TensorCopyOp(elementwise.TensorCopy):
    """`nisa.tensor_copy`."""

    name = "penguin.tensor_copy"


@irdl_op_definition
class MemsetOp(elementwise.Memset):
    """`nisa.memset`."""

    name = "penguin.memset"


@irdl_op_definition
class IndexValueOp(elementwise.Iota):
    """`nisa.iota`."""

    name = "penguin.index_value"


@irdl_op_definition
class TensorCopyPredicatedOp(elementwise.TensorCopyPredicated):
    """`nisa.tensor_copy_predicated`."""

    name = "penguin.tensor_copy_predicated"


@irdl_op_definition
class TensorSelectOp(elementwise.Select):
    """`nl.where`."""

    name = "penguin.tensor_select"


@irdl_op_definition
class MatMulOp(indirect_matmul.IndirectMatmul):
    """`nisa.nc_matmul`."""

    name = "penguin.matmul"


@irdl_op_definition
class TransposeOp(matrix.Transpose):
    """`nisa.nc_transpose`."""

    name = "penguin.transpose"


@irdl_op_definition
class TensorReduceOp(reduction.TensorReduce):
    """`nisa.tensor_reduce`."""

    name = "penguin.tensor_reduce"
