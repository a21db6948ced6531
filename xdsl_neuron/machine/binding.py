"""
What binds a caller's array to a port, whoever calls.

Programs, kernel calls, `neuron-run` and the interpreter functions all come here, so
that an array is taken, converted, copied or refused alike.
"""

from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np
from xdsl.ir import Operation

from xdsl_neuron.machine.build import Array
from xdsl_neuron.machine.errors import MachineError
from xdsl_neuron.machine.interface import Port
from xdsl_neuron.numerics.casts import storage

_BOOL: Final = np.dtype(np.bool_)
_TORCH_BITS: Final = {
    "torch.bfloat16": "int16",
    "torch.float8_e4m3fn": "uint8",
    "torch.float8_e5m2": "uint8",
    "torch.float8_e8m0fnu": "uint8",
}
"""Types of torch without a form in NumPy: what has their bits."""


class Bound(NamedTuple):
    """
    An array bound to a port.

    `given` is the caller's memory as NumPy sees it, `used` what the machine works on:
    the same where it is contiguous and in the machine's byte order, else a copy.
    """

    given: Array
    used: Array

    def write_back(self) -> None:
        """Give the caller what has been written to the copy."""
        if self.used is not self.given:
            np.copyto(self.given, self.used)


def bind(
    port: Port,
    value: Any,
    taker: str,
    *,
    place: Operation | None = None,
    staging: Array | None = None,
) -> Bound:
    """
    An array for a port of `taker`; `staging` is a copy of an earlier call, if any.

    A byte of 0 or 1 may be NumPy's bool. A mutable port's array is written back with
    `write_back`.

    Raises:
        MachineError: its type or shape is not the port's, or it cannot be written.
    """
    kind = storage(port.dtype)
    given = _as_array(port, value, taker, place)
    if given.shape != port.shape:
        raise MachineError(
            place, f"'{taker}' takes {port}, got shape {list(given.shape)}"
        )
    if port.mutable:
        _check_writable(port, value, given, taker, place)
    if given.flags.c_contiguous and given.dtype.isnative:
        return Bound(given, given)
    native = given.dtype if given.dtype == _BOOL else kind
    if staging is None or staging.dtype != native:
        staging = np.empty(port.shape, native)
    np.copyto(staging, given)
    return Bound(given, staging)


def _as_array(port: Port, value: Any, taker: str, place: Operation | None) -> Array:
    """The value as an array of the port's type in either byte order, not copied."""
    kind = storage(port.dtype)
    found = value if type(value) is np.ndarray else _foreign(port, value)
    if found is not None:
        dtype = found.dtype
        if dtype == kind or dtype == kind.newbyteorder():
            return found
        if dtype == _BOOL and kind == np.uint8:
            return found
        # A host's own type for packed elements, which NumPy and ml_dtypes have not.
        named = dtype.type.__name__ == port.dtype.nki_name
        if named and dtype.itemsize == kind.itemsize:
            return found.view(kind)
    got = getattr(value, "dtype", type(value).__name__)
    raise MachineError(
        place, f"'{taker}' takes {port} as an array of {kind}, got {got}"
    )


def _foreign(port: Port, value: Any) -> Array | None:
    """An array of another library as NumPy's, None where the value is no array."""
    if not hasattr(value, "__array__") or not hasattr(value, "dtype"):
        return None
    name = str(value.dtype)
    if name not in _TORCH_BITS:
        return np.asarray(value)
    bits = np.asarray(
        value.detach().view(getattr(import_module("torch"), _TORCH_BITS[name]))
    )
    kind = storage(port.dtype)
    return bits.view(kind) if name == f"torch.{port.dtype.nki_name}" else None


def _check_writable(
    port: Port, value: Any, given: Array, taker: str, place: Operation | None
) -> None:
    """Whether what is written reaches the caller, each element by itself."""
    what = f"'{taker}' writes '{port.name}', got"
    if not given.flags.writeable:
        raise MachineError(place, f"{what} a read-only array")
    if any(
        step == 0 and extent > 1
        for step, extent in zip(given.strides, given.shape, strict=True)
    ):
        raise MachineError(place, f"{what} an array whose elements share memory")
    if type(value) is np.ndarray or isinstance(value, np.ndarray):
        return
    if given.size and not np.may_share_memory(given, _foreign(port, value)):
        raise MachineError(
            place, f"{what} a {type(value).__name__} that gives NumPy a copy"
        )
