"""The target `neuron-run` of any xDSL tool: runs a module and describes its outputs."""

from dataclasses import dataclass
from typing import IO

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from xdsl_neuron.machine.build import Array
from xdsl_neuron.machine.interface import Port
from xdsl_neuron.machine.program import prepare
from xdsl_neuron.numerics.casts import from_float32, storage


@dataclass(frozen=True)
class NeuronRunTarget(Target):
    """
    Run the function on inputs that are zero, or random with a `seed`.

    Prints a line for each output: name, type, and the range of its values.
    """

    name = "neuron-run"

    entry: str | None = None
    seed: int | None = None

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Run and print."""
        program = prepare(module, entry=self.entry)
        arrays = made_up_inputs(program.inputs, self.seed)
        for port, array in zip(program.outputs, program.run(arrays), strict=True):
            output.write(f"{describe(port, array)}\n")


def made_up_inputs(ports: tuple[Port, ...], seed: int | None) -> list[Array]:
    """
    Zeros, or with a seed standard normal values.

    Seeded integers are 0 to 7, which may serve as indices of a small table.
    """
    if seed is None:
        return [np.zeros(port.shape, storage(port.dtype)) for port in ports]
    random = np.random.default_rng(seed)
    arrays: list[Array] = []
    for port in ports:
        if port.dtype.is_float:
            values = random.standard_normal(port.shape, np.float32)
            arrays.append(np.array(from_float32(port.dtype)(np.atleast_1d(values))))
            arrays[-1] = arrays[-1].reshape(port.shape)
        else:
            small = random.integers(0, 8, port.shape, np.uint8)
            arrays.append(small.astype(storage(port.dtype)))
    return arrays


def describe(port: Port, array: Array) -> str:
    """`name: type[shape] min .. max, mean`, and how many values are NaN."""
    if not (port.dtype.is_float or port.dtype.is_integer):
        return f"{port} {array.nbytes} bytes"
    values = array.astype(np.float64)
    nans = int(np.isnan(values).sum())
    if nans == values.size:
        return f"{port} all {nans} values are NaN"
    text = (
        f"{port} min {np.nanmin(values):.6g}, max {np.nanmax(values):.6g}, "
        f"mean {np.nanmean(values):.6g}"
    )
    return f"{text}, {nans} NaN" if nans else text
