"""
What a test of a name needs: how it is called, and what NumPy says it computes.

A row says nothing of shapes, views, masks and loops: `driver` makes those of it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from oracle.numbers import STORAGE, Array, Near, Result, is_integer, narrow

import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
import xdsl_neuron.nki.isa as destination_isa
import xdsl_neuron.nki.language as destination_language

Shape = tuple[int, ...]
Call = Callable[..., Any]

fl: Any = functional_language
fisa: Any = functional_isa
nl: Any = destination_language
nisa: Any = destination_isa

SHAPES: tuple[Shape, ...] = (
    (7, 13),
    (1, 13),
    (7, 1),
    (1, 1),
    (128, 5),
    (5, 2, 3),
    (3, 2, 1, 5),
)
"""One partition, one element, primes, all partitions, three and four dimensions."""

FLAT = tuple(shape for shape in SHAPES if len(shape) == 2)


def same(shape: Shape) -> Shape:
    return shape


def column(shape: Shape) -> Shape:
    """One element for each partition."""
    return (shape[0], 1)


def small(random: np.random.Generator, shape: Shape, dtype: str) -> Array:
    """Small integers, so that sums are exact."""
    low = 0 if dtype.startswith("u") else -4
    return random.integers(low, 5, shape).astype(STORAGE[dtype])


def between(low: float, high: float) -> Call:
    """Numbers of a range."""

    def draw(random: np.random.Generator, shape: Shape, dtype: str) -> Array:
        return narrow(random.uniform(low, high, shape), dtype)

    return draw


def integers(low: int, high: int) -> Call:
    """Integers of a range, its end excluded."""

    def draw(random: np.random.Generator, shape: Shape, dtype: str) -> Array:
        return random.integers(low, high, shape).astype(STORAGE[dtype])

    return draw


def distinct(random: np.random.Generator, shape: Shape, dtype: str) -> Array:
    """No number twice."""
    count = int(np.prod(shape))
    return random.permutation(count).reshape(shape).astype(STORAGE[dtype])


@dataclass(frozen=True)
class Operand:
    """An operand or a result: its type, its shape by the row's, and its values."""

    dtype: str = "f32"
    shape: Callable[[Shape], Shape] = same
    draw: Call = small
    space: str = "sbuf"
    never: tuple[str, ...] = ()
    """Views it is not seen through, for the sake of its values."""


def one(dtype: str = "f32", **named: Any) -> tuple[Operand, ...]:
    return (Operand(dtype, **named),)


@dataclass(frozen=True, kw_only=True)
class Row:
    """
    A name, called on tiles.

    `functional(*operands, *outs[1:], mask=...)` returns the first result, or with
    `writes` takes all results in front and returns nothing. `destination(*outs,
    *operands)` writes, or with `returns` makes the first result as functions of `nl`
    do. `want` says what each result holds, from arrays as they are stored: those of the
    results before first, where it `updates` them. A row that `folds` is also told
    `where` the mask holds.
    """

    name: str
    operands: tuple[Operand, ...] = (Operand(),)
    outs: tuple[Operand, ...] = (Operand(),)
    want: Call
    functional: Call | None = None
    destination: Call | None = None
    writes: bool = False
    returns: bool = False
    updates: bool = False
    folds: bool = False
    kept: Call | None = None
    """From `where`, the elements of each result that are written."""
    lanes: Callable[[Shape], Shape] = same
    """What a mask is over."""
    shapes: tuple[Shape, ...] = SHAPES
    masked: tuple[Shape, ...] | None = None
    """Shapes under a mask, where not all."""
    width: int = 7
    """Columns of the tiles of a loop over rows."""
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the documents forbid, by the variant: the literal of the refusal."""
    without: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variants that say nothing of this name, and why."""
    target: str | None = None
    thorough: bool = True
    """Whether it is read back from text; of rows that differ in a name, a third is."""
    note: str = ""

    @property
    def id(self) -> str:
        return f"{self.name}-{self.note}" if self.note else self.name

    def wanted(
        self, arrays: Sequence[Array], before: Sequence[Array], where: Array
    ) -> list[Result | Near]:
        """What each result holds where it is kept."""
        given = (*before, *arrays) if self.updates else arrays
        named = {"where": where} if self.folds else {}
        with np.errstate(all="ignore"):
            found = self.want(*given, **named)
        results = found if isinstance(found, tuple) else (found,)
        return [
            each if isinstance(each, Near | Result) else _stored(each, out.dtype)
            for each, out in zip(results, self.outs, strict=True)
        ]

    def kept_of(self, where: Array) -> list[Array]:
        """The elements of each result that are written under a mask."""
        if self.kept is None:
            return [where for _ in self.outs]
        found = self.kept(where)
        return list(found) if isinstance(found, tuple) else [found]


def _stored(values: npt.ArrayLike, dtype: str) -> Result:
    array = np.asarray(values)
    kind = np.dtype(STORAGE[dtype])
    if array.dtype == kind:
        return Result(array, "numbers")
    if is_integer(dtype) and array.dtype.kind in "iub":
        return Result(array.astype(kind), "bits")
    return Result(narrow(array.astype(np.float32), dtype), "numbers")


COUPLED = "does not bound one dimension by itself"
"""What masks over several lanes of whole rows are refused with."""

WHOLE_ROWS = {
    "mask triangle": COUPLED,
    "mask stripes": COUPLED,
}
"""Masks of instructions whose results depend on whole rows."""
ONE_LENGTH = {
    "mask triangle": "leaves rows of different lengths",
    "mask stripes": "slice with variable size is not supported",
}
"""Masks that cut the access, as searches and statistics have it."""


def rows_of(where: Array) -> Array:
    """The rows of which a mask leaves anything, (P, 1)."""
    flat = where.reshape(where.shape[0], -1)
    return flat.any(axis=1, keepdims=True)
