"""The functional generation, `neuronxcc.nki`: tiles are values."""

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from xdsl_neuron.nki.functional import isa, language
from xdsl_neuron.nki.functional.tile import Tile
from xdsl_neuron.nki.kernel import Kernel, as_kernel, make_jit
from xdsl_neuron.nki.specialise import Personality
from xdsl_neuron.nki.specs import TensorSpec, tensor_spec

PERSONALITY = Personality("neuronxcc.nki", "trn2", Tile, rolled=True)

jit = make_jit(PERSONALITY)

# What runs, measures or profiles on a device elsewhere is simulated here.
baremetal = benchmark = profile = jit


def trace(kernel: Any, **options: Any) -> Callable[..., ModuleOp]:
    """
    `trace(kernel)(*specs)`: the verified `penguin` module of a kernel.

    `options` are the fields of `xdsl_neuron.tracer.options.TraceOptions`.
    """
    return as_kernel(kernel, PERSONALITY).with_options(**options).trace


def simulate(kernel: Any, **options: Any) -> Kernel:
    """`simulate(kernel)[grid](*arrays)`: runs a kernel and returns NumPy arrays."""
    return as_kernel(kernel, PERSONALITY)


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """Runs a kernel on arrays and returns NumPy arrays."""
    return as_kernel(kernel, PERSONALITY).simulate(args, kwargs)


__all__ = [
    "Kernel",
    "TensorSpec",
    "baremetal",
    "benchmark",
    "isa",
    "jit",
    "language",
    "profile",
    "simulate",
    "simulate_kernel",
    "tensor_spec",
    "trace",
]
