"""
Edges when an instruction goes or is renamed.

An edge names the instruction that must come first, which no use list knows. So whoever
removes an instruction hands its edges on (`remove`), and whoever renames some says so
(`redirect`); an edge to a name that is not there does not verify.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from xdsl.ir import Operation
from xdsl.traits import IsolatedFromAbove

from xdsl_neuron.dialects.scheduled import Scheduled

_NOTHING: Final[tuple[str, ...]] = ()


def redirect(root: Operation, stands_for: Mapping[str, Sequence[str]]) -> None:
    """
    Replaces names in the edges of everything in `root`.

    Each name of `stands_for` becomes the names it maps to, which may be in it again:
    none where an instruction goes without a trace, its new name where it was renamed,
    what it had to follow where it was removed. An edge keeps its kind. No instruction
    follows itself. One walk, however many names there are.
    """
    if not stands_for:
        return
    known: dict[str, Sequence[str]] = {}
    for operation in root.walk():
        if not isinstance(operation, Scheduled):
            continue
        edges = operation.edges
        if not any(name in stands_for for _, name in edges):
            continue
        own = operation.label
        operation.edges = tuple(
            dict.fromkeys(
                (kind, last)
                for kind, name in edges
                for last in _ends(name, stands_for, known)
                if last != own
            )
        )


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
        redirect(_function_of(operations[0]), gone)
    for operation in reversed(operations):
        operation.detach()
        operation.erase()


def _function_of(operation: Operation) -> Operation:
    """The function around an operation, else the outermost operation."""
    while (parent := operation.parent_op()) is not None:
        operation = parent
        if operation.has_trait(IsolatedFromAbove):
            break
    return operation
