"""`bir-lower-dma`: DMA instructions become blocks of descriptors and triggers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from xdsl_neuron.analysis.frame import Frame
from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dialects import dma
from xdsl_neuron.dialects.bir import (
    BirDma,
    DMATriggerOp,
    FuncOp,
    LocationOp,
    LoopOp,
)
from xdsl_neuron.dialects.instructions.dma import Copy, Replicate
from xdsl_neuron.dialects.instructions.dma_fold import Fold
from xdsl_neuron.dialects.instructions.dma_indirect import (
    IndirectAccumulate,
    IndirectInstruction,
    IndirectLoad,
)
from xdsl_neuron.dialects.instructions.transpose import (
    DmaIndirectTranspose,
    DmaTranspose,
)
from xdsl_neuron.dialects.neuron import (
    Access,
    AluOpAttr,
    DTypeAttr,
    EngineAttr,
    SymbolsAttr,
)
from xdsl_neuron.dialects.neuron.attributes import render_access
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.mask import boxes, clip
from xdsl_neuron.geometry.pattern import Pattern
from xdsl_neuron.isa import AluOp, Engine
from xdsl_neuron.passes.descriptors import Side, copies, in_bytes, indexed_rows
from xdsl_neuron.passes.names import NamePool, iteration_suffix
from xdsl_neuron.passes.rebuild import (
    insert_before,
    located,
    operations_of,
    replace_with,
)


@dataclass(frozen=True)
class BirLowerDma(ModulePass):
    """
    Each DMA becomes a `dma.block` of descriptors and a trigger (dma.md 7.12).

    Both have the DMA's name. A mask's boxes, the common walk of both sides and the
    limits of a descriptor decide how many descriptors there are. In a loop left rolled
    there is one block per iteration, before the outermost loop, and the trigger fires
    them in turn; a location of the loop that they use moves there too. Beyond
    `max-blocks` iterations, in a loop that is not static and with an offset in a
    register, the DMA stays as it is. A trigger runs on SP where the engine was open.

    Precondition: `bir-legalize-mm-accumulation-groups`.
    Postcondition: outside of rolled loops no DMA instruction is left.
    """

    name = "bir-lower-dma"

    max_blocks: int = 1024

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lowers the DMAs of every function, all of them or none."""
        lowered = [
            found
            for function in operations_of(op, FuncOp)
            for found in _Lowering(function, self.max_blocks).run()
        ]
        for each in lowered:
            each.apply()


@dataclass(frozen=True)
class _Lowered:
    """A DMA with what takes its place."""

    instruction: BirDma
    blocks: list[dma.BlockOp]
    trigger: DMATriggerOp

    def apply(self) -> None:
        """Puts the blocks and the trigger in place."""
        anchor = _outermost_loop(self.instruction)
        if anchor is not None:
            self._hoist_locations(anchor)
            insert_before(anchor, self.blocks)
            replace_with(self.instruction, [self.trigger])
        else:
            replace_with(self.instruction, [*self.blocks, self.trigger])

    def _hoist_locations(self, anchor: Operation) -> None:
        for value in self.instruction.data_values().values():
            if not isinstance(value, OpResult) or value.op.parent is anchor.parent:
                continue
            if isinstance(value.op, LocationOp):
                value.op.detach()
                insert_before(anchor, [value.op])


class _Lowering:
    """Lowers the DMAs of one function."""

    def __init__(self, function: FuncOp, max_blocks: int) -> None:
        self.function = function
        self.max_blocks = max_blocks
        self.block_names = NamePool(
            operation.block_name.data
            for operation in function.walk()
            if isinstance(operation, dma.BlockOp)
        )

    def run(self) -> list[_Lowered]:
        """What every DMA that can be lowered becomes; nothing changes yet."""
        found: list[_Lowered] = []
        for operation in self.function.walk():
            if isinstance(operation, BirDma):
                lowered = self._lower(operation)
                if lowered is not None:
                    found.append(lowered)
        return found

    def _lower(self, instruction: BirDma) -> _Lowered | None:
        loops = _loops_around(instruction)
        if loops is None:
            return None
        iterations = prod(len(loop.static_range()) for loop in loops)
        if loops and not 0 < iterations <= self.max_blocks:
            return None
        indices: set[SSAValue] = {loop.index for loop in loops}
        if any(value not in indices for value in instruction.loop_indices()):
            return None
        if instruction.inst_name is None:
            raise DiagnosticError(instruction, "needs a name to be triggered by")
        transfer = _Transfer.of(instruction)
        blocks = [
            self._block(transfer, loops, values)
            for values in product(*(loop.static_range() for loop in loops))
        ]
        return _Lowered(instruction, blocks, _trigger(instruction, blocks))

    def _block(
        self, transfer: "_Transfer", loops: Sequence[LoopOp], values: tuple[int, ...]
    ) -> dma.BlockOp:
        instruction = transfer.instruction
        assert instruction.inst_name is not None
        name = instruction.inst_name.data
        for loop, value in zip(loops, values, strict=True):
            name += iteration_suffix(loop.index.name_hint, value)
        block = located(dma.BlockOp.make(self.block_names.fresh(name)), instruction)
        at: dict[SSAValue, int] = {
            loop.index: value for loop, value in zip(loops, values, strict=True)
        }
        indices = [at[index] for index in instruction.loop_indices()]
        body = block.body.block
        for descriptor in transfer.descriptors(indices):
            body.add_op(located(descriptor, instruction))
        return block


