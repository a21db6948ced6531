"""Collectives of sizes that are known only while running."""

from dataclasses import dataclass, replace
from typing import Any

from xdsl.ir import Attribute

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.neuron import QosClassAttr
from xdsl_neuron.dialects.neuron.system import CollectiveKindAttr, GroupsAttr
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Space
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_name, as_view
from xdsl_neuron.nki.collective_arguments import Groups, as_groups, as_pairs, only
from xdsl_neuron.nki.isa.dma import as_qos
from xdsl_neuron.nki.trace import session
from xdsl_neuron.system import CollectiveKind
from xdsl_neuron.tracer.errors import NKITypeError, NKIValueError
from xdsl_neuron.tracer.slicing import subscript
from xdsl_neuron.tracer.views import View


@api
def all_gather_v(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    metadata_tensor: Any,
    recv_counts_known: bool = False,
    has_rdispls: bool = False,
    priority: Any = None,
    name: str | None = None,
) -> None:
    """
    Every rank gets the one part that each rank sends, at even places.

    `metadata_tensor` is as that of `all_to_all_v`; of its rows of what to send only the
    first column is read.
    """
    what = "all_gather_v"
    groups = as_groups(replica_group)
    if has_rdispls:
        raise NKIValueError(f"{what}: has_rdispls=True is not supported")
    if any(len(group) != 4 for group in groups):
        raise NKIValueError(
            f"{what}: each list of ranks must have exactly 4 of them, got "
            f"{[list(group) for group in groups]}"
        )
    rows = _metadata(metadata_tensor, groups, 3, what)
    send = rows.sent.expanded((*rows.sent.shape[:-1], len(groups[0])))
    _variable(
        what,
        srcs,
        dsts,
        groups,
        replace(rows, send=send),
        recv_counts_known,
        priority,
        name,
    )


@api
def all_to_all_v(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    metadata_tensor: Any,
    recv_counts_known: bool = False,
    has_rdispls: bool = False,
    priority: Any = None,
    name: str | None = None,
) -> None:
    """
    Each rank sends to each a part whose size is known only while running.

    Rows of `metadata_tensor`, uint32 with a column for each rank: how many elements to
    send, where they start in the source, how many were received (written, unless
    `recv_counts_known`), and with `has_rdispls` where they start in the destination.
    """
    what = "all_to_all_v"
    groups = as_groups(replica_group)
    rows = _metadata(metadata_tensor, groups, 4 if has_rdispls else 3, what)
    _variable(what, srcs, dsts, groups, rows, recv_counts_known, priority, name)


@dataclass(frozen=True)
class _Metadata:
    """The rows of a metadata tensor."""

    send: View
    """[2, ranks]"""
    sent: View
    """[2, 1]: its first column."""
    counts: View
    displacements: View | None


def _metadata(tensor: Any, groups: Groups, rows: int, what: str) -> _Metadata:
    view = as_view(tensor, "metadata_tensor")
    ranks = len(groups[0]) if groups else 0
    leading = (1,) if view.space.on_chip else ()
    if view.element_type is not DType.UINT32:
        raise NKITypeError(
            f"{what}: `metadata_tensor` must be uint32, got "
            f"{view.element_type.nki_name}"
        )
    found = view.shape
    if found[:-2] != leading or found[-1:] != (ranks,) or found[-2] not in (rows, 4):
        raise NKIValueError(
            f"{what}: `metadata_tensor` must have shape {(*leading, rows, ranks)}, got "
            f"{found}"
        )

    def part(*items: Any) -> View:
        return subscript(view, (*(slice(None) for _ in leading), *items))

    return _Metadata(
        part(slice(0, 2), slice(None)),
        part(slice(0, 2), slice(0, 1)),
        part(2, slice(None)),
        part(3, slice(None)) if rows == 4 else None,
    )


def _variable(
    what: str,
    srcs: Any,
    dsts: Any,
    groups: Groups,
    rows: _Metadata,
    recv_counts_known: bool,
    priority: Any,
    name: str | None,
) -> None:
    ((src, dst),) = only(as_pairs(srcs, dsts, what, (Space.HBM,)))
    properties: dict[str, Attribute] = {
        "kind": CollectiveKindAttr(CollectiveKind.ALL_TO_ALL_V),
        "replica_groups": GroupsAttr(groups),
    }
    qos = as_qos(priority)
    if qos is not None:
        properties["dma_qos"] = QosClassAttr(qos)
    counts = None if recv_counts_known else rows.counts
    session().emit(
        penguin.CollectiveComputeOp,
        [dst, None, counts, src, rows.send, rows.displacements],
        properties,
        name=as_name(name),
    )
