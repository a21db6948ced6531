"""What a function shows to its caller: inputs and outputs, at each level."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from xdsl.ir import Operation, SSAValue

from xdsl_neuron.dialects import bir, structure
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import TensorKind
from xdsl_neuron.machine.errors import MachineError

FunctionOp: TypeAlias = structure.Function | bir.FuncOp


@dataclass(frozen=True)
class Port:
    """A tensor that the caller gives or gets."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    mutable: bool = False
    """An input that the function also writes."""

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype.nki_name}{list(self.shape)}"


class Signature(NamedTuple):
    """The tensors a function takes and gives, each with its value in the IR."""

    inputs: list[tuple[Port, SSAValue]]
    outputs: list[tuple[Port, SSAValue]]


def find_function(where: Operation, entry: str | None = None) -> FunctionOp:
    """
    The function called `entry`, or the only one.

    Raises:
        MachineError: there is none, or there are several and none is asked for.
    """
    if isinstance(where, structure.Function | bir.FuncOp):
        return where
    found = {op.sym_name.data: op for op in _functions(where)}
    names = ", ".join(f"'{name}'" for name in found)
    if entry is not None:
        if entry not in found:
            raise MachineError(where, f"has no function '{entry}', only {names or '-'}")
        return found[entry]
    if not found:
        raise MachineError(where, "has no penguin.func or bir.func to run")
    if len(found) > 1:
        raise MachineError(where, f"has several functions, choose one of {names}")
    return next(iter(found.values()))


def _functions(where: Operation) -> Iterator[FunctionOp]:
    """The functions in an operation, without looking for more inside of them."""
    for region in where.regions:
        for block in region.blocks:
            for op in block.ops:
                if isinstance(op, structure.Function | bir.FuncOp):
                    yield op
                elif op.regions:
                    yield from _functions(op)


def signature(function: FunctionOp) -> Signature:
    """
    Inputs and outputs in order.

    Raises:
        MachineError: the function does not return, or gives a tensor it cannot give.
    """
    inputs = list(_inputs(function))
    returned = _return(function)
    outputs = [
        (_port(name, value), value)
        for name, value in zip(returned.output_names, returned.outputs, strict=True)
    ]
    return Signature(inputs, outputs)


def _inputs(function: FunctionOp) -> Sequence[tuple[Port, SSAValue]]:
    if isinstance(function, structure.Function):
        mutable = function.mutable_positions
        return [
            (_port(name, value, position in mutable), value)
            for position, (name, value) in enumerate(
                zip(function.names, function.arguments, strict=True)
            )
        ]
    return [
        (_port(op.location_name.data, op.result, op.mutable is not None), op.result)
        for op in function.body.block.ops
        if isinstance(op, bir.LocationOp) and op.kind.data is TensorKind.INPUT
    ]


def _port(name: str, value: SSAValue, mutable: bool = False) -> Port:
    kind = value.type
    assert isinstance(kind, TensorType)
    return Port(name, kind.dtype, kind.shape, mutable)


def _return(function: FunctionOp) -> structure.Return:
    last = function.body.block.last_op
    if not isinstance(last, structure.Return):
        raise MachineError(function, "does not end in a return")
    return last
