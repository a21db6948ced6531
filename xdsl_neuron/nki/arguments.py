"""Turning what kernels pass into what the builders take."""

from collections.abc import Sequence
from typing import Any, Final, TypeGuard

from xdsl_neuron.dtypes import DType, typed_number
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.nki.dtype import dtype_or_none
from xdsl_neuron.tracer.context import current
from xdsl_neuron.tracer.dma import validate_dma_qos
from xdsl_neuron.tracer.errors import NKITypeError, NKIValueError, described
from xdsl_neuron.tracer.index import NOT_AFFINE, IndexExpr, Mask, as_integer, is_integer
from xdsl_neuron.tracer.tiles import Number
from xdsl_neuron.tracer.views import View
from xdsl_neuron.tracer.wrong_calls import unexpected

PATTERN_DIMS: Final = 4
"""Dimensions of a pattern of `iota` and `affine_select`."""


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value is a tuple or list, of anything."""
    return isinstance(value, tuple | list)


def is_mapping(value: object) -> TypeGuard[dict[Any, Any]]:
    """Whether a value is a plain dict, of anything."""
    return type(value) is dict


def as_view(value: Any, what: str) -> View:
    """A tensor argument."""
    if isinstance(value, View):
        return value
    if value is None:
        raise NKIValueError(f"'{what}' cannot be None.")
    raise NKITypeError(f"`{what}` must be a tensor, got {described(value)}")


def as_number(value: Any, what: str) -> Number:
    """A Python or NumPy number argument."""
    if isinstance(value, int | float):
        return value
    if isinstance(value, IndexExpr):
        raise NKITypeError(
            f"`{what}` is the index {value}, which has no value as data of a tile; "
            "make a tile of the index with nisa.iota"
        )
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "shape", None) == ():
        found = item()
        if isinstance(found, int | float):
            return found
    raise NKITypeError(f"`{what}` must be a number, got {described(value)}")


def as_value_of(dtype: DType, value: Any, what: str) -> Number:
    """
    A number that fills tensors of a type.

    From release 0.3 on a float fills no integers, whatever its value (NKI 0.3.0 Update
    Guide, release 2.29).
    """
    number = as_number(value, what)
    exact = dtype.is_integer and isinstance(number, float)
    if exact and not current().masks_allowed:
        raise NKITypeError(
            f"`{what}` is the float {number!r}, but the elements are "
            f"{dtype.nki_name}: from release 0.3 on the types must match; write an int"
        )
    return number


def as_operand(value: Any, what: str) -> View | Number:
    """A tensor or a number; a NumPy number keeps its type, if that is one of NKI's."""
    if isinstance(value, View):
        return value
    number = as_number(value, what)
    kind = None if number is value else dtype_or_none(getattr(value, "dtype", None))
    if kind is None or kind.bytes > DType.FLOAT32.bytes:
        return number
    return typed_number(number, kind)


def as_optional_operand(value: Any, what: str) -> View | Number | None:
    """A tensor, a number or None."""
    return None if value is None else as_operand(value, what)


def as_mask(value: Any) -> Mask | None:
    """A mask; None and True leave nothing out."""
    if value is None or value is True:
        return None
    if not current().masks_allowed:
        raise NKITypeError(
            "got an unexpected keyword argument 'mask': it is of generation 0.1; in "
            "0.2 and later use slices of the size that is wanted"
        )
    if isinstance(value, Mask):
        return value.as_predicates()
    if value is False:
        return Mask((), ()) & False
    raise NKITypeError(f"{NOT_AFFINE} Got {described(value)}")


def as_axes(value: Any, what: str = "axis") -> tuple[int, ...]:
    """An axis or a sequence of axes."""
    if is_sequence(value):
        return tuple(as_integers(value, what))
    return (as_integer(value, what, "int or a tuple of int"),)


