"""What every BIR instruction has beside its meaning."""

from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.bir.scheduled import BirScheduled
from xdsl_neuron.dialects.effects import WORLD, StateEffect
from xdsl_neuron.dialects.gate import Stage, gate
from xdsl_neuron.dialects.instruction import Instruction, target_of
from xdsl_neuron.geometry.affine import Affine


class BirInstruction(Instruction, BirScheduled):
    """What every instruction of this level has beside its meaning."""

    def expressions(self) -> tuple[Affine, ...]:
        """Also the registers that waits compare with."""
        found = super().expressions()
        if "on_wait" not in self.properties:
            return found
        return (*found, *(value for _, _, value in self.waits))

    def state_effects(self) -> tuple[StateEffect, ...]:
        """Also its semaphores."""
        found = super().state_effects()
        return (*found, WORLD) if self.waits or self.updates else found

    @gate("curArchLevel >= min.value()", "bir.md 7.2 code 366", stage=Stage.ARCH)
    def arch_window(self) -> None:
        """The generation has the instruction."""
        arch = target_of(self)
        if arch is not None and arch.level < self.ROW.min_level:
            raise VerifyException(
                f"curArchLevel >= min.value(): {self.ROW.name} needs level "
                f"{self.ROW.min_level}, {arch.name} is {arch.level}"
            )
