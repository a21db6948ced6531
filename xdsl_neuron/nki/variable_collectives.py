"""Collectives of sizes that are known only while running."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from xdsl.ir import Attribute

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.neuron import QosClassAttr
from xdsl_neuron.dialects.neuron.system import CollectiveKindAttr, GroupsAttr
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Space
from xdsl_neuron.nki.arguments import as_name, as_view
from xdsl_neuron.nki.collective_arguments import Groups, as_groups, as_pairs, only
from xdsl_neuron.nki.instruction import NkiInstruction, instruction
from xdsl_neuron.nki.isa.dma import as_qos
from xdsl_neuron.nki.prepared import Prepared
from xdsl_neuron.nki.trace import session
from xdsl_neuron.system import CollectiveKind
from xdsl_neuron.tracer.errors import NKISyntaxError, NKITypeError, NKIValueError
from xdsl_neuron.tracer.slicing import subscript
from xdsl_neuron.tracer.views import View


@instruction
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
    _all_gather_v(
        srcs,
        dsts,
        replica_group,
        metadata_tensor,
        recv_counts_known,
        has_rdispls,
        priority,
    ).emit(name)


@instruction
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
    _all_to_all_v(
        srcs,
        dsts,
        replica_group,
        metadata_tensor,
        recv_counts_known,
        has_rdispls,
        priority,
    ).emit(name)


@instruction
def all_gather_v_prepare(
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
    The first half of `all_gather_v`: reads `metadata_tensor` (0.7).

    `srcs` and `dsts` may be filled later: they are read and written by the one
    `all_gather_v_trigger` that takes what this returns, before another prepare.
    """
    _all_gather_v(
        srcs,
        dsts,
        replica_group,
        metadata_tensor,
        recv_counts_known,
        has_rdispls,
        priority,
    ).prepare(name)


@instruction
def all_gather_v_trigger(prepare_instr: Any, name: str | None = None) -> None:
    """
    The second half of `all_gather_v`: exchanges what its prepare was given (0.7).

    Our choice: here the received counts are written.
    """
    _trigger("all_gather_v", prepare_instr, name)


@instruction
def all_to_all_v_prepare(
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
    The first half of `all_to_all_v`: reads `metadata_tensor` (0.7).

    `srcs` and `dsts` may be filled later: they are read and written by the one
    `all_to_all_v_trigger` that takes what this returns, before another prepare.
    """
    _all_to_all_v(
        srcs,
        dsts,
        replica_group,
        metadata_tensor,
        recv_counts_known,
        has_rdispls,
        priority,
    ).prepare(name)


@instruction
def all_to_all_v_trigger(prepare_instr: Any, name: str | None = None) -> None:
    """
    The second half of `all_to_all_v`: exchanges what its prepare was given (0.7).

    Our choice: here the received counts are written.
    """
    _trigger("all_to_all_v", prepare_instr, name)


@dataclass(frozen=True)
class _Metadata:
    """The rows of a metadata tensor."""

    send: View
    """[2, ranks]"""
    sent: View
    """[2, 1]: its first column."""
    counts: View
    displacements: View | None


@dataclass(frozen=True)
class _Exchange:
    """One exchange: `send` and `displacements` are read, `counts` written."""

    what: str
    src: View
    dst: View
    send: View
    displacements: View | None
    counts: View | None
    properties: Mapping[str, Attribute]
    columns: int
    """Of `send`; one is sent to all ranks."""

    def emit(self, name: str | None) -> None:
        """The exchange, in one instruction."""
        send = self.send.expanded((*self.send.shape[:-1], self.columns))
        session().emit(
            penguin.CollectiveComputeOp,
            [self.dst, None, self.counts, self.src, send, self.displacements],
            dict(self.properties),
            name=as_name(name),
        )

    def prepare(self, name: str | None) -> None:
        """Keeps what is in the metadata now."""
        trace = session()
        before = trace.prepared
        if before is not None:
            raise NKISyntaxError(
                f"{self.what}_prepare: '{before.name}' of {before.what}_prepare has "
                "not been triggered; prepares share one slot, so each is triggered "
                "before the next"
            )
        kept = self.displacements
        if kept is not None:
            kept = _kept(kept, None)
        held = replace(self, send=_kept(self.send, name), displacements=kept)
        assert trace.last is not None
        trace.prepared = Prepared(
            self.what,
            trace.last.operation,
            trace.block,
            trace.locator.here(),
            held.emit,
        )


def _kept(rows: View, name: str | None) -> View:
    """A copy of rows of the metadata."""
    trace = session()
    buffer = trace.create_tensor(rows.shape, rows.element_type, rows.space, "prepared")
    found = trace.view.of(buffer)
    trace.dma_copy(rows, found, name=as_name(name))
    return found


def _trigger(what: str, prepared: Any, name: str | None) -> None:
    trace = session()
    if not isinstance(prepared, NkiInstruction):
        raise NKITypeError(
            f"{what}_trigger takes what {what}_prepare returned, got "
            f"{type(prepared).__name__}"
        )
    slot = trace.prepared
    if slot is None or not prepared.is_handle_of(slot.operation):
        raise NKISyntaxError(
            f"{what}_trigger takes what {what}_prepare returned, and triggers it once; "
            f"'{prepared.name}' is not prepared"
        )
    if slot.what != what:
        raise NKISyntaxError(
            f"{what}_trigger takes what {what}_prepare returned; '{prepared.name}' is "
            f"of {slot.what}_prepare, use {slot.what}_trigger"
        )
    if slot.block is not trace.block:
        raise NKISyntaxError(
            f"{what}_trigger is in another loop's body than its prepare: each prepare "
            "has exactly one trigger"
        )
    trace.prepared = None
    slot.trigger(name)


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


def _all_gather_v(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    metadata_tensor: Any,
    recv_counts_known: bool,
    has_rdispls: bool,
    priority: Any,
) -> _Exchange:
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
    rows = replace(rows, send=rows.sent)
    return _exchange(what, srcs, dsts, groups, rows, recv_counts_known, priority)


def _all_to_all_v(
    srcs: Any,
    dsts: Any,
    replica_group: Any,
    metadata_tensor: Any,
    recv_counts_known: bool,
    has_rdispls: bool,
    priority: Any,
) -> _Exchange:
    what = "all_to_all_v"
    groups = as_groups(replica_group)
    rows = _metadata(metadata_tensor, groups, 4 if has_rdispls else 3, what)
    return _exchange(what, srcs, dsts, groups, rows, recv_counts_known, priority)


def _exchange(
    what: str,
    srcs: Any,
    dsts: Any,
    groups: Groups,
    rows: _Metadata,
    recv_counts_known: bool,
    priority: Any,
) -> _Exchange:
    ((src, dst),) = only(as_pairs(srcs, dsts, what, (Space.HBM,)))
    properties: dict[str, Attribute] = {
        "kind": CollectiveKindAttr(CollectiveKind.ALL_TO_ALL_V),
        "replica_groups": GroupsAttr(groups),
    }
    qos = as_qos(priority)
    if qos is not None:
        properties["dma_qos"] = QosClassAttr(qos)
    return _Exchange(
        what,
        src,
        dst,
        rows.send,
        rows.displacements,
        None if recv_counts_known else rows.counts,
        properties,
        len(groups[0]) if groups else 0,
    )
