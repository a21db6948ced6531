"""What a function does, counted without running it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Final

from xdsl.ir import Block, Operation

from xdsl_neuron.analysis.lifetimes import last_uses, transfers
from xdsl_neuron.dialects import bir, structure
from xdsl_neuron.dialects.bir.sequencer import SequencerInstruction
from xdsl_neuron.dialects.dma import BlockOp, Descriptor
from xdsl_neuron.dialects.instruction import Instruction, index_range
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.instructions.control import DoWhile, DynamicFor
from xdsl_neuron.dialects.instructions.dma import DmaInstruction
from xdsl_neuron.dialects.neuron import TensorType
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.geometry.mask import boxes, clip
from xdsl_neuron.isa import Engine, Space, TensorKind
from xdsl_neuron.machine.interface import find_function

_ENUMERATED: Final = 4096
"""Iterations up to which masked traffic is counted exactly."""


@dataclass
class Summary:
    """
    Counts of one run; loops are multiplied out.

    Attributes:
        name: the function. engines: instructions by engine, `DMA` for transfers.
        traffic: bytes that DMA writes, by `source->destination` memory; an upper bound
            for masked transfers in loops of many iterations.
        descriptors: what the queues execute, None above the `dma` level.
        peak_bytes: most bytes of a partition alive at once, by memory on chip.
    """

    name: str
    engines: Counter[str] = field(default_factory=Counter[str])
    traffic: Counter[str] = field(default_factory=Counter[str])
    descriptors: int | None = None
    peak_bytes: dict[str, int] = field(default_factory=dict[str, int])

    def render(self) -> str:
        """The counts as an aligned table, without a newline at the end."""
        rows = [("function", self.name)]
        rows += [
            (f"instructions on {engine}", f"{count:,}")
            for engine, count in sorted(self.engines.items())
        ]
        rows += [
            (f"bytes {pair}", f"{count:,}")
            for pair, count in sorted(self.traffic.items())
        ]
        if self.descriptors is not None:
            rows.append(("descriptors", f"{self.descriptors:,}"))
        rows += [
            (f"peak bytes/partition in {space}", f"{count:,}")
            for space, count in sorted(self.peak_bytes.items())
        ]
        left = max(len(name) for name, _ in rows)
        right = max(len(value) for _, value in rows)
        return "\n".join(f"{name:<{left}}  {value:>{right}}" for name, value in rows)


def summarize(where: Operation, entry: str | None = None) -> Summary:
    """The summary of a module's function; errors as in `find_function`."""
    function = find_function(where, entry)
    walk = _Walk(Summary(function.sym_name.data), function)
    peaks = walk.block(function.body.block, 1)
    for space in (Space.PSUM, Space.SBUF):
        if peaks[space]:
            walk.summary.peak_bytes[space.value] = peaks[space]
    return walk.summary


class _Walk:
    def __init__(self, summary: Summary, function: Operation) -> None:
        self.summary = summary
        self._blocks, self._triggers = transfers(function)

    def block(self, block: Block, times: int) -> Counter[Space]:
        """Count the operations of a block; the most bytes alive in it, by memory."""
        allocations = [
            op.results[0]
            for op in block.ops
            if isinstance(op, structure.Alloc | bir.LocationOp)
        ]
        ends = last_uses(block, allocations, self._triggers)
        live, peak = Counter[Space](), Counter[Space]()
        for op in block.ops:
            inner = self._operation(op, times)
            if isinstance(op, structure.Alloc | bir.LocationOp):
                live.update(_bytes_per_partition(op))
            peak |= live + inner
            for value in ends.get(op, ()):
                if isinstance(value.owner, Operation):
                    live.subtract(_bytes_per_partition(value.owner))
        return peak

    def _operation(self, op: Operation, times: int) -> Counter[Space]:
        match op:
            case structure.For():
                return self.block(op.body.block, times * len(op.static_range()))
            case DynamicFor() | DoWhile():
                # The trips are in a register: one counts.
                return self.block(op.body.block, times)
            case bir.DMATriggerOp():
                self._trigger(op, times)
            case DmaInstruction():
                self.summary.engines[Engine.DMA.value] += times
                self._transfer(op, times)
            case ComputeInstruction():
                engine = op.engine.data
                if engine is Engine.UNASSIGNED:
                    engine = op.ENGINES[0]
                self.summary.engines[engine.value] += times
            case SequencerInstruction():
                self.summary.engines[op.engine.data.value] += times
            case Instruction():
                self.summary.engines[Engine.ALL.value] += times
            case _:
                pass
        return Counter[Space]()

    def _trigger(self, op: bir.DMATriggerOp, times: int) -> None:
        self.summary.engines[op.engine.data.value] += times
        names = op.block_names
        rounds, rest = divmod(times, len(names))
        for position, name in enumerate(names):
            fired = rounds + (position < rest)
            block = self._blocks.get(name)
            if fired and block is not None:
                self._fire(block, fired)

    def _fire(self, block: BlockOp, times: int) -> None:
        for descriptor in block.body.block.ops:
            if isinstance(descriptor, Descriptor):
                found = self.summary.descriptors or 0
                self.summary.descriptors = found + times
                self._count(descriptor, descriptor.dst_dtype.data.bytes, times)

    def _transfer(self, op: DmaInstruction, times: int) -> None:
        dst = op.operand_named("dst")
        if not op.masks():
            self._count(op, dst.dtype.bytes, times)
            return
        data = op.data()
        lanes = op.lane_dims(data)["dst"]
        ranges = [index_range(value) for value in op.loop_indices()]
        known = [values for values in ranges if values is not None]
        iterations = prod(len(values) for values in known)
        if len(known) < len(ranges) or iterations > _ENUMERATED:
            self._count(op, dst.dtype.bytes, times)
            return
        elements = sum(
            prod(high - low for low, high in box)
            for box in _boxes(op, data, known, lanes)
        )
        repeated = times // iterations if iterations else 0
        pair = f"{data['src'].space}->{dst.space}"
        self.summary.traffic[pair] += elements * dst.dtype.bytes * repeated

    def _count(self, op: Instruction, itemsize: int, times: int) -> None:
        data = op.data()
        dst, src = data["dst"], data["src"]
        pair = f"{src.space}->{dst.space}"
        self.summary.traffic[pair] += dst.access.count * itemsize * times


def _boxes(
    op: DmaInstruction,
    data: dict[str, Operand],
    ranges: Sequence[range],
    lanes: Sequence[int],
) -> Iterator[list[tuple[int, int]]]:
    """The ranges of the destination's dimensions in every iteration."""
    shape = op.lane_shape(data)
    for indices in product(*ranges):
        box = clip(op.masks(), shape, indices)
        if box is None:
            continue
        for part in boxes(box):
            yield [
                part.ranges[lane] if lane >= 0 else (0, extent)
                for lane, extent in zip(lanes, data["dst"].shape, strict=True)
            ]


def _bytes_per_partition(op: Operation) -> Counter[Space]:
    """What an allocation takes on chip; nothing for a tensor in HBM."""
    kind = op.results[0].type
    internal = not isinstance(op, bir.LocationOp) or (
        op.kind.data is TensorKind.INTERNAL
    )
    if not isinstance(kind, TensorType) or not kind.space.on_chip or not internal:
        return Counter[Space]()
    return Counter({kind.space: kind.data.bytes_per_partition})
