"""Selections by an affine value, by a range of columns, or with a row reduction."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from xdsl_neuron.dialects.instructions import selection as isa
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.mask import bind
from xdsl_neuron.isa import AluOp
from xdsl_neuron.machine.accumulators import RowFold, forgetting
from xdsl_neuron.machine.build import Array, Build
from xdsl_neuron.machine.calls import scalar, types_of
from xdsl_neuron.machine.elementwise import Column, Elementwise, Tensor
from xdsl_neuron.machine.lanes import FULL, lane_values
from xdsl_neuron.machine.site import Emitter, Scope
from xdsl_neuron.numerics import selection as numerics
from xdsl_neuron.numerics.alu import evaluate


class AffineSelect(Elementwise):
    """A select whose predicate is an affine value, compared with 0."""

    def __init__(self, scope: Scope, op: isa.AffineSelect) -> None:
        types = types_of(op)
        select = numerics.select(types["dst"], types["src"], types["dst"])
        fill = float(op.fill.value)

        def kernel(out: Array, x: Array, keep: Array) -> None:
            select(out, keep, x, fill)

        super().__init__(scope, op, lambda _: kernel, (Tensor("src"),))
        self._fixed = None
        self._value = op.value.data
        self._compare = op.compare.data
        self._keep: NDArray[np.bool_] = np.zeros(0, np.bool_)

    def emit(self, build: Build) -> None:
        box = self.box(build)
        if box is None:
            return
        value = bind(self._value, [build.values[depth] for depth in self.depths])
        nums = self.data["dst"].shape
        ranges = tuple([(0, num) for num in nums]) if box is FULL else box.ranges
        self._keep = _keep(value, ranges, self._compare)
        super().emit(build)

    def store(
        self,
        build: Build,
        out: Array,
        arguments: Sequence[Any],
        mask: NDArray[np.bool_] | None,
    ) -> None:
        keep = self._keep.reshape(out.shape)
        super().store(build, out, (*arguments, keep), mask)


@lru_cache(maxsize=64)
def _keep(
    value: Affine, ranges: tuple[tuple[int, int], ...], compare: AluOp
) -> NDArray[np.bool_]:
    """Where the int32 values compare with 0, of the full shape of the ranges."""
    shape = tuple(high - low for low, high in ranges)
    values = lane_values(value, ranges).astype(np.int32)
    # The sign of an int32 is exact in fp32.
    kept = evaluate(compare, np.sign(values).astype(np.float32)) != 0
    return np.broadcast_to(kept, shape)


def _affine_select(scope: Scope, op: isa.AffineSelect) -> Emitter:
    return AffineSelect(scope, op).emit


def _range_arguments(op: isa.RangeSelect) -> tuple[object, ...]:
    start = 0.0 if op.range_start is None else float(op.range_start.value)
    return (Tensor("src"), Column("bound0"), Column("bound1"), start)


def _range_select(scope: Scope, op: isa.RangeSelect) -> Emitter:
    types = types_of(op)
    kernel = numerics.range_select(
        types["dst"], types["src"], op.compare0.data, op.compare1.data
    )
    emit = Elementwise(scope, op, lambda _: kernel, _range_arguments(op)).emit
    return forgetting(scope, op, emit)


def _range_select_reduce(scope: Scope, op: isa.RangeSelectReduce) -> Emitter:
    types = types_of(op)
    kernel = numerics.range_select_reduce(
        types["dst"],
        types["src"],
        op.compare0.data,
        op.compare1.data,
        op.reduce_op.data,
    )
    arguments = _range_arguments(op)
    return RowFold(scope, op, kernel, arguments, op.reduce_op.data).emit


def _select_reduce(scope: Scope, op: isa.SelectReduce) -> Emitter:
    types = types_of(op)
    kernel = numerics.select_reduce(
        types["dst"], types["on_true"], op.reduce_op.data, op.reverse is not None
    )
    on_false = scalar(op, "on_false", op.on_false_imm)
    arguments = (Tensor("predicate"), Tensor("on_true"), on_false)
    return RowFold(scope, op, kernel, arguments, op.reduce_op.data).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.AffineSelect: _affine_select,
    isa.RangeSelect: _range_select,
    isa.RangeSelectReduce: _range_select_reduce,
    isa.SelectReduce: _select_reduce,
}
