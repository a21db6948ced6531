"""
Kernels and opaque instructions: code this project does not look into (bir.md 6.14).

Their operands are whole tensors, as many as the code takes:

    bir.nki_kernel @K (%out) <- (%a, %b) {func = "attention"}
"""

from collections.abc import Sequence
from typing import ClassVar, Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    var_operand_def,
)
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.bir.fielded import Fielded
from xdsl_neuron.dialects.bir.row import Row
from xdsl_neuron.dialects.bir.scheduled import BirScheduled
from xdsl_neuron.dialects.bir.structure import LocationOp, enclosing_function
from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instruction import target_of
from xdsl_neuron.dialects.instruction_text import symbol_text, value_text
from xdsl_neuron.dialects.neuron import EngineAttr, TensorType
from xdsl_neuron.dialects.neuron.system import (
    AddressRotationScopeAttr,
    GroupsAttr,
    KernelSourceAttr,
    SyncTypeAttr,
)
from xdsl_neuron.dialects.neuron.text import Cursor
from xdsl_neuron.dialects.neuron.types import PARTITIONS
from xdsl_neuron.isa import Engine
from xdsl_neuron.system import AddressRotationScope, KernelSource, SyncType

_NO_INTEGERS = DenseArrayBase.from_list(i64, [])
_NO_STRINGS = ArrayAttr[StringAttr]([])


class OpaqueInstruction(Fielded, BirScheduled):
    """An instruction on whole tensors whose meaning is elsewhere."""

    ENGINES: ClassVar[tuple[Engine, ...]] = (Engine.UNASSIGNED,)
    IN_HEADER: ClassVar = ("inst_name", "operandSegmentSizes")

    outs = var_operand_def(TensorType)
    ins = var_operand_def(TensorType)
    engine = prop_def(EngineAttr, default_value=EngineAttr(Engine.UNASSIGNED))

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        """The gates, and that what it must follow is there."""
        super().verify_()
        self.check_edges()

    @classmethod
    def make(
        cls,
        outs: Sequence[SSAValue],
        ins: Sequence[SSAValue],
        properties: dict[str, Attribute],
    ) -> Self:
        """The instruction with these operands and fields."""
        sizes = _segments(outs, ins)
        return cls.create(
            operands=[*outs, *ins],
            properties={**properties, "operandSegmentSizes": sizes},
        )

    @gate('predicate "validEngines"', "bir.md 7.2 code 400", stage=Stage.ENGINE)
    def engine_set(self) -> None:
        """The engine is a wildcard, or one that can run the instruction."""
        engine = self.engine.data
        if engine in (Engine.UNASSIGNED, Engine.ALL) or engine in self.ENGINES:
            return
        allowed = ", ".join(each.value for each in self.ENGINES)
        raise VerifyException(f"runs on engine {engine}, expected one of {allowed}")

    @classmethod
    def scan_header(
        cls, cursor: Cursor, properties: dict[str, Attribute]
    ) -> Sequence[SSAValue]:
        """Reads `[@name] (outs) <- (ins)`."""
        if cursor.peek("@"):
            properties["inst_name"] = StringAttr(cursor.symbol())
        outs = _scan_values(cursor)
        cursor.expect("<-")
        ins = _scan_values(cursor)
        properties["operandSegmentSizes"] = _segments(outs, ins)
        return (*outs, *ins)

    def header_text(self, printer: Printer) -> str:
        """What `scan_header` reads."""
        name = self.inst_name
        text = "" if name is None else f"{symbol_text(name.data)} "
        outs = ", ".join(value_text(printer, value) for value in self.outs)
        ins = ", ".join(value_text(printer, value) for value in self.ins)
        return f"{text}({outs}) <- ({ins})"


def _segments(
    outs: Sequence[SSAValue], ins: Sequence[SSAValue]
) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i32, [len(outs), len(ins)])


