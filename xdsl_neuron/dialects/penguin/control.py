"""Registers and run-time loops by their names in penguin."""

from xdsl.irdl import irdl_op_definition

from xdsl_neuron.dialects.instructions import control, registers


@irdl_op_definition
class StoreRegisterToTensorOp(registers.TensorSave):
    """`nisa.register_store`."""

    name = "penguin.store_register_to_tensor"


@irdl_op_definition
class RegisterAluOp(registers.RegisterAlu):
    """Arithmetic on registers."""

    name = "penguin.register_alu"


@irdl_op_definition
class RegisterMoveOp(registers.RegisterMove):
    """`nisa.register_move`."""

    name = "penguin.register_move"


@irdl_op_definition
class DynamicForOp(control.DynamicFor):
    """`nl.dynamic_range`."""

    name = "penguin.dynamic_for"


@irdl_op_definition
class DoWhileOp(control.DoWhile):
    """`while register`: the body runs at least once."""

    name = "penguin.do_while"


@irdl_op_definition
class ContinueIfOp(control.ContinueIf):
    """The condition of the do-while it ends."""

    name = "penguin.continue_if"
