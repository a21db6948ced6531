"""`nki.isa` of the destination-passing generations: one function per instruction."""

from typing import NoReturn

from xdsl_neuron.nki.absent import absent
from xdsl_neuron.nki.enums import (
    dge_mode,
    dma_engine,
    engine,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
)
from xdsl_neuron.nki.instruction import NkiInstruction
from xdsl_neuron.nki.isa.accumulators import (
    activate2,
    activation_reduce,
    exponential,
    scalar_tensor_tensor,
    select_reduce,
    tensor_scalar_cumulative,
    tensor_scalar_reduce,
    tensor_tensor_scan,
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
from xdsl_neuron.nki.isa.random import (
    dropout,
    rand2,
    rand_get_state,
    rand_set_state,
    rng,
    set_rng_seed,
)
from xdsl_neuron.nki.isa.registers import (
    register_alloc,
    register_load,
    register_move,
    register_store,
)
from xdsl_neuron.nki.isa.rows import (
    affine_select,
    bn_aggr,
    bn_stats,
    max8,
    nc_find_index8,
    nc_match_replace8,
    nc_matmul_mx,
    nonzero_with_count,
    quantize_mx,
    range_select,
    sequence_bounds,
    tensor_partition_reduce,
)
from xdsl_neuron.nki.isa.scalars import scalar_load, scalar_store
from xdsl_neuron.nki.isa.system import core_barrier, get_nc_sub_version, sendrecv
from xdsl_neuron.nki.isa.topk import topk
from xdsl_neuron.nki.registers import Register as VirtualRegister
from xdsl_neuron.nki.scalars import NkiScalar
from xdsl_neuron.tracer.errors import NKIError as NkiValidationError

tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
unknown_engine = engine.unknown


def __getattr__(name: str) -> NoReturn:
    absent("nki.isa", name)


__all__ = [
    "NkiInstruction",
    "NkiScalar",
    "NkiValidationError",
    "VirtualRegister",
    "activate2",
    "activation",
    "activation_reduce",
    "affine_select",
    "bn_aggr",
    "bn_stats",
    "core_barrier",
    "dge_mode",
    "dma_compute",
    "dma_copy",
    "dma_engine",
    "dma_transpose",
    "dropout",
    "engine",
    "exponential",
    "get_nc_sub_version",
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
    "nc_matmul_mx",
    "nc_n_gather",
    "nc_stream_shuffle",
    "nc_transpose",
    "nc_version",
    "nonzero_with_count",
    "oob_mode",
    "quantize_mx",
    "rand2",
    "rand_get_state",
    "rand_set_state",
    "range_select",
    "reciprocal",
    "reduce_cmd",
    "register_alloc",
    "register_load",
    "register_move",
    "register_store",
    "rng",
    "scalar_engine",
    "scalar_load",
    "scalar_store",
    "scalar_tensor_tensor",
    "select_reduce",
    "sendrecv",
    "sequence_bounds",
    "set_rng_seed",
    "tensor_copy",
    "tensor_copy_predicated",
    "tensor_engine",
    "tensor_partition_reduce",
    "tensor_reduce",
    "tensor_scalar",
    "tensor_scalar_cumulative",
    "tensor_scalar_reduce",
    "tensor_tensor",
    "tensor_tensor_scan",
    "topk",
    "unknown_engine",
    "vector_engine",
]