def _scan_values(cursor: Cursor) -> list[SSAValue]:
    found: list[SSAValue] = []
    cursor.expect("(")
    while not cursor.accept(")"):
        if found:
            cursor.expect(",")
        found.append(cursor.value())
    return found


@irdl_op_definition
class CustomOp(OpaqueInstruction):
    """A GpSIMD program out of a library."""

    name = "bir.custom_op"
    ROW: ClassVar = Row(53, "CustomOp")
    ENGINES: ClassVar = (Engine.POOL,)

    opFunctionName = prop_def(StringAttr)
    opLibFile = prop_def(StringAttr)
    ulib_to_ucode_version = opt_prop_def(StringAttr)
    ulib_to_isa_version = opt_prop_def(StringAttr)
    is_builtin = opt_prop_def(UnitAttr)
    srcsShape = prop_def(GroupsAttr, default_value=GroupsAttr(()))
    dstsShape = prop_def(GroupsAttr, default_value=GroupsAttr(()))

    @gate(
        "CustomOp: arch must be Sunda or Tonga",
        "bir.md 6.14 code 178",
        stage=Stage.ARCH,
    )
    def custom_arch(self) -> None:
        """The second generation only."""
        arch = target_of(self)
        if arch is not None and not arch.has_custom_op:
            raise VerifyException(
                f"CustomOp: arch must be Sunda or Tonga, got {arch.name}"
            )


class _Kernel(OpaqueInstruction):
    """A kernel that a pass expands, with buffers on chip as its outputs."""

    sb_buf_shape = prop_def(DenseArrayBase.constr(i64), default_value=_NO_INTEGERS)
    psum_buf_shape = prop_def(DenseArrayBase.constr(i64), default_value=_NO_INTEGERS)

    def _shape(self, name: str) -> tuple[int, int]:
        value = self.properties.get(name)
        values = value.get_values() if isinstance(value, DenseArrayBase) else ()
        if not values:
            return 0, 0
        if len(values) != 2:
            raise VerifyException(f"'{name}' is a pair, got {list(values)}")
        return int(values[0]), int(values[1])

    @gate("I.getFunc() != nullptr", "bir.md 7.6")
    def in_function(self) -> None:
        """It stands in a function."""
        if enclosing_function(self) is None:
            raise VerifyException("I.getFunc() != nullptr: a kernel is in a bir.func")

    @gate(
        "mem.getBasePartition() == 0 | Kernel inputs/outputs must be allocated at base "
        "partition 0",
        "bir.md 7.6",
    )
    def base_partition(self) -> None:
        """A tile that has an address starts at partition 0."""
        for value in (*self.outs, *self.ins):
            if not isinstance(value.owner, LocationOp):
                continue
            for partition, _ in value.owner.placements:
                if partition:
                    raise VerifyException(
                        "mem.getBasePartition() == 0: Kernel inputs/outputs must be "
                        f"allocated at base partition 0, got {partition} for "
                        f"'{value.owner.location_name.data}'"
                    )

    @gate(
        "SB pair both zero or both positive | psum_bank_count <= numBanks | "
        "psum_num_partitions <= NUM_PARTITIONS | outputs >= sb + psum buffers",
        "bir.md 7.6 codes 1680..1683",
    )
    def buffers(self) -> None:
        """Buffers fit the machine, and each is an output."""
        partitions, size = self._shape("sb_buf_shape")
        if (partitions > 0) != (size > 0) or min(partitions, size) < 0:
            raise VerifyException(
                "the pair sb_buf_shape is both zero or both positive, got "
                f"{[partitions, size]}"
            )
        rows, banks = self._shape("psum_buf_shape")
        arch = target_of(self)
        if arch is not None and banks > arch.psum_banks:
            raise VerifyException(
                f"psum_bank_count <= numBanks: {banks}, {arch.name} has "
                f"{arch.psum_banks}"
            )
        if rows > PARTITIONS:
            raise VerifyException(
                f"psum_num_partitions <= NUM_PARTITIONS: {rows} of {PARTITIONS}"
            )
        needed = (partitions > 0) + (rows > 0)
        if len(self.outs) < needed:
            raise VerifyException(
                f"outputs >= sb + psum buffers: {len(self.outs)} outputs, {needed} "
                "buffers"
            )


