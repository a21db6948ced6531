"""Instructions that work on each element by itself, whatever the level."""

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instruction import target_of
from xdsl_neuron.dialects.instructions.checks import (
    check_dtype,
    check_int32_numbers,
    check_not_both_psum,
)
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.instructions.tensor_indirect import TensorIndirect
from xdsl_neuron.dialects.neuron import (
    ActivationFunctionAttr,
    AffineAttr,
    AluOpAttr,
    ImmediateAttr,
    TensorType,
)
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import ActivationFunction, AluOp, Engine, Space

INT32 = (DType.INT32, DType.UINT32)
COPY_PREDICATES = (DType.UINT8, DType.UINT16, DType.UINT32)
UNARY_OPS = (AluOp.BITWISE_NOT, AluOp.RSQRT, AluOp.ABS)
WRAPPING_OPS = (AluOp.ADD, AluOp.SUBTRACT, AluOp.MULT)
NATIVE_INT32_OPS = frozenset(
    {
        *WRAPPING_OPS,
        AluOp.MAX,
        AluOp.MIN,
        AluOp.POW,
        AluOp.IS_EQUAL,
        AluOp.NOT_EQUAL,
        AluOp.IS_GT,
        AluOp.IS_GE,
        AluOp.IS_LT,
        AluOp.IS_LE,
        AluOp.LOGICAL_AND,
        AluOp.LOGICAL_OR,
        AluOp.LOGICAL_XOR,
    }
)
"""The binary arithmetic operations of nki.api.shared but for abs_max and abs_min, which
run on the vector engine (release notes of 2.30)."""


class TensorTensor(TensorIndirect):
    """`dst = lhs op rhs`, element by element; fp32 inside unless `op` is bitwise."""

    ENGINES: ClassVar = (Engine.DVE, Engine.POOL)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("lhs", "rhs", "dst_index", "lhs_index")
    HEADER: ClassVar = ("op",)
    INDIRECT: ClassVar = {"dst": "dst", "lhs": "lhs"}

    dst = operand_def(TensorType)
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    dst_index = opt_operand_def(TensorType)
    lhs_index = opt_operand_def(TensorType)
    lhs_num_indices = opt_prop_def(IntegerAttr)
    op = prop_def(AluOpAttr)

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """Both inputs have the output's elements."""
        self.check_elementwise("lhs", "rhs")

    @gate("both inputs cannot be PSUM", "penguin.md 7")
    def one_psum_input(self) -> None:
        """One PSUM read port serves the vector engine."""
        data = self.data()
        if data["lhs"].space is Space.PSUM and data["rhs"].space is Space.PSUM:
            raise VerifyException(
                "both inputs cannot be PSUM; copy one to SBUF with tensor_copy first"
            )

    @gate("a binary operator", "nki.isa.tensor_tensor of NKI 0.1 to 0.7")
    def binary_op(self) -> None:
        """Both inputs are operands."""
        if self.op.data in UNARY_OPS:
            raise VerifyException(
                f"{self.op.data} takes one operand and is not supported in "
                f"'{self.name}', expected a binary operation; use tensor_scalar"
            )

    @gate(
        "the input/output tiles cannot be in PSUM if op is power",
        "nki.isa.tensor_tensor of NKI 0.1 to 0.7",
    )
    def power_without_psum(self) -> None:
        """Powers run on GpSimd, which has no port to PSUM."""
        if self.op.data is not AluOp.POW:
            return
        for operand in self.data().values():
            if operand.space is Space.PSUM:
                raise VerifyException(
                    "the input/output tiles cannot be in PSUM if op is power, which "
                    f"runs on GpSimd, but '{operand.name}' is {operand}; copy it to "
                    "SBUF with tensor_copy first"
                )

    @gate("... expected one of the following dtypes: ...", "penguin.md 5")
    def bitvec_dtypes(self) -> None:
        """Bitwise operations take and give integers of one width."""
        if self.op.data.is_bitvec:
            check_integers(self, "dst", "lhs", "rhs")

    @property
    def native_int32(self) -> bool:
        """
        Whether GpSIMD's 32-bit integer ALU runs it, exactly.

        Chosen when the engine is open, all three are 32-bit integers and none is in
        PSUM (nki.isa.tensor_tensor of 2.29).
        """
        data = self.data().values()
        return (
            self.engine.data in (Engine.UNASSIGNED, Engine.POOL)
            and self.op.data in NATIVE_INT32_OPS
            and all(o.dtype in INT32 and o.space is Space.SBUF for o in data)
        )


