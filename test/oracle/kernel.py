"""
Kernels of one instruction, on drawn operands, and what NumPy says they leave.

An oracle is a function of a `Draw`. It draws operands, writes the instruction's text,
and says with `Draw.expect` what each destination holds afterwards. Nothing here knows
the machine, or the arithmetic it is compared with.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, TypeVar

import numpy as np
from oracle.numbers import (
    STORAGE,
    Array,
    Near,
    Result,
    anything,
    narrow,
    ordinary,
    wide,
)

T = TypeVar("T")
PARTITIONS: Final = 128
PSUM_BANK_BYTES: Final = 2048
TARGETS: Final = (("trn1", 20), ("trn2", 30), ("trn3", 40))


@dataclass
class Tile:
    """A tensor, and the elements of it that one access names."""

    name: str
    dtype: str
    space: str
    array: Array
    """The whole tensor before the instruction."""
    places: Array
    """The flat index in `array` of each element of the access, in its shape."""
    text: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the access, partitions first on chip."""
        return self.places.shape

    @property
    def raw(self) -> Array:
        """The elements as they are stored, [partitions, elements]."""
        return self.array.reshape(-1)[self.rows]

    @property
    def rows(self) -> Array:
        """The places as [partitions, elements]."""
        return self.places.reshape(self.places.shape[0], -1)

    @property
    def wide(self) -> Array:
        """The elements as fp32, [partitions, elements]."""
        return wide(self.raw, self.dtype)

    def __str__(self) -> str:
        return self.text


@dataclass
class Expected:
    """What a tensor holds after the instruction."""

    tile: Tile
    wants: list[tuple[Array, Result | Near]] = field(
        default_factory=list[tuple[Array, Result | Near]]
    )
    """Flat places and what is there; every other element keeps its bits."""


