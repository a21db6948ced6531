"""Instructions of the tensor engine (nki.md 1.1 `nc_matmul`, `nc_transpose`)."""

from typing import Any

from xdsl_neuron.isa import MatmulAccumulate
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_name, as_view
from xdsl_neuron.nki.enums import (
    as_engine,
    engine,
    matmul_perf_mode,
    nc_version,
)
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKINotImplementedError, NKITypeError

ACCUMULATE = {
    None: MatmulAccumulate.AUTO,
    False: MatmulAccumulate.OVERWRITE,
    True: MatmulAccumulate.ACCUMULATE,
}


def as_accumulate(value: Any) -> MatmulAccumulate:
    """Whether a matmul adds to its target; None leaves it to what was written."""
    if value is not None and not isinstance(value, bool):
        raise NKITypeError(
            f"`accumulate` must be True, False or None, got "
            f"{type(value).__name__} ({value!r})"
        )
    return ACCUMULATE[value]


_VERSIONS = {20: nc_version.gen2, 30: nc_version.gen3, 40: nc_version.gen4}


def refuse_tiling(tile_position: Any, tile_size: Any, perf_mode: Any) -> None:
    """Modes of the tensor engine that are not built."""
    if tile_position or tile_size:
        raise NKINotImplementedError(
            "nc_matmul with tile_position and tile_size is not supported"
        )
    if perf_mode not in (None, matmul_perf_mode.none):
        raise NKINotImplementedError(
            f"nc_matmul with perf_mode {perf_mode} is not supported"
        )


def check_transpose(is_transpose: bool) -> None:
    """
    Refuses the array's transpose mode, which only gen2's plain matmul stands for.

    From gen3 the array moves the bits of the operand that is not an identity, and which
    one that is, the call does not say (nki.md 1.1 nc_matmul).
    """
    level = session().arch.level
    if is_transpose and level > 20:
        raise NKINotImplementedError(
            "nc_matmul(is_transpose=True) is supported on trn1, where it is a matmul "
            f"with an identity, but not on {session().arch.name}; use nc_transpose"
        )


@api
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
    """
    refuse_tiling(tile_position, tile_size, perf_mode)
    check_transpose(is_transpose)
    session().matmult(
        as_view(stationary, "stationary"),
        as_view(moving, "moving"),
        as_view(dst, "dst"),
        accumulate=as_accumulate(accumulate),
        is_stationary_onezero=is_stationary_onezero,
        is_moving_onezero=is_moving_onezero,
        name=as_name(name),
    )


@api
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
