"""
`nki.collectives`: what the ranks of a group do together (nki.md 1.3).

Every rank runs the same kernel; `nki.simulate_ranks` runs all of them in one process.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute

from xdsl_neuron.affine import Affine
from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.neuron import AluOpAttr, QosClassAttr
from xdsl_neuron.dialects.neuron.system import (
    CollectiveDimensionAttr,
    CollectiveKindAttr,
    GroupsAttr,
)
from xdsl_neuron.isa import AluOp, Space
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import (
    as_integer,
    as_integers,
    as_name,
    as_view,
    is_sequence,
)
from xdsl_neuron.nki.isa.dma import as_qos
from xdsl_neuron.nki.objects import NKIObject
from xdsl_neuron.nki.ops import as_alu
from xdsl_neuron.nki.registers import Register
from xdsl_neuron.nki.trace import session
from xdsl_neuron.system import CollectiveDimension, CollectiveKind
from xdsl_neuron.tracer.errors import (
    NKINotImplementedError,
    NKISyntaxError,
    NKITypeError,
    NKIValueError,
)
from xdsl_neuron.tracer.views import View

Groups = tuple[tuple[int, ...], ...]


@dataclass
class ReplicaGroup(NKIObject):
    """Ranks that work together: `ReplicaGroup([[0, 1], [2, 3]])`, without overlap."""

    replica_groups: Any


def _groups(value: Any) -> Groups:
    lists = value.replica_groups if isinstance(value, ReplicaGroup) else value
    if not is_sequence(lists):
        raise NKITypeError(
            "`replica_group` must be a ReplicaGroup of lists of ranks, got "
            f"{type(value).__name__}"
        )
    return tuple(tuple(as_integers(ranks, "replica_group")) for ranks in lists)


def _tensors(srcs: Any, dsts: Any, what: str, spaces: Sequence[Space]) -> list[Any]:
    """Pairs of a source and a destination, all in one memory."""
    if not is_sequence(srcs) or not is_sequence(dsts):
        raise NKITypeError(f"{what}: `srcs` and `dsts` must be lists of tensors")
    if len(srcs) != len(dsts) or not srcs:
        raise NKIValueError(
            f"{what}: `srcs` and `dsts` must have the same length, got {len(srcs)} "
            f"and {len(dsts)}"
        )
    pairs = [
        (as_view(src, "srcs"), as_view(dst, "dsts"))
        for src, dst in zip(srcs, dsts, strict=True)
    ]
    found = {view.space for pair in pairs for view in pair}
    if len(found) > 1:
        raise NKISyntaxError(
            f"{what}: all tensors must be in HBM, or all in SBUF, got "
            f"{', '.join(sorted(found))}"
        )
    (space,) = found
    if space not in spaces:
        raise NKISyntaxError(
            f"{what}: tensors must be in {' or '.join(spaces)}, got {space}"
        )
    if space is Space.SBUF and len(pairs) > 1:
        raise NKISyntaxError(
            f"{what}: several tensors in one collective must be in HBM, got "
            f"{len(pairs)} in SBUF"
        )
    return pairs


def _dimension(value: Any, space: Space, what: str, sbuf: Sequence[int]) -> Attribute:
    at = as_integer(value, "collective_dim")
    allowed = tuple(sbuf) if space is Space.SBUF else (0,)
    if at not in allowed:
        raise NKIValueError(
            f"{what}: `collective_dim` of tensors in {space} must be in {allowed}, got "
            f"{at}"
        )
    along_partitions = space is Space.SBUF and at == 0
    return CollectiveDimensionAttr(
        CollectiveDimension.PARTITION if along_partitions else CollectiveDimension.FREE
    )


def _emit(
    kind: CollectiveKind,
    src: View,
    dst: View,
    priority: Any,
    name: str | None,
    **properties: Attribute,
) -> None:
    qos = as_qos(priority)
    if qos is not None:
        properties["dma_qos"] = QosClassAttr(qos)
    session().emit(
        penguin.CollectiveComputeOp,
        [dst, None, src, None],
        {"kind": CollectiveKindAttr(kind), **properties},
        name=as_name(name),
    )


_ANYWHERE = (Space.HBM, Space.SBUF)


@api
def all_reduce(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    op: Any,
    priority: Any = None,
    name: str | None = None,
) -> None:
    """Every rank gets the fold of all ranks' tensors by nl.add, maximum or minimum."""
    pairs = _tensors(srcs, dsts, "all_reduce", _ANYWHERE)
    fold = AluOpAttr(as_alu(op, "all_reduce"))
    groups = GroupsAttr(_groups(replica_group))
    for src, dst in pairs:
        _emit(
            CollectiveKind.ALL_REDUCE,
            src,
            dst,
            priority,
            name,
            op=fold,
            replica_groups=groups,
        )