def check_integers(instruction: ComputeInstruction, *names: str) -> None:
    """Operands of a bitwise operation are integers."""
    data = instruction.data()
    for name in names:
        operand = data.get(name)
        if operand is not None and not operand.dtype.is_integer:
            integers = ", ".join(d.nki_name for d in DType if d.is_integer)
            raise VerifyException(
                f"Unsupported dtype '{operand.dtype.nki_name}' of '{name}' in a "
                f"bitwise operation, expected one of the following dtypes: {integers}"
            )


def check_whole_numbers(**numbers: ImmediateAttr | None) -> None:
    """Numbers of a bitwise operation are integers (bir.md 6.5 code 1931)."""
    for name, number in numbers.items():
        if number is not None and not float(number.value).is_integer():
            raise VerifyException(
                f"bitvec op is not valid: {name} is {number.value}, expected an integer"
            )


class TensorScalar(TensorIndirect):
    """
    `dst = (src op0 scalar0) op1 scalar1`; `reverse` swaps an operation's sides.

    A scalar is an immediate (`imm0`) or one element per partition (`scalar0`).
    """

    ENGINES: ClassVar = (Engine.DVE, Engine.ACTIVATION, Engine.POOL)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src", "scalar0", "scalar1", "dst_index", "src_index")
    HEADER: ClassVar = ("op0",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    scalar0 = opt_operand_def(TensorType)
    scalar1 = opt_operand_def(TensorType)
    dst_index = opt_operand_def(TensorType)
    src_index = opt_operand_def(TensorType)
    src_num_indices = opt_prop_def(IntegerAttr)
    op0 = prop_def(AluOpAttr)
    imm0 = opt_prop_def(ImmediateAttr)
    reverse0 = opt_prop_def(UnitAttr)
    op1 = opt_prop_def(AluOpAttr)
    imm1 = opt_prop_def(ImmediateAttr)
    reverse1 = opt_prop_def(UnitAttr)

    @gate(
        "Engine for tensor_scalar can only be Scalar or Vector or GpSIMD or Unknown.",
        "penguin.md 7",
        stage=Stage.ENGINE,
    )
    def engine_set(self) -> None:
        """The engines with a tensor-scalar datapath."""
        engine = self.engine.data
        if engine not in (*self.ENGINES, Engine.UNASSIGNED):
            raise VerifyException(
                "Engine for tensor_scalar can only be Scalar or Vector or GpSIMD or "
                f"Unknown. Got {engine}"
            )

    @gate(
        "operand1 and op1 input arguments must be both provided or both None.",
        "penguin.md 7",
    )
    def scalars_given(self) -> None:
        """Each operation has exactly one scalar."""
        data = self.data()
        if ("scalar0" in data) == (self.imm0 is not None):
            raise VerifyException("op0 takes exactly one of scalar0 and imm0")
        second = ("scalar1" in data) + (self.imm1 is not None)
        if second != (self.op1 is not None):
            raise VerifyException(
                "operand1 and op1 input arguments must be both provided or both None."
            )
        if self.reverse1 is not None and self.op1 is None:
            raise VerifyException("reverse1 swaps the sides of op1, which is not given")

    @gate("... must be both bitvec or both arithmetic operators.", "penguin.md 7")
    def one_family(self) -> None:
        """The two operations are of one family; bitwise ones take integers."""
        first = self.op0.data
        second = None if self.op1 is None else self.op1.data
        if second is not None and first.is_bitvec != second.is_bitvec:
            raise VerifyException(
                f"op0={first} and op1={second} must be both bitvec or both arithmetic "
                "operators."
            )
        if first.is_bitvec:
            check_integers(self, "dst", "src", "scalar0", "scalar1")
            check_whole_numbers(imm0=self.imm0, imm1=self.imm1)

    @gate(
        "bitvec operators must run on Vector Engine",
        "nki.isa.tensor_scalar of NKI 0.1 to 0.7",
    )
    def bitvec_engine(self) -> None:
        """Bit patterns pass the vector engine only."""
        engine = self.engine.data
        if self.op0.data.is_bitvec and engine not in (Engine.DVE, Engine.UNASSIGNED):
            raise VerifyException(
                f"bitvec operators must run on Vector Engine, got {self.op0.data} on "
                f"engine {engine}"
            )

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def scalar_shapes(self) -> None:
        """The input has the output's elements, a vector one per partition."""
        self.check_elementwise("src")
        self.check_per_partition_scalar("scalar0", "scalar1")

    @gate(
        "Scalar engine combos (multiply,add),(multiply,None),(add,None)", "penguin.md 7"
    )
    def scalar_engine_operations(self) -> None:
        """What the scalar engine's datapath computes."""
        if self.engine.data is not Engine.ACTIVATION:
            return
        pair = (self.op0.data, None if self.op1 is None else self.op1.data)
        legal = ((AluOp.MULT, AluOp.ADD), (AluOp.MULT, None), (AluOp.ADD, None))
        if pair not in legal:
            raise VerifyException(
                f"op0={pair[0]}, op1={pair[1]} is not supported on engine Activation, "
                "expected (mult, add), (mult, None) or (add, None)"
            )


class TensorScalarConst(ComputeInstruction):
    """
    `dst = (src op0 const0) op1 const1`; `reverse` swaps an operation's sides.

    Both scalars are constants of the instruction; without a second stage op1 is bypass.
    """

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)
    HEADER: ClassVar = ("op0",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    op0 = prop_def(AluOpAttr)
    const0 = prop_def(ImmediateAttr)
    reverse0 = opt_prop_def(UnitAttr)
    op1 = prop_def(AluOpAttr, default_value=AluOpAttr(AluOp.BYPASS))
    const1 = prop_def(ImmediateAttr, default_value=ImmediateAttr.of(0.0))
    reverse1 = opt_prop_def(UnitAttr)

    @gate("op1 bypass if single stage", "bir.md 6.5", "inferred")
    def one_stage(self) -> None:
        """A stage that is not there has no scalar and no sides."""
        if self.op1.data is not AluOp.BYPASS:
            return
        if self.const1.value != 0 or self.reverse1 is not None:
            raise VerifyException(
                "const1 and reverse1 belong to op1, which is bypass: a single stage"
            )

    @gate("... must be both bitvec or both arithmetic operators.", "penguin.md 7")
    def one_family(self) -> None:
        """The two operations are of one family; bitwise ones take integers."""
        first, second = self.op0.data, self.op1.data
        if second is not AluOp.BYPASS and first.is_bitvec != second.is_bitvec:
            raise VerifyException(
                f"op0={first} and op1={second} must be both bitvec or both arithmetic "
                "operators."
            )
        if first.is_bitvec:
            check_integers(self, "dst", "src")
            check_whole_numbers(const0=self.const0, const1=self.const1)

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """The input has the output's elements."""
        self.check_elementwise("src")


class Activation(TensorIndirect):
    """`dst = func(src * scale + bias)` in fp32 on the scalar engine, or on GpSIMD."""

    ENGINES: ClassVar = (Engine.ACTIVATION, Engine.POOL)
    INDIRECT_ENGINES: ClassVar = (Engine.ACTIVATION,)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src", "bias", "scale", "dst_index", "src_index")
    HEADER: ClassVar = ("func",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    scale = opt_operand_def(TensorType)
    dst_index = opt_operand_def(TensorType)
    src_index = opt_operand_def(TensorType)
    src_num_indices = opt_prop_def(IntegerAttr)
    func = prop_def(ActivationFunctionAttr)
    scale_imm = opt_prop_def(ImmediateAttr)
    bias_imm = opt_prop_def(ImmediateAttr)
    alpha = opt_prop_def(ImmediateAttr)

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def activation_shapes(self) -> None:
        """The input has the output's elements."""
        self.check_elementwise("src")

    @gate("bias: any supported dtype except tfloat32", "nki.isa.activation of NKI 0.5")
    def bias_vector(self) -> None:
        """The bias is one element per partition, of a type the engine adds."""
        bias = self.data().get("bias")
        if bias is None:
            return
        self.check_per_partition_scalar("bias")
        numbers = bias.dtype.is_float or bias.dtype.is_integer
        if not numbers or bias.dtype is DType.TFLOAT32 or bias.dtype.bytes > 4:
            raise VerifyException(
                f"'bias' param of '{self.name}' must be a vector of any number type "
                f"but tfloat32, got '{bias.dtype.nki_name}'"
            )

    @gate(
        "'scale' param of '...' must be a scalar or vector of type float32, got '...'",
        "penguin.md 5",
    )
    def scale_vector(self) -> None:
        """The scale is fp32: an immediate or one element per partition."""
        scale = self.data().get("scale")
        if scale is None:
            return
        self.check_per_partition_scalar("scale")
        if scale.dtype is not DType.FLOAT32:
            raise VerifyException(
                f"'scale' param of '{self.name}' must be a scalar or vector of type "
                f"float32, got '{scale.dtype.nki_name}'"
            )

    @gate("Activation on Pool from level 40", "nki.isa.activation of NKI 0.7")
    def activation_on_pool(self) -> None:
        """GpSIMD has activations from gen4; bir.md 7.3 has them on Activation alone."""
        arch = target_of(self)
        if self.engine.data is Engine.POOL and arch is not None and arch.level < 40:
            raise VerifyException(
                f"'{self.name}' runs on engine Pool from trn3 on, got {arch.name}; use "
                "the scalar engine"
            )

    @gate("...reciprocal must have bias=None for trn1.", "penguin.md 7")
    def reciprocal_bias(self) -> None:
        """Gen2's reciprocal table has no bias input."""
        arch = target_of(self)
        if (
            arch is not None
            and arch.level <= 20
            and self.func.data is ActivationFunction.RECIPROCAL
            and ("bias" in self.data_values() or self.bias_imm is not None)
        ):
            raise VerifyException("reciprocal must have bias=None for trn1.")

    @gate("alpha is used only by Prelu", "bir.md 10.5")
    def alpha_of_relu(self) -> None:
        """The slope of negative inputs; Lrelu has it fixed at 0.01 and ignores it."""
        leaky = (ActivationFunction.PRELU, ActivationFunction.LRELU)
        if self.alpha is not None and self.func.data not in leaky:
            raise VerifyException(f"alpha is used only by Prelu, got {self.func.data}")


class Reciprocal(ComputeInstruction):
    """`dst = 1 / src` in fp32 on the vector engine."""

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """The input has the output's elements."""
        self.check_elementwise("src")


class TensorCopy(TensorIndirect):
    """`dst = src` on chip, cast where the element types differ."""

    ENGINES: ClassVar = (Engine.DVE, Engine.ACTIVATION, Engine.POOL)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src", "dst_index", "src_index")
    INDIRECT_ENGINES: ClassVar = (Engine.DVE, Engine.ACTIVATION)
    BROADCASTS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    dst_index = opt_operand_def(TensorType)
    src_index = opt_operand_def(TensorType)
    src_num_indices = opt_prop_def(IntegerAttr)

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """The input has the output's elements."""
        self.check_elementwise("src")


class Memset(ComputeInstruction):
    """Fills `dst` with a constant of its element type."""

    ENGINES: ClassVar = (Engine.DVE, Engine.POOL)
    OUTS: ClassVar = ("dst",)

    dst = operand_def(TensorType)
    value = prop_def(ImmediateAttr)

    @gate(
        "Memset engine can only be Vector or GpSIMD or Unknown.",
        "penguin.md 6.1",
        stage=Stage.ENGINE,
    )
    def engine_set(self) -> None:
        """The engines with a fill datapath; there is none in the DMA engines."""
        engine = self.engine.data
        if engine not in (*self.ENGINES, Engine.UNASSIGNED):
            raise VerifyException(
                "Memset engine can only be Vector or GpSIMD or Unknown. Got "
                f"{engine}: use DVE, Pool or Unassigned"
            )

    @gate("x4 dtypes: only 0", "nki.md 1.1 memset")
    def packed_zero(self) -> None:
        """A packed container has no constant but zero."""
        dst = self.data()["dst"]
        if dst.dtype.is_packed and self.value.value != 0:
            raise VerifyException(
                f"memset of packed {dst.dtype.nki_name} takes only 0, got "
                f"{self.value.data}"
            )


class Iota(ComputeInstruction):
    """`dst[lane] = value(loop indices, lanes)`: int32 arithmetic, then a cast."""

    ENGINES: ClassVar = (Engine.POOL, Engine.DVE)
    OUTS: ClassVar = ("dst",)

    dst = operand_def(TensorType)
    value = prop_def(AffineAttr)

    def expressions(self) -> tuple[Affine, ...]:
        """Also the value."""
        return (*super().expressions(), self.value.data)

    @gate("SBUF only", "nki.md 1.1 iota")
    def iota_in_sbuf(self) -> None:
        """GpSIMD generates indices into SBUF."""
        dst = self.data()["dst"]
        if dst.space is not Space.SBUF:
            self.wrong_space(dst, "sbuf")

    @gate("int32 offset and steps", "nki.isa.iota of NKI 0.2 to 0.7")
    def int32_numbers(self) -> None:
        """GpSIMD counts in int32."""
        check_int32_numbers(self.name, self.value.data)


class TensorCopyPredicated(TensorIndirect):
    """`dst = src` where `predicate` is not 0 (is 0 with `reverse`); else unchanged."""

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("predicate", "src", "dst_index", "predicate_index")
    INDIRECT: ClassVar = {"dst": "dst", "predicate": "predicate"}

    dst = operand_def(TensorType)
    predicate = operand_def(TensorType)
    src = opt_operand_def(TensorType)
    dst_index = opt_operand_def(TensorType)
    predicate_index = opt_operand_def(TensorType)
    predicate_num_indices = opt_prop_def(IntegerAttr)
    imm = opt_prop_def(ImmediateAttr)
    reverse = opt_prop_def(UnitAttr)

    def kept_outputs(self) -> tuple[str, ...]:
        """Elements that are not copied stay."""
        return ("dst",)

    @gate("`predicate` must be a boolean or integer tile", "penguin.md 7")
    def integer_predicate(self) -> None:
        """The predicate is read as an integer."""
        predicate = self.data()["predicate"]
        if not predicate.dtype.is_integer:
            raise VerifyException(
                "`predicate` must be a boolean or integer tile, got "
                f"{predicate.dtype.nki_name}"
            )
        check_dtype(self, "predicate", COPY_PREDICATES)

    @gate("src/predicate not both PSUM", "nki.isa.tensor_copy_predicated of NKI 0.1")
    def one_psum_input(self) -> None:
        """One PSUM read port serves the vector engine."""
        check_not_both_psum(self, "src", "predicate")

    @gate("`src` and `dst` must have the same dtype", "penguin.md 7")
    def same_dtype(self) -> None:
        """A predicated copy moves bits."""
        data = self.data()
        src = data.get("src")
        if (src is None) == (self.imm is None):
            raise VerifyException("takes exactly one of src and imm")
        if src is not None and src.dtype is not data["dst"].dtype:
            raise VerifyException(
                f"`src` and `dst` must have the same dtype, got {src.dtype.nki_name} "
                f"and {data['dst'].dtype.nki_name}"
            )

    @gate("Scalar `src` must be float if `dst` is float", "penguin.md 7; NKI 0.7")
    def scalar_kind(self) -> None:
        """A scalar is of the kind of dst, whose width it takes."""
        dst = self.data()["dst"].dtype
        if self.imm is None or not (dst.is_float or dst.is_integer):
            return
        given = isinstance(self.imm.value, float)
        if given is not dst.is_float:
            first, second = ("float", "float") if dst.is_float else ("int", "integer")
            raise VerifyException(
                f"Scalar `src` must be {first} if `dst` is {second}, got "
                f"{self.imm.value} and {dst.nki_name}"
            )

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """All operands have the output's elements."""
        self.check_elementwise("src", "predicate")


class Select(ComputeInstruction):
    """`dst = on_true` where `predicate` is not 0, else `on_false`."""

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("predicate", "on_true", "on_false")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    dst = operand_def(TensorType)
    predicate = operand_def(TensorType)
    on_true = opt_operand_def(TensorType)
    on_false = opt_operand_def(TensorType)
    true_imm = opt_prop_def(ImmediateAttr)
    false_imm = opt_prop_def(ImmediateAttr)

    @gate("each branch a tensor or a broadcast immediate", "bir.md 6.5 Select")
    def branches_given(self) -> None:
        """Each branch is given once."""
        data = self.data()
        for name, immediate in (
            ("on_true", self.true_imm),
            ("on_false", self.false_imm),
        ):
            if (name in data) == (immediate is not None):
                raise VerifyException(f"takes {name} as one tensor or one immediate")

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """All operands have the output's elements."""
        self.check_elementwise("predicate", "on_true", "on_false")
