"""The commands: `neuron-opt`, `neuron-trace` and `neuron-run`."""
