"""Functions of `nl` on tiles that both personalities have."""

from collections.abc import Callable
from math import prod as product_of
from typing import Any

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp, Space
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import (
    as_axes,
    as_flag,
    as_integer,
    as_mask,
    as_number,
    as_operand,
    as_shape,
    as_view,
    dma_options,
    hidden_options,
)
from xdsl_neuron.nki.dtype import as_dtype
from xdsl_neuron.nki.elementwise import sine
from xdsl_neuron.nki.trace import session
from xdsl_neuron.nki.truth import made_as
from xdsl_neuron.tracer.errors import NKITypeError, NKIValueError
from xdsl_neuron.tracer.index import Mask
from xdsl_neuron.tracer.release_warnings import warn_of_release
from xdsl_neuron.tracer.views import View


def _kind(dtype: Any) -> DType | None:
    return None if dtype is None else as_dtype(dtype)


def _with_dims(view: View) -> View:
    """An element of a tensor in HBM as (1, 1): a tile has a partition dimension."""
    return view if view.ndim else view.reshaped((1, 1))


@api
def load(src: Any, dtype: Any = None, *, mask: Any = None, **hidden: Any) -> View:
    """Loads an HBM tile into SBUF."""
    source = _with_dims(as_view(src, "src"))
    if source.space is not Space.HBM:
        raise NKITypeError(f"load reads a tensor in hbm, got {source!r}")
    made = session().load(
        source, as_mask(mask), _kind(dtype), **dma_options("load", hidden)
    )
    return made_as(made, dtype, source)


@api
def store(dst: Any, value: Any, *, mask: Any = None, **hidden: Any) -> None:
    """Stores a tile or a number into an HBM tensor."""
    session().store(
        _with_dims(as_view(dst, "dst")),
        as_operand(value, "value"),
        as_mask(mask),
        **dma_options("store", hidden),
    )


@api
def load_transpose2d(src: Any, dtype: Any = None, *, mask: Any = None) -> View:
    """
    Loads a two-dimensional HBM tile with its dimensions swapped, a DMA transpose.

    The mask is over the dimensions of `src`.
    """
    source = as_view(src, "src")
    if source.space is not Space.HBM or source.ndim != 2:
        raise NKITypeError(
            f"load_transpose2d reads a two-dimensional tile in hbm, got {source!r}"
        )
    made = session().dma_transpose(source, (1, 0), as_mask(mask), dtype=_kind(dtype))
    return made_as(made, dtype, source)


@api
def gather_flattened(
    data: Any,
    indices: Any,
    axis: int = 0,
    dtype: Any = None,
    *,
    mask: Any = None,
    **hidden: Any,
) -> View:
    """
    Elements of each partition's flattened free dimensions, picked by `indices`.

    `axis` is of the later releases; only 0, all free dimensions, is documented.
    """
    if as_integer(axis, "axis") != 0:
        raise NKIValueError(f"gather_flattened: axis must be 0, got {axis}")
    return session().gather_flattened(
        as_view(data, "data"),
        as_view(indices, "indices"),
        as_mask(mask),
        _kind(dtype),
        **hidden_options("gather_flattened", hidden),
    )


@api
def copy(src: Any, *, mask: Any = None, dtype: Any = None) -> View:
    """Copies a tile on chip."""
    source = as_view(src, "src")
    made = session().tensor_copy(source, mask=as_mask(mask), dtype=_kind(dtype))
    return made_as(made, dtype, source)


@api
def matmul(x: Any, y: Any, transpose_x: bool = False, *, mask: Any = None) -> View:
    """`x @ y` for tiles; `transpose_x` says that x is given transposed."""
    trace = session()
    transposed = as_flag(transpose_x, "transpose_x")
    if not (transposed or trace.masks_allowed):
        warn_of_release(
            "nl.matmul without transpose_x=True is not supported by releases 0.3 to "
            "0.6 on the device; give x with the contracted dimension in its partitions "
            "and transpose_x=True"
        )
    left, right = trace.matmul_operands(as_view(x, "x"), as_view(y, "y"), transposed)
    return trace.matmult(left, right, mask=as_mask(mask))


@api
def transpose(x: Any, dtype: Any = None, *, mask: Any = None) -> View:
    """
    Swaps the two dimensions of a tile (tensor engine).

    A transpose moves bits: another `dtype` is a cast of its result.
    """
    trace, tile, kind = session(), as_view(x, "x"), _kind(dtype)
    if tile.ndim != 2:
        raise NKIValueError(
            f"parameter 'x{list(tile.shape)}' of 'transpose' exceed max supported "
            "number of dimensions of 2.; reshape the tile, or transpose its columns "
            "one by one"
        )
    made = trace.transpose(trace.in_sbuf(tile), mask=as_mask(mask))
    if kind not in (None, tile.element_type):
        made = trace.tensor_copy(made, dtype=kind)
    return made_as(made, dtype, tile)


