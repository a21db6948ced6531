"""Several ranks of a kernel in one process."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from xdsl_neuron.nki.binding import Binder
from xdsl_neuron.nki.configs import configured
from xdsl_neuron.nki.kernel import Kernel, resolve_grid, resolve_target
from xdsl_neuron.nki.run import assemble, at_level, warn_unwritten
from xdsl_neuron.nki.specialise import trace_kernel
from xdsl_neuron.tracer.errors import NKITypeError


def run_ranks(kernel: Kernel, arguments: Sequence[Sequence[Any]]) -> list[Any]:
    """
    The results of every rank of a kernel, each for its own arguments.

    All ranks run one trace, so their tensors have the same shapes and types. They meet
    at collectives (`nki.collectives`).
    """
    from xdsl_neuron.machine import Ranks, Unwritten, default_level

    if not arguments:
        raise NKITypeError("simulate_ranks takes a list of arguments for each rank")
    binder = Binder(kernel.function)
    bound = [binder.bind(tuple(each), {}) for each in arguments]
    for number, binding in enumerate(bound[1:], 1):
        if binding.specs() != bound[0].specs():
            raise NKITypeError(
                f"rank {number} has tensors {binding.specs()}, rank 0 has "
                f"{bound[0].specs()}; all ranks run one trace"
            )
    arch = resolve_target(kernel.platform_target, kernel.personality)
    options = replace(kernel.options, ranks=len(bound))
    language = kernel.personality
    grid = resolve_grid(kernel.grid, language)
    with configured(kernel.configs):
        traced = trace_kernel(binder.function, bound[0], language, arch, grid, options)
    module = at_level(traced.module, default_level.get())
    ranks = Ranks(module, len(bound))
    unwritten: list[list[Unwritten]] = [[] for _ in bound]
    outputs = ranks.run([each.arrays for each in bound], unwritten)
    for number, each in enumerate(unwritten):
        warn_unwritten(each, f"rank {number}: ")
    return [assemble(traced.result, found) for found in outputs]
