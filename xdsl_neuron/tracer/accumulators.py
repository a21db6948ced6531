"""Builders of instructions that fold each row beside their elementwise result."""

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.neuron import ActivationFunctionAttr, AluOpAttr
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import ActivationFunction, AluOp
from xdsl_neuron.tracer.index import Mask
from xdsl_neuron.tracer.state import Dep
from xdsl_neuron.tracer.tiles import Number, TileBuilders, immediate
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


class AccumulatorBuilders(TileBuilders):
    """Without `dst` each makes its result tile; `reduce_res` is the caller's."""

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
        initial: View | Number | None,
        dst: View,
        mask: Mask | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
    ) -> View:
        """`r = (src[i] op0 operand0) op1 r`, from `initial` or op1's identity."""
        properties: dict[str, Attribute] = {
            "op0": AluOpAttr(op0),
            "op1": AluOpAttr(op1),
        }
        scalar = scalar_operand(properties, "imm0", operand0)
        first = scalar_operand(properties, "initial_imm", initial)
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
        reduce_res: View,
        reverse0: bool = False,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """`data op0 operand0`, and its fold over each row in `reduce_res`."""
        if dst is None:
            dst = self.new_tile(data.shape, dtype or data.element_type)
        properties: dict[str, Attribute] = {
            "op0": AluOpAttr(op0),
            "reduce_op": AluOpAttr(reduce_op),
        }
        scalar = scalar_operand(properties, "imm0", operand0)
        set_flags(properties, reverse0=reverse0)
        self.emit(
            penguin.TensorScalarCacheReduceOp,
            [dst, reduce_res, data, scalar],
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
        reduce_res: View,
        bias: View | Number | None = None,
        scale: View | Number = 1.0,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """`op(data * scale + bias)`, and the sum of each row in `reduce_res`."""
        if dst is None:
            dst = self.new_tile(data.shape, dtype or data.element_type)
        properties: dict[str, Attribute] = {
            "func": ActivationFunctionAttr(op),
            "reduce_op": AluOpAttr(reduce_op),
        }
        column = scalar_operand(properties, "bias_imm", bias)
        factor = scalar_operand(
            properties, "scale_imm", None if scale == 1.0 else scale
        )
        self.emit(
            penguin.ActivationAccumulationOp,
            [dst, reduce_res, data, column, factor],
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
        reduce_res: View | None,
        reverse: bool = False,
        mask: Mask | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
    ) -> View:
        """
        `on_true` where `predicate` is not 0 (is 0 with `reverse`), else `on_false`.

        The largest of each row goes to `reduce_res`, or to a tile nobody reads.
        """
        if reduce_res is None:
            reduce_res = self.new_tile((dst.shape[0], 1), DType.FLOAT32)
        properties: dict[str, Attribute] = {"reduce_op": AluOpAttr(reduce_op)}
        other = scalar_operand(properties, "on_false_imm", on_false)
        set_flags(properties, reverse=reverse)
        self.emit(
            penguin.SelectReduceOp,
            [dst, reduce_res, predicate, on_true, other],
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
        reduce_res: View | None,
        name: str | None = None,
    ) -> View:
        """`exp(src - max_value)`, and the sum of each row in `reduce_res` if given."""
        properties: dict[str, Attribute] = {}
        top = scalar_operand(properties, "max_value_imm", max_value)
        if reduce_res is None:
            self.emit(penguin.ExponentialOp, [dst, src, top], properties, name=name)
        else:
            self.emit(
                penguin.ExponentialReduceOp,
                [dst, reduce_res, src, top],
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
        alpha: float,
        name: str | None = None,
    ) -> View:
        """`op((data op0 imm0) op1 imm1)`; a stage is (operation, scalar, reversed)."""
        properties: dict[str, Attribute] = {"func": ActivationFunctionAttr(op)}
        scalars: list[View | None] = []
        for at, (alu, scalar, reverse) in enumerate(stages):
            if alu is not None:
                properties[f"op{at}"] = AluOpAttr(alu)
            used = None if alu is None and not isinstance(scalar, View) else scalar
            scalars.append(scalar_operand(properties, f"imm{at}", used))
            set_flags(properties, **{f"reverse{at}": reverse})
        if alpha:
            properties["alpha"] = immediate(alpha)
        self.emit(penguin.Activate2Op, [dst, data, *scalars], properties, name=name)
        return dst
