"""
Data movement that passes of the back end make: copies, and DMA by address tensors.

None has an operation in penguin above it; `roster` names the pass that creates each.
"""

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.bir.base import BirInstruction
from xdsl_neuron.dialects.bir.row import Row
from xdsl_neuron.dialects.bir.trigger import BirDma
from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instructions import elementwise
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.neuron import QosClassAttr, TensorType
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Index
from xdsl_neuron.isa import Engine, QosClass, Space

ADDRESS_TYPES = (DType.UINT64, DType.INT64)


@irdl_op_definition
class GenericCopyOp(elementwise.TensorCopy, BirInstruction):
    """A copy on chip before an engine is chosen."""

    name = "bir.generic_copy"
    ROW: ClassVar = Row(1, "GenericCopy")

    can_read_uninit = opt_prop_def(UnitAttr)


@irdl_op_definition
class AbstractCopyOp(elementwise.TensorCopy, BirInstruction):
    """A copy that is lowered away before encoding."""

    name = "bir.abstract_copy"
    ROW: ClassVar = Row(3, "AbstractCopy")

    dma_qos = prop_def(QosClassAttr, default_value=QosClassAttr(QosClass.UNASSIGNED))


class _DynamicCopy(elementwise.TensorCopy, BirInstruction):
    """A copy with a register in the offset of one side."""

    DYNAMIC: ClassVar[str]

    scale = opt_prop_def(IntegerAttr)
    can_read_uninit = opt_prop_def(UnitAttr)

    @gate(
        "Only one of src and dst can have dynamic access in tensor_copy.",
        "bir.md 11",
    )
    def one_dynamic_side(self) -> None:
        """The side that gives the instruction its name, and only it."""
        for name, operand in self.data().items():
            if name != self.DYNAMIC and operand.access.positions:
                raise VerifyException(
                    "Only one of src and dst can have dynamic access in tensor_copy: "
                    f"'{name}' of '{self.name}' must be static"
                )

    @gate("scale = computed size", "bir.md 6.1", "inferred")
    def positive_scale(self) -> None:
        """
        A positive one, by which the access multiplies the register.

        The access says it by itself, so that nothing else may be meant.
        """
        if self.scale is None:
            return
        scale = self.scale.value.data
        if scale <= 0:
            raise VerifyException(f"'scale' must be positive, got {scale}")
        access = self.data()[self.DYNAMIC].access
        parts = [access.offset, *([access.partition] if access.partition else [])]
        factors = {
            factor
            for part in parts
            for atom, factor in part.terms
            if isinstance(atom, Index)
        }
        if factors - {scale}:
            raise VerifyException(
                f"'scale' is {scale}, but the access of '{self.DYNAMIC}' multiplies "
                f"its register by {min(factors - {scale})}"
            )


@irdl_op_definition
class TensorCopyDynamicSrcOp(_DynamicCopy):
    """A copy on chip from where a register says."""

    name = "bir.tensor_copy_dynamic_src"
    ROW: ClassVar = Row(24, "TensorCopyDynamicSrc")
    DYNAMIC: ClassVar = "src"


@irdl_op_definition
class TensorCopyDynamicDstOp(_DynamicCopy):
    """A copy on chip to where a register says."""

    name = "bir.tensor_copy_dynamic_dst"
    ROW: ClassVar = Row(25, "TensorCopyDynamicDst")
    DYNAMIC: ClassVar = "dst"


@irdl_op_definition
class GPSIMDSB2SBOp(ComputeInstruction, BirInstruction):
    """GpSIMD copies from the SBUF of one core to that of another."""

    name = "bir.gpsimd_sb2sb"
    ROW: ClassVar = Row(33, "GPSIMDSB2SB", 30)
    ENGINES: ClassVar = (Engine.POOL,)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)

    @gate("GPSIMDSB2SB: equal dtypes", "bir.md 6.13")
    def equal_types(self) -> None:
        """Bytes are moved as they are."""
        data = self.data()
        dst, src = data["dst"].dtype, data["src"].dtype
        if dst is not src:
            raise VerifyException(
                f"GPSIMDSB2SB needs equal dtypes, got {src.bir_name} and {dst.bir_name}"
            )

    @gate("GPSIMDSB2SB: equal NEPP*step, 2..5 dims, both SB", "bir.md 6.13")
    def equal_shapes(self) -> None:
        """Both sides in SBUF, with as many elements per partition."""
        data = self.data()
        dst, src = data["dst"], data["src"]
        for operand in (dst, src):
            if operand.space is not Space.SBUF:
                self.wrong_space(operand, "sbuf")
            if not 2 <= len(operand.shape) <= 5:
                raise VerifyException(
                    f"GPSIMDSB2SB has 2 to 5 dimensions, got {operand}"
                )
        spans = [_span(operand) for operand in (dst, src)]
        if spans[0] != spans[1]:
            raise VerifyException(
                "GPSIMDSB2SB needs equal elements per partition times step, got "
                f"{spans[1]} and {spans[0]}"
            )

    @gate("GPSIMDSB2SB: effective bytes per partition <= 1024", "bir.md 6.13")
    def effective_bytes(self) -> None:
        """An 8-bit element counts four times, a 16-bit one twice."""
        dst = self.data()["dst"]
        count = dst.free_count * max(4, dst.dtype.bytes)
        if count > Arch.gpsimd_sb2sb_bytes:
            raise VerifyException(
                f"GPSIMDSB2SB moves at most {Arch.gpsimd_sb2sb_bytes} effective bytes "
                f"per partition, got {count}"
            )


