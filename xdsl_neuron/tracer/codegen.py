"""`NeuronCodegen`: the forward builder, one object per trace."""

from xdsl_neuron.tracer.accumulators import AccumulatorBuilders
from xdsl_neuron.tracer.compute import ComputeBuilders
from xdsl_neuron.tracer.constants import ConstantBuilders
from xdsl_neuron.tracer.dma import DmaBuilders
from xdsl_neuron.tracer.gathers import GatherBuilders
from xdsl_neuron.tracer.matrix import MatrixBuilders
from xdsl_neuron.tracer.random import RandomBuilders
from xdsl_neuron.tracer.registers import RegisterBuilders
from xdsl_neuron.tracer.rows import RowBuilders


class NeuronCodegen(
    DmaBuilders,
    GatherBuilders,
    ConstantBuilders,
    ComputeBuilders,
    MatrixBuilders,
    AccumulatorBuilders,
    RowBuilders,
    RandomBuilders,
    RegisterBuilders,
):
    """
    The state of a trace and a builder method per instruction.

    Nothing outlives it: two traces may run in two threads, or one inside the other.
    """
