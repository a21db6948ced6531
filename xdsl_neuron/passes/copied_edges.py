"""Dependency edges between instructions that unrolling copies."""

from collections.abc import Iterable

from xdsl.ir import Operation

from xdsl_neuron.dialects.bir import FuncOp
from xdsl_neuron.dialects.bir.structure import name_of
from xdsl_neuron.dialects.edges import redirect
from xdsl_neuron.dialects.scheduled import Edges, Scheduled
from xdsl_neuron.isa import EdgeKind


def edges_of(operation: Operation) -> Edges:
    """What an operation, of whatever class, must follow."""
    return operation.edges if isinstance(operation, Scheduled) else ()


class CopiedEdges:
    """
    The copies each name an edge mentions stands for, at the current place.

    In an iteration that is the copy of this iteration, for an instruction further down
    the one of the iteration before; behind a loop, all its copies. An instruction that
    a mask removed passes on what it was to follow. Outside of the loops that are
    unrolled an instruction keeps its name, and edges to it stay as they are.
    """

    def __init__(self, function: FuncOp, unrolled: Iterable[Operation]) -> None:
        self._targets: set[str] = set()
        self._current: dict[str, tuple[str, ...]] = {}
        self._copied: dict[str, Operation] = {}
        """Where the instructions stand that will be known by their copies only."""
        for operation in function.walk():
            self._targets.update(name for _, name in edges_of(operation))
        for loop in unrolled:
            for operation in loop.walk():
                name = name_of(operation)
                if name is not None:
                    self._copied[name] = operation
        self._kept: list[Operation] = []
        self._collected: list[dict[str, list[str]]] = []
        self._open: set[str] = set()
        """Names in edges so far that no instruction will have in the end."""

    def enter(self) -> None:
        """A loop that is unrolled begins."""
        self._collected.append({})

    def leave(self) -> None:
        """A loop that is unrolled ends: all its copies are visible."""
        inner = self._collected.pop()
        for name, copies in inner.items():
            self._current[name] = tuple(dict.fromkeys(copies))
            if self._collected:
                self._collected[-1].setdefault(name, []).extend(copies)

    def enter_kept(self, around: Operation) -> None:
        """What follows may run again after everything in `around`."""
        self._kept.append(around)

    def leave_kept(self) -> None:
        """The end of what `enter_kept` began."""
        self._kept.pop()

    def add(self, name: str, copy: str, edges: Edges, dropped: bool) -> None:
        """An instruction was copied, or removed."""
        if name not in self._targets:
            return
        if dropped and name not in self._copied:
            self._open.add(name)
        copies = [target for _, target in edges] if dropped else [copy]
        self._current[name] = tuple(copies)
        if self._collected:
            self._collected[-1].setdefault(name, []).extend(copies)

    def resolve(self, edges: Edges) -> Edges:
        """The edges of one copy."""
        found: dict[tuple[EdgeKind, str], None] = {}
        for kind, name in edges:
            for copy in self._now(name):
                found[(kind, copy)] = None
        return tuple(found)

    def _now(self, name: str) -> tuple[str, ...]:
        copies = self._current.get(name)
        if copies is not None:
            return copies
        origin = self._copied.get(name)
        if origin is None:
            return (name,)
        if any(around.is_ancestor(origin) for around in self._kept):
            # It comes before in the next turn of a loop that stays.
            self._open.add(name)
            return (name,)
        return ()

    def finish(self, function: FuncOp) -> None:
        """Replaces, in the unrolled function, the names that no instruction has."""
        current = self._current
        redirect(function, {name: current.get(name, ()) for name in self._open})
