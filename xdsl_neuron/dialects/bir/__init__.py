"""
The `bir` dialect: what the back end sees.

A function holds named memory locations and instructions with engines, queues and
dependency edges. Inputs and outputs are locations with a kind. An instruction's class
is its row of the roster (bir.md 2): ordinal, JSON name, engines, first generation.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

from xdsl.dialects.builtin import ArrayAttr, StringAttr, SymbolNameConstraint, UnitAttr
from xdsl.ir import Attribute, Block, Dialect, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    IsolatedFromAbove,
    MemoryAllocEffect,
    MemoryReadEffect,
    MemoryWriteEffect,
    NoTerminator,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects import structure
from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instruction import Instruction, target_of
from xdsl_neuron.dialects.instruction_text import quoted, symbol_text
from xdsl_neuron.dialects.instructions import (
    dma,
    elementwise,
    gather,
    matrix,
    reduction,
    transpose,
)
from xdsl_neuron.dialects.neuron import (
    Contents,
    ContentsAttr,
    DgeTypeAttr,
    EdgesAttr,
    EngineAttr,
    TensorKindAttr,
    TensorType,
)
from xdsl_neuron.dialects.neuron.text import Cursor, resume
from xdsl_neuron.dialects.neuron.types import render_tensor_spec
from xdsl_neuron.isa import DgeType, Engine, Space, TensorKind


@dataclass(frozen=True)
class Row:
    """An instruction's line in the roster (bir.md 2)."""

    ordinal: int
    name: str
    min_level: int = 20
    """First architecture level that has it."""


class BirInstruction(Instruction):
    """What every instruction of this level has beside its meaning."""

    ROW: ClassVar[Row]

    @gate("curArchLevel >= min.value()", "bir.md 7.2 code 366")
    def arch_window(self) -> None:
        """The generation has the instruction."""
        arch = target_of(self)
        if arch is not None and arch.level < self.ROW.min_level:
            raise VerifyException(
                f"curArchLevel >= min.value(): {self.ROW.name} needs level "
                f"{self.ROW.min_level}, {arch.name} is {arch.level}"
            )


class BirDma(BirInstruction):
    """A DMA: the engine that triggers it, who builds its descriptors, its queue."""

    engine = prop_def(EngineAttr, default_value=EngineAttr(Engine.DMA))
    dge = prop_def(DgeTypeAttr, default_value=DgeTypeAttr(DgeType.UNASSIGNED))
    queue = opt_prop_def(StringAttr)

    @gate("InstDMA cannot be on PE engine", "dma.md 9.4")
    def trigger_engine(self) -> None:
        """The tensor engine triggers no DMA."""
        if self.engine.data is Engine.PE:
            raise VerifyException("InstDMA cannot be on PE engine")

    @gate(
        "Found Instruction with unsupported DGE type DGEType::HWDGE on Sunda Arch",
        "dma.md 9.4 DMA140",
    )
    def hardware_dge_arch(self) -> None:
        """Gen2 has no hardware descriptor generator."""
        arch = target_of(self)
        if arch is not None and not arch.has_hwdge and self.dge.data is DgeType.HWDGE:
            raise VerifyException(
                "Found Instruction with unsupported DGE type DGEType::HWDGE on Sunda "
                "Arch"
            )


