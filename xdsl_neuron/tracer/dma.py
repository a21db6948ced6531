"""Builders of data movement (penguin.md 6.1)."""

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i64
from xdsl.ir import Attribute

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.instructions.dma_fold import SOURCES
from xdsl_neuron.dialects.instructions.transpose import LEGAL_AXES, DmaTranspose
from xdsl_neuron.dialects.neuron import (
    AluOpAttr,
    DgeTypeAttr,
    ImmediatesAttr,
    OobModeAttr,
    QosClassAttr,
)
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.pattern import Pattern
from xdsl_neuron.isa import AluOp, DgeType, Engine, OobMode, QosClass, Space
from xdsl_neuron.tracer.errors import NKISyntaxError, NKITypeError, NKIValueError
from xdsl_neuron.tracer.gathered_transposes import gathered_columns
from xdsl_neuron.tracer.index import Mask, Shape, broadcast_tiles
from xdsl_neuron.tracer.layouts import Gather
from xdsl_neuron.tracer.state import Dep
from xdsl_neuron.tracer.tiles import ENGINES, Number, TileBuilders, without_unit_dims
from xdsl_neuron.tracer.views import View

_QOS: Final = {member: QosClassAttr(member) for member in QosClass}
_DGE: Final = {member: DgeTypeAttr(member) for member in DgeType}
_OOB: Final = {member: OobModeAttr(member) for member in OobMode}


def validate_dma_qos(dma_qos: object) -> QosClassAttr:
    """
    A quality-of-service request: none, default or P0 to P3 (dma.md 13.3).

    Raises NKIValueError for others: the wire has no more classes.
    """
    if dma_qos is None:
        return _QOS[QosClass.UNASSIGNED]
    if isinstance(dma_qos, QosClass):
        return _QOS[dma_qos]
    name = getattr(dma_qos, "name", dma_qos)
    if isinstance(name, str):
        for member in QosClass:
            if name.lower() == member.value.lower():
                return _QOS[member]
    raise NKIValueError(
        f"dma_qos is {dma_qos!r}, expected none, Default, P0, P1, P2 or P3"
    )


