"""
`nki.typing`: names for annotations.

`mutable_tensor` says that a kernel of the functional generation may write a parameter;
shapes are for the reader.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TensorAnnotation:
    """`nt.tensor`, `nt.mutable_tensor`, `nt.tensor[shape]`: a kernel's tensor."""

    mutable: bool

    def __getitem__(self, item: Any) -> "TensorAnnotation":
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> "TensorAnnotation":
        return self


tensor = TensorAnnotation(False)
mutable_tensor = TensorAnnotation(True)


def mutable_parameters(function: Callable[..., Any]) -> frozenset[str]:
    """
    The parameters annotated as mutable.

    An annotation that is text (`from __future__ import annotations`) is looked up where
    the function was defined; one that names nothing says nothing.
    """
    found: set[str] = set()
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = parameter.annotation
        if isinstance(annotation, str):
            annotation = _named(annotation, function)
        if isinstance(annotation, TensorAnnotation) and annotation.mutable:
            found.add(name)
    return frozenset(found)


def _named(text: str, function: Callable[..., Any]) -> Any:
    """What a dotted name, up to a subscript or a call, stands for."""
    first, *rest = text.partition("[")[0].partition("(")[0].strip().split(".")
    found = getattr(function, "__globals__", {}).get(first)
    for part in rest:
        found = getattr(found, part, None)
    return found
