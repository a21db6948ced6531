"""
`nki.language` of the destination-passing generations.

Loops are unrolled while tracing; every `nl` operation is a value for `op=` arguments
and a function that makes a new tile.
"""

from typing import Any

from xdsl_neuron.nki.language.creation import (
    empty_like,
    full,
    ndarray,
    ones,
    shared_constant,
    shared_identity_matrix,
    zeros,
    zeros_like,
)
from xdsl_neuron.nki.language.functions import (
    all,
    broadcast_to,
    cos,
    expand_dims,
    gather_flattened,
    load,
    load_transpose2d,
    matmul,
    max,
    mean,
    min,
    prod,
    rms_norm,
    softmax,
    store,
    sum,
    transpose,
    var,
    where,
)
from xdsl_neuron.nki.language.grid import (
    ds,
    is_hbm,
    is_on_chip,
    is_psum,
    is_sbuf,
    num_programs,
    par_dim,
    program_id,
    program_ndim,
)
from xdsl_neuron.nki.language.names import VALUES, look_up, tile_size
from xdsl_neuron.nki.language.random import (
    dropout,
    rand,
    random_seed,
)
from xdsl_neuron.nki.language.ranges import (
    affine_range,
    sequential_range,
    static_range,
)


def __getattr__(name: str) -> Any:
    return look_up("nki.language", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *VALUES})


__all__ = [
    "affine_range",
    "all",
    "broadcast_to",
    "cos",
    "dropout",
    "ds",
    "empty_like",
    "expand_dims",
    "full",
    "gather_flattened",
    "is_hbm",
    "is_on_chip",
    "is_psum",
    "is_sbuf",
    "load",
    "load_transpose2d",
    "matmul",
    "max",
    "mean",
    "min",
    "ndarray",
    "num_programs",
    "ones",
    "par_dim",
    "prod",
    "program_id",
    "program_ndim",
    "rand",
    "random_seed",
    "rms_norm",
    "sequential_range",
    "shared_constant",
    "shared_identity_matrix",
    "softmax",
    "static_range",
    "store",
    "sum",
    "tile_size",
    "transpose",
    "var",
    "where",
    "zeros",
    "zeros_like",
]
