"""Searches, statistics and selections on whole rows (nki.md 1.1)."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp
from xdsl_neuron.nki.accumulators import (
    as_fold,
    as_range_start,
    as_reduce_op,
    check_fp32_min,
)
from xdsl_neuron.nki.arguments import (
    as_affine,
    as_integer,
    as_name,
    as_number,
    as_pattern,
    as_view,
)
from xdsl_neuron.nki.enums import reduce_cmd
from xdsl_neuron.nki.instruction import NkiInstruction, instruction
from xdsl_neuron.nki.isa.compute import with_free_shape
from xdsl_neuron.nki.isa.matrix import as_accumulate, as_array_tile
from xdsl_neuron.nki.ops import OPS, as_alu
from xdsl_neuron.nki.trace import session
from xdsl_neuron.numerics.selection import FP32_MIN
from xdsl_neuron.tracer.views import View


@instruction
def max8(dst: Any, src: Any, name: str | None = None) -> None:
    """The 8 largest elements of each partition, descending."""
    session().max8(as_view(src, "src"), dst=as_view(dst, "dst"), name=as_name(name))


@instruction
def nc_find_index8(dst: Any, data: Any, vals: Any, name: str | None = None) -> None:
    """Where each of 8 values first occurs in its partition, all ones where nowhere."""
    session().find_index8(
        as_view(data, "data"),
        as_view(vals, "vals"),
        dst=as_view(dst, "dst"),
        name=as_name(name),
    )


@instruction
def nc_match_replace8(
    dst: Any,
    data: Any,
    vals: Any,
    imm: Any,
    dst_idx: Any = None,
    name: str | None = None,
) -> None:
    """`dst` is `data` with the first occurrence of each of 8 values replaced."""
    session().match_replace8(
        as_view(data, "data"),
        as_view(vals, "vals"),
        float(as_number(imm, "imm")),
        None if dst_idx is None else as_view(dst_idx, "dst_idx"),
        dst=as_view(dst, "dst"),
        name=as_name(name),
    )


@instruction
def bn_stats(dst: Any, data: Any, name: str | None = None) -> None:
    """Count, mean and M2 of the even elements, then of the odd ones."""
    session().bn_stats(
        as_view(data, "data"), dst=as_view(dst, "dst"), name=as_name(name)
    )


@instruction
def bn_aggr(dst: Any, data: Any, name: str | None = None) -> None:
    """Mean and variance of `bn_stats` triples."""
    session().bn_aggr(
        as_view(data, "data"), dst=as_view(dst, "dst"), name=as_name(name)
    )


@instruction
def tensor_partition_reduce(
    dst: Any, op: Any, data: Any, name: str | None = None
) -> None:
    """Folds the partitions of `data` into one."""
    session().partition_reduce(
        as_alu(op, "tensor_partition_reduce"),
        as_view(data, "data"),
        dst=as_view(dst, "dst"),
        name=as_name(name),
    )


def _offset_first(
    select: Callable[..., NkiInstruction | None],
) -> Callable[..., NkiInstruction | None]:
    """Takes release 0.2's order too, `offset` in front of `channel_multiplier`."""

    @wraps(select)
    def either(*args: Any, **named: Any) -> NkiInstruction | None:
        if len(args) > 4 and isinstance(args[4], View):
            dst, pattern, offset, *rest = args
            args, named = (dst, pattern, *rest), {"offset": offset, **named}
        return select(*args, **named)

    return either


