"""
Several ranks in one process: a thread for each, which meet at collectives.

    outputs = simulate_ranks(module, [arrays_of_rank_0, arrays_of_rank_1])

Every rank runs on its own arrays, all the same function or each one of its own.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from xdsl.ir import Operation

from xdsl_neuron.machine.build import Array
from xdsl_neuron.machine.errors import MachineError
from xdsl_neuron.machine.hooks import default_options
from xdsl_neuron.machine.interface import find_function
from xdsl_neuron.machine.options import MachineOptions
from xdsl_neuron.machine.program import Program
from xdsl_neuron.machine.world import Rank, World
from xdsl_neuron.machine.written import Unwritten


class Ranks:
    """
    A module made ready to run as `count` ranks.

    `entry` names the function of all ranks, or one for each.
    """

    def __init__(
        self,
        where: Operation,
        count: int,
        options: MachineOptions | None = None,
        entry: str | Sequence[str] | None = None,
    ) -> None:
        each = not isinstance(entry, str | None)
        entries = list(entry) if each else [entry] * count
        if len(entries) != count:
            raise MachineError(
                where, f"{count} ranks have {len(entries)} entry functions"
            )
        used = default_options.get() if options is None else options
        self._world = World(count)
        self.programs = tuple(
            Program(find_function(where, name), used, Rank(number, self._world))
            for number, name in enumerate(entries)
        )

    def run(
        self,
        arrays: Sequence[Sequence[Any]],
        unwritten: Sequence[list[Unwritten]] | None = None,
    ) -> list[list[Array]]:
        """
        The outputs of every rank for the inputs of every rank.

        `unwritten` has a list for each rank, for what it leaves undefined.

        Raises:
            MachineError: an array does not fit, a rank failed, or all ranks wait.
        """
        count = len(self.programs)
        if len(arrays) != count:
            raise MachineError(
                None, f"{count} ranks take as many lists of arrays, got {len(arrays)}"
            )
        self._world.begin()
        with ThreadPoolExecutor(count) as threads:
            left = [None] * count if unwritten is None else unwritten
            runs = [
                threads.submit(self._run, program, given, found)
                for program, given, found in zip(
                    self.programs, arrays, left, strict=True
                )
            ]
            errors = [error for run in runs if (error := run.exception()) is not None]
        if errors:
            # A rank that only waited for one that failed says less than that one.
            raise min(errors, key=lambda error: "(deadlock)" in str(error))
        return [run.result() for run in runs]

    def _run(
        self,
        program: Program,
        arrays: Sequence[Any],
        unwritten: list[Unwritten] | None,
    ) -> list[Array]:
        failed = True
        try:
            outputs = program.run(arrays, unwritten)
            failed = False
        finally:
            self._world.leave(failed)
        return outputs


def simulate_ranks(
    where: Operation,
    arrays: Sequence[Sequence[Array]],
    options: MachineOptions | None = None,
    entry: str | Sequence[str] | None = None,
) -> list[list[Array]]:
    """Compile for as many ranks as there are lists of arrays and run once."""
    return Ranks(where, len(arrays), options, entry).run(arrays)
