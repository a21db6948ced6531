"""
State of the engines: function tables, accumulators, prints, and what is out of use.

None of them computes with numerics of its own.
"""

from typing import ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, UnitAttr, i64
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from xdsl_neuron.dialects.bir.base import BirInstruction
from xdsl_neuron.dialects.bir.row import Row
from xdsl_neuron.dialects.bir.sequencer import SequencerInstruction
from xdsl_neuron.dialects.effects import WORLD, StateEffect
from xdsl_neuron.dialects.gate import gate
from xdsl_neuron.dialects.instructions import elementwise, system
from xdsl_neuron.dialects.instructions.accumulators import AccumulatorUser
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.neuron import AluOpAttr, TensorType
from xdsl_neuron.isa import Engine


@irdl_op_definition
class DevicePrintOp(system.DevicePrint, SequencerInstruction):
    """Prints a tensor."""

    name = "bir.device_print"
    ROW: ClassVar = Row(57, "DevicePrint")


@irdl_op_definition
class LoadActFuncSetOp(ComputeInstruction, BirInstruction):
    """Loads a set of function tables into the scalar engine."""

    name = "bir.load_act_func_set"
    ROW: ClassVar = Row(6, "LoadActFuncSet")
    ENGINES: ClassVar = (Engine.ACTIVATION,)

    act_func_set_id = prop_def(IntegerAttr, default_value=IntegerAttr(0, i64))

    def state_effects(self) -> tuple[StateEffect, ...]:
        """The tables that activations behind it look up."""
        return (WORLD,)

    @gate("act_func_set_id > -1", "bir.md 6.6")
    def set_number(self) -> None:
        """The number of a set."""
        if self.act_func_set_id.value.data < 0:
            raise VerifyException(
                "'act_func_set_id' is the number of a set, got "
                f"{self.act_func_set_id.value.data}"
            )


class ReadAccumulator(AccumulatorUser, BirInstruction):
    """Writes the accumulator of each partition of `dst`, cast to its type."""

    OUTS: ClassVar = ("dst",)

    dst = operand_def(TensorType)

    @property
    def reads_accumulator(self) -> bool:
        return True

    @property
    def forgets_accumulator(self) -> bool:
        return False

    @gate("one value per partition", "bir.md 1.15", "inferred")
    def one_value(self) -> None:
        """The accumulator holds one value for each partition."""
        dst = self.data()["dst"]
        if dst.free_count != 1:
            raise VerifyException(
                f"an accumulator holds one value per partition, got {dst}"
            )


@irdl_op_definition
class ReadActivationAccumulatorOp(ReadAccumulator):
    """The scalar engine's accumulator."""

    name = "bir.read_activation_accumulator"
    ROW: ClassVar = Row(5, "ReadActivationAccumulator")
    ENGINES: ClassVar = (Engine.ACTIVATION,)


@irdl_op_definition
class ActivationReadAccumulatorOp(ReadAccumulator):
    """The scalar engine's accumulator, as the NKI front end asks for it."""

    name = "bir.activation_read_accumulator"
    ROW: ClassVar = Row(101, "ActivationReadAccumulator")
    ENGINES: ClassVar = (Engine.ACTIVATION,)


@irdl_op_definition
class DveReadAccumulatorOp(ReadAccumulator):
    """The vector engine's accumulator; `negated` changes its sign."""

    name = "bir.dve_read_accumulator"
    ROW: ClassVar = Row(102, "DveReadAccumulator")
    ENGINES: ClassVar = (Engine.DVE,)

    negated = opt_prop_def(UnitAttr)


@irdl_op_definition
class GenericReluOp(ComputeInstruction, BirInstruction):
    """A relu before an engine is chosen; not supported by the reference either."""

    name = "bir.generic_relu"
    ROW: ClassVar = Row(2, "GenericRelu")
    ENGINES: ClassVar = elementwise.TensorCopy.ENGINES
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)

    @gate("tile shape mismatch, expected '...'", "penguin.md 5")
    def same_shape(self) -> None:
        """The input has the output's elements."""
        self.check_elementwise("src")


@irdl_op_definition
class TongaReduceMacroSymbolicOp(ComputeInstruction, BirInstruction):
    """A reduction of the first generation's macros."""

    name = "bir.tonga_reduce_macro_symbolic"
    ROW: ClassVar = Row(109, "TongaReduceMacroSymbolic")
    ENGINES: ClassVar = (Engine.POOL, Engine.DVE)
    OUTS: ClassVar = ("dst",)
    INS: ClassVar = ("src",)
    HEADER: ClassVar = ("op",)

    dst = operand_def(TensorType)
    src = operand_def(TensorType)
    op = prop_def(AluOpAttr)
    is_first_reduce = opt_prop_def(UnitAttr)
    reduce_axes = prop_def(DenseArrayBase.constr(i64))

    @gate("reduce_axes (list)", "bir.md 4.5", "inferred")
    def axes(self) -> None:
        """Axes of the input, each once."""
        axes = self.reduce_axes.get_values()
        rank = len(self.data()["src"].shape)
        wrong = [axis for axis in axes if not 0 <= axis < rank]
        if not axes or wrong or len(set(axes)) != len(axes):
            raise VerifyException(
                f"'reduce_axes' are axes of a {rank}-D input, got {list(axes)}"
            )
