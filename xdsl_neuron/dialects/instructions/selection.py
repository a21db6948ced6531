"""Selections by an affine value, by a range of columns, or with a row reduction."""

from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instructions.accumulators import (
    Accumulating,
    AccumulatorUser,
)
from xdsl_neuron.dialects.instructions.checks import (
    FLOATS,
    check_dtype,
    check_given_once,
    check_int32_numbers,
    check_level,
    check_not_both_psum,
    check_op,
    check_result,
    check_row,
    check_sbuf,
)
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.instructions.masks import BoxMasked, PartitionMasked
from xdsl_neuron.dialects.neuron import (
    AffineAttr,
    AluOpAttr,
    ImmediateAttr,
    TensorType,
)
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp, Engine

COMPARES = (
    AluOp.IS_EQUAL,
    AluOp.NOT_EQUAL,
    AluOp.IS_GT,
    AluOp.IS_GE,
    AluOp.IS_LT,
    AluOp.IS_LE,
)
RANGE_COMPARES = tuple(op for op in COMPARES if op is not AluOp.NOT_EQUAL)
SELECT_PREDICATES = (DType.UINT8, DType.INT8, DType.UINT16, DType.INT16)
"""Types of a `select_reduce` predicate (nki.isa.select_reduce of NKI 0.1 to 0.7)."""
RANGE_START_LIMIT = 1 << 24
"""The column's index is fp32, exact below this (nki.md 1.1 range_select)."""


