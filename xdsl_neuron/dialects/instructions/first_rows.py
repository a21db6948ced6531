"""
Masks that leave out first rows: whether what is left starts where an access can.

Compute engines reach partitions from few starts (nki.md 4.2), so a box of rows is not
always an access.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from xdsl_neuron.dialects.instruction import index_range, target_of
from xdsl_neuron.dialects.instructions.compute import ComputeInstruction
from xdsl_neuron.dialects.instructions.masks import bounds_one_lane
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.geometry.affine import Affine, Lane
from xdsl_neuron.geometry.mask import clip

MOST_ITERATIONS = 1 << 14
"""How many iterations of the loops around an instruction are looked at."""


def may_start_badly(instruction: ComputeInstruction) -> bool:
    """
    Whether the rows that a mask leaves may begin at a partition no access can.

    For an instruction that does the same in each partition. Rows that depend on a loop
    may always; so may an operand whose own start is one of a loop.
    """
    arch = target_of(instruction)
    boxes = [p for p in instruction.masks() if bounds_one_lane(p)]
    lower = _lower(boxes, 0)
    if arch is None or not lower:
        return False
    if any(predicate.positions for predicate in lower):
        return True
    data = instruction.data()
    fixed = [predicate for predicate in boxes if not predicate.positions]
    box = clip(fixed, instruction.lane_shape(data))
    if box is None:
        return False
    low, high = box.ranges[0]
    for operand in data.values():
        start = operand.access.partition
        if start is None or not start.is_constant:
            return True
        first = start.constant + operand.access.pairs[0][0] * low
        if arch.partition_start_error(first, high - low):
            return True
    return False


def start_problem(
    instruction: ComputeInstruction, operand: Operand, lane: int
) -> str | None:
    """
    What is wrong with where an operand's rows start under a mask, in any iteration.

    `lane` is the one that its partitions run along.
    """
    arch = target_of(instruction)
    start, (step, _) = operand.access.partition, operand.access.pairs[0]
    boxes = [p for p in instruction.masks() if bounds_one_lane(p) and lane in p.lanes]
    if arch is None or start is None or not _lower(boxes, lane):
        return None
    # Where the mask says of the same loops that it holds nowhere, nothing is reached.
    used = start.positions.union(*(p.positions for p in boxes))
    boxes += [p for p in instruction.masks() if not p.lanes and p.positions <= used]
    shape = instruction.lane_shape(instruction.data())
    iterations = _iterations(instruction, used)
    if iterations is None:
        return "the first row depends on loops whose iterations are not all known"
    for indices in iterations:
        box = clip(boxes, shape, indices)
        if box is None:
            continue
        low, high = box.ranges[lane]
        first = start.evaluate(indices) + step * low
        problem = arch.partition_start_error(first, high - low)
        if problem:
            return problem
    return None


def _lower(boxes: Sequence[Affine], lane: int) -> list[Affine]:
    return [p for p in boxes if p.coefficient(Lane(lane)) > 0]


def _iterations(
    instruction: ComputeInstruction, used: frozenset[int]
) -> Iterator[tuple[int, ...]] | None:
    """Values of the loop indices, 0 where not used; None where they are too many."""
    values: list[Sequence[int]] = []
    indices = instruction.loop_indices()
    for position in range(max(used, default=-1) + 1):
        found = index_range(indices[position]) if position in used else range(1)
        if found is None:
            return None
        values.append(found)
    if prod(map(len, values)) > MOST_ITERATIONS:
        return None
    return product(*values)
