"""`neuronxcc.nki.isa`: instructions that return their result (penguin.md 7)."""

from typing import Any, NoReturn

from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp
from xdsl_neuron.nki.absent import absent
from xdsl_neuron.nki.accumulators import as_fold, as_reduce_op
from xdsl_neuron.nki.api import one_instruction
from xdsl_neuron.nki.arguments import (
    as_axes,
    as_flag,
    as_integer,
    as_integers,
    as_mask,
    as_number,
    as_operand,
    as_shape,
    as_view,
    dma_options,
    hidden_options,
    is_sequence,
)
from xdsl_neuron.nki.dtype import as_dtype
from xdsl_neuron.nki.enums import (
    as_dge,
    as_engine,
    as_oob,
    dge_mode,
    engine,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
)
from xdsl_neuron.nki.functional.dynamic import (
    check_result_type,
    tensor_copy_dynamic_dst,
    tensor_copy_dynamic_src,
)
from xdsl_neuron.nki.functional.isa_accumulators import (
    activation_reduce,
    as_bias,
    scalar_tensor_tensor,
    select_reduce,
    tensor_scalar_cumulative,
    tensor_scalar_reduce,
    tensor_tensor_scan,
)
from xdsl_neuron.nki.functional.isa_matrix import nc_matmul, nc_matmul_sparse
from xdsl_neuron.nki.functional.isa_rows import (
    affine_select,
    bn_aggr,
    bn_stats,
    dropout,
    max8,
    nc_find_index8,
    nc_match_replace8,
    range_select,
    sequence_bounds,
    tensor_partition_reduce,
)
from xdsl_neuron.nki.isa.matrix import get_nc_version
from xdsl_neuron.nki.ops import as_alu, as_function
from xdsl_neuron.nki.stages import as_second_stage, as_stage
from xdsl_neuron.nki.trace import session
from xdsl_neuron.nki.truth import made_as
from xdsl_neuron.tracer.compute import promote_type
from xdsl_neuron.tracer.errors import NKISyntaxError, NKIValueError
from xdsl_neuron.tracer.index import IndexExpr
from xdsl_neuron.tracer.views import View

_UNKNOWN = engine.unknown


def _kind(dtype: Any) -> DType | None:
    return None if dtype is None else as_dtype(dtype)


def _check_partitions(api: str, **tiles: View) -> None:
    """An instruction broadcasts no partitions (err_num_partition_mismatch, 2.26)."""
    if len({tile.shape[:1] for tile in tiles.values()}) > 1:
        given = ", ".join(f"{name}{list(t.shape)}" for name, t in tiles.items())
        raise NKIValueError(
            "number of partitions (dimension 0 size of a tile) mismatch in parameters "
            f"({given}) of '{api}'; call broadcast_to on the smaller one, or use "
            "nl.add and its kin, which broadcast"
        )


@one_instruction
def nc_transpose(
    data: Any, *, mask: Any = None, dtype: Any = None, engine: Any = _UNKNOWN
) -> View:
    """Swaps partitions and the free dimension of a tile."""
    return session().transpose(
        as_view(data, "data"),
        dtype=_kind(dtype),
        engine=as_engine(engine),
        mask=as_mask(mask),
    )


@one_instruction
def tensor_tensor(
    data1: Any,
    data2: Any,
    op: Any,
    *,
    dtype: Any = None,
    mask: Any = None,
    engine: Any = _UNKNOWN,
    **hidden: Any,
) -> View:
    """`data1 op data2`, of their promoted type also where it compares."""
    first, second = as_view(data1, "data1"), as_view(data2, "data2")
    _check_partitions("tensor_tensor", data1=first, data2=second)
    return session().tensortensor(
        as_alu(op, "tensor_tensor"),
        first,
        second,
        as_mask(mask),
        _kind(dtype) or promote_type(first, second),
        engine=as_engine(engine),
        **hidden_options("tensor_tensor", hidden),
    )


@one_instruction
def tensor_scalar(
    data: Any,
    op0: Any,
    operand0: Any,
    reverse0: bool = False,
    op1: Any = None,
    operand1: Any = None,
    reverse1: bool = False,
    *,
    dtype: Any = None,
    mask: Any = None,
    engine: Any = _UNKNOWN,
    **hidden: Any,
) -> View:
    """`(data op0 operand0) op1 operand1`, of the type of `data`."""
    tile = as_view(data, "data")
    api_name = "tensor_scalar"
    first = as_stage(op0, operand0, reverse0, api_name, ("op0", "operand0"))
    second = as_second_stage(op1, operand1, reverse1, api_name, ("op1", "operand1"))
    return session().tensorscalar(
        tile,
        first.op,
        first.scalar,
        first.reverse,
        as_mask(mask),
        _kind(dtype) or tile.element_type,
        op1=second[0],
        scalar1=second[1],
        reverse1=second[2],
        engine=as_engine(engine),
        **hidden_options("tensor_scalar", hidden),
    )


