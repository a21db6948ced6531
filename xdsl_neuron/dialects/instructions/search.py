"""The vector engine's 8-wide search."""

from typing import ClassVar

from xdsl.irdl import operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instructions.checks import (
    check_count,
    check_dtype,
    check_level,
    check_partitions,
    check_rank,
)
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.instructions.masks import PartitionMasked
from xdsl_neuron.dialects.neuron import ImmediateAttr, TensorType
from xdsl_neuron.dtypes import DType

WIDTH = 8
MIN_ELEMENTS = 8
MAX_ELEMENTS = 16384
FOUND_DIMS = 2
"""Free dimensions of what `max8` writes; it reads as many as others."""
INDEX_DTYPES = (DType.UINT16, DType.UINT32)


def check_searched(instruction: ComputeInstruction, name: str) -> None:
    """The unit reads 8 to 16384 elements of each partition."""
    count = instruction.data()[name].free_count
    if not MIN_ELEMENTS <= count <= MAX_ELEMENTS:
        raise VerifyException(
            f"'{name}' has {count} elements per partition, but must be between "
            f"{MIN_ELEMENTS} and {MAX_ELEMENTS}"
        )


class Max8(PartitionMasked):
    """The 8 largest elements of each partition, descending."""

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)

    @gate("... elements per partition, but must be between ...", "penguin.md 5")
    def searched_size(self) -> None:
        """8 to 16384 elements."""
        check_searched(self, "src")

    @gate("a result of at most three dimensions", "nki.isa.max8 of NKI 0.7 (2.33)")
    def found_rank(self) -> None:
        """The result: a partition and two free dimensions, after fusing."""
        check_rank(self, FOUND_DIMS, "dst")

    @gate("... elements per partition, but must have exactly ...", "penguin.md 5")
    def eight(self) -> None:
        """8 results in each partition."""
        check_count(self, "dst", WIDTH)
        check_partitions(self, "src", "dst")


class FindIndex8(PartitionMasked):
    """
    Where each of 8 `values` first occurs in its partition; all ones where nowhere.

    Equal values take one occurrence after another.
    """

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src", "values")

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    values = operand_def(TensorType)

    @gate("... elements per partition, but must be between ...", "penguin.md 5")
    def searched_size(self) -> None:
        """8 to 16384 elements."""
        check_searched(self, "src")

    @gate("... elements per partition, but must have exactly ...", "penguin.md 5")
    def eight(self) -> None:
        """8 values and 8 indices in each partition."""
        check_count(self, "values", WIDTH)
        check_count(self, "dst", WIDTH)
        check_partitions(self, "src", "dst", "values")

    @gate("... expected one of the following dtypes: ...", "penguin.md 7")
    def index_dtype(self) -> None:
        """Indices are unsigned."""
        check_dtype(self, "dst", INDEX_DTYPES)


class MatchReplace8(PartitionMasked):
    """
    `dst` is `src` with the first occurrence of each of 8 `values` replaced by `imm`.

    Equal values are processed from the last to the first.
    """

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src", "values")

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    values = operand_def(TensorType)
    imm = prop_def(ImmediateAttr)

    @gate("... elements per partition, but must be between ...", "penguin.md 5")
    def searched_size(self) -> None:
        """8 to 16384 elements."""
        check_searched(self, "src")

    @gate("... elements per partition, but must have exactly ...", "penguin.md 5")
    def eight(self) -> None:
        """8 values in each partition."""
        check_count(self, "values", WIDTH)
        check_partitions(self, "src", "values")

    @gate(
        "The replace value for MatchReplace8 must be a float", "bir.md 6.8", "inferred"
    )
    def float_value(self) -> None:
        """The value is a finite or infinite fp32 number."""
        value = self.imm.value
        if isinstance(value, int):
            raise VerifyException(
                f"The replace value for MatchReplace8 must be a float, got {value}"
            )

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """The input has the output's elements."""
        self.check_elementwise("src")


class MatchReplaceIndices8(MatchReplace8):
    """A match and replace that also writes the 8 places to `index`."""

    OUTS: ClassVar = ("dst", "index")
    INS: ClassVar = ("src", "values")

    dst = operand_def(TensorType)
    index = operand_def(TensorType)
    src = operand_def(TensorType)
    values = operand_def(TensorType)
    imm = prop_def(ImmediateAttr)

    @gate("... elements per partition, but must have exactly ...", "penguin.md 5")
    def eight_indices(self) -> None:
        """8 unsigned indices in each partition."""
        check_count(self, "index", WIDTH)
        check_partitions(self, "src", "index")
        check_dtype(self, "index", INDEX_DTYPES)

    @gate("MaxIndexAndMatchReplace: gen3+", "bir.md 6.8", stage=Stage.ARCH)
    def index_arch(self) -> None:
        """Gen2 has no form with indices."""
        check_level(self, 30)