@api
def all_gather(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    collective_dim: Any,
    priority: Any = None,
    name: str | None = None,
) -> None:
    """Every rank gets all ranks' tensors, one after another along a dimension."""
    pairs = _tensors(srcs, dsts, "all_gather", _ANYWHERE)
    groups = GroupsAttr(_groups(replica_group))
    along = _dimension(collective_dim, pairs[0][0].space, "all_gather", (0, 1))
    for src, dst in pairs:
        _emit(
            CollectiveKind.ALL_GATHER,
            src,
            dst,
            priority,
            name,
            cc_dim=along,
            replica_groups=groups,
        )


@api
def reduce_scatter(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    collective_dim: Any,
    op: Any,
    priority: Any = None,
    name: str | None = None,
) -> None:
    """Each rank gets its part of the fold of all ranks' tensors."""
    pairs = _tensors(srcs, dsts, "reduce_scatter", _ANYWHERE)
    groups = GroupsAttr(_groups(replica_group))
    along = _dimension(collective_dim, pairs[0][0].space, "reduce_scatter", (0,))
    for src, dst in pairs:
        _emit(
            CollectiveKind.REDUCE_SCATTER,
            src,
            dst,
            priority,
            name,
            op=AluOpAttr(as_alu(op, "reduce_scatter")),
            cc_dim=along,
            replica_groups=groups,
        )


@api
def all_to_all(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    collective_dim: Any,
    priority: Any = None,
    name: str | None = None,
) -> None:
    """Part r of each rank's tensor goes to rank r, in rank order."""
    pairs = _tensors(srcs, dsts, "all_to_all", (Space.HBM,))
    groups = GroupsAttr(_groups(replica_group))
    along = _dimension(collective_dim, Space.HBM, "all_to_all", ())
    for src, dst in pairs:
        _emit(
            CollectiveKind.ALL_TO_ALL,
            src,
            dst,
            priority,
            name,
            cc_dim=along,
            replica_groups=groups,
        )


@api
def collective_permute(
    srcs: Any,
    dsts: Any,
    source_target_pairs: Any,
    priority: Any = None,
    name: str | None = None,
) -> None:
    """Each (source, target) sends the source rank's tensor to the target rank."""
    ((src, dst),) = _one(_tensors(srcs, dsts, "collective_permute", (Space.HBM,)))
    pairs = tuple(
        tuple(as_integers(pair, "source_target_pairs")) for pair in source_target_pairs
    )
    _emit(
        CollectiveKind.PERMUTE,
        src,
        dst,
        priority,
        name,
        src_target_pairs=GroupsAttr(pairs),
    )


def _one(pairs: list[Any]) -> list[Any]:
    if len(pairs) != 1:
        raise NKISyntaxError(
            f"each list of a permute has exactly one tensor, got {len(pairs)}"
        )
    return pairs


def _channels(channel_ids: Any, *by_channel: Any) -> int:
    """How many channels there are; their numbers count up from 0."""
    numbers = as_integers(channel_ids, "channel_ids")
    if numbers != list(range(len(numbers))):
        raise NKIValueError(
            f"`channel_ids` must be consecutive and start at 0, got {numbers}"
        )
    for lists in by_channel:
        if not is_sequence(lists) or len(lists) != len(numbers):
            raise NKIValueError(
                f"expected one list of tensors for each of {len(numbers)} channels, "
                f"got {len(lists) if is_sequence(lists) else type(lists).__name__}"
            )
    return len(numbers)


