"""Scans along the free dimensions, and elementwise operations with a row reduction."""

from typing import ClassVar, Final

from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instruction import target_of
from xdsl_neuron.dialects.instructions.accumulators import Loading, ReadBehind
from xdsl_neuron.dialects.instructions.checks import (
    check_arithmetic,
    check_given_once,
    check_not_both_psum,
    check_op,
    check_rank,
    check_result,
    check_row,
)
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.instructions.elementwise import Activation
from xdsl_neuron.dialects.instructions.masks import BoxMasked
from xdsl_neuron.dialects.instructions.tensor_indirect import TensorIndirect
from xdsl_neuron.dialects.neuron import (
    ActivationFunctionAttr,
    AluOpAttr,
    ImmediateAttr,
    TensorType,
)
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp, Engine

ROW_REDUCE_OPS = (AluOp.ADD, AluOp.SUBTRACT, AluOp.MULT, AluOp.MAX, AluOp.MIN)
"""What an accumulator register folds with (penguin.md 7 tensor_scalar_reduce)."""


class TensorTensorScan(BoxMasked):
    """
    `r = (data0[i] op0 r) op1 data1[i]`, written to `dst[i]` at every i, fp32 inside.

    i runs along the free dimensions; r starts as `initial`. A reverse flag swaps the
    sides of its operation.
    """

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("data0", "data1", "initial")
    HEADER: ClassVar = ("op0", "op1")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    dst = operand_def(TensorType)
    data0 = operand_def(TensorType)
    data1 = operand_def(TensorType)
    initial = opt_operand_def(TensorType)
    op0 = prop_def(AluOpAttr)
    op1 = prop_def(AluOpAttr)
    initial_imm = opt_prop_def(ImmediateAttr)
    reverse0 = opt_prop_def(UnitAttr)
    reverse1 = opt_prop_def(UnitAttr)

    @gate("arithmetic only", "nki.md 1.1 tensor_tensor_scan")
    def arithmetic(self) -> None:
        """The state is fp32."""
        check_arithmetic(self, self.op0.data, self.op1.data)

    @gate("initial imm or [P,1]", "nki.md 1.1 tensor_tensor_scan")
    def initial_given(self) -> None:
        """The state before the first element."""
        check_given_once(self, "initial", self.initial_imm)
        self.check_per_partition_scalar("initial")

    @gate("both inputs cannot be PSUM", "nki.md 1.1 tensor_tensor_scan")
    def one_psum_input(self) -> None:
        """One PSUM read port serves the vector engine."""
        check_not_both_psum(self, "data0", "data1")

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """Both inputs have the output's elements."""
        self.check_elementwise("data0", "data1")


class TensorScalarCumulative(Loading, BoxMasked, TensorIndirect):
    """
    `r = (src[i] op0 scalar0) op1 r`, written to `dst[i]` at every i, fp32 inside.

    r is the engine's accumulator. `command` says what it starts as: op1's identity
    (ZeroAccumulate), what it is (AddAccumulate), or `initial` (LoadAccumulate).
    `accumulator` receives its last value.
    """

    COMMANDS: ClassVar = ("reset_reduce", "reduce", "load_reduce")

    OUTS: ClassVar = ("dst", "accumulator")
    INS: ClassVar = ("src", "scalar0", "initial", "dst_index", "src_index")
    HEADER: ClassVar = ("op0", "op1")

    dst = operand_def(TensorType)
    accumulator = opt_operand_def(TensorType)
    src = operand_def(TensorType)
    scalar0 = opt_operand_def(TensorType)
    initial = opt_operand_def(TensorType)
    dst_index = opt_operand_def(TensorType)
    src_index = opt_operand_def(TensorType)
    src_num_indices = opt_prop_def(IntegerAttr)
    op0 = prop_def(AluOpAttr)
    op1 = prop_def(AluOpAttr)
    imm0 = opt_prop_def(ImmediateAttr)
    reverse0 = opt_prop_def(UnitAttr)

    @gate("op1 in add/sub/mult/max/min", "nki.md 1.1 tensor_scalar_cumulative")
    def cumulative_ops(self) -> None:
        """The operations with an identity; op0 is arithmetic."""
        check_op(self, self.op1.data, ROW_REDUCE_OPS)
        check_arithmetic(self, self.op0.data)

    @gate("operand0 imm or [P,1]", "nki.md 1.1 tensor_scalar_cumulative")
    def scalar_given(self) -> None:
        """One scalar."""
        check_given_once(self, "scalar0", self.imm0)
        check_row(self, "scalar0")

    @gate("... expected one of the following dtypes: ...", "penguin.md 5")
    def row_dtypes(self) -> None:
        """The state is fp32."""
        check_row(self, "accumulator")

    @gate("no 32-bit ints", "nki.md 1.1 tensor_scalar_cumulative")
    def narrow_integers(self) -> None:
        """fp32 holds no 32-bit integer."""
        data = self.data()
        for name in ("src", "dst"):
            if data[name].dtype in (DType.INT32, DType.UINT32):
                raise VerifyException(
                    f"Unsupported dtype '{data[name].dtype.nki_name}' of '{name}' in "
                    f"'{self.name}', which computes in float32; use 16-bit integers "
                    "or a floating-point type"
                )

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """The input has the output's elements."""
        self.check_elementwise("src")


