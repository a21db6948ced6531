"""
What a program writes of its outputs, per byte, and how to say what it left out.

What a plan knows is collected while it is built; what an index decides is marked by
steps of their own. An output that is written as a whole costs nothing afterwards.
"""

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation

from xdsl_neuron.diagnostics import Diagnostic, SourceLocation, source_location
from xdsl_neuron.machine.interface import Port
from xdsl_neuron.machine.regions import Region, Span

Flags = NDArray[np.bool_]


class Written:
    """
    The written bytes of an output of `size` bytes and elements of `itemsize`.

    `whole` is True as soon as one access is known to have written everything.
    """

    def __init__(self, size: int, itemsize: int) -> None:
        self._size = size
        self._itemsize = itemsize
        self._known: Region | None = None
        self._found: Region | None = None
        self.whole = size == 0
        self.marks: list[int] = []
        """Positions of the steps that mark what an index decides."""

    def add(self, span: Span, where: Flags | None = None) -> None:
        """The elements of the span (where `where` holds) are written in every run."""
        if self.whole:
            return
        if self._known is None:
            self._known = Region(self._size, self._itemsize)
        self._known.add(span, where)

    def has_all(self, span: Span) -> bool:
        """Whether every run has written all of the span."""
        if self.whole:
            return True
        return self._known is not None and self._known.has_all(span)

    def settle(self) -> bool:
        """Whether every run writes all of it; called when nothing is added any more."""
        if self._known is not None and self._known.is_full():
            self.whole = True
        if self.whole:
            self._known = self._found = None
        return self.whole

    def found(self, span: Span) -> Flags:
        """Flags of the span's bytes, [..., itemsize], which a step sets."""
        if self._found is None:
            self._found = Region(self._size)
        return self._found.view(span)

    def forget(self) -> None:
        """A new run: what an index decides is not known yet."""
        if self._found is not None:
            self._found.clear()

    def missing(self) -> NDArray[np.intp]:
        """Numbers of the elements of which a byte was not written in the last run."""
        if self.whole:
            return np.empty(0, np.intp)
        flags = np.zeros(self._size, np.bool_)
        for region in (self._known, self._found):
            if region is not None:
                flags |= region.bytes()
        return np.flatnonzero(~flags.reshape(-1, self._itemsize).all(axis=1))


@dataclass(frozen=True)
class Unwritten:
    """An output of which a run has not written everything."""

    name: str
    shape: tuple[int, ...]
    count: int
    """Elements that were not written."""
    first: tuple[int, ...]
    holds: str
    """What they hold."""
    allocation: Operation | None

    @property
    def place(self) -> SourceLocation | None:
        """Where it is allocated: the kernel's line, if that is known."""
        where = self.allocation
        return None if where is None else source_location(where.location)

    def __str__(self) -> str:
        total = prod(self.shape)
        if self.count == total:
            return (
                f"output '{self.name}' is never written: its elements hold {self.holds}"
            )
        at = ", ".join(map(str, self.first))
        count = f"{self.count} of {total} elements"
        return (
            f"output '{self.name}' is written in part: {count} hold {self.holds}, the "
            f"first is [{at}]"
        )

    def diagnostic(self) -> Diagnostic:
        """The warning."""
        return Diagnostic(str(self), self.place, "warning")


class UnwrittenOutput(UserWarning):
    """
    What `nki.simulate` and `assert_kernel_ok` warn with: part of a result is undefined.

    `finding` says which part.
    """

    def __init__(self, message: str, finding: Unwritten | None = None) -> None:
        super().__init__(message)
        self.finding = finding


def find_unwritten(
    written: Written, port: Port, holds: str, allocation: Operation | None
) -> Unwritten | None:
    """What the last run left of an output, None where it wrote everything."""
    missing = written.missing()
    if not missing.size:
        return None
    first = tuple([int(at) for at in np.unravel_index(int(missing[0]), port.shape)])
    return Unwritten(port.name, port.shape, int(missing.size), first, holds, allocation)
