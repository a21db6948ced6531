"""Instructions of the tensor engine (nki.md 1.1 `nc_matmul`, `nc_transpose`)."""

from typing import Any

from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import MatmulAccumulate
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_flag, as_name, as_view, is_sequence
from xdsl_neuron.nki.enums import (
    as_engine,
    as_perf_mode,
    engine,
    matmul_perf_mode,
    nc_version,
)
from xdsl_neuron.nki.instruction import instruction
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKITypeError, NKIValueError, described
from xdsl_neuron.tracer.index import IndexExpr, is_integer
from xdsl_neuron.tracer.matrix import ArrayTile
from xdsl_neuron.tracer.views import View

ACCUMULATE = {
    None: MatmulAccumulate.AUTO,
    False: MatmulAccumulate.OVERWRITE,
    True: MatmulAccumulate.ACCUMULATE,
}


def as_accumulate(value: Any) -> MatmulAccumulate:
    """Whether a matmul adds to its target; None leaves it to what was written."""
    if value is not None and not isinstance(value, bool):
        raise NKITypeError(
            f"`accumulate` must be True, False or None, got {described(value)}"
        )
    return ACCUMULATE[value]


_VERSIONS = {20: nc_version.gen2, 30: nc_version.gen3, 40: nc_version.gen4}


MATMUL_DTYPES = (
    DType.FLOAT8_E4M3,
    DType.FLOAT8_E4M3FN,
    DType.FLOAT8_E5M2,
    DType.BFLOAT16,
    DType.FLOAT16,
    DType.TFLOAT32,
    DType.FLOAT32,
)
"""What the language multiplies; the array also takes uint8 (nki.md 1.1)."""


def check_operands(*operands: View) -> None:
    """Refuses element types that the language does not multiply."""
    for operand in operands:
        if operand.element_type not in MATMUL_DTYPES:
            names = ", ".join(dtype.nki_name for dtype in MATMUL_DTYPES)
            raise NKITypeError(
                f"Unsupported dtype '{operand.element_type.nki_name}' of "
                f"'{operand.name}' in nc_matmul, expected one of the following dtypes: "
                f"{names}"
            )


def as_array_tile(name: str, tile_position: Any, tile_size: Any) -> ArrayTile | None:
    """The part of the array that a call asks for; None for the whole."""
    position = _pair(name, "tile_position", "position", tile_position)
    size = _pair(name, "tile_size", "size", tile_size)
    if position is None and size is None:
        return None
    if position is None or size is None:
        raise NKIValueError(
            f"{name} tile_position and tile_size must be both set or not set. Got "
            f"tile_position={tile_position!r} and tile_size={tile_size!r}"
        )
    rows, columns = size
    if not (rows.is_constant and columns.is_constant):
        raise NKIValueError(
            f"{name} tile_size varies with a loop index; unroll the loop with "
            "static_range"
        )
    return ArrayTile(*position, (rows.constant, columns.constant))


def _pair(name: str, what: str, kind: str, value: Any) -> tuple[Affine, Affine] | None:
    """Two integers or indices of loops; None and () are none."""
    if value is None or (is_sequence(value) and not len(value)):
        return None
    if not is_sequence(value) or len(value) != 2:
        raise NKIValueError(
            f"{name} {what} must be a 2D tuple (row_tile_{kind}, col_tile_{kind}) or "
            f"(). Got {value!r}"
        )
    found: list[Affine] = []
    for item in value:
        if is_integer(item):
            found.append(Affine(int(item)))
        elif isinstance(item, IndexExpr) and not item.shape:
            found.append(item.expr)
        else:
            raise NKITypeError(
                f"{name} {what} only supports int or affine expression. Got "
                f"{type(item).__name__} ({item!r})"
            )
    return found[0], found[1]


def moves_bits(is_transpose: bool) -> bool:
    """
    Whether the array's transpose mode is used.

    Gen2 has none: there it is a matmul with an identity (nki.md 1.1 nc_matmul).
    """
    return (
        as_flag(is_transpose, "is_transpose") and session().arch.has_exact_pe_transpose
    )


@instruction
def nc_matmul(
    dst: Any,
    stationary: Any,
    moving: Any,
    is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False,
    is_transpose: bool = False,
    accumulate: bool | None = None,
    tile_position: Any = (),
    tile_size: Any = (),
    perf_mode: Any = matmul_perf_mode.none,
    name: str | None = None,
) -> None:
    """
    `dst = stationary.T @ moving`, added to what `dst` holds as `accumulate` says.

    Unset, the first write to an element of a PSUM tile overwrites and later ones add.
    `is_transpose` moves the bits of `stationary`, with an identity as `moving`, and
    overwrites. `tile_position` (row, column) and `tile_size` say which part of the
    array is used; `perf_mode` double_row takes [K, 2, free] fp8 operands.
    """
    left, right = as_view(stationary, "stationary"), as_view(moving, "moving")
    transposes = moves_bits(is_transpose)
    if not transposes:
        check_operands(left, right)
    session().matmult(
        left,
        right,
        as_view(dst, "dst"),
        accumulate=as_accumulate(accumulate),
        is_stationary_onezero=as_flag(is_stationary_onezero, "is_stationary_onezero"),
        is_moving_onezero=as_flag(is_moving_onezero, "is_moving_onezero"),
        is_transpose=transposes,
        tile=as_array_tile("nc_matmul", tile_position, tile_size),
        perf_mode=as_perf_mode(perf_mode),
        name=as_name(name),
    )


@instruction
def nc_transpose(
    dst: Any, data: Any, engine: Any = engine.unknown, name: str | None = None
) -> None:
    """Swaps the partition and the free dimension of `data` into `dst`."""
    session().transpose(
        as_view(data, "data"),
        as_view(dst, "dst"),
        engine=as_engine(engine),
        name=as_name(name),
    )


@api
def get_nc_version() -> nc_version:
    """The generation the kernel is traced for."""
    return _VERSIONS[session().arch.level]
