"""
Collectives: steps at which the ranks of a group meet.

A machine without other ranks is a world of one, in which nobody waits.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions import collective as isa
from xdsl_neuron.isa import AluOp, Space
from xdsl_neuron.machine.build import Array, Build
from xdsl_neuron.machine.errors import MachineError
from xdsl_neuron.machine.lanes import FULL
from xdsl_neuron.machine.site import Emitter, Scope, Site
from xdsl_neuron.machine.world import Deadlock, Meeting, Rank, World
from xdsl_neuron.numerics import collectives
from xdsl_neuron.system import CollectiveDimension, CollectiveKind

_SEVERAL: Final = (
    "run all of them with nki.simulate_ranks(kernel, [[arguments of rank 0], "
    "[arguments of rank 1], ...])"
)
ALONE: Final = f"needs other ranks, the machine runs as one; {_SEVERAL}"
_EXCHANGED: Final = ("src", "metadata", "displacements", "dst", "counts")
_PERMUTES = (CollectiveKind.PERMUTE, CollectiveKind.PERMUTE_REDUCE)


def _advice(size: int) -> str:
    """What to do where so many ranks are too few."""
    return f"; {_SEVERAL}" if size == 1 else ""


class _Meeting(Site):
    """Base of the steps that wait for other ranks."""

    def __init__(self, scope: Scope, op: Instruction) -> None:
        super().__init__(scope, op)
        if scope.rank is None and not self.alone():
            raise self.refuse(ALONE)
        self.rank: Rank = scope.rank or Rank(0, World(1))

    def alone(self) -> bool:
        """Whether one rank can do it."""
        return False

    def array(self, build: Build, name: str, touched: bool = True) -> Any:
        """The whole of an operand, which the next step reads or writes if `touched`."""
        side = self.sides[name]
        span = self.clipped(build, name, FULL)
        if not touched:
            pass
        elif name in self.op.OUTS:
            build.writes(side, *span, side.strides)
        else:
            build.reads(side, *span, side.strides)
        return build.view(side.slot, side.numpy, *span, side.strides)

    def waiting(self, function: Callable[..., None]) -> Callable[..., None]:
        """The step; a deadlock is an error at the instruction."""

        def step(*arguments: Any) -> None:
            try:
                function(*arguments)
            except Deadlock:
                raise self.refuse(
                    f"rank {self.rank.number} waits for ranks that do not come "
                    "(deadlock)"
                ) from None

        return step

    def check_peer(self, peer: int) -> None:
        """Another rank of the world."""
        size = self.rank.world.size
        if not 0 <= peer < size or peer == self.rank.number:
            problem = f"rank {self.rank.number} of {size} has no peer {peer}"
            raise self.refuse(problem + _advice(size))


class Compute(_Meeting):
    """A reduction or exchange of a group."""

    op: isa.CollectiveCompute

    def __init__(self, scope: Scope, op: isa.CollectiveCompute) -> None:
        super().__init__(scope, op)
        self.group = self._group(op)
        problem = op.ratio_error(len(self.group))
        if problem is not None:
            advice = _advice(self.rank.world.size)
            raise self.refuse(f"{problem}, which are all there are{advice}")
        act = _meeting(op, self.group)
        self._receives = op.kind.data not in _PERMUTES or any(
            target == self.rank.number for _, target in op.src_target_pairs.data
        )
        shape = self.data["src"].shape
        if self.data["src"].space is Space.HBM:
            shape = (int(np.prod(shape)),)

        def act_on_shapes(outs: Sequence[Array], ins: Sequence[Array]) -> None:
            act(outs, [np.ascontiguousarray(x).reshape(shape) for x in ins])

        rank, world = self.rank.number, self.rank.world

        def meet(out: Array, given: Array) -> None:
            world.meet(rank, self.group, act_on_shapes, out, given)

        self._step = self.waiting(meet)

    def alone(self) -> bool:
        """Groups are of one rank, or not given."""
        return self.op.group_size in (None, 1)

    def _group(self, op: isa.CollectiveCompute) -> tuple[int, ...]:
        number, size = self.rank.number, self.rank.world.size
        everyone = tuple(range(size))
        groups = op.replica_groups.data or (everyone,)
        if op.kind.data in _PERMUTES:
            return everyone
        for group in groups:
            if number in group and set(group) <= set(everyone):
                return group
        raise self.refuse(
            f"rank {number} of {size} is in none of the replica groups "
            f"{[list(group) for group in groups]}{_advice(size)}"
        )

    def emit(self, build: Build) -> None:
        given = self.array(build, "src")
        build.emit(self._step, self.array(build, "dst", self._receives), given)


class Variable(Compute):
    """An exchange of sizes that are known only while running."""

    def __init__(self, scope: Scope, op: isa.CollectiveCompute) -> None:
        _Meeting.__init__(self, scope, op)
        self.group = self._group(op)
        self.names = [name for name in _EXCHANGED if name in self.data]
        rank, world = self.rank.number, self.rank.world
        self._arrived: Array = np.zeros(0, np.bool_)

        def act(outs: Sequence[Any], ins: Sequence[Any]) -> None:
            given: list[dict[str, Array]] = list(ins)
            arrived = collectives.all_to_all_v(
                [each["dst"] for each in given],
                [each["src"] for each in given],
                [each["metadata"] for each in given],
                [each.get("displacements") for each in given],
                [each.get("counts") for each in given],
            )
            for each, flags in zip(given, arrived, strict=True):
                each["arrived"] = flags

        def meet(*arrays: Array) -> None:
            brought: Any = dict(zip(self.names, arrays, strict=True))
            try:
                world.meet(rank, self.group, act, brought, brought)
            except ValueError as error:
                raise self.refuse(str(error)) from error
            self._arrived = brought["arrived"]

        self._step = self.waiting(meet)

    def emit(self, build: Build) -> None:
        # Between what has come the destination stays as it is, so it is read, too.
        dst = self.sides["dst"]
        span = self.clipped(build, "dst", FULL)
        build.reads(dst, *span, dst.strides)
        arrays = [self.array(build, name, name != "dst") for name in self.names]
        build.emit(self._step, *arrays)
        build.marks(dst, span, dst.strides, self._mark)

    def _mark(self, flags: Array) -> None:
        """Sets the flags of what has come in the last exchange."""
        flags |= self._arrived.reshape(flags.shape[:-1])[..., None]


def _meeting(op: isa.CollectiveCompute, group: tuple[int, ...]) -> Meeting:
    """What the last rank of a group does with everyone's arrays."""
    kind, data = op.kind.data, op.data()
    on_chip = data["src"].space.on_chip
    axis = int(on_chip and op.cc_dim.data is CollectiveDimension.FREE)
    dtype = data["src"].dtype
    fold = AluOp.BYPASS if op.op is None else op.op.data
    match kind:
        case CollectiveKind.ALL_REDUCE:
            return collectives.all_reduce(fold, dtype)
        case CollectiveKind.REDUCE_SCATTER:
            return collectives.reduce_scatter(fold, dtype, axis)
        case CollectiveKind.ALL_GATHER:
            return collectives.all_gather(axis)
        case CollectiveKind.ALL_TO_ALL:
            return collectives.all_to_all(axis)
        case CollectiveKind.PERMUTE | CollectiveKind.PERMUTE_REDUCE:
            pairs = tuple((s, t) for s, t in op.src_target_pairs.data)
            if any(rank not in group for pair in pairs for rank in pair):
                problem = f"a rank of the pairs is none of {list(group)}"
                raise MachineError(op, problem + _advice(len(group)))
            return collectives.permute(pairs)
        case CollectiveKind.PERMUTE_IMPLICIT:
            return collectives.permute(collectives.ring(len(group)))
        case _:
            raise MachineError(op, f"{kind} is not executed by the machine")


