"""Running a traced kernel on arrays; the machine is imported here, when needed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from xdsl_neuron.dtypes import DType
from xdsl_neuron.nki.specialise import Output, Result, Traced

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]


class Program(Protocol):
    """A plan of the machine."""

    def run(self, arrays: "list[Array]") -> "Sequence[Array]": ...


class Runner:
    """One traced kernel and its plan."""

    def __init__(self, traced: Traced) -> None:
        from xdsl_neuron import machine

        self.traced = traced
        self.program: Program = machine.prepare(traced.module)
        self._kinds = [kind_of(a.type) for a in traced.function.arguments]

    @staticmethod
    def settings() -> str:
        """What the plan depends on beside the module: the level that is executed."""
        from xdsl_neuron.machine import default_level

        return default_level.get()

    def run(self, given: Sequence[Any]) -> Any:
        """The kernel's result as arrays; mutable arguments are updated in place."""
        from xdsl_neuron import machine

        arrays = [
            host_array(value, kind)
            for value, kind in zip(given, self._kinds, strict=True)
        ]
        outputs = self.program.run(arrays)
        for position in self.traced.mutable:
            write_back(given[position], arrays[position])
        machine.notify(self.traced.module, self.program)
        return _assemble(self.traced.result, outputs)


def kind_of(kind: Any) -> DType:
    """The element type of a tensor type."""
    return kind.dtype


def host_array(value: Any, kind: DType) -> "Array":
    """
    A contiguous NumPy array of the storage type, sharing memory where possible.

    A torch tensor of bfloat16 has no NumPy form: its bits are taken.
    """
    import numpy as np

    from xdsl_neuron.numerics.casts import storage

    if not isinstance(value, np.ndarray):
        if kind is DType.BFLOAT16 and type(value).__module__.startswith("torch"):
            value = value.detach().view(_torch_uint16(value)).numpy()
        value = np.asarray(value)
    array = value if value.flags.c_contiguous else np.ascontiguousarray(value)
    wanted = storage(kind)
    return array if array.dtype == wanted else array.view(wanted)


def _torch_uint16(value: Any) -> Any:
    import importlib

    return importlib.import_module("torch").int16


def write_back(given: Any, array: "Array") -> None:
    """Puts what a kernel wrote into the caller's array, where that is another one."""
    import numpy as np

    if isinstance(given, np.ndarray):
        if not np.may_share_memory(given, array):
            np.copyto(given, array.view(given.dtype))
        return
    target = np.asarray(given) if not _is_torch_bfloat16(given) else None
    if target is not None and not np.may_share_memory(target, array):
        np.copyto(target, array.view(target.dtype))


def _is_torch_bfloat16(value: Any) -> bool:
    return str(getattr(value, "dtype", "")) == "torch.bfloat16"


def _assemble(result: Result, outputs: "Sequence[Array]") -> Any:
    match result:
        case None:
            return None
        case Output(position, shape):
            return outputs[position].reshape(shape)
        case _:
            return tuple(_assemble(item, outputs) for item in result)