@irdl_op_definition
class FuncOp(IRDLOperation):
    """`bir.func @add { ... }`: locations, then instructions."""

    name = "bir.func"

    sym_name = prop_def(SymbolNameConstraint())
    body = region_def("single_block")

    traits = traits_def(SymbolOpInterface(), IsolatedFromAbove(), NoTerminator())

    @classmethod
    def make(cls, name: str) -> Self:
        """A function with an empty body."""
        return cls.create(
            properties={"sym_name": StringAttr(name)}, regions=[Region(Block())]
        )

    def verify_(self) -> None:
        """Names of locations and of instructions are unique."""
        locations: set[str] = set()
        instructions: set[str] = set()
        for operation in self.body.walk():
            if isinstance(operation, LocationOp):
                name, seen = operation.location_name.data, locations
            elif isinstance(operation, Instruction):
                label = operation.inst_name
                if label is None:
                    continue
                name, seen = label.data, instructions
            else:
                continue
            if name in seen:
                raise VerifyException(f"name '{name}' is given twice")
            seen.add(name)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads `@name [attributes {...}] { ... }`."""
        name = parser.parse_symbol_name()
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        return cls.create(
            properties={"sym_name": name},
            attributes=attributes.data if attributes is not None else {},
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        """Writes the text `parse` reads."""
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)
        printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)


@irdl_op_definition
class ReturnOp(structure.Return):
    """Ends a function and names its outputs."""

    name = "bir.return"


@irdl_op_definition
class LoopOp(structure.For):
    """`InstLoop` (ordinal 105): a loop kept rolled."""

    name = "bir.loop"
    ROW: ClassVar = Row(105, "Loop")


@irdl_op_definition
class LocationOp(IRDLOperation):
    """
    A named memory location, alive from here to its last use.

    Its kind says what it is to the caller; an internal one is fresh each time the
    operation executes. `mutable` marks an input that is also written. A `Const` has
    contents and is read-only.

        %a = bir.location @a ExternalInput : <8x4xf32, hbm>
    """

    name = "bir.location"

    location_name = prop_def(StringAttr)
    kind = prop_def(TensorKindAttr, default_value=TensorKindAttr(TensorKind.INTERNAL))
    mutable = opt_prop_def(UnitAttr)
    contents = opt_prop_def(ContentsAttr)
    result = result_def(TensorType)

    traits = traits_def(MemoryAllocEffect(), MemoryWriteEffect())

    @classmethod
    def make(
        cls,
        kind: TensorType,
        name: str,
        role: TensorKind = TensorKind.INTERNAL,
        mutable: bool = False,
        contents: Contents | None = None,
    ) -> Self:
        """A location of this type and name."""
        properties: dict[str, Attribute] = {
            "location_name": StringAttr(name),
            "kind": TensorKindAttr(role),
        }
        if mutable:
            properties["mutable"] = UnitAttr()
        if contents is not None:
            properties["contents"] = ContentsAttr(contents)
        operation = cls.create(result_types=[kind], properties=properties)
        if SSAValue.is_valid_name(name):
            operation.results[0].name_hint = name
        return operation

    @property
    def tensor(self) -> TensorType:
        """The location's type."""
        kind = self.results[0].type
        assert isinstance(kind, TensorType)
        return kind

    def verify_(self) -> None:
        """What the caller sees is in HBM; only an input is mutable."""
        role = self.kind.data
        if role is not TensorKind.INTERNAL and self.tensor.space is not Space.HBM:
            raise VerifyException(
                f"location of kind {role} must be in hbm, got {self.tensor.space}"
            )
        if (self.contents is not None) != (role is TensorKind.CONST):
            raise VerifyException("a location has contents where its kind is Const")
        if self.contents is not None:
            self.contents.check(self.tensor.data)
        if self.mutable is not None and role is not TensorKind.INPUT:
            raise VerifyException(f"only an input is mutable, got kind {role}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads `@name [mutable] [kind [contents]] : <shape, space>`."""
        cursor = Cursor.at(parser)
        name = cursor.symbol()
        role, mutable = TensorKind.INTERNAL, False
        if not cursor.peek(":"):
            mutable = cursor.keyword("mutable")
            role = cursor.enum(TensorKind)
        contents = None if cursor.peek(":") else ContentsAttr.scan(cursor)
        cursor.expect(":")
        kind = structure.scan_type(cursor)
        resume(parser, cursor.pos)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        operation = cls.make(kind, name, role, mutable, contents)
        if attributes is not None:
            operation.attributes.update(attributes.data)
        return operation

    def print(self, printer: Printer) -> None:
        """Writes the text `parse` reads."""
        text = f" {symbol_text(self.location_name.data)}"
        if self.mutable is not None:
            text += " mutable"
        if self.kind.data is not TensorKind.INTERNAL or self.mutable is not None:
            text += f" {self.kind.data}"
        if self.contents is not None:
            text += f" {self.contents.render()}"
        printer.print_string(f"{text} : {render_tensor_spec(self.tensor.data)}")
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)


@irdl_op_definition
class LoadOp(dma.Load, BirDma):
    """HBM to SBUF."""

    name = "bir.load"
    ROW: ClassVar = Row(19, "Load")


