"""Builders of element-wise instructions and reductions (penguin.md 6.3)."""

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, i64
from xdsl.ir import Attribute

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.instructions.elementwise import INT32, WRAPPING_OPS
from xdsl_neuron.dialects.neuron import (
    ActivationFunctionAttr,
    AffineAttr,
    AluOpAttr,
)
from xdsl_neuron.dtypes import DType, promote, promote_scalar
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import ActivationFunction, AluOp, Engine, Space
from xdsl_neuron.tracer.errors import NKIValueError
from xdsl_neuron.tracer.index import Mask, Shape
from xdsl_neuron.tracer.state import Dep
from xdsl_neuron.tracer.tiles import ENGINES, Number, TileBuilders, immediate
from xdsl_neuron.tracer.views import View

_ALU = {member: AluOpAttr(member) for member in AluOp}
_FUNCTIONS = {member: ActivationFunctionAttr(member) for member in ActivationFunction}
COMPARISONS = frozenset(
    {
        AluOp.IS_EQUAL,
        AluOp.NOT_EQUAL,
        AluOp.IS_GT,
        AluOp.IS_GE,
        AluOp.IS_LT,
        AluOp.IS_LE,
        AluOp.LOGICAL_AND,
        AluOp.LOGICAL_OR,
        AluOp.LOGICAL_XOR,
    }
)
"""Operations whose result is a truth value (uint8)."""


def promote_type(*operands: View | Number) -> DType:
    """The result type of a binary operation of the language (nki.md 5.1)."""
    tiles = [operand for operand in operands if isinstance(operand, View)]
    result = tiles[0].element_type
    try:
        for operand in operands:
            if isinstance(operand, View):
                result = promote(result, operand.element_type)
            else:
                result = promote_scalar(result, operand)
    except ValueError as error:
        raise NKIValueError(str(error)) from None
    return result


