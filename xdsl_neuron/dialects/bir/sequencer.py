"""What instructions of the sequencers share."""

from typing import ClassVar

from xdsl.irdl import prop_def

from xdsl_neuron.dialects.bir.base import BirInstruction
from xdsl_neuron.dialects.neuron import EngineAttr
from xdsl_neuron.isa import Engine


class SequencerInstruction(BirInstruction):
    """
    An instruction that no datapath executes; every engine has a sequencer.

    Its engine set is the wildcard ALL (bir.md 7.3): any engine passes the verifier. An
    instruction on ALL is cloned for every engine before encoding (bir.md 1.1).
    """

    ENGINES: ClassVar[tuple[Engine, ...]] = (Engine.ALL,)

    engine = prop_def(EngineAttr, default_value=EngineAttr(Engine.ALL))
