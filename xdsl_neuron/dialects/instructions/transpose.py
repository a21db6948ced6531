"""Transposes made by the DMA engines."""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64
from xdsl.irdl import operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instruction import target_of
from xdsl_neuron.dialects.instructions.descriptor_generators import (
    TRANSPOSED_PATTERNS,
    check_transposed_patterns,
)
from xdsl_neuron.dialects.instructions.dma import DmaInstruction
from xdsl_neuron.dialects.instructions.dma_indirect import widened
from xdsl_neuron.dialects.neuron import DgeTypeAttr, OobModeAttr, TensorType
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import DgeType, OobMode, Space

LEGAL_AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
"""The one permutation per rank (penguin.md 6.1); all are XZYW with unit dims."""

HARDWARE_ROWS = (1, 2, 4, 8, 16)
"""Rows of a transpose by the hardware's descriptor generator (NKI 0.6)."""

GATHER_PARTITIONS = 16
"""Indices of a gather transpose come in multiples of this (dma.md 9.7)."""


def _check_hardware_rows(shape: tuple[int, ...]) -> None:
    """
    The crossbar takes 16 rows at a time, which may be those of several dimensions.

    Unit dimensions in the middle are those that lowering adds to rank 2.
    """
    rows, depth = shape[0], 1 if len(shape) == 2 else shape[-2]
    if rows == 16 or (rows in HARDWARE_ROWS and depth > 1 and rows * depth % 16 == 0):
        return
    raise VerifyException(
        f"Hardware DGE transpose src tile must have 16 partitions, but it has {rows}; "
        f"of rank 3 and 4 also 1, 2, 4 or 8 where they and the last dimension but one "
        f"are a multiple of 16, got {list(shape)}"
    )


class DmaTranspose(DmaInstruction):
    """`dst = permute(src, axes)`: the outermost and innermost dimensions swap."""

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    axes = prop_def(DenseArrayBase.constr(i64))
    dge = prop_def(DgeTypeAttr, default_value=DgeTypeAttr(DgeType.UNASSIGNED))
    oob = prop_def(OobModeAttr, default_value=OobModeAttr(OobMode.ERROR))

    def permutation(self) -> tuple[int, ...]:
        """For each dimension of `dst`, the dimension of `src` it is."""
        return self.axes.get_values()

    def lane_shape(self, data: dict[str, Operand]) -> tuple[int, ...]:
        """The source's dimensions."""
        return data["src"].shape

    def lane_dims(self, data: dict[str, Operand]) -> dict[str, tuple[int, ...]]:
        """The output's dimensions are the source's, permuted."""
        rank = len(data["src"].shape)
        found = {"src": tuple(range(rank)), "dst": self.permutation()}
        if "index" in data:
            found["index"] = (0, *(-1 for _ in data["index"].shape[1:]))
        return found

    @gate(
        "... provided for 2D transpose, only (1, 0) supported. | ... 3D transpose, "
        "only (2, 1, 0) supported. | ... 4D transpose, only (3, 1, 2, 0) supported. | "
        "unsupported tile.ndim",
        "penguin.md 6.1",
    )
    def axes_per_rank(self) -> None:
        """The permutations the engines know."""
        rank = len(self.data()["src"].shape)
        axes = self.permutation()
        legal = LEGAL_AXES.get(rank)
        if legal is None:
            raise VerifyException(
                f"unsupported tile.ndim {rank}; a DMA transposes rank 2, 3 or 4"
            )
        if axes != legal:
            raise VerifyException(
                f"{axes} provided for {rank}D transpose, only {legal} supported."
            )

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def permuted_shape(self) -> None:
        """The output has the source's dimensions, permuted."""
        data = self.data()
        src, dst = data["src"].shape, data["dst"].shape
        expected = tuple(src[axis] for axis in self.permutation())
        if dst != expected:
            raise VerifyException(
                f"tile shape mismatch, expected '{list(expected)}' for 'dst', got "
                f"{list(dst)}"
            )

    @gate(
        "DMA transpose input and output should have the same type, but it has in "
        "Dtype::{in} out Dtype::{out}",
        "dma.md 9.7 BIR511",
    )
    def same_dtype(self) -> None:
        """A transpose moves bits."""
        data = self.data()
        src, dst = data["src"].dtype, data["dst"].dtype
        if src is not dst:
            raise VerifyException(
                "DMA transpose input and output should have the same type, but it has "
                f"in Dtype::{src.bir_name} out Dtype::{dst.bir_name}"
            )

    @gate("in-place: never for transpose instructions", "bir.md 7.7")
    def not_in_place(self) -> None:
        """The same elements in another order are read after they are written."""
        data = self.data()
        dst, src = data["dst"], data["src"]
        if dst.value is src.value and dst.access == src.access:
            raise VerifyException(
                f"'{self.name}' cannot write `{dst.label}` in place; write to another "
                "tile"
            )

    @gate("Transpose dst must be in SB, but it is in {actual}", "dma.md 9.7 BIR172")
    def transpose_destination(self) -> None:
        """The transposed tile lands in SBUF."""
        dst = self.data()["dst"]
        if dst.space is not Space.SBUF:
            raise VerifyException(
                f"Transpose dst must be in SB, but it is in {dst.space}"
            )

    @gate(
        "oob_mode.skip is not supported for direct memory access. Only oob_mode.error "
        "is allowed (got ...)",
        "penguin.md 6.1",
    )
    def direct_bounds(self) -> None:
        """A direct access has no index that could be out of bounds."""
        if self.oob.data is OobMode.SKIP:
            raise VerifyException(
                "oob_mode.skip is not supported for direct memory access. Only "
                "oob_mode.error is allowed (got oob_mode.skip)"
            )

    @gate(
        "SWDGE is not a valid dge_mode for non-indirect dma_transpose | Hardware DGE "
        "transpose src tile must have 16 partitions, but it has ... | ... <=128 "
        "columns ... | ... can only be used for 2 byte data types ...",
        "penguin.md 7 dma_transpose; nki.isa.dma_transpose of NKI 0.6",
    )
    def transpose_dge(self) -> None:
        """What the hardware descriptor generator transposes."""
        dge = self.dge.data
        if dge is DgeType.SWDGE:
            raise VerifyException(
                "SWDGE is not a valid dge_mode for non-indirect dma_transpose"
            )
        if dge is not DgeType.HWDGE:
            return
        src = self.data()["src"]
        _check_hardware_rows(src.shape)
        if src.shape[-1] > 128:
            raise VerifyException(
                "Hardware DGE transpose src tile must have <=128 columns, but it has "
                f"{src.shape[-1]}"
            )
        if src.dtype.bytes != 2:
            raise VerifyException(
                "Hardware DGE DMA transpose can only be used for 2 byte data types, "
                f"but the type is {src.dtype.nki_name}"
            )

    @gate(TRANSPOSED_PATTERNS, "dma.md 9.7 BIR155, BIR177, BIR178, BIR179, BIR180")
    def transposed_patterns(self) -> None:
        """What the crossbar reads and writes, where hardware makes the descriptors."""
        if self.dge.data is DgeType.HWDGE:
            data = self.data()
            check_transposed_patterns(data["src"], data["dst"])


