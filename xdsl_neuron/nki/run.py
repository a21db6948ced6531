"""Running a traced kernel on arrays; the machine is imported here, when needed."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from xdsl.dialects.builtin import ModuleOp

from xdsl_neuron.nki.specialise import Output, Result, Traced

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from xdsl_neuron.machine import Unwritten

    Array = NDArray[Any]


_WARNED: Final[dict[str | tuple[str, type[Warning], int], int]] = {}
"""Python's own record of what it has shown once."""


class Runner:
    """One traced kernel and its plan."""

    def __init__(self, traced: Traced, level: str) -> None:
        from xdsl_neuron import machine

        self.traced = traced
        self.program = machine.prepare(at_level(traced.module, level))

    @staticmethod
    def default_level() -> str:
        """The level that is executed unless another one is asked for."""
        from xdsl_neuron.machine import default_level

        return default_level.get()

    @staticmethod
    def default_options() -> object:
        """The machine's switches for programs that are made now."""
        from xdsl_neuron.machine import default_options

        return default_options.get()

    def run(self, given: Sequence[Any]) -> Any:
        """The kernel's result as arrays; mutable arguments are updated in place."""
        from xdsl_neuron import machine

        unwritten: list[Unwritten] = []
        outputs = self.program.run(given, unwritten)
        if unwritten:
            warn_unwritten(unwritten)
        machine.notify(self.traced.module, self.program)
        return assemble(self.traced.result, outputs)


def warn_unwritten(found: "Sequence[Unwritten]", who: str = "") -> None:
    """
    Warns of outputs that hold what nothing has written, at their allocations' lines.

    `who` says of which rank they are, if there are several.
    """
    from xdsl_neuron.machine import UnwrittenOutput

    for each in found:
        place = each.place
        file, line = ("<unknown>", 1) if place is None else (place.file, place.line)
        warning = UnwrittenOutput(f"{who}{each}", each)
        warnings.warn_explicit(warning, None, file, line, registry=_WARNED)


def at_level(module: ModuleOp, level: str) -> ModuleOp:
    """The module to execute; lowering is imported only when asked for."""
    if level == "penguin":
        return module
    from xdsl_neuron.passes.levels import lowered

    return lowered(module, level)


def seen(array: "Array", output: Output) -> "Array":
    """An output's array through the view that the kernel returned of it."""
    from numpy.lib.stride_tricks import as_strided

    from xdsl_neuron.numerics.casts import storage

    if output.dtype is not None:
        array = array.reshape(-1).view(storage(output.dtype))
    if output.truth:
        array = as_bools(array)
    if output.steps is None:
        return array if array.shape == output.shape else array.reshape(output.shape)
    strides = [step * array.itemsize for step in output.steps]
    return as_strided(array.reshape(-1), output.shape, strides)


def as_bools(array: "Array") -> "Array":
    """Bytes as NumPy's bools: the very bytes, unless some is neither 0 nor 1."""
    import numpy as np

    raw = array.view(np.uint8)
    return raw.view(np.bool_) if raw.max(initial=0) <= 1 else raw != 0


def assemble(result: Result, outputs: "Sequence[Array]") -> Any:
    """What the kernel returned, with the outputs' arrays."""
    match result:
        case None:
            return None
        case Output():
            return seen(outputs[result.position], result)
        case _:
            return tuple(assemble(item, outputs) for item in result)
