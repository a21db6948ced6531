"""Folds of this generation: `nl.loop_reduce` over the iterations of loops, `nl.all`."""

from collections.abc import Sequence
from itertools import product
from math import inf, prod
from typing import Any, Final

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp, Space
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_mask, as_view, hidden_options, is_sequence
from xdsl_neuron.nki.dtype import as_optional_dtype
from xdsl_neuron.nki.language.functions import all as all_nonzero
from xdsl_neuron.nki.ops import as_alu
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKISyntaxError, NKIValueError
from xdsl_neuron.tracer.index import Expr, IndexExpr, Shape
from xdsl_neuron.tracer.layouts import Buffer, Layout
from xdsl_neuron.tracer.symbols import Loop
from xdsl_neuron.tracer.tiles import immediate
from xdsl_neuron.tracer.views import View

_IDENTITIES: Final = {
    AluOp.ADD: 0.0,
    AluOp.MULT: 1.0,
    AluOp.MAX: -inf,
    AluOp.MIN: inf,
}


@api
def all(x: Any, axis: Any, *, dtype: Any = bool, mask: Any = None) -> View:
    """1 where all elements are not 0, a truth value by default."""
    return all_nonzero(x, axis, dtype, mask=mask)


@api
def loop_reduce(
    x: Any,
    op: Any,
    loop_indices: Any,
    *,
    dtype: Any = None,
    mask: Any = None,
    **hidden: Any,
) -> View:
    """
    The fold of `x` over all iterations of loops; it is there behind the loops.

    An fp32 tile in front of the outermost of the loops takes the result of each
    iteration, in order; one of another `dtype` is cast from it. Loops in there that are
    not folded have a tile for each of their iterations.
    """
    trace, tile, alu = session(), as_view(x, "x"), as_alu(op, "loop_reduce")
    kind = as_optional_dtype(dtype) or tile.element_type
    if alu not in _IDENTITIES:
        names = ", ".join(each.value for each in _IDENTITIES)
        raise NKIValueError(
            f"{alu} is not supported in 'loop_reduce', expected one of {names}"
        )
    clip = as_mask(mask)
    outer, kept = _folded(loop_indices if is_sequence(loop_indices) else [loop_indices])
    total = _accumulator(tile, DType.FLOAT32, outer, kept, _IDENTITIES[alu])
    options = hidden_options("loop_reduce", hidden)
    trace.tensortensor(alu, total, tile, clip, dst=total, **options)
    trace.reductions.add(total.base.value)
    if kind is DType.FLOAT32:
        return total
    result = _accumulator(tile, kind, outer, kept)
    trace.reductions.add(result.base.value)
    return trace.tensor_copy(total, result)


def _accumulator(
    tile: View,
    kind: DType,
    outer: Loop,
    kept: Sequence[Loop],
    fill: float | None = None,
) -> View:
    """
    A tile in front of the loop `outer`, for this iteration of the loops `kept`.

    `fill` is what it starts with.
    """
    trace, operation = session(), outer.operation
    partitions, *free = tile.shape
    counts = [len(loop.values) for loop in kept]
    buffer = trace.create_tensor(
        (partitions, *counts, *free),
        kind,
        Space.SBUF,
        blocks=prod(counts),
        before=operation,
    )
    size, offset = prod(free), Affine(0)
    strides = [prod(counts[at + 1 :]) * size for at in range(len(kept))]
    if fill is not None:
        for start in product(*(range(count) for count in counts)):
            at = sum(k * stride for k, stride in zip(start, strides, strict=True))
            trace.emit(
                penguin.MemsetOp,
                [_block(buffer, tile.shape, at)],
                {"value": immediate(fill)},
                before=operation,
            )
    for loop, stride in zip(kept, strides, strict=True):
        step = Affine.index(loop.number) - loop.values.start
        offset = offset + step.floordiv(loop.values.step) * stride
    return _block(buffer, tile.shape, offset.constant if offset.is_constant else offset)


def _block(buffer: Buffer, shape: Shape, offset: Expr) -> View:
    """One tile of a buffer of blocks."""
    view = session().view.of(buffer)
    partitions, *free = shape
    pairs = [(1, partitions)]
    step = 1
    for extent in reversed(free):
        pairs.insert(1, (step, extent))
        step *= extent
    return view.with_layout(Layout(tuple(pairs), 0, 0, offset, view.element_type))


def _folded(indices: Sequence[Any]) -> tuple[Loop, list[Loop]]:
    """The outermost of the loops, and the open ones in it that are not folded."""
    trace = session()
    loops = [loop for loop in trace.loops if isinstance(loop, Loop) and loop.open]
    asked: list[Loop] = []
    for index in indices:
        found = [
            loop
            for loop in loops
            if isinstance(index, IndexExpr)
            and not index.shape
            and index.expr == Affine.index(loop.number)
        ]
        if not found:
            raise NKISyntaxError(
                f"loop_indices: {index!r} is not the index of an enclosing "
                "affine_range or sequential_range"
            )
        asked += found
    if not asked:
        raise NKIValueError("loop_indices must name at least one loop")
    first = min(asked, key=lambda loop: loop.number)
    kept = [loop for loop in loops if loop.number > first.number and loop not in asked]
    return first, kept