class DmaBuilders(TileBuilders):
    """Loads, stores, copies, transposes, gathers and scatters."""

    def load(
        self,
        pointer: View,
        mask: Mask | None = None,
        dtype: DType | None = None,
        other: Number | None = None,
        schedule: object = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        mode: object = None,
        dma_qos: QosClass | None = None,
    ) -> View:
        """
        Copies an HBM tile into a fresh SBUF tile, cast to `dtype`.

        `other` is what the tile holds where `mask` leaves elements out; without it they
        are undefined.
        """
        if pointer.has_index:
            return self.indirect_load(
                pointer,
                mask,
                None,
                schedule,
                deps,
                name,
                mode,
                dma_qos=dma_qos,
                dtype=dtype,
                other=other,
            )
        dst = self.new_tile(
            pointer.shape, dtype or pointer.element_type, init=other, name=name
        )
        self.emit(
            penguin.SBAtomLoadOp,
            [dst, pointer],
            {"dma_qos": validate_dma_qos(dma_qos)},
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def store(
        self,
        pointer: View,
        value: View | Number,
        mask: Mask | None = None,
        rmw_op: AluOp | None = None,
        schedule: object = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        mode: object = None,
        dma_qos: QosClass | None = None,
    ) -> None:
        """Copies a tile (or a number) into HBM, cast to its element type."""
        if pointer.space is not Space.HBM:
            raise NKISyntaxError(
                f"Expected operand 'dst' of 'store' to be in address space 'hbm', but "
                f"got a {pointer.space} instead."
            )
        if pointer.has_index:
            self.indirect_save(
                pointer,
                value,
                mask,
                rmw_op,
                schedule,
                deps,
                name,
                mode,
                dma_qos=dma_qos,
            )
            return
        src = self.legalize_store_value(pointer, value)
        properties: dict[str, Attribute] = {"dma_qos": validate_dma_qos(dma_qos)}
        if rmw_op is not None:
            properties["rmw_op"] = AluOpAttr(rmw_op)
        self.emit(
            penguin.SBAtomStoreOp,
            [pointer, src],
            properties,
            mask=mask,
            name=name,
            deps=deps,
        )

    def legalize_store_value(self, pointer: View, value: View | Number) -> View:
        """
        What a store reads: a tile in SBUF with the destination's shape.

        A number becomes a memset tile, a PSUM tile is copied to SBUF with the
        destination's element type, dimensions of extent 1 are repeated.
        """
        shape = pointer.shape
        if not isinstance(value, View):
            return self.filled(shape, value, pointer.element_type)
        if value.space is Space.PSUM:
            value = self.tensor_copy(value, dtype=pointer.element_type)
        value = without_unit_dims(value, shape)
        if value.shape == shape:
            return value
        self._check_store_shape(pointer, value, shape)
        return self.broadcast(value, shape)

    def _check_store_shape(self, pointer: View, value: View, shape: Shape) -> None:
        try:
            wide = broadcast_tiles(shape, value.shape)
        except NKIValueError:
            wide = ()
        if wide != shape:
            raise NKIValueError(
                f"Illegal assignment destination shape in 'store': shape {shape} of "
                f"'{pointer.name}' is smaller than other parameter shape {value.shape}"
            )

    def has_legal_dma_access(self, tile: View) -> bool:
        """
        Whether a DMA moves the tile in runs of more than one element.

        Shorter runs are legal, only slow: what the engines cannot do is a gate of the
        instruction (dma.md 13.2).
        """
        pairs = tile.layout.pairs[1 if tile.space.on_chip else 0 :]
        return tile.size == 1 or Pattern(0, pairs).contiguous_run() > 1

    def dma_copy(
        self,
        src: View,
        dst: View,
        mask: Mask | None = None,
        rmw_op: AluOp | None = None,
        oob_mode: OobMode = OobMode.ERROR,
        dge_mode: DgeType = DgeType.UNASSIGNED,
        dma_qos: QosClass | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        engine: Engine = Engine.UNASSIGNED,
    ) -> None:
        """
        Copies between HBM and SBUF; one side may be picked by an index tile.

        An index decides which instruction it is, before anything is built. Where it is
        none, the copy is built as it was asked for and its gate answers. `engine`
        triggers a direct copy.
        """
        adds = rmw_op not in (None, AluOp.BYPASS)
        indexed = [view.layout.gather for view in (src, dst)]
        if src.has_index and not dst.has_index and not adds:
            self.indirect_load(
                src, mask, dst, None, deps, name, None, dge_mode, dma_qos, oob_mode
            )
            return
        if dst.has_index and not src.has_index:
            self.indirect_save(
                dst,
                src,
                mask,
                rmw_op,
                None,
                deps,
                name,
                None,
                dge_mode,
                oob_mode,
                dma_qos,
            )
            return
        properties: dict[str, Attribute] = {
            "dge": _DGE[dge_mode],
            "oob": _OOB[oob_mode],
            "dma_qos": validate_dma_qos(dma_qos),
        }
        if engine is not Engine.UNASSIGNED:
            properties["engine"] = ENGINES[engine]
        if rmw_op is not None:
            properties["rmw_op"] = AluOpAttr(rmw_op)
        self.emit(
            penguin.DMACopyOp,
            [dst, src, *(None if i is None else i.index for i in indexed)],
            properties,
            # The rules of an indexed copy come before those of its mask.
            mask=None if any(indexed) else mask,
            name=name,
            deps=deps,
        )

    def dma_fold(
        self,
        dst: View,
        srcs: Sequence[View],
        scales: Sequence[float] | None = None,
        mask: Mask | None = None,
        dma_qos: QosClass | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        *,
        op: AluOp = AluOp.ADD,
    ) -> None:
        """
        `dst` = the sum of `scales[i] * srcs[i]`, in fp32 and cast once.

        With another `op`, max or min, the extreme of them.

        At most 16 sources (penguin.md 6.3 `tiled_offloaded_fma_inst`).
        """
        if not 0 < len(srcs) <= len(SOURCES):
            raise NKIValueError(
                f"a DMA sums between 1 and {len(SOURCES)} sources, got {len(srcs)}"
            )
        properties: dict[str, Attribute] = {
            "dma_qos": validate_dma_qos(dma_qos),
            "op": AluOpAttr(op),
        }
        if scales is not None:
            properties["constants"] = ImmediatesAttr.of(scales)
        missing = (None,) * (len(SOURCES) - len(srcs))
        self.emit(
            penguin.TiledOffloadedFMAOp,
            [dst, *srcs, *missing],
            properties,
            mask=mask,
            name=name,
            deps=deps,
        )

    def dma_transpose(
        self,
        src: View,
        axes: Sequence[int] | None = None,
        mask: Mask | None = None,
        schedule: object = None,
        engine: Engine = Engine.UNASSIGNED,
        dma_qos: QosClass | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        *,
        dst: View | None = None,
        dtype: DType | None = None,
        dge_mode: DgeType = DgeType.UNASSIGNED,
        oob_mode: OobMode = OobMode.ERROR,
    ) -> View:
        """
        Permutes a tile into `dst` or a fresh SBUF tile, in the DMA engines.

        Without `axes` the one permutation that the rank has. A transpose moves bits:
        another `dtype` is a copy of the result. The mask is over the source's
        dimensions. Gathered rows are an instruction for each column of their index.
        """
        rank = src.ndim
        order = tuple(axes) if axes is not None else LEGAL_AXES.get(rank)
        if order is None:
            order = tuple(reversed(range(rank)))
        if sorted(order) != list(range(rank)):
            raise NKIValueError(
                f"dma_transpose got axes {order} for a tile of rank {rank}"
            )
        target = dst
        if target is None:
            shape = [src.shape[axis] for axis in order]
            target = self.new_tile(shape, src.element_type)
        parts = [(src, target)]
        gather = src.layout.gather
        if gather is not None and dst is not None:
            parts = list(gathered_columns(src, dst, gather, order))
            if parts[0][0].ndim != rank:
                order = LEGAL_AXES[parts[0][0].ndim]
        for source, part in parts:
            kind, views, properties = _transpose_of(source, part)
            self.emit(
                kind,
                views,
                {
                    "axes": DenseArrayBase.from_list(i64, order),
                    "dge": _DGE[dge_mode],
                    "oob": _OOB[oob_mode],
                    "dma_qos": validate_dma_qos(dma_qos),
                    **properties,
                },
                mask=mask,
                name=name if len(parts) == 1 else None,
                deps=deps,
            )
        if dst is None and dtype not in (None, src.element_type):
            return self.tensor_copy(target, dtype=dtype)
        return target

    def indirect_load(
        self,
        pointer: View,
        mask: Mask | None = None,
        dst: View | None = None,
        schedule: object = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        mode: object = None,
        dge_mode: DgeType = DgeType.UNASSIGNED,
        dma_qos: QosClass | None = None,
        oob_mode: OobMode = OobMode.ERROR,
        dtype: DType | None = None,
        other: Number | None = None,
    ) -> View:
        """
        Gathers the rows an index tile names.

        `other` is what a fresh tile holds in rows that are left out.
        """
        gather = _gather_of(pointer)
        if dst is None:
            dst = self.new_tile(
                pointer.shape, dtype or pointer.element_type, init=other, name=name
            )
        self.emit(
            penguin.NeuronIndirectLoadOp,
            [dst, pointer, gather.index],
            _indirect_properties(gather, oob_mode, dge_mode, dma_qos),
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def indirect_save(
        self,
        pointer: View,
        value: View | Number,
        mask: Mask | None = None,
        rmw_op: AluOp | None = None,
        schedule: object = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        mode: object = None,
        dge_mode: DgeType = DgeType.UNASSIGNED,
        oob_mode: OobMode = OobMode.ERROR,
        dma_qos: QosClass | None = None,
    ) -> None:
        """Scatters rows to where an index tile says; with `rmw_op` adds them."""
        gather = _gather_of(pointer)
        src = self.legalize_store_value(pointer, value)
        properties = _indirect_properties(gather, oob_mode, dge_mode, dma_qos)
        kind = penguin.NeuronIndirectSaveOp
        if rmw_op not in (None, AluOp.BYPASS):
            kind = penguin.NeuronIndirectRMWOp
            properties["op"] = AluOpAttr(rmw_op)
        self.emit(
            kind,
            [pointer, src, gather.index],
            properties,
            mask=mask,
            name=name,
            deps=deps,
        )


def _gather_of(pointer: View) -> Gather:
    gather = pointer.layout.gather
    if gather is None:
        raise NKITypeError(f"'{pointer.name}' is not indexed by a tile")
    return gather


def _transpose_of(
    src: View, dst: View
) -> tuple[type[DmaTranspose], list[View | None], dict[str, Attribute]]:
    """The instruction that transposes `src`: by where it is and how it is indexed."""
    gather = src.layout.gather
    if gather is not None:
        limit: dict[str, Attribute] = {"max_index": IntegerAttr(gather.limit, i64)}
        return penguin.DMAIndirectTransposeOp, [dst, src, gather.index], limit
    if src.space is Space.HBM:
        return penguin.DMATransposeLoadOp, [dst, src], {}
    return penguin.DMATransposeCopyOp, [dst, src], {}


def _indirect_properties(
    gather: Gather, oob: OobMode, dge: DgeType, qos: QosClass | None
) -> dict[str, Attribute]:
    return {
        "max_index": IntegerAttr(gather.limit, i64),
        "oob": _OOB[oob],
        "dge": _DGE[dge],
        "dma_qos": validate_dma_qos(qos),
    }
