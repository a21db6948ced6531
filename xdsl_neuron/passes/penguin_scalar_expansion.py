"""`penguin-scalar-expansion`: a tile of a loop's body gets a copy per iteration."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.blocks import usable_bytes
from xdsl_neuron.dialects.edges import discard
from xdsl_neuron.dialects.instruction import Instruction, target_of
from xdsl_neuron.dialects.neuron import Access, TensorType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import LoopKind
from xdsl_neuron.passes.rebuild import located, operations_of, with_operands


@dataclass(frozen=True)
class PenguinScalarExpansion(ModulePass):
    """
    Expands the allocations marked `expand` (penguin.md 6.1 `enable_scalar_expansion`).

    The documents give the option's name only; this is the transformation that bears it
    elsewhere: a tile made anew in each iteration becomes a tensor with a block
    dimension per loop around it, so no iteration waits for another to be done with it.
    Loops of a launch grid and run-time loops are not expanded over, their tiles are
    apart already or unbounded. A tile stays as it is where the kernel placed it, or
    where the copies would not fit its memory together.

    Precondition: the module names its target where an allocation is marked.
    Postcondition: no allocation is marked.
    """

    name = "penguin-scalar-expansion"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Expands in every function."""
        for allocation in operations_of(op, penguin.AllocOp):
            if allocation.expand is None:
                continue
            del allocation.properties["expand"]
            loops = _loops_around(allocation)
            users = _instructions_on(allocation.result)
            placed = allocation.addresses is not None
            if placed or not loops or users is None:
                continue
            if _fits(allocation, loops):
                _expand(allocation, loops, users)


def _loops_around(allocation: penguin.AllocOp) -> list[penguin.ForOp]:
    """The loops an allocation is expanded over, outermost first."""
    found: list[penguin.ForOp] = []
    parent = allocation.parent_op()
    while isinstance(parent, penguin.ForOp):
        if parent.kind.data in (LoopKind.SPMD, LoopKind.SHARD):
            break
        found.append(parent)
        parent = parent.parent_op()
    return found[::-1]


def _instructions_on(value: SSAValue) -> list[Instruction] | None:
    """The users of a tile, None where one is no instruction."""
    found: dict[Instruction, None] = {}
    for use in value.uses:
        if not isinstance(use.operation, Instruction):
            return None
        found[use.operation] = None
    return list(found)


def _fits(allocation: penguin.AllocOp, loops: Sequence[penguin.ForOp]) -> bool:
    tensor, arch = allocation.tensor, target_of(allocation)
    if not tensor.space.on_chip or arch is None or allocation.addresses is not None:
        return False
    trips = prod(len(loop.static_range()) for loop in loops)
    size = tensor.data.bytes_per_partition * trips
    return 0 < size <= usable_bytes(tensor.space, arch)


def _expand(
    allocation: penguin.AllocOp,
    loops: Sequence[penguin.ForOp],
    users: Sequence[Instruction],
) -> None:
    tensor = allocation.tensor
    rows, *free = tensor.shape
    trips = [len(loop.static_range()) for loop in loops]
    blocks = IntegerAttr(allocation.block_count * prod(trips), i64)
    wide = TensorType.of((rows, *trips, *free), tensor.dtype, tensor.space)
    expanded = located(
        penguin.AllocOp.create(
            result_types=[wide],
            properties=allocation.properties | {"blocks": blocks},
            attributes=allocation.attributes,
        ),
        allocation,
    )
    expanded.result.name_hint = allocation.result.name_hint
    block = loops[0].parent
    assert block is not None
    block.insert_op_before(expanded, loops[0])
    for user in users:
        _move(user, allocation.result, expanded.result, loops)
    allocation.detach()
    allocation.erase()


def _move(
    user: Instruction,
    old: SSAValue,
    new: SSAValue,
    loops: Sequence[penguin.ForOp],
) -> None:
    """The same instruction on the iteration's part of the expanded tile."""
    indices = list(user.loop_indices())
    for loop in loops:
        if loop.index not in indices:
            indices.append(loop.index)
    copy = Affine(0)
    for loop in loops:
        values = loop.static_range()
        index = Affine.index(indices.index(loop.index))
        turn = (index - values.start).floordiv(values.step)
        copy = copy * len(values) + turn
    operands: dict[str, tuple[SSAValue, Access | None]] = {}
    for name, operand in user.data().items():
        if operand.value is old:
            offset = operand.access.offset + copy * operand.pitch
            operands[name] = (new, replace(operand.access, offset=offset))
    moved = with_operands(user, operands, {}, indices)
    for before, after in zip(user.results, moved.results, strict=True):
        after.name_hint = before.name_hint
        before.replace_all_uses_with(after)
    block = user.parent
    assert block is not None
    block.insert_op_before(moved, user)
    discard(user)