@api
def collective_permute_implicit(
    srcs_by_channel: Any,
    dsts_by_channel: Any,
    replica_group: Any,
    channel_ids: Any = (0,),
    priority: Any = None,
    name: str | None = None,
) -> None:
    """Each rank sends to the next one of its group and receives from the one before."""
    what = "collective_permute_implicit"
    groups = GroupsAttr(_groups(replica_group))
    for at in range(_channels(channel_ids, srcs_by_channel, dsts_by_channel)):
        pairs = _tensors(srcs_by_channel[at], dsts_by_channel[at], what, _ANYWHERE)
        ((src, dst),) = _one(pairs)
        _emit(
            CollectiveKind.PERMUTE_IMPLICIT,
            src,
            dst,
            priority,
            name,
            replica_groups=groups,
            stream_id=IntegerAttr(at, i64),
        )


@api
def collective_permute_implicit_reduce(
    srcs0_by_channel: Any,
    srcs1_by_channel: Any,
    dsts_by_channel: Any,
    replica_group: Any,
    op: Any,
    channel_ids: Any = (0,),
    priority: Any = None,
    name: str | None = None,
) -> None:
    """Each rank sends `op(src0, src1)` to the next one of its group (nl.add only)."""
    what = "collective_permute_implicit_reduce"
    if as_alu(op, what) is not AluOp.ADD:
        raise NKINotImplementedError(
            f"{what} with {op} is not supported: a DMA folds by nl.add only; fold on "
            "an engine, then use collective_permute_implicit"
        )
    trace = session()
    summed: list[Any] = []
    count = _channels(channel_ids, srcs0_by_channel, srcs1_by_channel, dsts_by_channel)
    for at in range(count):
        ((left, right),) = _one(
            _tensors(srcs0_by_channel[at], srcs1_by_channel[at], what, _ANYWHERE)
        )
        buffer = trace.create_tensor(
            left.shape, left.element_type, left.space, "folded"
        )
        tile = trace.view.of(buffer)
        trace.dma_copy(left, tile)
        trace.dma_copy(right, tile, rmw_op=AluOp.ADD)
        summed.append([tile])
    collective_permute_implicit(
        summed, dsts_by_channel, replica_group, channel_ids, priority, name
    )


@api
def collective_permute_implicit_current_processing_rank_id(
    iteration_id: Any,
    replica_group: Any,
    channel_id: Any = 0,
    name: str | None = None,
) -> Register:
    """The rank whose data is there after so many steps around the ring."""
    trace = session()
    trace.emit(
        penguin.GetCurProcessingRankIdOp,
        [],
        {
            "iter_id": IntegerAttr(as_integer(iteration_id, "iteration_id"), i64),
            "channel_id": IntegerAttr(as_integer(channel_id, "channel_id"), i64),
            "replica_groups": GroupsAttr(_groups(replica_group)),
        },
        name=as_name(name),
    )
    return Register(_result())


@api
def rank_id(name: str | None = None) -> Register:
    """The number of this rank."""
    trace = session()
    trace.emit(
        penguin.GetGlobalRankIdOp,
        [],
        {"world_size": IntegerAttr(trace.options.ranks, i64)},
        name=as_name(name),
    )
    return Register(_result())


def _result() -> Affine:
    trace = session()
    assert trace.last is not None
    (value,) = trace.last.operation.results
    value.name_hint = trace.locator.variable() or "rank"
    return trace.add_register(value)


@api
def all_gather_v(*args: Any, **named: Any) -> None:
    """Refused: sizes that are known only while running."""
    _refuse_variable("all_gather_v")


@api
def all_to_all_v(*args: Any, **named: Any) -> None:
    """Refused: sizes that are known only while running."""
    _refuse_variable("all_to_all_v")


def _refuse_variable(what: str) -> None:
    raise NKINotImplementedError(
        f"{what} is not supported: the machine has no exchange of sizes that are known "
        f"only while running; pad to one size and use {what.removesuffix('_v')}"
    )


__all__ = [
    "ReplicaGroup",
    "all_gather",
    "all_gather_v",
    "all_reduce",
    "all_to_all",
    "all_to_all_v",
    "collective_permute",
    "collective_permute_implicit",
    "collective_permute_implicit_current_processing_rank_id",
    "collective_permute_implicit_reduce",
    "rank_id",
    "reduce_scatter",
]
