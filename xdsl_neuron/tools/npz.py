"""
Arrays in `.npz` files: what a function takes and gives, never pickled.

The format has no bf16 and no fp8. Such an array is stored as unsigned integers of its
width, and the entry `__dtypes__` is a JSON string that names its element type.
"""

import json
import os
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dtypes import DType
from xdsl_neuron.machine import Port
from xdsl_neuron.nki.specs import TensorSpec, tensor_spec
from xdsl_neuron.numerics.casts import from_float32, storage
from xdsl_neuron.tracer.errors import NKITypeError

Array = NDArray[Any]

DTYPES_ENTRY: Final = "__dtypes__"

_NATIVE_KINDS: Final = "iufb"
_UNREADABLE: Final = (
    OSError,
    ValueError,
    EOFError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)


def is_native(dtype: DType) -> bool:
    """Whether the format has the element type."""
    kind = storage(dtype)
    return kind.kind in _NATIVE_KINDS and kind.isbuiltin == 1


def load_arrays(path: str, ports: Sequence[Port]) -> tuple[list[Array], list[str]]:
    """
    The arrays of a file for these inputs, and notes on what was done to them.

    An array is found by the input's name, else by its position as `arr_0`, ... What
    the format or its writer cannot say is put right; the rest is left to the machine.

    Raises:
        DiagnosticError: the file cannot be read or lacks an input.
    """
    found = _read(path)
    notes: list[str] = []
    arrays: list[Array] = []
    used = {DTYPES_ENTRY}
    for position, port in enumerate(ports):
        name = port.name if port.name in found else f"arr_{position}"
        if name not in found:
            names = ", ".join(f"'{key}'" for key in found if key != DTYPES_ENTRY)
            raise DiagnosticError(
                None,
                f"'{path}' has no array '{port.name}' for input {port}, only "
                f"{names or 'none'}",
            )
        used.add(name)
        arrays.append(_as_input(found[name], port, notes))
    unused = [name for name in found if name not in used]
    if unused:
        notes.append(f"'{path}' has arrays that are no inputs: {', '.join(unused)}")
    return arrays, notes


def specs_of(path: str, names: Sequence[str]) -> dict[str, TensorSpec]:
    """
    What a kernel's arguments of these names are traced as for the arrays of a file.

    Arrays are found as for `load_arrays`, by name or by position among `names`; a name
    without one is left out.
    """
    found = _read(path)
    foreign: dict[str, str] = {}
    if DTYPES_ENTRY in found:
        foreign = json.loads(str(found[DTYPES_ENTRY]))
    specs: dict[str, TensorSpec] = {}
    for position, name in enumerate(names):
        entry = name if name in found else f"arr_{position}"
        if entry in found:
            array = found[entry]
            dtype = foreign.get(entry, array.dtype.name)
            try:
                specs[name] = tensor_spec(dtype, array.shape)
            except NKITypeError as error:
                raise DiagnosticError(
                    None, f"array '{entry}' of '{path}': {error.message}"
                ) from None
    return specs


def _read(path: str) -> dict[str, Array]:
    try:
        with Path(path).open("rb") as file:
            loaded: Any = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return {"arr_0": loaded}
            with loaded:
                return {name: loaded[name] for name in loaded.files}
    except _UNREADABLE as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise DiagnosticError(None, f"cannot read '{path}': {reason}") from error


def _as_input(array: Array, port: Port, notes: list[str]) -> Array:
    """
    The array, of the input's element type if the format has none or floats differ.

    Any other type is refused by the machine, like everybody's.
    """
    wanted = storage(port.dtype)
    given = array.dtype.newbyteorder("=")
    if given == wanted or array.dtype.kind not in "Vuf":
        return array
    raw = given.kind == "V" or (given.kind == "u" and not is_native(port.dtype))
    if raw and given.itemsize == wanted.itemsize and not is_native(port.dtype):
        return np.ascontiguousarray(array, given).view(wanted).reshape(array.shape)
    if given.kind == "f" and port.dtype.is_float:
        notes.append(f"input '{port.name}' is cast from {given} to {wanted}")
        with np.errstate(all="ignore"):
            single = np.ascontiguousarray(array, np.float32)
        return np.asarray(from_float32(port.dtype)(single)).reshape(array.shape)
    return array


def save_arrays(path: str, arrays: Mapping[str, tuple[DType, Array]]) -> None:
    """
    Write arrays with their element types under their names; the file is replaced.

    Raises:
        DiagnosticError: it cannot be written; an existing file is then unchanged.
    """
    buffer = BytesIO()
    foreign: dict[str, str] = {}
    with zipfile.ZipFile(buffer, "w") as file:
        for name, (dtype, array) in arrays.items():
            stored = np.ascontiguousarray(array)
            if not is_native(dtype):
                foreign[name] = dtype.nki_name
                stored = stored.view(f"uint{8 * dtype.bytes}")
            _add(file, name, stored.reshape(array.shape))
        if foreign:
            _add(file, DTYPES_ENTRY, np.array(json.dumps(foreign)))
    _replace(path, buffer.getvalue())


def _add(file: zipfile.ZipFile, name: str, array: Array) -> None:
    with file.open(f"{name}.npy", "w", force_zip64=True) as entry:
        npy.write_array(entry, array, allow_pickle=False)


def _replace(path: str, data: bytes) -> None:
    """Write a file as a whole, or not at all."""
    try:
        target = Path(path).resolve()
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        try:
            partial.write_bytes(data)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise DiagnosticError(None, f"cannot write '{path}': {reason}") from error
