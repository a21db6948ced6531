"""
NKI, the kernel language: the destination-passing generations (`nki`).

`install()` makes `import nki` and `import neuronxcc.nki` mean this package, whose
functional part is `xdsl_neuron.nki.functional`.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

from xdsl_neuron.nki import compiler, isa, language
from xdsl_neuron.nki.absent import absent
from xdsl_neuron.nki.destination import NkiTensor
from xdsl_neuron.nki.install import install
from xdsl_neuron.nki.kernel import Kernel, Tracer, as_kernel, make_configured_jit
from xdsl_neuron.nki.ranks import run_ranks
from xdsl_neuron.nki.specialise import Personality
from xdsl_neuron.nki.specs import TensorSpec, tensor_spec

PERSONALITY = Personality("nki", "trn3", NkiTensor, rolled=False)

jit = make_configured_jit(PERSONALITY)


def trace(kernel: Any, **options: Any) -> Tracer:
    """
    `trace(kernel)(*specs)`: the verified `penguin` module of a kernel.

    `options` are the fields of `xdsl_neuron.tracer.options.TraceOptions`.
    """
    return Tracer(as_kernel(kernel, PERSONALITY).with_options(**options))


def simulate(kernel: Any, **options: Any) -> Kernel:
    """
    `simulate(kernel)[grid](*arrays)`: runs a kernel and returns NumPy arrays.

    `options` are those of `trace`, and `level`: the module that is executed, "penguin",
    or what it is lowered to, "bir" or "dma"; all give the same bits.
    """
    return as_kernel(kernel, PERSONALITY).with_options(**options)


def simulate_ranks(
    kernel: Any, arguments: Sequence[Sequence[Any]], **options: Any
) -> list[Any]:
    """
    `simulate_ranks(kernel, [arguments of rank 0, ...])`: the results of every rank.

    Ranks meet at the collectives of `nki.collectives`. Raises MachineError where they
    wait for each other without end.
    """
    return run_ranks(as_kernel(kernel, PERSONALITY).with_options(**options), arguments)


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """Runs a kernel on arrays."""
    return as_kernel(kernel, PERSONALITY).simulate(args, kwargs)


def __getattr__(name: str) -> NoReturn:
    absent("nki", name)


__all__ = [
    "Kernel",
    "TensorSpec",
    "compiler",
    "install",
    "isa",
    "jit",
    "language",
    "simulate",
    "simulate_kernel",
    "simulate_ranks",
    "tensor_spec",
    "trace",
]
