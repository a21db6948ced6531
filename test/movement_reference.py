"""What random steps do to arrays, stated in NumPy."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from random_steps import NUMPY, TRIPS, Access, Plan, Predicate, Step

from xdsl_neuron.dtypes import DType

Array = npt.NDArray[Any]


def cast(values: Array, dtype: DType) -> Array:
    """Equal types keep their bits; others round through fp32, integers saturate."""
    target = NUMPY[dtype]
    if values.dtype == target:
        return values
    wide = values.astype(np.float32)
    if dtype.is_float:
        with np.errstate(over="ignore"):
            return wide.astype(target)
    info = np.iinfo(target)
    return np.clip(np.rint(wide.astype(np.float64)), info.min, info.max).astype(target)


def added(held: Array, values: Array) -> Array:
    """32-bit integers of one type wrap; others are added in fp32 (bir.md 10.3)."""
    wraps = (NUMPY[DType.INT32], NUMPY[DType.UINT32])
    if held.dtype == values.dtype and held.dtype in wraps:
        return held + values
    return held.astype(np.float32) + values.astype(np.float32)


class Reference:
    """The arrays of a plan, changed step by step."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.flat: dict[str, Array] = {}
        for tensor in plan.tensors:
            if tensor.on_chip:
                filled = np.full(tensor.shape, tensor.fill, NUMPY[tensor.dtype])
                self.flat[tensor.name] = filled.reshape(-1)
            else:
                self.flat[tensor.name] = plan.arrays[tensor.name].reshape(-1).copy()

    def run(self) -> dict[str, Array]:
        """The tensors by name after all steps."""
        for step in self.plan.steps:
            for iteration in range(TRIPS if step.loops else 1):
                getattr(self, step.kind)(step, iteration)
        return {t.name: self.flat[t.name].reshape(t.shape) for t in self.plan.tensors}

    # -- reading and writing ---------------------------------------------------------

    def read(self, access: Access | None, iteration: int) -> Array:
        """The elements of an access."""
        assert access is not None
        return self.elements(access)[access.addresses(iteration)]

    def elements(self, access: Access) -> Array:
        """The tensor of an access as a row of the elements that it names."""
        return self.flat[access.tensor.name].view(NUMPY[access.dtype])

    def write(
        self,
        access: Access,
        iteration: int,
        values: Array,
        keep: Array,
        add: bool = False,
    ) -> None:
        """Puts values where `keep` holds, cast, or added to what is there."""
        flat, dtype = self.elements(access), access.dtype
        places = access.addresses(iteration).reshape(values.shape)[keep]
        chosen = values[keep]
        if add:
            chosen = added(flat[places], chosen)
        flat[places] = cast(chosen, dtype)

    @staticmethod
    def kept(
        mask: tuple[Predicate, ...], shape: tuple[int, ...], iteration: int
    ) -> Array:
        """Where all predicates hold."""
        found = np.ones(shape, bool)
        for predicate in mask:
            found &= predicate.holds(shape, iteration)
        return found

    # -- one method a step -----------------------------------------------------------

    def memset(self, step: Step, iteration: int) -> None:
        shape = step.dst.shape
        keep = self.kept(step.mask, shape, iteration)
        values = np.full(shape, step.value, np.float32)
        self.write(step.dst, iteration, values, keep)

    def dma_copy(self, step: Step, iteration: int) -> None:
        values = self.read(step.src, iteration)
        keep = self.kept(step.mask, values.shape, iteration)
        self.write(step.dst, iteration, values, keep, step.add)

    def store(self, step: Step, iteration: int) -> None:
        """A tile in PSUM is copied in the destination's type first."""
        values = self.read(step.src, iteration)
        assert step.src is not None
        if step.src.tensor.psum:
            values = cast(values, step.dst.dtype)
        keep = self.kept(step.mask, values.shape, iteration)
        self.write(step.dst, iteration, values, keep, step.add)

    def load(self, step: Step, iteration: int) -> None:
        """Loaded as `dtype` into a tile of `value`, then copied to the destination."""
        assert step.dtype is not None
        values = self.read(step.src, iteration)
        keep = self.kept(step.mask, values.shape, iteration)
        other = np.full(values.shape, step.value, NUMPY[step.dtype])
        tile = np.where(keep, cast(values, step.dtype), other)
        self.write(step.dst, iteration, tile, np.ones(values.shape, bool))

    def store_number(self, step: Step, iteration: int) -> None:
        shape = step.dst.shape
        keep = self.kept(step.mask, shape, iteration)
        values = np.full(shape, step.value, np.float32)
        self.write(step.dst, iteration, values, keep)

    def _rows(self, step: Step) -> list[tuple[int, int]]:
        """(position, row) of each index that names a row, in order."""
        assert step.index is not None
        limit = step.index.limit
        return [(k, r) for k, r in enumerate(step.index.values) if 0 <= r < limit]

    def _picked(self, access: Access, row: int, iteration: int) -> Array:
        """The places of one row of a table."""
        (step, _), *rest = access.pairs
        one = replace(access, pairs=((0, 1), *rest))
        return one.addresses(iteration)[0] + step * row

    def indirect_load(self, step: Step, iteration: int) -> None:
        assert step.src is not None
        table = self.elements(step.src)
        keep = self.kept(step.mask, step.dst.shape, iteration)
        flat = self.elements(step.dst)
        places = step.dst.addresses(iteration)
        for position, row in self._rows(step):
            values = table[self._picked(step.src, row, iteration)]
            some = keep[position]
            flat[places[position][some]] = cast(values[some], step.dst.dtype)

    def indirect_save(self, step: Step, iteration: int) -> None:
        values = self.read(step.src, iteration)
        keep = self.kept(step.mask, values.shape, iteration)
        table = self.elements(step.dst)
        for position, row in self._rows(step):
            places = self._picked(step.dst, row, iteration)[keep[position]]
            chosen = values[position][keep[position]]
            if step.add:
                chosen = added(table[places], chosen)
            table[places] = cast(chosen, step.dst.dtype)

    def dma_transpose(self, step: Step, iteration: int) -> None:
        values = self.read(step.src, iteration)
        keep = self.kept(step.mask, values.shape, iteration)
        self.write(
            step.dst, iteration, values.transpose(step.axes), keep.transpose(step.axes)
        )

    def gather_transpose(self, step: Step, iteration: int) -> None:
        assert step.src is not None
        table = self.elements(step.src)
        lanes = step.src.shape
        keep = self.kept(step.mask, lanes, iteration)
        flat = self.elements(step.dst)
        places = step.dst.addresses(iteration).transpose(2, 1, 0)
        for position, row in self._rows(step):
            values = table[self._picked(step.src, row, iteration)]
            some = keep[position]
            flat[places[position][some]] = values[some]

    def gather_flattened(self, step: Step, iteration: int) -> None:
        data = self.read(step.src, iteration)
        rows = data.reshape(data.shape[0], -1)
        columns = np.array(step.numbers).reshape(step.dst.shape)
        keep = self.kept(step.mask, step.dst.shape, iteration)
        values = np.empty(step.dst.shape, data.dtype)
        for row in range(data.shape[0]):
            values[row] = rows[row][columns[row]]
        self.write(step.dst, iteration, values, keep)

    def local_gather(self, step: Step, iteration: int) -> None:
        data = self.read(step.src, iteration)
        rows = data.reshape(data.shape[0], -1)
        run, valid, *numbers = step.numbers
        index = np.array(numbers).reshape(rows.shape[0], -1)
        values = np.empty((rows.shape[0], valid * run), data.dtype)
        for row in range(rows.shape[0]):
            core = row // 16 * 16
            for k in range(valid):
                start = index[core + k % 16, k // 16]
                values[row, k * run : k * run + run] = rows[row, start : start + run]
        shaped = values.reshape(step.dst.shape)
        self.write(step.dst, iteration, shaped, np.ones(shaped.shape, bool))

    def stream_shuffle(self, step: Step, iteration: int) -> None:
        data = self.read(step.src, iteration)
        found = self.read(step.dst, iteration)
        for row in range(data.shape[0]):
            lane = step.numbers[row % 32]
            if lane != 255:
                found[row] = data[row // 32 * 32 + lane]
        self.write(step.dst, iteration, found, np.ones(found.shape, bool))

    def broadcast_partition(self, step: Step, iteration: int) -> None:
        """A copy of one partition in `dtype`, then copied to the destination."""
        assert step.dtype is not None
        row = cast(self.read(step.src, iteration), step.dtype)
        wide = np.broadcast_to(row, step.dst.shape)
        self.write(step.dst, iteration, wide, np.ones(wide.shape, bool))

    def shared_constant(self, step: Step, iteration: int) -> None:
        assert step.dtype is not None
        array = np.array(step.numbers).astype(NUMPY[step.dtype])
        values = array.reshape(step.dst.shape)
        self.write(step.dst, iteration, values, np.ones(values.shape, bool))

    def identity(self, step: Step, iteration: int) -> None:
        """The corner of an identity, from HBM or from the tile in SBUF."""
        assert step.dtype is not None
        rows, columns = step.dst.shape
        values = np.eye(rows, columns).astype(NUMPY[step.dtype])
        self.write(step.dst, iteration, values, np.ones(values.shape, bool))

    def register_copy(self, step: Step, iteration: int) -> None:
        """A copy whose source starts at an element that a register holds."""
        assert step.src is not None
        start = step.numbers[iteration]
        flat = self.elements(step.src)
        values = flat[step.src.addresses(iteration) + start]
        keep = np.ones(values.shape, bool)
        self.write(step.dst, iteration, values, keep)
