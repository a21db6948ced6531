"""
Synchronisation: waits and updates, barriers, queues (bir.md 9, dma.md 9.8).

In program order, which is what the machine executes, all of them do nothing.
"""

from typing import ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.arch import Arch
from xdsl_neuron.collected import collected
from xdsl_neuron.dialects.bir.declarations import (
    QueueOp,
    find,
)
from xdsl_neuron.dialects.bir.registers import DoWhileOp, DynamicForLoopOp
from xdsl_neuron.dialects.bir.row import Row
from xdsl_neuron.dialects.bir.sequencer import SequencerInstruction
from xdsl_neuron.dialects.bir.structure import FuncOp, LoopOp
from xdsl_neuron.dialects.effects import WORLD, StateEffect
from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instructions import system
from xdsl_neuron.dialects.instructions.registers import RegisterInstruction
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.dialects.neuron.system import (
    SemaphoreClearModeAttr,
    TensorCompletionModeAttr,
)
from xdsl_neuron.isa import Engine
from xdsl_neuron.system import (
    QueueType,
    SemaphoreClearMode,
    TensorCompletionMode,
    WaitMode,
)


class Synchronised(RegisterInstruction, SequencerInstruction):
    """A control instruction."""

    def state_effects(self) -> tuple[StateEffect, ...]:
        """Its place among the others is what it is for."""
        return (WORLD,)


@irdl_op_definition
class NoOp(Synchronised):
    """Nothing but its waits and updates."""

    name = "bir.no_op"
    ROW: ClassVar = Row(12, "NoOp")


@irdl_op_definition
class EventSemaphoreOp(Synchronised):
    """
    Waits and updates beside a datapath instruction, which has no room for them.

        bir.event_semaphore @I {on_wait = [SEM_GE_IMM @s 4], engine = DVE}
    """

    name = "bir.event_semaphore"
    ROW: ClassVar = Row(13, "EventSemaphore")
    MAX_WAITS: ClassVar = 2

    @gate("EventSemaphore must have sync info", "bir.md 9")
    def sync_info(self) -> None:
        """It waits or updates."""
        if not self.waits and not self.updates:
            raise VerifyException("EventSemaphore must have sync info")

    @gate(
        "EventSemaphore must have <= 2 wait commands, and <= 1 update command",
        "bir.md 9",
    )
    def wait_count(self) -> None:
        """Two waits."""
        if len(self.waits) > self.MAX_WAITS:
            raise VerifyException(
                "EventSemaphore must have <= 2 wait commands, and <= 1 update command, "
                f"got {len(self.waits)} waits"
            )

    @gate(
        "EventSemaphore must have <= 2 wait commands, and <= 1 update command",
        "bir.md 9",
    )
    def update_count(self) -> None:
        """One update."""
        if len(self.updates) > self.MAX_UPDATES:
            raise VerifyException(
                "EventSemaphore must have <= 2 wait commands, and <= 1 update command, "
                f"got {len(self.updates)} updates"
            )

    @gate("only two wait modes supported now: SEM_GE_IMM and SEM_GE_REG", "bir.md 9")
    def wait_modes(self) -> None:
        """Of two waits both are for semaphores."""
        if len(self.waits) < 2:
            return
        for mode, name, _ in self.waits:
            if mode is WaitMode.EVENT_SET_THEN_CLEAR:
                raise VerifyException(
                    "only two wait modes supported now: SEM_GE_IMM and SEM_GE_REG, got "
                    f"{mode} of '{name}'"
                )


@irdl_op_definition
class GroupResetSemaphoresOp(Synchronised):
    """Sets a group of semaphores to zero."""

    name = "bir.group_reset_semaphores"
    ROW: ClassVar = Row(14, "GroupResetSemaphores")
    ENGINES: ClassVar = (
        Engine.POOL,
        Engine.ACTIVATION,
        Engine.PE,
        Engine.DVE,
        Engine.SP,
    )

    mode = prop_def(
        SemaphoreClearModeAttr,
        default_value=SemaphoreClearModeAttr(SemaphoreClearMode.SEMAPHORE_ZERO),
    )
    sema_group = prop_def(DenseArrayBase.constr(i64))

    @gate("GroupResetSemaphores: data-path engine", "bir.md 7.6", stage=Stage.ENGINE)
    def engine_set(self) -> None:
        """One engine, which must have a datapath."""
        if self.engine.data not in self.ENGINES:
            names = ", ".join(each.value for each in self.ENGINES)
            raise VerifyException(
                f"GroupResetSemaphores must be on a data-path engine ({names}), got "
                f"{self.engine.data}"
            )

    @gate("GroupResetSemaphores: nonempty, no duplicate ids", "bir.md 7.6")
    def group(self) -> None:
        """Some ids of 8 bits, each once; of the mode SemaphoreZero a range."""
        ids = self.sema_group.get_values()
        if not ids:
            raise VerifyException("GroupResetSemaphores: the group is empty")
        if len(set(ids)) != len(ids):
            raise VerifyException(f"GroupResetSemaphores: duplicate ids in {list(ids)}")
        if min(ids) < 0 or max(ids) >= Arch.semaphores:
            raise VerifyException(
                f"GroupResetSemaphores: an id of {list(ids)} has more than 8 bits"
            )
        is_range = max(ids) - min(ids) + 1 == len(ids)
        if self.mode.data is SemaphoreClearMode.SEMAPHORE_ZERO and not is_range:
            raise VerifyException(
                f"GroupResetSemaphores: {list(ids)} is no id range, which "
                "SemaphoreZero clears; use SemaphoreZeroBitmask"
            )


