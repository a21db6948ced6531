"""Scalars in memory: `nisa.scalar_load` and `nisa.scalar_store` (0.7)."""

from typing import Any

from xdsl_neuron.isa import Space
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_view
from xdsl_neuron.nki.dtype import NAMED
from xdsl_neuron.nki.scalars import SCALAR_TYPES, NkiScalar
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKITypeError, NKIValueError
from xdsl_neuron.tracer.views import View


@api
def scalar_load(src: Any) -> NkiScalar:
    """The int32 or int64 element in HBM or SBUF as a scalar of that type."""
    cell = _cell(src, "src", "scalar_load")
    found = session().load_tensor_to_register(cell)
    return NkiScalar(found.expr, NAMED[cell.element_type])


@api
def scalar_store(dst: Any, value: Any) -> None:
    """One element in HBM or SBUF = the scalar, which is of the element's type."""
    cell, trace = _cell(dst, "dst", "scalar_store"), session()
    if not isinstance(value, NkiScalar):
        raise NKITypeError(
            "scalar_store: `value` must be an NkiScalar, got "
            f"{type(value).__name__}; nisa.memset writes a number"
        )
    if value.dtype != NAMED[cell.element_type]:
        raise NKITypeError(
            f"scalar_store: `value` is {value.dtype.name}, and `dst` is {cell!r}; "
            "both have the same type"
        )
    trace.store_register_to_tensor(cell, trace.plain(value.expr, value.bits))


def _cell(tensor: Any, what: str, name: str) -> View:
    cell = as_view(tensor, what)
    if cell.element_type not in SCALAR_TYPES:
        raise NKITypeError(
            f"{name}: `{what}` must be int32 or int64, got {cell!r}; of an unsigned "
            "tensor use a view of the signed type of its width"
        )
    if cell.size != 1:
        raise NKIValueError(f"{name}: `{what}` must be one element, got {cell!r}")
    if cell.space is Space.PSUM:
        raise NKIValueError(f"{name}: `{what}` must be in SBUF or HBM, got {cell!r}")
    return cell
