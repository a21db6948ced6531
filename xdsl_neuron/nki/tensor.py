"""What both personalities' tensors have in common."""

from collections.abc import Sequence
from math import prod
from typing import Any, NoReturn, Self

from xdsl_neuron.nki.dtype import NAMED, LanguageDtype, as_dtype
from xdsl_neuron.nki.enums import REGION_OF, MemoryRegion
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKISyntaxError
from xdsl_neuron.tracer.index import as_expr
from xdsl_neuron.tracer.slicing import subscript
from xdsl_neuron.tracer.views import View


class LanguageTensor(View):
    """A view with the attributes kernels ask for."""

    __slots__ = ()

    @property
    def dtype(self) -> LanguageDtype:
        """The element type."""
        return NAMED[self.layout.dtype]

    @property
    def buffer(self) -> MemoryRegion:
        """The memory region."""
        return REGION_OF[self.space]

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.layout.dtype.bytes

    def __getitem__(self, item: Any) -> Self:
        return subscript(self, item)

    def reshape(self, *shape: Any) -> Self:
        """The elements in another shape, as a view."""
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        return self.reshaped(tuple(int(extent) for extent in sizes))

    def expand_dims(self, axis: int) -> Self:
        """A dimension of extent 1."""
        return self.with_unit_dim(axis)

    def view(self, dtype: Any) -> Self:
        """The same bytes as elements of another type."""
        return self.reinterpreted(as_dtype(dtype))


class NkiTensor(LanguageTensor):
    """A tensor of the destination-passing generations: views, no arithmetic."""

    __slots__ = ()

    def __setitem__(self, item: Any, value: Any) -> None:
        if isinstance(value, View) and self[item].same_elements(value):
            return  # the second half of an augmented assignment
        raise NKISyntaxError(
            f"{type(self).__name__} cannot be directly assigned to a tensor, use store "
            "operation instead."
        )

    def ap(
        self,
        pattern: Sequence[Sequence[int]],
        offset: Any = 0,
        scalar_offset: Any = None,
        vector_offset: Any = None,
        indirect_dim: int = 0,
        dtype: Any = None,
    ) -> Self:
        """
        An access pattern on the base tensor (nki.md 1.3).

        `scalar_offset`, a register or a (1, 1) tensor, moves it along `indirect_dim`;
        `vector_offset` picks rows.
        """
        scalar = None
        if isinstance(scalar_offset, View):
            scalar = session().load_tensor_to_register(scalar_offset).expr
        elif scalar_offset is not None:
            scalar = as_expr(scalar_offset, "scalar_offset")
        if vector_offset is not None and not isinstance(vector_offset, View):
            raise NKISyntaxError(
                f"vector_offset must be a tensor in SBUF, got {vector_offset!r}"
            )
        return self.pattern(
            pattern,
            as_expr(offset, "offset"),
            vector_offset,
            indirect_dim,
            None if dtype is None else as_dtype(dtype),
            scalar,
        )

    def permute(self, dims: Sequence[int]) -> Self:
        """The dimensions in another order."""
        return self.permuted(tuple(dims))

    def broadcast(self, dim: int, size: int) -> Self:
        """A dimension of extent 1 repeated."""
        shape = list(self.shape)
        shape[dim] = size
        return self.expanded(shape)

    def expand_dim(self, dim: int) -> Self:
        """A dimension of extent 1 in front of `dim`."""
        return self.with_unit_dim(dim)

    def squeeze_dim(self, dim: int) -> Self:
        """Without a dimension of extent 1 (not the partition dimension)."""
        kept = [extent for at, extent in enumerate(self.shape) if at != dim % self.ndim]
        return self.reshaped(kept)

    def reshape_dim(self, dim: int, shape: Sequence[int]) -> Self:
        """A dimension split into several."""
        at = dim % self.ndim
        return self.reshaped((*self.shape[:at], *shape, *self.shape[at + 1 :]))

    def flatten_dims(self, start: int, end: int) -> Self:
        """The dimensions from `start` to `end` (included) as one."""
        first, last = start % self.ndim, end % self.ndim
        shape = self.shape
        one = prod(shape[first : last + 1])
        return self.reshaped((*shape[:first], one, *shape[last + 1 :]))

    def select(self, dim: int, index: Any) -> Self:
        """One index of a dimension, which goes away (not the partition dimension)."""
        return self[(*(slice(None),) * (dim % self.ndim), index)]

    def slice(self, dim: int, start: Any, end: Any, step: int = 1) -> Self:
        """A range of a dimension."""
        return self[(*(slice(None),) * (dim % self.ndim), slice(start, end, step))]

    def get_pattern(self) -> list[list[int]]:
        """The [step, num] pairs."""
        return [[step, num] for step, num in self.layout.pairs]

    def __iter__(self) -> NoReturn:
        raise NKISyntaxError(f"a tensor cannot be iterated over ({self!r})")