class Draw:
    """A kernel of one instruction while it is drawn."""

    def __init__(self, choices: Random) -> None:
        self.choices = choices
        self.random = np.random.default_rng(choices.getrandbits(32))
        self.target, self.level = TARGETS[1]
        self.arguments: list[tuple[str, str, Array, bool]] = []
        self.setup: list[str] = []
        self.steps: list[str] = []
        self.expected: dict[str, Expected] = {}
        self.instead: dict[str, str] = {}
        """At level bir: for the name of an instruction, the text in its place."""
        self.declared: list[str] = []
        """At level bir, declarations at the top of the function."""
        self.tiles: list[Tile] = []
        self.ranks: dict[str, list[Array]] = {}
        """With several ranks: what a tensor holds before, on each."""
        self.rank_results: dict[str, list[Array]] = {}
        """And after."""
        self.peers: list[list[str]] = []
        """The steps of each rank, where they have a function of their own."""

    # -- choices ---------------------------------------------------------------------

    def pick(self, options: Sequence[T]) -> T:
        """One of them."""
        return options[self.choices.randrange(len(options))]

    def number(self, low: int, high: int) -> int:
        """An integer, both ends included."""
        return self.choices.randint(low, high)

    def chance(self, one_in: int) -> bool:
        """True once in so many."""
        return self.number(1, one_in) == one_in

    def arch(self, level: int = 20) -> None:
        """A generation of at least this level."""
        self.target, self.level = self.pick([t for t in TARGETS if t[1] >= level])

    def start(self, partitions: int) -> int:
        """A partition an access of so many may start at (nki.md 4.2)."""
        if partitions <= 32:
            return self.pick((0, 32, 64, 96))
        return self.pick((0, 64)) if partitions <= 64 else 0

    def partitions(self) -> int:
        """Mostly few, since rows are alike; sometimes one or all."""
        return self.pick((1, 2, 3, 5, 32, 33, 64, 70, 128))

    def free(self, most: int = 40) -> tuple[int, ...]:
        """Free dimensions, one to four, some of extent 1."""
        found: list[int] = []
        for _ in range(self.number(1, 4)):
            room = most // int(np.prod(found, initial=1))
            found.append(self.number(1, max(1, min(room, 9 if found else most))))
        return tuple(found)

    def another(self, free: tuple[int, ...]) -> tuple[int, ...]:
        """Other free dimensions of as many elements."""
        count = int(np.prod(free))
        if self.chance(2):
            return free
        divisors = [d for d in range(1, count + 1) if count % d == 0]
        outer = self.pick(divisors)
        return (outer, count // outer) if self.chance(2) else (count,)

    # -- operands --------------------------------------------------------------------

    def values(self, shape: Sequence[int], dtype: str, plain: bool) -> Array:
        """Contents of a tensor."""
        return (ordinary if plain else anything)(self.random, shape, dtype)

    def tile(
        self,
        shape: Sequence[int],
        dtype: str,
        *,
        space: str = "sbuf",
        written: bool = False,
        plain: bool = False,
        contents: Array | None = None,
        fixed: bool = False,
        start: int | None = None,
    ) -> Tile:
        """
        A tile of SBUF or PSUM with an access of this shape, partitions first.

        Dimensions lie in any order, with gaps, backwards; what is read may also
        repeat (step 0). `contents` are the access's elements, which fixes a plain
        order; `fixed` alone does as well.
        """
        fixed = fixed or contents is not None
        repeats = not written and not fixed
        # Engines reach partitions one after another.
        first = self.start(shape[0]) if start is None else start
        if first + shape[0] > PARTITIONS:
            first = 0
        pairs, offset, width = self._layout(tuple(shape[1:]), fixed, repeats)
        if (
            space == "psum"
            and width * np.dtype(STORAGE[dtype]).itemsize > PSUM_BANK_BYTES
        ):
            # A product stays in one bank before trn3.
            pairs, offset, width = self._layout(tuple(shape[1:]), True, False)
        whole = (min(PARTITIONS, first + shape[0]), width)
        name = f"x{len(self.tiles)}"
        places = _places((first * width + offset), ((width, shape[0]), *pairs))
        array = self.values(whole, dtype, plain)
        if contents is not None:
            array.reshape(-1)[places] = contents.reshape(shape)
        text = f"%{name}[{first}, {offset}][{_pairs(((1, shape[0]), *pairs))}]"
        return self._add(Tile(name, dtype, space, array, places, text))

    def memory(
        self,
        shape: Sequence[int],
        dtype: str,
        *,
        written: bool = False,
        plain: bool = False,
        contents: Array | None = None,
        fixed: bool = False,
        rows: int | None = None,
    ) -> Tile:
        """
        A tensor in HBM with an access of this shape.

        `rows` makes the first dimension steps over the others, of which an index may
        name so many.
        """
        fixed = fixed or contents is not None
        if rows is not None:
            pairs, offset, width = self._layout(tuple(shape[1:]), fixed, not written)
            pairs = ((width, shape[0]), *pairs)
            offset += 0 if fixed else self.pick((0, 0, width))
            size = offset + width * max(rows, shape[0])
        else:
            pairs, offset, size = self._layout(tuple(shape), fixed, not written)
        name = f"x{len(self.tiles)}"
        places = _places(offset, pairs)
        array = self.values((size,), dtype, plain)
        if contents is not None:
            array[places] = contents.reshape(shape)
        text = f"%{name}[{offset}][{_pairs(pairs)}]"
        return self._add(Tile(name, dtype, "hbm", array, places, text))

    def _layout(
        self, free: tuple[int, ...], fixed: bool, repeats: bool
    ) -> tuple[tuple[tuple[int, int], ...], int, int]:
        """(step, number) of each dimension, where it starts, and the room it needs."""
        order = list(range(len(free)))
        if not fixed and self.chance(3):
            self.choices.shuffle(order)
        steps = [0] * len(free)
        room, offset, reach = 1, 0, 0
        for dim in reversed(order):
            if repeats and self.chance(10):
                continue
            step = room * (1 if fixed else self.pick((1, 1, 1, 1, 2, 3)))
            last = step * (free[dim] - 1)
            if not fixed and self.chance(5):
                steps[dim] = -step
                offset += last
            else:
                steps[dim] = step
                reach += last
            room = step * free[dim]
        lead, behind = (0, 0) if fixed else (self.pick((0, 0, 1, 5)), self.pick((0, 3)))
        width = lead + offset + reach + 1 + behind
        return tuple(zip(steps, free, strict=True)), lead + offset, width

    def _add(self, tile: Tile) -> Tile:
        self.tiles.append(tile)
        return tile

    def column(
        self,
        like: Tile,
        dtype: str = "f32",
        *,
        plain: bool = False,
        space: str = "sbuf",
    ) -> Tile:
        """One element for each partition of another operand."""
        return self.tile((like.shape[0], 1), dtype, plain=plain, space=space)

    # -- masks -----------------------------------------------------------------------

    def mask(self, shape: Sequence[int], kind: str = "lanes") -> tuple[str, Array]:
        """
        A mask as text, and where it holds over lanes of this shape.

        `kind` is "lanes" (any predicates), "box" (each bounds one lane) or "rows"
        (bounds on the first lane). Two times out of three there is none.
        """
        where = np.ones(shape, bool)
        if not self.chance(3):
            return "", where.reshape(shape[0], -1)
        found: list[str] = []
        for _ in range(self.number(1, 2)):
            if kind == "lanes" and self.chance(2):
                factors = [self.number(-2, 2) for _ in shape]
            else:
                lane = 0 if kind == "rows" else self.number(0, len(shape) - 1)
                sign = self.pick((1, -1))
                factors = [sign if each == lane else 0 for each in range(len(shape))]
            most = sum(abs(f) * n for f, n in zip(factors, shape, strict=True))
            value = np.full(shape, self.number(-most // 2, most), np.int64)
            text = str(value.flat[0])
            for lane, factor in enumerate(factors):
                if factor:
                    text += f" {'+' if factor > 0 else '-'} l{lane} * {abs(factor)}"
                    lanes = np.arange(shape[lane]).reshape(
                        [-1 if each == lane else 1 for each in range(len(shape))]
                    )
                    value = value + factor * lanes
            where &= value >= 0
            found.append(f"{text} >= 0")
        return f" where {' and '.join(found)}", where.reshape(shape[0], -1)

    # -- the instruction -------------------------------------------------------------

    def run(self, text: str) -> None:
        """The instruction."""
        self.steps.append(text)

    def expect(
        self, tile: Tile, want: Result | Near, where: Array | None = None
    ) -> None:
        """What a tile's access holds, [partitions, elements], at least `where`."""
        places = tile.rows
        kept = np.ones(places.shape, bool) if where is None else where
        if isinstance(want, Near):
            error = np.asarray(want.error, np.float64)
            if error.size == places.size:
                error = error.reshape(places.shape)
            error = np.broadcast_to(error, places.shape)
            want = Near(
                np.asarray(want.values).reshape(places.shape)[kept], error[kept]
            )
        else:
            want = Result(want.stored.reshape(places.shape)[kept], want.how)
        entry = self.expected.setdefault(tile.name, Expected(tile))
        entry.wants.append((places[kept], want))

    def expect_places(self, tile: Tile, places: Array, want: Result) -> None:
        """What some elements of a tensor hold, by their flat places."""
        entry = self.expected.setdefault(tile.name, Expected(tile))
        entry.wants.append((places, want))

    def kept(self, tile: Tile) -> None:
        """Nothing of a tile changes."""
        self.expected.setdefault(tile.name, Expected(tile))

    def writes(self, tile: Tile, values: Array, where: Array | None = None) -> None:
        """fp32 values, cast to a tile's type."""
        self.expect(tile, Result(narrow(values, tile.dtype)), where)


def _places(offset: int, pairs: Sequence[tuple[int, int]]) -> Array:
    found = np.array(offset)
    for step, num in pairs:
        found = found[..., None] + step * np.arange(num)
    return found


def _pairs(pairs: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"{step} x {num}" for step, num in pairs)


def tensor_type(tile: Tile) -> str:
    """`2x3xf32`."""
    return "x".join((*map(str, tile.array.shape), tile.dtype))


Oracle = Callable[[Draw], None]
ORACLES: Final[dict[tuple[str, ...], Oracle]] = {}
"""By the names of the instructions it speaks of, dialect and all."""


def oracle(*names: str) -> Callable[[Oracle], Oracle]:
    """Registers the oracle of some instructions."""

    def register(function: Oracle) -> Oracle:
        ORACLES[names] = function
        return function

    return register
