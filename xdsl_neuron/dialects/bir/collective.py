"""Collectives by their roster rows."""

from typing import ClassVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import OpResult
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.bir.registers import DynamicForLoopOp
from xdsl_neuron.dialects.bir.row import Row
from xdsl_neuron.dialects.bir.sequencer import SequencerInstruction
from xdsl_neuron.dialects.bir.structure import LocationOp
from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instructions import collective
from xdsl_neuron.dialects.neuron import EngineAttr
from xdsl_neuron.isa import Engine, TensorKind
from xdsl_neuron.system import CollectiveKind


class _Queued(SequencerInstruction):
    """A collective: all eight engines are admitted (bir.md 7.3)."""

    queue = opt_prop_def(StringAttr)


@irdl_op_definition
class CollectiveComputeOp(collective.CollectiveCompute, _Queued):
    """A reduction or exchange of the ranks of each group."""

    name = "bir.collective_compute"
    ROW: ClassVar = Row(48, "CollectiveCompute", 30)

    engine = prop_def(EngineAttr, default_value=EngineAttr(Engine.POOL))

    @gate(
        "Collective instruction cannot read IO tensors | Collective instruction cannot "
        "write IO tensors",
        "bir.md 7.5",
    )
    def no_io(self) -> None:
        """Inputs and outputs of the program are copied first."""
        for name, operand in self.data().items():
            value = operand.value
            if not isinstance(value, OpResult) or not isinstance(value.op, LocationOp):
                continue
            if value.op.kind.data in (TensorKind.INPUT, TensorKind.OUTPUT):
                verb = "write" if name in self.OUTS else "read"
                raise VerifyException(
                    f"Collective instruction cannot {verb} IO tensors ('{name}' is "
                    f"{operand.label})"
                )

    @gate("isLocal", "bir.md 7.5 codes 123, 1500")
    def in_dynamic_loop(self) -> None:
        """In a loop up to a register only local collectives, and no SendRecv."""
        parent = self.parent_op()
        while parent is not None and not isinstance(parent, DynamicForLoopOp):
            parent = parent.parent_op()
        if parent is None:
            return
        if self.is_local is None:
            raise VerifyException(
                "isLocal: in a dynamic loop only local collectives are allowed"
            )
        if self.kind.data is CollectiveKind.SEND_RECV:
            raise VerifyException("SendRecv is not allowed in a dynamic loop")


@irdl_op_definition
class CollectiveSendOp(collective.CollectiveSend, _Queued):
    """Sends a tensor to a rank."""

    name = "bir.collective_send"
    ROW: ClassVar = Row(49, "CollectiveSend")


@irdl_op_definition
class CollectiveRecvOp(collective.CollectiveRecv, _Queued):
    """Receives a tensor from a rank."""

    name = "bir.collective_recv"
    ROW: ClassVar = Row(50, "CollectiveRecv")


@irdl_op_definition
class GetGlobalRankIdOp(collective.GlobalRankId, SequencerInstruction):
    """The number of this rank."""

    name = "bir.get_global_rank_id"
    ROW: ClassVar = Row(11, "GetGlobalRankId")


@irdl_op_definition
class GetCurProcessingRankIDOp(collective.ProcessingRankId, SequencerInstruction):
    """The rank a step of a collective delivers."""

    name = "bir.get_cur_processing_rank_id"
    ROW: ClassVar = Row(66, "GetCurProcessingRankID")
