"""The functional generation, `neuronxcc.nki`: tiles are values."""

from typing import Any, NoReturn

from xdsl_neuron.nki.absent import absent
from xdsl_neuron.nki.functional import isa, language
from xdsl_neuron.nki.functional.measure import baremetal, benchmark, profile
from xdsl_neuron.nki.functional.personality import PERSONALITY
from xdsl_neuron.nki.kernel import Kernel, Tracer, as_kernel, is_kernel, make_jit
from xdsl_neuron.nki.specs import TensorSpec, tensor_spec
from xdsl_neuron.nki.typing import tensor

jit = make_jit(PERSONALITY)


def trace(kernel: Any, **options: Any) -> Tracer:
    """
    `trace(kernel)(*specs)`: the verified `penguin` module of a kernel.

    `options` are the fields of `xdsl_neuron.tracer.options.TraceOptions`. Decorating a
    function makes a kernel of the first releases, which returns nothing: it writes
    those of its parameters that are outputs.
    """
    options.setdefault("output_parameters", not is_kernel(kernel))
    return Tracer(as_kernel(kernel, PERSONALITY).with_options(**options))


def simulate(kernel: Any, **options: Any) -> Kernel:
    """
    `simulate(kernel)[grid](*arrays)`: runs a kernel and returns NumPy arrays.

    `options` are those of `trace`, and `level`: the module that is executed, "penguin",
    or what it is lowered to, "bir" or "dma"; all give the same bits.
    """
    return as_kernel(kernel, PERSONALITY).with_options(**options)


def simulate_kernel(kernel: Any, *args: Any, **kwargs: Any) -> Any:
    """Runs a kernel on arrays and returns NumPy arrays."""
    return as_kernel(kernel, PERSONALITY).simulate(args, kwargs)


def __getattr__(name: str) -> NoReturn:
    absent("neuronxcc.nki", name)


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
    "tensor",
    "tensor_spec",
    "trace",
]