class AffineSelect(ComputeInstruction):
    """`dst[lane] = src[lane]` where `value(lane) compare 0` holds, else `fill`."""

    ENGINES: ClassVar = (Engine.POOL, Engine.DVE)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)
    HEADER: ClassVar = ("compare",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    compare = prop_def(AluOpAttr)
    value = prop_def(AffineAttr)
    fill = prop_def(ImmediateAttr)

    def expressions(self) -> tuple[Affine, ...]:
        """Also the value."""
        return (*super().expressions(), self.value.data)

    @gate("SBUF only", "nki.md 1.1 affine_select")
    def select_in_sbuf(self) -> None:
        """GpSIMD reads and writes SBUF."""
        check_sbuf(self)

    @gate("int32 offset and steps", "nki.isa.affine_select of NKI 0.2 to 0.7")
    def int32_numbers(self) -> None:
        """GpSIMD counts in int32."""
        check_int32_numbers(self.name, self.value.data)

    @gate("compare_op (integer comparators)", "bir.md 6.4")
    def compare_op(self) -> None:
        """The value, an int32, is compared with 0."""
        check_op(self, self.compare.data, COMPARES)

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """The input has the output's elements."""
        self.check_elementwise("src")


class RangeSelect(PartitionMasked, AccumulatorUser):
    """
    `dst = src` where column `range_start + i` is in range, else the smallest fp32.

    In range: `column compare0 bound0` and `column compare1 bound1`; i counts the free
    elements. The vector engine's accumulators are undefined afterwards.
    """

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src", "bound0", "bound1")
    HEADER: ClassVar = ("compare0", "compare1")

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    bound0 = operand_def(TensorType)
    bound1 = operand_def(TensorType)
    compare0 = prop_def(AluOpAttr)
    compare1 = prop_def(AluOpAttr)
    range_start = opt_prop_def(ImmediateAttr)

    @gate("... is available on ...", "bir.md 7.3 RangeSelect", stage=Stage.ARCH)
    def range_select_arch(self) -> None:
        """From gen3."""
        check_level(self, 30)

    @gate("compare ops equal/less/less_equal/greater/greater_equal", "penguin.md 7")
    def compare_ops(self) -> None:
        """Both compare the column with a bound."""
        check_op(self, self.compare0.data, RANGE_COMPARES)
        check_op(self, self.compare1.data, RANGE_COMPARES)

    @gate("bounds fp32 [P,1]", "nki.md 1.1 range_select")
    def bounds_per_partition(self) -> None:
        """One fp32 bound per partition."""
        check_row(self, "bound0", "bound1")

    @gate("on_true floating point", "nki.md 1.1 range_select")
    def float_source(self) -> None:
        """The smallest fp32 stands for -inf."""
        src = self.data()["src"]
        if not src.dtype.is_float:
            raise VerifyException(
                f"'src' of '{self.name}' must be floating point, got "
                f"{src.dtype.nki_name}"
            )

    @gate("index < 2^24", "nki.md 1.1 range_select")
    def exact_columns(self) -> None:
        """Columns are exact in fp32."""
        start = 0 if self.range_start is None else self.range_start.value
        last = start + self.data()["src"].free_count - 1
        if start < 0 or last >= RANGE_START_LIMIT:
            raise VerifyException(
                f"columns {start} to {last} must be between 0 and "
                f"{RANGE_START_LIMIT - 1}"
            )

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """The input has the output's elements."""
        self.check_elementwise("src")


class RangeSelectReduce(Accumulating, RangeSelect):
    """A range select, the largest of its rows folded into the accumulators."""

    COMMANDS: ClassVar = ("reset", "reduce", "reset_reduce")
    OUTS: ClassVar = ("dst", "reduce_res")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    dst = operand_def(TensorType)
    reduce_res = opt_operand_def(TensorType)
    src = operand_def(TensorType)
    bound0 = operand_def(TensorType)
    bound1 = operand_def(TensorType)
    reduce_op = prop_def(AluOpAttr, default_value=AluOpAttr(AluOp.MAX))

    @gate("max only", "nki.md 1.1 range_select")
    def reduce_ops(self) -> None:
        """Maxima, one per partition, of a floating-point type."""
        check_op(self, self.reduce_op.data, (AluOp.MAX,))
        check_result(self, "reduce_res", FLOATS)


class SelectReduce(Accumulating, BoxMasked):
    """
    `dst = on_true` where `predicate` is not 0 (is 0 with `reverse`), else `on_false`.

    The largest of each row is folded into the accumulators.
    """

    COMMANDS: ClassVar = ("idle", "reduce", "reset_reduce")
    OUTS: ClassVar = ("dst", "reduce_res")
    INS: ClassVar = ("predicate", "on_true", "on_false")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    dst = operand_def(TensorType)
    reduce_res = opt_operand_def(TensorType)
    predicate = operand_def(TensorType)
    on_true = operand_def(TensorType)
    on_false = opt_operand_def(TensorType)
    on_false_imm = opt_prop_def(ImmediateAttr)
    reduce_op = prop_def(AluOpAttr, default_value=AluOpAttr(AluOp.MAX))
    reverse = opt_prop_def(UnitAttr)

    @gate("`predicate` must be a boolean or integer tile", "penguin.md 7")
    def integer_predicate(self) -> None:
        """The predicate is read as an integer."""
        predicate = self.data()["predicate"]
        if not predicate.dtype.is_integer:
            raise VerifyException(
                "`predicate` must be a boolean or integer tile, got "
                f"{predicate.dtype.nki_name}"
            )
        check_dtype(self, "predicate", SELECT_PREDICATES)

    @gate("on_true not tf32/int32/uint32", "penguin.md 7 select_reduce")
    def on_true_dtype(self) -> None:
        """The values pass fp32."""
        on_true = self.data()["on_true"]
        if on_true.dtype in (DType.TFLOAT32, DType.INT32, DType.UINT32):
            raise VerifyException(
                f"Unsupported dtype '{on_true.dtype.nki_name}' of 'on_true' in "
                f"'{self.name}', which computes in float32"
            )

    @gate(
        "on_false's free dimension should be 1 (a vector), got ...",
        "penguin.md 7 select_reduce",
    )
    def on_false_vector(self) -> None:
        """One fp32 value, or one per partition."""
        check_given_once(self, "on_false", self.on_false_imm)
        on_false = self.data().get("on_false")
        if on_false is not None and on_false.free_count != 1:
            raise VerifyException(
                "on_false's free dimension should be 1 (a vector), got "
                f"{list(on_false.shape)}"
            )
        check_row(self, "on_false")

    @gate("on_true/predicate not both PSUM", "nki.md 1.1 select_reduce")
    def one_psum_input(self) -> None:
        """One PSUM read port serves the vector engine."""
        check_not_both_psum(self, "on_true", "predicate")

    @gate("max only", "nki.md 1.1 select_reduce")
    def reduce_ops(self) -> None:
        """Maxima, one per partition, of a floating-point type."""
        check_op(self, self.reduce_op.data, (AluOp.MAX,))
        check_result(self, "reduce_res", FLOATS)

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """Predicate and values have the output's elements."""
        self.check_elementwise("predicate", "on_true")
