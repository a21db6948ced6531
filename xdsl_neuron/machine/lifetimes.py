"""Where the buffer of an allocation is used last, in program order."""

from collections.abc import Iterable, Mapping, Sequence

from xdsl.ir import Block, Operation, SSAValue

from xdsl_neuron.dialects import bir
from xdsl_neuron.dialects.dma import BlockOp


def blocks_by_name(function: Operation) -> dict[str, BlockOp]:
    """The `dma.block`s of a function."""
    return {op.block_name.data: op for op in function.walk() if isinstance(op, BlockOp)}


def firings(function: Operation) -> dict[str, list[Operation]]:
    """For each block's name, the triggers that fire it."""
    found: dict[str, list[Operation]] = {}
    for op in function.walk():
        if isinstance(op, bir.DMATriggerOp):
            for name in dict.fromkeys(op.block_names):
                found.setdefault(name, []).append(op)
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
    order = {op: position for position, op in enumerate(block.ops)}
    found: dict[Operation, list[SSAValue]] = {}
    for value in values:
        last = value.owner
        if not isinstance(last, Operation):
            continue
        for use in value.uses:
            for user in _executions(use.operation, triggers):
                place = _lifted(user, block)
                if place is None:
                    # Fired outside of the block: the buffer stays to its end.
                    place = block.last_op or last
                if order[place] > order[last]:
                    last = place
        found.setdefault(last, []).append(value)
    return found


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
