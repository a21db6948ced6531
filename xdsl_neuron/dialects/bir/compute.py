"""Instructions of the compute engines."""

from typing import ClassVar

from xdsl.irdl import (
    irdl_op_definition,
)

from xdsl_neuron.dialects.bir.base import BirInstruction
from xdsl_neuron.dialects.bir.row import Row
from xdsl_neuron.dialects.instructions import (
    elementwise,
    gather,
    indirect_matmul,
    matrix,
    reduction,
    sparse,
)


@irdl_op_definition
class TensorTensorOp(elementwise.TensorTensor, BirInstruction):
    """Two tensors, one ALU operation."""

    name = "bir.tensor_tensor"
    ROW: ClassVar = Row(31, "TensorTensor")


@irdl_op_definition
class TensorScalarPtrOp(elementwise.TensorScalar, BirInstruction):
    """A tensor and one or two scalars."""

    name = "bir.tensor_scalar_ptr"
    ROW: ClassVar = Row(29, "TensorScalarPtr")


@irdl_op_definition
class TensorScalarOp(elementwise.TensorScalarConst, BirInstruction):
    """A tensor and constants of the instruction."""

    name = "bir.tensor_scalar"
    ROW: ClassVar = Row(28, "TensorScalar")


@irdl_op_definition
class ActivationOp(elementwise.Activation, BirInstruction):
    """A function of the scalar engine."""

    name = "bir.activation"
    ROW: ClassVar = Row(4, "Activation")


@irdl_op_definition
class ReciprocalOp(elementwise.Reciprocal, BirInstruction):
    """One over each element."""

    name = "bir.reciprocal"
    ROW: ClassVar = Row(21, "Reciprocal")


@irdl_op_definition
class TensorCopyOp(elementwise.TensorCopy, BirInstruction):
    """A copy on chip."""

    name = "bir.tensor_copy"
    ROW: ClassVar = Row(23, "TensorCopy")


@irdl_op_definition
class MemsetOp(elementwise.Memset, BirInstruction):
    """A constant fill."""

    name = "bir.memset"
    ROW: ClassVar = Row(10, "Memset")


@irdl_op_definition
class IotaOp(elementwise.Iota, BirInstruction):
    """Affine index values."""

    name = "bir.iota"
    ROW: ClassVar = Row(61, "Iota")


@irdl_op_definition
class CopyPredicatedOp(elementwise.TensorCopyPredicated, BirInstruction):
    """A copy where a predicate holds."""

    name = "bir.copy_predicated"
    ROW: ClassVar = Row(52, "CopyPredicated")


@irdl_op_definition
class SelectOp(elementwise.Select, BirInstruction):
    """A choice between two operands."""

    name = "bir.select"
    ROW: ClassVar = Row(51, "Select")


@irdl_op_definition
class MatmultOp(indirect_matmul.IndirectMatmul, BirInstruction):
    """A matrix product into PSUM."""

    name = "bir.matmult"
    ROW: ClassVar = Row(8, "Matmult")


@irdl_op_definition
class MatmultSparseOp(sparse.MatmulSparse, BirInstruction):
    """A matrix product with tagged weights."""

    name = "bir.matmult_sparse"
    ROW: ClassVar = Row(9, "MatmultSparse", 30)


@irdl_op_definition
class StreamTransposeOp(matrix.Transpose, BirInstruction):
    """A transpose on the vector engine."""

    name = "bir.stream_transpose"
    ROW: ClassVar = Row(40, "StreamTranspose")


@irdl_op_definition
class TensorReduceOp(reduction.TensorReduce, BirInstruction):
    """A fold along free dimensions."""

    name = "bir.tensor_reduce"
    ROW: ClassVar = Row(27, "TensorReduce")


@irdl_op_definition
class StreamShuffleOp(gather.StreamShuffle, BirInstruction):
    """A permutation of partitions in blocks of 32."""

    name = "bir.stream_shuffle"
    ROW: ClassVar = Row(39, "StreamShuffle")


@irdl_op_definition
class IndirectCopyOp(gather.IndirectCopy, BirInstruction):
    """A gather in each GpSIMD core's partitions."""

    name = "bir.indirect_copy"
    ROW: ClassVar = Row(26, "IndirectCopy")


@irdl_op_definition
class GatherOp(gather.Gather, BirInstruction):
    """A gather along each partition."""

    name = "bir.gather"
    ROW: ClassVar = Row(92, "Gather")
