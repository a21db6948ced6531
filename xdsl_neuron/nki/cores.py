"""
The programs of a launch grid that run on cores of their own and meet.

Each program is traced by itself, from its first line to its last. Where it meets the
others (a barrier, an exchange) its block is cut; `Meetings.merge` then puts the pieces
in the order in which cores run that advance to the next meeting in turn. Where they
meet in the body of a run-time loop, the loops of all cores become one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import NamedTuple, Protocol, TypeAlias

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Block, Operation, SSAValue

from xdsl_neuron.dialects import penguin
from xdsl_neuron.isa import AluOp, Space
from xdsl_neuron.tracer.errors import NKISyntaxError
from xdsl_neuron.tracer.views import View

Loop: TypeAlias = penguin.ForOp | penguin.DynamicForOp | penguin.DoWhileOp
"""Loops that are traced once."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """
    One core's part of a barrier or an exchange.

    `what` is the same on all cores: two meetings with the same text are one. An
    exchange sends `src` to core `target` and gets `dst` from core `source`. A fold
    joins the `src` of all cores that have the same `group`, for the `dst` of each.
    """

    what: str
    location: FileLineColLoc | None
    shared: View | None = None
    src: View | None = None
    dst: View | None = None
    target: int = -1
    source: int = -1
    name: str | None = None
    fold: AluOp | None = None
    group: tuple[int, ...] = ()


@dataclass(slots=True)
class _Core:
    """What one program has traced: where it begins, and its cuts by block."""

    before: Operation | None
    cuts: dict[Block, list[tuple[Operation | None, Meeting]]] = field(
        default_factory=dict[Block, list[tuple[Operation | None, Meeting]]]
    )
    meetings: list[Meeting] = field(default_factory=list[Meeting])


class _Together(NamedTuple):
    """A run-time loop in whose body a core meets the others."""

    operation: Loop
    what: str
    location: FileLineColLoc | None
    steps: "list[_Step]"


class _Step(NamedTuple):
    """Operations of one core, and what they end with: a meeting, a loop, the end."""

    operations: list[Operation]
    then: Meeting | _Together | None


class Meetings:
    """Where the programs of one trace meet."""

    def __init__(self, block: Block, holder: "Holder") -> None:
        self._block = block
        self._holder = holder
        self._cores: list[_Core] = []

    def start(self) -> None:
        """What follows in the block is of the next core."""
        self._cores.append(_Core(self._block.last_op))

    def add(self, meeting: Meeting, block: Block) -> None:
        """The running core meets the others at the end of a block."""
        core = self._cores[-1]
        core.cuts.setdefault(block, []).append((block.last_op, meeting))
        core.meetings.append(meeting)

    def merge(self) -> None:
        """
        Orders operations by meetings; the holder emits each, given every core's part.

        HBM tensors come first: one core may use what another makes later. A run-time
        loop in which cores meet becomes one loop of all cores.
        """
        if not any(core.meetings for core in self._cores):
            return
        order = list(self._block.ops)
        place: dict[Operation | None, int] = {op: at for at, op in enumerate(order, 1)}
        place[None] = 0
        starts = [place[core.before] for core in self._cores]
        ends = [*starts[1:], len(order)]
        starts[0] = 0  # what no core made is in front
        steps = [
            self._steps(core, self._block, order[low:high])
            for core, low, high in zip(self._cores, starts, ends, strict=True)
        ]
        self._check(steps)
        for operation in order:
            operation.detach()
        shared = [operation for operation in order if _is_shared(operation)]
        self._put(self._block, shared)
        self._block_of(self._block, steps)

    def _steps(
        self, core: _Core, block: Block, operations: Sequence[Operation]
    ) -> list[_Step]:
        """One core's operations of a block, cut where it meets the others."""
        cuts = list(core.cuts.get(block, ()))
        found: list[_Step] = []
        piece: list[Operation] = []

        def cut_here(last: Operation | None) -> None:
            nonlocal piece
            while cuts and cuts[0][0] is last:
                found.append(_Step(piece, cuts.pop(0)[1]))
                piece = []

        cut_here(operations[0].prev_op if operations else None)
        for operation in operations:
            loop = self._together(core, operation)
            if loop is None:
                piece.append(operation)
            else:
                found.append(_Step(piece, loop))
                piece = []
            cut_here(operation)
        for _, meeting in cuts:  # a core with no operations of its own
            found.append(_Step(piece, meeting))
            piece = []
        found.append(_Step(piece, None))
        return found

    def _together(self, core: _Core, operation: Operation) -> _Together | None:
        """A loop with a meeting somewhere in its body."""
        if not isinstance(operation, Loop):
            return None
        body = operation.body.block
        steps = self._steps(core, body, list(body.ops))
        if all(step.then is None for step in steps):
            return None
        place = operation.location
        return _Together(
            operation,
            _head(operation),
            place if isinstance(place, FileLineColLoc) else None,
            steps,
        )

    def _block_of(self, block: Block, cores: Sequence[list[_Step]]) -> None:
        """Puts the steps of all cores into a block, in turn up to each meeting."""
        for each in zip(*cores, strict=True):
            for step in each:
                self._put(block, step.operations)
            thens = [step.then for step in each]
            meetings = [then for then in thens if isinstance(then, Meeting)]
            loops = [then for then in thens if isinstance(then, _Together)]
            if meetings:
                self._holder.hold(meetings, block)
            elif loops:
                self._fuse(block, loops)

    def _fuse(self, block: Block, loops: Sequence[_Together]) -> None:
        """One loop of all cores, which must agree on how often it runs."""
        first, *others = (loop.operation for loop in loops)
        for other in others:
            if isinstance(first, penguin.DynamicForOp):
                assert isinstance(other, penguin.DynamicForOp)
                self._holder.agree(first.registers[0], other.registers[0], block)
        self._put(block, [first])
        body = first.body.block
        for operation in list(body.ops):
            operation.detach()
        ends = [operation for loop in loops for operation in _conditions(loop)]
        for other in others:
            self._holder.fused(other.body.block)
            for old, new in zip(other.body.block.args, body.args, strict=True):
                old.replace_all_uses_with(new)
            for operation in list(other.body.block.ops):
                operation.detach()
        self._block_of(body, [loop.steps for loop in loops])
        for end in ends[1:]:
            self._holder.agree(ends[0].condition, end.condition, body)
            end.erase()
        self._put(body, ends[:1])
        for other in others:
            other.erase()

    @staticmethod
    def _put(block: Block, operations: Sequence[Operation]) -> None:
        for operation in operations:
            if operation.parent is None:
                block.add_op(operation)

    def _check(self, cores: Sequence[list[_Step]]) -> None:
        """Every core meets the others in the same order, in the same loops."""
        first = _flat(cores[0])
        for number, steps in enumerate(cores[1:], 1):
            mine = _flat(steps)
            for one, other in zip_longest(first, mine):
                if one is not None and other is not None and one.what == other.what:
                    continue
                culprit = one if other is None else other
                place = None if culprit is None else culprit.location
                raise NKISyntaxError(
                    "cores wait for each other in different orders: core 0 has "
                    f"{_listed(first)}; core {number} has {_listed(mine)}",
                    place,
                )


