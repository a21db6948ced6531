"""The contents of constants, as bytes of their buffer."""

import numpy as np

from xdsl_neuron.dialects.neuron import Blob, Contents, Identity, TensorSpec
from xdsl_neuron.machine.memory import Buffer, new_buffer
from xdsl_neuron.numerics.casts import storage
from xdsl_neuron.numerics.fill import constant


def constant_buffer(contents: Contents, spec: TensorSpec) -> Buffer:
    """A read-only buffer that holds the constant."""
    dtype = storage(spec.dtype)
    buffer = new_buffer(spec.size * dtype.itemsize)
    view = np.ndarray(spec.shape, dtype, buffer)
    match contents:
        case Identity():
            view[...] = constant(spec.dtype, 0)
            np.fill_diagonal(view, constant(spec.dtype, 1))
        case Blob(data):
            buffer[...] = np.frombuffer(data, np.uint8)
        case _:
            view[...] = constant(spec.dtype, contents.value)
    buffer.flags.writeable = False
    return buffer
