"""
The state of a trace, and the two places where operations enter the module.

`insert` is the one append point for instructions and allocations, `scope` opens the
regions of loops. Nothing else in `tracer` and `nki` adds an operation to a block.
"""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FileLineColLoc,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnknownLoc,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.capacity import Sized
from xdsl_neuron.dialects.instruction import Instruction, register_bits
from xdsl_neuron.dialects.neuron import (
    FORMAT_VERSION,
    AffineAttr,
    EdgesAttr,
    PredicatesAttr,
    TargetAttr,
    TensorType,
)
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import EdgeKind, LoopKind, Space
from xdsl_neuron.tracer.bounds import check_bounds
from xdsl_neuron.tracer.definedness import EarlyReads, check_mutable
from xdsl_neuron.tracer.errors import NKISyntaxError, NKIValueError
from xdsl_neuron.tracer.frames import Locator
from xdsl_neuron.tracer.index import Expr, Mask
from xdsl_neuron.tracer.indirection import with_indices
from xdsl_neuron.tracer.layouts import Buffer
from xdsl_neuron.tracer.left_out import keep_mask, mask_over
from xdsl_neuron.tracer.options import TraceOptions
from xdsl_neuron.tracer.placement import (
    check_indexed,
    moved,
    numbers_in,
    renumbered,
    to_lanes,
)
from xdsl_neuron.tracer.symbols import Loop, Register, Symbol
from xdsl_neuron.tracer.views import View

Dep: TypeAlias = "View | str"
"""An instruction to follow: a tile it wrote, or its name."""

_UNKNOWN: Final = UnknownLoc()
_UNCHECKED: Final = ("inst_name", "after")


def _made_by(value: SSAValue) -> tuple[object, ...]:
    """What gates ask of an operand beside its type: where it is, how wide it is."""
    owner = value.owner
    if isinstance(owner, Sized):
        return type(owner), owner.blocks, owner.addresses
    return type(owner), register_bits(value)


@dataclass(eq=False, slots=True)
class Emission:
    """The last instruction, as it was asked for, and its operation."""

    kind: type[Instruction]
    views: Sequence[View | None]
    properties: dict[str, Attribute]
    mask: Mask | None
    name: str
    deps: Sequence[Dep]
    location: FileLineColLoc | None
    operation: Instruction


