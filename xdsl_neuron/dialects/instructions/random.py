"""
Random numbers, as functions of an explicit state.

A state is a uint32 tensor with the XORWOW words of each partition: 6 on GpSIMD, 24 (4
lanes of 6) on the vector engine. An instruction reads `state` and writes the advanced
one to `next_state`, which may be the same tensor.
"""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, UnitAttr, i64
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instructions.checks import (
    FLOAT32,
    FLOATS,
    check_count,
    check_dtype,
    check_given_at_most_once,
    check_given_once,
    check_level,
    check_partitions,
    check_result,
    check_row,
)
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.instructions.masks import PartitionMasked, Unmasked
from xdsl_neuron.dialects.neuron import (
    ImmediateAttr,
    RandomAlgorithmAttr,
    RandomDistributionAttr,
    TensorType,
)
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Engine, RandomDistribution

UINT32 = (DType.UINT32,)
POOL_WORDS = 6
DVE_WORDS = 24
RAND_STATE_LEVEL = 30
"""First level of RandSetState and RandGetState (bir.md 7.3)."""


UNIFORM_TYPES = (
    DType.FLOAT8_E4M3,
    DType.FLOAT8_E5M2,
    DType.FLOAT16,
    DType.BFLOAT16,
    DType.FLOAT32,
    DType.TFLOAT32,
    DType.INT8,
    DType.INT16,
    DType.INT32,
    DType.UINT8,
    DType.UINT16,
    DType.UINT32,
)
"""What uniform numbers are cast to (nki.isa.rand2)."""


def check_state(instruction: ComputeInstruction, *names: str) -> None:
    """uint32 words, as many per partition as the engine's generator has."""
    pool = instruction.engine.data is Engine.POOL
    words = POOL_WORDS if pool else DVE_WORDS
    data = instruction.data()
    for name in names:
        check_dtype(instruction, name, UINT32)
        found = data[name].free_count
        if found != words:
            other = "engine = Pool has 6" if words == DVE_WORDS else "engine DVE has 24"
            raise VerifyException(
                f"'{name}' has {found} elements per partition, but must have exactly "
                f"{words} ({other})"
            )


class Rng(PartitionMasked):
    """Fills `dst` with random bits, cut to its integer type."""

    ENGINES: ClassVar = (Engine.DVE, Engine.POOL)
    OUTS: ClassVar = ("dst", "next_state")
    INS: ClassVar = ("state",)

    dst = operand_def(TensorType)
    next_state = operand_def(TensorType)
    state = operand_def(TensorType)

    @gate("integer dst", "nki.md 1.1 rng")
    def integer_result(self) -> None:
        """Raw words have no meaning as floating point."""
        dst = self.data()["dst"]
        if not dst.dtype.is_integer:
            raise VerifyException(
                f"'dst' of '{self.name}' must be an integer tile, got "
                f"{dst.dtype.nki_name}"
            )

    @gate("6 values (Pool) or 24 (DVE) per partition", "nki.md 1.1 rand_set_state")
    def state_words(self) -> None:
        """The state is that of the engine."""
        check_state(self, "state", "next_state")
        check_partitions(self, "dst", "state", "next_state")


class Rand2(PartitionMasked):
    """Fills `dst` with uniform fp32 numbers in [low, high)."""

    OUTS: ClassVar = ("dst", "next_state")
    INS: ClassVar = ("state", "low", "high")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    dst = operand_def(TensorType)
    next_state = operand_def(TensorType)
    state = operand_def(TensorType)
    low = opt_operand_def(TensorType)
    high = opt_operand_def(TensorType)
    low_imm = opt_prop_def(ImmediateAttr)
    high_imm = opt_prop_def(ImmediateAttr)

    @gate("... is available on ...", "bir.md 7.3 Rand2", "inferred", stage=Stage.ARCH)
    def rand2_arch(self) -> None:
        """From gen4."""
        check_level(self, 40)

    @gate("... expected one of the following dtypes: ...", "nki.isa.rand2 of NKI 0.2")
    def uniform_dtypes(self) -> None:
        """fp32 numbers, cast to any type of the page."""
        check_dtype(self, "dst", UNIFORM_TYPES)

    @gate("min default 0, max default 1", "bir.md 6.11")
    def bounds_given(self) -> None:
        """fp32 numbers, or one per partition."""
        check_given_at_most_once(self, "low", self.low_imm)
        check_given_at_most_once(self, "high", self.high_imm)
        check_row(self, "low", "high")

    @gate("min < max for valid range", "nki.isa.rand2 of NKI 0.3 to 0.7")
    def bounds_ordered(self) -> None:
        """The range of numbers is not empty; tiles are known when it runs."""
        data = self.data()
        if "low" in data or "high" in data:
            return
        low = 0.0 if self.low_imm is None else self.low_imm.value
        high = 1.0 if self.high_imm is None else self.high_imm.value
        if not low < high:
            raise VerifyException(
                f"rand2 needs min < max for valid range, got min {low} and max {high}"
            )

    @gate("6 values (Pool) or 24 (DVE) per partition", "nki.md 1.1 rand_set_state")
    def state_words(self) -> None:
        """The state is that of the engine."""
        check_state(self, "state", "next_state")
        check_partitions(self, "dst", "state", "next_state")


class SetRandState(Unmasked):
    """Spreads one 32-bit seed over the words of a state."""

    ENGINES: ClassVar = (Engine.DVE, Engine.POOL)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)

    @gate("[1,1] 32-bit", "nki.md 1.1 set_rng_seed")
    def one_seed(self) -> None:
        """One 32-bit integer."""
        src = self.data()["src"]
        check_dtype(self, "src", (DType.UINT32, DType.INT32))
        if src.access.count != 1:
            raise VerifyException(f"'src' must hold one seed, got {src}")

    @gate("6 values (Pool) or 24 (DVE) per partition", "nki.md 1.1 rand_set_state")
    def state_words(self) -> None:
        """The state is that of the engine."""
        check_state(self, "dst")


