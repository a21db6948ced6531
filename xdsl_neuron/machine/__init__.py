"""
The functional machine: compiles a function into a plan of NumPy calls and runs it.

    program = prepare(module)
    outputs = program.run(inputs)

Runs `penguin`, `bir` and `bir` with `dma` blocks, in program order. One BLAS thread is
asked for through the environment where NumPy is not imported yet; set
`OPENBLAS_NUM_THREADS=1` yourself where it is, because the bits of a matmul may depend
on it.
"""

from xdsl_neuron.machine.blas import ask_for_one_thread

ask_for_one_thread()

from xdsl_neuron.machine.errors import MachineError  # noqa: E402
from xdsl_neuron.machine.hooks import (  # noqa: E402
    Observer,
    default_level,
    default_options,
    notify,
    observers,
)
from xdsl_neuron.machine.interface import Port  # noqa: E402
from xdsl_neuron.machine.options import MachineOptions  # noqa: E402
from xdsl_neuron.machine.program import (  # noqa: E402
    Machine,
    Program,
    prepare,
    simulate,
)
from xdsl_neuron.machine.ranks import Ranks, simulate_ranks  # noqa: E402
from xdsl_neuron.machine.written import Unwritten, UnwrittenOutput  # noqa: E402

__all__ = [
    "Machine",
    "MachineError",
    "MachineOptions",
    "Observer",
    "Port",
    "Program",
    "Ranks",
    "Unwritten",
    "UnwrittenOutput",
    "default_level",
    "default_options",
    "notify",
    "observers",
    "prepare",
    "simulate",
    "simulate_ranks",
]