class DmaIndirectTranspose(DmaTranspose):
    """Gathers rows of an HBM tensor by an index and transposes them."""

    INS: ClassVar = ("src", "index")

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    index = operand_def(TensorType)
    max_index = prop_def(IntegerAttr)

    def kept_outputs(self) -> tuple[str, ...]:
        """An index that is out of bounds may name no row."""
        return self.OUTS

    @property
    def limit(self) -> int:
        """Indices are below this."""
        return self.max_index.value.data

    def indexed_dim(self, name: str) -> int | None:
        """Rows of the source are picked."""
        return 0 if name == "src" else None

    def reachable(self, operand: Operand) -> Operand:
        """The access that covers every row the index can name."""
        return widened(operand, 0, self.limit) if operand.name == "src" else operand

    @gate("... provided for gather transpose, only 3D supported.", "penguin.md 6.1")
    def axes_per_rank(self) -> None:
        """A gather transpose has rank 3."""
        rank = len(self.data()["src"].shape)
        if rank != 3 or self.permutation() != LEGAL_AXES[3]:
            raise VerifyException(
                f"{self.permutation()} of rank {rank} provided for gather transpose, "
                "only 3D supported."
            )

    @gate("oob_mode of a gather transpose", "nki.md 1.1 dma_transpose", "inferred")
    def direct_bounds(self) -> None:
        """An index may be out of bounds, so both modes are legal."""

    @gate("Indirect DMA transpose operations must use SWDGE mode", "penguin.md 7")
    def transpose_dge(self) -> None:
        """The software descriptor generator gathers."""
        if self.dge.data not in (DgeType.UNASSIGNED, DgeType.SWDGE):
            raise VerifyException(
                "Indirect DMA transpose operations must use SWDGE mode, got "
                f"{self.dge.data}"
            )

    @gate(
        "DMA transpose with a vector of dynamic offsets is not supported on trn1",
        "dma.md 9.7 BIR519",
        stage=Stage.ARCH,
    )
    def gather_arch(self) -> None:
        """Gen2's engines do not gather and transpose."""
        arch = target_of(self)
        if arch is not None and arch.level <= 20:
            raise VerifyException(
                "DMA transpose with a vector of dynamic offsets is not supported on "
                "trn1"
            )

    @gate(
        "Source tensor for DMA gather transpose must have 2B dtype | Fast dimension "
        "of source tensor for DMA gather transpose must be <=128 | Indices tensor for "
        "DMA gather transpose must have shape Nx1 | ... uint32 dtype | Size of indices "
        "tensor for DMA gather transpose must be multiple of 16",
        "penguin.md 7 dma_transpose",
    )
    def gather_operands(self) -> None:
        """Two-byte rows of at most 128 elements, 16n indices."""
        data = self.data()
        src, index = data["src"], data["index"]
        if src.space is not Space.HBM:
            raise VerifyException(
                f"Source tensor for DMA gather transpose must be in hbm, got {src}"
            )
        if src.dtype.bytes != 2:
            raise VerifyException(
                "Source tensor for DMA gather transpose must have 2B dtype, got "
                f"{src.dtype.nki_name}"
            )
        if src.shape[-1] > 128:
            raise VerifyException(
                "Fast dimension of source tensor for DMA gather transpose must be "
                f"<=128, got {src.shape[-1]}"
            )
        if index.free_count != 1 or index.space is not Space.SBUF:
            raise VerifyException(
                "Indices tensor for DMA gather transpose must have shape Nx1, got "
                f"{index}"
            )
        if index.dtype is not DType.UINT32:
            raise VerifyException(
                "Indices tensor for DMA gather transpose must have uint32 dtype, got "
                f"{index.dtype.nki_name}"
            )
        if index.partitions % GATHER_PARTITIONS or index.partitions != src.shape[0]:
            raise VerifyException(
                "Size of indices tensor for DMA gather transpose must be multiple of "
                f"16 and the number of rows, got {index.partitions} for "
                f"{src.shape[0]} rows"
            )
        if self.limit <= 0:
            raise VerifyException(
                f"DynamicAPINFO::IndirectDimMaxIndex must be > 0, got {self.limit}"
            )
