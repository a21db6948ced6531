"""
Names that some generations of the language have and others do not (nki.md 1.2 to 1.4).

What a name was replaced by is said where it is used.
"""

from typing import Final

_LANGUAGE: Final = {
    "arange": "is of generation 0.1; use slices or tensor.ap(pattern)",
    "mgrid": "is of generation 0.1; use slices or tensor.ap(pattern)",
    "loop_reduce": "is of generation 0.1; accumulate into a tile that stands in front "
    "of the loop",
    "all_reduce": "is of generation 0.1; use nki.collectives.all_reduce",
    "atomic_rmw": "is of generation 0.1; use nisa.dma_compute with tensor.ap("
    "vector_offset=...)",
    "par_dim": "is of generation 0.1; the first dimension of a tile is its partition "
    "dimension, so write the size alone",
    "nc": "is of generation 0.1; launch kernel[2](...)",
    "spmd_dim": "is of generation 0.1; launch kernel[2](...)",
    "static_cast": "was removed before 0.2; use nl.copy(x, dtype) or nisa.tensor_copy",
    "simulate_kernel": "is of generation 0.1; use nki.simulate",
}
_ISA: Final = {
    "tensor_copy_dynamic_src": "is of generation 0.1, removed in 0.4; use "
    "nisa.tensor_copy with src=tensor.ap(pattern, scalar_offset=...)",
    "tensor_copy_dynamic_dst": "is of generation 0.1, removed in 0.4; use "
    "nisa.tensor_copy with dst=tensor.ap(pattern, scalar_offset=...)",
    "_tiled_offloaded_memcpy": "is of generation 0.1; use nisa.dma_copy",
    "_tiled_offloaded_fma": "is of generation 0.1; use nisa.dma_compute",
}
_PACKAGE: Final = {
    "baremetal": "is of generation 0.1; call the kernel, or use nki.simulate",
    "benchmark": "is of generation 0.1; `neuron-run --summary` counts instructions",
    "profile": "is of generation 0.1; `neuron-run --summary` counts instructions",
}
ELSEWHERE: Final = {
    "nki": _PACKAGE,
    "nki.language": _LANGUAGE,
    "nki.isa": _ISA,
}
"""What to write instead, by module and name."""