def _span(operand: Operand) -> int:
    """Elements per partition times the innermost step."""
    return operand.free_count * operand.access.pairs[-1][0]


def _check_addresses(operand: Operand) -> None:
    """An address for each partition: 2-D, 64 bits, in SBUF."""
    if len(operand.shape) != 2:
        raise VerifyException(f"indirect DMA's AddrAP should be 2D, got {operand}")
    if operand.dtype not in ADDRESS_TYPES:
        raise VerifyException(
            f"loading mem addr, which must be uint64, got {operand.dtype.bir_name}"
        )
    if operand.free_count != 1:
        raise VerifyException(
            "Currently only support 1 address per partition for Indirect DMA, got "
            f"{operand.free_count}"
        )
    if operand.shape[0] != operand.type.shape[0]:
        raise VerifyException(
            "Addr Tensor partition dim must match its tensor shape, got "
            f"{operand.shape[0]} of {operand.type.shape[0]}"
        )


@irdl_op_definition
class ReadVarAddrOp(BirDma):
    """The address of a tensor in HBM, one for each partition."""

    name = "bir.read_var_addr"
    ROW: ClassVar = Row(41, "ReadVarAddr")
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)

    @gate("writes the base address of a DRAM tensor into an address AP", "bir.md 6.3")
    def addressed(self) -> None:
        """A tensor in HBM, and an address tensor in SBUF."""
        data = self.data()
        if data["src"].space is not Space.HBM:
            raise VerifyException(
                f"ReadVarAddr reads the address of a tensor in hbm, got {data['src']}"
            )
        if data["dst"].space is not Space.SBUF:
            raise VerifyException(f"addresses are in sbuf, got {data['dst']}")
        _check_addresses(data["dst"])


class _AddressDma(BirDma):
    """A DMA with an address for each partition, made of base, index and offset."""

    DATA: ClassVar[str]
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    runtime_semaphore_wait_value = prop_def(
        IntegerAttr, default_value=IntegerAttr(0, i64)
    )

    @gate(
        "indirect DMA's AddrAP should be 2D | Addr Tensor partition dim must match its "
        "tensor shape | Currently only support 1 address per partition for Indirect "
        "DMA",
        "dma.md 9.6",
    )
    def addresses(self) -> None:
        """One address per partition of the data."""
        data = self.data()
        _check_addresses(data["address"])
        rows = data[self.DATA].partitions
        if data["address"].partitions != rows:
            raise VerifyException(
                f"'address' has {data['address'].partitions} partitions, "
                f"'{self.DATA}' {rows}"
            )

    @gate("Currently only support 2D DataAP for Indirect DMA", "dma.md 9.6")
    def flat_data(self) -> None:
        """The data is a tile in SBUF, one row per partition."""
        operand = self.data()[self.DATA]
        if len(operand.shape) != 2 or operand.space is not Space.SBUF:
            raise VerifyException(
                f"Currently only support 2D DataAP for Indirect DMA, got {operand}"
            )

    @gate(
        "Indirect DMA bound-check can only be on Pool engine | must have 3 args and 2 "
        "outputs for bound-check",
        "dma.md 9.6",
    )
    def bound_check(self) -> None:
        """A second output takes index and offset, and GpSIMD."""
        names = self.data().keys()
        if "checked" not in names:
            return
        if self.engine.data is not Engine.POOL:
            raise VerifyException(
                "Indirect DMA bound-check can only be on Pool engine, got "
                f"{self.engine.data}"
            )
        if not {"index", "offset"} <= names:
            raise VerifyException("must have 3 args and 2 outputs for bound-check")


@irdl_op_definition
class IndirectLoadOp(_AddressDma):
    """Rows from the addresses: `dst[p] = *address[p]`."""

    name = "bir.indirect_load"
    ROW: ClassVar = Row(43, "IndirectLoad")
    OUTS: ClassVar = ("dst", "checked")
    INS: ClassVar = ("address", "index", "offset")
    DATA: ClassVar = "dst"

    dst = operand_def(TensorType)
    checked = opt_operand_def(TensorType)
    address = operand_def(TensorType)
    index = opt_operand_def(TensorType)
    offset = opt_operand_def(TensorType)

    @gate("Must have step 1 in final dim of IndirectLoad output AP", "bir.md 6.3")
    def dense_rows(self) -> None:
        """A row is written without gaps."""
        dst = self.data()["dst"]
        if dst.access.pairs[-1][0] != 1:
            raise VerifyException(
                "Must have step 1 in final dim of IndirectLoad output AP, got "
                f"{dst.access.pairs[-1][0]}"
            )


@irdl_op_definition
class IndirectSaveOp(_AddressDma):
    """Rows to the addresses, the last one wins: `*address[p] = src[p]`."""

    name = "bir.indirect_save"
    ROW: ClassVar = Row(45, "IndirectSave")
    OUTS: ClassVar = ("checked",)
    INS: ClassVar = ("src", "address", "index", "offset")
    DATA: ClassVar = "src"

    checked = opt_operand_def(TensorType)
    src = operand_def(TensorType)
    address = operand_def(TensorType)
    index = opt_operand_def(TensorType)
    offset = opt_operand_def(TensorType)
