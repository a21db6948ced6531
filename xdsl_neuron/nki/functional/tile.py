"""
Tiles of the functional generation: views with arithmetic.

A matmul's result is put off until it is used, because `psum += nl.matmul(x, y)` is one
accumulating instruction and not a matmul followed by an addition (design.md 7b).
"""

from collections.abc import Callable
from typing import Any, Self

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

from xdsl_neuron.dialects.instructions.masks import bounds_one_lane
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp, MatmulAccumulate, Space
from xdsl_neuron.nki.arguments import as_axes, as_flag, as_operand, as_shape
from xdsl_neuron.nki.dtype import as_dtype
from xdsl_neuron.nki.elementwise import binary
from xdsl_neuron.nki.functional.operators import Operators
from xdsl_neuron.nki.trace import session
from xdsl_neuron.nki.truth import made_as
from xdsl_neuron.tracer.compute import COMPARISONS
from xdsl_neuron.tracer.errors import NKIAttributeError, NKISyntaxError, NKIValueError
from xdsl_neuron.tracer.frames import placed_at
from xdsl_neuron.tracer.index import IndexExpr, Mask, broadcast_tiles, is_tuple
from xdsl_neuron.tracer.layouts import Buffer, Layout
from xdsl_neuron.tracer.tiles import without_unit_dims
from xdsl_neuron.tracer.views import View


class Tile(Operators):
    """A tensor of the functional generation."""

    __slots__ = ()

    def __getitem__(self, item: Any) -> Self:
        items: tuple[Any, ...] = item if is_tuple(item) else (item,)
        if self.space.on_chip and any(_is_scalar(each) for each in items):
            # One element of a tile is an offset that is known while running.
            item = tuple(
                session().load_tensor_to_register(each) if _is_scalar(each) else each
                for each in items
            )
        named = sum(each is not None and each is not ... for each in items)
        if self.space.on_chip and self.ndim == 1 and named == 2:
            # One column, (P,), is a tile of one column, (P, 1), too.
            return self.with_unit_dim(1)[item]
        return super().__getitem__(item)

    def _binary(self, op: AluOp, other: Any, reverse: bool = False) -> Any:
        if isinstance(other, IndexExpr) and op is AluOp.ADD and self.size == 1:
            return session().load_tensor_to_register(self) + other
        if isinstance(other, IndexExpr | Mask) and op in COMPARISONS:
            return NotImplemented
        value = as_operand(other, "operand")
        return binary(op, value, self) if reverse else binary(op, self, value)

    def __iadd__(self, other: Any) -> Self:
        if isinstance(other, MatmulResult) and self.space is Space.PSUM:
            if other.emit_into(self, MatmulAccumulate.AUTO):
                return self
        return self._update(AluOp.ADD, other)

    def _update(self, op: AluOp, other: Any) -> Self:
        """`self op= other`: the tile itself is written."""
        self._check_writable()
        value = as_operand(other, "operand")
        if isinstance(value, View):
            value = self._fitting(value)
        binary(op, self, value, self.element_type, dst=self)
        return self

    def __setitem__(self, item: Any, value: Any) -> None:
        target = self[item]
        waits = isinstance(value, MatmulResult) and value.waits
        if isinstance(value, View) and not waits and target.same_elements(value):
            session().note_reduction(target)
            return  # the second half of an augmented assignment
        target._check_writable()
        operand = as_operand(value, "value")
        trace = session()
        if not isinstance(operand, View):
            trace.memset(value=operand, dst_tile=target)
            return
        if isinstance(operand, MatmulResult) and target.space is Space.PSUM:
            if operand.emit_into(target, MatmulAccumulate.OVERWRITE):
                return
        trace.assign(target, target._fitting(operand))

    def _check_writable(self) -> None:
        if self.space is Space.HBM:
            raise NKISyntaxError(
                f"{type(self).__name__} cannot be directly assigned to a tensor, use "
                "store operation instead."
            )

    def _fitting(self, value: View) -> View:
        """What is assigned: a value whose shape goes into this tile's."""
        value = without_unit_dims(value, self.shape)
        try:
            wide = broadcast_tiles(self.shape, value.shape)
        except NKIValueError:
            wide = ()
        if wide != self.shape:
            raise NKIValueError(
                f"Illegal assignment destination shape in '{self.name}': shape "
                f"{self.shape} is smaller than other parameter shape {value.shape}"
            )
        return value

    def astype(self, dtype: Any) -> View:
        """A copy cast to another type."""
        return made_as(session().tensor_copy(self, dtype=as_dtype(dtype)), dtype)

    def broadcast_to(self, shape: Any) -> View:
        """The tile repeated to `shape`."""
        return session().broadcast(self, as_shape(shape))

    def sum(self, axis: Any, keepdims: bool = False) -> View:
        """The sum over free dimensions."""
        return session().tensorreduce(
            AluOp.ADD, self, as_axes(axis), keepdims=as_flag(keepdims, "keepdims")
        )

    def assert_shape(self, shape: Any) -> Self:
        """Refuses another shape than the expected one."""
        if self.shape != as_shape(shape):
            raise NKIValueError(f"tile shape mismatch, expected '{as_shape(shape)}'")
        return self


