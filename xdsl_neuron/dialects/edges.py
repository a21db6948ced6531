"""
Edges when an instruction goes or is renamed.

An edge names the instruction that must come first, which no use list knows. So whoever
removes an instruction hands its edges on (`remove`), and whoever renames some says so
(`rename`); an edge to a name that is not there does not verify.
"""

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Final

from xdsl.ir import Block, Operation, SSAValue

from xdsl_neuron.dialects.function_names import function_of
from xdsl_neuron.dialects.scheduled import NAME_PROPERTY, Edges, Scheduled

_NOTHING: Final[tuple[str, ...]] = ()


def redirect(root: Operation, stands_for: Mapping[str, Sequence[str]]) -> None:
    """
    Replaces the names of instructions that went in the edges of everything in `root`.

    Each name of `stands_for` becomes what it maps to, which may have gone as well: what
    the instruction had to follow, or nothing.
    """
    known: dict[str, Sequence[str]] = {}
    _replace(root, stands_for, lambda name: _ends(name, stands_for, known))


def rename(root: Operation, names: Mapping[str, str]) -> None:
    """Replaces old names by new ones in the edges of everything in `root`."""
    _replace(root, names, lambda name: (names.get(name, name),))


def _replace(
    root: Operation, names: Container[str], new: Callable[[str], Sequence[str]]
) -> None:
    """
    Edges to `names` lead to what `new` says, with their kinds; none to itself.

    One walk, however many names there are.
    """
    for operation in root.walk():
        if not isinstance(operation, Scheduled):
            continue
        edges = operation.edges
        if not any(name in names for _, name in edges):
            continue
        found = dict.fromkeys(
            (kind, each) for kind, name in edges for each in new(name)
        )
        own = operation.label
        operation.edges = tuple(edge for edge in found if edge[1] != own)


def _ends(
    name: str,
    stands_for: Mapping[str, Sequence[str]],
    known: dict[str, Sequence[str]],
) -> Sequence[str]:
    """The names a name stands for in the end; a circle stands for none."""
    if name not in stands_for:
        return (name,)
    if name not in known:
        known[name] = _NOTHING
        nested = (_ends(each, stands_for, known) for each in stands_for[name])
        known[name] = tuple(dict.fromkeys(last for ends in nested for last in ends))
    return known[name]


def remove(operations: Sequence[Operation]) -> None:
    """
    Detaches and erases operations of one function, whose results have no uses.

    Whoever had to follow one of them follows what it had to follow.
    """
    gone = {
        operation.label: [name for _, name in operation.edges]
        for operation in operations
        if isinstance(operation, Scheduled) and operation.label is not None
    }
    if gone:
        redirect(function_of(operations[0]), gone)
    for operation in reversed(operations):
        discard(operation)


def discard(operation: Operation) -> None:
    """
    Detaches and erases an operation whose name, if it has one, another has taken.

    Its results have no uses.
    """
    operation.properties.pop(NAME_PROPERTY, None)
    operation.detach()
    operation.erase()


def hand_on(name: str, edges: Edges, operands: Sequence[SSAValue]) -> None:
    """
    The edges to a detached instruction are those it had, unless another has its name.

    `operands` are its operands: their definitions tell which function it was in.
    """
    for value in operands:
        owner = value.owner
        block = owner if isinstance(owner, Block) else owner.parent
        parent = None if block is None else block.parent_op()
        if parent is None:
            continue
        root = function_of(parent)
        if not any(
            isinstance(each, Scheduled) and each.label == name for each in root.walk()
        ):
            redirect(root, {name: [before for _, before in edges]})
        return
