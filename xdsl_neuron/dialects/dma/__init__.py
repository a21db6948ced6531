"""
The `dma` dialect: what the DMA queues execute.

A `dma.block` is a list of descriptors that a `bir.dma_trigger` fires. A descriptor's
accesses are in bytes: offset and steps count bytes, an element is as wide as its
type. On chip an address is (partition, byte). Limits are those of the DIRECT2D word
(dma.md 8.1): one contiguous run and two strided dimensions on each side.
"""

import sys
from typing import ClassVar, Self

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Block, Dialect, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, NoTerminator
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.defined import operations_in
from xdsl_neuron.dialects.effects import Effect
from xdsl_neuron.dialects.function_names import check_block_name
from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instruction_text import symbol_text
from xdsl_neuron.dialects.instructions.dma import combined
from xdsl_neuron.dialects.instructions.dma_fold import SOURCES, FoldedSources
from xdsl_neuron.dialects.instructions.dma_indirect import widened
from xdsl_neuron.dialects.neuron import (
    AluOpAttr,
    DTypeAttr,
    OobModeAttr,
    TensorType,
)
from xdsl_neuron.dialects.neuron.text import Cursor, resume
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp, OobMode

RUN_BYTES_MAX = Arch.max_descriptor_bytes
COUNT_MAX = Arch.max_descriptor_count
STEP_MAX = Arch.max_descriptor_step_bytes
STRIDED_DIMS_MAX = 2
"""Strided dimensions of one side of a DIRECT2D word (dma.md 8.1)."""


@irdl_op_definition
class BlockOp(IRDLOperation):
    """
    A named list of descriptors; a trigger fires it.

        dma.block @I3 { ... }
    """

    name = "dma.block"

    block_name = prop_def(StringAttr)
    body = region_def("single_block")

    traits = traits_def(NoTerminator(), MemoryReadEffect(), MemoryWriteEffect())

    @classmethod
    def make(cls, name: str) -> Self:
        """A block without descriptors."""
        return cls.create(
            properties={"block_name": StringAttr(name)}, regions=[Region(Block())]
        )

    def verify_(self) -> None:
        """A block holds descriptors only, and has a name of its own."""
        check_block_name(self, self.block_name.data)
        for operation in self.body.block.ops:
            if not isinstance(operation, Descriptor):
                raise VerifyException(
                    f"a dma.block holds descriptors, got {operation.name}"
                )

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Reads `@name { ... }`."""
        cursor = Cursor.at(parser)
        name = cursor.symbol()
        resume(parser, cursor.pos)
        attributes = parser.parse_optional_attr_dict_with_keyword()
        region = parser.parse_region()
        if not region.blocks:
            region.add_block(Block())
        return cls.create(
            properties={"block_name": StringAttr(name)},
            attributes=attributes.data if attributes is not None else {},
            regions=[region],
        )

    def print(self, printer: Printer) -> None:
        """Writes `@name { ... }`."""
        printer.print_string(f" {symbol_text(self.block_name.data)} ")
        if self.attributes:
            printer.print_string("attributes ")
            printer.print_attr_dict(self.attributes)
            printer.print_string(" ")
        printer.print_region(self.body, print_empty_block=False)


def dtype_property(name: str) -> str:
    """The property that holds the element type of a descriptor's side."""
    return f"{name}_dtype"


