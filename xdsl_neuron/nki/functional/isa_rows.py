"""Searches, statistics, selections and random zeroes that return their result."""

from typing import Any

from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp
from xdsl_neuron.nki.accumulators import (
    as_fold,
    as_range_start,
    as_reduce_op,
    check_fp32_min,
)
from xdsl_neuron.nki.api import one_instruction
from xdsl_neuron.nki.arguments import (
    as_mask,
    as_number,
    as_operand,
    as_view,
    hidden_options,
)
from xdsl_neuron.nki.dtype import as_optional_dtype
from xdsl_neuron.nki.enums import reduce_cmd
from xdsl_neuron.nki.ops import OPS, as_alu
from xdsl_neuron.nki.trace import session
from xdsl_neuron.numerics.selection import FP32_MIN
from xdsl_neuron.tracer.errors import NKISyntaxError, NKIValueError
from xdsl_neuron.tracer.index import IndexExpr, Mask, Shape, broadcast_shapes
from xdsl_neuron.tracer.views import View


@one_instruction
def max8(*, src: Any, mask: Any = None, dtype: Any = None, **hidden: Any) -> View:
    """The 8 largest elements of each partition, descending."""
    return session().max8(
        as_view(src, "src"),
        as_mask(mask),
        as_optional_dtype(dtype),
        **hidden_options("max8", hidden),
    )


@one_instruction
def nc_find_index8(
    *, data: Any, vals: Any, mask: Any = None, dtype: Any = None, **hidden: Any
) -> View:
    """Where each of 8 values first occurs in its partition, all ones where nowhere."""
    return session().find_index8(
        as_view(data, "data"),
        as_view(vals, "vals"),
        as_mask(mask),
        as_optional_dtype(dtype),
        **hidden_options("nc_find_index8", hidden),
    )


@one_instruction
def nc_match_replace8(
    *,
    data: Any,
    vals: Any,
    imm: Any,
    dst_idx: Any = None,
    mask: Any = None,
    dtype: Any = None,
    **hidden: Any,
) -> View:
    """`data` with the first occurrence of each of 8 values replaced by `imm`."""
    return session().match_replace8(
        as_view(data, "data"),
        as_view(vals, "vals"),
        float(as_number(imm, "imm")),
        None if dst_idx is None else as_view(dst_idx, "dst_idx"),
        as_mask(mask),
        as_optional_dtype(dtype),
        **hidden_options("nc_match_replace8", hidden),
    )


@one_instruction
def bn_stats(data: Any, *, mask: Any = None, dtype: Any = None, **hidden: Any) -> View:
    """Count, mean and M2 of the even elements, then of the odd ones."""
    return session().bn_stats(
        as_view(data, "data"),
        as_mask(mask),
        as_optional_dtype(dtype),
        **hidden_options("bn_stats", hidden),
    )


@one_instruction
def bn_aggr(data: Any, *, mask: Any = None, dtype: Any = None, **hidden: Any) -> View:
    """Mean and variance of `bn_stats` triples."""
    return session().bn_aggr(
        as_view(data, "data"),
        as_mask(mask),
        as_optional_dtype(dtype),
        **hidden_options("bn_aggr", hidden),
    )


@one_instruction
def tensor_partition_reduce(
    op: Any, data: Any, *, mask: Any = None, dtype: Any = None, **hidden: Any
) -> View:
    """Folds the partitions of `data` into one."""
    return session().partition_reduce(
        as_alu(op, "tensor_partition_reduce"),
        as_view(data, "data"),
        as_mask(mask),
        as_optional_dtype(dtype),
        **hidden_options("tensor_partition_reduce", hidden),
    )


@one_instruction
def affine_select(
    pred: Any,
    on_true_tile: Any,
    on_false_value: Any,
    *,
    mask: Any = None,
    dtype: Any = None,
    **hidden: Any,
) -> View:
    """
    `on_true_tile` where `pred` holds, else `on_false_value`.

    `pred` is one comparison of index expressions, or an expression that must be > 0.
    A tile in PSUM is copied to SBUF first: GpSIMD reads no PSUM, and kernels of this
    generation leave that copy to the compiler.
    """
    tile = as_view(on_true_tile, "on_true_tile")
    value, compare = _predicate(pred, tile.shape)
    return session().affine_select(
        value,
        compare,
        session().in_sbuf(tile),
        float(as_number(on_false_value, "on_false_value")),
        as_mask(mask),
        as_optional_dtype(dtype),
        **hidden_options("affine_select", hidden),
    )


def _predicate(pred: Any, shape: Shape) -> tuple[Affine, AluOp]:
    """The affine value and how it is compared with 0, over the dims of a tile."""
    compare = AluOp.IS_GE
    if isinstance(pred, IndexExpr):
        pred, compare = Mask((Affine.of(pred.expr),), pred.shape), AluOp.IS_GT
    if not isinstance(pred, Mask):
        raise NKISyntaxError(
            "'affine_select' takes a comparison of index expressions, was provided "
            f"{pred!r}"
        )
    if len(pred.predicates) != 1:
        raise NKISyntaxError(
            f"'affine_select' only supports single predicate, was provided {pred}"
        )
    if broadcast_shapes(pred.shape, shape) != shape:
        raise NKIValueError(
            f"affine_select: pred of shape {pred.shape} is larger than the tile's "
            f"{shape}"
        )
    (value,) = pred.over(shape)
    return value, compare


@one_instruction
def range_select(
    *,
    on_true_tile: Any,
    comp_op0: Any,
    comp_op1: Any,
    bound0: Any,
    bound1: Any,
    reduce_cmd: Any = reduce_cmd.idle,
    reduce_res: Any = None,
    reduce_op: Any = OPS["maximum"],
    range_start: Any = 0,
    on_false_value: Any = FP32_MIN,
    mask: Any = None,
    dtype: Any = None,
    **hidden: Any,
) -> View:
    """
    `on_true_tile` where column `range_start + i` is in range, else the smallest fp32.

    Each row's largest result is folded into the accumulators.
    """
    check_fp32_min(on_false_value)
    return session().range_select(
        as_view(on_true_tile, "on_true_tile"),
        (
            as_alu(comp_op0, "range_select", "comp_op0"),
            as_alu(comp_op1, "range_select", "comp_op1"),
        ),
        (as_view(bound0, "bound0"), as_view(bound1, "bound1")),
        as_range_start(range_start),
        as_reduce_op(reduce_op, "range_select", AluOp.MAX),
        as_fold(reduce_cmd, reduce_res),
        as_mask(mask),
        as_optional_dtype(dtype),
        **hidden_options("range_select", hidden),
    )


@one_instruction
def sequence_bounds(*, segment_ids: Any, dtype: Any = None, **hidden: Any) -> View:
    """The [start, end) of the segment each element is in: (1, N) to (1, 2, N)."""
    return session().sequence_bounds(
        as_view(segment_ids, "segment_ids"),
        as_optional_dtype(dtype),
        **hidden_options("sequence_bounds", hidden),
    )


@one_instruction
def dropout(
    data: Any, prob: Any, *, mask: Any = None, dtype: Any = None, **hidden: Any
) -> View:
    """`data`, but 0 with probability `prob`."""
    return session().dropout(
        as_view(data, "data"),
        as_operand(prob, "prob"),
        as_mask(mask),
        as_optional_dtype(dtype),
        **hidden_options("dropout", hidden),
    )