class Holder(Protocol):
    """Emits what happens where cores meet."""

    def hold(self, parts: Sequence[Meeting], block: Block) -> None:
        """One meeting, with the part of every core."""
        ...

    def fused(self, body: Block) -> None:
        """What was made in this block is in that of another core now."""
        ...

    def agree(self, one: SSAValue, other: SSAValue, block: Block) -> None:
        """Fails, while running, where two registers differ."""
        ...


def _conditions(loop: _Together) -> list[penguin.ContinueIfOp]:
    """The end of a do-while's body, taken out of the steps."""
    found: list[penguin.ContinueIfOp] = []
    for step in loop.steps:
        for operation in list(step.operations):
            if isinstance(operation, penguin.ContinueIfOp):
                step.operations.remove(operation)
                found.append(operation)
    return found


def _head(loop: Loop) -> str:
    """What loops of two cores must have in common to be one."""
    if isinstance(loop, penguin.DoWhileOp):
        return "while register"
    first, step = loop.lower.value.data, loop.step.value.data
    if isinstance(loop, penguin.ForOp):
        return f"loop over range({first}, {loop.upper.value.data}, {step})"
    return f"loop from {first} to a register, step {step}"


def _flat(steps: Sequence[_Step]) -> list[Meeting | _Together]:
    """The meetings of a core in order, each loop in front of those in it."""
    found: list[Meeting | _Together] = []
    for step in steps:
        if step.then is not None:
            found.append(step.then)
        if isinstance(step.then, _Together):
            found += _flat(step.then.steps)
    return found


def _is_shared(operation: Operation) -> bool:
    """Whether an operation makes a tensor that all cores may use."""
    if isinstance(operation, penguin.AllocOp):
        return operation.tensor.space is Space.HBM
    return isinstance(operation, penguin.ConstantOp)


def _listed(meetings: Sequence[Meeting | _Together]) -> str:
    if not meetings:
        return "none"
    return ", ".join(f"{m.what}{_line(m.location)}" for m in meetings)


def _line(location: FileLineColLoc | None) -> str:
    return "" if location is None else f" (line {location.line.data})"
