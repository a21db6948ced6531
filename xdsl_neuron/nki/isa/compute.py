"""Element-wise instructions and reductions (nki.md 1.1)."""

from typing import Any

from xdsl_neuron.dialects.instructions.compute import fused_rank
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp, Engine
from xdsl_neuron.nki.accumulators import as_fold, as_reduce_op
from xdsl_neuron.nki.arguments import (
    as_affine,
    as_axes,
    as_flag,
    as_integer,
    as_name,
    as_operand,
    as_optional_operand,
    as_pattern,
    as_value_of,
    as_view,
)
from xdsl_neuron.nki.dtype import as_dtype
from xdsl_neuron.nki.enums import as_engine, engine, reduce_cmd
from xdsl_neuron.nki.instruction import instruction
from xdsl_neuron.nki.ops import as_alu, as_function
from xdsl_neuron.nki.stages import as_second_stage, as_stage
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKIValueError
from xdsl_neuron.tracer.views import View

_UNKNOWN = engine.unknown
_SCALAR = engine.scalar


def _on(value: Any) -> Engine:
    return Engine.UNASSIGNED if value is _UNKNOWN else as_engine(value)


def as_activation_engine(value: Any) -> Engine:
    """The scalar engine is the one that activations run on by default."""
    return Engine.UNASSIGNED if value is _SCALAR else as_engine(value)


@instruction
def tensor_tensor(
    dst: Any,
    data1: Any,
    data2: Any,
    op: Any,
    engine: Any = _UNKNOWN,
    name: str | None = None,
) -> None:
    """`dst = data1 op data2`."""
    session().tensortensor(
        as_alu(op, "tensor_tensor"),
        as_view(data1, "data1"),
        as_view(data2, "data2"),
        dst=as_view(dst, "dst"),
        engine=_on(engine),
        name=as_name(name),
    )


@instruction
def tensor_scalar(
    dst: Any,
    data: Any,
    op0: Any,
    operand0: Any,
    reverse0: bool = False,
    op1: Any = None,
    operand1: Any = None,
    reverse1: bool = False,
    engine: Any = _UNKNOWN,
    name: str | None = None,
) -> None:
    """`dst = (data op0 operand0) op1 operand1`."""
    api_name = "tensor_scalar"
    first = as_stage(op0, operand0, reverse0, api_name, ("op0", "operand0"))
    second = as_second_stage(op1, operand1, reverse1, api_name, ("op1", "operand1"))
    session().tensorscalar(
        as_view(data, "data"),
        first.op,
        first.scalar,
        first.reverse,
        op1=second[0],
        scalar1=second[1],
        reverse1=second[2],
        dst=as_view(dst, "dst"),
        engine=_on(engine),
        name=as_name(name),
    )


@instruction
def tensor_copy(
    dst: Any,
    src: Any,
    engine: Any = _UNKNOWN,
    name: str | None = None,
    *,
    dtype: Any = None,
) -> None:
    """
    `dst = src` on chip, cast where the types differ.

    `dtype` is of release 0.2's first kernels; it can only repeat the destination's.
    """
    if dtype is not None and as_dtype(dtype) is not as_view(dst, "dst").element_type:
        raise NKIValueError(
            f"tensor_copy(dtype={as_dtype(dtype).nki_name}) differs from that of dst, "
            f"{dst!r}"
        )
    session().tensor_copy(
        as_view(src, "src"), as_view(dst, "dst"), engine=_on(engine), name=as_name(name)
    )


@instruction
def activation(
    dst: Any,
    op: Any,
    data: Any,
    bias: Any = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: Any = None,
    reduce_cmd: Any = reduce_cmd.idle,
    engine: Any = _SCALAR,
    name: str | None = None,
) -> None:
    """
    `dst = op(data * scale + bias)`, its rows added up with a `reduce_cmd`.

    `engine` (0.7) is the scalar engine or, on trn3 and without a fold, GpSIMD.
    """
    fold = as_fold(reduce_cmd, reduce_res)
    if not fold.is_absent:
        session().activation_reduce(
            as_function(op, "activation"),
            as_view(data, "data"),
            as_reduce_op(reduce_op, "activation", AluOp.ADD),
            fold,
            as_optional_operand(bias, "bias"),
            as_operand(scale, "scale"),
            dst=as_view(dst, "dst"),
            name=as_name(name),
            engine=as_activation_engine(engine),
        )
        return
    session().activation(
        as_function(op, "activation"),
        as_view(data, "data"),
        as_optional_operand(bias, "bias"),
        as_operand(scale, "scale"),
        dst=as_view(dst, "dst"),
        name=as_name(name),
        engine=as_activation_engine(engine),
    )


