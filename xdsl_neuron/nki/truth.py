"""
Tensors of truth values: uint8 for the hardware, bool for the language and its callers.

`nki.api.shared` calls the type "boolean stored as uint8". A buffer remembers that it
was made as one, so that its `dtype` is bool, a returned one is an array of NumPy's
bool, and in generation 0.1 `~` is a logical not, as NumPy's.
"""

from typing import Any

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp
from xdsl_neuron.nki.dtype import spells_bool
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.compute import COMPARISONS
from xdsl_neuron.tracer.views import View

_KEEPING = frozenset({AluOp.BITWISE_AND, AluOp.BITWISE_OR, AluOp.BITWISE_XOR})


def _is_truth(value: object) -> bool:
    return value.is_truth if isinstance(value, View) else isinstance(value, bool)


def made_as(made: View, dtype: Any, *sources: object) -> View:
    """A fresh tensor of the type asked for, else of that of all its sources."""
    if dtype is not None:
        made.base.truth = spells_bool(dtype)
    elif sources and all(map(_is_truth, sources)):
        made.base.truth = made.element_type is DType.UINT8
    return made


def computed(made: View, op: AluOp, *operands: object) -> View:
    """The fresh result of an operator of generation 0.1 that was asked for no type."""
    if op in COMPARISONS and session().masks_allowed:
        made.base.truth = True
        return made
    return made_as(made, None, *operands) if op in _KEEPING else made