def _unexecuted(op: isa.CollectiveCompute) -> str | None:
    """What an instruction asks for that its kind has no use for here, if anything."""
    kind = op.kind.data
    if op.permute_chain.get_values():
        return "permute_chain, which has no documented meaning; use src_target_pairs"
    if op.src1_bitmap is not None:
        return "src1_bitmap, which has no documented meaning"
    if op.src_target_pairs.data and kind not in _PERMUTES:
        return f"src_target_pairs, which {kind} has no use for"
    peers = op.recv_from_rank.get_values() or op.send_to_rank.get_values()
    if peers and kind not in isa.PEERS:
        return f"ranks to send to or receive from, which {kind} has no use for"
    return None


def _compute(scope: Scope, op: isa.CollectiveCompute) -> Emitter:
    problem = _unexecuted(op)
    if problem is not None:
        raise MachineError(op, f"has {problem}")
    if op.kind.data in isa.PEERS:
        return Exchange(scope, op).emit
    if op.kind.data is CollectiveKind.ALL_TO_ALL_V:
        return Variable(scope, op).emit
    return Compute(scope, op).emit


class Exchange(_Meeting):
    """Sends to one rank and receives from one."""

    def __init__(self, scope: Scope, op: isa.CollectiveCompute) -> None:
        super().__init__(scope, op)
        if op.kind.data is not CollectiveKind.SEND_RECV:
            raise self.refuse(f"{op.kind.data} is not executed by the machine")
        (target,) = op.send_to_rank.get_values()
        (source,) = op.recv_from_rank.get_values()
        self.check_peer(target)
        self.check_peer(source)
        number, world = self.rank

        def exchange(out: Array, given: Array) -> None:
            world.send(number, target, given)
            world.receive(number, source, out)

        self._step = self.waiting(exchange)

    def emit(self, build: Build) -> None:
        given = self.array(build, "src")
        build.emit(self._step, self.array(build, "dst"), given)


