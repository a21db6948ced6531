"""Builders of instructions that fold each row beside their elementwise result."""

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.neuron import (
    AccumulateCommandAttr,
    ActivationFunctionAttr,
    AluOpAttr,
)
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AccumulateCommand, ActivationFunction, AluOp, Engine
from xdsl_neuron.tracer.index import Mask
from xdsl_neuron.tracer.state import Dep
from xdsl_neuron.tracer.tiles import ENGINES, Number, TileBuilders, immediate
from xdsl_neuron.tracer.views import View


def scalar_operand(
    properties: dict[str, Attribute], key: str, value: View | Number | None
) -> View | None:
    """The tile among the operands; a number goes into the properties as `key`."""
    if isinstance(value, View):
        return value
    if value is not None:
        properties[key] = immediate(float(value))
    return None


def set_flags(properties: dict[str, Attribute], **flags: bool) -> None:
    """A unit attribute for each flag that is set."""
    for key, value in flags.items():
        if value:
            properties[key] = UnitAttr()


@dataclass(frozen=True)
class Fold:
    """
    What becomes of an instruction's rows: a command to the engine's accumulators.

    `result` receives the accumulators, None where nobody asks for them; `initial` is
    what LoadAccumulate loads. `negate` changes the signs of what `result` receives.
    """

    command: AccumulateCommand = AccumulateCommand.ZERO_ACCUMULATE
    result: View | None = None
    initial: View | Number | None = None
    negate: bool = False

    @property
    def is_absent(self) -> bool:
        """Whether the instruction has nothing to do with the accumulators."""
        return self.command is AccumulateCommand.IDLE and self.result is None

    def place(self, properties: dict[str, Attribute]) -> View | None:
        """Sets the command's fields; the tile that is loaded, if it is one."""
        if self.command is not AccumulateCommand.ZERO_ACCUMULATE:
            properties["command"] = AccumulateCommandAttr(self.command)
        set_flags(properties, negate=self.negate)
        return scalar_operand(properties, "initial_imm", self.initial)


