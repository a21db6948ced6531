"""
What the names in a function stand for, and uses of names that nothing has.

Instructions, blocks of descriptors and locations are named by symbols that no use list
knows. The verifier asks here; the table of a function is made once a verification.
"""

from dataclasses import dataclass, field
from typing import Final

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.collected import collected

_INSTRUCTION: Final = "inst_name"
_BLOCK: Final = "block_name"
_LOCATION: Final = "location_name"


@dataclass
class FunctionNames:
    """The first operation of each name, for each kind of name."""

    instructions: dict[str, Operation] = field(default_factory=dict[str, Operation])
    blocks: dict[str, Operation] = field(default_factory=dict[str, Operation])
    locations: dict[str, Operation] = field(default_factory=dict[str, Operation])

    @staticmethod
    def of(function: Operation) -> "FunctionNames":
        """The names in a function."""
        found = FunctionNames()
        tables = (
            (_INSTRUCTION, found.instructions),
            (_BLOCK, found.blocks),
            (_LOCATION, found.locations),
        )
        for operation in function.walk():
            for key, table in tables:
                name = operation.properties.get(key)
                if isinstance(name, StringAttr):
                    table.setdefault(name.data, operation)
        return found


def function_of(operation: Operation) -> Operation:
    """The function an operation is or stands in, else the outermost operation."""
    while not operation.has_trait(IsolatedFromAbove):
        parent = operation.parent_op()
        if parent is None:
            break
        operation = parent
    return operation


def names_around(operation: Operation) -> FunctionNames | None:
    """The names in the function around, None for an operation that stands nowhere."""
    if operation.parent is None:
        return None
    return collected(function_of(operation), FunctionNames.of)


def check_block_name(block: Operation, name: str) -> None:
    """Raises where another block, or a location, of the function has the name."""
    names = names_around(block)
    if names is None:
        return
    if names.blocks[name] is not block:
        raise VerifyException(f"name '{name}' is given to two blocks")
    if name in names.locations:
        raise VerifyException(f"name '{name}' is that of a location")
