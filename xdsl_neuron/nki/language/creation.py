"""`nl.ndarray`, `nl.zeros`, `nl.full`, ... for both personalities."""

from typing import Any

from xdsl_neuron.isa import Space
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_number, as_view
from xdsl_neuron.nki.dtype import NAMED, as_dtype
from xdsl_neuron.nki.enums import REGION_OF
from xdsl_neuron.nki.language.tensors import fill, make_tensor, request
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.views import View


@api
def ndarray(
    shape: Any,
    dtype: Any,
    buffer: Any = None,
    name: str | None = "",
    address: Any = None,
) -> View:
    """
    A fresh tensor with undefined elements; in SBUF without `buffer`.

    `address` is the partition and the byte in it where a kernel places it.
    """
    made = make_tensor(request(shape, dtype, buffer, name))
    if address is not None:
        trace = session()
        trace.addresses.place(made.base, address, trace.arch)
    return made


@api
def zeros(shape: Any, dtype: Any, buffer: Any = None, name: str | None = "") -> View:
    """
    A fresh tensor of zeros.

    In the functional generation a PSUM tile of zeros is only an allocation: matmuls
    accumulate into it, and what nothing writes reads as 0 (DESIGN.md 7b).
    """
    wanted = request(shape, dtype, buffer, name)
    if session().masks_allowed and wanted.region.space is Space.PSUM:
        return make_tensor(wanted, init=0.0)
    return fill(make_tensor(wanted), 0.0)


@api
def ones(shape: Any, dtype: Any, buffer: Any = None, name: str | None = "") -> View:
    """A fresh tensor of ones."""
    return fill(make_tensor(request(shape, dtype, buffer, name)), 1.0)


@api
def full(
    shape: Any, fill_value: Any, dtype: Any, buffer: Any = None, name: str | None = ""
) -> View:
    """A fresh tensor with every element `fill_value`."""
    value = as_number(fill_value, "fill_value")
    return fill(make_tensor(request(shape, dtype, buffer, name)), value)


@api
def shared_constant(constant: Any, dtype: Any = None) -> View:
    """A read-only tensor in HBM with the elements of a NumPy array."""
    kind = None if dtype is None else as_dtype(dtype)
    return session().shared_constant(constant, kind)


@api
def shared_identity_matrix(n: int, dtype: Any = "uint8", dst: Any = None) -> View:
    """The identity of n rows: a tensor in HBM, or loaded into `dst`."""
    trace = session()
    found = trace.shared_identity_matrix(int(n), as_dtype(dtype))
    if dst is not None:
        trace.dma_copy(found, as_view(dst, "dst"))
    return found


@api
def empty_like(
    x: Any = None,
    dtype: Any = None,
    buffer: Any = None,
    name: str | None = "",
    *,
    a: Any = None,
) -> View:
    """
    A fresh tensor with the shape, and unless given the type and region, of `x`.

    Generation 0.1 calls it `a`.
    """
    like = as_view(x if a is None else a, "x")
    return ndarray(
        like.shape,
        dtype or NAMED[like.element_type],
        buffer or REGION_OF[like.space],
        name,
    )


@api
def zeros_like(
    x: Any = None,
    dtype: Any = None,
    buffer: Any = None,
    name: str | None = "",
    *,
    a: Any = None,
) -> View:
    """`empty_like`, filled with zeros."""
    like = as_view(x if a is None else a, "x")
    return zeros(
        like.shape,
        dtype or NAMED[like.element_type],
        buffer or REGION_OF[like.space],
        name,
    )
