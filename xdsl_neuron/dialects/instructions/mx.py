"""
Microscaling (trn3): blocks of 8 partitions x 4 elements share a power of two.

Data is packed, four elements to a container. A scale operand has one exponent for each
block: rows of blocks one after another, or row i at partition (i & 3) + 32 * (i >> 2)
of an access with as many partitions as the data.
"""

from collections.abc import Iterator
from math import prod
from typing import ClassVar

from xdsl.irdl import operand_def, opt_operand_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instructions.checks import (
    check_count,
    check_dtype,
    check_has,
    check_partitions,
    check_sbuf,
)
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.instructions.indirect_matmul import IndirectProduct
from xdsl_neuron.dialects.instructions.masks import Unmasked
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Space

BLOCK_PARTITIONS = Arch.mx_block_partitions
LANES = Arch.mx_block_elements
QUADRANT = Arch.quadrant_partitions
FP8_X4 = (DType.FLOAT8_E4M3FN_X4, DType.FLOAT8_E5M2_X4)
PACKED = (*FP8_X4, DType.FLOAT4_E2M1FN_X4)
SCALES = (DType.UINT8, DType.FLOAT8_E8M0FNU)
MATMUL_PARTITIONS = tuple(QUADRANT * count for count in (1, 2, 4))


def check_scale(
    instruction: ComputeInstruction, name: str, partitions: int, elements: int
) -> None:
    """A scale operand has the rows of blocks, and an exponent for each block."""
    scale = instruction.data()[name]
    check_dtype(instruction, name, SCALES)
    rows = partitions // BLOCK_PARTITIONS
    # A view may end behind the last row: four rows to a quadrant.
    fewest = QUADRANT * (-(-rows // LANES) - 1) + LANES
    if scale.partitions != rows and not fewest <= scale.partitions <= partitions:
        raise VerifyException(
            f"'{name}' has {scale.partitions} partitions, expected {rows}, one for "
            f"each row of blocks, or {fewest} to {partitions}, with row i at (i & 3) + "
            "32 * (i >> 2)"
        )
    check_count(instruction, name, elements)


class QuantizeMx(Unmasked):
    """Packs `src` into `dst`, scaled by a power of two for each block (`scale`)."""

    OUTS: ClassVar = ("dst", "scale")
    INS: ClassVar = ("src",)
    OWN_STARTS: ClassVar = ("scale",)

    dst = operand_def(TensorType)
    scale = operand_def(TensorType)
    src = operand_def(TensorType)

    def kept_outputs(self) -> tuple[str, ...]:
        """Rows of blocks that lie apart leave the partitions between them."""
        data = self.data()
        dense = data["scale"].partitions * BLOCK_PARTITIONS == data["src"].partitions
        return () if dense else ("scale",)

    @gate("... is available on ...", "bir.md 7.3 QuantizeMx", stage=Stage.ARCH)
    def quantize_arch(self) -> None:
        """From gen4, in SBUF."""
        check_has(self, lambda arch: arch.has_mx)
        check_sbuf(self)

    @gate("src bf16/fp16; dst fp8 x4; scale uint8", "penguin.md 6.3 quantize_mx")
    def quantize_dtypes(self) -> None:
        """16-bit floats in; fp4 exists only as stored weights (penguin.md 14)."""
        check_dtype(self, "src", (DType.BFLOAT16, DType.FLOAT16))
        check_dtype(self, "dst", FP8_X4)

    @gate(
        "quantize_mx src must have 32-multiple partition dimension size.",
        "penguin.md 5",
    )
    def whole_quadrants(self) -> None:
        """Blocks of 8 partitions, four to a quadrant."""
        partitions = self.data()["src"].partitions
        if partitions % QUADRANT:
            raise VerifyException(
                "quantize_mx src must have 32-multiple partition dimension size. Got "
                f"{partitions}"
            )

    @gate(
        "quantize_mx src must have the last free dimension size to be multiple of 4.",
        "penguin.md 5",
    )
    def whole_containers(self) -> None:
        """A container holds four elements of one row."""
        last = self.data()["src"].shape[-1]
        if last % LANES:
            raise VerifyException(
                "quantize_mx src must have the last free dimension size to be multiple "
                f"of 4. Got {last}"
            )

    @gate(
        "quantize_mx dst must access F // 4 elements per partition for src with F "
        "elements ...",
        "penguin.md 5",
    )
    def quantized_shape(self) -> None:
        """A quarter of the elements, and one scale for each block."""
        data = self.data()
        src = data["src"]
        containers = prod(src.shape[1:]) // LANES
        check_partitions(self, "src", "dst")
        if data["dst"].free_count != containers:
            raise VerifyException(
                "quantize_mx dst must access F // 4 elements per partition for src "
                f"with F elements, got {data['dst'].free_count} for {src.free_count}"
            )
        check_scale(self, "scale", src.partitions, containers)

    @gate(
        "ifmapScalesStartPartition % 32 < 16 | scale start partitions % 4 == 0",
        "bir.md 7.4 codes 230, 231",
        "inferred",
    )
    def quantized_starts(self) -> None:
        """Scales are written where a matmul may read them."""
        start = self.data()["scale"].access.partition
        if start is not None and start.is_constant:
            check_scale_start("scale", start.constant)


def check_scale_start(name: str, start: int) -> None:
    """Scales lie in the first half of a quadrant, four rows together."""
    if start % QUADRANT >= QUADRANT // 2:
        raise VerifyException(
            f"'{name}' must start in the first 16 partitions of a quadrant, got "
            f"partition {start}"
        )
    if start % 4:
        raise VerifyException(
            f"'{name}' must start at a multiple of 4 partitions, got {start}"
        )


class MatmulMx(Unmasked, IndirectProduct):
    """A matmul of packed operands, each with its scales."""

    OWN_STARTS: ClassVar = ("stationary_scale", "moving_scale")

    INDIRECT: ClassVar = {
        "dst": "dst",
        "stationary": "stationary",
        "moving": "moving",
        "stationary_scale": "stationary",
        "moving_scale": "moving",
    }
    INS: ClassVar = (
        "stationary",
        "moving",
        "stationary_scale",
        "moving_scale",
        "dst_index",
        "stationary_index",
        "moving_index",
    )

    dst = operand_def(TensorType)
    stationary = operand_def(TensorType)
    moving = operand_def(TensorType)
    stationary_scale = operand_def(TensorType)
    moving_scale = operand_def(TensorType)
    dst_index = opt_operand_def(TensorType)
    stationary_index = opt_operand_def(TensorType)
    moving_index = opt_operand_def(TensorType)

    def lane_dims(self, data: dict[str, Operand]) -> dict[str, tuple[int, ...]]:
        """As a matmul; scales follow no lane."""
        found = super().lane_dims(data)
        for name in ("stationary_scale", "moving_scale"):
            found[name] = (-1,) * len(data[name].shape)
        return found

    @gate(
        "... is available on ...", "bir.md 7.3 MatmultMx", "inferred", stage=Stage.ARCH
    )
    def mx_arch(self) -> None:
        """From gen4."""
        check_has(self, lambda arch: arch.has_mx)

    @gate("... expected one of the following dtypes: ...", "nki.md 1.1 nc_matmul_mx")
    def matmul_dtypes(self) -> None:
        """Packed operands."""
        check_dtype(self, "stationary", PACKED)
        check_dtype(self, "moving", PACKED)

    @gate(
        "PSUM tensor for writes must be either 4-byte (FP32/int32) or BF16",
        "penguin.md 2.3",
    )
    def psum_dtype(self) -> None:
        """As any product."""
        self.check_psum_dtype()

    @gate(
        "ifMapNumElementsPerPartition <= max_ifmap_elements | "
        "weightsNumElementsPerPartition <= 128 * 4",
        "bir.md 7.4 codes 232, 233",
    )
    def free_sizes(self) -> None:
        """The array's columns, and what PSUM holds."""
        self.check_free_sizes()

    @gate(
        "outputNumPartitionsAccessed * 4 == weightsNumElementsPerPartition | "
        "outputNumElementsPerPartition * 4 == ifMapNumElementsPerPartition",
        "bir.md 7.4 codes 236, 237",
    )
    def result_shape(self) -> None:
        """The result is [stationary free, moving free]."""
        self.check_result_shape()

    @gate(
        "nc_matmul_mx does not support column PE tiling",
        "penguin.md 6.2; bir.md 7.4 code 241",
    )
    def whole_columns(self) -> None:
        """Packed products use all columns, from the first one."""
        size, column = self.tile_shape, self.tile_column
        if size is None or column is None:
            return
        if self.tiles_columns or any(self.values_of(column.data)):
            raise VerifyException(
                "nc_matmul_mx does not support column PE tiling, got column "
                f"{column.render()} and tile_size {list(size)}; use column 0 and all "
                "128 columns"
            )

    @gate("row tile size -1 or equal to partitions", "bir.md 7.4 code 240")
    def whole_rows(self) -> None:
        """No part of a tile's rows stays unused."""
        size, partitions = self.tile_shape, self.data()["stationary"].partitions
        if size is not None and size[0] != partitions:
            raise VerifyException(
                f"nc_matmul_mx accesses {partitions} partitions in a tile of {size[0]} "
                "rows; they must be as many"
            )

    @gate("replication shift amount is 0", "bir.md 7.4 code 204")
    def no_replication_shift(self) -> None:
        """Blocks stay where their scales are."""
        shift = self.replication_shift_amnt
        if shift is not None and shift.value.data:
            raise VerifyException(
                f"'{self.name}' has a replication_shift_amnt of 0, got "
                f"{shift.value.data}"
            )

    @gate(
        "nc_matmul_mx moving_scale/stationary_scale must access same elements per "
        "partition ...",
        "bir.md 7.4 codes 228, 229",
    )
    def scale_counts(self) -> None:
        """One scale for each block of 8 partitions and 4 elements."""
        data = self.data()
        for name in ("moving", "stationary"):
            scale = f"{name}_scale"
            found, expected = data[scale].free_count, data[name].free_count
            if found != expected:
                raise VerifyException(
                    f"nc_matmul_mx {scale} must access same elements per partition as "
                    f"{name}, got {found} and {expected}"
                )
            if data[scale].space is not Space.SBUF:
                self.wrong_space(data[scale], "sbuf")
            check_scale(self, scale, data[name].partitions, expected)

    @gate(
        "ifmapScalesStartPartition % 32 < 16 | scale start partitions % 4 == 0 | data "
        "and scale start in the same 32-partition quadrant",
        "bir.md 7.4 codes 230, 231, 212 to 214",
    )
    def scale_starts(self) -> None:
        """Scales lie in the first half of the data's quadrant, four rows together."""
        for name, scale, data_start, start in self._starts():
            check_scale_start(scale, start)
            if start // QUADRANT != data_start // QUADRANT:
                raise VerifyException(
                    f"'{name}' and '{scale}' must start in the same 32-partition "
                    f"quadrant, got partitions {data_start} and {start}"
                )

    def _starts(self) -> Iterator[tuple[str, str, int, int]]:
        """(data, scale, first partitions of both) where both are constant."""
        data = self.data()
        for name in ("moving", "stationary"):
            scale = f"{name}_scale"
            first, second = data[name].access.partition, data[scale].access.partition
            if first is None or second is None:
                continue
            if first.is_constant and second.is_constant:
                yield name, scale, first.constant, second.constant

    @gate(
        "nc_matmul_mx stationary must have an even number of packed (x4) elements per "
        "partition.",
        "bir.md 7.4 code 289",
    )
    def even_stationary(self) -> None:
        """Columns of the array are loaded in pairs."""
        count = self.data()["stationary"].free_count
        if count % 2:
            raise VerifyException(
                "nc_matmul_mx stationary must have an even number of packed (x4) "
                f"elements per partition. Got {count}"
            )

    @gate(
        "nc_matmul_mx stationary/moving must access 32/64/128 partitions.",
        "bir.md 7.4 code 234",
    )
    def mx_partitions(self) -> None:
        """Whole quadrants, one, two or four."""
        partitions = self.data()["moving"].partitions
        if partitions not in MATMUL_PARTITIONS:
            raise VerifyException(
                "nc_matmul_mx stationary/moving must access 32/64/128 partitions. Got "
                f"{partitions}"
            )
