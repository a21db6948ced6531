"""
Tensors that a kernel places itself: `nl.ndarray(..., address=(partition, byte))`.

Here every tensor has memory of its own, so a placement changes no result as long as no
tensor is read after another one has taken its bytes. That is what is checked, over the
boxes that accesses lie in; the address itself stays on the allocation in IR, where it
is on chip. In HBM (from 0.7) an address is a byte alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from xdsl_neuron.isa import Space
from xdsl_neuron.tracer.errors import NKISyntaxError
from xdsl_neuron.tracer.layouts import Buffer
from xdsl_neuron.tracer.views import View

_BYTES: Final = 2048
"""How far apart in a partition tensors are not compared."""


class Box(NamedTuple):
    """Partitions and bytes in each of them, ends excluded."""

    partitions: tuple[int, int]
    bytes: tuple[int, int]

    def meets(self, other: "Box") -> bool:
        """Whether both have a byte in common."""
        (a, b), (c, d) = self.partitions, other.partitions
        (e, f), (g, h) = self.bytes, other.bytes
        return max(a, c) < min(b, d) and max(e, g) < min(f, h)

    def within(self, other: "Box") -> "Box":
        """What two boxes that meet have in common."""
        (a, b), (c, d) = self.partitions, other.partitions
        (e, f), (g, h) = self.bytes, other.bytes
        return Box((max(a, c), min(b, d)), (max(e, g), min(f, h)))

    def holds(self, other: "Box") -> bool:
        """Whether all of another box is in this one."""
        (a, b), (c, d) = self.partitions, other.partitions
        (e, f), (g, h) = self.bytes, other.bytes
        return a <= c and d <= b and e <= g and h <= f


@dataclass(slots=True)
class _Placed:
    space: Space
    box: Box
    taken: list[tuple[Box, str]] = field(default_factory=list[tuple[Box, str]])
    """Boxes of it that others have written since, and who."""
    others: WeakSet[Buffer] = field(default_factory=WeakSet[Buffer])
    """Tensors with a byte in common."""


class Addresses:
    """The placed tensors of one core that the kernel still has."""

    def __init__(self) -> None:
        self._placed: WeakKeyDictionary[Buffer, _Placed] = WeakKeyDictionary()
        self._around: dict[tuple[Space, int], WeakSet[Buffer]] = {}
        """Where to look for what overlaps: by every so many bytes of a partition."""

    def place(self, buffer: Buffer, address: Sequence[int]) -> None:
        """Notes where a tensor is: the partition if it is on chip, and the byte."""
        kind = buffer.type.data
        *partition, start = address
        first, height = (partition[0], kind.shape[0]) if partition else (0, 1)
        box = Box((first, first + height), (start, start + kind.bytes_per_partition))
        placed = self._placed[buffer] = _Placed(kind.space, box)
        start, stop = box.bytes
        if not kind.space.on_chip:  # a few, and each may be large
            start, stop = 0, 1
        for at in range(start // _BYTES, -(-stop // _BYTES)):
            near = self._around.setdefault((kind.space, at), WeakSet())
            for other in near:
                where = self._placed[other]
                if where.box.meets(box):
                    placed.others.add(other)
                    where.others.add(buffer)
            near.add(buffer)

    def check(self, views: Sequence[View | None], outputs: int) -> None:
        """An instruction reads and writes these views; the first ones are written."""
        if not self._placed:
            return
        picked = [view.layout.columns for view in views if view is not None]
        indices = [columns.index for columns in picked if columns is not None]
        for view in (*views[outputs:], *indices):
            if view is not None and view.base in self._placed:
                self._read(view, self._placed[view.base])
        for view in views[:outputs]:
            if view is not None and view.base in self._placed:
                self._write(view, self._placed[view.base])

    def _read(self, view: View, placed: _Placed) -> None:
        box = _box(view, placed)
        for taken, other in placed.taken:
            if taken.meets(box):
                raise NKISyntaxError(
                    f"'{view.name}' is read after '{other}', which is placed on the "
                    "same bytes, was written; place them apart"
                )
        if view.base.written:
            return
        for other, where in self._others(placed):
            if other.written and where.box.meets(box):
                raise NKISyntaxError(
                    f"'{view.name}' is read and was never written, only '{other.name}' "
                    "on the same bytes: two tensors do not share memory here; use "
                    "tensor.view(dtype) or tensor.ap(pattern, dtype=...)"
                )

    def _write(self, view: View, placed: _Placed) -> None:
        box = _box(view, placed)
        # What an index picks may be any part of the box.
        picks = view.layout.columns is not None or view.layout.gather is not None
        if placed.taken and not picks:
            placed.taken = [each for each in placed.taken if not box.holds(each[0])]
        for other, where in self._others(placed):
            if other.written and where.box.meets(box):
                where.taken.append((box.within(where.box), view.name))

    def _others(self, placed: _Placed) -> Iterator[tuple[Buffer, _Placed]]:
        for other in list(placed.others):
            yield other, self._placed[other]


def _box(view: View, placed: _Placed) -> Box:
    """Where a view lies; all of its tensor where that is known only while running."""
    layout = view.layout
    if layout.gather is not None:
        return placed.box
    if not isinstance(layout.offset, int) or not isinstance(layout.partition, int):
        return placed.box
    rows = [layout.partition, layout.partition]
    places = [layout.offset, layout.offset]
    for dim, (step, num) in enumerate(layout.reached):
        reach = step * (num - 1)
        into = rows if dim == layout.par else places
        into[reach > 0] += reach
    size = layout.dtype.bytes
    first, start = placed.box.partitions[0], placed.box.bytes[0]
    return Box(
        (first + rows[0], first + rows[1] + 1),
        (start + places[0] * size, start + (places[1] + 1) * size),
    )
