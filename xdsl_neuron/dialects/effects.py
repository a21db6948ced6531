"""
What an instruction does to what its operands name, and to state beside them.

An instruction's class says it once (`effect`, `state_effects`); passes, the plan of the
machine and xDSL's generic passes ask here.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Final

from xdsl.ir import Operation
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind, Resource

from xdsl_neuron.isa import Engine


class Writes(Enum):
    """How much of what an output's access names is written, whatever the data are."""

    NOTHING = 0
    PART = 1
    """Elements may keep what they held: those not chosen, or not named by an index."""
    ALL = 2
    """All that a mask leaves of it."""


@dataclass(frozen=True)
class Effect:
    """
    What happens to the elements of one operand's access.

    Attributes:
        reads: what they held before matters.
        writes: how much of them is written.
        if_written: what they held matters only where something has written them since
            their allocation (PSUM under an open matmul).
    """

    reads: bool = False
    writes: Writes = Writes.NOTHING
    if_written: bool = False

    @property
    def keeps(self) -> bool:
        """Whether elements may stay as they are."""
        return self.writes is Writes.PART


READ: Final = Effect(reads=True)
OVERWRITE: Final = Effect(writes=Writes.ALL)
UPDATE: Final = Effect(reads=True, writes=Writes.ALL)
KEEP: Final = Effect(reads=True, writes=Writes.PART)
JOIN: Final = Effect(reads=True, writes=Writes.ALL, if_written=True)


@dataclass(frozen=True)
class State(Resource):
    """State that no operand names: an engine's, or that of the world around."""

    what: str
    engine: Engine | None = None

    def name(self) -> str:
        """What it is, and whose."""
        return self.what if self.engine is None else f"{self.what} of {self.engine}"


@dataclass(frozen=True)
class StateEffect:
    """What an instruction does to state beside its operands."""

    state: State
    reads: bool
    writes: bool


WORLD: Final = StateEffect(State("the program's order"), reads=True, writes=True)
"""Of instructions whose place among all others matters: barriers, collectives."""


@cache
def accumulators(engine: Engine) -> State:
    """The accumulators of an engine."""
    return State("accumulators", engine)


class OperandEffects(MemoryEffect):
    """Answers xDSL's question for effects from what an instruction's class says."""

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        """One instance for each operand read, each written, and each state."""
        from xdsl_neuron.dialects.instruction import Instruction

        if not isinstance(op, Instruction):
            return _ANYTHING
        found: set[EffectInstance] = set()
        for name, value in op.data_values().items():
            effect = op.effect(name)
            if effect.reads:
                found.add(EffectInstance(MemoryEffectKind.READ, value))
            if effect.writes is not Writes.NOTHING:
                found.add(EffectInstance(MemoryEffectKind.WRITE, value))
        for each in op.state_effects():
            if each.reads:
                found.add(EffectInstance(MemoryEffectKind.READ, None, each.state))
            if each.writes:
                found.add(EffectInstance(MemoryEffectKind.WRITE, None, each.state))
        return found


_ANYTHING: Final = frozenset(
    EffectInstance(kind) for kind in (MemoryEffectKind.READ, MemoryEffectKind.WRITE)
)
