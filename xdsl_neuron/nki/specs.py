"""What a kernel is traced for: shapes and element types in place of arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

from xdsl_neuron.dtypes import DType
from xdsl_neuron.nki.arguments import as_shape
from xdsl_neuron.nki.dtype import (
    BOOL,
    NAMED,
    LanguageDtype,
    as_dtype,
    dtype_or_none,
    spells_bool,
)
from xdsl_neuron.tracer.errors import NKITypeError


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """A tensor argument without its elements."""

    kind: DType
    shape: tuple[int, ...]
    truth: bool = False
    """Whether its elements are bools."""

    @property
    def dtype(self) -> LanguageDtype:
        """The element type as the language names it."""
        return BOOL if self.truth else NAMED[self.kind]


def tensor_spec(dtype: Any, shape: Sequence[int]) -> TensorSpec:
    """
    A tensor argument: `tensor_spec("bf16", (512, 512))`.

    The type is named as in IR or as in the language.
    """
    if isinstance(dtype, str):
        try:
            return TensorSpec(DType.from_ir(dtype), as_shape(shape))
        except ValueError:
            pass  # not an IR name: the language's names follow
    return TensorSpec(as_dtype(dtype), as_shape(shape), spells_bool(dtype))


def is_array(value: object) -> bool:
    """
    Whether an argument is a tensor: it has `__array__` and is no scalar.

    NumPy's scalars have `__array__` too; they are values known while tracing.
    """
    if isinstance(value, TensorSpec):
        return True
    if isinstance(value, Number) or not hasattr(value, "__array__"):
        return False
    return getattr(value, "shape", ()) != () or hasattr(value, "__setitem__")


def spec_of(value: Any, name: str) -> TensorSpec:
    """Shape and element type of an array argument."""
    if isinstance(value, TensorSpec):
        return value
    kind = dtype_or_none(value.dtype)
    if kind is None:
        names = ", ".join(d.nki_name for d in DType)
        raise NKITypeError(
            f"argument '{name}' has dtype {value.dtype}, which is not one of: {names}"
        )
    shape = tuple(int(extent) for extent in value.shape)
    return TensorSpec(kind, shape, spells_bool(value.dtype))