class Descriptor(Instruction):
    """
    A transfer the queue executes: `dst` and `src` in bytes, with element types.

    Unlike other instructions, an access's offset and steps are bytes and its
    elements are of `dst_dtype` and `src_dtype`.
    """

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)
    HEADER: ClassVar = ("dst_dtype", "src_dtype")

    dst_dtype = prop_def(DTypeAttr)
    src_dtype = prop_def(DTypeAttr)

    def sides(self) -> list[Operand]:
        """The operands whose elements are moved, the destination first."""
        return [o for name, o in self.data().items() if name != "index"]

    def element_type(self, name: str) -> DType:
        """The element type of one side; the default where it does not say."""
        found = self.properties.get(dtype_property(name))
        return found.data if isinstance(found, DTypeAttr) else self.src_dtype.data

    def element_bytes(self, name: str) -> int:
        """Bytes of an element on one side."""
        return self.element_type(name).bytes

    @gate(
        "Out-of-bound access for tensor `...` on dimension ... index range ... "
        "exceed dimension size of ...",
        "penguin.md 4.4",
        stage=Stage.BASE,
    )
    def access_bounds(self) -> None:
        """Every byte lies in its location."""
        given = self.accesses
        names = self.layout().names
        stated = () if given is None else zip(names, given.data, strict=True)
        accesses = {name for name, access in stated if access is not None}
        if any(name not in accesses for name in self.data_values()):
            raise VerifyException("a descriptor states the access of each side")
        for name, operand in self.data().items():
            if operand.access.positions:
                raise VerifyException("DMA descriptor cannot have dynamic AP")
            self.check_bytes(self.reachable(operand), self.element_bytes(name))

    def check_bytes(self, operand: Operand, element_bytes: int) -> None:
        """Bounds of one side, in bytes."""
        access, spec = operand.access, operand.type.data
        if (access.partition is not None) != spec.space.on_chip:
            raise VerifyException(
                f"access to {operand.label} does not fit its space {spec.space}"
            )
        pairs = access.pairs
        if access.partition is not None:
            if not pairs:
                raise VerifyException(f"access to {operand.label} has no partitions")
            step, num = pairs[0]
            last = access.partition.constant + step * (num - 1)
            if step < 0 or access.partition.constant < 0 or last >= spec.shape[0]:
                raise VerifyException(
                    f"Out-of-bound access for tensor `{operand.label}` on dimension 0 "
                    f"index range [{access.partition.constant}, {last}] exceed "
                    f"dimension size of {spec.shape[0]}"
                )
            pairs = pairs[1:]
        start = access.offset.constant
        low = start + sum(min(0, step * (num - 1)) for step, num in pairs)
        high = start + sum(max(0, step * (num - 1)) for step, num in pairs)
        if low < 0 or high + element_bytes > spec.bytes_per_partition:
            raise VerifyException(
                f"Out-of-bound access for tensor `{operand.label}` on dimension 1 "
                f"(bytes) index range [{low}, {high + element_bytes - 1}] exceed "
                f"dimension size of {spec.bytes_per_partition}"
            )
        self._check_alignment(operand, start, pairs, element_bytes)

    def _check_alignment(
        self,
        operand: Operand,
        start: int,
        pairs: tuple[tuple[int, int], ...],
        element_bytes: int,
    ) -> None:
        steps = (start, *(step for step, num in pairs if num > 1))
        if any(step % element_bytes for step in steps):
            raise VerifyException(
                f"Access must be aligned to datatype, {operand.space} start address "
                f"{start} for memory location {operand.label} must be {element_bytes} "
                f"bytes aligned for data type of {element_bytes} bytes."
            )

    @gate("DMA instruction must read and write same number of elements", "dma.md 9.8")
    def equal_counts(self) -> None:
        """Both sides have the same number of elements."""
        dst, *sources = self.sides()
        for src in sources:
            if dst.access.count != src.access.count:
                raise VerifyException(
                    "DMA instruction must read and write same number of elements, got "
                    f"{dst.access.count} and {src.access.count}"
                )

    @gate(
        "three dims per side at most: one contiguous run and two strided dims",
        "dma.md 8.1",
    )
    def descriptor_limits(self) -> None:
        """What the DIRECT2D word can say."""
        for operand in self.sides():
            self._check_limits(operand, self.element_bytes(operand.name))

    def _check_limits(self, operand: Operand, element_bytes: int) -> None:
        pairs = [pair for pair in operand.access.pairs if pair[1] > 1]
        run = element_bytes
        if pairs and not (operand.space.on_chip and len(operand.access.pairs) == 1):
            step, num = pairs[-1]
            if step == element_bytes:
                pairs.pop()
                run = num * element_bytes
        if run > RUN_BYTES_MAX or len(pairs) > STRIDED_DIMS_MAX:
            raise VerifyException(
                f"a descriptor side has one contiguous run of at most {RUN_BYTES_MAX} "
                f"bytes and {STRIDED_DIMS_MAX} strided dimensions, got a run of {run} "
                f"bytes and {len(pairs)} dimensions for {operand.label}"
            )
        for step, num in pairs:
            if num > COUNT_MAX or abs(step) > STEP_MAX:
                raise VerifyException(
                    f"a descriptor dimension has at most {COUNT_MAX} steps of 32 bits, "
                    f"got {num} steps of {step} bytes for {operand.label}"
                )


