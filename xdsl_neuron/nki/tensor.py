"""What both personalities' tensors have in common."""

from typing import Any, NoReturn, Self

from xdsl_neuron.nki.arguments import as_integers
from xdsl_neuron.nki.dtype import BOOL, NAMED, LanguageDtype, as_dtype
from xdsl_neuron.nki.enums import REGION_OF, MemoryRegion
from xdsl_neuron.tracer.errors import NKISyntaxError, NKITypeError
from xdsl_neuron.tracer.index import as_integer, is_integer
from xdsl_neuron.tracer.slicing import subscript
from xdsl_neuron.tracer.views import View


def reshape_extents(extents: tuple[Any, ...], shape: Any) -> tuple[Any, ...]:
    """What `reshape` was given: its extents, a sequence of them, or `shape=`."""
    if shape is None:
        return extents
    if extents:
        raise NKITypeError(f"reshape got {extents} and shape={shape!r}, expected one")
    return (shape,)


class LanguageTensor(View):
    """A view with the attributes kernels ask for."""

    __slots__ = ()

    @property
    def dtype(self) -> LanguageDtype:
        """The element type."""
        return BOOL if self.is_truth else NAMED[self.layout.dtype]

    @property
    def buffer(self) -> MemoryRegion:
        """The memory region it was made in."""
        named = self.base.region
        return REGION_OF[self.space] if named is None else MemoryRegion(named)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.layout.dtype.bytes

    def __iter__(self) -> NoReturn:
        raise NKISyntaxError(
            f"a tensor cannot be iterated over ({self!r}); loop over indices"
        )

    def __array__(self, *args: Any, **named: Any) -> NoReturn:
        raise NKITypeError(
            f"'{self.name}' is a tensor of a kernel, which has no values while the "
            "kernel is traced; NumPy cannot make an array of it"
        )

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **named: Any
    ) -> Any:
        raise NKITypeError(
            f"np.{ufunc.__name__} does not work on '{self.name}', a tensor of a "
            "kernel; use the function of nl or nisa"
        )

    def __getitem__(self, item: Any) -> Self:
        return subscript(self, item)

    def reshape(self, *extents: Any, shape: Any = None) -> Self:
        """The elements in another shape, as a view."""
        given = reshape_extents(extents, shape)
        lone = len(given) == 1 and not is_integer(given[0])
        return self.reshaped(as_integers(given[0] if lone else given, "shape"))

    def expand_dims(self, axis: int) -> Self:
        """A dimension of extent 1."""
        return self.with_unit_dim(as_integer(axis, "axis"))

    def view(self, dtype: Any) -> Self:
        """The same bytes as elements of another type."""
        return self.reinterpreted(as_dtype(dtype))
