"""
Loops whose trips are known only while running.

Their bodies are planned in every iteration, with the values the registers have then.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.ir import Block, Operation

from xdsl_neuron.dialects.instructions import control as isa
from xdsl_neuron.machine.build import Build
from xdsl_neuron.machine.errors import MachineError
from xdsl_neuron.machine.site import Emitter, Scope

Nodes: TypeAlias = Sequence[Any]
Body: TypeAlias = Callable[[Block], Nodes]
Run: TypeAlias = Callable[[Nodes, Build], None]

_LAST = (1 << 32) - 1
"""The largest index a register can bound."""


class Trips:
    """Counts the iterations of one run against the machine's limit."""

    def __init__(self, op: Operation, limit: int) -> None:
        self._op = op
        self._limit = limit

    def count(self, build: Build) -> None:
        """One more iteration."""
        build.iterations += 1
        if build.iterations > self._limit:
            raise MachineError(
                self._op,
                f"runs more than {self._limit} iterations of run-time loops in one run "
                "(max_iterations)",
            )


def dynamic_for(
    scope: Scope, op: isa.DynamicFor, body: Body, run: Run, limit: int
) -> Emitter:
    """A loop up to a register."""
    depths = [scope.depth_of(op, value) for value in op.registers]
    lower, step = op.lower.value.data, op.step.value.data
    upper = op.upper.data
    depth = scope.add_loop(op.index, lower, max(lower, _LAST))
    nodes = body(op.body.block)
    trips = Trips(op, limit)

    def emit(build: Build) -> None:
        last = upper.evaluate([build.values[each] for each in depths])
        for value in range(lower, last, step):
            trips.count(build)
            build.values[depth] = value
            run(nodes, build)

    return emit


def do_while(
    scope: Scope, op: isa.DoWhile, body: Body, run: Run, limit: int
) -> Emitter:
    """A body that is repeated while its register is not zero."""
    nodes = body(op.body.block)
    last = op.body.block.last_op
    assert isinstance(last, isa.ContinueIf)
    depth = scope.depth_of(op, last.condition)
    trips = Trips(op, limit)

    def emit(build: Build) -> None:
        while True:
            trips.count(build)
            run(nodes, build)
            if not build.values[depth]:
                break

    return emit
