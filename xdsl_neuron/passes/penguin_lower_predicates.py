"""`penguin-lower-predicates`: masks of compute instructions that are no boxes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from xdsl_neuron.analysis.frame import renumbered
from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.instruction import Operand
from xdsl_neuron.dialects.instructions.accumulators import AccumulatorUser, read_engine
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.instructions.first_rows import may_start_badly
from xdsl_neuron.dialects.instructions.masks import BoxMasked, bounds_one_lane
from xdsl_neuron.dialects.instructions.reduction import IDENTITIES
from xdsl_neuron.dialects.neuron import (
    Access,
    AffineAttr,
    AluOpAttr,
    EngineAttr,
    ImmediateAttr,
    PredicatesAttr,
    TensorType,
    whole,
)
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine, Lane
from xdsl_neuron.geometry.lane_bounds import can_hold
from xdsl_neuron.isa import AluOp, Engine, Space
from xdsl_neuron.passes.rebuild import operations_of, replace_with, with_operands


@dataclass(frozen=True)
class PenguinLowerPredicates(ModulePass):
    """
    A mask that is no box in some iteration becomes a mask tile (penguin.md 6.4).

    The tile holds each predicate's value, compared with 0; several are joined by
    logical_and. An elementwise instruction writes a scratch tile, which is copied under
    the mask; a reduction or matmul reads a scratch tile with its identity in the
    left-out places. Predicates that stay boxes remain as they are on all of them,
    except rows that would begin at a partition where no access can: an instruction
    that does the same in each partition then works on the rows in front as well, and
    its results are copied. DMA instructions keep their masks.

    Precondition: none.
    Postcondition: the masks of compute instructions are boxes in every iteration.
    """

    name = "penguin-lower-predicates"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lowers every instruction that needs it, all of them or none."""
        lowered = [
            (instruction, _Lowering(instruction, boxes, residual, rows).run())
            for instruction in operations_of(op, ComputeInstruction)
            if instruction.predicates is not None
            for boxes, residual, rows in [_classified(instruction)]
            if residual or rows
        ]
        for instruction, new in lowered:
            replace_with(instruction, new)


def _classified(
    instruction: ComputeInstruction,
) -> tuple[list[Affine], list[Affine], list[Affine]]:
    """The predicates that are boxes in every iteration, others, and first rows."""
    boxes = [p for p in instruction.masks() if bounds_one_lane(p)]
    residual = [p for p in instruction.masks() if not bounds_one_lane(p)]
    # A matmul's rows start where they may, says its gate.
    if isinstance(instruction, penguin.TransposeOp):
        lanes = instruction.cut_lanes()
    elif isinstance(instruction, penguin.MatMulOp) or not may_start_badly(instruction):
        lanes = []
    else:
        lanes = [0]
    lower = [p for p in boxes if any(p.coefficient(Lane(lane)) > 0 for lane in lanes)]
    if not lower:
        return boxes, residual, []
    rest = [p for p in boxes if p not in lower]
    if not isinstance(instruction, _ROWS):
        return rest, residual + lower, []
    if _chained(instruction):
        return boxes, residual, []
    return rest, residual, lower


def _chained(instruction: ComputeInstruction) -> bool:
    """Whether other rows' accumulators count: its rows start where they may, then."""
    return (
        isinstance(instruction, AccumulatorUser)
        and instruction.sets_accumulator
        and read_engine(instruction, instruction.accumulator_engine)
    )


_ROWS = (penguin.TensorReduceOp, BoxMasked)
"""Instructions on whole rows, each partition by itself."""


