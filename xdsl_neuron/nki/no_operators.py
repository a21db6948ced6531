"""Python's operators on a tensor of the generations that have none: what to write."""

from collections.abc import Callable
from typing import Any, Final, NoReturn

from xdsl_neuron.tracer.errors import NKITypeError

_BINARY: Final = {
    "add": ("+", "add"),
    "sub": ("-", "subtract"),
    "mul": ("*", "multiply"),
    "truediv": ("/", "divide"),
    "mod": ("%", "mod"),
    "pow": ("**", "power"),
    "and": ("&", "bitwise_and"),
    "or": ("|", "bitwise_or"),
    "xor": ("^", "bitwise_xor"),
    "lshift": ("<<", "left_shift"),
    "rshift": (">>", "right_shift"),
}
"""Operators with a reflected form, as they are written, and the function for each."""
_COMPARISONS: Final = {
    "lt": ("<", "less"),
    "le": ("<=", "less_equal"),
    "gt": (">", "greater"),
    "ge": (">=", "greater_equal"),
}
_UNARY: Final = {
    "neg": ("-", "negative"),
    "abs": ("abs()", "abs"),
    "invert": ("~", "invert"),
}
_OTHERS: Final = {
    "matmul": ("@", "nisa.nc_matmul(dst, stationary, moving)"),
    "floordiv": ("//", "nl.divide and a tensor of an integer type"),
    "pos": ("+", "the tensor itself"),
}


def _refuse(symbol: str, instead: str) -> NoReturn:
    raise NKITypeError(
        f"'{symbol}' of a tensor is of generation 0.1 (neuronxcc.nki), in later ones "
        f"no operator computes; use {instead}"
    )


class WithoutOperators:
    """Refuses every operator but `==`, which asks whether it is the same view."""

    __slots__ = ()

    def __float__(self) -> NoReturn:
        raise NKITypeError(
            "the elements of a tensor are known only while running; load one into a "
            "register with nisa.register_load"
        )

    __int__ = __float__


def _binary(symbol: str, function: str) -> Callable[[Any, Any], NoReturn]:
    def operator(self: Any, other: Any) -> NoReturn:
        _refuse(
            symbol,
            f"nl.{function}(x, y), which makes a tile, or nisa.tensor_tensor or "
            f"nisa.tensor_scalar with op=nl.{function}, which write to one",
        )

    return operator


def _unary(symbol: str, function: str) -> Callable[[Any], NoReturn]:
    def operator(self: Any) -> NoReturn:
        _refuse(symbol, f"nl.{function}(x), which makes a tile")

    return operator


def _other(symbol: str, instead: str) -> Callable[..., NoReturn]:
    def operator(self: Any, other: Any = None) -> NoReturn:
        _refuse(symbol, instead)

    return operator


for _name, _texts in (_BINARY | _COMPARISONS).items():
    setattr(WithoutOperators, f"__{_name}__", _binary(*_texts))
for _name, _texts in _BINARY.items():
    setattr(WithoutOperators, f"__r{_name}__", _binary(*_texts))
for _name, _texts in _UNARY.items():
    setattr(WithoutOperators, f"__{_name}__", _unary(*_texts))
for _name, _texts in _OTHERS.items():
    setattr(WithoutOperators, f"__{_name}__", _other(*_texts))
    setattr(WithoutOperators, f"__r{_name}__", _other(*_texts))
