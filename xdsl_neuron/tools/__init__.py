"""The commands: `neuron-opt`, `neuron-trace`, `neuron-run`, the reference generator."""

import gc

# Commands are short and make few cycles: collecting as often as by default costs them
# a tenth of their time.
gc.set_threshold(50_000, 20, 20)
