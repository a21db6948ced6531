"""`neuronxcc.nki.isa`: the products of the tensor engine (penguin.md 7)."""

from functools import partial
from typing import Any

from xdsl_neuron.dtypes import DType
from xdsl_neuron.nki.api import one_instruction
from xdsl_neuron.nki.arguments import (
    as_flag,
    as_integer,
    as_mask,
    as_view,
    hidden_options,
)
from xdsl_neuron.nki.enums import as_perf_mode
from xdsl_neuron.nki.functional.tile import MatmulResult
from xdsl_neuron.nki.isa.matrix import as_array_tile, check_operands, moves_bits
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKIValueError
from xdsl_neuron.tracer.matrix import matmul_shape
from xdsl_neuron.tracer.views import View


@one_instruction
def nc_matmul(
    stationary: Any,
    moving: Any,
    *,
    is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False,
    is_transpose: bool = False,
    tile_position: Any = (),
    tile_size: Any = (),
    perf_mode: Any = None,
    mask: Any = None,
    **hidden: Any,
) -> View:
    """
    `stationary.T @ moving` in PSUM; `psum += ...` accumulates into a tile.

    From gen3 `is_transpose` moves the bits of `stationary`, with an identity as
    `moving`; the result has its type. `tile_position` and `tile_size` choose a part of
    the array; `perf_mode` double_row_gen3 takes [K, 2, free] fp8 operands.

    An operand in PSUM, such as the result of a transpose, is copied to SBUF first:
    kernels of this generation leave that to the compiler.
    """
    left, right = as_view(stationary, "stationary"), as_view(moving, "moving")
    mode, transposes = as_perf_mode(perf_mode), moves_bits(is_transpose)
    if not transposes:
        check_operands(left, right)
    lanes = as_mask(mask)
    shape = matmul_shape(left, right, mode)
    if lanes is not None and not _fits(lanes.shape, shape):
        raise NKIValueError(
            f"nc_matmul: mask of shape {lanes.shape} is not over the result's shape "
            f"{shape}; what to leave out of the operands, mask where they are loaded"
        )
    trace = session()
    emit = partial(
        trace.matmult,
        trace.in_sbuf(left),
        trace.in_sbuf(right),
        is_stationary_onezero=as_flag(is_stationary_onezero, "is_stationary_onezero"),
        is_moving_onezero=as_flag(is_moving_onezero, "is_moving_onezero"),
        is_transpose=transposes,
        tile=as_array_tile("nc_matmul", tile_position, tile_size),
        perf_mode=mode,
        mask=lanes,
        **hidden_options("nc_matmul", hidden),
    )
    if transposes:
        dtype = left.element_type
        return MatmulResult(shape, emit, dtype, mask=lanes, moves_bits=True)
    return MatmulResult(shape, emit, mask=lanes)


def _fits(mask: tuple[int, ...], result: tuple[int, ...]) -> bool:
    """Whether a mask is over a result, of all its rows or columns where it has one."""
    return not mask or (
        len(mask) == len(result)
        and all(m in (1, n) for m, n in zip(mask, result, strict=True))
    )


@one_instruction
def nc_matmul_sparse(
    moving: Any, stationary: Any, tags: Any, compress_ratio: int, **hidden: Any
) -> View:
    """
    A matmul whose stationary operand keeps 1 of `compress_ratio` elements.

    moving [K, compress_ratio, N], stationary [K, M]; `tags`, uint16 [K, M / 4], say in
    4 bits each where an element stands among those of its group of 4 rows.
    """
    left, right = as_view(stationary, "stationary"), as_view(moving, "moving")
    emit = partial(
        session().matmult_sparse,
        left,
        right,
        as_view(tags, "tags"),
        as_integer(compress_ratio, "compress_ratio"),
        **hidden_options("nc_matmul_sparse", hidden),
    )
    return MatmulResult((*left.shape[1:], *right.shape[2:]), emit, DType.FLOAT32)