def as_shape(value: Any) -> tuple[int, ...]:
    """A shape: an integer or a sequence of integers."""
    if is_integer(value):
        return (int(value),)
    if not is_sequence(value):
        raise NKITypeError(f"`shape` must be a tuple of int, got {described(value)}")
    for extent in value:
        if not is_integer(extent):
            raise NKITypeError(
                f"`shape` must be a tuple of int, got {described(extent)} in it"
            )
    return tuple(int(extent) for extent in value)


def as_name(value: Any) -> str | None:
    """A name; empty is none."""
    if value is not None and not isinstance(value, str):
        raise NKITypeError(f"`name` must be str, got {described(value)}")
    return value or None


def as_affine(value: Any, what: str) -> Affine:
    """An integer, a loop index or a register."""
    if isinstance(value, IndexExpr) and not value.shape:
        return Affine.of(value.expr)
    return Affine(as_integer(value, what))


def as_flag(value: Any, what: str) -> bool:
    """A truth value known while tracing; an integer and None are taken for one."""
    if isinstance(value, IndexExpr | Mask):
        return bool(value)  # refused, or known once each program is traced by itself
    if value is None or is_integer(value) or isinstance(value, bool):
        return bool(value)
    if (
        str(getattr(value, "dtype", "")) == "bool"
        and getattr(value, "shape", None) == ()
    ):
        return bool(value)
    raise NKITypeError(f"`{what}` must be bool, got {described(value)}")


HIDDEN = ("deps", "dma_qos", "mode", "name", "schedule")
"""Keyword arguments that every instruction of the functional generation takes."""


def hidden_options(
    api: str, given: dict[str, Any], kept: Sequence[str] = ("name", "deps")
) -> dict[str, Any]:
    """
    The undocumented keyword arguments of the functional generation (nki.md 1).

    `kept` ones reach the instruction; the scheduling hints have no effect.
    """
    for key in given:
        if key not in HIDDEN:
            raise NKITypeError(unexpected(f"{api}()", key, HIDDEN, {}))
    return {key: given[key] for key in kept if given.get(key)}


DMA_OPTIONS: Final = ("name", "deps", "dma_qos")
"""Those of the hidden ones that a DMA carries."""


def dma_options(api: str, given: dict[str, Any]) -> dict[str, Any]:
    """`hidden_options` of a DMA, which has a quality-of-service request."""
    found = hidden_options(api, given, DMA_OPTIONS)
    if "dma_qos" in found:
        found["dma_qos"] = validate_dma_qos(found["dma_qos"]).data
    return found


def as_integers(value: Any, what: str) -> list[int]:
    """A sequence of integers known while tracing."""
    items = value.tolist() if hasattr(value, "tolist") else value
    if not is_sequence(items):
        raise NKITypeError(f"`{what}` must be a list of int, got {described(value)}")
    for item in items:
        if isinstance(item, IndexExpr):
            as_integer(item, what)
        if not is_integer(item):
            raise NKITypeError(
                f"`{what}` must be a list of int, got {described(item)} in it"
            )
    return [int(item) for item in items]


def as_pattern(value: Any, api_name: str) -> list[tuple[int, int]]:
    """`[[step, number], ...]`, one pair for each free dimension."""
    if not is_sequence(value) or not all(is_sequence(pair) for pair in value):
        raise NKITypeError(
            f"`pattern` of {api_name} must be a list of [step, number] pairs, got "
            f"{described(value)}"
        )
    pairs = [as_integers(pair, "pattern") for pair in value]
    if any(len(pair) != 2 for pair in pairs):
        raise NKIValueError(
            f"`pattern` of {api_name} must be a list of [step, number] pairs, got "
            f"{value!r}"
        )
    if any(number < 1 for _, number in pairs):
        raise NKIValueError(
            f"`pattern` of {api_name} has a number that is not positive: {value!r}"
        )
    if len(pairs) > PATTERN_DIMS:
        raise NKIValueError(
            f"`pattern` of {api_name} has {len(pairs)} dimensions, at most "
            f"{PATTERN_DIMS} are supported: merge two, or loop over one"
        )
    return [(step, number) for step, number in pairs]
