"""The vector engine's exponential, and activations with two ALU stages (trn3)."""

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.irdl import (
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instructions.accumulators import (
    AccumulatorUser,
    Loading,
    ReadBehind,
)
from xdsl_neuron.dialects.instructions.checks import (
    check_arithmetic,
    check_dtype,
    check_given_at_most_once,
    check_level,
    check_op,
    check_result,
    check_row,
)
from xdsl_neuron.dialects.instructions.masks import BoxMasked
from xdsl_neuron.dialects.instructions.tensor_indirect import TensorIndirect
from xdsl_neuron.dialects.neuron import (
    ActivationFunctionAttr,
    AluOpAttr,
    ImmediateAttr,
    TensorType,
)
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import ActivationFunction, AluOp, Engine

ACTIVATE2_REDUCE_OPS = (
    AluOp.ADD,
    AluOp.MAX,
    AluOp.MIN,
    AluOp.ABS_MAX,
    AluOp.ABS_MIN,
)
ACTIVATE2_PAIRS = (
    (AluOp.MULT, AluOp.ADD),
    (AluOp.MULT, AluOp.SUBTRACT),
    (AluOp.MULT, AluOp.BYPASS),
    (AluOp.ADD, AluOp.BYPASS),
    (AluOp.SUBTRACT, AluOp.BYPASS),
    (AluOp.BYPASS, AluOp.BYPASS),
)
_READABLE = tuple(d for d in DType if d.bytes <= 4 and not d.is_packed)
EXPONENTIAL_SOURCES = tuple(d for d in _READABLE if d is not DType.TFLOAT32)
EXPONENTIAL_RESULTS = tuple(d for d in _READABLE if d is not DType.UINT32)


EXPONENTIAL_SUMS = (
    DType.FLOAT8_E4M3,
    DType.FLOAT8_E5M2,
    DType.FLOAT16,
    DType.BFLOAT16,
    DType.FLOAT32,
    DType.TFLOAT32,
)
"""The types nki.isa.exponential lists for `reduce_res`."""


class Exponential(AccumulatorUser, TensorIndirect):
    """
    `dst = exp(src - max_value)` in fp32 on the vector engine.

    Its accumulators are undefined afterwards.
    """

    OUTS: ClassVar[tuple[str, ...]] = ("dst",)
    INS: ClassVar = ("src", "max_value", "dst_index", "src_index")

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    max_value = opt_operand_def(TensorType)
    dst_index = opt_operand_def(TensorType)
    src_index = opt_operand_def(TensorType)
    src_num_indices = opt_prop_def(IntegerAttr)
    max_value_imm = opt_prop_def(ImmediateAttr)

    @gate("... is available on ...", "bir.md 7.3 Exponential", stage=Stage.ARCH)
    def exponential_arch(self) -> None:
        """From gen4."""
        check_level(self, 40)

    @gate(
        "... expected one of the following dtypes: ...",
        "nki.isa.exponential of NKI 0.3 to 0.7",
    )
    def exponential_dtypes(self) -> None:
        """The result is no uint32; what is read is no tfloat32."""
        check_dtype(self, "dst", EXPONENTIAL_RESULTS)
        check_dtype(self, "src", EXPONENTIAL_SOURCES)

    @gate("max_value scalar or [P,1]", "nki.md 1.1 exponential")
    def max_value_given(self) -> None:
        """An fp32 number, or one per partition; 0 where it is absent."""
        check_given_at_most_once(self, "max_value", self.max_value_imm)
        check_row(self, "max_value")

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """The input has the output's elements."""
        self.check_elementwise("src")


class ExponentialReduce(Loading, BoxMasked, Exponential):
    """An exponential, its rows added up in the accumulators."""

    COMMANDS: ClassVar = ("reset_reduce", "reduce", "load_reduce")
    OUTS: ClassVar[tuple[str, ...]] = ("dst", "reduce_res")
    INS: ClassVar = ("src", "max_value", "initial", "dst_index", "src_index")

    dst = operand_def(TensorType)
    reduce_res = opt_operand_def(TensorType)
    src = operand_def(TensorType)
    max_value = opt_operand_def(TensorType)
    initial = opt_operand_def(TensorType)

    @gate("reduce_res [P,1]", "nki.md 1.1 exponential")
    def reduce_shape(self) -> None:
        """One sum per partition, of a floating-point type."""
        check_result(self, "reduce_res", EXPONENTIAL_SUMS)


class Activate2(TensorIndirect):
    """`dst = func((src op0 scalar0) op1 scalar1; alpha)` in fp32."""

    ENGINES: ClassVar[tuple[Engine, ...]] = (Engine.ACTIVATION, Engine.POOL)
    INDIRECT_ENGINES: ClassVar = (Engine.ACTIVATION,)
    OUTS: ClassVar[tuple[str, ...]] = ("dst",)
    INS: ClassVar = ("src", "scalar0", "scalar1", "slope", "dst_index", "src_index")
    HEADER: ClassVar = ("func",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    scalar0 = opt_operand_def(TensorType)
    scalar1 = opt_operand_def(TensorType)
    slope = opt_operand_def(TensorType)
    dst_index = opt_operand_def(TensorType)
    src_index = opt_operand_def(TensorType)
    src_num_indices = opt_prop_def(IntegerAttr)
    func = prop_def(ActivationFunctionAttr)
    op0 = opt_prop_def(AluOpAttr)
    imm0 = opt_prop_def(ImmediateAttr)
    reverse0 = opt_prop_def(UnitAttr)
    op1 = opt_prop_def(AluOpAttr)
    imm1 = opt_prop_def(ImmediateAttr)
    reverse1 = opt_prop_def(UnitAttr)
    alpha = opt_prop_def(ImmediateAttr)

    @gate("... is available on ...", "nki.md 1.1 activate2", stage=Stage.ARCH)
    def activate2_arch(self) -> None:
        """From gen4."""
        check_level(self, 40)

    @gate("op1 needs op0; reverse needs its op", "nki.md 1.1 activate2")
    def stages_given(self) -> None:
        """Each operation has one scalar, and nothing else is given."""
        if self.op1 is not None and self.op0 is None:
            raise VerifyException("op1 needs op0")
        self._check_stage("0", self.op0, self.imm0, self.reverse0)
        self._check_stage("1", self.op1, self.imm1, self.reverse1)
        self.check_per_partition_scalar("scalar0", "scalar1")

    def _check_stage(
        self,
        number: str,
        op: AluOpAttr | None,
        immediate: ImmediateAttr | None,
        reverse: UnitAttr | None,
    ) -> None:
        given = (f"scalar{number}" in self.data_values()) + (immediate is not None)
        if given != (op is not None):
            raise VerifyException(
                f"op{number} takes exactly one of scalar{number} and imm{number}, and "
                "they need it"
            )
        if reverse is not None and op is None:
            raise VerifyException(f"reverse{number} needs op{number}")
        check_arithmetic(self, AluOp.BYPASS if op is None else op.data)

    @gate("six (op0, op1) combinations", "nki.isa.activate2 of NKI 0.4 to 0.7")
    def stage_pairs(self) -> None:
        """What the scalar engine's tensor-scalar stage computes."""
        ops = (self.op0, self.op1)
        first, second = (AluOp.BYPASS if op is None else op.data for op in ops)
        if (first, second) not in ACTIVATE2_PAIRS:
            pairs = ", ".join(f"({op0}, {op1})" for op0, op1 in ACTIVATE2_PAIRS)
            raise VerifyException(
                f"(op0, op1) = ({first}, {second}) is not supported in '{self.name}', "
                f"expected one of {pairs}; compute the rest with tensor_scalar"
            )

    @gate("immediates both tensors -> same dtype", "nki.md 1.1 activate2")
    def scalar_dtypes(self) -> None:
        """Two columns are of one type."""
        data = self.data()
        first, second = data.get("scalar0"), data.get("scalar1")
        if first is not None and second is not None and first.dtype != second.dtype:
            raise VerifyException(
                f"scalar0 and scalar1 must have the same dtype, got "
                f"{first.dtype.nki_name} and {second.dtype.nki_name}"
            )

    @gate("alpha is used only by Prelu", "bir.md 10.5")
    def alpha_of_relu(self) -> None:
        """The slope of negative inputs; Lrelu has it fixed at 0.01 and ignores it."""
        leaky = (ActivationFunction.PRELU, ActivationFunction.LRELU)
        given = self.alpha is not None or "slope" in self.data_values()
        if given and self.func.data not in leaky:
            raise VerifyException(f"alpha is used only by Prelu, got {self.func.data}")

    @gate("relu_param scalar or [P,1]", "nki.md 1.1 activate2")
    def slope_given(self) -> None:
        """`slope` has an alpha for each partition."""
        if self.alpha is not None and "slope" in self.data_values():
            raise VerifyException("takes at most one of slope and alpha")
        check_result(self, "slope")

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """The input has the output's elements."""
        self.check_elementwise("src")


class Activate2Reduce(ReadBehind, BoxMasked, Activate2):
    """An activation with two ALU stages, its rows folded into the accumulators."""

    ENGINES: ClassVar[tuple[Engine, ...]] = (Engine.ACTIVATION,)
    COMMANDS: ClassVar = ("idle", "reset", "reduce", "reset_reduce")
    OUTS: ClassVar[tuple[str, ...]] = ("dst", "reduce_res")

    dst = operand_def(TensorType)
    reduce_res = opt_operand_def(TensorType)
    src = operand_def(TensorType)
    scalar0 = opt_operand_def(TensorType)
    scalar1 = opt_operand_def(TensorType)
    slope = opt_operand_def(TensorType)
    reduce_op = prop_def(AluOpAttr, default_value=AluOpAttr(AluOp.ADD))

    @gate("add, maximum, minimum, abs_max, abs_min", "nki.md 1.1 activate2")
    def reduce_ops(self) -> None:
        """The operations that a gen4 scalar engine folds with; one result."""
        check_op(self, self.reduce_op.data, ACTIVATE2_REDUCE_OPS)
        check_result(self, "reduce_res")