class ScalarTensorTensor(ComputeInstruction):
    """`dst = (src op0 scalar0) op1 other`, element by element, fp32 inside."""

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src", "other", "scalar0")
    HEADER: ClassVar = ("op0", "op1")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    other = operand_def(TensorType)
    scalar0 = opt_operand_def(TensorType)
    op0 = prop_def(AluOpAttr)
    op1 = prop_def(AluOpAttr)
    imm0 = opt_prop_def(ImmediateAttr)
    reverse0 = opt_prop_def(UnitAttr)
    reverse1 = opt_prop_def(UnitAttr)

    @gate("arithmetic only", "nki.md 1.1 scalar_tensor_tensor")
    def arithmetic(self) -> None:
        """Both stages compute in fp32."""
        check_arithmetic(self, self.op0.data, self.op1.data)

    @gate("operand0 imm or [P,1]", "nki.md 1.1 scalar_tensor_tensor")
    def scalar_given(self) -> None:
        """One scalar."""
        check_given_once(self, "scalar0", self.imm0)
        self.check_per_partition_scalar("scalar0")

    @gate("both inputs cannot be PSUM", "nki.md 1.1 scalar_tensor_tensor")
    def one_psum_input(self) -> None:
        """One PSUM read port serves the vector engine."""
        check_not_both_psum(self, "src", "other")

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """Both inputs have the output's elements."""
        self.check_elementwise("src", "other")


REDUCED_DIMS: Final = 3
"""Free dimensions of what `tensor_scalar_reduce` reads and writes."""


class TensorScalarReduce(Loading, BoxMasked, TensorIndirect):
    """
    `dst = src op0 scalar0`, folded over all free dimensions into the accumulators.

    With `negate`, `reduce_res` receives the accumulators with their signs changed.
    """

    COMMANDS: ClassVar = ("reset_reduce", "reduce", "load_reduce")
    OUTS: ClassVar = ("dst", "reduce_res")
    INS: ClassVar = ("src", "scalar0", "initial", "dst_index", "src_index")
    HEADER: ClassVar = ("op0", "reduce_op")

    dst = operand_def(TensorType)
    reduce_res = opt_operand_def(TensorType)
    src = operand_def(TensorType)
    scalar0 = opt_operand_def(TensorType)
    initial = opt_operand_def(TensorType)
    dst_index = opt_operand_def(TensorType)
    src_index = opt_operand_def(TensorType)
    src_num_indices = opt_prop_def(IntegerAttr)
    op0 = prop_def(AluOpAttr)
    reduce_op = prop_def(AluOpAttr)
    imm0 = opt_prop_def(ImmediateAttr)
    reverse0 = opt_prop_def(UnitAttr)
    negate = opt_prop_def(UnitAttr)

    @gate("reduce_res_negate negates what reduce_res gets", "nki.md 1.1", "inferred")
    def negated_result(self) -> None:
        """Only a result can be negated."""
        if self.negate is not None and "reduce_res" not in self.data_values():
            raise VerifyException("negate changes the sign of reduce_res: give it")

    @gate("reduce_op {add, subtract, multiply, max, min}", "penguin.md 7")
    def reduce_ops(self) -> None:
        """op0 is arithmetic, reduce_op one an accumulator folds with."""
        check_arithmetic(self, self.op0.data)
        check_op(self, self.reduce_op.data, ROW_REDUCE_OPS)

    @gate("at most three free dimensions", "nki.isa.tensor_scalar_reduce of NKI 0.7")
    def reduce_rank(self) -> None:
        """One dimension less than others, after fusing."""
        check_rank(self, REDUCED_DIMS, "dst", "src")

    @gate("operand0 imm or [P,1]", "nki.md 1.1 tensor_scalar_reduce")
    def scalar_given(self) -> None:
        """One scalar."""
        check_given_once(self, "scalar0", self.imm0)
        self.check_per_partition_scalar("scalar0")

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """The input has the output's elements, the fold one per partition."""
        self.check_elementwise("src")
        check_result(self, "reduce_res")


class ActivationReduce(ReadBehind, BoxMasked, Activation):
    """`dst = func(src * scale + bias)`, its rows added up in the accumulators."""

    ENGINES: ClassVar = (Engine.ACTIVATION,)
    COMMANDS: ClassVar = ("idle", "reset", "reduce", "reset_reduce")
    OUTS: ClassVar = ("dst", "reduce_res")
    INS: ClassVar = ("src", "bias", "scale", "dst_index", "src_index")
    HEADER: ClassVar = ("func",)

    dst = operand_def(TensorType)
    reduce_res = opt_operand_def(TensorType)
    src = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    scale = opt_operand_def(TensorType)
    func = prop_def(ActivationFunctionAttr)
    reduce_op = prop_def(AluOpAttr, default_value=AluOpAttr(AluOp.ADD))

    @gate("reduce_op add only", "nki.md 1.1 activation")
    def activation_reduce_op(self) -> None:
        """The scalar engine's accumulator adds."""
        arch = target_of(self)
        where = "" if arch is None else f" on {arch.name}"
        if self.reduce_op.data is not AluOp.ADD:
            raise VerifyException(
                f"reduce_op {self.reduce_op.data} is not supported in "
                f"'{self.name}'{where}, expected add"
            )

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def reduce_shape(self) -> None:
        """One sum per partition."""
        check_result(self, "reduce_res")
