"""
`nki.language` of the destination-passing generations.

Loops are unrolled while tracing, except run-time loops; every `nl` operation is a
value for `op=` arguments and a function that makes a new tile.
"""

from typing import Any

from xdsl_neuron.nki.destination import NkiTensor
from xdsl_neuron.nki.dtype import LanguageDtype as DType
from xdsl_neuron.nki.enums import MemoryRegion
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
    program_id,
    program_ndim,
)
from xdsl_neuron.nki.language.loops import dynamic_range, fori_loop, while_loop
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
from xdsl_neuron.nki.language.rounding import ceil, floor, tan, trunc
from xdsl_neuron.nki.language.running import device_print, no_reorder
from xdsl_neuron.nki.language.tile_grids import (
    NkiBlockGrid,
    NkiGrid,
    NkiTileGrid,
    alloc_blocks,
    alloc_tiles,
    blocks,
    tiles,
)
from xdsl_neuron.nki.objects import NKIObject


def __getattr__(name: str) -> Any:
    return look_up("nki.language", name)


def __dir__() -> list[str]:
    return sorted({*globals(), *VALUES})


__all__ = [
    "DType",
    "MemoryRegion",
    "NKIObject",
    "NkiBlockGrid",
    "NkiGrid",
    "NkiTensor",
    "NkiTileGrid",
    "affine_range",
    "all",
    "alloc_blocks",
    "alloc_tiles",
    "blocks",
    "broadcast_to",
    "ceil",
    "cos",
    "device_print",
    "dropout",
    "ds",
    "dynamic_range",
    "empty_like",
    "expand_dims",
    "floor",
    "fori_loop",
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
    "no_reorder",
    "num_programs",
    "ones",
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
    "tan",
    "tile_size",
    "tiles",
    "transpose",
    "trunc",
    "var",
    "where",
    "while_loop",
    "zeros",
    "zeros_like",
]
