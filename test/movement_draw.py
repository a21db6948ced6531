"""Drawing random steps: operands that each method may have."""

from collections.abc import Callable
from math import prod
from random import Random

import numpy as np
from random_steps import TRIPS, Access, Generator, Plan, Step, with_table

from xdsl_neuron.dtypes import DType


class Drawer(Generator):
    """A method for each kind of step."""

    def plan_of(self, most: int = 3) -> Plan:
        """A kernel of one to `most` steps."""
        kinds: list[Callable[[bool], Step]] = [
            self.memset,
            self.dma_copy,
            self.dma_copy,
            self.store,
            self.store_number,
            self.load,
            self.load,
            self.indirect_load,
            self.indirect_load,
            self.indirect_save,
            self.indirect_save,
            self.dma_transpose,
            self.gather_transpose,
            self.gather_flattened,
            self.local_gather,
            self.stream_shuffle,
            self.broadcast_partition,
            self.shared_constant,
            self.identity,
            self.register_copy,
        ]
        for _ in range(self.random.randint(1, most)):
            kind = self.random.choice(kinds)
            self.plan.steps.append(kind(self.random.randint(0, 2) == 0))
        return self.plan

    def memset(self, loops: bool) -> Step:
        shape, psum = self.shape(), self.random.random() < 0.3
        dst = self.access(
            shape,
            self.dtype(),
            True,
            written=True,
            loops=loops,
            compute=True,
            psum=psum,
        )
        value = self.random.randint(0, 100)
        return Step("memset", dst, None, self.mask(shape, loops), None, loops, value)

    def dma_copy(self, loops: bool) -> Step:
        shape, there, here = self.shape(), self.random.random() < 0.5, True
        if there:
            here = self.random.random() < 0.7
        dst = self.access(shape, self.dtype(), there, written=True, loops=loops)
        src = self.access(shape, self.dtype(), here, loops=loops)
        add = self.random.random() < 0.3
        mask = self.mask(shape, loops)
        return Step("dma_copy", dst, src, mask, None, loops, add=add)

    def store(self, loops: bool) -> Step:
        shape = self.shape()
        dst = self.access(shape, self.dtype(), False, written=True, loops=loops)
        psum = self.random.random() < 0.3
        src = self.access(shape, self.dtype(), True, loops=loops, psum=psum)
        add = self.random.random() < 0.3
        mask = self.mask(shape, loops)
        return Step("store", dst, src, mask, None, loops, add=add)

    def store_number(self, loops: bool) -> Step:
        shape = self.shape()
        dst = self.access(shape, self.dtype(), False, written=True, loops=loops)
        value = self.random.randint(0, 100)
        mask = self.mask(shape, loops)
        return Step("store_number", dst, None, mask, None, loops, value)

    def load(self, loops: bool) -> Step:
        shape, dtype = self.shape(), self.dtype()
        src = self.access(shape, self.dtype(), False, loops=loops)
        there = self.random.random() < 0.7
        dst = self.access(shape, self.dtype(), there, written=True, loops=loops)
        value = self.random.randint(0, 9)
        mask = self.mask(shape, loops)
        return Step("load", dst, src, mask, None, loops, value, dtype)

    # -- rows picked by an index -----------------------------------------------------

    def table(
        self, rows: int, rest: tuple[int, ...], dtype: DType, written: bool, loops: bool
    ) -> tuple[Access, int]:
        """An access of `rows` indexed rows, and how many rows an index can name."""
        limit = self.random.randint(1, 40)
        whole = self.access((limit, *rest), dtype, False, written=written, loops=loops)
        return with_table(rows, whole), limit

    def indirect_load(self, loops: bool) -> Step:
        shape = self.shape()
        src, limit = self.table(shape[0], shape[1:], self.dtype(), False, loops)
        dst = self.access(shape, self.dtype(), True, written=True, loops=loops)
        index = self.index(shape[0], limit, skip=self.random.random() < 0.5)
        mask = self.mask(shape, loops)
        return Step("indirect_load", dst, src, mask, index, loops)

    def indirect_save(self, loops: bool) -> Step:
        shape, add = self.shape(), self.random.random() < 0.5
        dst, limit = self.table(shape[0], shape[1:], self.dtype(), True, loops)
        src = self.access(shape, self.dtype(), True, loops=loops)
        skip = not add and self.random.random() < 0.5
        index = self.index(shape[0], limit, skip=skip)
        mask = self.mask(shape, loops)
        return Step("indirect_save", dst, src, mask, index, loops, add=add)

    def dma_transpose(self, loops: bool) -> Step:
        axes = self.random.choice([(1, 0), (2, 1, 0), (3, 1, 2, 0)])
        shape = tuple(self.random.randint(1, 9) for _ in axes)
        if len(axes) == 2:
            shape = (self.random.randint(1, 128), self.random.randint(1, 128))
        dtype, here = self.dtype(), self.random.random() < 0.4
        src = self.access(shape, dtype, here, loops=loops)
        turned = tuple(shape[axis] for axis in axes)
        dst = self.access(turned, dtype, True, written=True, loops=loops)
        mask = self.mask(shape, loops)
        return Step("dma_transpose", dst, src, mask, None, loops, axes=axes)

    def gather_transpose(self, loops: bool) -> Step:
        rows = self.random.choice((16, 32, 64))
        rest = (self.random.randint(1, 3), self.random.randint(1, 20))
        dtype = self.random.choice((DType.BFLOAT16, DType.FLOAT16))
        src, limit = self.table(rows, rest, dtype, False, loops)
        dst = self.access((*rest[::-1], rows), dtype, True, written=True, loops=loops)
        skip = self.random.random() < 0.5
        index = self.index(rows, limit, skip=skip, dtype=DType.UINT32)
        mask = self.mask((rows, *rest), loops)
        return Step("gather_transpose", dst, src, mask, index, loops, axes=(2, 1, 0))

    # -- on an engine ----------------------------------------------------------------

    def gather_flattened(self, loops: bool) -> Step:
        shape, dtype = self.shape(), self.dtype()
        free = self.shape()[1:]
        src = self.access((shape[0], *free), dtype, True, loops=loops, compute=True)
        dst = self.access(shape, dtype, True, written=True, loops=loops, compute=True)
        count = prod(free)
        numbers = self.bulk(count, prod(shape))
        # A box of an engine's gather starts at the first partition.
        mask = tuple(p for p in self.boxes(shape, loops) if p.factors[0] <= 0)
        return Step("gather_flattened", dst, src, mask, None, loops, numbers=numbers)

    def local_gather(self, loops: bool) -> Step:
        rows, run = self.random.choice((16, 32, 64, 128)), self.random.choice((1, 2, 4))
        columns, dtype = self.random.randint(1, 3), self.dtype()
        valid = self.random.randint(1, 16 * columns)
        count = self.random.randint(1, 4)
        src = self.access((rows, count * run), dtype, True, loops=loops, compute=True)
        dst = self.access(
            (rows, valid * run), dtype, True, written=True, loops=loops, compute=True
        )
        starts = (count - 1) * run + 1
        head = (run, valid, *self.bulk(starts, rows * columns))
        return Step("local_gather", dst, src, (), None, loops, numbers=head)

    def stream_shuffle(self, loops: bool) -> Step:
        rows = self.random.choice((32, 64, 96, 128))
        shape, dtype = (rows, *self.shape()[1:]), self.dtype()
        src = self.access(shape, dtype, True, loops=loops, compute=True)
        dst = self.access(shape, dtype, True, written=True, loops=loops, compute=True)
        lanes = list(self.bulk(32, 32))
        for _ in range(self.random.randint(0, 3)):
            lanes[self.random.randrange(32)] = 255
        return Step("stream_shuffle", dst, src, (), None, loops, numbers=tuple(lanes))

    def broadcast_partition(self, loops: bool) -> Step:
        shape, dtype = self.shape(), self.dtype()
        psum = self.random.random() < 0.3
        src = self.access((1, *shape[1:]), self.dtype(), True, loops=loops, psum=psum)
        dst = self.access(shape, self.dtype(), True, written=True, loops=loops)
        return Step("broadcast_partition", dst, src, (), None, loops, dtype=dtype)

    # -- constants and registers -----------------------------------------------------

    def shared_constant(self, loops: bool) -> Step:
        shape, dtype = self.shape(40), self.dtype()
        count = prod(shape)
        numbers = self.bulk(100, count)
        if self.random.random() < 0.3:
            numbers = numbers[:1] * count
        elif self.random.random() < 0.3:
            shape = (shape[0], shape[0])
            numbers = tuple(int(n) for n in np.eye(shape[0], dtype=int).reshape(-1))
        dst = self.access(shape, self.dtype(), True, written=True, loops=loops)
        return Step(
            "shared_constant",
            dst,
            None,
            (),
            None,
            loops,
            dtype=dtype,
            numbers=numbers,
        )

    def identity(self, loops: bool) -> Step:
        shape = (self.random.randint(1, 128), self.random.randint(1, 12))
        dst = self.access(shape, self.dtype(), True, written=True, loops=loops)
        on_chip = self.random.randint(0, 1)
        dtype = self.dtype()
        return Step("identity", dst, None, (), None, loops, on_chip, dtype)

    def register_copy(self, loops: bool) -> Step:
        shape, dtype = self.shape(), self.dtype()
        src = self.access(shape, self.dtype(), False, loops=loops)
        trips = TRIPS if loops else 1
        places = [src.addresses(k) for k in range(trips)]
        size = src.pitch
        numbers = tuple(
            self.random.randint(-int(p.min()), size - 1 - int(p.max())) for p in places
        )
        dst = self.access(shape, dtype, True, written=True, loops=loops)
        return Step("register_copy", dst, src, (), None, loops, numbers=numbers)


def draw(random: Random, most: int = 3) -> Plan:
    """A random plan."""
    return Drawer(random).plan_of(most)
