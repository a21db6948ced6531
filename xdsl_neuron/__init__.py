"""An open compiler and an open machine for NeuronCore kernels, built on xDSL."""

from typing import Final

__version__: Final = "0.1.0"
