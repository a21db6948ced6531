"""What an instruction of BIR waits for before it runs and updates when it is done."""

from typing import ClassVar

from xdsl.irdl import opt_prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.bir.declarations import EventOp, SemaphoreOp, find
from xdsl_neuron.dialects.bir.row import Row
from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.neuron.system import UpdatesAttr, WaitsAttr
from xdsl_neuron.dialects.scheduled import Scheduled
from xdsl_neuron.geometry.affine import Affine, Index
from xdsl_neuron.system import UpdateMode, WaitMode


class BirScheduled(Scheduled):
    """
    An instruction of BIR, of whatever class: it waits, acts, and updates a semaphore.

        bir.load @I %t <- %a {on_wait = [SEM_GE_IMM @s 4], on_update = [SEM_INC @t 1]}
    """

    ROW: ClassVar[Row]
    MAX_WAITS: ClassVar[int] = 1
    MAX_UPDATES: ClassVar[int] = 1

    on_wait = opt_prop_def(WaitsAttr)
    on_update = opt_prop_def(UpdatesAttr)

    @property
    def waits(self) -> tuple[tuple[WaitMode, str, Affine], ...]:
        """Mode, name and threshold of each wait."""
        return () if self.on_wait is None else self.on_wait.data

    @property
    def updates(self) -> tuple[tuple[UpdateMode, str, int], ...]:
        """Mode, name and value of each update."""
        return () if self.on_update is None else self.on_update.data

    @gate("Too many sync wait commands", "bir.md 9")
    def wait_count(self) -> None:
        """As many waits as the encoding has room for."""
        if len(self.waits) > self.MAX_WAITS:
            raise VerifyException(
                f"Too many sync wait commands: {len(self.waits)}, at most "
                f"{self.MAX_WAITS}"
            )

    @gate("Too many sync update commands", "bir.md 9")
    def update_count(self) -> None:
        """As many updates as the encoding has room for."""
        if len(self.updates) > self.MAX_UPDATES:
            raise VerifyException(
                f"Too many sync update commands: {len(self.updates)}, at most "
                f"{self.MAX_UPDATES}"
            )

    @gate("Semaphore inc value must be 1", "bir.md 9")
    def single_steps(self) -> None:
        """An increment or decrement is by one."""
        for mode, _, value in self.updates:
            if mode in (UpdateMode.SEM_INC, UpdateMode.SEM_DEC) and value != 1:
                raise VerifyException(f"Semaphore inc value must be 1, got {value}")

    @gate("sem >= imm, sem >= register", "bir.md 1.18")
    def wait_values(self) -> None:
        """A threshold is what the mode compares with."""
        for mode, name, value in self.waits:
            if mode is WaitMode.SEM_GE_IMM and not value.is_constant:
                raise VerifyException(
                    f"{mode} of '{name}' compares with an immediate, got {value}"
                )
            if mode is WaitMode.SEM_GE_REG:
                terms = value.terms
                plain = len(terms) == 1 and terms[0][1] == 1 and not value.constant
                if not plain or not isinstance(terms[0][0], Index):
                    raise VerifyException(
                        f"{mode} of '{name}' compares with a register, got {value}"
                    )

    @gate("semaphores and events are declared", "bir.md 9", "our choice")
    def declared_names(self) -> None:
        """What is waited for and updated is declared in the function."""
        for mode, name, _ in self.waits:
            event = mode is WaitMode.EVENT_SET_THEN_CLEAR
            self._check_declared(name, EventOp if event else SemaphoreOp)
        for mode, name, _ in self.updates:
            event = mode is UpdateMode.EVENT_SET
            self._check_declared(name, EventOp if event else SemaphoreOp)

    def _check_declared(self, name: str, kind: type[EventOp | SemaphoreOp]) -> None:
        if find(self, kind, name) is None:
            what = "event" if kind is EventOp else "semaphore"
            raise VerifyException(f"{what} '{name}' is not declared in the function")
