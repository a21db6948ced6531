"""
Microscaling (trn3): blocks of 8 partitions x 4 elements share a power of two.

Data is packed, four elements to a container. A scale operand has one exponent for each
block: rows of blocks one after another, or row i at partition (i & 3) + 32 * (i >> 2)
of an access with as many partitions as the data.
"""

from collections.abc import Iterator
from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr
from xdsl.irdl import operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instruction import Operand
from xdsl_neuron.dialects.instructions.checks import (
    check_count,
    check_dtype,
    check_level,
    check_partitions,
    check_sbuf,
)
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.instructions.masks import Unmasked
from xdsl_neuron.dialects.instructions.matrix import Matmul
from xdsl_neuron.dialects.neuron import (
    AffineAttr,
    MatmulAccumulateAttr,
    TensorType,
)
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import MatmulAccumulate, Space

BLOCK_PARTITIONS = 8
LANES = 4
QUADRANT = 32
FP8_X4 = (DType.FLOAT8_E4M3FN_X4, DType.FLOAT8_E5M2_X4)
PACKED = (*FP8_X4, DType.FLOAT4_E2M1FN_X4)
SCALES = (DType.UINT8, DType.FLOAT8_E8M0FNU)
MATMUL_PARTITIONS = (32, 64, 128)


def check_scale(
    instruction: ComputeInstruction, name: str, partitions: int, elements: int
) -> None:
    """A scale operand has the rows of blocks, and an exponent for each block."""
    scale = instruction.data()[name]
    check_dtype(instruction, name, SCALES)
    rows = partitions // BLOCK_PARTITIONS
    if scale.partitions not in (rows, partitions):
        raise VerifyException(
            f"'{name}' has {scale.partitions} partitions, expected {rows}, one for "
            f"each row of blocks, or {partitions}, with row i at (i & 3) + 32 * (i >> "
            "2)"
        )
    check_count(instruction, name, elements)


class QuantizeMx(Unmasked):
    """Packs `src` into `dst`, scaled by a power of two for each block (`scale`)."""

    OUTS: ClassVar = ("dst", "scale")
    INS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    scale = operand_def(TensorType)
    src = operand_def(TensorType)

    @gate("... is available on ...", "bir.md 7.3 QuantizeMx")
    def quantize_arch(self) -> None:
        """From gen4, in SBUF."""
        check_level(self, 40)
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


class MatmulMx(Unmasked, Matmul):
    """A matmul of packed operands, each with its scales."""

    INS: ClassVar = ("stationary", "moving", "stationary_scale", "moving_scale")

    dst = operand_def(TensorType)
    stationary = operand_def(TensorType)
    moving = operand_def(TensorType)
    stationary_scale = operand_def(TensorType)
    moving_scale = operand_def(TensorType)
    accumulate = prop_def(
        MatmulAccumulateAttr,
        default_value=MatmulAccumulateAttr(MatmulAccumulate.AUTO),
    )
    accumulate_if = opt_prop_def(AffineAttr)
    is_transpose = opt_prop_def(UnitAttr)
    stationary_onezero = opt_prop_def(UnitAttr)
    moving_onezero = opt_prop_def(UnitAttr)

    def lane_dims(self, data: dict[str, Operand]) -> dict[str, tuple[int, ...]]:
        """As a matmul; scales follow no lane."""
        found = super().lane_dims(data)
        for name in ("stationary_scale", "moving_scale"):
            found[name] = (-1,) * len(data[name].shape)
        return found

    @gate("... is available on ...", "bir.md 7.3 MatmultMx", "inferred")
    def mx_arch(self) -> None:
        """From gen4."""
        check_level(self, 40)

    @gate("... expected one of the following dtypes: ...", "nki.md 1.1 nc_matmul_mx")
    def matmul_dtypes(self) -> None:
        """Packed operands."""
        check_dtype(self, "stationary", PACKED)
        check_dtype(self, "moving", PACKED)

    @gate("MX has no transpose and no one-zero mode", "bir.md 6.10", "inferred")
    def plain(self) -> None:
        """The scales enter each product."""
        for name in ("is_transpose", "stationary_onezero", "moving_onezero"):
            if name in self.properties:
                raise VerifyException(f"'{self.name}' has no {name}")

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
            if start % QUADRANT >= QUADRANT // 2:
                raise VerifyException(
                    f"'{scale}' must start in the first 16 partitions of a quadrant, "
                    f"got partition {start}"
                )
            if start % 4:
                raise VerifyException(
                    f"'{scale}' must start at a multiple of 4 partitions, got {start}"
                )
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
