"""Registers and run-time loops by their roster rows."""

from typing import ClassVar

from xdsl.irdl import irdl_op_definition

from xdsl_neuron.dialects.bir.row import Row
from xdsl_neuron.dialects.bir.sequencer import SequencerInstruction
from xdsl_neuron.dialects.instructions import control, registers


@irdl_op_definition
class TensorSaveOp(registers.TensorSave, SequencerInstruction):
    """A register into one element."""

    name = "bir.tensor_save"
    ROW: ClassVar = Row(76, "TensorSave")


@irdl_op_definition
class RegisterAluOp(registers.RegisterAlu, SequencerInstruction):
    """Integer arithmetic on registers."""

    name = "bir.register_alu"
    ROW: ClassVar = Row(73, "RegisterAlu")


@irdl_op_definition
class RegisterMoveOp(registers.RegisterMove, SequencerInstruction):
    """Sets a register."""

    name = "bir.register_move"
    ROW: ClassVar = Row(74, "RegisterMove")


@irdl_op_definition
class DynamicForLoopOp(control.DynamicFor):
    """`InstDynamicForLoop`: the upper bound is in a register."""

    name = "bir.dynamic_for_loop"
    ROW: ClassVar = Row(106, "DynamicForLoop")


@irdl_op_definition
class DoWhileOp(control.DoWhile):
    """`InstDoWhile`: again while a register is not zero."""

    name = "bir.do_while"
    ROW: ClassVar = Row(108, "DoWhile")


@irdl_op_definition
class ContinueIfOp(control.ContinueIf):
    """The condition of the do-while it ends."""

    name = "bir.continue_if"
