"""`nl.static_cast`: a value in another element type."""

from typing import Any

import numpy as np

from xdsl_neuron.nki.dtype import NAMED, as_dtype
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKITypeError
from xdsl_neuron.tracer.views import View


def static_cast(value: Any, dtype: Any) -> Any:
    """
    A tile, or outside of a kernel an array, in another element type.

    A tile is copied on chip; an array is rounded as NumPy does. NKITypeError for a
    packed type, which has no array of one element each.
    """
    kind = as_dtype(dtype)
    if isinstance(value, View):
        return session().tensor_copy(value, dtype=kind)
    if kind.lanes > 1:
        raise NKITypeError(f"static_cast: {kind.nki_name} packs {kind.lanes} elements")
    return np.asarray(value).astype(NAMED[kind].dtype)
