"""Functions, loops and buffers of the tracer's level."""

from xdsl.irdl import irdl_op_definition

from xdsl_neuron.dialects import structure


@irdl_op_definition
class FuncOp(structure.Function):
    """A traced kernel."""

    name = "penguin.func"


@irdl_op_definition
class ReturnOp(structure.Return):
    """Ends a kernel and names its outputs."""

    name = "penguin.return"


@irdl_op_definition
class ForOp(structure.For):
    """A rolled loop."""

    name = "penguin.for"


@irdl_op_definition
class AllocOp(structure.Alloc):
    """A tile or an HBM tensor, fresh each time it executes."""

    name = "penguin.alloc"


@irdl_op_definition
class ConstantOp(structure.Constant):
    """A weight, an identity or another read-only tensor."""

    name = "penguin.constant"