@dataclass
class _Lowering:
    """The lowering of one instruction; `new` is what takes its place."""

    instruction: ComputeInstruction
    boxes: Sequence[Affine]
    residual: Sequence[Affine]
    rows: Sequence[Affine] = ()
    new: list[Operation] = field(default_factory=list[Operation])

    def run(self) -> list[Operation]:
        """The new operations, in order."""
        if self.rows:
            self._from_first_row()
            return self.new
        match self.instruction:
            case penguin.MatMulOp():
                self._matmul(self.instruction)
            case penguin.TensorReduceOp():
                self._reduction(self.instruction)
            case penguin.MemsetOp() if not self._dst().dtype.is_packed:
                self._predicated_copy(self._mask(), imm=self.instruction.value)
            case penguin.TransposeOp():
                self._transpose()
            case _:
                self._elementwise()
        return self.new

    def _from_first_row(self) -> None:
        """Compute rows in front as well, into scratch tiles; copy those of the mask."""
        instruction, data = self.instruction, self.instruction.data()
        scratch: dict[str, tuple[SSAValue, Access | None]] = {}
        copies: list[tuple[Operand, SSAValue, SSAValue, list[Affine]]] = []
        for out in (data[name] for name in instruction.OUTS if name in data):
            mask, boxes = self._mask_of_rows(out)
            tile = self._alloc(out.shape, out.dtype, "scratch")
            scratch[out.name] = (tile, None)
            copies.append((out, tile, mask, boxes))
        if isinstance(instruction, penguin.PoolGatherOp):
            # An index in front may be out of range.
            index = data["index"]
            mask, boxes = self._mask_of_rows(index)
            scratch["index"] = (
                self._filled(index, index.dtype, mask, boxes, 0),
                None,
            )
        where = _where([*self.boxes, *self.residual])
        changes = {"predicates": where, "inst_name": None}
        computed = with_operands(instruction, scratch, changes)
        if self.residual:
            inner = _Lowering(computed, self.boxes, self.residual)
            self.new += inner.run()
        else:
            self.new.append(computed)
        for out, tile, mask, boxes in copies:
            # The first result carries the instruction's name and edges.
            named = out.name == instruction.OUTS[0]
            self._copy_where(out, mask, boxes, named, src=tile)

    def _mask_of_rows(self, operand: Operand) -> tuple[SSAValue, list[Affine]]:
        """The rows of the mask in an operand's shape, and its boxes there."""
        instruction = self.instruction
        # Partitions follow the first lane, whatever the rank.
        own = (0, *instruction.lane_dims(instruction.data())[operand.name][1:])
        rows, boxes = (_own(p, own) for p in (self.rows, self.boxes))
        boxes += self._guards([p for p in self.boxes if not p.lanes <= set(own)])
        return self._mask_tile(operand.shape, rows, boxes), boxes

    def _dst(self) -> Operand:
        return self.instruction.data()["dst"]

    def _mask(self) -> SSAValue:
        return self._mask_tile(self._dst().shape, self.residual, self.boxes)

    def _elementwise(self) -> None:
        """Compute into a scratch tile, copy it under the mask."""
        instruction, dst = self.instruction, self._dst()
        mask = self._mask()
        scratch = self._alloc(dst.shape, dst.dtype, "scratch")
        if instruction.kept_outputs():
            self._copy(scratch, dst, self.boxes)
        computed = with_operands(
            instruction,
            {"dst": (scratch, None)},
            {"predicates": _where(self.boxes), "inst_name": None},
        )
        if isinstance(computed, penguin.TensorTensorOp) and isinstance(
            instruction, penguin.TensorTensorOp
        ):
            # Integers that met PSUM went through fp32; in SBUF they would not.
            if computed.native_int32 and not instruction.native_int32:
                computed.properties["engine"] = EngineAttr(Engine.DVE)
        self.new.append(computed)
        self._predicated_copy(mask, src=scratch)

    def _transpose(self) -> None:
        """As elementwise, in the order of the destination's dimensions."""
        dst = self._dst()
        boxes = [renumbered(p, (1, 0)) for p in self.boxes]
        residual = [renumbered(p, (1, 0)) for p in self.residual]
        mask = self._mask_tile(dst.shape, residual, boxes)
        # The space says which engine transposes.
        scratch = self._alloc(dst.shape, dst.dtype, "scratch", dst.space)
        changes = {"predicates": _where(self.boxes), "inst_name": None}
        operands = {"dst": (scratch, None)}
        self.new.append(with_operands(self.instruction, operands, changes))
        self.boxes = boxes
        self._predicated_copy(mask, src=scratch)

    def _predicated_copy(
        self,
        mask: SSAValue,
        src: SSAValue | None = None,
        imm: ImmediateAttr | None = None,
    ) -> None:
        """The copy into the destination; it takes the instruction's name and edges."""
        self._copy_where(self._dst(), mask, self.boxes, True, src, imm)

    def _copy_where(
        self,
        dst: Operand,
        mask: SSAValue,
        boxes: Sequence[Affine],
        named: bool,
        src: SSAValue | None = None,
        imm: ImmediateAttr | None = None,
    ) -> None:
        instruction = self.instruction
        properties: dict[str, Attribute] = {
            name: value
            for name, value in instruction.properties.items()
            if named and name in ("inst_name", "after")
        }
        if imm is not None:
            properties["imm"] = _of_kind(dst.dtype, imm.value)
        copy = self._emit(
            penguin.TensorCopyPredicatedOp,
            (dst.value, mask, src),
            properties,
            (_given(dst), _bits(mask), None),
            boxes,
        )
        if named:
            copy.attributes.update(instruction.attributes)

    def _reduction(self, instruction: penguin.TensorReduceOp) -> None:
        """Reduce a copy of the source with the identity in the left-out places."""
        src, op = instruction.data()["src"], instruction.op.data
        # The identity may be no value of the source's type.
        dtype = src.dtype if op.is_bitvec else DType.FLOAT32
        identity = IDENTITIES[op]
        if identity == -1 and not dtype.is_signed:
            identity = (1 << 8 * dtype.bytes) - 1
        mask = self._mask_tile(src.shape, self.residual, self.boxes)
        scratch = self._filled(src, dtype, mask, self.boxes, identity)
        self._on_scratch({"src": (scratch, None)})

    def _matmul(self, instruction: penguin.MatMulOp) -> None:
        """Multiply copies of the masked operands with 0 in the left-out places."""
        data = instruction.data()
        dims = instruction.lane_dims(data)
        replaced: dict[str, tuple[SSAValue, Access | None]] = {}
        for name in ("stationary", "moving"):
            lanes, operand = dims[name], data[name]
            own, boxes = _own(self.residual, lanes), _own(self.boxes, lanes)
            if not own:
                continue
            mask = self._mask_tile(operand.shape, own, boxes)
            scratch = self._filled(operand, operand.dtype, mask, boxes, 0)
            replaced[name] = (scratch, None)
        self._on_scratch(replaced)

    def _guards(self, foreign: Sequence[Affine] = ()) -> list[Affine]:
        """Whether the mask, or `foreign` boxes, can hold at all, by loop indices."""
        instruction = self.instruction
        lanes = instruction.lane_shape(instruction.data())
        boxes = [*self.boxes, *self.rows]
        # A gate has seen that it can be said.
        return can_hold([*self.residual, *foreign], boxes, lanes)

    def _on_scratch(
        self,
        operands: dict[str, tuple[SSAValue, Access | None]],
    ) -> None:
        """The instruction on its filled operands, where its mask can hold at all."""
        where = _where([*self.boxes, *self._guards()])
        new = with_operands(self.instruction, operands, {"predicates": where})
        self.new.append(new)

    def _filled(
        self,
        operand: Operand,
        dtype: DType,
        mask: SSAValue,
        boxes: Sequence[Affine],
        identity: float,
    ) -> SSAValue:
        """A copy of an operand that holds `identity` where the mask does not hold."""
        scratch = self._alloc(operand.shape, dtype, "scratch")
        self._copy(scratch, operand, boxes)
        self._emit(
            penguin.TensorCopyPredicatedOp,
            (scratch, mask, None),
            {"imm": _of_kind(dtype, identity), "reverse": UnitAttr()},
            (None, _bits(mask), None),
            boxes,
        )
        return scratch

    def _copy(self, dst: SSAValue, src: Operand, boxes: Sequence[Affine]) -> None:
        self._emit(
            penguin.TensorCopyOp, (dst, src.value), {}, (None, _given(src)), boxes
        )

    def _mask_tile(
        self,
        shape: tuple[int, ...],
        residual: Sequence[Affine],
        boxes: Sequence[Affine],
    ) -> SSAValue:
        """An int32 tile that is 1 where all predicates hold, within the boxes."""
        tiles: list[SSAValue] = []
        for predicate in residual:
            tile = self._alloc(shape, DType.INT32, "mask")
            value: dict[str, Attribute] = {"value": AffineAttr(predicate)}
            self._emit(penguin.IndexValueOp, (tile,), value, (), boxes)
            compare: dict[str, Attribute] = {
                "op0": AluOpAttr(AluOp.IS_GE),
                "imm0": ImmediateAttr.of(0),
            }
            operands = (tile, tile, None, None)
            self._emit(penguin.TensorScalarPtrOp, operands, compare, (), boxes)
            tiles.append(tile)
        for tile in tiles[1:]:
            join: dict[str, Attribute] = {"op": AluOpAttr(AluOp.LOGICAL_AND)}
            operands = (tiles[0], tiles[0], tile)
            self._emit(penguin.TensorTensorOp, operands, join, (), boxes)
        return tiles[0]

    def _alloc(
        self,
        shape: tuple[int, ...],
        dtype: DType,
        hint: str,
        space: Space = Space.SBUF,
    ) -> SSAValue:
        operation = penguin.AllocOp.make(TensorType.of(shape, dtype, space), hint)
        self.new.append(operation)
        return operation.results[0]

    def _emit(
        self,
        kind: type[ComputeInstruction],
        operands: Sequence[SSAValue | None],
        properties: dict[str, Attribute],
        accesses: Sequence[Access | None],
        boxes: Sequence[Affine],
    ) -> ComputeInstruction:
        where = _where(boxes)
        if where is not None:
            properties["predicates"] = where
        expressions = [p for a in properties.values() for p in _expressions(a)]
        offsets = [access for access in accesses if access is not None]
        used = any(e.positions for e in (*expressions, *offsets))
        indices = self.instruction.loop_indices() if used else ()
        new = kind.make(operands, properties, accesses, indices)
        self.new.append(new)
        return new


