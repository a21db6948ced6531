"""What others hang on the machine: observers of runs, and the level to run at."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, TypeAlias

from xdsl.dialects.builtin import ModuleOp

from xdsl_neuron.machine.options import MachineOptions

if TYPE_CHECKING:
    from xdsl_neuron.machine.program import Program

Observer: TypeAlias = Callable[[ModuleOp, "Program"], None]

observers: Final[list[Observer]] = []
"""Called with every module that a language front end has simulated."""

default_level: Final[ContextVar[str]] = ContextVar("default_level", default="penguin")
"""The level at which `nki.simulate` runs a kernel: `penguin`, `bir` or `dma`."""

default_options: Final[ContextVar[MachineOptions]] = ContextVar(
    "default_options", default=MachineOptions()
)
"""The machine's switches where a caller gives none."""


def notify(module: ModuleOp, program: "Program") -> None:
    """Tell every observer that `program`, made of `module`, has been run."""
    for observer in tuple(observers):
        observer(module, program)
