"""
Iterations of a parallel loop that touch the same memory.

Generation 0.1 runs the iterations of `affine_range` in any order, so each writes memory
of its own ("Unexpected output dependencies", NKI API Errors, releases 2.21 to 2.26).
Associative reductions are in no order, and legal: sums that the tensor engine makes in
PSUM, and `tile[...] += x`. What a register
or an index tensor places, or a mask leaves out in some iterations, is not compared.
"""

from collections.abc import Iterator, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import Final, TypeAlias

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Block, Operation, SSAValue

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.instruction import Instruction, index_range
from xdsl_neuron.dialects.instructions.matrix import Matmul
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.geometry.affine import Index
from xdsl_neuron.geometry.lattice import is_sum, spans_of
from xdsl_neuron.geometry.pattern import Pairs
from xdsl_neuron.isa import MatmulAccumulate, Space
from xdsl_neuron.tracer.errors import NKISyntaxError
from xdsl_neuron.tracer.symbols import Loop

_MOST: Final = 64
"""Accesses to one tensor that are compared with each other, each unlike the others."""

_MOST_DISTANCES: Final = 4096
"""Distances between iterations looked at where two accesses move unlike."""


Reductions: TypeAlias = AbstractSet[Operation | SSAValue]


@dataclass(frozen=True)
class _Footprint:
    """
    The bytes that an access reaches in one iteration, as far as the loop moves them.

    They start at `offset + step * iteration`; `outer` is what encloses the loop, the
    same for all iterations.
    """

    outer: frozenset[tuple[SSAValue, int]]
    offset: int
    step: int
    pairs: Pairs


@dataclass(frozen=True)
class _Access:
    operand: Operand
    where: object
    writes: bool
    footprint: _Footprint


def refuse_shared_outputs(loop: Loop, reductions: Reductions) -> None:
    """
    Refuses a body, traced completely, whose iterations write common memory.

    What is in `reductions` may do so, and whatever reads it.

    Raises:
        NKISyntaxError: at the instruction, with the index that its destination misses.
    """
    if len(loop.values) < 2:
        return
    body = loop.operation.body.block
    found: dict[SSAValue, dict[tuple[bool, _Footprint], _Access]] = {}
    for access in _accesses(loop, body, reductions):
        per_tensor = found.setdefault(access.operand.value, {})
        per_tensor.setdefault((access.writes, access.footprint), access)
    for per_tensor in found.values():
        _check(loop, [*per_tensor.values()])


def _check(loop: Loop, accesses: Sequence[_Access]) -> None:
    writes = [access for access in accesses if access.writes]
    for write in writes:
        if _meet(write.footprint, write.footprint, len(loop.values)):
            raise _refusal(loop, write, write)
    if not writes or len(accesses) > _MOST or _in_own_slots(accesses):
        return
    for write in writes:
        for other in accesses:
            if other is not write:
                if _meet(write.footprint, other.footprint, len(loop.values)):
                    raise _refusal(loop, write, other)


def _in_own_slots(accesses: Sequence[_Access]) -> bool:
    """Whether all of them move alike and stay within the bytes they move by."""
    first = accesses[0].footprint
    low, high = 0, 0
    for access in accesses:
        found = access.footprint
        if (found.step, found.outer) != (first.step, first.outer):
            return False
        start = found.offset - first.offset
        low = min(low, start + sum(min(0, s) * (n - 1) for s, n in found.pairs))
        high = max(high, start + sum(max(0, s) * (n - 1) for s, n in found.pairs))
    return high - low < abs(first.step)


