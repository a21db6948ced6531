"""Builders for the tensor engine (penguin.md 6.2)."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DenseArrayBase, FileLineColLoc, UnitAttr, i64
from xdsl.ir import Attribute

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.instruction_text import integer
from xdsl_neuron.dialects.neuron import (
    AffineAttr,
    MatmulAccumulateAttr,
    MatmulPerfModeAttr,
)
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import Engine, MatmulAccumulate, MatmulPerfMode, Space
from xdsl_neuron.tracer.index import Mask
from xdsl_neuron.tracer.state import Dep
from xdsl_neuron.tracer.tiles import ENGINES, TileBuilders
from xdsl_neuron.tracer.views import View

ACCUMULATE = {member: MatmulAccumulateAttr(member) for member in MatmulAccumulate}


@dataclass(frozen=True)
class ArrayTile:
    """A part of the tensor engine's array: its first row and column, and its size."""

    row: Affine
    column: Affine
    size: tuple[int, int]

    def properties(self) -> dict[str, Attribute]:
        """The fields of an instruction."""
        return {
            "tile_row": AffineAttr(self.row),
            "tile_column": AffineAttr(self.column),
            "tile_size": DenseArrayBase.from_list(i64, self.size),
        }


class MatrixBuilders(TileBuilders):
    """Matmul and transpose."""

    def in_sbuf(self, tile: View) -> View:
        """A tile that engines without PSUM can read: one in PSUM is copied."""
        return self.tensor_copy(tile) if tile.space is Space.PSUM else tile

    def matmul_operands(self, x: View, y: View, transpose_x: bool) -> tuple[View, View]:
        """What `nl.matmul` gives the tensor engine: x transposed, both in SBUF."""
        x = self.in_sbuf(x)
        if not transpose_x:
            x = self.in_sbuf(self.transpose(x, engine=Engine.PE))
        return x, self.in_sbuf(y)

    def matmult(
        self,
        stationary: View,
        moving: View,
        psum: View | None = None,
        *,
        accumulate: MatmulAccumulate = MatmulAccumulate.AUTO,
        is_stationary_onezero: bool = False,
        is_moving_onezero: bool = False,
        is_transpose: bool = False,
        tile: ArrayTile | None = None,
        perf_mode: MatmulPerfMode = MatmulPerfMode.NONE,
        quant_offsets: tuple[int, int] = (0, 0),
        mask: Mask | None = None,
        name: str | None = None,
        deps: Sequence[Dep] = (),
        location: FileLineColLoc | None = None,
    ) -> View:
        """
        `psum = stationary.T @ moving`, or added to it as `accumulate` says.

        With `is_transpose` the array moves the bits of `stationary`, and `moving` is
        an identity. `quant_offsets` are the zero points of both operands.
        """
        if psum is None:
            shape = matmul_shape(stationary, moving, perf_mode)
            dtype = stationary.element_type if is_transpose else DType.FLOAT32
            psum = self.new_tile(shape, dtype, Space.PSUM)
        if is_transpose and accumulate is MatmulAccumulate.AUTO:
            accumulate = MatmulAccumulate.OVERWRITE
        properties: dict[str, Attribute] = {
            "accumulate": ACCUMULATE[accumulate],
            **({} if tile is None else tile.properties()),
        }
        flags = {
            "is_transpose": is_transpose,
            "stationary_onezero": is_stationary_onezero,
            "moving_onezero": is_moving_onezero,
        }
        properties |= {key: UnitAttr() for key, is_set in flags.items() if is_set}
        if perf_mode is not MatmulPerfMode.NONE:
            properties["perf_mode"] = MatmulPerfModeAttr(perf_mode)
        names = ("stationary_quant_offset", "moving_quant_offset")
        for key, zero in zip(names, quant_offsets, strict=True):
            if zero:
                properties[key] = integer(zero)
        self.emit(
            penguin.MatMulOp,
            [psum, stationary, moving],
            properties,
            mask=mask,
            name=name,
            deps=deps,
            location=location,
        )
        return psum

    def matmult_sparse(
        self,
        stationary: View,
        moving: View,
        tags: View,
        compress_ratio: int,
        psum: View | None = None,
        *,
        accumulate: MatmulAccumulate = MatmulAccumulate.AUTO,
        tile: ArrayTile | None = None,
        name: str | None = None,
        deps: Sequence[Dep] = (),
        location: FileLineColLoc | None = None,
    ) -> View:
        """
        A matmul whose stationary operand keeps 1 of `compress_ratio` elements.

        stationary [K, M], moving [K, compress_ratio, N], tags uint16 [K, M / 4].
        """
        if psum is None:
            shape = (*stationary.shape[1:], *moving.shape[2:])
            psum = self.new_tile(shape, DType.FLOAT32, Space.PSUM)
        self.emit(
            penguin.MatMulSparseOp,
            [psum, stationary, moving, tags],
            {
                "accumulate": ACCUMULATE[accumulate],
                "compress_ratio": integer(compress_ratio),
                **({} if tile is None else tile.properties()),
            },
            name=name,
            deps=deps,
            location=location,
        )
        return psum

    def transpose(
        self,
        tensor: View,
        dst: View | None = None,
        dtype: DType | None = None,
        engine: Engine = Engine.UNASSIGNED,
        mask: Mask | None = None,
        name: str | None = None,
        deps: Sequence[Dep] = (),
    ) -> View:
        """
        Swaps partitions and the free dimension of a two-dimensional tile.

        Without `dst`: the tensor engine writes a PSUM tile, the vector engine an SBUF
        tile; an open engine is the tensor engine.
        """
        if dst is None:
            space = Space.SBUF if engine is Engine.DVE else Space.PSUM
            columns = tensor.size // tensor.shape[0]
            dst = self.new_tile(
                (columns, tensor.shape[0]), dtype or tensor.element_type, space
            )
        self.emit(
            penguin.TransposeOp,
            [dst, tensor],
            {"engine": ENGINES[engine]},
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst


def matmul_shape(
    stationary: View, moving: View, perf_mode: MatmulPerfMode
) -> tuple[int, ...]:
    """The shape of a matmul's result: the dimensions that are not summed over."""
    shape, columns = stationary.shape, moving.shape
    match perf_mode:
        case MatmulPerfMode.DOUBLE_ROW:
            return (*shape[2:], *columns[2:])
        case MatmulPerfMode.DOUBLE_ROW_SW_INTERLEAVE:
            return (*shape[1:-1], *columns[2:])
        case _:
            return (*shape[1:], *columns[1:])
