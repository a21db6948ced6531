"""`neuronxcc.nki.isa.constants`: the enumerations of `nisa`."""

from xdsl_neuron.nki.enums import (
    dge_mode,
    engine,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
)

__all__ = [
    "dge_mode",
    "engine",
    "matmul_perf_mode",
    "nc_version",
    "oob_mode",
    "reduce_cmd",
]
