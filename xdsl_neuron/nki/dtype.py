"""
The element types kernels name: `nl.float32`, `tensor.dtype`.

A `LanguageDtype` stands for one `DType`. NumPy accepts it where it wants a dtype, and
it equals every other spelling of the same type (a string, a NumPy or ml_dtypes type).
"""

from typing import TYPE_CHECKING, Any, Final

from xdsl_neuron.dtypes import DType
from xdsl_neuron.tracer.errors import NKITypeError

if TYPE_CHECKING:
    import numpy as np


class LanguageDtype:
    """One element type as the language spells it."""

    __slots__ = ("kind", "truth")

    def __init__(self, kind: DType, truth: bool = False) -> None:
        self.kind = kind
        self.truth = truth
        """Whether it is `bool_`, a byte that is 0 or 1."""

    @property
    def name(self) -> str:
        """The language's name."""
        return "bool_" if self.truth else self.kind.nki_name

    @property
    def itemsize(self) -> int:
        """Bytes of an element (of the container of a packed type)."""
        return self.kind.bytes

    @property
    def dtype(self) -> "np.dtype[np.generic]":
        """The NumPy dtype that stores it; NumPy asks for this attribute."""
        import numpy as np

        from xdsl_neuron.numerics.casts import storage

        return np.dtype(np.bool_) if self.truth else storage(self.kind)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LanguageDtype):
            return self.kind is other.kind
        return dtype_or_none(other) is self.kind

    def __hash__(self) -> int:
        return hash(self.kind)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"nl.{self.name}"


class FloatLimits:
    """
    The limits of a floating-point type: `nl.finfo(dtype)`, `nl.fp32`.

    Attributes as NumPy's `finfo` has them: min, max, eps, tiny, as Python numbers.
    """

    __slots__ = ("kind",)

    def __init__(self, kind: DType) -> None:
        self.kind = kind

    def __getattr__(self, name: str) -> float:
        if name not in ("min", "max", "eps", "tiny"):
            raise AttributeError(
                f"limits of {self.kind.nki_name} are min, max, eps and tiny, got {name}"
            )
        from importlib import import_module

        from xdsl_neuron.numerics.casts import storage

        # Untyped on purpose: its class knows NumPy's own types only.
        finfo: Any = import_module("ml_dtypes").finfo
        return float(getattr(finfo(storage(self.kind)), name))

    def __repr__(self) -> str:
        return f"nl.finfo(nl.{self.kind.nki_name})"


NAMED: Final = {kind: LanguageDtype(kind) for kind in DType}
"""The language's object for each element type."""

BOOL: Final = LanguageDtype(DType.UINT8, truth=True)
"""Truth values: of the same bytes as uint8, and equal to it."""

_known: dict[object, DType] = {}


def dtype_or_none(value: object) -> DType | None:
    """The element type a value spells, None where it spells none."""
    if isinstance(value, LanguageDtype):
        return value.kind
    if isinstance(value, DType):
        return value
    try:
        return _known[value]
    except (KeyError, TypeError):
        pass
    try:
        found = DType.from_nki(_spelled(value))
    except ValueError:
        return None
    if isinstance(value, str | type):
        _known[value] = found
    return found


def _spelled(value: object) -> str:
    """The name of a type that is no object of ours."""
    name = value if isinstance(value, str) else getattr(value, "name", None)
    if not isinstance(name, str):
        name = getattr(value, "__name__", None) or str(value)
    return name.removeprefix("torch.")


def spells_bool(value: object) -> bool:
    """Whether a value names the type of truth values."""
    if isinstance(value, LanguageDtype):
        return value.truth
    return not isinstance(value, DType) and _spelled(value) in ("bool", "bool_")


def as_dtype(value: object) -> DType:
    """The element type a value spells; NKITypeError lists the accepted names."""
    found = dtype_or_none(value)
    if found is None:
        names = ", ".join(kind.nki_name for kind in DType)
        raise NKITypeError(
            f"Unsupported dtype '{value}', expected one of the following dtypes: "
            f"{names}"
        )
    return found


def finfo(dtype: object) -> FloatLimits:
    """The limits of a floating-point type; NKITypeError for another one."""
    kind = as_dtype(dtype)
    if not kind.is_float:
        raise NKITypeError(f"finfo takes a floating-point type, got {kind.nki_name}")
    return FloatLimits(kind)


def as_optional_dtype(value: object) -> DType | None:
    """An element type; None leaves it to the instruction."""
    return None if value is None else as_dtype(value)
