"""`neuronxcc.nki.language`: tiles are values, masks, index tensors, rolled loops."""

from typing import Any

from xdsl_neuron.nki.dtype import finfo
from xdsl_neuron.nki.functional.all_reduce import all_reduce
from xdsl_neuron.nki.functional.creation import full, zeros
from xdsl_neuron.nki.functional.indexing import arange, mgrid
from xdsl_neuron.nki.functional.loops import (
    affine_range,
    sequential_range,
    static_range,
)
from xdsl_neuron.nki.functional.reduction import all, loop_reduce
from xdsl_neuron.nki.functional.rmw import atomic_rmw, matmul
from xdsl_neuron.nki.functional.shapes import broadcast_to, expand_dims
from xdsl_neuron.nki.functional.static_cast import static_cast
from xdsl_neuron.nki.grid import nc, spmd_dim
from xdsl_neuron.nki.language.creation import (
    empty_like,
    ndarray,
    ones,
    shared_constant,
    shared_identity_matrix,
    zeros_like,
)
from xdsl_neuron.nki.language.functions import (
    cos,
    gather_flattened,
    load,
    load_transpose2d,
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
from xdsl_neuron.nki.language.rounding import ceil, floor, tan, trunc
from xdsl_neuron.nki.language.running import device_print


def __getattr__(name: str) -> Any:
    return look_up("neuronxcc.nki.language", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *VALUES})


__all__ = [
    "affine_range",
    "all",
    "all_reduce",
    "arange",
    "atomic_rmw",
    "broadcast_to",
    "ceil",
    "cos",
    "device_print",
    "dropout",
    "ds",
    "empty_like",
    "expand_dims",
    "finfo",
    "floor",
    "full",
    "gather_flattened",
    "load",
    "load_transpose2d",
    "loop_reduce",
    "matmul",
    "max",
    "mean",
    "mgrid",
    "min",
    "nc",
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
    "spmd_dim",
    "static_cast",
    "static_range",
    "store",
    "sum",
    "tan",
    "tile_size",
    "transpose",
    "trunc",
    "var",
    "where",
    "zeros",
    "zeros_like",
]