def _bits(mask: SSAValue) -> Access:
    """A mask tile as the unsigned words that a predicated copy reads."""
    assert isinstance(mask.type, TensorType)
    return whole(mask.type.shape, True, DType.UINT32)


def _of_kind(dtype: DType, value: float) -> ImmediateAttr:
    """A number of the kind that a predicated copy to this type takes, rounded."""
    if dtype.is_float:
        return ImmediateAttr.of(float(value))
    return ImmediateAttr.of(round(value) if isfinite(value) else value)


def _given(operand: Operand) -> Access | None:
    """An operand's access; None where it is the whole tensor."""
    spec = operand.type.data
    every = whole(spec.shape, spec.space.on_chip)
    return None if operand.access == every else operand.access


def _expressions(attribute: Attribute) -> Iterable[Affine]:
    if isinstance(attribute, AffineAttr):
        return (attribute.data,)
    return attribute.data if isinstance(attribute, PredicatesAttr) else ()


def _where(predicates: Sequence[Affine]) -> PredicatesAttr | None:
    return PredicatesAttr(tuple(predicates)) if predicates else None


def _own(predicates: Iterable[Affine], lanes: Sequence[int]) -> list[Affine]:
    """Predicates over an operand's dimensions, which run along `lanes`."""
    dims = {lane: dim for dim, lane in enumerate(lanes)}
    places = [dims.get(lane, -1) for lane in range(max(lanes) + 1)]
    return [renumbered(p, places) for p in predicates if p.lanes <= set(lanes)]
