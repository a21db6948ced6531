"""Arguments that collectives have in common: groups of ranks, lists of tensors."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from xdsl.ir import Attribute

from xdsl_neuron.dialects.neuron.system import CollectiveDimensionAttr
from xdsl_neuron.isa import Space
from xdsl_neuron.nki.arguments import as_integer, as_integers, as_view, is_sequence
from xdsl_neuron.nki.objects import NKIObject
from xdsl_neuron.system import CollectiveDimension
from xdsl_neuron.tracer.errors import NKISyntaxError, NKITypeError, NKIValueError
from xdsl_neuron.tracer.release_warnings import warn_of_release

Groups = tuple[tuple[int, ...], ...]

SHARED_VARIABLE: Final = "NKI_LNC1_SHARED_HBM"
_REGIONS: Final = {
    "hbm": "private_hbm",
    "private_hbm": "private_hbm",
    "shared_hbm": "shared_hbm",
}


@dataclass
class ReplicaGroup(NKIObject):
    """Ranks that work together: `ReplicaGroup([[0, 1], [2, 3]])`, without overlap."""

    replica_groups: Any


def as_groups(value: Any) -> Groups:
    lists = value.replica_groups if isinstance(value, ReplicaGroup) else value
    if not is_sequence(lists):
        raise NKITypeError(
            "`replica_group` must be a ReplicaGroup of lists of ranks, got "
            f"{type(value).__name__}"
        )
    return tuple(tuple(as_integers(ranks, "replica_group")) for ranks in lists)


def as_pairs(srcs: Any, dsts: Any, what: str, spaces: Sequence[Space]) -> list[Any]:
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


def check_regions(pairs: list[Any], what: str, alone: bool) -> None:
    """
    The regions of HBM that a list of tensors is in, where the kernel says so.

    `alone` says that the kernel runs on one core, whose HBM nobody shares: what 2.33
    refuses of it is a warning, earlier releases say nothing and kernels do it. Nothing
    is known of arguments.
    """
    for name, views in zip(("srcs", "dsts"), zip(*pairs, strict=True), strict=True):
        regions = {_REGIONS.get(view.base.region) for view in views} - {None}
        if len(regions) > 1:
            raise NKISyntaxError(
                f"{what}: `{name}` in HBM must all be private_hbm or all shared_hbm"
            )
        if not alone or "shared_hbm" not in regions:
            continue
        if name == "srcs":
            warn_of_release(
                f"{what}: `srcs` of a kernel of one core must be private_hbm from "
                "release 2.33 on"
            )
        elif os.environ.get(SHARED_VARIABLE) != "1":
            warn_of_release(
                f"{what}: `dsts` of a kernel of one core can be shared_hbm only with "
                f"{SHARED_VARIABLE}=1 in the environment from release 2.33 on; use "
                "private_hbm, and copy"
            )


def as_dimension(value: Any, space: Space, what: str, sbuf: Sequence[int]) -> Attribute:
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


def only(pairs: list[Any]) -> list[Any]:
    if len(pairs) != 1:
        raise NKISyntaxError(
            f"each list of a permute has exactly one tensor, got {len(pairs)}"
        )
    return pairs


def as_channels(channel_ids: Any, *by_channel: Any) -> int:
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
