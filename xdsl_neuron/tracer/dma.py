"""Builders of data movement (penguin.md 6.1)."""

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.neuron import (
    AluOpAttr,
    DgeTypeAttr,
    OobModeAttr,
    QosClassAttr,
)
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp, DgeType, OobMode, QosClass, Space
from xdsl_neuron.tracer.errors import NKISyntaxError, NKITypeError, NKIValueError
from xdsl_neuron.tracer.index import Mask, Shape, broadcast_tiles
from xdsl_neuron.tracer.state import Dep
from xdsl_neuron.tracer.tiles import Number, TileBuilders
from xdsl_neuron.tracer.views import Gather, View

_QOS = {member: QosClassAttr(member) for member in QosClass}
_DGE = {member: DgeTypeAttr(member) for member in DgeType}
_OOB = {member: OobModeAttr(member) for member in OobMode}

BOTH_INDIRECT = "``src`` and ``dst`` operands cannot both be indirect memory accesses"


class DmaBuilders(TileBuilders):
    """Loads, stores, copies, gathers and scatters."""

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
        dma_qos: QosClass = QosClass.UNASSIGNED,
    ) -> View:
        """
        Copies an HBM tile into a fresh SBUF tile, cast to `dtype`.

        `other` is what the tile holds where `mask` leaves elements out; without it they
        are undefined.
        """
        if pointer.is_indirect:
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
            )
        dst = self.new_tile(
            pointer.shape, dtype or pointer.element_type, init=other, name=name
        )
        self.emit(
            penguin.SBAtomLoadOp,
            [dst, pointer],
            {"dma_qos": _QOS[dma_qos]},
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
        dma_qos: QosClass = QosClass.UNASSIGNED,
    ) -> None:
        """Copies a tile (or a number) into HBM, cast to its element type."""
        if pointer.space is not Space.HBM:
            raise NKISyntaxError(
                f"Expected operand 'dst' of 'store' to be in address space 'hbm', but "
                f"got a {pointer.space} instead."
            )
        if pointer.is_indirect:
            self.indirect_save(pointer, value, mask, rmw_op, schedule, deps, name, mode)
            return
        src = self.legalize_store_value(pointer, value)
        properties: dict[str, Attribute] = {"dma_qos": _QOS[dma_qos]}
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

    def dma_copy(
        self,
        dst: View,
        src: View,
        mask: Mask | None = None,
        rmw_op: AluOp | None = None,
        oob_mode: OobMode = OobMode.ERROR,
        dge_mode: DgeType = DgeType.UNASSIGNED,
        dma_qos: QosClass = QosClass.UNASSIGNED,
        deps: Sequence[Dep] = (),
        name: str | None = None,
    ) -> None:
        """Copies between HBM and SBUF; one side may be picked by an index tile."""
        if src.is_indirect and dst.is_indirect:
            raise NKISyntaxError(BOTH_INDIRECT)
        if src.is_indirect:
            if rmw_op is not None:
                raise NKISyntaxError(
                    "``dst_rmw_op`` is not supported indirect memory access on source "
                    "(``src``) operand"
                )
            self.indirect_load(
                src, mask, dst, None, deps, name, None, dge_mode, dma_qos, oob_mode
            )
            return
        if dst.is_indirect:
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
            "dma_qos": _QOS[dma_qos],
        }
        if rmw_op is not None:
            properties["rmw_op"] = AluOpAttr(rmw_op)
        self.emit(
            penguin.DMACopyOp,
            [dst, src],
            properties,
            mask=mask,
            name=name,
            deps=deps,
        )

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
        dma_qos: QosClass = QosClass.UNASSIGNED,
        oob_mode: OobMode = OobMode.ERROR,
        dtype: DType | None = None,
    ) -> View:
        """Gathers the rows an index tile names."""
        gather = _gather_of(pointer)
        if dst is None:
            dst = self.new_tile(pointer.shape, dtype or pointer.element_type, name=name)
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
        dma_qos: QosClass = QosClass.UNASSIGNED,
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


def _indirect_properties(
    gather: Gather, oob: OobMode, dge: DgeType, qos: QosClass
) -> dict[str, Attribute]:
    return {
        "max_index": IntegerAttr(gather.limit, i64),
        "oob": _OOB[oob],
        "dge": _DGE[dge],
        "dma_qos": _QOS[qos],
    }
