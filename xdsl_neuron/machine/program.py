"""Programs: a function that has been planned, and is run as often as wanted."""

import gc
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from xdsl_neuron.machine.analysis import Analysis, run_nodes
from xdsl_neuron.machine.binding import Bound, bind
from xdsl_neuron.machine.build import Array, Build, HbmView, run_steps
from xdsl_neuron.machine.errors import MachineError
from xdsl_neuron.machine.hooks import default_options
from xdsl_neuron.machine.interface import FunctionOp, Port, find_function
from xdsl_neuron.machine.memory import array_bytes, poison_text
from xdsl_neuron.machine.options import MachineOptions
from xdsl_neuron.machine.world import Rank
from xdsl_neuron.machine.written import Unwritten, Written, find_unwritten
from xdsl_neuron.numerics.casts import storage

_CHUNK: Final = 2048
"""Steps that a long program plans before it executes them."""


class Program:
    """
    A function ready to run.

    Attributes:
        name: its symbol name. inputs and outputs: its tensors in order.
        executions: instructions that one run executes.
    """

    def __init__(
        self, function: FunctionOp, options: MachineOptions, rank: Rank | None = None
    ) -> None:
        self.name: str = function.sym_name.data
        self.function = function
        self._options = options
        with _without_collections():
            self._analysis = Analysis(function, options, rank)
        ports = self._analysis.signature
        self.inputs: tuple[Port, ...] = tuple(port for port, _ in ports.inputs)
        self.outputs: tuple[Port, ...] = tuple(port for port, _ in ports.outputs)
        self.executions = self._analysis.executions
        self._lock = Lock()
        self._staging: list[Array | None] = [None] * len(self.inputs)
        self._plan: _Plan | None = None
        kept = self.executions <= options.max_unrolled_steps
        if kept and not self._analysis.is_dynamic:
            with _without_collections():
                self._plan = _Plan(self._analysis, self._poison)

    @property
    def _poison(self) -> bool:
        return self._options.uninitialized_memory == "poison"

    @property
    def step_count(self) -> int:
        """Prepared calls of one run; 0 where the program is planned while it runs."""
        return 0 if self._plan is None else self._plan.step_count

    def run(
        self, arrays: Sequence[Any], unwritten: list[Unwritten] | None = None
    ) -> list[Array]:
        """
        The outputs for these inputs, in new arrays; mutable inputs are written.

        `arrays` are NumPy's or another library's that NumPy can see (`bind`).

        An output that is an input is that array if it is mutable, else a copy. The
        inputs of the last run stay referenced until the next one. What the run left
        undefined of an output is appended to `unwritten`.

        Raises:
            MachineError: an array does not fit its input, or the run failed.
        """
        with self._lock, np.errstate(all="ignore"):
            bound = self._bind(arrays)
            used = [each.used for each in bound]
            outputs = self._new_outputs()
            if self._plan is None:
                written = self._stream(used, outputs)
            else:
                self._plan.run(self._by_slot(used, outputs))
                self._plan.count_references()
                written = self._plan.written
            self._write_back(bound)
            if written and unwritten is not None:
                unwritten += self._unwritten(written)
            return self._results(bound, outputs)

    def _bind(self, arrays: Sequence[Any]) -> list[Bound]:
        expected = ", ".join(map(str, self.inputs))
        if len(arrays) != len(self.inputs):
            raise MachineError(
                None,
                f"'{self.name}' takes {len(self.inputs)} arrays ({expected}), got "
                f"{len(arrays)}",
            )
        return [
            self._bind_one(position, port, array)
            for position, (port, array) in enumerate(
                zip(self.inputs, arrays, strict=True)
            )
        ]

    def _bind_one(self, position: int, port: Port, array: Any) -> Bound:
        """The array, or a copy of it that is kept for the next run."""
        bound = bind(port, array, self.name, staging=self._staging[position])
        if bound.used is not bound.given:
            self._staging[position] = bound.used
        return bound

    def _new_outputs(self) -> dict[int, Array]:
        """Uninitialised arrays by slot, for the outputs that are no inputs."""
        inputs = set(self._analysis.inputs)
        given = {
            slot: port
            for slot, port in zip(self._analysis.outputs, self.outputs, strict=True)
            if slot not in inputs
        }
        if self._plan is not None:
            return self._plan.new_outputs(given)
        return {slot: _empty(port) for slot, port in given.items()}

    def _by_slot(
        self, bound: Sequence[Array], outputs: dict[int, Array]
    ) -> dict[int, Array]:
        return dict(zip(self._analysis.inputs, bound, strict=True)) | outputs

    def _unwritten(self, written: Mapping[int, Written]) -> Iterator[Unwritten]:
        """What the last run left of each output that is not whole."""
        values = self._analysis.signature.outputs
        for slot, (port, value) in zip(self._analysis.outputs, values, strict=True):
            if slot in written:
                holds = poison_text(port.dtype, self._poison)
                owner = value.owner
                where = owner if isinstance(owner, Operation) else None
                found = find_unwritten(written[slot], port, holds, where)
                if found is not None:
                    yield found

    def _stream(
        self, bound: Sequence[Array], outputs: dict[int, Array]
    ) -> dict[int, Written]:
        """Plan and execute piece by piece, in bounded memory; what is not whole."""
        analysis = self._analysis
        build = Build(
            analysis.slots, analysis.depth, self._poison, _CHUNK, analysis.depths
        )
        build.bind_constants(analysis.constants)
        build.outputs = {slot: array_bytes(array) for slot, array in outputs.items()}
        for slot, array in zip(analysis.inputs, bound, strict=True):
            build.bind(slot, array_bytes(array), defined=True)
        run_nodes(analysis.nodes, build)
        build.finish_fills()
        build.flush()
        return build.partly_written()

    def _write_back(self, bound: Sequence[Bound]) -> None:
        for port, each in zip(self.inputs, bound, strict=True):
            if port.mutable:
                each.write_back()

    def _results(
        self, bound: Sequence[Bound], outputs: dict[int, Array]
    ) -> list[Array]:
        results: list[Array] = []
        for slot in self._analysis.outputs:
            if slot in outputs:
                results.append(outputs[slot][...])
                continue
            position = self._analysis.inputs.index(slot)
            given, used = bound[position]
            results.append(given if self.inputs[position].mutable else used.copy())
        return results


