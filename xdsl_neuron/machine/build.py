"""
The state of a plan while it is built: loop values, storages, and the steps so far.

The same code builds a plan that is kept (tensors of the caller are bound later) and
one that is executed piece by piece while it is built (`flush_at`).
"""

from collections.abc import Callable, Mapping, Sequence
from math import gcd
from operator import setitem
from types import MappingProxyType
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

from xdsl_neuron.dtypes import DType
from xdsl_neuron.machine.errors import MachineError
from xdsl_neuron.machine.iteration import where_it_is
from xdsl_neuron.machine.memory import Buffer, Pool, Storage, covers, poison
from xdsl_neuron.machine.nests import (
    Nums,
    Strides,
    Walk,
    dense_strides,
    transfer,
    word_transfer,
    word_type,
)
from xdsl_neuron.machine.sides import Ranges, Side
from xdsl_neuron.machine.written import Written
from xdsl_neuron.numerics.casts import storage as numpy_storage
from xdsl_neuron.numerics.fill import constant

Array: TypeAlias = NDArray[Any]
Step: TypeAlias = tuple[Callable[..., object], tuple[Any, ...]]

_BYTE: Final = np.dtype(np.uint8)


class HbmView(NamedTuple):
    """A view of a caller's tensor, made when its array is bound."""

    slot: int
    dtype: np.dtype[Any]
    offset: int
    nums: Nums
    strides: Strides

    def bind(self, buffer: Buffer) -> Array:
        """The view of the array that `buffer` holds the bytes of."""
        return np.ndarray(self.nums, self.dtype, buffer, self.offset, self.strides)


class Slot(NamedTuple):
    """What is known of a tensor before the plan is built."""

    label: str
    size: int
    dtype: DType
    psum: bool
    init: float | None


def run_steps(steps: Sequence[Step]) -> None:
    """Execute steps in order."""
    for function, arguments in steps:
        function(*arguments)