@instruction
def tensor_reduce(
    dst: Any,
    op: Any,
    data: Any,
    axis: Any,
    negate: bool = False,
    keepdims: bool = False,
    name: str | None = None,
) -> None:
    """Folds the last free dimensions `axis` of `data` into `dst`."""
    session().tensorreduce(
        as_alu(op, "tensor_reduce"),
        as_view(data, "data"),
        as_axes(axis),
        negate=as_flag(negate, "negate"),
        dst=as_view(dst, "dst"),
        name=as_name(name),
    )


@instruction
def reciprocal(dst: Any, data: Any, name: str | None = None) -> None:
    """`dst = 1 / data`."""
    session().reciprocal(
        as_view(data, "data"), dst=as_view(dst, "dst"), name=as_name(name)
    )


@instruction
def memset(
    dst: Any, value: Any, engine: Any = _UNKNOWN, name: str | None = None
) -> None:
    """Fills `dst` with a value of its type: a float is none of an integer type."""
    target = as_view(dst, "dst")
    session().memset(
        value=as_value_of(target.element_type, value, "value"),
        dst_tile=target,
        engine=_on(engine),
        name=as_name(name),
    )


@instruction
def iota(
    dst: Any,
    pattern: Any,
    offset: Any = 0,
    channel_multiplier: Any = 0,
    name: str | None = None,
) -> None:
    """`dst = offset + channel_multiplier * partition + sum(step * index)`."""
    target = as_view(dst, "dst")
    pairs = as_pattern(pattern, "iota")
    value = as_affine(offset, "offset")
    value += Affine.lane(0) * as_integer(channel_multiplier, "channel_multiplier")
    for lane, (step, _) in enumerate(pairs, start=1):
        value = value + Affine.lane(lane) * step
    shaped = with_free_shape(target, tuple(num for _, num in pairs), "iota")
    session().index_value(value, (), dst=shaped, name=as_name(name))


def with_free_shape(view: View, free: tuple[int, ...], api_name: str) -> View:
    """A view with its free dimensions in another shape."""
    if view.shape[1:] == free:
        return view
    count = 1
    for extent in free:
        count *= extent
    per_partition = view.size // view.shape[0]
    if count != per_partition:
        raise NKIValueError(
            f"{api_name} pattern has {count} elements per partition, but must have "
            f"exactly {per_partition}"
        )
    return view.reshaped((view.shape[0], *free))


PREDICATED_FREE_DIMS = 3
"""Free dimensions of `tensor_copy_predicated` (its page of NKI 0.7, 2.33)."""


def _check_predicated_rank(name: str, view: View) -> None:
    """
    Rank 4 at most, with the partitions, once dimensions that lie together are one.

    A rule of the language only: lowering copies under masks of four free dimensions.
    """
    dims = fused_rank(view.layout.pairs[1:])
    if dims > PREDICATED_FREE_DIMS:
        raise NKIValueError(
            f"tensor_copy_predicated: `{name}` has {dims} free dimensions, at most "
            f"{PREDICATED_FREE_DIMS}; reshape the tile, or loop over one dimension"
        )


@instruction
def tensor_copy_predicated(
    dst: Any,
    src: Any,
    predicate: Any,
    reverse_pred: bool = False,
    name: str | None = None,
) -> None:
    """`dst = src` where `predicate` is not 0."""
    source = as_operand(src, "src")
    reverse_pred = as_flag(reverse_pred, "reverse_pred")
    if reverse_pred and isinstance(source, View):
        raise NKIValueError("`reverse_pred` only supported if `src` is scalar input.")
    target, where = as_view(dst, "dst"), as_view(predicate, "predicate")
    for key, view in (("dst", target), ("predicate", where), ("src", source)):
        if isinstance(view, View):
            _check_predicated_rank(key, view)
    session().tensor_copy_predicated(
        source,
        target,
        where,
        reverse_pred,
        name=as_name(name),
    )