@irdl_op_definition
class SaveOp(dma.Save, BirDma):
    """SBUF to HBM."""

    name = "bir.save"
    ROW: ClassVar = Row(22, "Save")

    @gate("Save has no op field", "dma.md 5.1")
    def save_without_op(self) -> None:
        """An accumulating store is a DMACopy."""
        if self.rmw_op is not None:
            raise VerifyException(
                "Save has no op field; an accumulating store is a bir.dma_copy"
            )


@irdl_op_definition
class DMACopyOp(dma.Copy, BirDma):
    """A copy between any of HBM and SBUF, accumulating with `rmw_op`."""

    name = "bir.dma_copy"
    ROW: ClassVar = Row(32, "DMACopy")


TRANSPOSE_RANK = 4
"""Dimensions of a transposing DMACopy, padded with unit dims (dma.md 13.14)."""


def _check_rank(operation: BirInstruction) -> None:
    for name in ("src", "dst"):
        rank = len(operation.data()[name].shape)
        if rank != TRANSPOSE_RANK:
            raise VerifyException(
                "DMA Tranpose must have 4-D access pattern. Explicitly writing AP is "
                f"required if slicing is not generating correct pattern (got {rank}-D "
                f"'{name}')"
            )


@irdl_op_definition
class DMACopyTransposeOp(transpose.DmaTranspose, BirDma):
    """A `DMACopy` of mode Transpose: XZYW, that is axes [3, 1, 2, 0]."""

    name = "bir.dma_copy_transpose"
    ROW: ClassVar = Row(32, "DMACopy")

    @gate(
        "DMA Tranpose must have 4-D access pattern. Explicitly writing AP is required "
        "if slicing is not generating correct pattern",
        "dma.md 9.3",
    )
    def four_dimensions(self) -> None:
        """Both sides have four dimensions."""
        _check_rank(self)


@irdl_op_definition
class DMACopyGatherTransposeOp(transpose.DmaIndirectTranspose, BirDma):
    """A `DMACopy` of mode Transpose over gathered rows, triggered by GpSIMD."""

    name = "bir.dma_copy_gather_transpose"
    ROW: ClassVar = Row(32, "DMACopy")

    @gate(
        "DGE xbar dynamic transpose only supports TransposeOps::XZYW, but it is "
        "TransposeOps::{actual}",
        "dma.md 9.7 BIR510",
    )
    def axes_per_rank(self) -> None:
        """Four dimensions, XZYW."""
        _check_rank(self)
        if self.permutation() != transpose.LEGAL_AXES[TRANSPOSE_RANK]:
            raise VerifyException(
                "DGE xbar dynamic transpose only supports TransposeOps::XZYW, but it "
                f"is {self.permutation()}"
            )

    @gate("Transpose with DynamicAP only on Pool", "dma.md 9.7")
    def gather_engine(self) -> None:
        """The software descriptor generator runs on GpSIMD."""
        if self.engine.data is not Engine.POOL:
            raise VerifyException(
                f"Transpose with DynamicAP only on Pool, got {self.engine.data}"
            )


@irdl_op_definition
class GenericIndirectLoadOp(dma.IndirectLoad, BirDma):
    """Gather by an index tensor."""

    name = "bir.generic_indirect_load"
    ROW: ClassVar = Row(42, "GenericIndirectLoad")


@irdl_op_definition
class GenericIndirectSaveOp(dma.IndirectSave, BirDma):
    """Scatter by an index tensor."""

    name = "bir.generic_indirect_save"
    ROW: ClassVar = Row(44, "GenericIndirectSave")


@irdl_op_definition
class IndirectSaveAccumulateOp(dma.IndirectAccumulate, BirDma):
    """Scatter-add by an index tensor, in index order."""

    name = "bir.indirect_save_accumulate"
    ROW: ClassVar = Row(46, "IndirectSaveAccumulate")


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
class MatmultOp(matrix.Matmul, BirInstruction):
    """A matrix product into PSUM."""

    name = "bir.matmult"
    ROW: ClassVar = Row(8, "Matmult")


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


@irdl_op_definition
class TensorLoadOp(gather.TensorLoad, BirInstruction):
    """One element into a register."""

    name = "bir.tensor_load"
    ROW: ClassVar = Row(75, "TensorLoad")


