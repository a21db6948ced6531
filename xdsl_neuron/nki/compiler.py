"""
`nki.compiler`: per-kernel configuration (0.7), and where tiles are (first releases).

All of it leaves what a kernel computes as it is.
"""

from typing import NoReturn

from xdsl_neuron.nki.absent import absent
from xdsl_neuron.nki.configs import (
    AddressRotation,
    CompileConfig,
    SpecializationConfig,
)
from xdsl_neuron.nki.functional.compiler import (
    enable_stack_allocator,
    force_auto_alloc,
    multi_buffer,
    no_reorder,
    precise_schedule,
    psum,
    sbuf,
    skip_middle_end_transformations,
)


def __getattr__(name: str) -> NoReturn:
    absent("nki.compiler", name)


__all__ = [
    "AddressRotation",
    "CompileConfig",
    "SpecializationConfig",
    "enable_stack_allocator",
    "force_auto_alloc",
    "multi_buffer",
    "no_reorder",
    "precise_schedule",
    "psum",
    "sbuf",
    "skip_middle_end_transformations",
]
