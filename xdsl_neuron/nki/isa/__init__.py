"""`nki.isa` of the destination-passing generations: one function per instruction."""

from xdsl_neuron.nki.enums import (
    dge_mode,
    engine,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
)
from xdsl_neuron.nki.isa.compute import (
    activation,
    iota,
    memset,
    reciprocal,
    tensor_copy,
    tensor_copy_predicated,
    tensor_reduce,
    tensor_scalar,
    tensor_tensor,
)
from xdsl_neuron.nki.isa.dma import dma_compute, dma_copy, dma_transpose
from xdsl_neuron.nki.isa.gathers import local_gather, nc_n_gather, nc_stream_shuffle
from xdsl_neuron.nki.isa.matrix import get_nc_version, nc_matmul, nc_transpose
from xdsl_neuron.nki.isa.registers import (
    register_alloc,
    register_load,
    register_move,
    register_store,
)

tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
unknown_engine = engine.unknown

__all__ = [
    "activation",
    "dge_mode",
    "dma_compute",
    "dma_copy",
    "dma_transpose",
    "engine",
    "get_nc_version",
    "gpsimd_engine",
    "iota",
    "local_gather",
    "matmul_perf_mode",
    "memset",
    "nc_matmul",
    "nc_n_gather",
    "nc_stream_shuffle",
    "nc_transpose",
    "nc_version",
    "oob_mode",
    "reciprocal",
    "reduce_cmd",
    "register_alloc",
    "register_load",
    "register_move",
    "register_store",
    "scalar_engine",
    "tensor_copy",
    "tensor_copy_predicated",
    "tensor_engine",
    "tensor_reduce",
    "tensor_scalar",
    "tensor_tensor",
    "unknown_engine",
    "vector_engine",
]
