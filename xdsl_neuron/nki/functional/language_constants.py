"""`neuronxcc.nki.language.constants`: what kernels import of it."""

from typing import Any

from xdsl_neuron.nki.dtype import as_dtype


def sizeinbytes(dtype: Any) -> int:
    """The bytes an element takes of a data type."""
    return as_dtype(dtype).bytes


__all__ = ["sizeinbytes"]
