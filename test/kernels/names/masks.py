"""Masks over lanes of any shape, in the language and in NumPy."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from kernels.names.rows import Shape
from oracle.numbers import Array


@dataclass(frozen=True)
class Clip:
    """A mask; `of` is given an index along each lane, and the extents."""

    name: str
    of: Callable[[Sequence[Any], Shape], Any]

    def where(self, shape: Shape) -> Array:
        """Where it holds."""
        found = self.of(np.ogrid[tuple(slice(0, n) for n in shape)], shape)
        return np.broadcast_to(found, shape)


MASKS = (
    Clip("all", lambda i, n: i[0] < n[0]),
    Clip("first rows", lambda i, n: i[0] < (n[0] + 1) // 2),
    Clip("first columns", lambda i, n: i[-1] < (2 * n[-1] + 2) // 3),
    Clip(
        "box",
        lambda i, n: (i[0] >= n[0] // 3) & (i[-1] >= n[-1] // 4) & (i[-1] * 2 < 99),
    ),
    Clip("triangle", lambda i, n: i[-1] <= i[0] + 1),
    Clip(
        "stripes",
        lambda i, n: (
            (i[-1] * 2 <= i[0] + n[-1]) & (i[-1] + i[0] * 2 < n[0] * 2 + n[-1] - 1)
        ),
    ),
)
BY_NAME = {mask.name: mask for mask in MASKS}