class TraceState:
    """
    A module being built: one function, the block operations go to, names, loops.

    Args:
        name: the kernel's name.
        arguments: its tensor arguments, names and types, in order.
        arch: the generation, which the module carries and gates read.
        masks_allowed: whether the language has masks, so that an index range which
            leaves its tensor may still be clipped by one.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[tuple[str, TensorType]],
        arch: Arch,
        masks_allowed: bool,
        options: TraceOptions,
    ) -> None:
        self.arch = arch
        self.options = options
        self.masks_allowed = masks_allowed
        self.function = penguin.FuncOp.make(name, arguments)
        self.module = ModuleOp(
            [self.function],
            {
                "neuron.target": TargetAttr(arch.name),
                "neuron.version": IntegerAttr(FORMAT_VERSION, i64),
            },
        )
        self.block: Block = self.function.body.block
        self.blocks: list[Block] = [self.block]
        self.loops: list[Symbol] = []
        self.last: Emission | None = None
        self.locator = Locator()
        self.arguments = [
            Buffer(value, kind, hint, self.block, self)
            for value, (hint, kind) in zip(
                self.function.arguments, arguments, strict=True
            )
        ]
        self._early_reads = EarlyReads()
        self._names: dict[str, int] = {}
        self._numbers: dict[SSAValue, int] = {}
        self._reach: list[tuple[int, int]] = []
        self._checked: set[object] = set()
        self._counter = 0
        self._instructions = 0

    # -- what is known of loop indices ---------------------------------------------

    def loop_name(self, number: int) -> str:
        """How a loop's index, or a register, is written in messages."""
        hint = self.loops[number].index.name_hint
        return hint or f"d{number}"

    def is_grid(self, numbers: frozenset[int]) -> bool:
        """Whether all these loops are axes of the launch grid."""
        found = [self.loops[number] for number in numbers]
        return all(isinstance(loop, Loop) and loop.grid for loop in found)

    def loop_places(self, numbers: frozenset[int]) -> frozenset[FileLineColLoc]:
        """
        The places of these loops in the kernel, without axes of the launch grid.

        Empty where a register is among them, whose value no unrolling gives.
        """
        found = [self.loops[number] for number in numbers]
        if any(isinstance(loop, Register) for loop in found):
            return frozenset()
        places = [
            loop.operation.location
            for loop in found
            if isinstance(loop, Loop) and not loop.grid
        ]
        return frozenset(p for p in places if isinstance(p, FileLineColLoc))

    def is_dynamic(self, expr: Expr) -> bool:
        """Whether it depends on a register, whose value is not known."""
        return not isinstance(expr, int) and any(
            isinstance(self.loops[number], Register) for number in expr.positions
        )

    def add_register(self, value: SSAValue) -> Affine:
        """The expression that stands for a register loaded in the current block."""
        number = len(self.loops)
        self.loops.append(Register(number, value, self.block))
        self._numbers[value] = number
        bits = register_bits(value)
        self._reach.append((-(1 << bits - 1), (1 << bits) - 1))
        return Affine.index(number)

    def bounds(
        self, expr: Expr, lanes: Sequence[tuple[int, int]] = ()
    ) -> tuple[int, int]:
        """Lowest and highest value over all iterations and lanes."""
        if isinstance(expr, int):
            return expr, expr
        return expr.bounds(self._reach, lanes)

    # -- inserting -----------------------------------------------------------------

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
        """
        The one append point: names an operation, completes it and checks it.

        `mask` holds predicates (>= 0) over the instruction's lanes and the loops of the
        trace; `deps` become edges. `location` is where the kernel's line is already
        known, `before` an operation of an outer block to stand in front of. The
        operation's own gates run; what they refuse is an error at the kernel's line.
        """
        if location is None:
            location = self.locator.here()
        inst.location = _UNKNOWN if location is None else location
        given = ""
        if isinstance(inst, Instruction):
            self._count()
            given = self.unique_name(name)
            inst.properties["inst_name"] = StringAttr(given)
            if mask:
                self._predicate(inst, mask)
            if deps:
                inst.properties["after"] = self._edges(deps)
        if before is None:
            self.block.add_op(inst)
        else:
            block = before.parent
            assert block is not None
            block.insert_op_before(inst, before)
        if isinstance(inst, Instruction):
            self._mark_mutable(inst)
            self._check(inst)
        elif isinstance(inst, penguin.AllocOp):
            _check_gates(inst)
        return given

    def _count(self) -> None:
        """Refuses a trace that has become too large to be meant."""
        self._instructions += 1
        most = self.options.max_instructions
        if self._instructions > most:
            raise NKISyntaxError(
                f"the trace has more than {most} instructions; a loop "
                "over `range` is unrolled while tracing, one over nl.affine_range or "
                "nl.sequential_range is not, or raise the option max_instructions"
            )

    def _mark_mutable(self, inst: Instruction) -> None:
        """An argument that an instruction writes is marked before its gates run."""
        values = inst.data_values()
        for name in inst.OUTS:
            value = values.get(name)
            if value is None or value.owner is not self.function.body.block:
                continue
            marked = self.function.mutable_positions
            position = self.function.body.block.args.index(value)
            if position not in marked:
                self.function.properties["mutable"] = DenseArrayBase.from_list(
                    i64, sorted((*marked, position))
                )

    def _check(self, inst: Instruction) -> None:
        """
        Runs the instruction's gates, once for all instructions that look alike.

        A gate depends on the class, the operands' types, which of them are the same and
        what made them, the properties, and the ranges of the loops: unrolled bodies
        repeat them.
        """
        values = list(inst.operands)
        key = (
            type(inst),
            tuple(
                [
                    (id(value.type), values.index(value), *_made_by(value))
                    for value in values
                ]
            ),
            tuple(
                [item for item in inst.properties.items() if item[0] not in _UNCHECKED]
            ),
            tuple(
                [
                    value
                    for value in values
                    if isinstance(value.owner, Block)
                    and value.owner is not self.function.body.block
                ]
            ),
        )
        if key in self._checked:
            return
        _check_gates(inst)
        self._checked.add(key)

    def unique_name(self, name: str | None) -> str:
        """`I7` where no name is given; a name given twice gets a number."""
        if name is None:
            self._counter += 1
            name = f"I{self._counter}"
        found, number = name, self._names.get(name, 0)
        if number:
            while (found := f"{name}.{number}") in self._names:
                number += 1
            self._names[name] = number + 1
        self._names[found] = 1
        return found

    def _predicate(self, inst: Instruction, mask: Sequence[Affine]) -> None:
        """Puts predicates on an instruction, in terms of its own index operands."""
        values = list(inst.loop_indices())
        places = {self._numbers[value]: at for at, value in enumerate(values)}
        added: list[SSAValue] = []
        for number in sorted(frozenset[int]().union(*(p.positions for p in mask))):
            if number not in places:
                places[number] = len(places)
                added.append(self._index_value(number))
        if added:
            inst.append_indices(added)
        inst.properties["predicates"] = PredicatesAttr(
            tuple(renumbered(p, places) for p in mask)
        )

    def _edges(self, deps: Sequence[Dep]) -> EdgesAttr:
        names: list[str] = []
        for dep in deps:
            name = dep if isinstance(dep, str) else dep.base.writer
            if name is None:
                raise NKIValueError(f"deps: {dep!r} was written by no instruction")
            names.append(name)
        return EdgesAttr.of([(EdgeKind.ORDERED, name) for name in names])

    def _index_value(self, number: int) -> SSAValue:
        found = self.loops[number]
        if isinstance(found, Loop):
            if not found.open:
                raise NKISyntaxError(
                    f"Loop index '{self.loop_name(number)}' is used outside of its loop"
                )
        elif found.block not in self.blocks:
            raise NKISyntaxError(
                f"register '{self.loop_name(number)}' is used outside of the loop it "
                "was loaded in; load it in front of the loop"
            )
        return found.index

    # -- instructions on views -----------------------------------------------------

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
        """
        Inserts an instruction on views, in the order of its class's operands.

        Affine properties are in terms of the trace's loops. Views that are written are
        the first ones (`kind.OUTS`). `before` is as in `insert`. Returns the
        instruction's name.
        """
        asked = properties
        views, properties = with_indices(kind, views, properties)
        for position, view in enumerate(views):
            if view is not None:
                self._check_scope(view)
                if view.has_index:
                    check_indexed(kind, position, view)
        accesses = [None if view is None else view.access() for view in views]
        numbers = numbers_in(accesses, properties)
        indices: list[SSAValue] = []
        if numbers:
            places = {number: at for at, number in enumerate(numbers)}
            indices = [self._index_value(number) for number in numbers]
            if numbers != tuple(range(len(numbers))):
                accesses = [moved(access, places) for access in accesses]
                properties = {
                    key: AffineAttr(renumbered(value.data, places))
                    if isinstance(value, AffineAttr)
                    else value
                    for key, value in properties.items()
                }
        inst = kind.make(
            [None if view is None else view.base.value for view in views],
            dict(properties),
            accesses,
            indices,
        )
        predicates = self._predicates(inst, views, mask)
        check_bounds(inst, views, predicates, self.loops)
        location = location or self.locator.here()
        given = self.insert(
            inst, name, deps, predicates, location=location, before=before
        )
        outs = len(kind.OUTS)
        for view in views[outs:]:
            if view is not None:
                self._early_reads.check(view.base, location)
        for at, view in enumerate(views[:outs]):
            if view is not None:
                base = view.base
                check_mutable(base)
                first = at == 0 and not base.written
                keep_mask(view, mask_over(view, inst, predicates) if first else None)
                base.written = True
                base.writer = given
        self.last = Emission(kind, views, asked, mask, given, deps, location, inst)
        return given

    @contextmanager
    def again_in(self, block: Block) -> Generator[None]:
        """What is inserted meanwhile is in this block; its loops may have ended."""
        kept = self.block, self.blocks, self.last, self._instructions
        blocks, reopened = [block], list[Loop]()
        while (around := blocks[0].parent_op()) is not None and around.parent is not (
            self.module.body.block
        ):
            assert around.parent is not None
            blocks.insert(0, around.parent)
            if isinstance(around, penguin.ForOp):
                loop = self.loops[self._numbers[around.index]]
                assert isinstance(loop, Loop)
                reopened += [] if loop.open else [loop]
        self.block, self.blocks = block, blocks
        for loop in reopened:
            loop.open = True
        try:
            yield
        finally:
            for loop in reopened:
                loop.open = False
            self.block, self.blocks, self.last, self._instructions = kept

    def _check_scope(self, view: View) -> None:
        buffer = view.base
        if buffer.block is self.block or buffer.block in self.blocks:
            return
        raise NKISyntaxError(
            f"Local variable '{buffer.name}' is referenced outside of its parent "
            "scope: it was made in the body of a loop that has ended; make it in front "
            "of the loop"
        )

    def _predicates(
        self, inst: Instruction, views: Sequence[View | None], mask: Mask | None
    ) -> list[Affine]:
        """The mask and those of masked views, over the instruction's lanes."""
        masked = [view for view in views if view is not None and view.layout.masks]
        if mask is None and not masked:
            return []
        data = inst.data()
        found: list[Affine] = []
        if mask is not None:
            found += mask.over(inst.lane_shape(data))
        if masked:
            lanes = inst.lane_dims(data)
            names = [*inst.OUTS, *inst.INS]
            # Operands that are left out at the end are not among the views.
            for name, view in zip(names, views, strict=False):
                if view is not None:
                    found += [
                        to_lanes(predicate, lanes[name])
                        for predicate in view.layout.masks
                    ]
        return list(dict.fromkeys(found))

    # -- buffers and scopes --------------------------------------------------------

    def create_tensor(
        self,
        shape: Sequence[int],
        dtype: DType,
        space: Space,
        name: str | None = None,
        *,
        init: float | None = None,
        blocks: int = 1,
        addresses: Sequence[int] = (),
        before: Operation | None = None,
        location: FileLineColLoc | None = None,
    ) -> Buffer:
        """
        A fresh buffer, allocated each time the current block executes.

        `blocks` is the number of tiles it stands for; `addresses` holds the partition
        and byte of each, where they are fixed.
        """
        try:
            kind = TensorType.of(tuple(shape), dtype, space)
        except VerifyException as error:
            raise NKIValueError(str(error)) from None
        name = name or self.locator.variable()
        in_loop = space.on_chip and before is None and len(self.blocks) > 1
        in_loop = in_loop and not addresses
        expand = in_loop and self.options.enable_scalar_expansion
        operation = penguin.AllocOp.make(
            kind, name, init, expand=expand, blocks=blocks, addresses=addresses
        )
        self.insert(operation, location=location, before=before)
        block = operation.parent
        assert block is not None
        label = name or f"tile of shape {tuple(shape)}"
        return Buffer(operation.result, kind, label, block, self)

    @contextmanager
    def scope(
        self,
        kind: LoopKind,
        values: range,
        hint: str = "i",
        *,
        location: FileLineColLoc | None = None,
    ) -> Generator[Loop]:
        """A rolled loop around what is inserted meanwhile."""
        operation = penguin.ForOp.make(
            kind, values.start, values.stop, values.step, hint
        )
        location = location or self.locator.here()
        operation.location = _UNKNOWN if location is None else location
        grid = kind in (LoopKind.SPMD, LoopKind.SHARD)
        loop = Loop(len(self.loops), operation, values, grid)
        self.block.add_op(operation)
        self.loops.append(loop)
        self._numbers[operation.index] = loop.number
        self._reach.append((values[0], values[-1]) if values else (0, 0))
        outer = self.block
        self.block = operation.body.block
        self.blocks.append(self.block)
        body = self.block
        try:
            yield loop
        finally:
            loop.open = False
            # A loop left by `break` takes the loops in it along.
            if body in self.blocks:
                del self.blocks[self.blocks.index(body) :]
                self.block = outer

    def finish(self, outputs: Sequence[tuple[str, Buffer]]) -> ModuleOp:
        """Ends the function; arguments that were written become mutable."""
        for label, buffer in outputs:
            if buffer.block is not self.function.body.block:
                raise NKISyntaxError(
                    f"output '{label}' was made in the body of a loop; make it at the "
                    "top level of the kernel"
                )
        self._early_reads.finish()
        mutable = [at for at, buffer in enumerate(self.arguments) if buffer.written]
        self.function.properties["mutable"] = DenseArrayBase.from_list(i64, mutable)
        self.insert(
            penguin.ReturnOp.make([(label, b.value) for label, b in outputs]),
            location=_file_location(self.function.location),
        )
        return self.module


def _check_gates(inst: Instruction | penguin.AllocOp) -> None:
    """What an operation's gates refuse is an error at the kernel's line."""
    try:
        inst.check_gates()
    except VerifyException as error:
        raise NKISyntaxError(str(error), inst.location) from None


def _file_location(location: Attribute) -> FileLineColLoc | None:
    return location if isinstance(location, FileLineColLoc) else None
