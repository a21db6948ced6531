"""Printing from the device, and cores that wait for each other."""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.effects import WORLD, StateEffect
from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.instructions.checks import check_level
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.dialects.neuron.system import DebugBufferAttr
from xdsl_neuron.system import DebugBuffer


class DevicePrint(Instruction):
    """
    Prints a tensor behind a prefix.

        penguin.device_print %t {prefix = "t = "}
    """

    INS: ClassVar = ("src",)

    src = operand_def(TensorType)
    prefix = prop_def(StringAttr)
    output_buffer = prop_def(
        DebugBufferAttr, default_value=DebugBufferAttr(DebugBuffer.STDOUT)
    )

    def state_effects(self) -> tuple[StateEffect, ...]:
        """Prints come in their order."""
        return (WORLD,)

    @gate("DevicePrint: prefix + buffer", "bir.md 6.14", "our choice")
    def unmasked(self) -> None:
        """What is printed is a whole access."""
        if self.masks():
            raise VerifyException("a device print has no mask")


class CoreBarrier(Instruction):
    """
    Cores wait for each other, on a semaphore in memory where one is given.

        penguin.core_barrier semaphore = %s {cores = [0, 1]}
    """

    OUTS: ClassVar = ("semaphore",)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    semaphore = opt_operand_def(TensorType)
    cores = prop_def(DenseArrayBase.constr(i64))
    id = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))
    runtime_semaphore = opt_prop_def(UnitAttr)

    def state_effects(self) -> tuple[StateEffect, ...]:
        """Nothing moves across it."""
        return (WORLD,)

    @gate("... is available on ...", "bir.md 7.3 CoreBarrier", stage=Stage.ARCH)
    def barrier_arch(self) -> None:
        """From gen3, whose cores share memory."""
        check_level(self, 30)

    @gate("CoreBarrier: cores list", "bir.md 6.12", "inferred")
    def core_list(self) -> None:
        """At least one core, each once."""
        cores = self.cores.get_values()
        if not cores or len(set(cores)) != len(cores) or min(cores) < 0:
            raise VerifyException(
                f"CoreBarrier needs distinct cores, got {list(cores)}"
            )
