"""
Building operations out of operations: what every lowering keeps.

xDSL leaves the location of a replacement unknown; here it is that of the operation it
stands for.
"""

from collections.abc import Sequence
from typing import TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region

OpT = TypeVar("OpT", bound=Operation)


def located(operation: OpT, origin: Operation) -> OpT:
    """Gives a new operation the source location of the one it stands for."""
    operation.location = origin.location
    return operation


def insert_before(anchor: Operation, new: Sequence[Operation]) -> None:
    """Puts located operations before `anchor`, in order."""
    block = anchor.parent
    assert block is not None
    for operation in new:
        block.insert_op_before(operation, anchor)


def replace_with(old: Operation, new: Sequence[Operation]) -> None:
    """Puts `new` in the place of `old`, at its location; `old` has no used results."""
    insert_before(old, [located(operation, old) for operation in new])
    old.detach()
    old.erase()


def replace_body(operation: Operation, body: Block) -> None:
    """Gives an operation with one region of one block another block."""
    old = operation.detach_region(0)
    old.erase()
    operation.add_region(Region(body))


def operations_of(module: ModuleOp, kind: type[OpT]) -> list[OpT]:
    """The operations of a class in program order, safe to replace while iterating."""
    return [operation for operation in module.walk() if isinstance(operation, kind)]
