"""What the functional generation is: rolled loops, tiles as values, trn2."""

from typing import Final

from xdsl_neuron.nki.functional.tile import Tile
from xdsl_neuron.nki.specialise import Personality

PERSONALITY: Final = Personality("neuronxcc.nki", "trn2", Tile, rolled=True)
