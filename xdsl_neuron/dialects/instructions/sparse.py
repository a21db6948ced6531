"""The product with a stationary operand of structured sparsity (gen3)."""

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr
from xdsl.irdl import operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instructions.checks import check_dtype, check_has
from xdsl_neuron.dialects.instructions.masks import Unmasked
from xdsl_neuron.dialects.instructions.matrix import Matmul
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import MatmulPerfMode, Space

GROUP = Arch.sparse_group
"""Stationary rows that share the dense positions their tags choose among."""
TAGS_PER_WORD = Arch.sparse_tags_per_word
RATIOS = tuple(range(1, (1 << Arch.sparse_tag_bits) // GROUP + 1))
"""4 bits name one of at most 16 dense positions for 4 rows: a ratio of at most 4."""


class MatmulSparse(Unmasked, Matmul):
    """
    A matmul whose stationary operand keeps `1 / compress_ratio` of its elements.

    moving [k, ratio, n] is dense: its contraction is k and ratio, flattened. Rows of
    the stationary operand [k, m] come in groups of 4, each for 4 * ratio dense
    positions; the tag of an element says at which of them it stands. `tags` [k, m / 4]
    are uint16 words of four 4-bit tags, the first column's in the low bits.
    """

    INS: ClassVar = ("stationary", "moving", "tags")

    dst = operand_def(TensorType)
    stationary = operand_def(TensorType)
    moving = operand_def(TensorType)
    tags = operand_def(TensorType)
    compress_ratio = prop_def(IntegerAttr)

    @property
    def contraction_dims(self) -> tuple[int, int, int]:
        """The moving operand's second dimension is summed over too."""
        return 1, 0, 2

    @property
    def ratio(self) -> int:
        """`compress_ratio` as an integer."""
        return self.compress_ratio.value.data

    def lane_dims(self, data: dict[str, Operand]) -> dict[str, tuple[int, ...]]:
        """As a matmul; tags follow no lane."""
        return {**super().lane_dims(data), "tags": (-1,) * len(data["tags"].shape)}

    @gate(
        "... is available on ...",
        "bir.md 7.3 MatmultSparse",
        "inferred",
        stage=Stage.ARCH,
    )
    def sparse_arch(self) -> None:
        """From gen3."""
        check_has(self, lambda arch: arch.has_sparse_matmul)

    @gate("weight operand float32r", "penguin.md 6.2", "inferred")
    def sparse_dtypes(self) -> None:
        """Tags are words; 4-byte weights are tf32 (nki.md 4.1: no fp32 rate)."""
        check_dtype(self, "tags", (DType.UINT16,))
        data = self.data()
        if data["tags"].space is not Space.SBUF:
            self.wrong_space(data["tags"], "sbuf")
        if data["stationary"].dtype is DType.FLOAT32:
            raise VerifyException(
                "'stationary' of a sparse matmul is float32r where it has 4 bytes, got "
                "float32; see it as tfloat32"
            )

    @gate("design point 4:1", "penguin.md 6.2", "inferred")
    def ratio_range(self) -> None:
        """A tag of 4 bits chooses among 4 * ratio positions."""
        if self.ratio not in RATIOS:
            raise VerifyException(
                f"compress_ratio {self.ratio} is not supported, expected one of "
                f"{', '.join(str(ratio) for ratio in RATIOS)}: 4 tags of 4 bits choose "
                "among 16 dense positions"
            )

    @gate(
        "LHS, RHS and TAG should has the same number of contract dim!",
        "penguin.md 6.2",
    )
    def same_contraction(self) -> None:
        """All three have the contraction on their partitions, in whole groups."""
        data = self.data()
        found = [data[name].partitions for name in ("stationary", "moving", "tags")]
        if len(set(found)) != 1:
            raise VerifyException(
                "LHS, RHS and TAG should has the same number of contract dim! Got "
                f"{found[0]}, {found[1]} and {found[2]} partitions"
            )
        if found[0] % GROUP:
            raise VerifyException(
                f"rows of a sparse matmul come in groups of {GROUP}, got {found[0]} "
                "partitions; pad them"
            )

    @gate("Indices mismatch!", "penguin.md 6.2", "inferred")
    def indices_match(self) -> None:
        """A tag for each weight, `compress_ratio` dense rows for each partition."""
        data = self.data()
        moving, weights = data["moving"], data["stationary"].free_count
        if len(moving.shape) < 3 or moving.shape[1] != self.ratio:
            raise VerifyException(
                f"Indices mismatch! 'moving' is {list(moving.shape)}, expected "
                f"[K, {self.ratio}, N] for a compress_ratio of {self.ratio}"
            )
        words = data["tags"].free_count
        if words * TAGS_PER_WORD != weights:
            raise VerifyException(
                f"Indices mismatch! 'tags' has {words} words of {TAGS_PER_WORD} tags "
                f"for {weights} elements of 'stationary'"
            )

    @gate("assert dst.free_ap_size even", "penguin.md 6.2")
    def even_result(self) -> None:
        """Columns are worked on in pairs."""
        count = self.data()["dst"].free_count
        if count % 2:
            raise VerifyException(
                "'dst' of a sparse matmul has an even number of elements per "
                f"partition, got {count}; pad the moving operand"
            )

    @gate("matmult_sparse cannot work with column tiling", "penguin.md 6.2")
    def whole_columns(self) -> None:
        """Sparse products use all columns."""
        if self.tiles_columns:
            raise VerifyException(
                "matmult_sparse cannot work with column tiling, got tile_size "
                f"{list(self.tile_shape or ())}"
            )

    @gate("sparse: no perf_mode, no transpose", "nki.md 1.1", "inferred")
    def sparse_alone(self) -> None:
        """The modes of a cell exclude each other."""
        if self.perf_mode.data is not MatmulPerfMode.NONE:
            raise VerifyException(
                f"a sparse matmul has no perf_mode, got {self.perf_mode.data}"
            )
        if self.is_transpose is not None:
            raise VerifyException(
                "a sparse matmul cannot be combined with is_transpose"
            )
