"""
The dialects of the project: `neuron` (shared), `penguin`, `bir` and `dma`.

    from xdsl_neuron.dialects import register_dialects
    register_dialects(context)

Each dialect is also an attribute of this package, imported when first used.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.ir import Dialect

if TYPE_CHECKING:
    from xdsl_neuron.dialects.bir import Bir
    from xdsl_neuron.dialects.dma import Dma
    from xdsl_neuron.dialects.neuron import Neuron
    from xdsl_neuron.dialects.penguin import Penguin

_NAMES = {"neuron": "Neuron", "penguin": "Penguin", "bir": "Bir", "dma": "Dma"}


def get_all_dialects() -> dict[str, Callable[[], Dialect]]:
    """For each dialect's name a factory that imports it."""

    def factory(name: str, attribute: str) -> Callable[[], Dialect]:
        def load() -> Dialect:
            return getattr(import_module(f"xdsl_neuron.dialects.{name}"), attribute)

        return load

    return {name: factory(name, attribute) for name, attribute in _NAMES.items()}


def register_dialects(context: Context) -> None:
    """Makes the dialects known to an xDSL context, loaded when first met."""
    for name, factory in get_all_dialects().items():
        context.register_dialect(name, factory)


def __getattr__(attribute: str) -> Dialect:
    for name, found in _NAMES.items():
        if found == attribute:
            return getattr(import_module(f"xdsl_neuron.dialects.{name}"), attribute)
    raise AttributeError(f"module {__name__!r} has no attribute {attribute!r}")


__all__ = [
    "Bir",
    "Dma",
    "Neuron",
    "Penguin",
    "get_all_dialects",
    "register_dialects",
]
