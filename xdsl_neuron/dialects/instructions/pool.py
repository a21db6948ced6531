"""Reductions over partitions, and over windows."""

from math import prod
from typing import ClassVar

from xdsl.irdl import operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instructions.elementwise import check_integers
from xdsl_neuron.dialects.instructions.masks import PartitionMasked, Unmasked
from xdsl_neuron.dialects.neuron import AluOpAttr, TensorType
from xdsl_neuron.isa import AluOp, Engine

PARTITION_REDUCE_OPS = (
    AluOp.ADD,
    AluOp.AVERAGE,
    AluOp.MAX,
    AluOp.BITWISE_AND,
    AluOp.BITWISE_OR,
)
"""`average` is of NKI 0.5 and later (nki.isa.tensor_partition_reduce)."""
POOL_OPS = (AluOp.MAX, AluOp.AVERAGE)


class PartitionReduce(Unmasked):
    """`dst[0, f] = op over p of src[p, f]`, on GpSIMD."""

    ENGINES: ClassVar = (Engine.POOL,)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)
    HEADER: ClassVar = ("op",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    op = prop_def(AluOpAttr)

    @gate("par_reduce does not support operator=...", "penguin.md 5")
    def partition_reduce_op(self) -> None:
        """The operations GpSIMD folds partitions with."""
        op = self.op.data
        if op not in PARTITION_REDUCE_OPS:
            allowed = ", ".join(item.value for item in PARTITION_REDUCE_OPS)
            raise VerifyException(
                f"par_reduce does not support operator={op}, expected one of {allowed}"
            )

    @gate("... expected one of the following dtypes: ...", "penguin.md 5")
    def partition_reduce_dtypes(self) -> None:
        """Bitwise operations fold integers."""
        if self.op.data.is_bitvec:
            check_integers(self, "dst", "src")

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def one_partition(self) -> None:
        """The output is one partition of the source's elements."""
        data = self.data()
        src, dst = data["src"], data["dst"]
        if (dst.partitions, dst.free_count) != (1, src.free_count):
            raise VerifyException(
                f"tile shape mismatch, expected '[1, {src.free_count}]' for 'dst', "
                f"got {list(dst.shape)}"
            )


class Pool(PartitionMasked):
    """Folds the two innermost dimensions of `src` into `dst` by max or average."""

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)
    HEADER: ClassVar = ("op",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    op = prop_def(AluOpAttr)

    @gate("Unrecognized PoolFunctionType", "bir.md 6.7")
    def pool_function(self) -> None:
        """There are two functions."""
        if self.op.data not in POOL_OPS:
            raise VerifyException(
                f"Unrecognized PoolFunctionType {self.op.data}, expected max or average"
            )

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def pooled_shape(self) -> None:
        """The output has the source's dimensions without the window's two."""
        data = self.data()
        src, dst = data["src"], data["dst"]
        if len(src.shape) < 3:
            raise VerifyException(
                "Input AP dimension should be larger than num_dims, which is 2; the "
                f"source has free dimensions {list(src.shape[1:])}"
            )
        kept = prod(src.shape[1:-2])
        if (dst.partitions, dst.free_count) != (src.partitions, kept):
            raise VerifyException(
                f"tile shape mismatch, expected '[{src.partitions}, {kept}]' for "
                f"'dst', got {list(dst.shape)}"
            )