_KEPT = (
    "inst_name",
    "queue",
    "after",
    "iterations",
    "on_wait",
    "on_update",
    "dma_qos",
)
"""Properties of a DMA that its trigger has as well."""


def _trigger(instruction: BirDma, blocks: Sequence[dma.BlockOp]) -> DMATriggerOp:
    """The trigger of a DMA: same name, engine, queue and edges."""
    engine = instruction.engine
    if engine.data in (Engine.DMA, Engine.UNASSIGNED):
        engine = EngineAttr(Engine.SP)
    properties: dict[str, Attribute] = {
        "blocks": SymbolsAttr.of(block.block_name.data for block in blocks),
        "engine": engine,
    }
    for name in _KEPT:
        value = instruction.properties.get(name)
        if value is not None:
            properties[name] = value
    return DMATriggerOp.create(properties=properties, attributes=instruction.attributes)


@dataclass(frozen=True)
class _Transfer:
    """What all iterations of a DMA instruction share."""

    instruction: BirDma
    frame: Frame
    data: dict[str, Operand]

    @staticmethod
    def of(instruction: BirDma) -> "_Transfer":
        return _Transfer(instruction, Frame.of(instruction), instruction.data())

    def descriptors(self, indices: Sequence[int]) -> Iterator[dma.Descriptor]:
        """The descriptors of one iteration."""
        box = clip(self.instruction.masks(), self.frame.lanes, indices)
        if box is None:
            return
        for each in boxes(box):
            accesses = {
                operand.name: (operand.access if access is None else access).bound(
                    indices
                )
                for operand, access in zip(
                    self.frame.operands, self.frame.cut(each.ranges), strict=True
                )
                if operand is not None
            }
            if isinstance(self.instruction, DmaTranspose):
                yield self._transpose(self.instruction, accesses)
            elif isinstance(self.instruction, IndirectInstruction):
                yield from self._indirect(self.instruction, accesses)
            elif isinstance(self.instruction, Replicate):
                yield from self._replicate(accesses)
            elif isinstance(self.instruction, Fold):
                yield from self._fold(self.instruction, accesses)
            else:
                yield from self._direct(accesses)

    def _direct(self, accesses: dict[str, Access]) -> Iterator[dma.Descriptor]:
        dst, src = self.data["dst"], self.data["src"]
        self._check_overlap(accesses["dst"], accesses["src"])
        accumulates = _accumulates(self.instruction)
        kind = dma.CceOp if accumulates else dma.CopyOp
        ordered = accumulates or not _injective(accesses["dst"], dst.pitch)
        sides = (
            Side(accesses["dst"], dst.dtype.bytes),
            Side(accesses["src"], src.dtype.bytes),
        )
        for pair in copies(sides, ordered):
            yield kind.make((dst.value, src.value), self._dtypes(), pair)

    def _fold(
        self, instruction: Fold, accesses: dict[str, Access]
    ) -> Iterator[dma.Descriptor]:
        """Pieces of all sources in step."""
        names = ["dst", *instruction.sources()]
        sides = [Side(accesses[name], self.data[name].dtype.bytes) for name in names]
        for name in names[1:]:
            self._check_overlap(accesses["dst"], accesses[name], name)
        properties: dict[str, Attribute] = {
            dma.dtype_property(name): _dtype(self.data[name].dtype) for name in names
        }
        properties["op"] = instruction.op
        if instruction.constants is not None:
            properties["constants"] = instruction.constants
        values = [self.data[name].value for name in names]
        ordered = not _injective(accesses["dst"], self.data["dst"].pitch)
        for parts in copies(sides, ordered):
            yield dma.FoldOp.make(values, dict(properties), parts)

    def _replicate(self, accesses: dict[str, Access]) -> Iterator[dma.Descriptor]:
        """One descriptor, or one for each group of columns that one can hold."""
        dst, src = self.data["dst"], self.data["src"]
        self._check_overlap(accesses["dst"], accesses["src"])
        widest = max(dst.dtype.bytes, src.dtype.bytes)
        most = dma.RUN_BYTES_MAX // widest
        for first in range(0, dst.shape[1], most):
            last = min(first + most, dst.shape[1])
            sides = [
                in_bytes(
                    accesses[o.name].restricted([(0, o.shape[0]), (first, last)]),
                    o.dtype.bytes,
                )
                for o in (dst, src)
            ]
            yield dma.ReplicateOp.make((dst.value, src.value), self._dtypes(), sides)

    def _indirect(
        self, instruction: IndirectInstruction, accesses: dict[str, Access]
    ) -> Iterator[dma.Descriptor]:
        gathers = isinstance(instruction, IndirectLoad)
        rows, chip = ("src", "dst") if gathers else ("dst", "src")
        row_side, chip_side = (
            Side(accesses[name], self.data[name].dtype.bytes) for name in (rows, chip)
        )
        kind = dma.GatherOp if gathers else dma.ScatterOp
        values = tuple(self.data[name].value for name in ("dst", "src", "index"))
        try:
            pieces = list(indexed_rows(row_side, chip_side, accesses["index"]))
        except ValueError as error:
            raise DiagnosticError(instruction, str(error)) from error
        for row_access, chip_access, index in pieces:
            properties = self._dtypes()
            properties["max_index"] = instruction.max_index
            properties["oob"] = instruction.oob
            if isinstance(instruction, IndirectAccumulate):
                properties["op"] = instruction.op
            sides = (row_access, chip_access)
            dst, src = sides[::-1] if gathers else sides
            yield kind.make(values, properties, (dst, src, index))

    def _transpose(
        self, instruction: DmaTranspose, accesses: dict[str, Access]
    ) -> dma.Descriptor:
        """One descriptor of four dimensions; the engine walks it in its own way."""
        properties = self._dtypes()
        properties["axes"] = instruction.axes
        names = ["dst", "src"]
        kind: type[dma.Descriptor] = dma.TransposeOp
        if isinstance(instruction, DmaIndirectTranspose):
            kind = dma.GatherTransposeOp
            properties["max_index"] = instruction.max_index
            properties["oob"] = instruction.oob
            names.append("index")
        values = [self.data[name].value for name in names]
        sides = [
            in_bytes(accesses[name], self.data[name].dtype.bytes) for name in names
        ]
        return kind.make(values, properties, sides)

    def _dtypes(self) -> dict[str, Attribute]:
        return {
            "dst_dtype": _dtype(self.data["dst"].dtype),
            "src_dtype": _dtype(self.data["src"].dtype),
        }

    def _check_overlap(self, dst: Access, src: Access, name: str = "src") -> None:
        """The verifier refuses partial overlap of what it knows before unrolling."""
        left, right = self.data["dst"], self.data[name]
        if left.value is not right.value or dst == src:
            return
        sides = (_bytes(dst, left), _bytes(src, right))
        if sides[0].overlaps(sides[1]):
            raise DiagnosticError(
                self.instruction,
                "source and destination overlap partly in "
                f"{left.label}: {render_access(src)} and {render_access(dst)}; copy "
                "through a temporary",
            )


@cache
def _dtype(dtype: DType) -> DTypeAttr:
    return DTypeAttr(dtype)


def _bytes(access: Access, operand: Operand) -> Pattern:
    return access.flat(operand.pitch).scaled(operand.dtype.bytes)


def _injective(access: Access, pitch: int) -> bool:
    return access.flat(pitch).is_injective()


def _accumulates(instruction: BirDma) -> bool:
    op = instruction.properties.get("rmw_op")
    if not isinstance(op, AluOpAttr) or not isinstance(instruction, Copy):
        return False
    return op.data is not AluOp.BYPASS


def _loops_around(operation: Operation) -> list[LoopOp] | None:
    """The static loops around an operation, outermost first; None if one is not."""
    found: list[LoopOp] = []
    parent = operation.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        if not isinstance(parent, LoopOp):
            return None
        found.append(parent)
        parent = parent.parent_op()
    return found[::-1]


def _outermost_loop(operation: Operation) -> Operation | None:
    loops = _loops_around(operation)
    return loops[0] if loops else None