@one_instruction
def activation(
    op: Any,
    data: Any,
    *,
    bias: Any = None,
    scale: Any = 1.0,
    reduce_op: Any = None,
    reduce_res: Any = None,
    reduce_cmd: Any = reduce_cmd.idle,
    mask: Any = None,
    dtype: Any = None,
    **hidden: Any,
) -> View:
    """`op(data * scale + bias)` on the scalar engine."""
    fold = as_fold(reduce_cmd, reduce_res)
    if not fold.is_absent:
        return session().activation_reduce(
            as_function(op, "activation"),
            as_view(data, "data"),
            as_reduce_op(reduce_op, "activation", AluOp.ADD),
            fold,
            as_bias(bias, "activation"),
            as_operand(scale, "scale"),
            as_mask(mask),
            _kind(dtype),
            **hidden_options("activation", hidden),
        )
    return session().activation(
        as_function(op, "activation"),
        as_view(data, "data"),
        as_bias(bias, "activation"),
        as_operand(scale, "scale"),
        as_mask(mask),
        _kind(dtype),
        **hidden_options("activation", hidden),
    )


@one_instruction
def tensor_reduce(
    op: Any,
    data: Any,
    axis: Any,
    *,
    mask: Any = None,
    dtype: Any = None,
    negate: bool = False,
    keepdims: bool = False,
    **hidden: Any,
) -> View:
    """Folds free dimensions of `data`."""
    return session().tensorreduce(
        as_alu(op, "tensor_reduce"),
        as_view(data, "data"),
        as_axes(axis),
        as_mask(mask),
        _kind(dtype),
        as_flag(negate, "negate"),
        as_flag(keepdims, "keepdims"),
        **hidden_options("tensor_reduce", hidden),
    )


@one_instruction
def reciprocal(
    data: Any, *, dtype: Any = None, mask: Any = None, **hidden: Any
) -> View:
    """`1 / data` on the vector engine."""
    return session().reciprocal(
        as_view(data, "data"),
        as_mask(mask),
        _kind(dtype),
        **hidden_options("reciprocal", hidden),
    )


@one_instruction
def tensor_copy(
    src: Any,
    *,
    mask: Any = None,
    dtype: Any = None,
    engine: Any = _UNKNOWN,
    **hidden: Any,
) -> View:
    """A copy on chip."""
    source = as_view(src, "src")
    made = session().tensor_copy(
        source,
        mask=as_mask(mask),
        dtype=_kind(dtype),
        engine=as_engine(engine),
        **hidden_options("tensor_copy", hidden),
    )
    return made_as(made, dtype, source)


@one_instruction
def tensor_copy_predicated(
    *,
    src: Any,
    dst: Any,
    predicate: Any,
    reverse_pred: bool = False,
    mask: Any = None,
    dtype: Any = None,
    **hidden: Any,
) -> None:
    """Copies `src` into `dst` where `predicate` is not 0."""
    source = as_operand(src, "src")
    reverse_pred = as_flag(reverse_pred, "reverse_pred")
    if reverse_pred and isinstance(source, View):
        raise NKIValueError("`reverse_pred` only supported if `src` is scalar input.")
    target = as_view(dst, "dst")
    check_result_type("tensor_copy_predicated", dtype, target)
    session().tensor_copy_predicated(
        source,
        target,
        as_view(predicate, "predicate"),
        reverse_pred,
        as_mask(mask),
        **hidden_options("tensor_copy_predicated", hidden),
    )


@one_instruction
def memset(
    shape: Any,
    value: Any,
    dtype: Any,
    *,
    mask: Any = None,
    engine: Any = _UNKNOWN,
    **hidden: Any,
) -> View:
    """A tile with every element `value`."""
    return session().memset(
        as_shape(shape),
        as_number(value, "value"),
        as_dtype(dtype),
        as_mask(mask),
        engine=as_engine(engine),
        **hidden_options("memset", hidden),
    )


@one_instruction
def iota(expr: Any, dtype: Any, *, mask: Any = None, **hidden: Any) -> View:
    """A tile holding an index expression."""
    if not isinstance(expr, IndexExpr) or not expr.shape:
        raise NKISyntaxError(f"iota takes an index expression of tiles, got {expr!r}")
    return session().index_value(
        Affine.of(expr.expr),
        expr.shape,
        as_dtype(dtype),
        as_mask(mask),
        **hidden_options("iota", hidden),
    )


@one_instruction
def dma_copy(
    *,
    dst: Any,
    src: Any,
    mask: Any = None,
    dst_rmw_op: Any = None,
    oob_mode: Any = oob_mode.error,
    dge_mode: Any = dge_mode.unknown,
    **hidden: Any,
) -> None:
    """Copies any pattern of HBM or SBUF; one side may be indexed by a tile."""
    op = None if dst_rmw_op is None else as_alu(dst_rmw_op, "dma_copy", "dst_rmw_op")
    session().dma_copy(
        as_view(src, "src"),
        as_view(dst, "dst"),
        as_mask(mask),
        op,
        as_oob(oob_mode),
        as_dge(dge_mode),
        **dma_options("dma_copy", hidden),
    )


