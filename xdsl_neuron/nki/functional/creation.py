"""`nl.zeros` and `nl.full` of generation 0.1: they take a hint about when to fill."""

from typing import Any

from xdsl_neuron.nki.api import api
from xdsl_neuron.nki.arguments import as_flag
from xdsl_neuron.nki.language import creation
from xdsl_neuron.tracer.views import View


@api
def zeros(
    shape: Any,
    dtype: Any,
    buffer: Any = None,
    name: str | None = "",
    *,
    lazy_initialization: bool = False,
) -> View:
    """
    A fresh tensor of zeros.

    `lazy_initialization` lets the vendor's compiler fill it at its first use; it has
    no effect on what is computed.
    """
    as_flag(lazy_initialization, "lazy_initialization")
    return creation.zeros(shape, dtype, buffer, name)


@api
def full(
    shape: Any,
    fill_value: Any,
    dtype: Any,
    buffer: Any = None,
    name: str | None = "",
    *,
    lazy_initialization: bool = False,
) -> View:
    """A fresh tensor with every element `fill_value`; the hint is that of `zeros`."""
    as_flag(lazy_initialization, "lazy_initialization")
    return creation.full(shape, fill_value, dtype, buffer, name)
