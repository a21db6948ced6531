"""`nl.ndarray`, `nl.zeros`, `nl.full`, ... for both personalities."""

from os import PathLike, fspath
from typing import Any

from xdsl_neuron.isa import Space
from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_integer, as_value_of, as_view
from xdsl_neuron.nki.dtype import BOOL, NAMED, as_dtype
from xdsl_neuron.nki.enums import REGION_OF
from xdsl_neuron.nki.language.tensors import as_address, fill, make_tensor, request
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKIValueError
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

    `address` is where a kernel places it: (partition, byte in it), in HBM (byte,).
    """
    wanted = request(shape, dtype, buffer, name)
    if address is None:
        return make_tensor(wanted)
    place = as_address(address, wanted.region)
    made = make_tensor(wanted, address=place)
    session().addresses.place(made.base, place)
    return made


@api
def zeros(shape: Any, dtype: Any, buffer: Any = None, name: str | None = "") -> View:
    """
    A fresh tensor of zeros.

    In the functional generation a PSUM tile of zeros is only an allocation: matmuls
    accumulate into it, and what nothing writes reads as 0 (design.md 7b).
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
    wanted = request(shape, dtype, buffer, name)
    value = as_value_of(wanted.dtype, fill_value, "fill_value")
    return fill(make_tensor(wanted), value)


@api
def shared_constant(constant: Any, dtype: Any = None) -> View:
    """
    A read-only tensor in HBM with the elements of a NumPy array.

    From 0.3 on `constant` may be the path of an `.npy` file.
    """
    kind = None if dtype is None else as_dtype(dtype)
    if isinstance(constant, str | PathLike):
        constant = _from_file(fspath(constant))
    return session().shared_constant(constant, kind)


def _from_file(path: str) -> Any:
    import numpy as np

    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise NKIValueError(f"shared_constant: cannot read {path}: {error}") from None


@api
def shared_identity_matrix(n: int, dtype: Any = "uint8", dst: Any = None) -> View:
    """
    The identity of n rows.

    In generation 0.1 a tensor in HBM; later a tile in SBUF, one for each type, or
    loaded into `dst`.
    """
    trace, kind = session(), as_dtype(dtype)
    rows = as_integer(n, "n")
    if dst is not None:
        target = as_view(dst, "dst")
        trace.dma_copy(trace.shared_identity_matrix(rows, kind), target)
        return target
    if trace.masks_allowed:
        return trace.shared_identity_matrix(rows, kind)
    return trace.identity_tile(rows, kind)


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
        dtype or (BOOL if like.is_truth else NAMED[like.element_type]),
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
        dtype or (BOOL if like.is_truth else NAMED[like.element_type]),
        buffer or REGION_OF[like.space],
        name,
    )
