"""Where the buffer of an allocation is used last, in program order."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from xdsl.ir import Block, Operation, SSAValue

from xdsl_neuron.dialects import bir
from xdsl_neuron.dialects.dma import BlockOp


class Transfers(NamedTuple):
    """The `dma.block`s of a function by name, and the triggers that fire each."""

    blocks: dict[str, BlockOp]
    triggers: dict[str, list[Operation]]


def transfers(function: Operation) -> Transfers:
    """The blocks and triggers of a function; only `bir` has them."""
    found = Transfers({}, {})
    if not isinstance(function, bir.FuncOp):
        return found
    for op in function.walk():
        if isinstance(op, BlockOp):
            found.blocks[op.block_name.data] = op
        elif isinstance(op, bir.DMATriggerOp):
            for name in dict.fromkeys(op.block_names):
                found.triggers.setdefault(name, []).append(op)
    return found


def last_uses(
    block: Block,
    values: Iterable[SSAValue],
    triggers: Mapping[str, Sequence[Operation]],
) -> dict[Operation, list[SSAValue]]:
    """
    For each operation of `block`, the values that are not used after it.

    A use inside a nested region counts where that region's operation stands; one in a
    `dma.block` counts where the block is fired.
    """
    operations = list(block.ops)
    order = {op: position for position, op in enumerate(operations)}
    found: dict[Operation, list[SSAValue]] = {}
    for value in values:
        last = value.owner
        if not isinstance(last, Operation):
            continue
        latest = order[last]
        for use in value.uses:
            for place in _places(use.operation, block, triggers):
                latest = max(latest, order[place])
        found.setdefault(operations[latest], []).append(value)
    return found


def _places(
    user: Operation, block: Block, triggers: Mapping[str, Sequence[Operation]]
) -> Iterable[Operation]:
    """The operations of `block` in which `user` is executed."""
    if user.parent is block:
        return (user,)
    places: list[Operation] = []
    for executed in _executions(user, triggers):
        place = _lifted(executed, block) or block.last_op
        # One fired outside of the block: the buffer stays to the block's end.
        if place is not None:
            places.append(place)
    return places


def _executions(
    user: Operation, triggers: Mapping[str, Sequence[Operation]]
) -> Sequence[Operation]:
    parent = user.parent_op()
    if isinstance(parent, BlockOp):
        return triggers.get(parent.block_name.data, ())
    return (user,)


def _lifted(operation: Operation, block: Block) -> Operation | None:
    """The operation of `block` that holds `operation`, None where none does."""
    place: Operation | None = operation
    while place is not None and place.parent is not block:
        place = place.parent_op()
    return place
