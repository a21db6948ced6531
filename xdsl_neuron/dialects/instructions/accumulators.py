"""
The accumulators of the scalar and the vector engine: state between instructions.

An engine has one fp32 accumulator for each partition that its instructions write. A
command on the instruction says what happens to them: reset, fold the instruction's
rows into them, or both. Program order is the order of the commands; instructions have
memory effects, so no pass drops or swaps one.
"""

from collections.abc import Iterator
from typing import ClassVar, Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.irdl import opt_prop_def, prop_def
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.effects import StateEffect, accumulators
from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instructions.checks import (
    check_given_at_most_once,
    check_row,
)
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.instructions.first_rows import start_problem
from xdsl_neuron.dialects.neuron import AccumulateCommandAttr, ImmediateAttr
from xdsl_neuron.isa import AccumulateCommand, Engine

REDUCE_COMMANDS: Final = {
    "idle": AccumulateCommand.IDLE,
    "reset": AccumulateCommand.ZERO,
    "reduce": AccumulateCommand.ADD_ACCUMULATE,
    "reset_reduce": AccumulateCommand.ZERO_ACCUMULATE,
    "load_reduce": AccumulateCommand.LOAD_ACCUMULATE,
}
"""The names of NKI's `reduce_cmd` (bir.md 11)."""

_LANGUAGE: Final = {command: name for name, command in REDUCE_COMMANDS.items()}


def spelled(command: AccumulateCommand) -> str:
    """A command as both levels call it."""
    name = _LANGUAGE.get(command)
    return command.value if name is None else f"{command.value} ({name})"


class AccumulatorUser(ComputeInstruction):
    """An instruction of the family that shares its engine's accumulators."""

    @property
    def accumulator_command(self) -> AccumulateCommand:
        """What it does with the accumulators; Idle where it has no command."""
        return AccumulateCommand.IDLE

    @property
    def accumulator_engine(self) -> Engine:
        """Whose accumulators they are."""
        return self.ENGINES[0]

    @property
    def reads_accumulator(self) -> bool:
        """Whether its results depend on what the accumulators hold."""
        return self.accumulator_command is AccumulateCommand.ADD_ACCUMULATE

    @property
    def sets_accumulator(self) -> bool:
        """Whether a command gives them a value, or relies on their having one."""
        idle = self.accumulator_command is AccumulateCommand.IDLE
        return not idle or self.reads_accumulator

    @property
    def forgets_accumulator(self) -> bool:
        """Whether the accumulators of all partitions are undefined after it."""
        idle = self.accumulator_command is AccumulateCommand.IDLE
        return idle and self.accumulator_engine is Engine.DVE

    def state_effects(self) -> tuple[StateEffect, ...]:
        """What it does with the accumulators."""
        reads = self.reads_accumulator
        writes = self.sets_accumulator or self.forgets_accumulator
        if not reads and not writes:
            return super().state_effects()
        own = StateEffect(accumulators(self.accumulator_engine), reads, writes)
        return (*super().state_effects(), own)

    @gate(
        "An intermediate DVE instruction with idle invalidates the chain",
        "nki.md 5.5",
        "our choice",
    )
    def accumulator_is_defined(self) -> None:
        """
        What is read has been reset or loaded before, as far as the text tells.

        The nearest instruction of the family in front of it, also one in a loop that
        stands there, must not leave the accumulators undefined.
        """
        if not self.reads_accumulator:
            return
        engine = self.accumulator_engine
        for other in _before(self):
            if not isinstance(other, AccumulatorUser):
                continue
            if other.accumulator_engine is not engine:
                continue
            if other.forgets_accumulator:
                raise VerifyException(
                    f"reads the accumulators of engine {engine}, which "
                    f"'{other.name}' in front of it leaves undefined: "
                    "An intermediate DVE instruction with idle invalidates the chain; "
                    "start again with reset_reduce"
                )
            if other.sets_accumulator:
                return
        raise VerifyException(
            f"reads the accumulators of engine {engine}, which no instruction in front "
            "of it has reset; start with reset_reduce or load_reduce"
        )

    @gate("Access pattern starts at partition ...", "nki.md 4.2", "inferred")
    def masked_start_of_chain(self) -> None:
        """
        Where accumulators are read, rows that a mask leaves start where they may.

        Otherwise the rows in front are worked on as well, and their accumulators would
        not be what they were.
        """
        if not self.sets_accumulator:
            return
        problem = _start_problem(self)
        if self.reads_accumulator:
            chain = _before_reader(self)
            found = (each for each in chain if each.sets_accumulator)
            masked = self if problem else next(filter(_start_problem, found), None)
            problem = problem or (masked and _start_problem(masked))
        elif problem and read_engine(self, self.accumulator_engine):
            masked = self
        else:
            return
        if masked is not None:
            raise VerifyException(
                f"accumulators of engine {self.accumulator_engine} are read, and the "
                f"mask of '{masked.name}' leaves out the first partitions: {problem}; "
                "accumulate all rows, and mask what is copied out of them"
            )


