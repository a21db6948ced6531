"""
Keyword arguments of `nki.jit` and its relatives.

Public kernels give options of the vendor's compiler and of its runtime. They are known
here by name so that kernels run unchanged, and have no effect on what a kernel
computes; a name that nobody knows is a typing error and refused.
"""

from collections.abc import Iterable
from typing import Final

from xdsl_neuron.tracer.errors import NKITypeError
from xdsl_neuron.tracer.wrong_calls import unexpected

COMPILER_OPTIONS: Final = frozenset(
    {
        "additional_compile_opt",
        "artifacts_dir",
        "debug_kernel",
        "enable_asserts",
        "experimental_flags",
        "kernel_return",
        "show_compiler_tb",
    }
)
"""Options of the vendor's compiler (nki.md 2, and public kernels)."""

DEVICE_OPTIONS: Final = frozenset(
    {
        "device_count",
        "iters",
        "overwrite",
        "profile_nth",
        "save_neff_name",
        "save_trace_name",
        "warmup",
        "working_directory",
    }
)
"""Options of running on a device: benchmark, profile, baremetal."""

NO_EFFECT: Final = COMPILER_OPTIONS | DEVICE_OPTIONS


def check_options(api: str, given: Iterable[str], own: Iterable[str]) -> None:
    """Refuses a keyword that is neither one of `own` nor known to have no effect."""
    own = sorted(own)
    for key in given:
        if key not in NO_EFFECT and key not in own:
            others = {"without effect": sorted(NO_EFFECT)}
            raise NKITypeError(unexpected(f"{api}()", key, own, others))