class MatmulResult(Tile):
    """
    The result of a matmul that has not been emitted.

    Whatever looks at its buffer emits it into a PSUM tile of its own; so does the next
    instruction, which may change what the matmul reads. A result that has joined an
    accumulator and is looked at again is made a second time, beside the first.
    `emit` is called with the tile it goes to, and the keywords `accumulate` and
    `location`. Where it `moves_bits`, it goes into tiles of its own type only, and
    never joins what is there. A `mask` that is no box puts 0 into an operand, so that
    the product is 0 where it does not hold: it is copied to where something else is.
    """

    __slots__ = (
        "_clears",
        "_emit_matmul",
        "_joined",
        "_location",
        "_moves_bits",
        "_variable",
    )

    def __init__(
        self,
        shape: tuple[int, ...],
        emit: Callable[..., object],
        dtype: DType = DType.FLOAT32,
        *,
        mask: Mask | None = None,
        moves_bits: bool = False,
    ) -> None:
        trace = session()
        trace.settle()
        if not shape:
            raise NKIValueError(
                "a matmul's operands have a partition and a free dimension each"
            )
        pairs = [(1, shape[0])]
        step = 1
        for extent in reversed(shape[1:]):
            pairs.insert(1, (step, extent))
            step *= extent
        self.layout = Layout(tuple(pairs), 0, 0, 0, dtype)
        self._emit_matmul = emit
        self._moves_bits = moves_bits
        self._clears = mask is not None and not all(
            map(bounds_one_lane, mask.predicates)
        )
        self._location: FileLineColLoc | None = trace.locator.here()
        self._variable = trace.locator.variable()
        self._joined: Operation | None = None
        trace.pending = self

    def __getattr__(self, name: str) -> Any:
        if name != "base":
            raise NKIAttributeError(f"a tile has no attribute '{name}'")
        trace = session()
        if self.waits:
            trace.pending = None
        if self._joined is None:
            self.materialise()
        else:
            with trace.in_front_of(self._joined):
                self.materialise()
        return self.base

    @property
    def waits(self) -> bool:
        """Whether it has not been emitted yet."""
        return session().pending is self

    def materialise(self) -> None:
        """Emits the matmul into a PSUM tile of its own."""
        with placed_at(self._location):
            self.base: Buffer = session().create_tensor(
                self.shape, self.layout.dtype, Space.PSUM, self._variable
            )
            self._emit(self)

    def emit_into(self, psum: View, accumulate: MatmulAccumulate) -> bool:
        """Emits the matmul into `psum`; False where that must be a copy."""
        trace = session()
        if not self.waits:
            return False
        if self._clears and accumulate is MatmulAccumulate.OVERWRITE:
            return False
        if self._moves_bits and (
            accumulate is MatmulAccumulate.AUTO
            or psum.element_type is not self.element_type
        ):
            return False
        trace.pending = None
        with placed_at(self._location):
            self._emit(psum, accumulate)
        assert trace.last is not None
        self._joined = trace.last.operation
        return True

    def _emit(
        self, psum: View, accumulate: MatmulAccumulate = MatmulAccumulate.AUTO
    ) -> None:
        self._emit_matmul(psum, accumulate=accumulate, location=self._location)


def _is_scalar(index: object) -> bool:
    """Whether an index is one element of a tile."""
    return isinstance(index, View) and index.size == 1
