"""What the products of the tensor engine's array have in common (`MatmultBase`)."""

from math import prod
from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64
from xdsl.irdl import opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects.blocks import block_count, block_elements, within_block
from xdsl_neuron.dialects.effects import JOIN, OVERWRITE, READ, UPDATE, Effect
from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instruction import target_of
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.neuron import AffineAttr, MatmulAccumulateAttr
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.pattern import Pattern
from xdsl_neuron.isa import Engine, MatmulAccumulate, Space


class MatmulBase(ComputeInstruction):
    """
    A product of the array, which holds `stationary`, streams `moving`, fills PSUM.

    The contraction runs over partitions. `accumulate` says whether the products
    replace or join what the destination holds; `accumulate_if` (>= 0: join, else
    replace) decides it per iteration of a loop.

    `tile_size` [rows, columns] at (`tile_row`, `tile_column`) is the part of the array
    that is used, the whole where they are absent; it changes when, not what, is
    computed. The `replication` fields are carried; their meaning is not documented,
    so what sets them does not run.
    """

    ENGINES: ClassVar = (Engine.PE,)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("stationary", "moving")

    accumulate = prop_def(
        MatmulAccumulateAttr,
        default_value=MatmulAccumulateAttr(MatmulAccumulate.AUTO),
    )
    accumulate_if = opt_prop_def(AffineAttr)
    tile_row = opt_prop_def(AffineAttr)
    tile_column = opt_prop_def(AffineAttr)
    tile_size = opt_prop_def(DenseArrayBase.constr(i64))
    replication_resolution = opt_prop_def(IntegerAttr)
    replication_shift_amnt = opt_prop_def(IntegerAttr)
    replication_num_rows = opt_prop_def(IntegerAttr)

    def expressions(self) -> tuple[Affine, ...]:
        """Also the condition to accumulate, and the place in the array."""
        fields = (self.accumulate_if, self.tile_row, self.tile_column)
        own = tuple(field.data for field in fields if field is not None)
        return super().expressions() + own

    def effect(self, name: str) -> Effect:
        """Products overwrite the destination, are added to it, or as it is fresh."""
        if name not in self.OUTS:
            return READ
        if self.is_open:
            return JOIN
        overwrites = (
            self.accumulate_if is None
            and self.accumulate.data is not MatmulAccumulate.ACCUMULATE
        )
        return OVERWRITE if overwrites else UPDATE

    @classmethod
    def factors(cls) -> tuple[str, ...]:
        """The inputs that are multiplied, or scale what is."""
        return cls.INS

    @property
    def is_open(self) -> bool:
        """Whether freshness of the destination decides if the products join it."""
        return (
            self.accumulate_if is None and self.accumulate.data is MatmulAccumulate.AUTO
        )

    @property
    def contraction_dims(self) -> tuple[int, int, int]:
        """
        Dimensions of the operands that are summed over.

        Leading ones of the stationary operand, trailing ones of it, and leading ones
        of the moving operand.
        """
        return 1, 0, 1

    def row_shape(self, data: dict[str, Operand]) -> tuple[int, ...]:
        """The stationary's dimensions that become the result's rows."""
        leading, trailing, _ = self.contraction_dims
        shape = data["stationary"].shape
        return shape[leading : len(shape) - trailing]

    def column_shape(self, data: dict[str, Operand]) -> tuple[int, ...]:
        """The moving's dimensions that become the result's columns."""
        return data["moving"].shape[self.contraction_dims[2] :]

    def lane_shape(self, data: dict[str, Operand]) -> tuple[int, ...]:
        """Contraction, then the stationary's and the moving's free dimensions."""
        shared = data["moving"].shape[: self.contraction_dims[2]]
        return (*shared, *self.row_shape(data), *self.column_shape(data))

    def lane_dims(self, data: dict[str, Operand]) -> dict[str, tuple[int, ...]]:
        """Lanes are (k..., m..., n...)."""
        leading, trailing, shared = self.contraction_dims
        m, n = len(self.row_shape(data)), len(self.column_shape(data))
        rows = tuple(range(shared, shared + m))
        columns = tuple(range(shared + m, shared + m + n))
        dst = data["dst"].shape
        whole = m == 1 and len(dst) == 1 + n
        summed = tuple(range(shared))
        stationary = (*summed[:leading], *rows, *summed[leading : leading + trailing])
        return {
            "dst": (*rows, *columns) if whole else (-1,) * len(dst),
            "stationary": stationary[: len(data["stationary"].shape)],
            "moving": (*summed, *columns)[: len(data["moving"].shape)],
        }

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
                f"{stationary.partitions}, moving: {moving.partitions}); both have the "
                "contraction on their partitions"
            )

    @gate("views crossing a PSUM bank", "nki.md 4.2")
    def one_bank(self) -> None:
        """A result stays in one bank of 2 KiB per partition before trn3."""
        arch = target_of(self)
        if arch is None or arch.matmul_may_cross_banks:
            return
        if prod(self.column_shape(self.data())) > arch.max_moving_free:
            return  # no bank holds that many, which has a message of its own
        check_bank(self.data()["dst"], arch.psum_bank_bytes)

    @gate(
        "nc_matmul tile_position and tile_size must be both set or not set.",
        "penguin.md 7 nc_matmul",
    )
    def tile_given_whole(self) -> None:
        """A part of the array has a place and a size."""
        names = ("tile_row", "tile_column", "tile_size")
        missing = [name for name in names if name not in self.properties]
        if 0 < len(missing) < len(names):
            raise VerifyException(
                "nc_matmul tile_position and tile_size must be both set or not set. "
                f"Got no {', '.join(missing)}"
            )

    @gate("tile_size in {32, 64, 128}, 32 from gen3", "nki.md 1.1; penguin.md 7")
    def tile_sizes(self) -> None:
        """Rows and columns are split in halves, from gen3 also in quarters."""
        size = self.tile_shape
        if size is None:
            return
        arch = target_of(self)
        legal = Arch.pe_tile_sizes if arch is None else arch.pe_tile_sizes
        if len(size) != 2 or any(extent not in legal for extent in size):
            where = "" if arch is None else f" on {arch.name}"
            raise VerifyException(
                f"tile_size {list(size)} is not supported{where}: rows and columns of "
                f"the array are split into {', '.join(str(n) for n in legal)}"
            )

    @gate("tile_position is a multiple of tile_size", "nki.md 1.1 nc_matmul")
    def tile_place(self) -> None:
        """A tile begins where one of its size does, inside of the array."""
        size, row, column = self.tile_shape, self.tile_row, self.tile_column
        if size is None or row is None or column is None:
            return
        limits = (Arch.pe_rows, Arch.pe_columns)
        names = ("row", "column")
        places = (row.data, column.data)
        for name, place, extent, limit in zip(names, places, size, limits, strict=True):
            for value in self.values_of(place):
                if value % extent or not 0 <= value < limit:
                    starts = ", ".join(str(n) for n in range(0, limit, extent))
                    raise VerifyException(
                        f"tile_position {name} {value} is not supported: a tile of "
                        f"{extent} {name}s starts at {starts}"
                    )

    @gate("tile_size >= accessed stationary", "penguin.md 7 nc_matmul")
    def tile_holds_stationary(self) -> None:
        """The tile has a row for each partition and a column for each row of dst."""
        size = self.tile_shape
        if size is None:
            return
        data = self.data()
        needed = (data["stationary"].partitions, prod(self.row_shape(data)))
        if needed[0] > size[0] or needed[1] > size[1]:
            raise VerifyException(
                f"'stationary' takes {needed[0]} rows and {needed[1]} columns of the "
                f"array, more than tile_size {list(size)}; use a larger tile"
            )

    @property
    def tile_shape(self) -> tuple[int, ...] | None:
        """`tile_size` as integers."""
        size = self.tile_size
        return None if size is None else tuple(int(n) for n in size.get_values())

    @property
    def tiles_columns(self) -> bool:
        """Whether a part of the array's columns is used."""
        size = self.tile_shape
        return size is not None and size[-1] != Arch.pe_columns

    def check_free_sizes(self) -> None:
        """Stationary free size <= 128, moving free size <= 512 (more on trn3)."""
        data = self.data()
        arch = target_of(self)
        rows, columns = prod(self.row_shape(data)), prod(self.column_shape(data))
        limit = Arch.max_stationary_free if arch is None else arch.max_stationary_free
        if rows > limit:
            raise VerifyException(
                f"size of dimension 1 in 'stationary' of '{self.name}' exceed "
                f"architecture limitation of {limit}: stationary free size {rows} "
                f"exceeds {limit}: {split_advice(rows, limit)}"
            )
        if arch is None:
            return
        wide = data["dst"].dtype is DType.BFLOAT16
        limit = arch.max_moving_free_bf16 if wide else arch.max_moving_free
        if columns > limit:
            raise VerifyException(
                f"size of dimension 1 in 'moving' of '{self.name}' exceed architecture "
                f"limitation of {limit}: moving free size {columns} exceeds {limit}: "
                f"{split_advice(columns, limit)}"
            )

    def check_result_shape(self) -> None:
        """The result is [stationary free, moving free]."""
        data = self.data()
        dst = data["dst"]
        rows, columns = prod(self.row_shape(data)), prod(self.column_shape(data))
        if dst.partitions != rows or dst.free_count != columns:
            raise VerifyException(
                f"tile shape mismatch, expected '[{rows}, {columns}]' (stationary "
                f"free, moving free) for 'dst', got {list(dst.shape)}"
            )

    def check_psum_dtype(self) -> None:
        """PSUM accumulates in fp32 and int32; from trn3 also into bf16."""
        dst = self.data()["dst"]
        if dst.dtype in (DType.FLOAT32, DType.INT32):
            return
        arch = target_of(self)
        bf16 = arch is None or arch.has_bf16_psum_accumulate
        if dst.dtype is DType.BFLOAT16 and bf16:
            return
        raise VerifyException(
            "PSUM tensor for non-transpose writes must be a 4-byte dtype (FP32/int32), "
            f"got {dst.dtype.nki_name}"
        )


def split_advice(size: int, limit: int) -> str:
    """How to split a free dimension that is too large."""
    parts = -(-size // limit)
    count = {2: "two halves"}.get(parts, f"{parts} blocks of at most {limit}")
    return f"loop over {count}, or use a block dimension"


def check_bank(operand: Operand, bank_bytes: int) -> None:
    """The access's bytes in a partition lie in one bank of its tensor, or block."""
    offset, element_bytes = operand.access.offset, operand.dtype.bytes
    blocks = block_count(operand.value)
    if blocks > 1:
        size = block_elements(operand.type, blocks) * operand.type.dtype.bytes
        offset = within_block(offset, size // element_bytes)
    if not offset.is_constant:
        offset = within_block(offset, bank_bytes // element_bytes)
    if not offset.is_constant:
        return
    elements = Pattern(offset.constant, operand.access.pairs[1:])
    start, last = elements.scaled(element_bytes).bounds()
    if start // bank_bytes != last // bank_bytes:
        raise VerifyException(
            f"access to '{operand.name}' crosses a PSUM bank: bytes {start} to {last} "
            f"of a partition, banks hold {bank_bytes}; use one tile per bank"
        )