class AccumulatorBuilders(TileBuilders):
    """Without `dst` each makes its result tile."""

    def scalar_tensor_tensor(
        self,
        data: View,
        op0: AluOp,
        operand0: View | Number,
        op1: AluOp,
        operand1: View,
        reverse0: bool = False,
        reverse1: bool = False,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """`(data op0 operand0) op1 operand1`."""
        if dst is None:
            dst = self.new_tile(data.shape, dtype or data.element_type)
        properties: dict[str, Attribute] = {
            "op0": AluOpAttr(op0),
            "op1": AluOpAttr(op1),
        }
        scalar = scalar_operand(properties, "imm0", operand0)
        set_flags(properties, reverse0=reverse0, reverse1=reverse1)
        self.emit(
            penguin.ScalarTensorTensorOp,
            [dst, data, operand1, scalar],
            properties,
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def tensor_tensor_scan(
        self,
        data0: View,
        data1: View,
        initial: View | Number,
        op0: AluOp,
        op1: AluOp,
        reverse0: bool = False,
        reverse1: bool = False,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """`r = (data0[i] op0 r) op1 data1[i]` along the free dimensions."""
        if dst is None:
            dst = self.new_tile(data0.shape, dtype or data0.element_type)
        properties: dict[str, Attribute] = {
            "op0": AluOpAttr(op0),
            "op1": AluOpAttr(op1),
        }
        first = scalar_operand(properties, "initial_imm", initial)
        set_flags(properties, reverse0=reverse0, reverse1=reverse1)
        self.emit(
            penguin.TensorTensorScanOp,
            [dst, data0, data1, first],
            properties,
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def tensor_scalar_cumulative(
        self,
        src: View,
        op0: AluOp,
        op1: AluOp,
        operand0: View | Number,
        fold: Fold,
        dst: View,
        mask: Mask | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
    ) -> View:
        """`r = (src[i] op0 operand0) op1 r`; the command says what r starts as."""
        properties: dict[str, Attribute] = {
            "op0": AluOpAttr(op0),
            "op1": AluOpAttr(op1),
        }
        scalar = scalar_operand(properties, "imm0", operand0)
        first = fold.place(properties)
        self.emit(
            penguin.TensorScalarCacheCumulativeOp,
            [dst, None, src, scalar, first],
            properties,
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def tensor_scalar_reduce(
        self,
        data: View,
        op0: AluOp,
        operand0: View | Number,
        reduce_op: AluOp,
        fold: Fold,
        reverse0: bool = False,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """`data op0 operand0`, its rows folded by `reduce_op`."""
        if dst is None:
            dst = self.new_tile(data.shape, dtype or data.element_type)
        properties: dict[str, Attribute] = {
            "op0": AluOpAttr(op0),
            "reduce_op": AluOpAttr(reduce_op),
        }
        scalar = scalar_operand(properties, "imm0", operand0)
        set_flags(properties, reverse0=reverse0)
        first = fold.place(properties)
        self.emit(
            penguin.TensorScalarCacheReduceOp,
            [dst, fold.result, data, scalar, first],
            properties,
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def activation_reduce(
        self,
        op: ActivationFunction,
        data: View,
        reduce_op: AluOp,
        fold: Fold,
        bias: View | Number | None = None,
        scale: View | Number = 1.0,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
        engine: Engine = Engine.UNASSIGNED,
    ) -> View:
        """`op(data * scale + bias)`, its rows added up."""
        if dst is None:
            dst = self.new_tile(data.shape, dtype or data.element_type)
        properties: dict[str, Attribute] = {
            "func": ActivationFunctionAttr(op),
            "reduce_op": AluOpAttr(reduce_op),
            "engine": ENGINES[engine],
        }
        column = scalar_operand(properties, "bias_imm", bias)
        factor = scalar_operand(
            properties, "scale_imm", None if scale == 1.0 else scale
        )
        fold.place(properties)
        self.emit(
            penguin.ActivationAccumulationOp,
            [dst, fold.result, data, column, factor],
            properties,
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def select_reduce(
        self,
        dst: View,
        predicate: View,
        on_true: View,
        on_false: View | Number,
        reduce_op: AluOp,
        fold: Fold,
        reverse: bool = False,
        mask: Mask | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
    ) -> View:
        """
        `on_true` where `predicate` is not 0 (is 0 with `reverse`), else `on_false`.

        The largest of each row is folded.
        """
        properties: dict[str, Attribute] = {"reduce_op": AluOpAttr(reduce_op)}
        other = scalar_operand(properties, "on_false_imm", on_false)
        set_flags(properties, reverse=reverse)
        fold.place(properties)
        self.emit(
            penguin.SelectReduceOp,
            [dst, fold.result, predicate, on_true, other],
            properties,
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def exponential(
        self,
        dst: View,
        src: View,
        max_value: View | Number,
        fold: Fold,
        name: str | None = None,
    ) -> View:
        """`exp(src - max_value)`, its rows added up unless `fold` is absent."""
        properties: dict[str, Attribute] = {}
        top = scalar_operand(properties, "max_value_imm", max_value)
        if fold.is_absent:
            self.emit(penguin.ExponentialOp, [dst, src, top], properties, name=name)
        else:
            first = fold.place(properties)
            self.emit(
                penguin.ExponentialReduceOp,
                [dst, fold.result, src, top, first],
                properties,
                name=name,
            )
        return dst

    def activate2(
        self,
        dst: View,
        op: ActivationFunction,
        data: View,
        stages: Sequence[tuple[AluOp | None, View | Number | None, bool]],
        alpha: View | Number,
        reduce_op: AluOp,
        fold: Fold,
        name: str | None = None,
        engine: Engine = Engine.UNASSIGNED,
    ) -> View:
        """
        `op((data op0 imm0) op1 imm1)`, its rows folded unless `fold` is absent.

        A stage is (operation, scalar, reversed).
        """
        properties: dict[str, Attribute] = {
            "func": ActivationFunctionAttr(op),
            "engine": ENGINES[engine],
        }
        scalars: list[View | None] = []
        for at, (alu, scalar, reverse) in enumerate(stages):
            if alu is not None:
                properties[f"op{at}"] = AluOpAttr(alu)
            used = None if alu is None and not isinstance(scalar, View) else scalar
            scalars.append(scalar_operand(properties, f"imm{at}", used))
            set_flags(properties, **{f"reverse{at}": reverse})
        slope = None
        if isinstance(alpha, View) or alpha:
            slope = scalar_operand(properties, "alpha", alpha)
        scalars.append(slope)
        if fold.is_absent:
            self.emit(penguin.Activate2Op, [dst, data, *scalars], properties, name=name)
        else:
            properties["reduce_op"] = AluOpAttr(reduce_op)
            fold.place(properties)
            self.emit(
                penguin.Activate2ReduceOp,
                [dst, fold.result, data, *scalars],
                properties,
                name=name,
            )
        return dst