@irdl_op_definition
class DMATriggerOp(IRDLOperation):
    """
    Fires the next of its `dma.block`s, round-robin.

        bir.dma_trigger @I3 [@I3_0, @I3_1] {engine = SP, queue = "q0"}
    """

    name = "bir.dma_trigger"
    ROW: ClassVar = Row(67, "DMATrigger")

    inst_name = prop_def(StringAttr)
    blocks = prop_def(ArrayAttr[StringAttr])
    engine = prop_def(EngineAttr, default_value=EngineAttr(Engine.SP))
    queue = opt_prop_def(StringAttr)
    after = opt_prop_def(EdgesAttr)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @property
    def block_names(self) -> tuple[str, ...]:
        """Names of the blocks, in the order they fire."""
        return tuple(block.data for block in self.blocks)

    def verify_(self) -> None:
        """The blocks exist in the function, before the trigger's loops."""
        if not self.blocks.data:
            raise VerifyException("DMATrigger must have queue and block set")
        if self.engine.data is Engine.PE:
            raise VerifyException("InstDMA cannot be on PE engine")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads `@name [@block, ...] {fields}`."""
        cursor = Cursor.at(parser)
        properties: dict[str, Attribute] = {"inst_name": StringAttr(cursor.symbol())}
        cursor.expect("[")
        blocks = [StringAttr(cursor.symbol())]
        while cursor.accept(","):
            blocks.append(StringAttr(cursor.symbol()))
        cursor.expect("]")
        properties["blocks"] = ArrayAttr(blocks)
        if cursor.accept("{"):
            _scan_trigger_fields(cursor, properties)
        resume(parser, cursor.pos)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        return cls.create(
            properties=properties,
            attributes=attributes.data if attributes is not None else {},
        )

    def print(self, printer: Printer) -> None:
        """Writes the text `parse` reads."""
        blocks = ", ".join(symbol_text(name) for name in self.block_names)
        fields = [f"engine = {self.engine.data}"]
        if self.queue is not None:
            fields.append(f"queue = {quoted(self.queue.data)}")
        if self.after is not None:
            fields.append(f"after = [{self.after.render()}]")
        printer.print_string(
            f" {symbol_text(self.inst_name.data)} [{blocks}] {{{', '.join(fields)}}}"
        )
        if self.attributes:
            printer.print_string(" attributes ")
            printer.print_attr_dict(self.attributes)


def _scan_trigger_fields(cursor: Cursor, properties: dict[str, Attribute]) -> None:
    while True:
        start = cursor.pos
        name = cursor.word()
        if name in properties or name not in ("engine", "queue", "after"):
            cursor.fail(f"expected one of engine, queue, after, got '{name}'", start)
        cursor.expect("=")
        if name == "engine":
            properties[name] = EngineAttr(cursor.enum(Engine))
        elif name == "queue":
            properties[name] = StringAttr(cursor.string())
        else:
            cursor.expect("[")
            properties[name] = EdgesAttr(EdgesAttr.scan(cursor))
            cursor.expect("]")
        if not cursor.accept(","):
            break
    cursor.expect("}")


def enclosing_function(operation: Operation) -> FuncOp | None:
    """The function an operation stands in."""
    parent = operation.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        parent = parent.parent_op()
    return parent


Bir = Dialect(
    "bir",
    [
        FuncOp,
        ReturnOp,
        LoopOp,
        LocationOp,
        LoadOp,
        SaveOp,
        DMACopyOp,
        DMACopyTransposeOp,
        DMACopyGatherTransposeOp,
        GenericIndirectLoadOp,
        GenericIndirectSaveOp,
        IndirectSaveAccumulateOp,
        TensorTensorOp,
        TensorScalarPtrOp,
        ActivationOp,
        ReciprocalOp,
        TensorCopyOp,
        MemsetOp,
        IotaOp,
        CopyPredicatedOp,
        SelectOp,
        MatmultOp,
        StreamTransposeOp,
        TensorReduceOp,
        StreamShuffleOp,
        IndirectCopyOp,
        GatherOp,
        TensorLoadOp,
        DMATriggerOp,
    ],
    [],
)