class RandSetState(PartitionMasked):
    """Loads a state; a partition of zeros gets one word set."""

    ENGINES: ClassVar = (Engine.DVE, Engine.POOL)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)

    @gate(
        "... is available on ...",
        "bir.md 7.3 RandSetState",
        "inferred",
        stage=Stage.ARCH,
    )
    def state_arch(self) -> None:
        """From gen3."""
        check_level(self, RAND_STATE_LEVEL)

    @gate("6 values (Pool) or 24 (DVE) per partition", "nki.md 1.1 rand_set_state")
    def state_words(self) -> None:
        """uint32 words of every partition on both sides."""
        check_state(self, "dst", "src")
        check_partitions(self, "dst", "src")


class GetRandState(PartitionMasked):
    """Stores a state; every generation has it."""

    ENGINES: ClassVar = (Engine.DVE, Engine.POOL)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)

    @gate("6 values (Pool) or 24 (DVE) per partition", "nki.md 1.1 rand_get_state")
    def state_words(self) -> None:
        """uint32 words of every partition on both sides."""
        check_state(self, "dst", "src")
        check_partitions(self, "dst", "src")


class RandGetState(GetRandState):
    """Stores a state."""

    @gate(
        "... is available on ...",
        "bir.md 7.3 RandGetState",
        "inferred",
        stage=Stage.ARCH,
    )
    def state_arch(self) -> None:
        """From gen3."""
        check_level(self, RAND_STATE_LEVEL)


class Rand(PartitionMasked):
    """
    Fills `dst` with the bits of a published generator, cut to its integer type.

    The first words of each partition's state are the generator's: 1 of the LFSR, 2 of
    PCG32, 6 of Philox. Element i is word `(i + 1) * rand_num_steps - 1` of them.
    """

    OUTS: ClassVar = ("dst", "next_state")
    INS: ClassVar = ("state",)
    HEADER: ClassVar = ("random_algorithm",)

    dst = operand_def(TensorType)
    next_state = operand_def(TensorType)
    state = operand_def(TensorType)
    random_algorithm = prop_def(RandomAlgorithmAttr)
    rand_num_steps = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))
    distribution = prop_def(
        RandomDistributionAttr,
        default_value=RandomDistributionAttr(RandomDistribution.RAW),
    )
    params = prop_def(
        DenseArrayBase.constr(i64), default_value=DenseArrayBase.from_list(i64, [])
    )

    @gate("raw bits only", "bir.md 6.11 Rand")
    def raw_bits(self) -> None:
        """No other distribution, so none of its parameters."""
        distribution, params = self.distribution.data, self.params.get_values()
        if distribution is not RandomDistribution.RAW or params:
            raise VerifyException(
                f"Rand gives raw bits only, got distribution {distribution} with "
                f"{len(params)} params; use Rand2 for uniform numbers"
            )

    @gate("rand_num_steps R", "bir.md 4.5 Rand", "inferred")
    def positive_steps(self) -> None:
        """At least one step of the generator for each element."""
        steps = self.rand_num_steps.value.data
        if steps < 1:
            raise VerifyException(f"'rand_num_steps' must be positive, got {steps}")

    @gate("integer dst", "nki.md 1.1 rng")
    def integer_result(self) -> None:
        """Raw words have no meaning as floating point."""
        dst = self.data()["dst"]
        if not dst.dtype.is_integer:
            raise VerifyException(
                f"'dst' of '{self.name}' must be an integer tile, got "
                f"{dst.dtype.nki_name}"
            )

    @gate("state uint32, 6 words/partition (gen1)", "bir.md 6.11", "our choice")
    def state_words(self) -> None:
        """The generators of the first generation have states of six words."""
        check_dtype(self, "state", UINT32)
        check_dtype(self, "next_state", UINT32)
        check_count(self, "state", POOL_WORDS)
        check_count(self, "next_state", POOL_WORDS)
        check_partitions(self, "dst", "state", "next_state")


class Dropout(PartitionMasked):
    """
    `dst = src`, but 0 where a uniform random number is below `probability`.

    With `keep_threshold`, 0 where it is not below. What is kept is not scaled.
    """

    OUTS: ClassVar = ("dst", "next_state")
    INS: ClassVar = ("src", "state", "probability")

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    dst = operand_def(TensorType)
    next_state = operand_def(TensorType)
    src = operand_def(TensorType)
    state = operand_def(TensorType)
    probability = opt_operand_def(TensorType)
    probability_imm = opt_prop_def(ImmediateAttr)
    keep_threshold = opt_prop_def(UnitAttr)

    @gate("dst.dtype==data.dtype", "nki.md 1.1 dropout")
    def same_dtype(self) -> None:
        """Kept integers move their bits; floats are cast (0.1, later ones are not)."""
        src = self.data()["src"].dtype
        if not src.is_float:
            check_dtype(self, "dst", (src,))

    @gate("prob scalar or [P,1]", "nki.md 1.1 dropout")
    def probability_given(self) -> None:
        """One probability, or one per partition: fp32, of floats any float type."""
        check_given_once(self, "probability", self.probability_imm)
        floats = self.data()["src"].dtype.is_float
        check_result(self, "probability", FLOATS if floats else FLOAT32)

    @gate("6 values (Pool) or 24 (DVE) per partition", "nki.md 1.1 rand_set_state")
    def state_words(self) -> None:
        """The state is that of the engine."""
        check_state(self, "state", "next_state")
        check_partitions(self, "dst", "state", "next_state")

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """The input has the output's elements."""
        self.check_elementwise("src")
