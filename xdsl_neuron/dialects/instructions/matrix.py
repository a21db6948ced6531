"""Instructions of the tensor engine, and transposes."""

from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr
from xdsl.irdl import operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.affine import Affine
from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instruction import Operand, target_of
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.neuron import AffineAttr, MatmulAccumulateAttr, TensorType
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Engine, MatmulAccumulate, Space

MATMUL_DTYPES = (
    DType.FLOAT8_E3M4,
    DType.FLOAT8_E4M3,
    DType.FLOAT8_E4M3FN,
    DType.FLOAT8_E5M2,
    DType.BFLOAT16,
    DType.FLOAT16,
    DType.TFLOAT32,
    DType.FLOAT32,
)
FULL_PRECISION = (DType.FLOAT32, DType.TFLOAT32)


class Matmul(ComputeInstruction):
    """
    `dst[m, n] = sum over k of stationary[k, m] * moving[k, n]`, accumulated in fp32.

    The contraction runs over partitions. `accumulate` says whether the products
    replace or join what the PSUM destination holds; `accumulate_if` (>= 0: join,
    else replace) decides it per iteration of a loop.

    With `is_transpose` the array moves bits instead: the stationary operand is an
    identity and `dst[n, k] = moving[k, n]`.
    """

    ENGINES: ClassVar = (Engine.PE,)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("stationary", "moving")

    dst = operand_def(TensorType)
    stationary = operand_def(TensorType)
    moving = operand_def(TensorType)
    accumulate = prop_def(
        MatmulAccumulateAttr,
        default_value=MatmulAccumulateAttr(MatmulAccumulate.AUTO),
    )
    accumulate_if = opt_prop_def(AffineAttr)
    is_transpose = opt_prop_def(UnitAttr)
    stationary_onezero = opt_prop_def(UnitAttr)
    moving_onezero = opt_prop_def(UnitAttr)

    def expressions(self) -> tuple[Affine, ...]:
        """Also the condition to accumulate."""
        condition = self.accumulate_if
        return super().expressions() + (() if condition is None else (condition.data,))

    def lane_shape(self, data: dict[str, Operand]) -> tuple[int, ...]:
        """Contraction, then the stationary's and the moving's free dimensions."""
        stationary, moving = data["stationary"].shape, data["moving"].shape
        return (stationary[0], *stationary[1:], *moving[1:])

    def lane_dims(self, data: dict[str, Operand]) -> dict[str, tuple[int, ...]]:
        """Lanes are (k, m..., n...)."""
        m = len(data["stationary"].shape) - 1
        n = len(data["moving"].shape) - 1
        columns = tuple(range(1 + m, 1 + m + n))
        rows = tuple(range(1, 1 + m))
        dst = data["dst"].shape
        dst_lanes = (-1,) * len(dst)
        if self.is_transpose is not None:
            if n == 1 and len(dst) == 1 + m:
                dst_lanes = (*columns, *rows)
        elif m == 1 and len(dst) == 1 + n:
            dst_lanes = (1, *columns)
        return {"dst": dst_lanes, "stationary": (0, *rows), "moving": (0, *columns)}

    @gate("Result buffer of matmult must be psum!", "penguin.md 6.2")
    def result_in_psum(self) -> None:
        """The array drains into PSUM and reads SBUF."""
        data = self.data()
        if data["dst"].space is not Space.PSUM:
            raise VerifyException(
                f"Result buffer of matmult must be psum! Got {data['dst']}"
            )
        for name in ("stationary", "moving"):
            if data[name].space is not Space.SBUF:
                self.wrong_space(data[name], "sbuf")

    @gate("number of partitions mismatch in parameters (...", "penguin.md 5")
    def contraction_size(self) -> None:
        """Both inputs have the contraction on their partitions."""
        data = self.data()
        stationary, moving = data["stationary"], data["moving"]
        if stationary.partitions != moving.partitions:
            raise VerifyException(
                "number of partitions mismatch in parameters (stationary: "
                f"{stationary.partitions}, moving: {moving.partitions})"
            )

    @gate(
        "size of dimension ... in '...' of '...' exceed architecture limitation of ...",
        "penguin.md 5",
    )
    def free_sizes(self) -> None:
        """Stationary free size <= 128, moving free size <= 512 (more on trn3)."""
        data = self.data()
        stationary, moving = data["stationary"], data["moving"]
        arch = target_of(self)
        limit = Arch.max_stationary_free if arch is None else arch.max_stationary_free
        if stationary.free_count > limit:
            raise VerifyException(
                f"size of dimension 1 in 'stationary' of '{self.name}' exceed "
                f"architecture limitation of {limit}: stationary is {stationary}; "
                f"split it into tiles of {limit} columns"
            )
        if arch is None:
            return
        if self.is_transpose is not None:
            if moving.free_count > arch.pe_columns:
                raise VerifyException(
                    f"size of dimension 1 in 'moving' of '{self.name}' exceed "
                    f"architecture limitation of {arch.pe_columns}: a transpose has "
                    f"{moving.free_count} columns; transpose it in blocks"
                )
            return
        wide = data["dst"].dtype is DType.BFLOAT16
        limit = arch.max_moving_free_bf16 if wide else arch.max_moving_free
        if moving.free_count > limit:
            raise VerifyException(
                f"size of dimension 1 in 'moving' of '{self.name}' exceed architecture "
                f"limitation of {limit}: moving free size {moving.free_count} exceeds "
                f"{limit}; loop over blocks of {limit} columns"
            )

    @gate("Illegal matmul result shape: ...", "penguin.md 5", "inferred")
    def result_shape(self) -> None:
        """The result is [stationary free, moving free]."""
        data = self.data()
        dst, rows = data["dst"], data["stationary"].free_count
        columns = data["moving"].free_count
        if self.is_transpose is not None:
            rows, columns = columns, data["stationary"].free_count
        if dst.partitions != rows or dst.free_count != columns:
            raise VerifyException(
                f"tile shape mismatch, expected '[{rows}, {columns}]' (stationary "
                f"free, moving free) for 'dst', got {list(dst.shape)}"
            )
        identity = data["stationary"]
        if self.is_transpose is not None and columns != identity.partitions:
            raise VerifyException(
                f"the stationary operand of a transpose is a square identity, got "
                f"{identity}"
            )

    @gate("... expected one of the following dtypes: ...", "penguin.md 7 nc_matmul")
    def matmul_dtypes(self) -> None:
        """Floating-point inputs; fp32 and tf32 only with each other."""
        data = self.data()
        names = ", ".join(dtype.nki_name for dtype in MATMUL_DTYPES)
        for name in ("stationary", "moving"):
            if data[name].dtype not in MATMUL_DTYPES:
                raise VerifyException(
                    f"Unsupported dtype '{data[name].dtype.nki_name}' of '{name}', "
                    f"expected one of the following dtypes: {names}"
                )
        full = [data[n].dtype in FULL_PRECISION for n in ("stationary", "moving")]
        if full[0] != full[1]:
            raise VerifyException(
                "a float32 or tfloat32 operand goes only with another one, got "
                f"{data['stationary'].dtype.nki_name} and "
                f"{data['moving'].dtype.nki_name}"
            )

    @gate(
        "PSUM tensor for non-transpose writes must be a 4-byte dtype (FP32/int32)",
        "penguin.md 2.3",
    )
    def psum_dtype(self) -> None:
        """PSUM accumulates in fp32; from trn3 also into bf16."""
        dst = self.data()["dst"]
        arch = target_of(self)
        if self.is_transpose is not None:
            self._transpose_dtype(dst.dtype)
            return
        if dst.dtype is DType.FLOAT32:
            return
        bf16 = arch is None or arch.has_bf16_psum_accumulate
        if dst.dtype is DType.BFLOAT16 and bf16:
            return
        raise VerifyException(
            "PSUM tensor for non-transpose writes must be a 4-byte dtype (FP32/int32), "
            f"got {dst.dtype.nki_name}"
        )

    def _transpose_dtype(self, dst: DType) -> None:
        moving = self.data()["moving"].dtype
        if dst is not moving:
            raise VerifyException(
                "Transpose mode on or after Gen3 requires input and output dtypes to "
                f"be the same, got {moving.nki_name} to {dst.nki_name}"
            )

    @gate("matmul is_transpose exists from gen3", "penguin.md 2.3; nki.md 5.5")
    def transpose_arch(self) -> None:
        """Gen2's array multiplies by an identity instead."""
        arch = target_of(self)
        if (
            self.is_transpose is not None
            and arch is not None
            and not arch.has_exact_pe_transpose
        ):
            raise VerifyException(
                f"{arch.name} has no transpose mode; multiply by an identity"
            )

    @gate("views crossing a PSUM bank", "nki.md 4.2")
    def one_bank(self) -> None:
        """A result stays in one bank of 2 KiB per partition before trn3."""
        arch = target_of(self)
        if arch is None or arch.matmul_may_cross_banks:
            return
        check_bank(self.data()["dst"], arch.psum_bank_bytes)


