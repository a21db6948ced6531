"""
Collectives over the arrays of all ranks (bir.md 10.7).

A function takes one output and one input array per rank, in rank order, and writes the
outputs; inputs and outputs may be the same arrays.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, TypeAlias

import numpy as np

from ..dtypes import DType
from ..isa import AluOp
from .kernel import Array
from .movement import dma_reduce
from .rules import Rule

Collective: TypeAlias = Callable[[Sequence[Array], Sequence[Array]], None]


def _fold(op: AluOp, dtype: DType, ins: Sequence[Array]) -> Array:
    """
    The inputs widened to fp32 and folded in rank order, cast back, a new array.

    One input is copied.
    """
    if len(ins) == 1:
        return ins[0].copy()
    total = np.empty_like(ins[0])
    dma_reduce(dtype, (dtype,) * len(ins), op)(total, *ins)
    return total


@cache
def all_reduce(op: AluOp, dtype: DType) -> Collective:
    """Every rank receives the fold of all inputs; `op` is add, max or min."""

    def collective(outs: Sequence[Array], ins: Sequence[Array]) -> None:
        total = _fold(op, dtype, ins)
        for out in outs:
            out[...] = total.reshape(out.shape)

    return collective


@cache
def reduce_scatter(op: AluOp, dtype: DType, axis: int = 0) -> Collective:
    """Rank r receives part r of the fold, cut evenly along `axis`."""

    def collective(outs: Sequence[Array], ins: Sequence[Array]) -> None:
        total = _fold(op, dtype, ins)
        for out, part in zip(outs, np.split(total, len(outs), axis), strict=True):
            out[...] = part.reshape(out.shape)

    return collective


@cache
def all_gather(axis: int = 0) -> Collective:
    """Every rank receives all inputs, one after another along `axis`."""

    def collective(outs: Sequence[Array], ins: Sequence[Array]) -> None:
        whole = np.concatenate(list(ins), axis)
        for out in outs:
            out[...] = whole.reshape(out.shape)

    return collective


@cache
def all_to_all(axis: int = 0) -> Collective:
    """Rank r receives part r of every input, in rank order along `axis`."""

    def collective(outs: Sequence[Array], ins: Sequence[Array]) -> None:
        parts = [np.split(x, len(outs), axis) for x in ins]
        received = [
            np.concatenate([of_rank[rank] for of_rank in parts], axis)
            for rank in range(len(outs))
        ]
        for out, whole in zip(outs, received, strict=True):
            out[...] = whole.reshape(out.shape)

    return collective


def all_to_all_v(
    outs: Sequence[Array],
    ins: Sequence[Array],
    sends: Sequence[Array],
    places: Sequence[Array | None],
    counts: Sequence[Array | None],
) -> list[Array]:
    """
    Each rank sends to each as many elements as it says, from where it says.

    `sends` of a rank has a row of counts and one of starts in its input, a column for
    each receiver. `places` of a rank says where what each sender sends starts in its
    output, which is else cut evenly. `counts` of a rank receives how many elements
    each sender sent. The result is flags of what has come for each rank. Raises
    `ValueError` where elements leave an array.
    """
    arrived: list[Array] = []
    ranks = len(outs)
    flat = [x.reshape(-1).copy() for x in ins]
    wanted = [send.reshape(2, ranks).astype(np.int64) for send in sends]
    for target, out in enumerate(outs):
        received = np.array([want[0, target] for want in wanted])
        slot = out.size // ranks
        given = places[target]
        starts = slot * np.arange(ranks) if given is None else given.reshape(-1)
        filled = out.reshape(-1).copy()
        arrived.append(np.zeros(out.size, np.bool_))
        for source, (count, place) in enumerate(zip(received, starts, strict=True)):
            if not count:
                continue
            first = int(wanted[source][1, target])
            room = slot if given is None else out.size - int(place)
            if first + count > flat[source].size or count > room:
                raise ValueError(
                    f"rank {source} of the group sends {count} elements from {first} "
                    f"on of {flat[source].size} to rank {target}, which has room for "
                    f"{room}"
                )
            filled[int(place) : int(place) + count] = flat[source][first:][:count]
            arrived[-1][int(place) : int(place) + count] = True
        out[...] = filled.reshape(out.shape)
        told = counts[target]
        if told is not None:
            told[...] = received.reshape(told.shape)
    return arrived


def ring(count: int) -> tuple[tuple[int, int], ...]:
    """The pairs of an implicit permutation: each sends to the next (our choice)."""
    return tuple((at, (at + 1) % count) for at in range(count))


def processing_rank(group: Sequence[int], rank: int, step: int) -> int:
    """
    The rank whose data a step of a ring delivers to a rank of the group.

    Data comes from the rank before: after k steps, from k before; at step 0 it is the
    rank's own (bir.md 4.5; the direction is our choice, that of `ring`).
    """
    return group[(group.index(rank) - step) % len(group)]


@cache
def permute(pairs: tuple[tuple[int, int], ...]) -> Collective:
    """Rank `target` receives the input of rank `source`, for each (source, target)."""

    def collective(outs: Sequence[Array], ins: Sequence[Array]) -> None:
        sent = {target: ins[source].copy() for source, target in pairs}
        for target, x in sent.items():
            outs[target][...] = x.reshape(outs[target].shape)

    return collective


RULES: Final = (
    Rule(
        "collective dimension",
        "on chip Partition is the first dimension and Free the second; a tensor in HBM "
        "is taken flat",
        "our choice",
        "bir.md 1.19",
    ),
    Rule(
        "variable collective",
        "a rank's part for itself is exchanged as those for others; what no rank sends "
        "to keeps what it held",
        "our choice",
        "nki.md 1.3",
    ),
    Rule(
        "collective reduction",
        "folded in fp32 in rank order, then cast; max and min as everywhere",
        "documented",
        "bir.md 10.7",
    ),
)