@irdl_op_definition
class BIRKernelOp(_Kernel):
    """A kernel of the compiler's library."""

    name = "bir.bir_kernel"
    ROW: ClassVar = Row(54, "BIRKernel")

    kernel_name = prop_def(StringAttr)
    srcs_shape = prop_def(GroupsAttr, default_value=GroupsAttr(()))
    dsts_shape = prop_def(GroupsAttr, default_value=GroupsAttr(()))
    kernel_attrs = prop_def(DictionaryAttr, default_value=DictionaryAttr({}))
    auto_cast = opt_prop_def(StringAttr)
    is_causal = opt_prop_def(UnitAttr)
    fused_rmsnorm = opt_prop_def(UnitAttr)
    norm_type = opt_prop_def(StringAttr)
    lnc_size = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))
    store_add = opt_prop_def(UnitAttr)
    quant_kernel = opt_prop_def(UnitAttr)
    output_layout = opt_prop_def(StringAttr)
    lower_bound = opt_prop_def(IntegerAttr)


@irdl_op_definition
class NKIKernelOp(_Kernel):
    """A call of an NKI function of the module."""

    name = "bir.nki_kernel"
    ROW: ClassVar = Row(55, "NKIKernel")

    func = prop_def(StringAttr)
    func_args = prop_def(ArrayAttr[StringAttr], default_value=_NO_STRINGS)
    func_outs = prop_def(ArrayAttr[StringAttr], default_value=_NO_STRINGS)
    address_rotation_scope_val = prop_def(
        AddressRotationScopeAttr,
        default_value=AddressRotationScopeAttr(AddressRotationScope.NONE),
    )
    kernel_source_val = prop_def(
        KernelSourceAttr, default_value=KernelSourceAttr(KernelSource.BETA1)
    )


@irdl_op_definition
class NKIKLIRKernelOp(_Kernel):
    """A kernel as a binary of the front end's IR."""

    name = "bir.nki_klir_kernel"
    ROW: ClassVar = Row(56, "NKIKLIRKernel")

    klir_binary = prop_def(StringAttr)
    kernel_format = opt_prop_def(StringAttr)
    nki_binary_version_identifier = opt_prop_def(StringAttr)
    enable_device_dump = opt_prop_def(UnitAttr)
    func_args = prop_def(ArrayAttr[StringAttr], default_value=_NO_STRINGS)
    func_outs = prop_def(ArrayAttr[StringAttr], default_value=_NO_STRINGS)
    address_rotation_scope_val = prop_def(
        AddressRotationScopeAttr,
        default_value=AddressRotationScopeAttr(AddressRotationScope.NONE),
    )


@irdl_op_definition
class InlineASMBytesOp(OpaqueInstruction):
    """Encoded instructions as bytes."""

    name = "bir.inline_asm_bytes"
    ROW: ClassVar = Row(93, "InlineASMBytes")
    ENGINES: ClassVar = (Engine.POOL,)

    asm_bytes = prop_def(DenseArrayBase.constr(i64))
    sync_type = prop_def(SyncTypeAttr, default_value=SyncTypeAttr(SyncType.DATAPATH))
    latency_estimate = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))

    @gate("asm_bytes: bytes", "bir.md 4.5", "inferred")
    def bytes(self) -> None:
        """At least one number of 8 bits."""
        values = self.asm_bytes.get_values()
        if not values or min(values) < 0 or max(values) > 255:
            raise VerifyException(f"'asm_bytes' is a list of bytes, got {list(values)}")
