"""
Random steps of kernels, each built by a builder method and stated in NumPy.

A step is data: accesses as (step, num) pairs, affine masks, index vectors.
`movement_build.py` makes the kernel of it, `movement_reference.py` says what it does to
arrays; they share only this description.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from random import Random
from typing import Any, Final

import ml_dtypes
import numpy as np
import numpy.typing as npt

from xdsl_neuron.dtypes import DType

Array = npt.NDArray[Any]

DTYPES: Final = (
    DType.FLOAT32,
    DType.BFLOAT16,
    DType.FLOAT16,
    DType.INT32,
    DType.UINT8,
    DType.INT8,
)
NUMPY: Final[dict[DType, np.dtype[Any]]] = {
    DType.FLOAT32: np.dtype(np.float32),
    DType.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
    DType.FLOAT16: np.dtype(np.float16),
    DType.INT32: np.dtype(np.int32),
    DType.UINT32: np.dtype(np.uint32),
    DType.UINT16: np.dtype(np.uint16),
    DType.UINT8: np.dtype(np.uint8),
    DType.INT8: np.dtype(np.int8),
}
TRIPS: Final = 3


@dataclass(frozen=True)
class Tensor:
    """A tensor of the kernel: an input in HBM, or a tile that is filled first."""

    name: str
    shape: tuple[int, ...]
    dtype: DType
    on_chip: bool
    fill: int = 0
    psum: bool = False

    @property
    def pitch(self) -> int:
        """Elements of a partition; of the whole tensor in HBM."""
        return prod(self.shape[1:]) if self.on_chip else prod(self.shape)


@dataclass(frozen=True)
class Access:
    """
    A pattern over a tensor seen as elements of `dtype`.

    `move` is added to the offset in each iteration.
    """

    tensor: Tensor
    pairs: tuple[tuple[int, int], ...]
    offset: int
    dtype: DType
    start: int = 0
    move: int = 0

    @property
    def pitch(self) -> int:
        """Elements of `dtype` of a partition; of the whole tensor in HBM."""
        return self.tensor.pitch * self.tensor.dtype.bytes // self.dtype.bytes

    @property
    def shape(self) -> tuple[int, ...]:
        """The nums."""
        return tuple(num for _, num in self.pairs)

    def addresses(self, iteration: int) -> Array:
        """The place of every element in the flattened tensor."""
        at = np.indices(self.shape)
        base = self.offset + self.move * iteration
        found = np.full(self.shape, base)
        for dim, (step, _) in enumerate(self.pairs):
            unit = self.pitch if self.tensor.on_chip and dim == 0 else 1
            found += at[dim] * step * unit
        return found + self.start * self.pitch


@dataclass(frozen=True)
class Predicate:
    """`constant + loop * i + sum(factor * lane) >= 0`."""

    factors: tuple[int, ...]
    constant: int
    loop: int = 0

    def holds(self, shape: Sequence[int], iteration: int) -> Array:
        """Where it holds, over the lanes."""
        at = np.indices(tuple(shape))
        total = np.full(tuple(shape), self.constant + self.loop * iteration)
        for factor, lane in zip(self.factors, at, strict=True):
            total += factor * lane
        return total >= 0


@dataclass(frozen=True)
class Index:
    """An index vector: a tensor (n, 1) in HBM, and where the indexed rows end."""

    tensor: Tensor
    values: tuple[int, ...]
    limit: int
    skip: bool


@dataclass(frozen=True)
class Step:
    """One method with its operands; `loops` says that it runs in a rolled loop."""

    kind: str
    dst: Access
    src: Access | None = None
    mask: tuple[Predicate, ...] = ()
    index: Index | None = None
    loops: bool = False
    value: float = 0
    dtype: DType | None = None
    add: bool = False
    axes: tuple[int, ...] = ()
    numbers: tuple[int, ...] = ()
    """Lanes of a shuffle, elements of a constant, or of a register."""


@dataclass
class Plan:
    """A kernel: its tensors, the arrays of the inputs, and its steps."""

    tensors: list[Tensor] = field(default_factory=list[Tensor])
    arrays: dict[str, Array] = field(default_factory=dict[str, Array])
    steps: list[Step] = field(default_factory=list[Step])

    def inputs(self) -> list[Tensor]:
        """The tensors in HBM, in order."""
        return [tensor for tensor in self.tensors if not tensor.on_chip]

    def tiles(self) -> list[Tensor]:
        """The tensors on chip, in order."""
        return [tensor for tensor in self.tensors if tensor.on_chip]


class Generator:
    """Draws a plan from a source of randomness."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.plan = Plan()
        self._numbers = np.random.default_rng(random.randint(0, 1 << 30))

    # -- tensors ---------------------------------------------------------------------

    def values(self, shape: tuple[int, ...], dtype: DType) -> Array:
        """Small numbers, halves among those of floating types."""
        found = self._numbers.integers(-200, 200, shape)
        if dtype.is_float:
            return (found / 2).astype(NUMPY[dtype])
        low = 0 if dtype in (DType.UINT8, DType.UINT32, DType.UINT16) else -100
        return self._numbers.integers(low, 100, shape).astype(NUMPY[dtype])

    def bulk(self, limit: int, count: int) -> tuple[int, ...]:
        """Many numbers below a limit, from one draw of the source."""
        return tuple(int(n) for n in self._numbers.integers(0, limit, count))

    def hbm(self, size: int, dtype: DType) -> Tensor:
        """An input with at least that many elements of `dtype`, or of another."""
        held = self.stored(dtype)
        columns = self.random.choice((1, 3, 8))
        wide = max(held.bytes // dtype.bytes, 1)
        shape = (-(-size // columns) + self.random.randint(0, 3), columns * wide)
        return self.given(self.values(shape, dtype).view(NUMPY[held]), held)

    def given(self, array: Array, dtype: DType) -> Tensor:
        """An input with these elements."""
        found = Tensor(f"a{len(self.plan.tensors)}", array.shape, dtype, False)
        self.plan.tensors.append(found)
        self.plan.arrays[found.name] = array
        return found

    def tile(self, rows: int, columns: int, dtype: DType, psum: bool) -> Tensor:
        """A tile with room for `columns` elements of `dtype`, filled with a number."""
        number, held = self.random.randint(0, 9), self.stored(dtype)
        width = -(-columns * dtype.bytes // held.bytes)
        if held.bytes < dtype.bytes:
            width = columns * (dtype.bytes // held.bytes)
        name = f"t{len(self.plan.tensors)}"
        found = Tensor(name, (rows, width), held, True, number, psum)
        self.plan.tensors.append(found)
        return found

    def stored(self, dtype: DType) -> DType:
        """The type of a tensor whose elements are seen as `dtype`: mostly itself."""
        return self.dtype() if self.random.randint(0, 6) == 0 else dtype

    def dtype(self) -> DType:
        """An element type."""
        return self.random.choice(DTYPES)

    # -- accesses --------------------------------------------------------------------

    def access(
        self,
        nums: tuple[int, ...],
        dtype: DType,
        on_chip: bool,
        *,
        written: bool = False,
        loops: bool = False,
        compute: bool = False,
        psum: bool = False,
    ) -> Access:
        """A pattern of these extents over a fresh tensor that has room for it."""
        steps = self._steps(nums, written)
        move = self.random.randint(-3, 3) if loops else 0
        first = 1 if on_chip else 0
        reach = [s * (n - 1) for s, n in zip(steps[first:], nums[first:], strict=True)]
        reach.append(move * (TRIPS - 1))
        low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
        offset = -low + self.random.randint(0, 2)
        extent = offset + high + 1
        if not on_chip:
            pairs = tuple(zip(steps, nums, strict=True))
            return Access(self.hbm(extent, dtype), pairs, offset, dtype, 0, move)
        row = self._row_step(nums[0], written, compute or psum)
        start = self._start(nums[0], row, compute or psum)
        rows, columns = (
            start + row * (nums[0] - 1) + 1,
            extent + self.random.randint(0, 2),
        )
        pairs = ((row, nums[0]), *zip(steps[1:], nums[1:], strict=True))
        tile = self.tile(rows, columns, dtype, psum)
        return Access(tile, pairs, offset, dtype, start, move)

    def _steps(self, nums: tuple[int, ...], written: bool) -> list[int]:
        """Steps from the innermost out: dense, with gaps, backwards, or repeating."""
        found: list[int] = []
        span = 1
        for num in reversed(nums):
            gap = self.random.choice((0, 0, 0, 1, 2))
            step = span + gap
            kind = self.random.randint(0, 9)
            if kind == 0 and not written:
                step = 0
            elif kind == 1 and not written:
                step = self.random.randint(1, 3)
            span = max(span, abs(step) * (num - 1) + span)
            found.append(-step if self.random.randint(0, 4) == 0 else step)
        return found[::-1]

    def _row_step(self, rows: int, written: bool, compute: bool) -> int:
        if rows == 1 or compute:
            return 1
        choices = [1, 1, 1] if rows > 40 else [1, 1, 2, 3]
        return self.random.choice(choices if written else [*choices, 0])

    def _start(self, rows: int, step: int, compute: bool) -> int:
        room = 127 - step * (rows - 1)
        if not compute:
            return self.random.choice((0, self.random.randint(0, room)))
        starts = [0] if rows > 64 else [0, 64] if rows > 32 else [0, 32, 64, 96]
        return self.random.choice(starts)

    # -- masks and indices -----------------------------------------------------------

    def mask(self, shape: Sequence[int], loops: bool) -> tuple[Predicate, ...]:
        """No mask, boxes, or a predicate over two lanes."""
        found: list[Predicate] = []
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            factors = [0] * len(shape)
            lane = self.random.randrange(len(shape))
            sign = self.random.choice((1, -1))
            factors[lane] = sign
            if len(shape) > 1 and self.random.randint(0, 2) == 0:
                other = self.random.choice([k for k in range(len(shape)) if k != lane])
                factors[other] = self.random.choice((1, -1, 2))
            constant = self.random.randint(-2, shape[lane])
            loop = self.random.randint(-2, 2) if loops else 0
            found.append(Predicate(tuple(factors), constant, loop))
        return tuple(found)

    def boxes(self, shape: Sequence[int], loops: bool) -> tuple[Predicate, ...]:
        """The predicates of a mask that bound one lane each."""
        drawn = self.mask(shape, loops)
        return tuple(p for p in drawn if sum(f != 0 for f in p.factors) == 1)

    def index(
        self, rows: int, limit: int, *, skip: bool, dtype: DType | None = None
    ) -> Index:
        """Duplicates, -1 among them, and rows outside where they are skipped."""
        dtype = dtype or self.random.choice((DType.INT32, DType.UINT32))
        outside = (limit, limit + 7, 1 << 20, -2, -9)
        found: list[int] = []
        for kind, row in zip(self.bulk(10, rows), self.bulk(limit, rows), strict=True):
            if kind == 0:
                found.append(-1)
            elif kind == 1 and skip:
                found.append(outside[row % len(outside)])
            else:
                found.append(row)
        wide = np.array(found, np.int64).reshape(rows, 1)
        array = wide.astype(np.int32).view(NUMPY[dtype])
        return Index(self.given(array, dtype), tuple(found), limit, skip)

    def shape(self, rows: int = 128) -> tuple[int, ...]:
        """Extents: partitions, and one to three free dimensions."""
        first = self.random.choice((1, 2, 5, 16, 32, self.random.randint(1, rows)))
        free = self.random.choice((1, 1, 2, 2, 3))
        return (min(first, rows), *(self.random.randint(1, 5) for _ in range(free)))


def with_table(index_rows: int, access: Access) -> Access:
    """The access with `index_rows` indices in place of its rows."""
    (step, _), *rest = access.pairs
    return replace(access, pairs=((step, index_rows), *rest))
