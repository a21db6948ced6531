"""Collectives, barriers and prints by their names in penguin."""

from xdsl.irdl import irdl_op_definition

from xdsl_neuron.dialects.instructions import collective, system


@irdl_op_definition
class CollectiveComputeOp(collective.CollectiveCompute):
    """A reduction or exchange of the ranks of each group."""

    name = "penguin.collective_compute"


@irdl_op_definition
class CollectiveSendOp(collective.CollectiveSend):
    """Sends a tensor to a rank."""

    name = "penguin.collective_send"


@irdl_op_definition
class CollectiveRecvOp(collective.CollectiveRecv):
    """Receives a tensor from a rank."""

    name = "penguin.collective_recv"


@irdl_op_definition
class GetGlobalRankIdOp(collective.GlobalRankId):
    """The number of this rank."""

    name = "penguin.get_global_rank_id"


@irdl_op_definition
class GetCurProcessingRankIdOp(collective.ProcessingRankId):
    """The rank a step of a collective delivers."""

    name = "penguin.get_cur_processing_rank_id"


@irdl_op_definition
class CoreBarrierOp(system.CoreBarrier):
    """`nisa.core_barrier`."""

    name = "penguin.core_barrier"


@irdl_op_definition
class DevicePrintOp(system.DevicePrint):
    """`nl.device_print`."""

    name = "penguin.device_print"
