"""DMA whose side in HBM picks rows by an index tensor: gathers and scatters."""

from dataclasses import replace
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.irdl import (
    operand_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instructions.dma import (
    INDEX_DTYPES,
    DmaInstruction,
    check_add_only,
)
from xdsl_neuron.dialects.neuron import (
    AluOpAttr,
    DgeTypeAttr,
    OobModeAttr,
    TensorType,
)
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.isa import AluOp, DgeType, OobMode, Space


def widened(operand: Operand, axis: int, limit: int) -> Operand:
    """The operand with `limit` rows along the dimension an index replaces."""
    pairs = list(operand.access.pairs)
    if not 0 <= axis < len(pairs):
        return operand
    pairs[axis] = (pairs[axis][0], max(limit, 1))
    access = replace(operand.access, pairs=tuple(pairs))
    return replace(operand, access=access)


class IndirectInstruction(DmaInstruction):
    """
    A DMA whose HBM side picks rows by an index tensor in SBUF.

    Along dimension `indirect_dim` of the HBM access, position k is replaced by
    `index[k]`: the element's offset is `offset + step * index[k]` plus the other
    dimensions. `max_index` bounds the index; beyond it `oob` decides. An index of -1
    is skipped (bir.md 6.3).
    """

    INDEXED: ClassVar[str]
    """Name of the operand in HBM."""

    indirect_dim = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    max_index = prop_def(IntegerAttr)
    oob = prop_def(OobModeAttr, default_value=OobModeAttr(OobMode.ERROR))
    dge = prop_def(DgeTypeAttr, default_value=DgeTypeAttr(DgeType.UNASSIGNED))

    def kept_outputs(self) -> tuple[str, ...]:
        """An index names some rows, and one that is out of bounds none."""
        return self.OUTS

    @property
    def axis(self) -> int:
        """The indexed dimension of the HBM access."""
        return self.indirect_dim.value.data

    @property
    def limit(self) -> int:
        """Indices are below this."""
        return self.max_index.value.data

    def lane_dims(self, data: dict[str, Operand]) -> dict[str, tuple[int, ...]]:
        """Elementwise; the index runs along the indexed dimension's lane."""
        found = super().lane_dims(data)
        index = data["index"].shape
        found["index"] = (self.axis, *(-1 for _ in index[1:]))
        return found

    def indexed_dim(self, name: str) -> int | None:
        """The indexed dimension of the HBM operand."""
        return self.axis if name == self.INDEXED else None

    def reachable(self, operand: Operand) -> Operand:
        """The access that covers every row the index can name."""
        if operand.name != self.INDEXED:
            return operand
        return widened(operand, self.axis, self.limit)

    @gate(
        "Indirect indexing on free dimension not supported, must be partition "
        "dimension or block dimension.",
        "penguin.md 4.3",
        stage=Stage.INDIRECT,
    )
    def indexed_dimension(self) -> None:
        """The indexed dimension is the first, which runs along partitions."""
        data = self.data()
        if self.axis != 0 or not data[self.INDEXED].access.pairs:
            raise VerifyException(
                "Indirect indexing on free dimension not supported, must be partition "
                f"dimension or block dimension. Got dimension {self.axis}"
            )
        if data[self.INDEXED].space is not Space.HBM:
            raise VerifyException(
                f"Indirect tensor `{self.INDEXED}` of Vector DGE DMACopy must have "
                "MemoryType::DRAM, but it has "
                f"MemoryType::{data[self.INDEXED].space}"
            )

    @gate(
        "DynamicAPINFO::IndirectDimMaxIndex must be > 0",
        "dma.md 9.6 BIR030",
        stage=Stage.INDIRECT,
    )
    def positive_limit(self) -> None:
        """At least one row can be named."""
        if self.limit <= 0:
            raise VerifyException(
                f"DynamicAPINFO::IndirectDimMaxIndex must be > 0, got {self.limit}"
            )

    @gate(
        "Indirect indices tile must be on SBUF.", "penguin.md 4.3", stage=Stage.INDIRECT
    )
    def index_tile(self) -> None:
        """The index is 32-bit integers in SBUF, one for each row."""
        data = self.data()
        index = data["index"]
        if index.space is not Space.SBUF:
            raise VerifyException(f"Indirect indices tile must be on SBUF. Got {index}")
        if index.dtype not in INDEX_DTYPES:
            names = ", ".join(dtype.nki_name for dtype in INDEX_DTYPES)
            raise VerifyException(
                f"Unsupported dtype '{index.dtype.nki_name}' of 'index', expected one "
                f"of the following dtypes: {names}"
            )
        rows = data[self.INDEXED].access.pairs[self.axis][1]
        if index.access.count != rows:
            raise VerifyException(
                "GenericIndirectLoad/Save must have 1 element per partition for "
                f"IndexAP: {rows} rows, {index.access.count} indices"
            )


class IndirectLoad(IndirectInstruction):
    """Gathers rows of an HBM tensor into SBUF."""

    INS: ClassVar = ("src", "index")
    INDEXED: ClassVar = "src"

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    index = operand_def(TensorType)

    @gate("gather destination in SBUF", "dma.md 9.6 BIR231")
    def gather_direction(self) -> None:
        """Rows land in SBUF."""
        dst = self.data()["dst"]
        if dst.space is not Space.SBUF:
            raise VerifyException(
                "Non-indirect tensor `dst` of Vector DGE DMACopy must have "
                f"MemoryType::SB, but it has MemoryType::{dst.space}"
            )


class IndirectSave(IndirectInstruction):
    """Scatters rows from SBUF into an HBM tensor; the last of equal indices wins."""

    INS: ClassVar = ("src", "index")
    INDEXED: ClassVar = "dst"

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    index = operand_def(TensorType)

    @gate("scatter source in SBUF", "dma.md 9.6 BIR231")
    def scatter_direction(self) -> None:
        """Rows come from SBUF."""
        src = self.data()["src"]
        if src.space is not Space.SBUF:
            raise VerifyException(
                "Non-indirect tensor `src` of Vector DGE DMACopy must have "
                f"MemoryType::SB, but it has MemoryType::{src.space}"
            )


class IndirectAccumulate(IndirectSave):
    """Adds rows from SBUF to rows of an HBM tensor, in index order."""

    op = prop_def(AluOpAttr, default_value=AluOpAttr(AluOp.ADD))

    @gate("scatter op can only support bypass or add for now", "penguin.md 6.1")
    def scatter_op(self) -> None:
        """Only add accumulates in memory."""
        check_add_only(self.op)

    @gate("scatter add cannot have other modes except for error", "penguin.md 6.1")
    def scatter_bounds(self) -> None:
        """An accumulating scatter does not skip."""
        if self.oob.data is not OobMode.ERROR:
            raise VerifyException(
                "scatter add cannot have other modes except for error, got "
                f"oob_mode.{self.oob.data}"
            )