@api
def where(
    condition: Any, x: Any, y: Any, dtype: Any = None, *, mask: Any = None
) -> View:
    """`x` where `condition` is not 0, else `y`."""
    on_true, on_false = as_operand(x, "x"), as_operand(y, "y")
    made = session().select(
        as_view(condition, "condition"),
        on_true,
        on_false,
        as_mask(mask),
        _kind(dtype),
    )
    return made_as(made, dtype, on_true, on_false)


@api
def broadcast_to(x: Any, shape: Any, dtype: Any = None) -> View:
    """
    A tile repeated to `shape`; a repeated partition is a copy.

    From 0.3 on the shape has the rank of the tile (`nl.broadcast_to`, release 2.29).
    """
    trace, tile, extents = session(), as_view(x, "x"), as_shape(shape)
    if len(extents) != tile.ndim and not trace.masks_allowed:
        raise NKIValueError(
            f"broadcast_to: shape {extents} must have the same rank as x, which is "
            f"{tile!r}; use expand_dims or reshape first"
        )
    found = trace.broadcast(tile, extents)
    kind = _kind(dtype)
    if kind is None or kind is found.element_type:
        return found
    return trace.tensor_copy(found, dtype=kind)


@api
def expand_dims(x: Any, axis: int) -> View:
    """A dimension of extent 1."""
    return as_view(x, "x").with_unit_dim(as_integer(axis, "axis"))


@api
def cos(x: Any, dtype: Any = None, *, mask: Any = None) -> View:
    """cos(x) = sin(x + pi/2)."""
    return sine(as_view(x, "x"), _kind(dtype), as_mask(mask), 1.5707963267948966)


def _folded(axis: Any, tile: View, name: str) -> tuple[int, ...]:
    """
    The axes a reduction folds.

    From 0.3 on they are the last ones of the tile, without a gap (`nl.sum` and its
    kin, release 2.29).
    """
    axes = as_axes(axis)
    if session().masks_allowed:
        return axes
    last = tile.ndim
    found = sorted({axis + last if axis < 0 else axis for axis in axes})
    distinct = len(found) == len(axes) and 0 < found[0] and found[-1] < last
    if distinct and found != [*range(last - len(found), last)]:
        raise NKIValueError(
            f"{name}: axis {axis} of {tile!r} must be the last contiguous dimensions, "
            f"such as {tuple(range(last - len(found) or 1, last))}; use "
            "nisa.tensor_reduce on a permuted view for others"
        )
    return axes


Reduction = Callable[..., View]


def _reduction(name: str, op: AluOp) -> Reduction:
    def reduce(
        x: Any,
        axis: Any,
        dtype: Any = None,
        keepdims: bool = False,
        *,
        mask: Any = None,
    ) -> View:
        tile = as_view(x, "x")
        return session().tensorreduce(
            op,
            tile,
            _folded(axis, tile, name),
            as_mask(mask),
            _kind(dtype),
            keepdims=as_flag(keepdims, "keepdims"),
        )

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"Folds the free dimensions `axis` with {op}."
    return api(reduce)


sum = _reduction("sum", AluOp.ADD)
prod = _reduction("prod", AluOp.MULT)
max = _reduction("max", AluOp.MAX)
min = _reduction("min", AluOp.MIN)


@api
def all(x: Any, axis: Any, dtype: Any = None, *, mask: Any = None) -> View:
    """1 where all elements are not 0, in the input's type by default."""
    tile = as_view(x, "x")
    axes = _folded(axis, tile, "all")
    made = session().tensorreduce(
        AluOp.LOGICAL_AND, tile, axes, as_mask(mask), _kind(dtype)
    )
    return made_as(made, dtype)


