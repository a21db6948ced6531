"""`NeuronCodegen`: the forward builder, one object per trace."""

from xdsl_neuron.tracer.compute import ComputeBuilders
from xdsl_neuron.tracer.dma import DmaBuilders
from xdsl_neuron.tracer.matrix import MatrixBuilders


class NeuronCodegen(DmaBuilders, ComputeBuilders, MatrixBuilders):
    """
    The state of a trace and a builder method per instruction.

    Nothing outlives it: two traces may run in two threads, or one inside the other.
    """
