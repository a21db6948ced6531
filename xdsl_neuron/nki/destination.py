"""The tensor of the destination-passing generations: views, no arithmetic."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Self

from xdsl_neuron.isa import Space
from xdsl_neuron.nki.arguments import as_integer, as_integers, is_mapping, is_sequence
from xdsl_neuron.nki.dtype import as_dtype
from xdsl_neuron.nki.no_operators import WithoutOperators
from xdsl_neuron.nki.tensor import LanguageTensor, reshape_extents
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import (
    NKIIndexError,
    NKISyntaxError,
    NKITypeError,
    NKIValueError,
    SymbolicValueError,
    described,
)
from xdsl_neuron.tracer.index import Expr, as_expr, is_tuple
from xdsl_neuron.tracer.layouts import Columns, Gather, Layout
from xdsl_neuron.tracer.slicing import subscript
from xdsl_neuron.tracer.views import View

_WHOLE = slice(None)


class NkiTensor(WithoutOperators, LanguageTensor):
    """
    A tensor, or a view of one: shape, strides and offset in elements of `dtype`.

    Views share the storage and make no instruction. On chip dimension 0 runs along
    partitions and stays first, and a view has two dimensions at least. A view is
    indirect where a register or an index tile says where it starts.
    """

    __slots__ = ()

    @property
    def data(self) -> Self:
        """The tensor itself: what a grid of tiles has under this name is a tensor."""
        return self

    @property
    def base_tensor(self) -> Self:
        """The whole tensor that this is a view of; no document has the name."""
        return self.of(self.base)

    def __bool__(self) -> bool:
        """
        A tensor that is there is true: `if scale:` asks for an optional argument.

        A part of one element is a value where people write conditions: it is refused.
        """
        if self.size != 1 or self.access() is None:
            return True
        raise SymbolicValueError(
            "dynamic control-flow depending on tensor value is not supported: "
            f"{self!r} has no value while the kernel is traced. Branches are resolved "
            "then; to ask whether the tensor is there write `is not None`, and put "
            "what runs depending on a value into nl.while_loop or nl.fori_loop"
        )

    @property
    def strides(self) -> tuple[int, ...]:
        """Elements from one index to the next; of partitions, those of a partition."""
        layout = self.layout
        return tuple(
            step * self.pitch if dim == layout.par else step
            for dim, (step, _) in enumerate(layout.pairs)
        )

    @property
    def offset(self) -> Any:
        """The first element's place in the storage; a register's name where dynamic."""
        layout = self.layout
        start: Expr = layout.offset
        if layout.par >= 0:
            start = layout.partition * self.pitch + start
        return start

    def is_contiguous(self) -> bool:
        """Whether it covers its storage in order; on chip, within a partition."""
        expected = 1
        for dim in reversed(range(self.ndim)):
            step, num = self.layout.pairs[dim]
            if dim == self.layout.par:
                continue
            if num != 1 and step != expected:
                return False
            expected *= num
        return True

    def is_indirect(self) -> bool:
        """Whether a register or an index tile says where it starts."""
        layout, trace = self.layout, self.base.trace
        return (
            self.has_index
            or layout.columns is not None
            or trace.is_dynamic(layout.offset)
            or trace.is_dynamic(layout.partition)
        )

    def get_pattern(self) -> list[list[int]]:
        """The [step, number] pairs, as `ap` takes them."""
        return [[step, num] for step, num in zip(self.strides, self.shape, strict=True)]

    # -- indexing ------------------------------------------------------------------

    def __getitem__(self, item: Any) -> Self:
        items: tuple[Any, ...] = item if is_tuple(item) else (item,)
        for each in items:
            if isinstance(each, View):
                raise NKITypeError(
                    f"a tensor is no index ({each!r}); use select(dim, index) or "
                    "vector_select(dim, indices)"
                )
        return self._through("index", lambda view: _at_least(subscript(view, item)))

    def __setitem__(self, item: Any, value: Any) -> None:
        if isinstance(value, View) and self[item].same_elements(value):
            return  # the second half of an augmented assignment
        raise NKISyntaxError(
            f"{type(self).__name__} cannot be directly assigned to a tensor, use store "
            "operation instead."
        )

    def slice(self, dim: int, start: Any, end: Any, step: int = 1) -> Self:
        """The indices `start` to `end` (excluded) of a dimension."""
        at = self._dim(dim, "slice")
        if isinstance(start, int) and isinstance(end, int):
            if not 0 <= start <= end <= self.shape[at]:
                raise NKIIndexError(
                    f"slice of dimension {at} of '{self.name}' must have 0 <= start <= "
                    f"end <= {self.shape[at]}, got {start} and {end}"
                )
            if step < 1:
                raise NKIValueError(f"step of a slice must be positive, got {step}")
        return self[(*(_WHOLE,) * at, slice(start, end, step))]

    def select(self, dim: int, index: Any) -> Self:
        """
        One index of a dimension, which goes away (dimension 0 of a tile stays).

        The index is an integer, a register, or a tile of one integer in SBUF.
        """
        at = self._dim(dim, "select")
        if isinstance(index, View):
            self._once("select")
            if self.space.on_chip and at == 0:
                raise NKISyntaxError(
                    f"select of '{self.name}' by a tensor cannot be of the partition "
                    "dimension"
                )
            index = session().load_tensor_to_register(index)
        elif isinstance(index, int) and not -self.shape[at] <= index < self.shape[at]:
            raise NKIIndexError(
                f"select of dimension {at} of '{self.name}' needs an index below "
                f"{self.shape[at]}, got {index}"
            )
        return self[(*(_WHOLE,) * at, index)]

    def vector_select(self, dim: int, vector_offset: Any) -> Self:
        """The rows of dimension 0, in HBM, that an index tile [P, 1] names."""
        if as_integer(dim, "dim") != 0:
            raise NKIValueError(f"vector_select: dim must be 0, got {dim}")
        if self.space is not Space.HBM:
            raise NKISyntaxError(
                f"vector_select of '{self.name}' in {self.space}: the tensor must be "
                "in hbm"
            )
        self._once("vector_select")
        index = _index_tile(vector_offset)
        (step, extent), *rest = self.layout.pairs
        rows = ((step, index.size), *rest)
        return self.with_layout(
            replace(self.layout, pairs=rows, gather=Gather(index, extent))
        )

    def indirect(self, index: Any, num_elem: int | None = None) -> Self:
        """
        Columns picked by offsets, [partitions, num_elem], to read or to write (trn3).

        Column i is the element at the i-th offset in each partition. `index`
        [partitions, K] in SBUF has the offsets of a group of 16 partitions (32 on the
        tensor engine) in that group's rows, the i-th in row i % 16, column i // 16.
        `num_elem` defaults to all elements of the index.
        """
        if not isinstance(index, View):
            raise NKITypeError(
                f"index of indirect() must be a tensor, got {described(index)}"
            )
        if not self.space.on_chip or index.space is not Space.SBUF:
            raise NKISyntaxError(
                f"indirect() picks columns on chip by an index in sbuf, got "
                f"'{self.name}' in {self.space} and '{index.name}' in {index.space}"
            )
        self._once("indirect")
        index.must_be_plain("indirect")
        flat = self.reshaped((self.shape[0], -1))
        count = index.size if num_elem is None else as_integer(num_elem, "num_elem")
        layout = flat.layout
        if layout.pairs[1][0] != 1 and layout.pairs[1][1] != 1:
            raise NKISyntaxError(
                f"indirect() of '{self.name}' needs contiguous free dimensions, got "
                f"{self.get_pattern()}"
            )
        if count < 1:
            raise NKIValueError(f"num_elem of indirect() must be positive, got {count}")
        columns = Columns(index, layout.pairs[1][1])
        pairs = (layout.pairs[0], (1, count))
        return flat.with_layout(replace(layout, pairs=pairs, columns=columns))

    # -- other shapes --------------------------------------------------------------

    def permute(self, dims: Sequence[int]) -> Self:
        """The dimensions in another order; dimension 0 of a tile stays first."""
        order = as_integers(dims, "dims")
        if self._fixed and order[:1] != [0]:
            raise NKISyntaxError(
                f"permute of '{self.name}' must keep {self._fixed} first, got "
                f"dims={tuple(order)}"
            )
        return self._through("permute", lambda view: view.permuted(order))

    def broadcast(self, dim: int, size: int) -> Self:
        """A dimension of extent 1 repeated `size` times."""
        at = self._free(dim, "broadcast")
        if self.shape[at] != 1:
            raise NKIValueError(
                f"broadcast of '{self.name}' needs a dimension of extent 1, dimension "
                f"{at} of {self.shape} is {self.shape[at]}"
            )
        shape = list(self.shape)
        shape[at] = as_integer(size, "size")
        return self.expanded(shape)

    def expand_dim(self, dim: int) -> Self:
        """A dimension of extent 1 in front of `dim`."""
        at = as_integer(dim, "dim")
        at = at + self.ndim + 1 if at < 0 else at
        if not 0 <= at <= self.ndim:
            raise NKIIndexError(f"expand_dim: no place {dim} in {self.shape}")
        if self._fixed and at == 0:
            raise NKISyntaxError(
                f"expand_dim of '{self.name}' cannot be in front of {self._fixed}"
            )
        return self._through("expand_dim", lambda view: view.with_unit_dim(at))

    def squeeze_dim(self, dim: int) -> Self:
        """Without a dimension of extent 1."""
        at = self._free(dim, "squeeze_dim")
        if self.shape[at] != 1:
            raise NKIValueError(
                f"squeeze_dim of '{self.name}' needs a dimension of extent 1, "
                f"dimension {at} of {self.shape} is {self.shape[at]}"
            )
        return self._through("squeeze_dim", lambda view: _without(view, at))

    def reshape(self, *extents: Any, shape: Any = None) -> Self:
        """The elements in another shape; one extent may be -1."""
        given = reshape_extents(extents, shape)
        lone = len(given) == 1 and is_sequence(given[0])
        found = as_integers(given[0] if lone else given, "shape")
        return self._through("reshape", lambda view: view.reshaped(found))

    def reshape_dim(self, dim: int, shape: Sequence[int]) -> Self:
        """A dimension split into several; one extent may be -1."""
        at = self._dim(dim, "reshape_dim")
        parts = as_integers(shape, "shape")
        if -1 in parts:
            known = -prod(parts)
            found = self.shape[at] // known if known > 0 else 0
            parts[parts.index(-1)] = found
        if prod(parts) != self.shape[at] or any(part < 1 for part in parts):
            raise NKIValueError(
                f"reshape_dim of '{self.name}': {tuple(shape)} does not make up "
                f"dimension {at}, which is {self.shape[at]}"
            )
        if len(parts) > 1:
            self._free(dim, "reshape_dim")
        (step, _) = self.layout.pairs[at]
        pairs: list[tuple[int, int]] = []
        for part in reversed(parts):
            pairs.insert(0, (step if part != 1 else 1, part))
            step *= part
        if len(parts) == 1:
            return self
        return self._with(at, at + 1, pairs)

    def flatten_dims(self, start_dim: int, end_dim: int) -> Self:
        """The dimensions from `start_dim` to `end_dim` (included) as one."""
        first = self._dim(start_dim, "flatten_dims")
        last = self._dim(end_dim, "flatten_dims")
        if first > last:
            raise NKIValueError(
                f"flatten_dims: start_dim {first} is behind end_dim {last}"
            )
        if last > first:
            self._free(first, "flatten_dims")
        merged: tuple[int, int] = (1, 1)
        for step, num in self.layout.pairs[first : last + 1]:
            if num == 1:
                continue
            if merged[1] != 1 and merged[0] != step * num:
                raise NKIValueError(
                    f"flatten_dims of '{self.name}': dimensions {first} to {last} of "
                    f"{self.get_pattern()} are not contiguous in memory"
                )
            merged = (step, merged[1] * num)
        return self._with(first, last + 1, [merged])

    def rearrange(
        self,
        src_pattern: Sequence[Any],
        dst_pattern: Sequence[Any],
        fixed_sizes: Mapping[str, int] | None = None,
    ) -> Self:
        """
        Dimensions split, reordered and merged by name.

        A pattern has a name or a group of names for each dimension; `fixed_sizes` says
        how long a name of a group is.
        """
        names: list[str] = []
        split = self
        given = _pattern(src_pattern, "src_pattern")
        fixed = _fixed_sizes(fixed_sizes, [name for group in given for name in group])
        if len(given) != self.ndim:
            raise NKIValueError(
                f"rearrange of '{self.name}': src_pattern has {len(given)} dimensions, "
                f"the tensor {self.ndim}"
            )
        for group in given:
            at = len(names)
            sizes = [fixed.get(name, -1) for name in group]
            if len(group) == 1 and sizes[0] not in (-1, split.shape[at]):
                raise NKIValueError(
                    f"rearrange of '{self.name}': fixed_sizes says that '{group[0]}' "
                    f"is {sizes[0]}, the dimension is {split.shape[at]}"
                )
            if len(group) > 1:
                if sizes.count(-1) > 1:
                    raise NKIValueError(
                        f"rearrange: more than one of {group} has no fixed size"
                    )
                split = split.reshape_dim(at, sizes)
            names += group
        wanted = _pattern(dst_pattern, "dst_pattern")
        order = [name for group in wanted for name in group]
        if sorted(order) != sorted(names) or len(set(names)) != len(names):
            raise NKIValueError(
                f"rearrange: dst_pattern has the names {order}, src_pattern {names}; "
                "both have each name once"
            )
        found = split.permute([names.index(name) for name in order])
        for at, group in enumerate(wanted):
            if len(group) > 1:
                found = found.flatten_dims(at, at + len(group) - 1)
        return found

    def view(self, dtype: Any) -> Self:
        """The same bytes as elements of another type; the last dimension scales."""
        return self.reinterpreted(as_dtype(dtype))

    reinterpret_cast = view

    def ap(
        self,
        pattern: Sequence[Sequence[int]],
        offset: Any = None,
        scalar_offset: Any = None,
        vector_offset: Any = None,
        indirect_dim: int = 0,
        dtype: Any = None,
    ) -> Self:
        """
        An access pattern on the storage: [step, number] pairs, outermost first.

        It starts where the view starts, `offset` elements further (the reference of
        `NkiTensor.ap`, 2.31 on); a guide also says that it ignores the view's start.
        `scalar_offset`, a register or a tile of one integer, moves it along
        `indirect_dim` of the view's shape; `vector_offset` picks rows of it.
        """
        scalar = None
        if isinstance(scalar_offset, View):
            scalar = session().load_tensor_to_register(scalar_offset).expr
        elif scalar_offset is not None:
            scalar = as_expr(scalar_offset, "scalar_offset")
        return self.pattern(
            _pairs(pattern),
            0 if offset is None else as_expr(offset, "offset"),
            None if vector_offset is None else _index_tile(vector_offset),
            as_integer(indirect_dim, "indirect_dim"),
            None if dtype is None else as_dtype(dtype),
            scalar,
        )

    # -- what views have in common -------------------------------------------------

    @property
    def _fixed(self) -> str:
        """What dimension 0 is, where it has to stay the first; else nothing."""
        if self.space.on_chip:
            return "the partition dimension"
        return "the dimension that an index tile picks" if self.has_index else ""

    def _dim(self, dim: Any, what: str) -> int:
        at = as_integer(dim, "dim")
        if not -self.ndim <= at < self.ndim:
            raise NKIIndexError(
                f"{what}: no dimension {at} in {self.shape} ('{self.name}')"
            )
        return at % self.ndim

    def _free(self, dim: Any, what: str) -> int:
        at = self._dim(dim, what)
        if self._fixed and at == 0:
            raise NKISyntaxError(f"{what} of '{self.name}' cannot be of {self._fixed}")
        return at

    def _once(self, what: str) -> None:
        if self.is_indirect():
            raise NKISyntaxError(
                f"{what} of an indirect view of '{self.name}': only one index of a "
                "view is known while running; see is_indirect()"
            )

    def _with(self, first: int, end: int, pairs: Sequence[tuple[int, int]]) -> Self:
        """The dimensions from `first` to `end` (excluded) replaced."""
        self.refuse_columns("view")
        layout = self.layout
        found = (*layout.pairs[:first], *pairs, *layout.pairs[end:])
        return self.with_layout(replace(layout, pairs=found))

    def _through(self, what: str, change: Callable[[Self], Self]) -> Self:
        """A view of a view; what an index tile picks stays the first dimension."""
        self.refuse_columns(what)
        layout = self.layout
        if layout.gather is None:
            return change(self)
        found = change(self.with_layout(replace(layout, gather=None)))
        changed: Layout = found.layout
        if changed.pairs[:1] != layout.pairs[:1]:
            raise NKISyntaxError(
                f"{what} of '{self.name}' changes the dimension that an index tile "
                "picks; change the index tile"
            )
        return found.with_layout(replace(changed, gather=layout.gather))


def _at_least(view: NkiTensor) -> Any:
    """Two dimensions on chip, one in HBM."""
    while view.ndim < (2 if view.space.on_chip else 1):
        view = view.with_layout(
            replace(view.layout, pairs=(*view.layout.pairs, (1, 1)))
        )
    return view


def _without(view: NkiTensor, at: int) -> Any:
    layout = view.layout
    pairs = (*layout.pairs[:at], *layout.pairs[at + 1 :])
    return _at_least(view.with_layout(replace(layout, pairs=pairs)))


def _index_tile(value: Any) -> View:
    if not isinstance(value, View):
        raise NKISyntaxError(
            f"vector_offset must be a tensor in SBUF, got {described(value)}"
        )
    return value


def _pairs(pattern: Any) -> list[list[int]]:
    if not is_sequence(pattern) or not all(
        is_sequence(pair) and len(pair) == 2 for pair in pattern
    ):
        raise NKITypeError(
            f"`pattern` must be a list of [step, number] pairs, got {pattern!r}"
        )
    return [as_integers(pair, "pattern") for pair in pattern]


def _fixed_sizes(given: Any, names: Sequence[str]) -> dict[str, int]:
    if given is None:
        return {}
    if not is_mapping(given):
        raise NKITypeError(
            f"rearrange: `fixed_sizes` must be a dict of names and int, got {given!r}"
        )
    for name in given:
        if name not in names:
            raise NKIValueError(
                f"rearrange: fixed_sizes has {name!r}, which is not a name of "
                f"src_pattern ({', '.join(names)})"
            )
    return {
        name: as_integer(size, f"fixed_sizes[{name!r}]") for name, size in given.items()
    }


def _pattern(pattern: Any, what: str) -> list[list[str]]:
    """A group of names per dimension."""
    if not is_sequence(pattern):
        raise NKITypeError(
            f"rearrange: `{what}` must be a tuple of names, got {pattern!r}"
        )
    groups: list[list[str]] = []
    for each in pattern:
        names = [each] if isinstance(each, str) else each
        if not is_sequence(names) or not all(isinstance(n, str) for n in names):
            raise NKITypeError(
                f"rearrange: `{what}` must be a tuple of names, got {each!r} in it"
            )
        groups.append(list(names))
    return groups
