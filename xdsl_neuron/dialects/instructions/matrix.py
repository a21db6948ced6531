"""The tensor engine's matmul, and transposes."""

from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.irdl import operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instruction import target_of
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.instructions.first_rows import (
    may_start_badly,
    start_problem,
)
from xdsl_neuron.dialects.instructions.masks import bounds_one_lane, check_can_hold
from xdsl_neuron.dialects.instructions.systolic import MatmulBase
from xdsl_neuron.dialects.neuron import MatmulPerfModeAttr, TensorType
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Engine, MatmulAccumulate, MatmulPerfMode, Space

MATMUL_DTYPES = (
    DType.UINT8,
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
DOUBLE_ROW_DTYPES = (DType.FLOAT8_E4M3, DType.FLOAT8_E5M2, DType.FLOAT8_E4M3FN)
"""The last one where the generation has it, which is a gate of its own."""


class Matmul(MatmulBase):
    """
    `dst[m, n] = sum over k of stationary[k, m] * moving[k, n]`, accumulated in fp32.

    `stationary_quant_offset` and `moving_quant_offset` are zero points, subtracted
    from the operands first. With `perf_mode` DoubleRow the operands are [k, 2, m] and
    [k, 2, n], and both k and the 2 are summed over; with DoubleRowSwInterleave the
    stationary one is [k, m, 2].

    With `is_transpose` the array moves bits instead: the moving operand is an identity
    and `dst[m, k] = stationary[k, m]`. In general each column of it has at most one
    1, which says whose bits the column of dst gets; none gives zeros.
    """

    dst = operand_def(TensorType)
    stationary = operand_def(TensorType)
    moving = operand_def(TensorType)
    is_transpose = opt_prop_def(UnitAttr)
    stationary_onezero = opt_prop_def(UnitAttr)
    moving_onezero = opt_prop_def(UnitAttr)
    perf_mode = prop_def(
        MatmulPerfModeAttr, default_value=MatmulPerfModeAttr(MatmulPerfMode.NONE)
    )
    stationary_quant_offset = opt_prop_def(IntegerAttr)
    moving_quant_offset = opt_prop_def(IntegerAttr)

    @property
    def is_open(self) -> bool:
        """Bits that are moved overwrite, also where nothing is said."""
        return self.is_transpose is None and super().is_open

    @property
    def contraction_dims(self) -> tuple[int, int, int]:
        """A double row has two of them."""
        match self.perf_mode.data:
            case MatmulPerfMode.DOUBLE_ROW:
                return 2, 0, 2
            case MatmulPerfMode.DOUBLE_ROW_SW_INTERLEAVE:
                return 1, 1, 2
            case _:
                return 1, 0, 1

    @gate("Invalid ifmap data type for matmult", "bir.md 6.10; penguin.md 7 nc_matmul")
    def matmul_dtypes(self) -> None:
        """Floating point or uint8; fp32 and tf32 only with each other."""
        if self.is_transpose is not None:
            self._transposed_dtypes()
            return
        data = self.data()
        names = ", ".join(dtype.nki_name for dtype in MATMUL_DTYPES)
        for name, side in (("stationary", "weights"), ("moving", "ifmap")):
            if data[name].dtype not in MATMUL_DTYPES:
                raise VerifyException(
                    f"Invalid {side} data type for matmult: Unsupported dtype "
                    f"'{data[name].dtype.nki_name}' of '{name}', expected one of the "
                    f"following dtypes: {names}"
                )
        found = [data[n].dtype for n in ("stationary", "moving")]
        full = [dtype in FULL_PRECISION for dtype in found]
        if full[0] != full[1]:
            raise VerifyException(
                "a float32 or tfloat32 operand goes only with another one, got "
                f"{found[0].nki_name} and {found[1].nki_name}"
            )
        if {DType.FLOAT8_E4M3, DType.FLOAT8_E4M3FN} == set(found):
            raise VerifyException(
                "float8_e4m3 and float8_e4m3fn cannot be mixed in one matmul; cast one "
                "of the operands"
            )

    def _transposed_dtypes(self) -> None:
        data = self.data()
        found = [data[n].dtype for n in ("stationary", "moving")]
        if found[0] is not found[1]:
            raise VerifyException(
                "'nc_matmul' transpose mode only supports matching input dtypes, got "
                f"{found[0].nki_name} and {found[1].nki_name}"
            )
        if found[0].bytes > Arch.max_element_bytes or found[0].is_packed:
            raise VerifyException(
                f"Unsupported dtype '{found[0].nki_name}' of 'stationary': the array "
                "moves single elements of at most 4 bytes"
            )

    @gate("float8_e4m3fn from gen4", "nki.md 5.1", stage=Stage.ARCH)
    def ocp_fp8_arch(self) -> None:
        """The OCP format of fp8 came with trn3."""
        arch = target_of(self)
        if arch is None or arch.has_mx or self.is_transpose is not None:
            return
        data = self.data()
        for name in ("stationary", "moving"):
            if data[name].dtype is DType.FLOAT8_E4M3FN:
                raise VerifyException(
                    f"'{name}' of float8_e4m3fn is not supported on {arch.name}, whose "
                    "array multiplies float8_e4m3"
                )

    @gate(
        "PSUM tensor for non-transpose writes must be a 4-byte dtype (FP32/int32)",
        "penguin.md 2.3",
    )
    def psum_dtype(self) -> None:
        """PSUM accumulates in fp32; a transpose writes what it reads."""
        if self.is_transpose is None:
            self.check_psum_dtype()
            return
        data = self.data()
        src, dst = data["stationary"].dtype, data["dst"].dtype
        # nki.md 5.5: a transpose of bytes gives 16 bits, the upper ones zero. Seen as
        # bytes, they are moved one by one.
        if src is dst or (src.bytes, dst.bytes) == (1, 2):
            return
        raise VerifyException(
            "Transpose mode on or after Gen3 requires input and output dtypes to "
            f"be the same, got {src.nki_name} to {dst.nki_name}"
        )

    @gate(
        "matmul is_transpose exists from gen3",
        "penguin.md 2.3; nki.md 5.5",
        stage=Stage.ARCH,
    )
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

    @gate(
        "mask '...' couples the stationary and the moving operand",
        "design.md 7b",
        "inferred",
    )
    def mask_of_one_operand(self) -> None:
        """A mask over several lanes puts 0 into one operand."""
        dims = self.lane_dims(self.data())
        inputs = [set(dims[name]) for name in ("stationary", "moving")]
        for predicate in self.masks():
            if not any(predicate.lanes <= lanes for lanes in inputs):
                raise VerifyException(
                    f"mask '{predicate} >= 0' couples the stationary and the moving "
                    "operand; mask one operand, or copy the result under the mask"
                )

    @gate(
        "mask takes a remainder of '...', whose least value has several bounds",
        "design.md 7b",
        "our choice",
    )
    def mask_can_hold(self) -> None:
        """It is known of each iteration whether the mask holds anywhere in it."""
        check_can_hold(self)

    @gate("Access pattern starts at partition ...", "nki.md 4.2", "inferred")
    def masked_start(self) -> None:
        """
        A mask that leaves out first rows leaves a legal start.

        Rows in front are not computed instead: they would no longer be fresh.
        """
        data = self.data()
        for name, dims in self.lane_dims(data).items():
            operand = data[name]
            problem = start_problem(self, operand, dims[0]) if dims[0] >= 0 else None
            if problem:
                raise VerifyException(
                    f"mask leaves out the first partitions of '{name}' ({operand}): "
                    f"{problem}; multiply all rows, then copy the result under the "
                    "mask"
                )

    @gate("a transpose overwrites", "bir.md 6.10", "our choice")
    def transpose_is_plain(self) -> None:
        """Bits that are moved are not added to anything, and have no zero point."""
        if self.is_transpose is None:
            return
        if self.accumulate_if is not None or (
            self.accumulate.data is MatmulAccumulate.ACCUMULATE
        ):
            raise VerifyException(
                "a matmul in transpose mode moves bits and does not accumulate; "
                "transpose into a tile of its own and add that"
            )
        for name in ("stationary_quant_offset", "moving_quant_offset"):
            if name in self.properties:
                raise VerifyException(f"a matmul in transpose mode has no {name}")

    @gate("ifmap_quant_offset u8, weights_quant_offset u8", "bir.md 4.5")
    def zero_points(self) -> None:
        """A zero point is a byte."""
        for name in ("stationary_quant_offset", "moving_quant_offset"):
            value = self.properties.get(name)
            if isinstance(value, IntegerAttr) and not 0 <= value.value.data <= 255:
                raise VerifyException(
                    f"'{name}' is a zero point from 0 to 255, got {value.value.data}"
                )

    @gate(
        "perf_mode=`double_row_gen3` is not supported on <target>",
        "penguin.md 6.2",
        stage=Stage.ARCH,
    )
    def perf_mode_arch(self) -> None:
        """Several elements to a cell exist from gen3."""
        mode, arch = self.perf_mode.data, target_of(self)
        if mode is MatmulPerfMode.NONE or arch is None or arch.has_double_row:
            return
        raise VerifyException(
            f"perf_mode=`{_spelling(mode)}` is not supported on {arch.name}"
        )

    @gate(
        "The double_row matmult only support fp8e4m3 and fp8e5m2",
        "penguin.md 6.2; nki.md 1.1 nc_matmul",
    )
    def double_row_dtypes(self) -> None:
        """A cell holds two fp8 elements; their formats may differ."""
        if not self._is_double_row:
            return
        data = self.data()
        for name in ("stationary", "moving"):
            if data[name].dtype not in DOUBLE_ROW_DTYPES:
                raise VerifyException(
                    "The double_row matmult only support fp8e4m3 and fp8e5m2, got "
                    f"{data[name].dtype.nki_name} for '{name}'"
                )

    @gate(
        "first F dim of LHS and RHS of the double_row matmult must be 2 | The last "
        "dimension of double_row matmult must have size of 2",
        "penguin.md 6.2; bir.md 6.10",
    )
    def double_row_shape(self) -> None:
        """The second dimension of the contraction; software may interleave weights."""
        if not self._is_double_row:
            return
        data = self.data()
        interleaved = self.perf_mode.data is MatmulPerfMode.DOUBLE_ROW_SW_INTERLEAVE
        for name in ("stationary", "moving"):
            shape = data[name].shape
            last = interleaved and name == "stationary"
            if len(shape) > 2 and shape[-1 if last else 1] == 2:
                continue
            rule = (
                "The last dimension of double_row matmult must have size of 2"
                if last
                else "first F dim of LHS and RHS of the double_row matmult must be 2"
            )
            form = "[K, M, 2]" if last else "[K, 2, free]"
            raise VerifyException(f"{rule}: '{name}' is {list(shape)}, expected {form}")

    @gate("double_row: no column tiling, no transpose", "nki.md 1.1 nc_matmul")
    def double_row_alone(self) -> None:
        """Double rows use all columns, and multiply."""
        if not self._is_double_row:
            return
        if self.tiles_columns:
            raise VerifyException(
                "double_row cannot be combined with column tiling, got tile_size "
                f"{list(self.tile_shape or ())}; use all 128 columns"
            )
        if self.is_transpose is not None:
            raise VerifyException("double_row cannot be combined with is_transpose")

    @property
    def _is_double_row(self) -> bool:
        return self.perf_mode.data.rows_per_partition == 2

    @gate(
        "size of dimension ... in '...' of '...' exceed architecture limitation of ...",
        "penguin.md 5",
    )
    def free_sizes(self) -> None:
        """The array's columns, and what a bank holds."""
        self.check_free_sizes()

    @gate("Illegal matmul result shape: ...", "penguin.md 5", "inferred")
    def result_shape(self) -> None:
        """The result is [stationary free, moving free]."""
        self.check_result_shape()


def _spelling(mode: MatmulPerfMode) -> str:
    """The language's name of a mode, or the instruction's."""
    return "double_row_gen3" if mode is MatmulPerfMode.DOUBLE_ROW else mode.value


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

    @gate(
        "Transpose engine can only be Tensor or Vector or Unknown.",
        "penguin.md 6.2",
        stage=Stage.ENGINE,
    )
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

    def cut_lanes(self) -> list[int]:
        """Lanes whose first ones a mask leaves out, so that no access may start."""
        found = [0] if may_start_badly(self) else []
        # The source's columns are the destination's partitions.
        if start_problem(self, self.data()["dst"], 1):
            found.append(1)
        return found

    @property
    def is_product(self) -> bool:
        """Whether the tensor engine multiplies with an identity: it does on gen2."""
        arch = target_of(self)
        exact = arch is None or arch.has_exact_pe_transpose
        return not exact and not self.on_vector_engine

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
        on_vector = self.on_vector_engine
        limit = Arch.quadrant_partitions if on_vector else Arch.max_stationary_free
        if rows > limit or columns > limit:
            unit = "vector" if on_vector else "tensor"
            raise VerifyException(
                f"Operand must be no larger than ({limit}, {limit}) on the {unit} "
                f"engine, got ({rows}, {columns}); transpose it in blocks"
            )

    @gate(
        "mask is more than a box, which takes a destination of two dimensions",
        "design.md 7b",
        "our choice",
    )
    def mask_of_two_dimensions(self) -> None:
        """Such a mask is turned as the elements are."""
        dst = self.data()["dst"]
        boxes = all(map(bounds_one_lane, self.masks()))
        if len(dst.shape) == 2 or (boxes and not self.cut_lanes()):
            return
        raise VerifyException(
            "mask is more than a box of accesses, which takes a destination of two "
            f"dimensions, got {list(dst.shape)}; copy the result under the mask"
        )

    @gate("... src and dst must have same data type but got ...", "penguin.md 5")
    def same_dtype(self) -> None:
        """A transpose moves bits; gen2's tensor engine writes fp32."""
        data = self.data()
        src, dst = data["src"], data["dst"]
        multiplies = self.is_product
        if multiplies and src.dtype not in MATMUL_DTYPES:
            raise VerifyException(
                "the tensor engine of gen2 transposes by multiplying with an identity, "
                f"which it cannot do with {src.dtype.nki_name}; use the vector engine"
            )
        if src.dtype is dst.dtype or (multiplies and dst.dtype is DType.FLOAT32):
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