@_offset_first
@instruction
def affine_select(
    dst: Any,
    pattern: Any,
    channel_multiplier: Any,
    on_true_tile: Any,
    on_false_value: Any,
    cmp_op: Any = OPS["equal"],
    offset: Any = 0,
    name: str | None = None,
) -> None:
    """
    `on_true_tile` where `value cmp_op 0`, else `on_false_value`.

    value = offset + channel_multiplier * partition + sum(step * index).
    """
    pairs = as_pattern(pattern, "affine_select")
    value = as_affine(offset, "offset")
    value = value + Affine.lane(0) * as_integer(
        channel_multiplier, "channel_multiplier"
    )
    for lane, (step, _) in enumerate(pairs, start=1):
        value = value + Affine.lane(lane) * step
    free = tuple(num for _, num in pairs)
    session().affine_select(
        value,
        as_alu(cmp_op, "affine_select", "cmp_op"),
        with_free_shape(as_view(on_true_tile, "on_true_tile"), free, "affine_select"),
        float(as_number(on_false_value, "on_false_value")),
        dst=with_free_shape(as_view(dst, "dst"), free, "affine_select"),
        name=as_name(name),
    )


@instruction
def range_select(
    dst: Any,
    on_true_tile: Any,
    comp_op0: Any,
    comp_op1: Any,
    bound0: Any,
    bound1: Any,
    reduce_cmd: Any = reduce_cmd.reset_reduce,
    reduce_res: Any = None,
    reduce_op: Any = OPS["maximum"],
    range_start: Any = 0,
    on_false_value: Any = FP32_MIN,
    name: str | None = None,
) -> None:
    """
    `on_true_tile` where column `range_start + i` is in range, else the smallest fp32.

    Each row's largest result is folded into the accumulators.
    """
    check_fp32_min(on_false_value)
    session().range_select(
        as_view(on_true_tile, "on_true_tile"),
        (
            as_alu(comp_op0, "range_select", "comp_op0"),
            as_alu(comp_op1, "range_select", "comp_op1"),
        ),
        (as_view(bound0, "bound0"), as_view(bound1, "bound1")),
        as_range_start(range_start),
        as_reduce_op(reduce_op, "range_select", AluOp.MAX),
        as_fold(reduce_cmd, reduce_res),
        dst=as_view(dst, "dst"),
        name=as_name(name),
    )


def _row(view: View) -> View:
    """A tile with one free dimension, whatever shape it is given in."""
    if view.ndim <= 2 or not view.space.on_chip:
        return view
    return view.reshaped((view.shape[0], view.size // view.shape[0]))


@instruction
def nonzero_with_count(
    dst: Any,
    src: Any,
    index_offset: Any = 0,
    padding_val: Any = -1,
    name: str | None = None,
) -> None:
    """Indices of non-zero elements, then padding; the last element is their count."""
    session().nonzero_with_count(
        _row(as_view(dst, "dst")),
        _row(as_view(src, "src")),
        as_integer(index_offset, "index_offset"),
        as_integer(padding_val, "padding_val"),
        as_name(name),
    )


@instruction
def sequence_bounds(dst: Any, segment_ids: Any, name: str | None = None) -> None:
    """The [start, end) of the segment each element is in: (1, N) to (1, 2, N)."""
    session().sequence_bounds(
        as_view(segment_ids, "segment_ids"), dst=as_view(dst, "dst"), name=as_name(name)
    )


@instruction
def quantize_mx(dst: Any, src: Any, dst_scale: Any, name: str | None = None) -> None:
    """Packs 16-bit floats four to a container, a scale for each block (trn3)."""
    session().quantize_mx(
        as_view(dst, "dst"),
        as_view(src, "src"),
        as_view(dst_scale, "dst_scale"),
        as_name(name),
    )


@instruction
def nc_matmul_mx(
    dst: Any,
    stationary: Any,
    moving: Any,
    stationary_scale: Any,
    moving_scale: Any,
    tile_position: Any = None,
    tile_size: Any = None,
    accumulate: bool | None = None,
    name: str | None = None,
) -> None:
    """A matmul of packed operands with their scales (trn3)."""
    session().matmul_mx(
        as_view(dst, "dst"),
        as_view(stationary, "stationary"),
        as_view(moving, "moving"),
        (
            as_view(stationary_scale, "stationary_scale"),
            as_view(moving_scale, "moving_scale"),
        ),
        as_accumulate(accumulate),
        as_name(name),
        as_array_tile("nc_matmul_mx", tile_position, tile_size),
    )
