"""Builders of searches, statistics and selections on whole rows (penguin.md 6.3)."""

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.neuron import AffineAttr, AluOpAttr
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp, MatmulAccumulate
from xdsl_neuron.tracer.accumulators import Fold
from xdsl_neuron.tracer.index import Mask
from xdsl_neuron.tracer.left_out import keep_mask
from xdsl_neuron.tracer.matrix import ACCUMULATE, ArrayTile
from xdsl_neuron.tracer.row_masks import cut_by, row_mask
from xdsl_neuron.tracer.state import Dep
from xdsl_neuron.tracer.tiles import TileBuilders, immediate
from xdsl_neuron.tracer.views import View

WIDTH = 8


class RowBuilders(TileBuilders):
    """Without `dst` each makes its result tile."""

    def _row(
        self,
        kind: type[Instruction],
        api: str,
        dst: View | None,
        columns: int,
        sources: Sequence[View],
        mask: Mask | None,
        dtype: DType | None,
        deps: Sequence[Dep],
        name: str | None,
    ) -> View:
        """An instruction with `columns` results for each partition of the sources."""
        first = sources[0]
        if dst is None:
            dst = self.new_tile((first.shape[0], columns), dtype or first.element_type)
        clip = row_mask(mask, first, api)
        if kind is penguin.SundaMaxIndex8Op:
            clip.check_positions(first.shape, api)
        self.emit(
            kind,
            [dst, clip.part(first), *sources[1:]],
            {},
            mask=clip.partitions,
            name=name,
            deps=deps,
        )
        return dst

    def max8(
        self,
        src: View,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """The 8 largest elements of each partition, descending."""
        kind = penguin.SundaMax8Op
        return self._row(kind, "max8", dst, WIDTH, [src], mask, dtype, deps, name)

    def find_index8(
        self,
        data: View,
        vals: View,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """Where each of 8 values first occurs in its partition."""
        return self._row(
            penguin.SundaMaxIndex8Op,
            "nc_find_index8",
            dst,
            WIDTH,
            [data, vals],
            mask,
            dtype or DType.UINT32,
            deps,
            name,
        )

    def bn_stats(
        self,
        data: View,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """Count, mean and M2 of the even elements, then of the odd ones."""
        kind = penguin.SundaBNStatsOp
        return self._row(kind, "bn_stats", dst, 6, [data], mask, dtype, deps, name)

    def bn_aggr(
        self,
        data: View,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """Mean and variance of merged triples."""
        kind = penguin.SundaBNAggrOp
        return self._row(kind, "bn_aggr", dst, 2, [data], mask, dtype, deps, name)

    def match_replace8(
        self,
        data: View,
        vals: View,
        imm: float,
        dst_idx: View | None = None,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """The data with the first occurrence of each of 8 values replaced by `imm`."""
        if dst is None:
            dst = self.new_tile(data.shape, dtype or data.element_type)
        clip = row_mask(mask, data, "nc_match_replace8")
        if dst_idx is not None:
            clip.check_positions(data.shape, "nc_match_replace8")
        part = clip.part(dst)
        outs = [part] if dst_idx is None else [part, dst_idx]
        fresh = not dst.base.written
        self.emit(
            penguin.SundaMatchReplace8Op
            if dst_idx is None
            else penguin.MaxIndexAndMatchReplaceOp,
            [*outs, clip.part(data), vals],
            {"imm": immediate(imm)},
            mask=clip.partitions,
            name=name,
            deps=deps,
        )
        if fresh:
            keep_mask(dst, clip.whole)
        return dst

    def partition_reduce(
        self,
        op: AluOp,
        data: View,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """Folds the partitions into one; a mask leaves elements of `data` out."""
        if dst is None:
            shape = (1, *data.shape[1:])
            dst = self.new_tile(shape, dtype or data.element_type)
        fresh = not dst.base.written
        part, clip = cut_by(mask, data, "tensor_partition_reduce")
        self.emit(
            penguin.PartitionReduceOp,
            [clip.part(dst), part],
            {"op": AluOpAttr(op)},
            name=name,
            deps=deps,
        )
        if fresh:
            keep_mask(dst, clip.whole)
        return dst

    def affine_select(
        self,
        value: Affine,
        compare: AluOp,
        on_true: View,
        on_false: float,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """`on_true` where `value compare 0`, else `on_false`; value over the lanes."""
        if dst is None:
            dst = self.new_tile(on_true.shape, dtype or on_true.element_type)
        self.emit(
            penguin.AffSelTensorScalarOp,
            [dst, on_true],
            {
                "compare": AluOpAttr(compare),
                "value": AffineAttr(value),
                "fill": immediate(on_false),
            },
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def range_select(
        self,
        on_true: View,
        compares: tuple[AluOp, AluOp],
        bounds: tuple[View, View],
        range_start: int,
        reduce_op: AluOp,
        fold: Fold,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """`on_true` where the column is in range, else the smallest fp32."""
        if dst is None:
            dst = self.new_tile(on_true.shape, dtype or on_true.element_type)
        properties: dict[str, Attribute] = {
            "compare0": AluOpAttr(compares[0]),
            "compare1": AluOpAttr(compares[1]),
        }
        clip = row_mask(mask, on_true, "range_select")
        if on_true.ndim > 2:
            clip.check_positions(on_true.shape, "range_select")
        if clip.ranges is not None:
            range_start += clip.ranges[0][0]
        if range_start:
            properties["range_start"] = immediate(range_start)
        kind: type[Instruction] = penguin.RangeSelectOp
        part, fresh = clip.part(dst), not dst.base.written
        outs: list[View | None] = [part]
        if not fold.is_absent:
            kind, outs = penguin.RangeSelectReduceOp, [part, fold.result]
            properties["reduce_op"] = AluOpAttr(reduce_op)
            fold.place(properties)
        self.emit(
            kind,
            [*outs, clip.part(on_true), *bounds],
            properties,
            mask=clip.partitions,
            name=name,
            deps=deps,
        )
        if fresh:
            keep_mask(dst, clip.whole)
        return dst

    def nonzero_with_count(
        self, dst: View, src: View, index_offset: int, padding: int, name: str | None
    ) -> View:
        """The indices of non-zero elements, padding, and their count."""
        self.emit(
            penguin.NonzeroWithCountOp,
            [dst, src],
            {
                "index_offset": IntegerAttr(index_offset, i64),
                "padding": IntegerAttr(padding, i64),
            },
            name=name,
        )
        return dst

    def sequence_bounds(
        self,
        segment_ids: View,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """[start, end) of the segment of each element: (1, N) to (1, 2, N)."""
        if dst is None:
            shape = (1, 2, segment_ids.size // segment_ids.shape[0])
            dst = self.new_tile(shape, dtype or segment_ids.element_type)
        self.emit(
            penguin.GetSequenceBoundsOp, [dst, segment_ids], {}, name=name, deps=deps
        )
        return dst

    def quantize_mx(
        self, dst: View, src: View, dst_scale: View, name: str | None = None
    ) -> View:
        """Packs `src` four elements to a container, with a scale for each block."""
        self.emit(penguin.QuantizeMXOp, [dst, dst_scale, src], {}, name=name)
        return dst

    def matmul_mx(
        self,
        dst: View,
        stationary: View,
        moving: View,
        scales: tuple[View, View],
        accumulate: MatmulAccumulate,
        name: str | None = None,
        tile: ArrayTile | None = None,
    ) -> View:
        """A matmul of packed operands; `scales` are (stationary's, moving's)."""
        self.emit(
            penguin.MatMulMXOp,
            [dst, stationary, moving, *scales],
            {
                "accumulate": ACCUMULATE[accumulate],
                **({} if tile is None else tile.properties()),
            },
            name=name,
        )
        return dst
