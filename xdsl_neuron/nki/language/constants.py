"""Constants known while tracing: NumPy arrays as contents of a tensor."""

from typing import Any

from xdsl_neuron.dialects.neuron.constant import Blob, Contents, Identity, Splat
from xdsl_neuron.dtypes import DType
from xdsl_neuron.nki.dtype import as_dtype
from xdsl_neuron.tracer.errors import NKIValueError


def constant_contents(
    constant: Any, dtype: Any
) -> tuple[DType, Contents, tuple[int, ...]]:
    """
    Element type, contents and shape of an array.

    Without `dtype` the array's own type is kept, float64 becomes float32. Equal
    elements and identities have a short form.
    """
    import numpy as np

    from xdsl_neuron.numerics.casts import cast

    array: Any = np.ascontiguousarray(constant)
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    source = as_dtype(array.dtype)
    kind = source if dtype is None else as_dtype(dtype)
    if not array.size:
        raise NKIValueError("shared_constant of an array without elements")
    shape: tuple[int, ...] = np.shape(constant)
    if array.ndim == 2 and np.array_equal(array, np.eye(*array.shape)):
        if array.shape[0] == array.shape[1]:
            return kind, Identity(), shape
    first = array.flat[0].item()
    if array.dtype.kind in "iuf" and (array == first).all():
        return kind, Splat(repr(first)), shape
    return kind, Blob(cast(array, source, kind).tobytes()), shape
