"""
Views of buffers: what an operand of an instruction is while tracing.

A view is affine: a start (affine in loop indices) and a (step, num) pair per dimension,
in elements. On chip one of the dimensions runs along partitions. Slicing, reshaping and
broadcasting give other views of the same buffer and no instruction.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import NoReturn, Self

from xdsl_neuron.dialects.neuron import Access, Pair, whole
from xdsl_neuron.dtypes import DType
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import Space
from xdsl_neuron.tracer.conditions import places_in
from xdsl_neuron.tracer.errors import (
    NKIIndexError,
    NKISyntaxError,
    NKIValueError,
    SymbolicValueError,
)
from xdsl_neuron.tracer.index import Expr, Shape
from xdsl_neuron.tracer.layouts import Buffer, Gather, Layout
from xdsl_neuron.tracer.release_warnings import warn_of_release


class View:
    """
    A buffer seen through an affine layout.

    Subclasses give it a language's operators; they have no further state.
    """

    __slots__ = ("base", "layout")

    base: Buffer
    layout: Layout

    def __init__(self, base: Buffer, layout: Layout) -> None:
        self.base = base
        self.layout = layout

    @classmethod
    def of(cls, buffer: Buffer) -> Self:
        """The whole buffer."""
        kind = buffer.type.data
        on_chip = kind.space.on_chip
        pairs = whole(kind.shape, on_chip).pairs
        return cls(buffer, Layout(pairs, 0 if on_chip else -1, 0, 0, kind.dtype))

    def with_layout(self, layout: Layout) -> Self:
        """The same buffer seen otherwise."""
        found = object.__new__(type(self))
        found.base = self.base
        found.layout = layout
        return found

    @property
    def shape(self) -> Shape:
        """Extent per dimension."""
        return tuple([num for _, num in self.layout.pairs])

    @property
    def is_truth(self) -> bool:
        """Whether the elements are truth values, the language's bool."""
        return self.base.truth and self.layout.dtype is DType.UINT8

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.layout.pairs)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def canonical_par_indices(self) -> tuple[Pair, ...]:
        """The (step, num) pair along partitions, none for one partition or in HBM."""
        a = self.layout
        if a.par < 0 or a.pairs[a.par][1] == 1:
            return ()
        return (a.pairs[a.par],)

    @property
    def canonical_free_indices(self) -> tuple[Pair, ...]:
        """The other (step, num) pairs, innermost first, without those of extent 1."""
        a = self.layout
        free = [pair for dim, pair in enumerate(a.pairs) if dim != a.par]
        return tuple([pair for pair in reversed(free) if pair[1] != 1])

    @property
    def element_type(self) -> DType:
        """The element type the view sees."""
        return self.layout.dtype

    @property
    def space(self) -> Space:
        """The memory space."""
        return self.base.type.data.space

    @property
    def name(self) -> str:
        """The buffer's name."""
        return self.base.name

    @property
    def pitch(self) -> int:
        """Elements of the seen type in a partition; in HBM, in the tensor."""
        kind = self.base.type.data
        return kind.bytes_per_partition // self.layout.dtype.bytes

    @property
    def has_index(self) -> bool:
        """Whether an index tile picks its rows."""
        return self.layout.gather is not None

    def access(self) -> Access | None:
        """What an instruction touches; None where it is the whole tensor."""
        layout, kind = self.layout, self.base.type.data
        if layout.par > 0:
            self._no_tile()
        dtype = None if layout.dtype is kind.dtype else layout.dtype
        pairs = layout.reached
        if any(num == 0 for _, num in pairs):
            raise NKIValueError(
                f"{self!r} has no elements, and no instruction works on none; leave "
                "the instruction out"
            )
        if layout.offset == 0 and layout.partition == 0 and dtype is None:
            full = whole(kind.shape, kind.space.on_chip)
            if pairs == full.pairs:
                return None
        partition = _affine(layout.partition) if layout.par == 0 else None
        return Access(_affine(layout.offset), pairs, partition, dtype)

    def _no_tile(self) -> NoReturn:
        raise NKISyntaxError(
            f"Failed to infer tile from tensor '{self.name}': the first dimension of "
            "the tile is not the partition dimension of the tensor. The tile has "
            f"shape {self.shape}, its partition dimension is {self.layout.par}"
        )

    def same_elements(self, other: "View") -> bool:
        """Whether both views name the same elements in the same order."""
        a, b = self.layout, other.layout
        return self.base is other.base and (
            (a.pairs, a.par, a.partition, a.offset, a.dtype, a.gather, a.columns)
            == (b.pairs, b.par, b.partition, b.offset, b.dtype, b.gather, b.columns)
        )

    # -- views of views ------------------------------------------------------------

    def reshaped(self, shape: Sequence[int]) -> Self:
        """
        The elements in another shape; each new dimension must be one stride.

        On chip the partition dimension stays as it is, with as many blocks in front
        (in generation 0.1, which has them).
        """
        shape = self._resolve_shape(shape)
        if prod(shape) != self.size:
            raise NKIValueError(
                "reshape tensor cannot change the number of elements. Old shape: "
                f"{self.shape}, new shape: {shape}"
            )
        layout = self.layout
        if layout.par < 0:
            return self.with_dims(self._split(layout.pairs, shape), "reshape")
        blocks, rows = layout.pairs[: layout.par], layout.pairs[layout.par]
        count = prod(num for _, num in blocks)
        places = (
            place
            for place, extent in enumerate(shape)
            if extent == rows[1] and prod(shape[:place]) == count
        )
        par = next(places, None)
        if par is None or (par > 0 and not self.base.trace.masks_allowed):
            behind = f", behind {count} blocks" if blocks else ""
            raise NKIValueError(
                f"reshape of '{self.name}' must keep the partition dimension "
                f"({rows[1]}{behind}), got {shape}"
            )
        outer = self._split(blocks, shape[:par])
        free = self._split(layout.pairs[layout.par + 1 :], shape[par + 1 :])
        return self.with_dims((*outer, rows, *free), "reshape", par)

    def _resolve_shape(self, shape: Sequence[int]) -> Shape:
        """The shape with a -1 replaced by what fits."""
        known = [extent for extent in shape if extent != -1]
        least = 1 if self.size else 0
        if any(extent < least for extent in known) or len(known) < len(shape) - 1:
            raise NKIValueError(
                f"reshape of '{self.name}' to {tuple(shape)}: extents must be "
                "positive, one of them may be -1"
            )
        if len(known) == len(shape):
            return tuple(shape)
        if self.size == 0:
            raise NKIValueError(
                f"reshape of '{self.name}', which has no elements, to {tuple(shape)}: "
                "any extent would do for -1"
            )
        rest = self.size // prod(known)
        return tuple(rest if extent == -1 else extent for extent in shape)

    def _split(self, pairs: Sequence[Pair], shape: Shape) -> tuple[Pair, ...]:
        found = split_pairs(pairs, shape)
        if found is None:
            raise NKIValueError(
                f"reshape of '{self.name}' from {self.shape} to {shape} is not a view: "
                f"its (step, num) pairs are {list(self.layout.pairs)}"
            )
        return found

    def with_dims(
        self, pairs: tuple[Pair, ...], what: str, par: int | None = None
    ) -> Self:
        """The same elements in order, in other dimensions."""
        self._refuse_index(what)
        a, shape = self.layout, tuple(num for _, num in pairs)
        what = f"{what} of '{self.name}' from {self.shape} to {shape}"
        c = a.conditions.through(places_in(self.shape, shape), what)
        return self.with_layout(
            Layout(
                pairs,
                a.par if par is None else par,
                a.partition,
                a.offset,
                a.dtype,
                c.masks,
                c.bounds,
            )
        )

    def refuse_columns(self, what: str) -> None:
        """Refuses a view whose columns are picked: it is an operand and no more."""
        if self.layout.columns is not None:
            raise NKISyntaxError(
                f"{what} of '{self.name}', whose columns are picked by offsets: make "
                "the view first, and call indirect() on it"
            )

    def _refuse_index(self, what: str) -> None:
        self.refuse_columns(what)
        if self.has_index:
            raise NKISyntaxError(
                f"{what} of '{self.name}' changes the dimension that an index tile "
                "picks; change the index tile"
            )

    def must_be_plain(self, what: str) -> None:
        """Refuses a masked or indirect view, which `what` would lose."""
        layout = self.layout
        self._refuse_index(what)
        if layout.masks or layout.bounds:
            raise NKISyntaxError(
                f"{what} of '{self.name}' would lose its mask, or an index range that "
                "leaves the tensor; mask the instruction instead"
            )

    def expanded(self, shape: Sequence[int]) -> Self:
        """
        Dimensions of extent 1 repeated (step 0) to `shape`; new ones come first.

        The partition dimension cannot be repeated: that is a copy.
        """
        layout, missing = self.layout, len(shape) - self.ndim
        if self.shape == tuple(shape):
            return self
        self.refuse_columns("broadcast")
        self.check_broadcast(shape)
        pairs = ((0, 1),) * missing + layout.pairs
        found: list[Pair] = []
        for (step, num), extent in zip(pairs, shape, strict=True):
            if num not in (1, extent):
                self._refuse_broadcast(shape)
            found.append((step, num) if num == extent else (0, extent))
        par = layout.par + missing if layout.par >= 0 else -1
        places = [
            Affine.lane(dim + missing) if num > 1 else Affine(0)
            for dim, (_, num) in enumerate(layout.pairs)
        ]
        c = layout.conditions.through(places, "broadcast")
        return self.with_layout(
            Layout(
                tuple(found),
                par,
                layout.partition,
                layout.offset,
                layout.dtype,
                c.masks,
                c.bounds,
                layout.gather,
            )
        )

    def check_broadcast(self, shape: Sequence[int]) -> None:
        """Refuses what no repetition can have: a lower rank, no elements."""
        if any(extent < 1 for extent in shape):
            self._refuse_broadcast(shape, ": extents must be positive")
        if len(shape) < self.ndim:
            self._refuse_broadcast(shape, f": expected {self.ndim} dimensions or more")

    def _refuse_broadcast(self, shape: Sequence[int], why: str = "") -> NoReturn:
        raise NKIValueError(
            f"Parameter shapes {self.shape} and {tuple(shape)} has mismatched shapes"
            + why
        )

    def permuted(self, axes: Sequence[int]) -> Self:
        """The dimensions in another order."""
        if sorted(axes) != list(range(self.ndim)):
            raise NKIValueError(f"permute got axes {tuple(axes)} for {self.shape}")
        self._refuse_index("permute")
        a = self.layout
        pairs = tuple(a.pairs[axis] for axis in axes)
        par = axes.index(a.par) if a.par >= 0 else -1
        places = [Affine.lane(axes.index(dim)) for dim in range(self.ndim)]
        c = a.conditions.through(places, "permute")
        return self.with_layout(
            Layout(pairs, par, a.partition, a.offset, a.dtype, c.masks, c.bounds)
        )

    def with_unit_dim(self, dim: int) -> Self:
        """A dimension of extent 1 in front of dimension `dim`."""
        a, places = self.layout, self.ndim + 1
        if not -places <= dim < places:
            raise NKIIndexError(
                f"expand_dims of '{self.name}': axis {dim} is out of bounds, expected "
                f"{-places} to {places - 1} for {self.ndim} dimensions"
            )
        dim = dim + places if dim < 0 else dim
        if a.par >= 0 and dim <= a.par:
            raise NKISyntaxError(
                "Cannot expand dims before partition dimension for local tensors!"
            )
        return self.with_dims((*a.pairs[:dim], (1, 1), *a.pairs[dim:]), "expand_dims")

    def reinterpreted(self, dtype: DType) -> Self:
        """The same bytes as elements of another type; the last dimension scales."""
        a = self.layout
        self.refuse_columns("view")
        if a.dtype.bytes == dtype.bytes:
            return self.with_layout(replace(a, dtype=dtype))
        self.must_be_plain("view")
        *outer, (step, num) = a.pairs
        if num == 1:
            step = 1
        if step != 1:
            raise NKIValueError(
                f"view of '{self.name}' as {dtype.nki_name} needs a contiguous last "
                f"dimension, its step is {step}"
            )

        def scaled(elements: int) -> int:
            found = self._in_elements(elements, dtype)
            assert isinstance(found, int)
            return found

        pairs = [
            pair if dim == a.par or pair[1] == 1 else (scaled(pair[0]), pair[1])
            for dim, pair in enumerate(outer)
        ]
        offset = self._in_elements(a.offset, dtype)
        return self.with_layout(
            Layout((*pairs, (1, scaled(num))), a.par, a.partition, offset, dtype)
        )

    def pattern(
        self,
        steps: Sequence[Sequence[int]],
        offset: Expr = 0,
        gather: "View | None" = None,
        indirect_dim: int = 0,
        dtype: DType | None = None,
        scalar: Expr | None = None,
    ) -> Self:
        """
        An access pattern on the base tensor (nki.md 1.3 `NkiTensor.ap`).

        `steps` holds [step, num] pairs and `offset` a start, in elements of `dtype`.
        The start is counted from the view's own. On chip the first pair steps over
        partitions in multiples of the elements of a partition. With `gather`, entry k
        of that tile times the view's stride along `indirect_dim` replaces the first
        pair's step. With `scalar`, that many such strides are added to the start: the
        two families of indirection do not go together (dma.md 2.1 `is_offset_dma`).
        """
        if scalar is not None and gather is not None:
            raise NKISyntaxError(
                f"access pattern on '{self.name}' has both scalar_offset and "
                "vector_offset; they are mutually exclusive"
            )
        self.refuse_columns("access pattern")
        kind = self.base.type.data
        seen = dtype or self.layout.dtype
        pitch = kind.bytes_per_partition // seen.bytes
        pairs = [(int(step), int(num)) for step, num in steps]
        if any(num <= 0 for _, num in pairs):
            raise NKIValueError(
                f"access pattern {pairs} has a size that is not positive"
            )
        if kind.space.on_chip:
            pairs[0], offset = self._in_storage(pairs[0], offset, pitch, seen)
        offset = offset + self._in_elements(self.layout.offset, seen)
        if not kind.space.on_chip:
            limit = None
            if gather is not None:
                pairs[0], limit = self._indexed_pair(
                    pairs[0], indirect_dim, seen, offset
                )
            if scalar is not None:
                offset = offset + scalar * self._stride(indirect_dim, seen)
            found = None if gather is None or limit is None else Gather(gather, limit)
            return self.with_layout(
                Layout(tuple(pairs), -1, 0, offset, seen, gather=found)
            )
        if gather is not None:
            raise NKISyntaxError(
                "cannot use indirect indexing access with the current NKI API for "
                f"'{self.name}' in {kind.space}: the indexed tensor must be in hbm"
            )
        layout = self._chip_pattern(pairs, pitch, offset, seen)
        layout.partition = layout.partition + self.layout.partition
        if scalar is None:
            return self.with_layout(layout)
        if indirect_dim == 0:
            layout.partition = layout.partition + scalar
        else:
            layout.offset = layout.offset + scalar * self._stride(indirect_dim, seen)
        return self.with_layout(layout)

    def _in_storage(
        self, pair: Pair, offset: Expr, pitch: int, seen: DType
    ) -> tuple[Pair, Expr]:
        """
        Partitions counted as if the view were a tensor of its own, in the storage's.

        From 2.31 on a pattern is on the storage, whose partitions are `pitch` apart
        (`NkiTensor.ap`, "as_strided"). Earlier pages say "of the tensor", and kernels
        of that time count the elements that the part has in a partition. Where these
        are one run both mean the same elements, and the second is a warning.
        """
        step, num = pair
        own = self.size // max(self.shape[0], 1) * self.layout.dtype.bytes // seen.bytes
        if num == 1 or step != own or step % pitch == 0 or not isinstance(offset, int):
            return pair, offset
        free = prod(self.shape[1:])
        if split_pairs(self.layout.pairs[1:], (free,)) != ((1, free),):
            return pair, offset
        warn_of_release(
            f"access pattern on a part of '{self.name}': from release 2.31 on the "
            f"first step is that of the whole tensor, {pitch}; {step} is how many "
            "elements the part has in a partition"
        )
        rows, rest = divmod(offset, own)
        return (pitch, num), rows * pitch + rest

    def _stride(self, dim: int, seen: DType) -> int:
        """The view's stride along a dimension, in elements of `seen`."""
        if not 0 <= dim < self.ndim:
            raise NKIValueError(f"indirect_dim {dim} is no dimension of {self.shape}")
        step, num = self.layout.pairs[dim]
        if num == 1:  # a unit dimension has no step of its own
            step = prod(self.shape[dim + 1 :])
        found = self._in_elements(step, seen)
        assert isinstance(found, int)
        return found

    def _in_elements(self, value: Expr, seen: DType) -> Expr:
        """A number of the view's elements as one of elements of `seen`."""
        old, new = self.layout.dtype.bytes, seen.bytes
        if old == new:
            return value
        total = value * old
        found = total // new if isinstance(total, int) else total.floordiv(new)
        if found * new != total:
            raise NKIValueError(
                f"{value} elements of {old} bytes of '{self.name}' are no whole number "
                f"of {new} bytes ({seen.nki_name})"
            )
        return found

    def _indexed_pair(
        self, pair: Pair, dim: int, seen: DType, offset: Expr
    ) -> tuple[Pair, int]:
        """The stride and the number of indices of the view's dimension."""
        stride, extent = self._stride(dim, seen), self.shape[dim]
        start = self._in_elements(self.layout.offset, seen)
        offset = offset - start
        skipped = offset // stride if isinstance(offset, int) else 0
        return (stride, pair[1]), extent - skipped % extent

    def _chip_pattern(
        self, pairs: list[Pair], pitch: int, offset: Expr, seen: DType
    ) -> Layout:
        step, num = pairs[0]
        if step % pitch and num > 1:
            raise NKIValueError(
                f"the first step of an access pattern on '{self.name}' goes from one "
                f"partition to the next: expected a multiple of {pitch}, got {step}"
            )
        partition: Expr = 0
        if isinstance(offset, int):
            partition, offset = divmod(offset, pitch)
        else:
            # Whole partitions, known or not, are in front of what is within one.
            rows, rest = divmod(offset.constant, pitch)
            whole = Affine(
                rows, ((a, c // pitch) for a, c in offset.terms if not c % pitch)
            )
            offset = Affine(rest, ((a, c) for a, c in offset.terms if c % pitch))
            partition = whole
        return Layout(
            ((step // pitch if num > 1 else 1, num), *pairs[1:]),
            0,
            partition,
            offset,
            seen,
        )

    def __bool__(self) -> bool:
        """A whole tensor in HBM is there (`if bias:`); a tile's value is not known."""
        if self.space is Space.HBM and self.access() is None:
            return True
        raise SymbolicValueError(
            "dynamic control-flow depending on tensor value is not supported."
        )

    def __len__(self) -> int:
        if not self.layout.pairs:
            raise NKIIndexError(f"'{self.name}' has no dimension")
        return self.layout.pairs[0][1]

    def __repr__(self) -> str:
        shape = "x".join(str(extent) for extent in self.shape)
        return f"<{self.name}: {shape} {self.element_type.nki_name} in {self.space}>"


@lru_cache(maxsize=65536)
def _constant(value: int) -> Affine:
    return Affine(value)


def _affine(value: Expr) -> Affine:
    return _constant(value) if isinstance(value, int) else value


def split_pairs(pairs: Sequence[Pair], shape: Shape) -> tuple[Pair, ...] | None:
    """
    The (step, num) pairs that walk the same elements in order in another shape.

    None where some new dimension would need two strides.
    """
    if 0 in shape:
        return tuple((1, extent) for extent in shape)
    fused: list[Pair] = []
    for step, num in pairs:
        if num == 1:
            continue
        if fused and fused[-1][0] == step * num:
            fused[-1] = (step, fused[-1][1] * num)
        else:
            fused.append((step, num))
    found: list[Pair] = []
    left = list(reversed(fused))
    for extent in reversed(shape):
        if extent == 1:
            found.append((1, 1))
            continue
        if not left:
            return None
        step, num = left[0]
        if num % extent:
            return None
        found.append((step, extent))
        if num == extent:
            left.pop(0)
        else:
            left[0] = (step * extent, num // extent)
    return None if left else tuple(reversed(found))
