"""Masks while a plan is built: the box of an iteration, and mask arrays."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.dialects.operand import Operand
from xdsl_neuron.geometry.affine import Affine, FloorDiv, Index, Lane, Mod
from xdsl_neuron.geometry.mask import Box, clip

FULL: Final = Box(())
"""The box of an instruction that its mask leaves whole."""


class Lanes:
    """The mask of one instruction."""

    def __init__(
        self,
        instruction: Instruction,
        data: dict[str, Operand],
        depths: Sequence[int],
    ) -> None:
        self._predicates = instruction.masks()
        self._depths = depths
        self.shape = instruction.lane_shape(data)
        self.dims = instruction.lane_dims(data)
        self._least = [_least(p, self.shape, depths) for p in self._predicates]
        self._boxes: dict[tuple[int, ...], Box | None] = {}
        positions = frozenset[int]().union(*(p.positions for p in self._predicates))
        self._used = sorted({depths[position] for position in positions})

    def box(self, values: Sequence[int]) -> Box | None:
        """What the mask leaves in an iteration: `FULL`, a part, or None for nothing."""
        for least in self._least:
            if least is None:
                break
            total, terms = least
            for depth, coefficient in terms:
                total += values[depth] * coefficient
            if total < 0:
                break
        else:
            return FULL
        key = tuple([values[depth] for depth in self._used])
        if key not in self._boxes:
            if len(self._boxes) > 4096:
                self._boxes.clear()
            self._boxes[key] = self._clip([values[depth] for depth in self._depths])
        return self._boxes[key]

    def _clip(self, indices: Sequence[int]) -> Box | None:
        box = clip(self._predicates, self.shape, indices)
        if box is None or box.residual or box.shape != self.shape:
            return box
        return FULL

    def ranges(self, name: str, box: Box, nums: Sequence[int]) -> list[tuple[int, int]]:
        """The box as ranges of an operand's dimensions."""
        if box is FULL:
            return [(0, num) for num in nums]
        return [
            box.ranges[lane] if lane >= 0 else (0, num)
            for lane, num in zip(self.dims[name], nums, strict=True)
        ]

    def clips_unseen(self, name: str, box: Box) -> bool:
        """Whether a lane that is clipped is none of an operand's dimensions."""
        seen = set(self.dims[name])
        return any(
            lane not in seen and (low, high) != (0, extent)
            for lane, ((low, high), extent) in enumerate(
                zip(box.ranges, self.shape, strict=True)
            )
        )


def _least(
    predicate: Affine, shape: Sequence[int], depths: Sequence[int]
) -> tuple[int, list[tuple[int, int]]] | None:
    """The smallest value over all lanes, linear in the loops, if it is that."""
    total = predicate.constant
    terms: list[tuple[int, int]] = []
    for atom, coefficient in predicate.terms:
        if isinstance(atom, Index):
            terms.append((depths[atom.position], coefficient))
        elif isinstance(atom, Lane):
            total += min(0, coefficient * (shape[atom.dim] - 1))
        else:
            return None
    return total, terms


def lane_values(
    expression: Affine, ranges: Sequence[tuple[int, int]]
) -> NDArray[np.int64]:
    """The expression (loop indices bound) for lanes in `ranges`; broadcastable."""
    total: Any = np.full((1,) * len(ranges), expression.constant, np.int64)
    for atom, coefficient in expression.terms:
        match atom:
            case Lane(dim):
                low, high = ranges[dim]
                shape = [1] * len(ranges)
                shape[dim] = high - low
                part: Any = np.arange(low, high, dtype=np.int64).reshape(shape)
            case FloorDiv(operand, divisor):
                part = lane_values(operand, ranges) // divisor
            case Mod(operand, divisor):
                part = lane_values(operand, ranges) % divisor
            case Index():
                raise ValueError(f"loop index in {expression}")
        total = total + part * coefficient
    return total


@lru_cache(maxsize=256)
def mask_array(
    predicates: tuple[Affine, ...], ranges: tuple[tuple[int, int], ...]
) -> NDArray[np.bool_]:
    """Where all predicates hold, of the full shape of the ranges; not writeable."""
    shape = tuple(high - low for low, high in ranges)
    result = np.ones(shape, np.bool_)
    for predicate in predicates:
        result &= lane_values(predicate, ranges) >= 0
    result.flags.writeable = False
    return result
