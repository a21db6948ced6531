"""A trace with a launch grid, and with results that wait to be emitted."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol
from weakref import ref

from xdsl.dialects.builtin import DenseArrayBase, FileLineColLoc, ModuleOp, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.edges import remove
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.neuron import AluOpAttr, TensorType
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp, Space
from xdsl_neuron.nki.addresses import Addresses
from xdsl_neuron.nki.assignment import AssignmentBuilders
from xdsl_neuron.nki.cores import Meeting, Meetings
from xdsl_neuron.nki.grid import GridDim
from xdsl_neuron.nki.prepared import Prepared
from xdsl_neuron.tracer.context import current
from xdsl_neuron.tracer.errors import NKIRuntimeError, NKISyntaxError, NKITypeError
from xdsl_neuron.tracer.index import Expr, IndexExpr, Mask
from xdsl_neuron.tracer.layouts import Buffer
from xdsl_neuron.tracer.options import NO_OPTIONS, TraceOptions
from xdsl_neuron.tracer.state import Dep
from xdsl_neuron.tracer.symbols import Loop
from xdsl_neuron.tracer.views import View


class Pending(Protocol):
    """A result that is emitted only when it is clear where it goes."""

    def materialise(self) -> None:
        """Emit it into a tile of its own."""
        ...


class KernelTrace(AssignmentBuilders):
    """
    A trace of one kernel for one launch grid.

    `program` holds the index along each axis of the grid: an integer, or the loop
    index of a rolled `spmd` loop. `unrolled` are the places of `for` statements whose
    index Python needs the value of.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[tuple[str, TensorType]],
        arch: Arch,
        masks_allowed: bool,
        view: type[View],
        grid: tuple[GridDim, ...],
        options: TraceOptions = NO_OPTIONS,
        unrolled: frozenset[FileLineColLoc] = frozenset(),
    ) -> None:
        super().__init__(name, arguments, arch, masks_allowed, view, options)
        self.unrolled = unrolled
        self.grid = grid
        self.program: list[Expr] = [0] * len(grid)
        self.pending: Pending | None = None
        self.broken_loop: FileLineColLoc | None = None
        self._shared: list[Buffer] = []
        self._shared_made = 0
        self._outermost: Operation | None = None
        self._meetings = Meetings(self.function.body.block, self)
        self._identity_tiles: dict[tuple[int, DType], View] = {}
        self._fused: list[Block] = []
        self._copies = []
        self._renamed = {}
        self._held = set()
        self._gates_later = False
        self._point: Operation | None = None
        self.addresses = Addresses()
        self.live_registers: list[ref[IndexExpr]] = []
        self.moves_for_bodies: list[Operation] = []
        """Copies of registers that the bodies of loops may read, used or not."""
        self.prepared: Prepared | None = None
        self.reductions: set[Operation | SSAValue] = set()
        """
        What goes on from iteration to iteration in no order: instructions that add to a
        tile in place, as `tile[...] += x` does, and the tiles of `loop_reduce`.
        """
        self.whiles: list[Any] = []
        """The `while register:` statements whose bodies are being traced."""

    def insert(
        self,
        inst: Operation,
        name: str | None = None,
        deps: Sequence[Dep] = (),
        mask: Sequence[Affine] = (),
        *,
        location: FileLineColLoc | None = None,
        before: Operation | None = None,
    ) -> str:
        """The append point; what was put off comes first."""
        if self.pending is not None or self.broken_loop is not None:
            self.settle()
        before = self._point if before is None else before
        return super().insert(inst, name, deps, mask, location=location, before=before)

    def emit(
        self,
        kind: type[Instruction],
        views: Sequence[View | None],
        properties: dict[str, Attribute],
        *,
        mask: Mask | None = None,
        name: str | None = None,
        deps: Sequence[Dep] = (),
        location: FileLineColLoc | None = None,
        before: Operation | None = None,
    ) -> str:
        """Inserts an instruction; tensors that a kernel placed keep their bytes."""
        if self.pending is not None or self.broken_loop is not None:
            self.settle()
        if self._point is None:
            self.addresses.check(views, len(kind.OUTS))
        if issubclass(kind, ComputeInstruction):
            _check_computable(views)
        return super().emit(
            kind,
            views,
            properties,
            mask=mask,
            name=name,
            deps=deps,
            location=location,
            before=before,
        )

    def settle(self) -> None:
        """Emits what was put off; refuses to go on after a loop was left early."""
        if self.broken_loop is not None:
            rolled = "an affine_range or sequential_range"
            what, instead = (
                (rolled, "static_range or range, or a mask")
                if self.masks_allowed
                else ("a dynamic_range", "range, or nl.while_loop")
            )
            raise NKISyntaxError(
                f"break, return or an exception left the body of {what}, which is "
                f"traced once for all iterations; use {instead}",
                self.broken_loop,
            )
        pending, self.pending = self.pending, None
        if pending is not None:
            pending.materialise()

    @contextmanager
    def in_front_of(self, operation: Operation) -> Generator[None]:
        """What is inserted meanwhile stands in front of an earlier operation."""
        self.settle()
        block = operation.parent
        if block is None or block not in self.blocks:
            raise NKISyntaxError(
                "Local variable is referenced outside of its parent scope: it was made "
                "in the body of a loop that has ended; make it in front of the loop"
            )
        with self.again_in(block):
            self._point = operation
            try:
                yield
            finally:
                self._point = None

    def identity_tile(self, rows: int, dtype: DType) -> View:
        """An identity in SBUF, loaded once where it can be seen again."""
        found = self._identity_tiles.get((rows, dtype))
        if found is None or found.base.block not in self.blocks:
            found = self.load(self.shared_identity_matrix(rows, dtype))
            self._identity_tiles[(rows, dtype)] = found
        return found

    # -- the launch grid -----------------------------------------------------------

    def start_program(self, program: Sequence[Expr]) -> None:
        """The body that follows is this instance of the kernel."""
        self.program = list(program)
        self.prepared = None
        self._shared_made = 0
        self._meetings.start()
        self._identity_tiles.clear()
        self.addresses = Addresses()

    def enter_grid_loop(self, operation: Operation) -> None:
        """Records the outermost `spmd` loop; shared tensors stand in front of it."""
        if self._outermost is None:
            self._outermost = operation

    @property
    def shared(self) -> Sequence[Buffer]:
        """The HBM tensors all programs of the grid have: arguments and shared ones."""
        return [*self.arguments, *self._shared]

    def meet(self, meeting: Meeting) -> None:
        """This program waits for the others; what it receives is there after that."""
        for view in (meeting.src, meeting.dst, meeting.shared):
            if view is not None:
                self.hold_tile(view.base)
        self.addresses.check([meeting.dst, meeting.src], 1)
        if meeting.dst is not None:
            meeting.dst.base.written = True
        self._meetings.add(meeting, self.block)

    def note_reduction(self, target: View) -> None:
        """
        What was inserted last is `target[...] += x`, whose order is free.

        Iterations of a parallel loop may all do that to one tile (fused Mamba tutorial
        and `nl.affine_range`, releases 2.21 to 2.26).
        """
        last = None if self.last is None else self.last.operation
        if isinstance(last, Instruction):
            reads = [last.data_values().get(name) for name in last.INS]
            if target.base.value in reads:
                self.reductions.add(last)

    def end_program(self) -> None:
        """The body has come to its end, and so have the loops in it."""
        self.settle()
        if self.whiles:
            raise NKISyntaxError(
                "break, return or an exception left the body of a `while register:`, "
                "which is traced once for all iterations; put the condition into the "
                "register",
                self.whiles[-1].place,
            )
        if self.prepared is not None:
            raise NKISyntaxError(
                f"'{self.prepared.name}' of {self.prepared.what}_prepare is never "
                f"triggered: {self.prepared.what}_trigger exchanges what it prepares",
                self.prepared.location,
            )
        self.forward()

    def finish(self, outputs: Sequence[tuple[str, Buffer]]) -> ModuleOp:
        """Ends the function, without the copies of registers that nothing uses."""
        module = super().finish(outputs)
        dead: dict[Operation, None] = {}
        for move in reversed(self.moves_for_bodies):
            uses = (use for result in move.results for use in result.uses)
            if all(use.operation in dead for use in uses):
                dead[move] = None
        if dead:
            remove([*reversed(dead)])
        return module

    def merge_programs(self) -> None:
        """Puts what programs did between their meetings in order."""
        self.addresses = Addresses()  # each meeting was checked where its core met
        self._meetings.merge()

    def agree(self, one: SSAValue, other: SSAValue, block: Block) -> None:
        """
        Fails, while running, where two registers differ.

        Cores that leave a loop at different times wait for each other without end.
        Nothing in the instruction set says so: a load is made that is out of bounds.
        """
        with self._in_block(block):
            left, right = (self._numbers[value] for value in (one, other))
            apart = self.register_alu(
                AluOp.NOT_EQUAL, Affine.index(left), Affine.index(right)
            )
            buffer = self.create_tensor(
                (1, 1), DType.INT32, Space.SBUF, "cores_leave_a_loop_together"
            )
            cell = self.view.of(buffer)
            self.store_register_to_tensor(cell, Affine(0))
            layout = replace(cell.layout, offset=apart)
            self.load_tensor_to_register(cell.with_layout(layout))

    @contextmanager
    def _in_block(self, block: Block) -> Generator[None]:
        """What is inserted meanwhile goes to the end of this block."""
        outer, blocks = self.block, self.blocks
        self.block, self.blocks = block, [*blocks, *self._fused, block]
        around = block.parent_op()
        while around is not None and around.parent is not None:
            self.blocks.append(around.parent)
            around = around.parent_op()
        try:
            yield
        finally:
            self.block, self.blocks = outer, blocks

    def fused(self, body: Block) -> None:
        """What was made in this block is in that of another core now."""
        self._fused.append(body)

    def hold(self, parts: Sequence[Meeting], block: Block) -> None:
        """One meeting: a barrier, or the copies that an exchange comes to."""
        with self._in_block(block):
            self._hold(parts)

    def _hold(self, parts: Sequence[Meeting]) -> None:
        first = parts[0]
        if first.src is None:
            self._barrier(parts)
            return
        if first.fold is not None:
            self._fold(parts)
            return
        for number, part in enumerate(parts):
            sender = parts[part.source]
            if sender.target != number:
                raise NKISyntaxError(
                    f"core {number} receives from core {part.source}, which sends to "
                    f"core {sender.target}, in {part.what}",
                    part.location,
                )
        sources = [self._kept(part) for part in parts]
        for part in parts:
            assert part.dst is not None
            self.emit(
                penguin.DMACopyOp,
                [part.dst, sources[part.source], None, None],
                {},
                name=part.name,
                location=part.location,
            )

    def _fold(self, parts: Sequence[Meeting]) -> None:
        """Folds in the order of the cores: the first of a group works for all."""
        groups: dict[tuple[int, ...], list[Meeting]] = {}
        for part in parts:
            groups.setdefault(part.group, []).append(part)
        for first, *others in groups.values():
            assert first.src is not None
            assert first.dst is not None
            assert first.fold is not None
            total = self._beside(first, DType.FLOAT32)
            self.emit(
                penguin.TensorCopyOp, [total, first.src], {}, location=first.location
            )
            for part in others:
                assert part.src is not None
                brought = self._beside(part, part.src.element_type)
                self._carry(brought, part.src, part)
                self.emit(
                    penguin.TensorTensorOp,
                    [total, total, brought],
                    {"op": AluOpAttr(first.fold)},
                    location=part.location,
                )
            self.emit(
                penguin.TensorCopyOp, [first.dst, total], {}, location=first.location
            )
            for part in others:
                assert part.dst is not None
                self._carry(part.dst, total, part)

    def _beside(self, part: Meeting, dtype: DType) -> View:
        """A fresh tile like what a core brings."""
        assert part.src is not None
        buffer = self.create_tensor(
            part.src.shape, dtype, Space.SBUF, "all_reduce", location=part.location
        )
        return self.view.of(buffer)

    def _carry(self, dst: View, src: View, part: Meeting) -> None:
        """A copy from core to core."""
        operands = [dst, src, None, None]
        self.emit(penguin.DMACopyOp, operands, {}, location=part.location)

    def _kept(self, part: Meeting) -> View:
        """What a core sends; a copy where the exchange overwrites that tile."""
        src, dst = part.src, part.dst
        assert src is not None
        assert dst is not None
        if src.base is not dst.base:
            return src
        buffer = self.create_tensor(
            src.shape, src.element_type, Space.SBUF, "sent", location=part.location
        )
        tile = self.view.of(buffer)
        self.emit(
            penguin.DMACopyOp, [tile, src, None, None], {}, location=part.location
        )
        return tile

    def _barrier(self, parts: Sequence[Meeting]) -> None:
        first = parts[0]
        for number, part in enumerate(parts):
            assert part.shared is not None
            assert first.shared is not None
            spaces = {part.shared.space, first.shared.space}
            if spaces == {Space.HBM} and part.shared.base is not first.shared.base:
                raise NKISyntaxError(
                    f"core 0 waits at '{first.shared.name}' and core {number} at "
                    f"'{part.shared.name}' in one {part.what}",
                    part.location,
                )
        self.emit(
            penguin.CoreBarrierOp,
            [None],
            {"cores": DenseArrayBase.from_list(i64, list(range(len(parts))))},
            name=first.name,
            location=first.location,
        )

    @property
    def at_top(self) -> bool:
        """Whether no loop but those of the launch grid is open."""
        loops = [loop for loop in self.loops if isinstance(loop, Loop)]
        return not self.runtime_loops and all(loop.grid for loop in loops if loop.open)

    def shared_tensor(
        self, shape: Sequence[int], dtype: DType, name: str | None
    ) -> Buffer:
        """
        An HBM tensor that all programs of the grid share.

        Programs make them in the same order: the n-th of each is one tensor.
        """
        at = self._shared_made
        self._shared_made += 1
        if at < len(self._shared):
            found = self._shared[at]
            if (found.type.shape, found.type.dtype) != (tuple(shape), dtype):
                raise NKISyntaxError(
                    f"shared tensor {at} of a program of the launch grid is "
                    f"{tuple(shape)} {dtype.nki_name}, but {found.type} in the first"
                )
            return found
        buffer = self.create_tensor(
            shape, dtype, Space.HBM, name, before=self._outermost
        )
        self._shared.append(buffer)
        return buffer


def session() -> KernelTrace:
    """The running trace of a kernel; refused outside of one."""
    found = current()
    if not isinstance(found, KernelTrace):
        raise NKIRuntimeError("the running trace is not one of a kernel language")
    return found


def _check_computable(views: Sequence[View | None]) -> None:
    """No engine computes on elements of 8 bytes (nki.md 4.2, 5.1; the types of 0.7)."""
    for view in views:
        if view is not None and view.element_type.bytes > Arch.max_element_bytes:
            raise NKITypeError(
                f"{view!r}: no engine computes on {view.element_type.nki_name}; DMA "
                "moves it, nisa.scalar_load reads one, a view of uint32 has its halves"
            )