@one_instruction
def _tiled_offloaded_memcpy(
    src: Any, dst: Any, *, mask: Any = None, **hidden: Any
) -> None:
    """
    A copy by the DMA engines.

    Undocumented, as the next one; public kernels use both (nki.md 1.4).
    """
    session().dma_copy(
        as_view(src, "src"),
        as_view(dst, "dst"),
        as_mask(mask),
        **dma_options("_tiled_offloaded_memcpy", hidden),
    )


@one_instruction
def _tiled_offloaded_fma(
    *srcs: Any, dst: Any, scales: Any, mask: Any = None, **hidden: Any
) -> None:
    """`dst` = the sum of `scales[i] * srcs[i]`, by the DMA engines."""
    if not is_sequence(scales) or len(scales) != len(srcs):
        raise NKIValueError(
            f"srcs and scales must have the same length, len(srcs)={len(srcs)}, "
            f"scales={scales!r}"
        )
    session().dma_fold(
        as_view(dst, "dst"),
        [as_view(src, "srcs") for src in srcs],
        [as_number(scale, "scales") for scale in scales],
        as_mask(mask),
        **dma_options("_tiled_offloaded_fma", hidden),
    )


@one_instruction
def dma_transpose(
    src: Any,
    *,
    axes: Any = None,
    dge_mode: Any = dge_mode.unknown,
    mask: Any = None,
    dtype: Any = None,
    oob_mode: Any = oob_mode.error,
    **hidden: Any,
) -> View:
    """A tile with its dimensions permuted by the DMA engines."""
    return session().dma_transpose(
        as_view(src, "src"),
        None if axes is None else as_axes(axes, "axes"),
        as_mask(mask),
        dtype=_kind(dtype),
        dge_mode=as_dge(dge_mode),
        oob_mode=as_oob(oob_mode),
        **dma_options("dma_transpose", hidden),
    )


@one_instruction
def local_gather(
    src_buffer: Any,
    index: Any,
    num_elem_per_idx: int = 1,
    num_valid_indices: int | None = None,
    *,
    mask: Any = None,
    **hidden: Any,
) -> View:
    """Each GpSIMD core gathers within its 16 partitions."""
    valid = num_valid_indices
    return session().local_gather(
        as_view(src_buffer, "src_buffer"),
        as_view(index, "index"),
        as_integer(num_elem_per_idx, "num_elem_per_idx"),
        None if valid is None else as_integer(valid, "num_valid_indices"),
        as_mask(mask),
        **hidden_options("local_gather", hidden),
    )


@one_instruction
def nc_stream_shuffle(
    src: Any,
    dst: Any,
    shuffle_mask: Any,
    *,
    dtype: Any = None,
    mask: Any = None,
    **hidden: Any,
) -> None:
    """Permutes partitions inside every block of 32."""
    session().stream_shuffle(
        as_view(src, "src"),
        as_view(dst, "dst"),
        as_integers(shuffle_mask, "shuffle_mask"),
        as_mask(mask),
        _kind(dtype),
        **hidden_options("nc_stream_shuffle", hidden),
    )


tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
unknown_engine = engine.unknown


def __getattr__(name: str) -> NoReturn:
    absent("neuronxcc.nki.isa", name)


__all__ = [
    "_tiled_offloaded_fma",
    "_tiled_offloaded_memcpy",
    "activation",
    "activation_reduce",
    "affine_select",
    "bn_aggr",
    "bn_stats",
    "dge_mode",
    "dma_copy",
    "dma_transpose",
    "dropout",
    "engine",
    "get_nc_version",
    "gpsimd_engine",
    "iota",
    "local_gather",
    "matmul_perf_mode",
    "max8",
    "memset",
    "nc_find_index8",
    "nc_match_replace8",
    "nc_matmul",
    "nc_matmul_sparse",
    "nc_stream_shuffle",
    "nc_transpose",
    "nc_version",
    "oob_mode",
    "range_select",
    "reciprocal",
    "reduce_cmd",
    "scalar_engine",
    "scalar_tensor_tensor",
    "select_reduce",
    "sequence_bounds",
    "tensor_copy",
    "tensor_copy_dynamic_dst",
    "tensor_copy_dynamic_src",
    "tensor_copy_predicated",
    "tensor_engine",
    "tensor_partition_reduce",
    "tensor_reduce",
    "tensor_scalar",
    "tensor_scalar_cumulative",
    "tensor_scalar_reduce",
    "tensor_tensor",
    "tensor_tensor_scan",
    "unknown_engine",
    "vector_engine",
]