class _Plan:
    """The steps of a function, with the caller's arrays bound when they change."""

    def __init__(self, analysis: Analysis, poison: bool) -> None:
        build = Build(analysis.slots, analysis.depth, poison, depths=analysis.depths)
        build.bind_constants(analysis.constants)
        for slot in analysis.inputs:
            build.bind(slot, None, defined=True)
        run_nodes(analysis.nodes, build)
        build.finish_fills()
        self._steps = build.steps
        self.written = build.partly_written()
        """What is written of the outputs that the plan does not know to be whole."""
        self._templates = [
            (position, *build.steps[position])
            for position in dict.fromkeys(build.deferred)
        ]
        self._bound: dict[int, Array] = {}
        self._roots: dict[int, Array] = {}
        self._references: dict[int, int] = {}

    @property
    def step_count(self) -> int:
        """How many calls there are."""
        return len(self._steps)

    def run(self, arrays: dict[int, Array]) -> None:
        """Execute the steps on these arrays, by slot."""
        changed = {
            slot for slot, array in arrays.items() if self._bound.get(slot) is not array
        }
        if changed:
            self._rebind(arrays, changed)
        run_steps(self._steps)

    def _rebind(self, arrays: dict[int, Array], changed: set[int]) -> None:
        buffers = {slot: array_bytes(array) for slot, array in arrays.items()}
        self._bound = dict(arrays)
        steps = self._steps
        for position, function, arguments in self._templates:
            if any(type(a) is HbmView and a.slot in changed for a in arguments):
                steps[position] = (
                    function,
                    tuple(
                        [
                            a.bind(buffers[a.slot]) if type(a) is HbmView else a
                            for a in arguments
                        ]
                    ),
                )

    def new_outputs(self, ports: dict[int, Port]) -> dict[int, Array]:
        """
        Arrays for the outputs.

        The array of the last run is used again where nobody but the plan refers to it:
        new pages cost more than a small kernel.
        """
        for slot, port in ports.items():
            if self._references.get(slot) != self._count(slot):
                self._roots[slot] = _empty(port)
                self._references.pop(slot, None)
        return self._roots

    def count_references(self) -> None:
        """Remember how often the plan itself refers to each output."""
        for slot in self._roots:
            self._references[slot] = self._count(slot)

    def _count(self, slot: int) -> int:
        root = self._roots.get(slot)
        return -1 if root is None else sys.getrefcount(root)


@contextmanager
def _without_collections() -> Generator[None]:
    """
    Pause the cyclic garbage collector.

    A plan is many small objects and no garbage: searching them all again and again
    takes half of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _empty(port: Port) -> Array:
    return np.empty(port.shape, storage(port.dtype))


class Machine:
    """
    Prepares programs with one set of options.

    A program is kept and found again by its function, so that running a module twice
    plans it once. A module that is changed afterwards must be prepared anew with
    `prepare`.
    """

    def __init__(self, options: MachineOptions | None = None) -> None:
        self.options = default_options.get() if options is None else options
        self._programs: dict[FunctionOp, Program] = {}

    def prepare(self, where: Operation, entry: str | None = None) -> Program:
        """The program of a module's function, or of a function."""
        function = find_function(where, entry)
        program = self._programs.get(function)
        if program is None:
            program = self._programs[function] = Program(function, self.options)
        return program

    def simulate(
        self, where: Operation, arrays: Sequence[Array], entry: str | None = None
    ) -> list[NDArray[Any]]:
        """The outputs of a function for these inputs."""
        return self.prepare(where, entry).run(arrays)


def prepare(
    where: Operation, options: MachineOptions | None = None, entry: str | None = None
) -> Program:
    """
    Compile a module's function (`entry`, or the only one), or a function.

    Raises:
        MachineError: it cannot be executed; the error has the operation's place.
    """
    return Machine(options).prepare(where, entry)


def simulate(
    where: Operation,
    arrays: Sequence[Array],
    options: MachineOptions | None = None,
    entry: str | None = None,
) -> list[NDArray[Any]]:
    """Compile and run once; see `Program.run`."""
    return prepare(where, options, entry).run(arrays)