@irdl_op_definition
class AllEngineBarrierOp(Synchronised):
    """All engines of the core wait for each other."""

    name = "bir.all_engine_barrier"
    ROW: ClassVar = Row(15, "AllEngineBarrier")

    @gate("AllEngineBarrier on ALL", "bir.md 2, 9")
    def on_all(self) -> None:
        """It is cloned for every engine."""
        if self.engine.data is not Engine.ALL:
            raise VerifyException(
                f"AllEngineBarrier is on engine ALL, got {self.engine.data}"
            )


@irdl_op_definition
class DrainOp(Synchronised):
    """Waits until an engine's pipeline is empty."""

    name = "bir.drain"
    ROW: ClassVar = Row(16, "Drain")

    is_reset_sema = opt_prop_def(UnitAttr)


@irdl_op_definition
class CoreBarrierOp(system.CoreBarrier, Synchronised):
    """Cores wait for each other."""

    name = "bir.core_barrier"
    ROW: ClassVar = Row(87, "CoreBarrier", 30)


class QueueInstruction(Synchronised):
    """An instruction on an instance of a queue."""

    SHORT: ClassVar[str]

    queue = prop_def(StringAttr)
    instance = prop_def(StringAttr)

    def check_instance(self) -> QueueOp | None:
        """The queue, which must exist and have the instance."""
        short = self.SHORT
        if not self.instance.data:
            raise VerifyException(f"{short} instance should not be NULL")
        if _is_detached(self):
            return None
        queue = find(self, QueueOp, self.queue.data)
        if queue is None:
            raise VerifyException(
                f"{short} switches to a queue that does not exist: '{self.queue.data}'"
            )
        if self.instance.data not in collected(queue, _instances):
            raise VerifyException(
                f"{short} instance's parent should be a DMAQueue: "
                f"'{self.queue.data}' has no instance '{self.instance.data}'"
            )
        return queue


@irdl_op_definition
class SwitchQueueInstanceOp(QueueInstruction):
    """The queue goes on with another instance, its triggers with their first block."""

    name = "bir.switch_queue_instance"
    ROW: ClassVar = Row(85, "SwitchQueueInstance")
    SHORT: ClassVar = "SQI"

    no_rearm = opt_prop_def(UnitAttr)

    @gate(
        "SQI switches to a queue that does not exist | SQI instance should not be NULL "
        "| SQI instance's parent should be a DMAQueue",
        "dma.md 9.8 SQI002..004",
    )
    def queue_instance(self) -> None:
        """The queue is declared and has the instance."""
        queue = self.check_instance()
        if queue is not None:
            self._check_in_loop(queue)

    def _check_in_loop(self, queue: QueueOp) -> None:
        """In a loop only queues of spills are switched (SQI001)."""
        kind = queue.type.data
        if _in_loop(self) and kind is not QueueType.DATA:
            raise VerifyException(
                "Expect only Spill/Reload queues are used in loop body, but found "
                f"{queue.declared_name.data} of type {kind}"
            )


@irdl_op_definition
class ResetQueueInstanceOp(QueueInstruction):
    """Triggers of the queue start from their first block again."""

    name = "bir.reset_queue_instance"
    ROW: ClassVar = Row(86, "ResetQueueInstance")
    SHORT: ClassVar = "RQI"

    @gate(
        "RQI switches to a queue that does not exist | RQI instance should not be NULL "
        "| RQI instance's parent should be a DMAQueue",
        "dma.md 9.8 RQI twins",
    )
    def queue_instance(self) -> None:
        """The queue is declared and has the instance."""
        self.check_instance()


@irdl_op_definition
class TensorCompletionOp(Synchronised):
    """Tells the host that a tensor is complete."""

    name = "bir.tensor_completion"
    ROW: ClassVar = Row(94, "TensorCompletion")
    INS: ClassVar = ("src",)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    src = opt_operand_def(TensorType)
    mode = prop_def(
        TensorCompletionModeAttr,
        default_value=TensorCompletionModeAttr(TensorCompletionMode.DEFAULT),
    )


def _instances(queue: QueueOp) -> frozenset[str]:
    return frozenset(queue.instance_names)


def _in_loop(operation: Operation) -> bool:
    parent = operation.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        if isinstance(parent, LoopOp | DynamicForLoopOp | DoWhileOp):
            return True
        parent = parent.parent_op()
    return False


def _is_detached(operation: Operation) -> bool:
    """Whether it stands in no function: nothing is declared there."""
    parent = operation.parent_op()
    while parent is not None and not isinstance(parent, FuncOp):
        parent = parent.parent_op()
    return parent is None