class Build:
    """
    Emits the steps of instructions.

    `slots` describe the tensors; `poison` says whether undefined memory is poisoned or
    zero. With `flush_at`, steps are executed and forgotten whenever there are as many.
    """

    def __init__(
        self,
        slots: Sequence[Slot],
        depth: int,
        poison: bool,
        flush_at: int = 0,
        depths: Mapping[SSAValue, int] = MappingProxyType({}),
    ) -> None:
        self.slots = slots
        self.depths = depths
        """Which of the values a loop index or a register has, for messages."""
        self.values = [0] * depth
        self.storages: list[Any] = [None] * len(slots)
        self.steps: list[Step] = []
        self.deferred: list[int] = []
        """Positions of steps with an `HbmView` among their arguments."""
        self.pool = Pool()
        self.outputs: dict[int, Buffer] = {}
        """Arrays of outputs by slot, where they are known while building."""
        self.written: dict[int, Written] = {}
        """What has been written of outputs without an initial value."""
        self.fired: dict[str | None, dict[int, int]] = {}
        """How often each DMA trigger has fired, by its queue."""
        self.iterations = 0
        """Iterations of run-time loops so far."""
        self._bound: list[int] = []
        """Slots of the caller's tensors and of constants."""
        self._poison = poison
        self._flush_at = flush_at

    def emit(self, function: Callable[..., object], *arguments: Any) -> None:
        """Append a step."""
        steps = self.steps
        for argument in arguments:
            if type(argument) is HbmView:
                self.deferred.append(len(steps))
                break
        steps.append((function, arguments))
        if self._flush_at and len(steps) >= self._flush_at:
            self.flush()

    @property
    def undefined(self) -> float:
        """What an fp32 number that nothing has defined reads as."""
        return float("nan") if self._poison else 0.0

    def flush(self) -> None:
        """Execute what has been built and forget it."""
        run_steps(self.steps)
        self.steps.clear()

    def bind(self, slot: int, buffer: Buffer | None, *, defined: bool) -> None:
        """`slot` is a tensor of the caller, with its array if that is known."""
        storage = Storage(self.slots[slot].size, buffer, defined=defined)
        self.storages[slot] = storage
        self._bound.append(slot)
        if not defined and buffer is None:
            storage.fill_step = len(self.steps)
            self.emit(_nothing)

    def bind_constants(self, buffers: Mapping[int, Buffer]) -> None:
        """The buffers of constants, by slot."""
        for slot, buffer in buffers.items():
            self.bind(slot, buffer, defined=True)

    def bind_output(self, slot: int) -> None:
        """`slot` is an output, which nothing has written."""
        self.bind(slot, self.outputs.get(slot), defined=False)
        known = self.slots[slot]
        if known.init is None:
            written = Written(known.size, known.dtype.bytes)
            self.storages[slot].written = self.written[slot] = written

    def allocate(self, slot: int) -> None:
        """A fresh buffer for `slot`."""
        known = self.slots[slot]
        buffer = self.pool.take(known.size)
        storage = Storage(known.size, buffer, defined=False, psum=known.psum)
        self.storages[slot] = storage

    def release(self, slots: Sequence[int]) -> None:
        """The buffers of `slots` are used no more."""
        for slot in slots:
            storage = self.storages[slot]
            if storage is not None and storage.buffer is not None:
                self.pool.give(storage.buffer)
                self.storages[slot] = None

    def view(
        self,
        slot: int,
        dtype: np.dtype[Any],
        offset: int,
        nums: Nums,
        strides: Strides,
    ) -> Any:
        """An array, or an `HbmView` where the array is bound later."""
        buffer = self.storages[slot].buffer
        if buffer is None:
            return HbmView(slot, dtype, offset, nums, strides)
        return np.ndarray(nums, dtype, buffer, offset, strides)

    def span(
        self, operation: Operation, side: Side, ranges: Ranges = ()
    ) -> tuple[int, Nums]:
        """First byte and extents of a side in this iteration, bounds checked."""
        problem = side.problem(self.values, ranges)
        if problem is not None:
            self.refuse(operation, problem, side.rows(self.values, ranges))
        offset = side.offset(self.values)
        if not ranges:
            return offset, side.nums
        for (low, _), stride in zip(ranges, side.strides, strict=True):
            offset += low * stride
        return offset, tuple([high - low for low, high in ranges])

    def refuse(self, operation: Operation, problem: str, rows: str = "") -> NoReturn:
        """Raise the error with the iteration it happened in."""
        where = where_it_is(operation, self.depths, self.values)
        parts = ", ".join(part for part in (where, rows) if part)
        raise MachineError(operation, f"{problem}: {parts}" if parts else problem)

    def reads(self, side: Side, offset: int, nums: Nums, strides: Strides) -> None:
        """The next step reads these elements."""
        storage = self.storages[side.slot]
        if storage.defined:
            return
        written = storage.written
        if written is not None and written.has_all(
            (offset, nums, strides, side.itemsize)
        ):
            return
        self._fill(side.slot, storage)

    def writes(
        self,
        side: Side,
        offset: int,
        nums: Nums,
        strides: Strides,
        where: NDArray[np.bool_] | None = None,
    ) -> None:
        """The next step writes these elements (those where `where` holds)."""
        storage = self.storages[side.slot]
        known = storage.written
        if storage.defined and storage.freshness is None and known is None:
            return
        span = (offset, nums, strides, side.itemsize)
        if where is None and covers(*span, storage.size):
            storage.defined = True
            if storage.freshness is not None:
                storage.freshness.written_all()
            if known is not None:
                known.whole = True
            return
        if known is not None:
            known.add(span, where)
        if not storage.defined and (known is None or storage.fill_step is None):
            self._fill(side.slot, storage)
        if storage.freshness is not None:
            storage.freshness.written(span, where)

    def marks(
        self,
        side: Side,
        span: tuple[int, Nums],
        strides: Strides,
        mark: Callable[..., object],
        *arguments: Any,
    ) -> None:
        """
        The step before wrote some of these elements, which only a run can tell.

        `mark(flags, *arguments)` sets the flags of their bytes; it is a step where the
        tensor is an output that is not known to be whole.
        """
        written = self.storages[side.slot].written
        if written is None or written.whole:
            return
        flags = written.found((*span, strides, side.itemsize))
        steps: list[Step] = [(mark, (flags, *arguments))]
        if not written.marks:
            steps.insert(0, (written.forget, ()))
        for function, given in steps:
            written.marks.append(len(self.steps))
            self.emit(function, *given)

    def finish_fills(self) -> None:
        """Fill the caller's tensors of which something has been left undefined."""
        for slot in self._bound:
            storage = self.storages[slot]
            written = storage.written
            if written is not None and written.settle():
                for position in written.marks if self._flush_at == 0 else ():
                    self.steps[position] = (_nothing, ())
            elif not storage.defined:
                self._fill(slot, storage)

    def partly_written(self) -> dict[int, Written]:
        """The outputs, by slot, that are not known to be written as a whole."""
        return {slot: each for slot, each in self.written.items() if not each.whole}

    def fill(self, slot: int) -> None:
        """Fill the whole of a buffer that nothing has written."""
        self._fill(slot, self.storages[slot])

    def _fill(self, slot: int, storage: Storage) -> None:
        """Fill with the initial value, or poison, before anything is written."""
        storage.defined = True
        known = self.slots[slot]
        dtype, value = _BYTE, np.zeros((), np.uint8)
        if known.init is not None:
            dtype = numpy_storage(known.dtype)
            value = constant(known.dtype, known.init)
        elif self._poison:
            value = poison(known.dtype)
            dtype = value.dtype
        count = storage.size // dtype.itemsize
        view = self.view(slot, dtype, 0, (count,), (dtype.itemsize,))
        if storage.fill_step is None:
            self.emit(setitem, view, ..., value)
            return
        self.steps[storage.fill_step] = (setitem, (view, ..., value))
        self.deferred.append(storage.fill_step)

    def scratch(self, nums: Nums, dtype: np.dtype[Any]) -> tuple[Array, Buffer]:
        """A dense array that lives for one instruction, and its buffer."""
        size = dtype.itemsize
        for num in nums:
            size *= num
        buffer = self.pool.take(size)
        strides = dense_strides(nums, dtype.itemsize)
        return np.ndarray(nums, dtype, buffer, 0, strides), buffer

    def move(
        self,
        dst: Side,
        dst_span: tuple[int, Nums],
        src: Side,
        src_span: tuple[int, Nums],
        kernel: Callable[..., object] | None,
        dst_strides: Strides | None = None,
        src_strides: Strides | None = None,
    ) -> None:
        """Steps that take the k-th element of `src` to the k-th of `dst`."""
        (offset, nums), (start, extents) = dst_span, src_span
        steps_a = dst.strides if dst_strides is None else dst_strides
        steps_b = src.strides if src_strides is None else src_strides
        if kernel is None:
            grain = gcd(offset, start, 8)
            walks = word_transfer(nums, steps_a, extents, steps_b, dst.itemsize, grain)
        else:
            walks = transfer(nums, steps_a, extents, steps_b)
        for walk in walks:
            self._move(dst, offset, src, start, kernel, walk)

    def _move(
        self,
        dst: Side,
        offset: int,
        src: Side,
        start: int,
        kernel: Callable[..., object] | None,
        walk: Walk,
    ) -> None:
        types = (dst.numpy, src.numpy)
        if kernel is None:
            types = (word_type(walk.word),) * 2
        out = self.view(
            dst.slot, types[0], offset + walk.start_a, walk.nums, walk.strides_a
        )
        source = self.view(
            src.slot, types[1], start + walk.start_b, walk.nums, walk.strides_b
        )
        if kernel is None:
            self.emit(setitem, out, ..., source)
        else:
            self.emit(kernel, out, source)


def _nothing() -> None:
    """A step that does nothing."""