def check_bank(operand: Operand, bank_bytes: int) -> None:
    """The access's bytes in a partition lie in one bank of its tensor."""
    access = operand.access
    if not access.offset.is_constant:
        return
    start = access.offset.constant * operand.dtype.bytes
    extent = sum(step * (num - 1) for step, num in access.pairs[1:] if step > 0)
    last = start + (extent + 1) * operand.dtype.bytes - 1
    if start // bank_bytes != last // bank_bytes:
        raise VerifyException(
            f"access to '{operand.name}' crosses a PSUM bank: bytes {start} to {last} "
            f"of a partition, banks hold {bank_bytes}; use one tile per bank"
        )


class Transpose(ComputeInstruction):
    """
    `dst[f, p] = src[p, f]`, a two-dimensional transpose that moves bits.

    The tensor engine reads SBUF and writes PSUM, at most 128 x 128; the vector engine
    transposes at most 32 x 32.
    """

    ENGINES: ClassVar = (Engine.PE, Engine.DVE)
    IN_PLACE: ClassVar = False
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)

    def lane_dims(self, data: dict[str, Operand]) -> dict[str, tuple[int, ...]]:
        """Lanes are the source's dimensions."""
        return {"dst": (1, 0), "src": (0, 1)}

    def lane_shape(self, data: dict[str, Operand]) -> tuple[int, ...]:
        """The source's partitions and elements per partition."""
        src = data["src"]
        return (src.partitions, src.free_count)

    @gate("Transpose engine can only be Tensor or Vector or Unknown.", "penguin.md 6.2")
    def engine_set(self) -> None:
        """The engines that transpose."""
        engine = self.engine.data
        if engine not in (*self.ENGINES, Engine.UNASSIGNED):
            raise VerifyException(
                "Transpose engine can only be Tensor or Vector or Unknown. Got "
                f"{engine}"
            )

    @property
    def on_vector_engine(self) -> bool:
        """Whether the vector engine runs it: asked for, or the result is in SBUF."""
        engine = self.engine.data
        if engine is not Engine.UNASSIGNED:
            return engine is Engine.DVE
        return self.data()["dst"].space is not Space.PSUM

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def transposed_shape(self) -> None:
        """The output has the source's dimensions swapped."""
        data = self.data()
        src, dst = data["src"], data["dst"]
        rows, columns = src.partitions, src.free_count
        if (dst.partitions, dst.free_count) != (columns, rows):
            raise VerifyException(
                f"tile shape mismatch, expected '[{columns}, {rows}]' for 'dst', got "
                f"{list(dst.shape)}"
            )
        limit = 32 if self.on_vector_engine else Arch.max_stationary_free
        if rows > limit or columns > limit:
            unit = "vector" if limit == 32 else "tensor"
            raise VerifyException(
                f"Operand must be no larger than ({limit}, {limit}) on the {unit} "
                f"engine, got ({rows}, {columns}); transpose it in blocks"
            )

    @gate("... src and dst must have same data type but got ...", "penguin.md 5")
    def same_dtype(self) -> None:
        """A transpose moves bits; gen2's tensor engine writes fp32."""
        data = self.data()
        src, dst = data["src"], data["dst"]
        arch = target_of(self)
        if src.dtype is dst.dtype:
            return
        gen2 = arch is not None and arch.level <= 20 and not self.on_vector_engine
        if gen2 and dst.dtype is DType.FLOAT32:
            return
        raise VerifyException(
            f"{self.name} src and dst must have same data type but got "
            f"{src.dtype.nki_name} and {dst.dtype.nki_name}"
        )

    @gate("PE: SBUF -> PSUM", "nki.md 1.1 nc_transpose")
    def transpose_spaces(self) -> None:
        """The tensor engine reads SBUF and writes PSUM."""
        if self.on_vector_engine:
            return
        data = self.data()
        if data["src"].space is not Space.SBUF:
            self.wrong_space(data["src"], "sbuf")
        if data["dst"].space is not Space.PSUM:
            self.wrong_space(data["dst"], "psum")