class ComputeBuilders(TileBuilders):
    """One method per instruction; without `dst` it makes the result tile."""

    def result_type(
        self, op: AluOp, dtype: DType | None, *operands: View | Number
    ) -> DType:
        """
        `dtype`, or uint8 for comparisons, or the promotion of the operands.

        A quotient of integers is fp32: `/` is a true division, as in Python.
        """
        if dtype is not None:
            return dtype
        if op in COMPARISONS:
            return DType.UINT8
        found = promote_type(*operands)
        integers = op is AluOp.DIVIDE and found.is_integer
        return DType.FLOAT32 if integers else found

    def tensortensor(
        self,
        op: AluOp,
        lhs: View,
        rhs: View,
        mask: Mask | None = None,
        dtype: DType | None = None,
        schedule: object = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
        engine: Engine = Engine.UNASSIGNED,
    ) -> View:
        """`lhs op rhs`."""
        if dst is None:
            kind = self.result_type(op, dtype, lhs, rhs)
            lhs, rhs = self.combine_tiles(lhs, rhs)
            if lhs.space is Space.PSUM and rhs.space is Space.PSUM:
                rhs = self.tensor_copy(rhs)
            dst = self.new_tile(lhs.shape, kind)
        if engine is Engine.UNASSIGNED:
            engine = self._integer_engine(op, dst, lhs, rhs)
        self.emit(
            penguin.TensorTensorOp,
            [dst, lhs, rhs],
            {"op": _ALU[op], "engine": ENGINES[engine]},
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def _integer_engine(self, op: AluOp, *tiles: View) -> Engine:
        """
        What computes integers as the language has them: through fp32 in generation 0.1.

        Its add, subtract and multiply are exact all the same (penguin.md 2.2), and
        power runs on GpSIMD alone (nki.isa.tensor_tensor of 2.23).
        """
        exact = not self.masks_allowed or op in WRAPPING_OPS or op is AluOp.POW
        if exact or any(tile.element_type not in INT32 for tile in tiles):
            return Engine.UNASSIGNED
        return Engine.DVE

    def tensorscalar(
        self,
        tensor: View,
        op0: AluOp,
        scalar0: View | Number,
        reverse0: bool = False,
        mask: Mask | None = None,
        dtype: DType | None = None,
        schedule: object = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        *,
        op1: AluOp | None = None,
        scalar1: View | Number | None = None,
        reverse1: bool = False,
        dst: View | None = None,
        engine: Engine = Engine.UNASSIGNED,
    ) -> View:
        """`(tensor op0 scalar0) op1 scalar1`; scalars are numbers or (P, 1) tiles."""
        if dst is None:
            dst = self.new_tile(
                tensor.shape,
                dtype
                or (
                    DType.UINT8 if (op1 or op0) in COMPARISONS else tensor.element_type
                ),
            )
        properties: dict[str, Attribute] = {"op0": _ALU[op0], "engine": ENGINES[engine]}
        scalars: list[View | None] = []
        for key, scalar in (("imm0", scalar0), ("imm1", scalar1)):
            scalars.append(scalar if isinstance(scalar, View) else None)
            if scalar is not None and not isinstance(scalar, View):
                properties[key] = immediate(scalar)
        if op1 is not None:
            properties["op1"] = _ALU[op1]
        if reverse0:
            properties["reverse0"] = UnitAttr()
        if reverse1:
            properties["reverse1"] = UnitAttr()
        self.emit(
            penguin.TensorScalarPtrOp,
            [dst, tensor, *scalars],
            properties,
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def activation(
        self,
        op: ActivationFunction,
        tensor: View,
        bias: View | Number | None = None,
        scale: View | Number = 1.0,
        mask: Mask | None = None,
        dtype: DType | None = None,
        schedule: object = None,
        buffer: object = None,
        name: str | None = None,
        deps: Sequence[Dep] = (),
        dst: View | None = None,
        engine: Engine = Engine.UNASSIGNED,
    ) -> View:
        """`op(tensor * scale + bias)` in fp32."""
        if dst is None:
            dst = self.new_tile(tensor.shape, dtype or tensor.element_type)
        properties: dict[str, Attribute] = {
            "func": _FUNCTIONS[op],
            "engine": ENGINES[engine],
        }
        if bias is not None and not isinstance(bias, View):
            properties["bias_imm"] = immediate(float(bias))
        if not isinstance(scale, View) and scale != 1.0:
            properties["scale_imm"] = immediate(float(scale))
        self.emit(
            penguin.ActivationOp,
            [
                dst,
                tensor,
                bias if isinstance(bias, View) else None,
                scale if isinstance(scale, View) else None,
            ],
            properties,
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def reciprocal(
        self,
        tensor: View,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """`1 / tensor` on the vector engine."""
        if dst is None:
            dst = self.new_tile(tensor.shape, dtype or tensor.element_type)
        self.emit(
            penguin.ReciprocalOp, [dst, tensor], {}, mask=mask, name=name, deps=deps
        )
        return dst

    def tensorreduce(
        self,
        op: AluOp,
        tensor: View,
        axis: Sequence[int],
        mask: Mask | None = None,
        dtype: DType | None = None,
        negate: bool = False,
        keepdims: bool = False,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """
        Folds the dimensions `axis` of a tile.

        The instruction folds the last ones; without `dst` others are brought there by
        permuting the access.
        """
        rank = tensor.ndim
        axes = tuple(sorted(a + rank if a < 0 else a for a in axis))
        if any(not 0 <= a < rank for a in axes):
            raise NKIValueError(f"axis {tuple(axis)} is not within {rank} dimensions")
        if len(set(axes)) < len(axes):
            raise NKIValueError(
                f"axis {tuple(axis)} names a dimension of {tensor.shape} twice"
            )
        kept = [a for a in range(rank) if a not in axes]
        if dst is not None:
            target = dst
        else:
            shape = _reduced_shape(tensor.shape, axes, keepdims)
            target = dst = self.new_tile(shape, dtype or tensor.element_type)
            if axes and axes[0] and axes != tuple(range(rank - len(axes), rank)):
                order = [*kept, *axes]
                if mask is not None:
                    lanes = Mask(tuple(mask.over(tensor.shape)), tensor.shape)
                    places = [order.index(a) for a in range(rank)]
                    mask = lanes.moved(places, tuple(tensor.shape[a] for a in order))
                target = dst.reshaped([tensor.shape[a] for a in kept])
                tensor = tensor.permuted(order)
                axes = tuple(range(rank - len(axes), rank))
        properties: dict[str, Attribute] = {
            "op": _ALU[op],
            "axes": DenseArrayBase.from_list(i64, axes),
        }
        if negate:
            properties["negate"] = UnitAttr()
        self.emit(
            penguin.TensorReduceOp,
            [target, tensor],
            properties,
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def index_value(
        self,
        value: Affine,
        shape: Sequence[int],
        dtype: DType = DType.INT32,
        mask: Mask | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """Writes an affine expression of lanes and loop indices (iota)."""
        if dst is None:
            dst = self.new_tile(shape, dtype)
        self.emit(
            penguin.IndexValueOp,
            [dst],
            {"value": AffineAttr(value)},
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def select(
        self,
        predicate: View,
        on_true: View | Number,
        on_false: View | Number,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """`on_true` where `predicate` is not 0, else `on_false`."""
        if dst is None:
            branches = [b for b in (on_true, on_false) if isinstance(b, View)]
            kind = dtype or (
                promote_type(on_true, on_false) if branches else DType.FLOAT32
            )
            first, *rest = self.combine_tiles(predicate, *branches)
            predicate = first
            given = iter(rest)
            on_true = next(given) if isinstance(on_true, View) else on_true
            on_false = next(given) if isinstance(on_false, View) else on_false
            dst = self.new_tile(predicate.shape, kind)
        properties: dict[str, Attribute] = {}
        tiles: list[View | None] = []
        for key, branch in (("true_imm", on_true), ("false_imm", on_false)):
            tiles.append(branch if isinstance(branch, View) else None)
            if not isinstance(branch, View):
                properties[key] = immediate(branch)
        self.emit(
            penguin.TensorSelectOp,
            [dst, predicate, *tiles],
            properties,
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst

    def tensor_copy_predicated(
        self,
        src: View | Number,
        dst: View,
        predicate: View,
        reverse_pred: bool = False,
        mask: Mask | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
    ) -> View:
        """Copies where `predicate` is not 0 (is 0 with `reverse_pred`)."""
        properties: dict[str, Attribute] = {}
        if not isinstance(src, View):
            properties["imm"] = immediate(src)
        if reverse_pred:
            properties["reverse"] = UnitAttr()
        self.emit(
            penguin.TensorCopyPredicatedOp,
            [dst, predicate, src if isinstance(src, View) else None],
            properties,
            mask=mask,
            name=name,
            deps=deps,
        )
        return dst


def _reduced_shape(shape: Shape, axes: Shape, keepdims: bool) -> Shape:
    if keepdims:
        return tuple(1 if dim in axes else n for dim, n in enumerate(shape))
    return tuple(n for dim, n in enumerate(shape) if dim not in axes)