def _meet(one: _Footprint, other: _Footprint, trips: int) -> bool:
    """Whether two unlike iterations reach a common byte, one with each access."""
    if one.outer != other.outer:
        return False
    own = (*spans_of(one.pairs), *spans_of(other.pairs))
    lowest = sum(min(0, s) * (n - 1) for s, n in one.pairs)
    lowest -= sum(max(0, s) * (n - 1) for s, n in other.pairs)
    # one.offset - other.offset + lowest + sum(own) + steps of the iterations = 0
    apart = -(one.offset - other.offset + lowest)
    if one.step == other.step:
        if not one.step:
            return is_sum(own, apart)
        size = abs(one.step)
        moved = (*own, *spans_of(((size, trips - 1),)))
        return any(
            is_sum(moved, apart + shift) for shift in (-size, size * (trips - 1))
        )
    for distance in range(1, min(trips, _MOST_DISTANCES)):
        for first, second in ((0, distance), (distance, 0)):
            # first + i and second + i for the iterations i that both have
            start = one.step * first - other.step * second
            moved = one.step - other.step
            most = trips - 1 - distance
            base = apart - start - min(0, moved) * most
            if is_sum((*own, *spans_of(((moved, most + 1),))), base):
                return True
    return False


def _refusal(loop: Loop, write: _Access, other: _Access) -> NKISyntaxError:
    index = loop.index.name_hint or "i"
    label = write.operand.label
    missing = ""
    if not write.footprint.step:
        missing = f", missing indices in the dst access: {index}"
        what = f"write to `{label}`"
    elif other.writes:
        what = f"write to the same elements of `{label}`"
    else:
        what = f"write and read the same elements of `{label}`"
    where = write.where
    return NKISyntaxError(
        f"Unexpected output dependencies{missing}: different iterations of the "
        f"{index} loop {what}; index it with {index} so that each iteration has "
        "elements of its own, make the tile in the loop's body, or use "
        "sequential_range",
        where if isinstance(where, FileLineColLoc) else None,
    )


def _accesses(loop: Loop, body: Block, reductions: Reductions) -> Iterator[_Access]:
    """What the body, and the loops in it, do to tensors from in front of the loop."""
    inside = {body}
    blocks = [body]
    while blocks:
        for operation in blocks.pop().ops:
            for region in operation.regions:
                blocks.extend(region.blocks)
                inside.update(region.blocks)
            if isinstance(operation, Instruction) and reductions.isdisjoint(
                (operation, *operation.operands)
            ):
                yield from _of_instruction(loop, operation, inside)


def _of_instruction(
    loop: Loop, inst: Instruction, inside: set[Block]
) -> Iterator[_Access]:
    data = inst.data()
    outs = inst.out_names()
    indices = inst.loop_indices()
    if any(loop.index is indices[at] for p in inst.masks() for at in p.positions):
        return
    for name, operand in data.items():
        owner = operand.value.owner
        block = owner.parent if isinstance(owner, Operation) else owner
        if block in inside or _is_sum(inst, name, data):
            continue
        if inst.reachable(operand) is not operand or operand.picked is not None:
            continue
        found = _footprint(loop, operand, indices, inside)
        if found is not None:
            yield _Access(operand, inst.location, name in outs, found)


def _is_sum(inst: Instruction, name: str, data: dict[str, Operand]) -> bool:
    """Whether an operand is a sum in PSUM that more is added to."""
    operand = data[name]
    if operand.space is not Space.PSUM:
        return False
    if isinstance(inst, Matmul):
        return inst.accumulate.data is not MatmulAccumulate.OVERWRITE
    if not isinstance(inst, penguin.TensorTensorOp):
        return False
    return sum(each.value is operand.value for each in data.values()) > 1


def _footprint(
    loop: Loop, operand: Operand, indices: Sequence[SSAValue], inside: set[Block]
) -> _Footprint | None:
    """None where something else than static loops moves the access."""
    start = operand.first_byte
    offset, step = start.constant, 0
    outer: list[tuple[SSAValue, int]] = []
    pairs = list(operand.bytes_from(0).pairs)
    for atom, coefficient in start.terms:
        if not isinstance(atom, Index):
            return None
        index = indices[atom.position]
        values = index_range(index)
        if index is loop.index:
            step = coefficient * loop.values.step
            offset += coefficient * loop.values.start
        elif values is None:
            return None
        elif index.owner in inside:
            pairs.append((coefficient * values.step, len(values)))
            offset += coefficient * values.start
        else:
            outer.append((index, coefficient))
    return _Footprint(frozenset(outer), offset, step, tuple(pairs))