@api
def mean(
    x: Any, axis: Any, dtype: Any = None, keepdims: bool = False, *, mask: Any = None
) -> View:
    """
    The sum over the free dimensions `axis` divided by the number of elements.

    Of integers it is fp32 in generation 0.1 (nki.language.mean of 2.23).
    A mask leaves elements out of both: how many it keeps of a row is counted by the
    same reduction over ones.
    """
    trace, tile, clip = session(), as_view(x, "x"), as_mask(mask)
    axes = _folded(axis, tile, "mean")
    fractions = trace.masks_allowed and tile.element_type.is_integer
    own = DType.FLOAT32 if fractions else tile.element_type
    kind = _kind(dtype) or own
    keepdims = as_flag(keepdims, "keepdims")
    total = trace.tensorreduce(
        AluOp.ADD,
        tile,
        axes,
        clip,
        DType.FLOAT32,
        keepdims=as_flag(keepdims, "keepdims"),
    )
    if clip is None:
        count = product_of(tile.shape[a] for a in axes)
        return trace.tensorscalar(total, AluOp.MULT, 1.0 / count, dtype=kind)
    ones = trace.filled(tile.shape, 1.0, DType.FLOAT32)
    kept = trace.tensorreduce(AluOp.ADD, ones, axes, clip, keepdims=keepdims)
    rows = _rows_of(clip, tile, total)
    return trace.tensortensor(AluOp.DIVIDE, total, kept, rows, kind)


def _rows_of(mask: Mask, tile: View, result: View) -> Mask | None:
    """What a mask over a tile says of the partitions of a reduction's result."""
    predicates = tuple(p for p in mask.over(tile.shape) if not p.lanes - {0})
    shape = (result.shape[0], *(1,) * (result.ndim - 1))
    return Mask(predicates, shape) if predicates else None


@api
def var(
    x: Any, axis: Any, dtype: Any = None, keepdims: bool = False, *, mask: Any = None
) -> View:
    """
    The mean of the squared distance to the mean (penguin.md 7.1).

    From 0.2 on the reduced dimensions stay, whatever `keepdims` says (nki.language.var
    of 2.29).
    """
    trace, tile, clip = session(), as_view(x, "x"), as_mask(mask)
    axes = _folded(axis, tile, "var")
    centre = mean(tile, axes, dtype=DType.FLOAT32, mask=clip, keepdims=True)
    distance = trace.tensortensor(AluOp.SUBTRACT, tile, centre, clip, DType.FLOAT32)
    square = trace.tensortensor(AluOp.MULT, distance, distance, clip)
    kind = _kind(dtype) or tile.element_type
    stay = as_flag(keepdims, "keepdims") or not trace.masks_allowed
    return mean(square, axes, dtype=kind, mask=clip, keepdims=stay)


@api
def softmax(
    x: Any,
    axis: Any = -1,
    dtype: Any = None,
    *,
    compute_dtype: Any = None,
    mask: Any = None,
) -> View:
    """exp(x - max) / sum, along one or more free dimensions (penguin.md 7.1)."""
    from xdsl_neuron.isa import ActivationFunction

    trace, tile, clip = session(), as_view(x, "x"), as_mask(mask)
    axes = _folded(axis, tile, "softmax")
    kind = _kind(compute_dtype) or DType.FLOAT32
    top = trace.tensorreduce(AluOp.MAX, tile, axes, clip, kind, keepdims=True)
    low = trace.tensortensor(AluOp.SUBTRACT, tile, top, clip, kind)
    power = trace.activation(ActivationFunction.EXP, low, mask=clip)
    total = trace.tensorreduce(AluOp.ADD, power, axes, clip, kind, keepdims=True)
    return trace.tensortensor(
        AluOp.MULT,
        power,
        trace.reciprocal(total),
        clip,
        _kind(dtype) or tile.element_type,
    )


@api
def rms_norm(
    x: Any,
    w: Any,
    axis: Any,
    n: int,
    epsilon: float = 1e-6,
    dtype: Any = None,
    compute_dtype: Any = None,
    *,
    mask: Any = None,
) -> View:
    """x / sqrt(sum(x^2) / n + epsilon) * w (penguin.md 7.1)."""
    from xdsl_neuron.isa import ActivationFunction

    trace, tile, clip = session(), as_view(x, "x"), as_mask(mask)
    kind = _kind(compute_dtype) or DType.FLOAT32
    n, epsilon = as_integer(n, "n"), as_number(epsilon, "epsilon")
    if n <= 0:
        raise NKIValueError(f"rms_norm: n must be positive, got {n}")
    square = trace.tensortensor(AluOp.MULT, tile, tile, clip, kind)
    total = trace.tensorreduce(AluOp.ADD, square, as_axes(axis), clip, keepdims=True)
    mean_square = trace.tensorscalar(
        total, AluOp.MULT, 1.0 / n, op1=AluOp.ADD, scalar1=epsilon
    )
    root = trace.activation(ActivationFunction.RSQRT, mean_square)
    normal = trace.tensortensor(AluOp.MULT, tile, root, clip, kind)
    return trace.tensortensor(
        AluOp.MULT, normal, as_view(w, "w"), clip, _kind(dtype) or tile.element_type
    )
