"""
`nki.collectives`: what the ranks of a group do together (nki.md 1.3).

Every rank runs the same kernel; `nki.simulate_ranks` runs all of them in one process.
"""

from math import prod
from typing import Any, NoReturn

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Attribute

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.neuron import AluOpAttr, QosClassAttr
from xdsl_neuron.dialects.neuron.system import (
    CollectiveKindAttr,
    GroupsAttr,
)
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp, Space
from xdsl_neuron.nki.absent import absent
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import (
    as_integer,
    as_integers,
    as_name,
)
from xdsl_neuron.nki.collective_arguments import (
    ReplicaGroup,
    as_channels,
    as_dimension,
    as_groups,
    as_pairs,
    check_regions,
    only,
)
from xdsl_neuron.nki.instruction import instruction
from xdsl_neuron.nki.isa.dma import as_qos
from xdsl_neuron.nki.ops import as_alu
from xdsl_neuron.nki.registers import Register
from xdsl_neuron.nki.trace import session
from xdsl_neuron.nki.variable_collectives import (
    all_gather_v,
    all_gather_v_prepare,
    all_gather_v_trigger,
    all_to_all_v,
    all_to_all_v_prepare,
    all_to_all_v_trigger,
)
from xdsl_neuron.system import CollectiveKind
from xdsl_neuron.tracer.errors import (
    NKIValueError,
)
from xdsl_neuron.tracer.views import View


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
        [dst, None, None, src, None, None],
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
    """
    Every rank gets the fold of all ranks' tensors by nl.add, maximum or minimum.

    Regions of HBM are as for `all_gather`.
    """
    pairs = as_pairs(srcs, dsts, "all_reduce", _ANYWHERE)
    check_regions(pairs, "all_reduce", alone=prod(session().grid) == 1)
    fold = AluOpAttr(as_alu(op, "all_reduce"))
    groups = GroupsAttr(as_groups(replica_group))
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


@instruction
def all_gather(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    collective_dim: Any,
    priority: Any = None,
    name: str | None = None,
) -> None:
    """
    Every rank gets all ranks' tensors, one after another along a dimension.

    In HBM the sources are all private or all shared, and so are the destinations. A
    kernel of one core shares no source, and a destination with NKI_LNC1_SHARED_HBM=1 in
    the environment only (0.7; a warning).
    """
    pairs = as_pairs(srcs, dsts, "all_gather", _ANYWHERE)
    check_regions(pairs, "all_gather", alone=prod(session().grid) == 1)
    groups = GroupsAttr(as_groups(replica_group))
    along = as_dimension(collective_dim, pairs[0][0].space, "all_gather", (0, 1))
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
    pairs = as_pairs(srcs, dsts, "reduce_scatter", _ANYWHERE)
    groups = GroupsAttr(as_groups(replica_group))
    along = as_dimension(collective_dim, pairs[0][0].space, "reduce_scatter", (0,))
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


@instruction
def all_to_all(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    collective_dim: Any,
    priority: Any = None,
    name: str | None = None,
) -> None:
    """Part r of each rank's tensor goes to rank r, in rank order."""
    pairs = as_pairs(srcs, dsts, "all_to_all", (Space.HBM,))
    groups = GroupsAttr(as_groups(replica_group))
    along = as_dimension(collective_dim, Space.HBM, "all_to_all", ())
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
    ((src, dst),) = only(as_pairs(srcs, dsts, "collective_permute", (Space.HBM,)))
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
    groups = GroupsAttr(as_groups(replica_group))
    for at in range(as_channels(channel_ids, srcs_by_channel, dsts_by_channel)):
        pairs = as_pairs(srcs_by_channel[at], dsts_by_channel[at], what, _ANYWHERE)
        ((src, dst),) = only(pairs)
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
    """
    Each rank sends `op(src0, src1)` to the next one of its group.

    `op` is nl.add, maximum or minimum, of which a DMA makes the tensor that is sent.
    """
    what = "collective_permute_implicit_reduce"
    fold = as_alu(op, what)
    if fold not in (AluOp.ADD, AluOp.MAX, AluOp.MIN):
        raise NKIValueError(
            f"{what} reduces by nl.add, nl.maximum or nl.minimum, got {op}"
        )
    trace = session()
    summed: list[Any] = []
    count = as_channels(
        channel_ids, srcs0_by_channel, srcs1_by_channel, dsts_by_channel
    )
    for at in range(count):
        ((left, right),) = only(
            as_pairs(srcs0_by_channel[at], srcs1_by_channel[at], what, _ANYWHERE)
        )
        buffer = trace.create_tensor(
            left.shape, left.element_type, left.space, "folded"
        )
        tile = trace.view.of(buffer)
        trace.dma_fold(tile, [left, right], op=fold)
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
            "replica_groups": GroupsAttr(as_groups(replica_group)),
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


def __getattr__(name: str) -> NoReturn:
    absent("nki.collectives", name)


__all__ = [
    "ReplicaGroup",
    "all_gather",
    "all_gather_v",
    "all_gather_v_prepare",
    "all_gather_v_trigger",
    "all_reduce",
    "all_to_all",
    "all_to_all_v",
    "all_to_all_v_prepare",
    "all_to_all_v_trigger",
    "collective_permute",
    "collective_permute_implicit",
    "collective_permute_implicit_current_processing_rank_id",
    "collective_permute_implicit_reduce",
    "rank_id",
    "reduce_scatter",
]