class Send(_Meeting):
    """Leaves a copy for a rank."""

    def __init__(self, scope: Scope, op: isa.CollectiveSend) -> None:
        super().__init__(scope, op)
        self._peer = op.peer_id.value.data
        self.check_peer(self._peer)

    def emit(self, build: Build) -> None:
        number, world = self.rank
        build.emit(world.send, number, self._peer, self.array(build, "src"))


class Receive(_Meeting):
    """Waits for what a rank sends."""

    def __init__(self, scope: Scope, op: isa.CollectiveRecv) -> None:
        super().__init__(scope, op)
        self._peer = op.peer_id.value.data
        self.check_peer(self._peer)
        self._step = self.waiting(self.rank.world.receive)

    def emit(self, build: Build) -> None:
        array = self.array(build, "dst")
        build.emit(self._step, self.rank.number, self._peer, array)


def _send(scope: Scope, op: isa.CollectiveSend) -> Emitter:
    return Send(scope, op).emit


def _receive(scope: Scope, op: isa.CollectiveRecv) -> Emitter:
    return Receive(scope, op).emit


def _rank_id(scope: Scope, op: isa.GlobalRankId) -> Emitter:
    number, size = (0, 1) if scope.rank is None else (scope.rank[0], scope.rank[1].size)
    if op.world_size.value.data != size:
        raise MachineError(
            op,
            f"has world_size {op.world_size.value.data}, but the machine runs as {size}"
            f" rank(s){_advice(size)}",
        )
    depth = scope.add_register(op.result)

    def emit(build: Build) -> None:
        build.values[depth] = number

    return emit


def _processing_rank(scope: Scope, op: isa.ProcessingRankId) -> Emitter:
    number = 0 if scope.rank is None else scope.rank.number
    depth = scope.add_register(op.result)
    for group in op.replica_groups.data:
        if number in group:
            found = collectives.processing_rank(group, number, op.iter_id.value.data)
            break
    else:
        advice = "" if scope.rank else f"; {_SEVERAL}"
        problem = f"rank {number} is in none of the replica groups"
        raise MachineError(op, problem + advice)

    def emit(build: Build) -> None:
        build.values[depth] = found

    return emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.CollectiveCompute: _compute,
    isa.CollectiveSend: _send,
    isa.CollectiveRecv: _receive,
    isa.GlobalRankId: _rank_id,
    isa.ProcessingRankId: _processing_rank,
}
