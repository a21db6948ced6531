"""What instructions of the sequencers share: an engine out of the class's set."""

from typing import ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.irdl import prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.bir.base import BirInstruction
from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.neuron import EngineAttr
from xdsl_neuron.isa import Engine


class SequencerInstruction(BirInstruction):
    """
    An instruction that no datapath executes; every engine has a sequencer.

    `ENGINES` are those the verifier admits; `ALL` admits every one, and one clone per
    engine is made of an instruction on `ALL` (bir.md 1.1, 7.2).
    """

    ENGINES: ClassVar[tuple[Engine, ...]] = (Engine.ALL,)

    engine = prop_def(EngineAttr, default_value=EngineAttr(Engine.ALL))

    @gate('predicate "validEngines"', "bir.md 7.2 code 400")
    def engine_set(self) -> None:
        """The engine is a wildcard, or one that can run the instruction."""
        engine = self.engine.data
        wild = (Engine.UNASSIGNED, Engine.ALL)
        if engine in wild or Engine.ALL in self.ENGINES or engine in self.ENGINES:
            return
        allowed = ", ".join(each.value for each in self.ENGINES)
        raise VerifyException(
            f"runs on engine {engine}, expected one of {allowed}, ALL or Unassigned"
        )


def text(value: StringAttr | None) -> str:
    """A string property; empty where it is absent."""
    return "" if value is None else value.data
