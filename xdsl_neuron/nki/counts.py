"""What one run of a kernel executes: instructions, and bytes that DMA moves."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from xdsl_neuron.dialects.instruction import Instruction, index_range
from xdsl_neuron.dialects.instructions.dma import DmaInstruction
from xdsl_neuron.geometry.mask import Box, clip
from xdsl_neuron.isa import Space

_CLIPPED_ITERATIONS: Final = 100_000


@dataclass(slots=True)
class Counts:
    """
    Numbers of one run of a module.

    `instructions` holds how often each kind of instruction executes. `bytes_read` and
    `bytes_written` are what DMA instructions move out of and into HBM. `exact` is False
    where a run-time loop, or a mask over too many iterations, leaves only a bound: a
    run-time loop counts once, an instruction under such a mask as if it had none.
    """

    instructions: Counter[str] = field(default_factory=Counter[str])
    bytes_read: int = 0
    bytes_written: int = 0
    exact: bool = True

    @property
    def total(self) -> int:
        """All instructions."""
        return self.instructions.total()

    def __str__(self) -> str:
        lines = [f"{count:>12} {name}" for name, count in self.instructions.items()]
        about = "" if self.exact else " (a bound: some loops or masks are not counted)"
        return "\n".join(
            [
                f"{self.total:>12} instructions{about}",
                *lines,
                f"{self.bytes_read:>12} bytes read from HBM",
                f"{self.bytes_written:>12} bytes written to HBM",
            ]
        )


def count(module: ModuleOp) -> Counts:
    """Counts the instructions of a module's loops, masks applied."""
    found = Counts()
    for operation in module.body.ops:
        _walk(operation, (), found)
    return found


def _walk(operation: Operation, loops: Sequence[range], found: Counts) -> None:
    if isinstance(operation, Instruction):
        _instruction(operation, loops, found)
        return
    bounds = getattr(operation, "static_range", None)
    inner = tuple(loops)
    if callable(bounds):
        values = bounds()
        if isinstance(values, range):
            inner = (*inner, values)
        else:
            found.exact = False
    for region in operation.regions:
        for block in region.blocks:
            for each in block.ops:
                _walk(each, inner, found)


def _instruction(inst: Instruction, loops: Sequence[range], found: Counts) -> None:
    data = inst.data()
    times, lanes = prod(len(values) for values in loops), prod(inst.lane_shape(data))
    kept = times * lanes
    if inst.masks():
        boxes = _boxes(inst, inst.lane_shape(data))
        if boxes is None or any(box.residual for box in boxes):
            found.exact = False
        if boxes is not None:
            own = prod(len(values) for values in _loops_of(inst) or ())
            times = times // max(own, 1)
            kept = times * sum(prod(box.shape) for box in boxes)
            times *= len(boxes)
    found.instructions[inst.name.partition(".")[2]] += times
    if not isinstance(inst, DmaInstruction):
        return
    for name, operand in data.items():
        if operand.space is not Space.HBM:
            continue
        moved = kept * operand.access.count * operand.dtype.bytes // max(lanes, 1)
        if name in inst.OUTS:
            found.bytes_written += moved
        else:
            found.bytes_read += moved


def _loops_of(inst: Instruction) -> list[range] | None:
    """The values of the loop indices an instruction uses; None where not static."""
    ranges = [index_range(value) for value in inst.loop_indices()]
    known = [values for values in ranges if values is not None]
    return known if len(known) == len(ranges) else None


def _boxes(inst: Instruction, shape: Sequence[int]) -> list[Box] | None:
    """What the mask leaves in each iteration in which it leaves something."""
    own = _loops_of(inst)
    if own is None or prod(len(values) for values in own) > _CLIPPED_ITERATIONS:
        return None
    found = (clip(inst.masks(), shape, indices) for indices in product(*own))
    return [box for box in found if box is not None]