class Accumulating(AccumulatorUser):
    """
    An instruction with a command, a fold of its rows, and `reduce_res` to read it.

    `reduce_res`, where it is given, receives the accumulators after the command;
    LoadAccumulate starts with `initial`.
    """

    COMMANDS: ClassVar[tuple[str, ...]] = ()
    """The commands it takes, as NKI names them."""

    command = prop_def(
        AccumulateCommandAttr,
        default_value=AccumulateCommandAttr(AccumulateCommand.ZERO_ACCUMULATE),
    )

    @property
    def accumulator_command(self) -> AccumulateCommand:
        return self.command.data

    @property
    def reads_accumulator(self) -> bool:
        command = self.command.data
        if command is AccumulateCommand.IDLE:
            return "reduce_res" in self.data_values()
        return command is AccumulateCommand.ADD_ACCUMULATE

    @gate("reduce_cmd {idle, reset, reduce, reset_reduce, load_reduce}", "nki.md 1.1")
    def command_is_known(self) -> None:
        """The command is one that the instruction takes."""
        command = self.command.data
        if command not in (REDUCE_COMMANDS[name] for name in self.COMMANDS):
            names = ", ".join(spelled(REDUCE_COMMANDS[name]) for name in self.COMMANDS)
            raise VerifyException(
                f"command {spelled(command)} is not supported in '{self.name}', "
                f"expected one of {names}"
            )

    @gate("idle (state undefined afterwards)", "nki.md 5.5")
    def idle_has_no_result(self) -> None:
        """The vector engine's accumulators hold nothing to read after Idle."""
        if self.forgets_accumulator and "reduce_res" in self.data_values():
            raise VerifyException(
                "reduce_res with command Idle (idle) reads accumulators that the "
                "instruction leaves undefined; use ZeroAccumulate (reset_reduce)"
            )

    def check_initial(self, immediate: ImmediateAttr | None) -> None:
        """LoadAccumulate, and nothing else, has an fp32 `initial`."""
        check_given_at_most_once(self, "initial", immediate)
        check_row(self, "initial")
        given = immediate is not None or "initial" in self.data_values()
        loads = self.command.data is AccumulateCommand.LOAD_ACCUMULATE
        if given != loads:
            raise VerifyException(
                "initial or initial_imm is given with command LoadAccumulate "
                f"(load_reduce) and only there, got {spelled(self.command.data)}"
            )


class ReadBehind(Accumulating):
    """
    One whose accumulators are read by an instruction behind it (nki.isa.activation).

    So `reduce_res` may be part of `dst`, which it overwrites.
    """

    SEPARATE: ClassVar[bool] = False


class Loading(Accumulating):
    """An accumulating instruction that may load its accumulators first."""

    initial_imm = opt_prop_def(ImmediateAttr)

    @gate("reduce_init should only be set when reduce_cmd is load_reduce", "nki.md 1.1")
    def initial_value(self) -> None:
        """One fp32 value, or one per partition."""
        self.check_initial(self.initial_imm)


def read_engine(operation: Operation, engine: Engine) -> bool:
    """Whether an instruction of the function around reads the engine's accumulators."""
    function = operation
    while not function.has_trait(IsolatedFromAbove):
        parent = function.parent_op()
        if parent is None:
            break
        function = parent
    return any(
        isinstance(other, AccumulatorUser)
        and other.accumulator_engine is engine
        and other.reads_accumulator
        for other in function.walk()
    )


def _start_problem(instruction: AccumulatorUser) -> str | None:
    """What is wrong with the first row that its mask leaves."""
    operands = instruction.data().values()
    return next(
        filter(None, (start_problem(instruction, o, 0) for o in operands)), None
    )


def _before_reader(reader: AccumulatorUser) -> Iterator[AccumulatorUser]:
    """Those of its engine in front of it, up to a reader of which it has been said."""
    for other in _before(reader):
        if not isinstance(other, AccumulatorUser):
            continue
        if other.accumulator_engine is not reader.accumulator_engine:
            continue
        yield other
        if other.reads_accumulator and other.parent is reader.parent:
            return


def _before(operation: Operation) -> Iterator[Operation]:
    """What stands in front of an operation in its function, the nearest first."""
    current: Operation | None = operation
    while current is not None:
        previous = current.prev_op
        while previous is not None:
            yield from _inside(previous)
            previous = previous.prev_op
        current = current.parent_op()
        if isinstance(current, ModuleOp):
            return
        if current is not None and current.has_trait(IsolatedFromAbove):
            return


def _inside(operation: Operation) -> Iterator[Operation]:
    """An operation and what is in it, the last first."""
    for region in reversed(operation.regions):
        for block in reversed(region.blocks):
            inner = block.last_op
            while inner is not None:
                yield from _inside(inner)
                inner = inner.prev_op
    yield operation
