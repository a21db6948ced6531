"""
Building operations out of operations: what every lowering keeps.

xDSL leaves the location of a replacement unknown; here it is that of the operation it
stands for.
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xdsl_neuron.dialects.edges import discard
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.neuron import Access

OpT = TypeVar("OpT", bound=Operation)
InstT = TypeVar("InstT", bound=Instruction)


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
    """
    Puts `new` in the place of `old`, at its location and with its attributes.

    `old` has no used results.
    """
    for operation in new:
        operation.attributes = old.attributes | operation.attributes
        located(operation, old)
    insert_before(old, new)
    discard(old)


def replace_body(operation: Operation, body: Block) -> None:
    """Gives an operation with one region of one block another block."""
    old = operation.detach_region(0)
    old.erase()
    operation.add_region(Region(body))


def operations_of(root: Operation, kind: type[OpT]) -> list[OpT]:
    """The operations of a class in program order, safe to replace while iterating."""
    return [operation for operation in root.walk() if isinstance(operation, kind)]


def kept_properties(instruction: Instruction, *names: str) -> dict[str, Attribute]:
    """Those of the named properties that an instruction has."""
    given = instruction.properties
    return {name: given[name] for name in names if name in given}


def with_operands(
    instruction: InstT,
    operands: Mapping[str, tuple[SSAValue, Access | None]],
    properties: Mapping[str, Attribute | None],
    indices: Sequence[SSAValue] | None = None,
) -> InstT:
    """
    The same instruction on other tensors, and with other properties.

    A property None is left out. A tensor comes with its access (None: all of it).
    `indices`, where given, are the loop indices of accesses instead of the old ones.
    """
    names = instruction.layout().names
    given = instruction.accesses
    accesses = (None,) * len(names) if given is None else given.data
    values = instruction.data_values()
    old = {
        name: (values.get(name), access)
        for name, access in zip(names, accesses, strict=True)
    }
    pairs = [operands.get(name, old[name]) for name in names]
    kept = {
        name: value
        for name, value in (instruction.properties | dict(properties)).items()
        if value is not None and name not in ("accesses", "operandSegmentSizes")
    }
    new = type(instruction).make(
        [value for value, _ in pairs],
        kept,
        [access for _, access in pairs],
        instruction.loop_indices() if indices is None else indices,
    )
    new.attributes.update(instruction.attributes)
    return located(new, instruction)
