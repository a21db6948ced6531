"""In which iteration an operation is, and with which offsets, as messages say it."""

from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import BlockArgument, Operation, SSAValue

from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions.control import DynamicFor
from xdsl_neuron.dialects.instructions.gather import TensorLoad
from xdsl_neuron.dialects.structure import For


def where_it_is(
    operation: Operation, depths: Mapping[SSAValue, int], values: Sequence[int]
) -> str:
    """`offset 3 of `o`` for each register, `in the iteration i = 2`; else empty."""
    loops = list(_loops_around(operation))
    parts: list[str] = []
    used = operation.loop_indices() if isinstance(operation, Instruction) else ()
    for value in dict.fromkeys(used):
        if value in depths and value not in loops:
            parts.append(f"offset {values[depths[value]]} of {_register(value)}")
    trips = [
        f"{index.name_hint or 'index'} = {values[depths[index]]}"
        for index in loops
        if index in depths
    ]
    if trips:
        parts.append(f"in the iteration {', '.join(trips)}")
    return ", ".join(parts)


def _loops_around(operation: Operation) -> Iterator[BlockArgument]:
    """The indices of the loops around an operation, outermost first."""
    around = operation.parent_op()
    if around is None:
        return
    yield from _loops_around(around)
    if isinstance(around, For | DynamicFor):
        yield around.index


def _register(value: SSAValue) -> str:
    """A register by the tensor it was loaded from, else by its own name."""
    if isinstance(value.owner, TensorLoad):
        return f"`{value.owner.data()['src'].label}`"
    return f"register `{value.name_hint}`" if value.name_hint else "a register"