@irdl_op_definition
class CopyOp(Descriptor):
    """Copies, casting through fp32 where the element types differ (ordinal 69)."""

    name = "dma.copy"

    dst = operand_def(TensorType)
    src = operand_def(TensorType)


@irdl_op_definition
class ReplicateOp(Descriptor):
    """Copies the rows of `src` to `dst` again and again (ordinal 72)."""

    name = "dma.replicate"

    dst = operand_def(TensorType)
    src = operand_def(TensorType)

    @gate(
        "Replicate: replication count = dst partitions / src partitions",
        "dma.md 7.12",
    )
    def equal_counts(self) -> None:
        """Rows of the same length, a whole number of times as many in `dst`."""
        data = self.data()
        dst, src = data["dst"].shape, data["src"].shape
        if len(dst) != 2 or len(src) != 2 or dst[1] != src[1] or dst[0] % src[0]:
            raise VerifyException(
                f"replicates 2-D rows a whole number of times, got {list(src)} and "
                f"{list(dst)}"
            )


class TransposeDescriptor(Descriptor):
    """A descriptor that permutes dimensions: `axes` as in `dma_transpose`."""

    axes = prop_def(DenseArrayBase.constr(i64))

    def permutation(self) -> tuple[int, ...]:
        """For each dimension of `dst`, the dimension of `src` it is."""
        return self.axes.get_values()

    @gate("Source and destination access pattern must be 4-D", "dma.md 9.7")
    def descriptor_limits(self) -> None:
        """Four dimensions on both sides, the outer two swapped."""
        data = self.data()
        src, dst = data["src"].shape, data["dst"].shape
        if len(src) != 4 or len(dst) != 4 or sorted(self.permutation()) != [0, 1, 2, 3]:
            raise VerifyException(
                "Source and destination access pattern must be 4-D, got "
                f"{list(src)} and {list(dst)} with axes {list(self.permutation())}"
            )
        if tuple(src[axis] for axis in self.permutation()) != dst:
            raise VerifyException(
                "DMA transpose outer dimensions are not transposed. "
                f"[{src[0]}, {src[3]}] (in) -> [{dst[0]}, {dst[3]}] (out)"
            )

    @gate(
        "DMA transpose input and output should have the same type, but it has in "
        "Dtype::{in} out Dtype::{out}",
        "dma.md 9.7 BIR511",
    )
    def same_dtype(self) -> None:
        """A transpose moves bits."""
        src, dst = self.src_dtype.data, self.dst_dtype.data
        if src is not dst:
            raise VerifyException(
                "DMA transpose input and output should have the same type, but it has "
                f"in Dtype::{src.bir_name} out Dtype::{dst.bir_name}"
            )


@irdl_op_definition
class TransposeOp(TransposeDescriptor):
    """Copies with permuted dimensions (ordinal 71)."""

    name = "dma.transpose"

    dst = operand_def(TensorType)
    src = operand_def(TensorType)


@irdl_op_definition
class CceOp(Descriptor):
    """Combines into the destination: `dst = dst op src` in fp32 (ordinal 70)."""

    name = "dma.cce"

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    op = prop_def(AluOpAttr, default_value=AluOpAttr(AluOp.ADD))

    def effect(self, name: str) -> Effect:
        """The destination is read before it is written."""
        return combined(super().effect(name), self.op)

    @gate(
        "DMADescriptorCCE does not support {op} in instruction {name}",
        "dma.md 9.5 BIR063",
    )
    def cce_op(self) -> None:
        """Only add accumulates in memory."""
        if self.op.data is not AluOp.ADD:
            raise VerifyException(
                f"DMADescriptorCCE does not support {self.op.data} in instruction "
                f"{self.name}"
            )


