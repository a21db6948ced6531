"""Batch normalisation: statistics of partitions and their gradients."""

from typing import ClassVar

from xdsl.irdl import operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instruction import target_of
from xdsl_neuron.dialects.instructions.checks import (
    FLOAT32,
    check_count,
    check_dtype,
    check_partitions,
)
from xdsl_neuron.dialects.instructions.masks import PartitionMasked
from xdsl_neuron.dialects.neuron import ImmediateAttr, TensorType
from xdsl_neuron.isa import Engine

TRIPLE = 3


class BNStats(PartitionMasked):
    """(count, mean, M2) of the even elements of each partition, then of the odd."""

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)

    @gate("... elements per partition, but must be between ...", "penguin.md 5")
    def source_size(self) -> None:
        """At most 512 elements."""
        arch = target_of(self)
        limit = Arch.bn_stats_max_free if arch is None else arch.bn_stats_max_free
        count = self.data()["src"].free_count
        if count > limit:
            raise VerifyException(
                f"'src' has {count} elements per partition, but must be between 1 and "
                f"{limit}; take the statistics of blocks and merge them"
            )

    @gate("... elements per partition, but must have exactly ...", "penguin.md 5")
    def six(self) -> None:
        """Two triples in each partition."""
        check_count(self, "dst", 2 * TRIPLE)
        check_partitions(self, "src", "dst")


class BNStatsAggregate(PartitionMasked):
    """(mean, variance) of the triples of each partition, merged in order."""

    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)

    @gate("free size a multiple of 3", "nki.md 1.1 bn_aggr")
    def whole_triples(self) -> None:
        """(count, mean, M2) after (count, mean, M2)."""
        count = self.data()["src"].free_count
        if count % TRIPLE:
            raise VerifyException(
                f"free size must be a multiple of 3, got {count} elements per "
                "partition of 'src'"
            )

    @gate("... elements per partition, but must have exactly ...", "penguin.md 5")
    def two(self) -> None:
        """Mean and variance in each partition."""
        check_count(self, "dst", 2)
        check_partitions(self, "src", "dst")


class BNGradients(PartitionMasked):
    """
    Three sums of each partition, for the gradients of batch normalisation.

    sum(dy), sum((src - mean) * dy) * factor^2, sum((src - mean) * dy) * factor.
    """

    ENGINES: ClassVar = (Engine.DVE, Engine.POOL)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src", "dy", "mean", "factor")

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    dy = operand_def(TensorType)
    mean = operand_def(TensorType)
    factor = operand_def(TensorType)

    @gate("... elements per partition, but must have exactly ...", "penguin.md 5")
    def gradient_sizes(self) -> None:
        """One mean and one factor, three sums, as many gradients as elements."""
        check_count(self, "dst", TRIPLE)
        check_count(self, "mean", 1)
        check_count(self, "factor", 1)
        check_count(self, "dy", self.data()["src"].free_count)
        check_partitions(self, "src", "dst", "dy", "mean", "factor")

    @gate("... expected one of the following dtypes: ...", "penguin.md 5", "inferred")
    def gradient_dtypes(self) -> None:
        """The factors are fp32, the gradients of the data's type."""
        check_dtype(self, "mean", FLOAT32)
        check_dtype(self, "factor", FLOAT32)
        check_dtype(self, "dy", (self.data()["src"].dtype,))


class BNBackprop2(PartitionMasked):
    """
    `dst = (dy * total_elements - ((src - mean) * Bc + A)) * scale`.

    `offset` holds A of each partition, `slopes` (scale, Bc).
    """

    ENGINES: ClassVar = (Engine.DVE, Engine.POOL)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src", "dy", "mean", "offset", "slopes")

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    dy = operand_def(TensorType)
    mean = operand_def(TensorType)
    offset = operand_def(TensorType)
    slopes = operand_def(TensorType)
    total_elements = prop_def(ImmediateAttr)

    @gate("... elements per partition, but must have exactly ...", "penguin.md 5")
    def coefficient_sizes(self) -> None:
        """One mean, one A and two slopes in each partition."""
        check_count(self, "mean", 1)
        check_count(self, "offset", 1)
        check_count(self, "slopes", 2)
        check_partitions(self, "src", "mean", "offset", "slopes")

    @gate("... expected one of the following dtypes: ...", "penguin.md 5", "inferred")
    def coefficient_dtypes(self) -> None:
        """The coefficients are fp32, the gradients of the data's type."""
        for name in ("mean", "offset", "slopes"):
            check_dtype(self, name, FLOAT32)
        check_dtype(self, "dy", (self.data()["src"].dtype,))

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """Data and gradients have the output's elements."""
        self.check_elementwise("src", "dy")


class BNBackprop(PartitionMasked):
    """
    `dst = (dy * total_elements - ((src - mean) * Bc + A)) * scale`.

    `coefficients` holds (scale, A, Bc) of each partition.
    """

    ENGINES: ClassVar = (Engine.DVE, Engine.POOL)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src", "dy", "mean", "coefficients")

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    dy = operand_def(TensorType)
    mean = operand_def(TensorType)
    coefficients = operand_def(TensorType)
    total_elements = prop_def(ImmediateAttr)

    @gate("... elements per partition, but must have exactly ...", "penguin.md 5")
    def coefficient_sizes(self) -> None:
        """One mean and three coefficients in each partition."""
        check_count(self, "mean", 1)
        check_count(self, "coefficients", TRIPLE)
        check_partitions(self, "src", "mean", "coefficients")

    @gate("... expected one of the following dtypes: ...", "penguin.md 5", "inferred")
    def coefficient_dtypes(self) -> None:
        """The coefficients are fp32, the gradients of the data's type."""
        check_dtype(self, "mean", FLOAT32)
        check_dtype(self, "coefficients", FLOAT32)
        check_dtype(self, "dy", (self.data()["src"].dtype,))

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """Data and gradients have the output's elements."""
        self.check_elementwise("src", "dy")
