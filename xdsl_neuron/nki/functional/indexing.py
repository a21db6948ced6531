"""`nl.arange` and `nl.mgrid`: index tensors."""

from typing import Any, Final

from xdsl_neuron.nki.api import api
from xdsl_neuron.tracer.context import current
from xdsl_neuron.tracer.errors import NKIIndexError, NKITypeError
from xdsl_neuron.tracer.index import (
    IndexExpr,
    arange as make_arange,
    is_slice,
    is_tuple,
)


@api
def arange(*bounds: Any) -> IndexExpr:
    """An index of one axis; `[:, None]` puts it among others."""
    return make_arange(*bounds)


class Grid(tuple[IndexExpr, ...]):
    """The index of each axis of `nl.mgrid[0:p, 0:x, ...]`, also as .p, .x, .y, .z."""

    __slots__ = ()

    def _axis(self, at: int) -> IndexExpr:
        if at >= len(self):
            raise NKIIndexError(f"this mgrid has {len(self)} axes")
        return self[at]

    @property
    def p(self) -> IndexExpr:
        """The partition axis."""
        return self._axis(0)

    @property
    def x(self) -> IndexExpr:
        """The first free axis."""
        return self._axis(1)

    @property
    def y(self) -> IndexExpr:
        """The second free axis."""
        return self._axis(2)

    @property
    def z(self) -> IndexExpr:
        """The third free axis."""
        return self._axis(3)


class _Mgrid:
    """`nl.mgrid[0:128, 0:512]`."""

    def __getitem__(self, item: Any) -> Grid:
        current()
        ranges: tuple[object, ...] = item if is_tuple(item) else (item,)
        rank = len(ranges)
        axes: list[IndexExpr] = []
        for at, values in enumerate(ranges):
            if not is_slice(values) or values.stop is None:
                raise NKITypeError("nl.mgrid is subscripted with slices such as 0:128")
            start = 0 if values.start is None else values.start
            step = 1 if values.step is None else values.step
            index = make_arange(start, values.stop, step)
            subscript = tuple(slice(None) if a == at else None for a in range(rank))
            axes.append(index[subscript] if rank > 1 else index)
        return Grid(axes)


mgrid: Final = _Mgrid()
