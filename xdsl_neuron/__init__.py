"""An open compiler and an open machine for NeuronCore kernels, built on xDSL."""
