"""GpSIMD instructions that produce indices from data."""

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.irdl import operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instructions.checks import (
    check_count,
    check_dtype,
    check_level,
    check_partitions,
    check_sbuf,
)
from xdsl_neuron.dialects.instructions.masks import Unmasked
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Engine

INT32 = (DType.INT32,)
NUMBERS = (DType.FLOAT32, DType.INT32)
NO_INDEX = -1


class NonzeroWithCount(Unmasked):
    """
    The indices of non-zero elements, then `padding`, and their count at the end.

    Only partitions 0, 16, 32 ... are read and written; the index of element i is
    i + `index_offset`.
    """

    ENGINES: ClassVar = (Engine.POOL,)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    index_offset = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    padding = prop_def(IntegerAttr, default_value=IntegerAttr(NO_INDEX, i64))

    def kept_outputs(self) -> tuple[str, ...]:
        """What it does not write stays."""
        return self.OUTS

    @gate("... is available on ...", "bir.md 7.3 NonzeroWithCount", stage=Stage.ARCH)
    def nonzero_arch(self) -> None:
        """From gen3."""
        check_level(self, 30)

    @gate("src fp32/int32; dst int32", "nki.md 1.1 nonzero_with_count")
    def nonzero_dtypes(self) -> None:
        """32-bit numbers in, indices out, in SBUF."""
        check_sbuf(self)
        check_dtype(self, "src", NUMBERS)
        check_dtype(self, "dst", INT32)

    @gate(
        "indexOffset must be int32 | paddingVal must be int32",
        "bir.md 6.8",
    )
    def int32_fields(self) -> None:
        """Both fields are written as int32."""
        for label, field in (
            ("indexOffset", self.index_offset),
            ("paddingVal", self.padding),
        ):
            value = field.value.data
            if not -(1 << 31) <= value < 1 << 31:
                raise VerifyException(f"{label} must be int32, got {value}")

    @gate("dst int32 with one extra element", "nki.md 1.1 nonzero_with_count")
    def one_more(self) -> None:
        """The count stands behind the indices."""
        data = self.data()
        check_partitions(self, "src", "dst")
        check_count(self, "dst", data["src"].free_count + 1)
        if len(data["dst"].shape) != 2:
            raise VerifyException(
                f"'dst' must have one free dimension, got {list(data['dst'].shape)}"
            )


class GetSequenceBounds(Unmasked):
    """
    The first index of each element's segment, then one past its last.

    `src` [1, N] holds segment numbers, 0 for padding, which gets (N, -1).
    """

    ENGINES: ClassVar = (Engine.POOL,)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)

    @gate(
        "... is available on ...",
        "bir.md 7.3 GetSequenceBounds",
        "inferred",
        stage=Stage.ARCH,
    )
    def bounds_arch(self) -> None:
        """From gen3."""
        check_level(self, 30)

    @gate("fp32 or int32", "nki.md 1.1 sequence_bounds")
    def bounds_dtypes(self) -> None:
        """32-bit numbers in SBUF."""
        check_sbuf(self)
        check_dtype(self, "src", NUMBERS)
        check_dtype(self, "dst", NUMBERS)

    @gate("partition size 1", "nki.md 1.1 sequence_bounds")
    def one_partition(self) -> None:
        """(1, N) to (1, 2, N)."""
        data = self.data()
        if data["src"].partitions != 1:
            raise VerifyException(
                f"'src' must have partition size 1, got {data['src'].partitions}"
            )
        check_partitions(self, "src", "dst")
        check_count(self, "dst", 2 * data["src"].free_count)