@irdl_op_definition
class FoldOp(FoldedSources, Descriptor):
    """Folds several sources in fp32 (ordinal 70); each has its element type."""

    name = "dma.fold"

    src1_dtype = opt_prop_def(DTypeAttr)
    src2_dtype = opt_prop_def(DTypeAttr)
    src3_dtype = opt_prop_def(DTypeAttr)
    src4_dtype = opt_prop_def(DTypeAttr)
    src5_dtype = opt_prop_def(DTypeAttr)
    src6_dtype = opt_prop_def(DTypeAttr)
    src7_dtype = opt_prop_def(DTypeAttr)
    src8_dtype = opt_prop_def(DTypeAttr)
    src9_dtype = opt_prop_def(DTypeAttr)
    src10_dtype = opt_prop_def(DTypeAttr)
    src11_dtype = opt_prop_def(DTypeAttr)
    src12_dtype = opt_prop_def(DTypeAttr)
    src13_dtype = opt_prop_def(DTypeAttr)
    src14_dtype = opt_prop_def(DTypeAttr)
    src15_dtype = opt_prop_def(DTypeAttr)

    @gate("an element type for each source", "dma.md 4", "our choice")
    def source_types(self) -> None:
        """Those that are there have one, and no other."""
        present = self.data_values()
        for name in SOURCES:
            if (name in present) != (dtype_property(name) in self.properties):
                raise VerifyException(
                    f"source '{name}' and its '{dtype_property(name)}' go together"
                )


class IndirectDescriptor(Descriptor):
    """
    Rows picked by 32-bit indices in SBUF (the INDIRECT1D word, dma.md 8.5).

    In the HBM access, position k of the first dimension is replaced by `index[k]`.
    """

    INS: ClassVar = ("src", "index")
    INDEXED: ClassVar[str]

    max_index = prop_def(IntegerAttr)
    oob = prop_def(OobModeAttr, default_value=OobModeAttr(OobMode.ERROR))

    def kept_outputs(self) -> tuple[str, ...]:
        """An index names some rows, and one that is out of bounds none."""
        return self.OUTS

    @property
    def limit(self) -> int:
        """Indices are below this."""
        return self.max_index.value.data

    def element_bytes(self, name: str) -> int:
        """Bytes of an element; an index has four."""
        return 4 if name == "index" else super().element_bytes(name)

    def reachable(self, operand: Operand) -> Operand:
        """The access that covers every row the index can name."""
        if operand.name != self.INDEXED:
            return operand
        return widened(operand, 0, self.limit)

    @gate("one index for each row", "dma.md 9.6")
    def index_count(self) -> None:
        """As many indices as rows, all of them reachable."""
        data = self.data()
        indexed = data[self.INDEXED]
        if not indexed.access.pairs or indexed.space.on_chip:
            raise VerifyException("the indexed side must be rows in hbm")
        if self.limit <= 0:
            raise VerifyException(
                f"DynamicAPINFO::IndirectDimMaxIndex must be > 0, got {self.limit}"
            )
        rows = indexed.access.pairs[0][1]
        if data["index"].access.count != rows:
            raise VerifyException(
                f"{rows} rows take as many indices, got {data['index'].access.count}"
            )


@irdl_op_definition
class GatherOp(IndirectDescriptor):
    """Rows of HBM into SBUF."""

    name = "dma.gather"
    INDEXED: ClassVar = "src"

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    index = operand_def(TensorType)


@irdl_op_definition
class GatherTransposeOp(IndirectDescriptor, TransposeDescriptor):
    """Rows of HBM picked by an index, transposed into SBUF."""

    name = "dma.gather_transpose"
    INDEXED: ClassVar = "src"

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    index = operand_def(TensorType)


@irdl_op_definition
class ScatterOp(IndirectDescriptor):
    """Rows of SBUF into HBM, overwriting (`bypass`) or adding, in index order."""

    name = "dma.scatter"
    INDEXED: ClassVar = "dst"

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    index = operand_def(TensorType)
    op = prop_def(AluOpAttr, default_value=AluOpAttr(AluOp.BYPASS))

    @gate(
        "Invalid AluOpType '{given}' for DGE_COMPUTE_OP. Must be 'bypass' or 'add'",
        "dma.md 9.5 XCG986",
    )
    def scatter_op(self) -> None:
        """Overwrite or add."""
        if self.op.data not in (AluOp.BYPASS, AluOp.ADD):
            raise VerifyException(
                f"Invalid AluOpType '{self.op.data}' for DGE_COMPUTE_OP. Must be "
                "'bypass' or 'add'"
            )


Dma = Dialect("dma", operations_in(sys.modules[__name__]), [])
