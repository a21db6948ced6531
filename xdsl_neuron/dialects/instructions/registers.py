"""
Registers of the engines' sequencers: arithmetic, moves, and the way back to memory.

A register is an `index` result. Where an instruction reads one, its field is an
expression: `%r`, or a constant that is the immediate.
"""

from collections.abc import Iterator
from typing import ClassVar, Final

from xdsl.dialects.builtin import IndexType, UnitAttr
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instruction import (
    PAIR_BITS,
    REGISTER_BITS,
    Instruction,
    register_bits,
)
from xdsl_neuron.dialects.neuron import AffineAttr, AluOpAttr, DTypeAttr, TensorType
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine, Index
from xdsl_neuron.isa import AluOp, Space

_NOT_ON_REGISTERS: Final = frozenset(
    {
        AluOp.AVERAGE,
        AluOp.ELEMWISE_MUL,
        AluOp.ABS_MAX,
        AluOp.ABS_MIN,
        AluOp.MOD_INT,
    }
)
INTEGERS: Final = (DType.INT32, DType.UINT32, DType.INT64, DType.UINT64)
"""Element types that fill a register or a pair (dma.md 10.7)."""


class RegisterInstruction(Instruction):
    """An instruction of a sequencer: `REGISTERS` names its register fields."""

    REGISTERS: ClassVar[tuple[str, ...]] = ()

    def expressions(self) -> tuple[Affine, ...]:
        """Predicates, and the registers that are read."""
        return (*super().expressions(), *(value for _, value in self.registers_read()))

    def registers_read(self) -> Iterator[tuple[str, Affine]]:
        """The register fields that are there, each a register or an immediate."""
        for name in self.REGISTERS:
            value = self.properties.get(name)
            if isinstance(value, AffineAttr):
                yield name, value.data

    def check_register(self, name: str, value: Affine, bits: int) -> None:
        """
        One register, or an immediate of so many bits, signed or unsigned.

        A pair may read one register, not the other way round (our choice).
        """
        if value.is_constant:
            if not -(1 << bits - 1) <= value.constant < 1 << bits:
                raise VerifyException(
                    f"immediate {value.constant} of '{name}' does not fit a register "
                    f"of {bits} bits"
                )
            return
        terms = value.terms
        one = len(terms) == 1 and not value.constant and terms[0][1] == 1
        if not one or not isinstance(terms[0][0], Index):
            raise VerifyException(
                f"'{name}' must be a register or an immediate, got the expression "
                f"{value}"
            )
        if self.bits_of(value) > bits:
            raise VerifyException(
                f"'{name}' is a pair of registers, expected one register of {bits} bits"
            )

    def bits_of(self, value: Affine) -> int:
        """Bits of what a register field names."""
        if value.is_constant:
            fits = -(1 << 31) <= value.constant < 1 << 32
            return REGISTER_BITS if fits else PAIR_BITS
        (position,) = value.positions
        return register_bits(self.loop_indices()[position])

    @gate("a sequencer instruction has no mask", "bir.md 6.12", "our choice")
    def unmasked(self) -> None:
        """Lanes and conditions are those of datapath instructions."""
        if self.masks():
            raise VerifyException("a sequencer instruction has no mask")


class RegisterAlu(RegisterInstruction):
    """
    `dst = lhs op rhs` on integers of 32 bits, or of a pair with `is_64bit`.

        %r = penguin.register_alu add {lhs = %n, rhs = 4}
    """

    REGISTERS: ClassVar = ("lhs", "rhs")
    RESULTS: ClassVar = (IndexType(),)
    HEADER: ClassVar = ("op",)

    op = prop_def(AluOpAttr)
    lhs = prop_def(AffineAttr)
    rhs = prop_def(AffineAttr)
    is_64bit = opt_prop_def(UnitAttr)
    result = result_def(IndexType)

    @property
    def result_bits(self) -> int:
        """Bits the operation works on, and those of its result."""
        return REGISTER_BITS if self.is_64bit is None else PAIR_BITS

    @gate("dst = src op imm-or-reg", "bir.md 6.12")
    def register_operands(self) -> None:
        """Both sides are a register or an immediate that fits."""
        for name, value in self.registers_read():
            self.check_register(name, value, self.result_bits)

    @gate("average/elemwise_mul/30-32 rejected by encoder", "bir.md 6.12")
    def register_operation(self) -> None:
        """An operation the sequencer encodes."""
        op = self.op.data
        if op in _NOT_ON_REGISTERS:
            raise VerifyException(f"'{op}' is rejected by the encoder of RegisterAlu")


class RegisterMove(RegisterInstruction):
    """
    `dst = value`: an immediate or a register.

    An immediate of fp32 is its bit pattern.

        %r = penguin.register_move {value = 4}
    """

    REGISTERS: ClassVar = ("value",)
    RESULTS: ClassVar = (IndexType(),)

    value = prop_def(AffineAttr)
    dtype = prop_def(DTypeAttr, default_value=DTypeAttr(DType.INT32))
    result = result_def(IndexType)

    @property
    def result_bits(self) -> int:
        """Bits of the register that is set."""
        return self.dtype.data.bytes * 8

    @gate("RegisterMove dtypes fp32, uint32, int32, int64", "bir.md 6.12")
    def move_dtype(self) -> None:
        """One of four types, and a value that fits."""
        dtype = self.dtype.data
        if dtype not in (DType.FLOAT32, DType.UINT32, DType.INT32, DType.INT64):
            raise VerifyException(
                "RegisterMove has dtypes float32, uint32, int32, int64, got "
                f"{dtype.bir_name}"
            )
        self.check_register("value", self.value.data, self.result_bits)

    @gate("64bit REG MOVE instr must have ImmediateValue src", "bir.md 6.12")
    def wide_move(self) -> None:
        """A pair is set from an immediate only."""
        if self.dtype.data is DType.INT64 and not self.value.data.is_constant:
            raise VerifyException("64bit REG MOVE instr must have ImmediateValue src")


class TensorSave(RegisterInstruction):
    """
    Stores a register into one element of 32 bits, or a pair into one of 64.

        penguin.store_register_to_tensor %t[0, 3][1 x 1] {value = %r}
    """

    OUTS: ClassVar = ("dst",)
    REGISTERS: ClassVar = ("value",)

    dst = operand_def(TensorType)
    value = prop_def(AffineAttr)

    @gate(
        "InstTensorLoad/InstTensorSave register and tensor must have the same number "
        "of bytes. Got src={src_type} dst={dst_type}",
        "dma.md 9.4 EBIR011",
    )
    def one_saved_element(self) -> None:
        """Exactly one integer in HBM or SBUF, as wide as the register."""
        dst = self.data()["dst"]
        if dst.access.count != 1:
            raise VerifyException(
                f"a register holds one element, got {dst.access.count} ({dst})"
            )
        if dst.space is Space.PSUM:
            raise VerifyException("InstTensorLoad/InstTensorSave cannot write psum")
        value = self.value.data
        self.check_register("value", value, PAIR_BITS)
        bits, found = dst.dtype.bytes * 8, self.bits_of(value)
        # An immediate is as wide as it has to be, or wider.
        fits = found == bits or (found < bits and value.is_constant)
        if dst.dtype not in INTEGERS or not fits:
            src = DType.INT64 if found == PAIR_BITS else DType.INT32
            raise VerifyException(
                "InstTensorLoad/InstTensorSave register and tensor must have the same "
                f"number of bytes. Got src={src.bir_name} dst={dst.dtype.bir_name}"
            )
