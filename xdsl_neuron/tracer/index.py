"""
Index expressions and masks: what a kernel computes with `arange` and loop indices.

`IndexExpr` is an affine expression over loop indices (atoms `Index`, numbered through a
trace) and over its own axes (atoms `Lane`). A comparison of two is a `Mask`. Both have
no value while a kernel is traced, so Python control flow on them is refused.
"""

import operator
from collections.abc import Iterator, Sequence
from typing import Any, Final, NoReturn, SupportsIndex, TypeAlias, TypeGuard, cast

from xdsl.dialects.builtin import FileLineColLoc

from xdsl_neuron.dialects.neuron.attributes import position_name
from xdsl_neuron.geometry.affine import Affine, Atom, Index, Lane
from xdsl_neuron.tracer.bytecode import is_tuple
from xdsl_neuron.tracer.context import current_or_none
from xdsl_neuron.tracer.errors import (
    NKIIndexError,
    NKISyntaxError,
    NKITypeError,
    NKIValueError,
    SymbolicValueError,
    described,
)

Expr: TypeAlias = Affine | int
"""An integer known while tracing, or one that depends on loop indices."""

Shape: TypeAlias = tuple[int, ...]

NOT_AFFINE: Final = (
    "NKI mask expressions must be affine expressions of static loop indices. Dynamic "
    "values, tensor elements, or non-affine operations are not supported in mask "
    "predicates."
)


def is_slice(value: object) -> TypeGuard["slice[Any, Any, Any]"]:
    """Whether a value is a slice, of anything."""
    return isinstance(value, slice)


def is_integer(value: object) -> bool:
    """Whether a value is a Python or NumPy integer (a symbolic index is not)."""
    if isinstance(value, int):
        return not isinstance(value, bool)
    if isinstance(value, IndexExpr) or not isinstance(value, SupportsIndex):
        return False
    try:
        operator.index(value)
    except TypeError:  # an array has the method, and refuses unless it is an integer
        return False
    return True


def as_expr(value: object, what: str) -> Expr:
    """A Python integer or a scalar index expression; NKITypeError for others."""
    if isinstance(value, int):
        return value
    if isinstance(value, IndexExpr):
        if value.shape:
            raise NKITypeError(f"`{what}` must be int or scalar[int], got {value}")
        return value.expr.constant if value.expr.is_constant else value.expr
    return as_integer(value, what, "int or scalar[int]")


def as_integer(value: Any, what: str, expected: str = "int") -> int:
    """
    An integer known while tracing; NKITypeError for others.

    The index of a program is known where the kernel is traced once per program.
    """
    if isinstance(value, IndexExpr):
        _refuse_value(value, f"`{what}`")
    if not is_integer(value):
        raise NKITypeError(f"`{what}` must be {expected}, got {described(value)}")
    found = operator.index(value)
    if not -(1 << 63) <= found < 1 << 63:
        raise NKIValueError(f"`{what}` must fit 64 bits, got {found}")
    return found


def broadcast_shapes(*shapes: Shape) -> Shape:
    """NumPy's broadcast of shapes; NKIValueError carries the documented literal."""
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result: list[int] = []
    for extents in zip(*padded, strict=True):
        wide = {extent for extent in extents if extent != 1}
        if len(wide) > 1:
            text = " ".join(str(shape).replace(" ", "") for shape in shapes)
            raise NKIValueError(f"could not be broadcast together with shapes {text}")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def broadcast_tiles(*shapes: Shape) -> Shape:
    """
    The broadcast of tile shapes: partitions and free dimensions by themselves.

    A tile (P,) goes with (P, F), and (P, F) with (P, B, F) (penguin.md 4.4).
    """
    try:
        partitions = broadcast_shapes(*(shape[:1] for shape in shapes))
        free = broadcast_shapes(*(shape[1:] for shape in shapes))
    except NKIValueError:
        text = " ".join(str(shape).replace(" ", "") for shape in shapes)
        raise NKIValueError(
            f"could not be broadcast together with shapes {text}"
        ) from None
    return (*partitions, *free)


def shift_lanes(expression: Affine, by: int) -> Affine:
    """The expression with lane k renamed to lane k + `by`."""
    if not by or not expression.lanes:
        return expression

    def rename(atom: Atom) -> Affine | None:
        return Affine.lane(atom.dim + by) if isinstance(atom, Lane) else None

    return expression.substitute(rename)


def aligned(expression: Affine, shape: Shape, rank: int) -> Affine:
    """An expression over `shape`, seen in a broadcast of that rank."""
    return shift_lanes(expression, rank - len(shape))


def _refuse_value(value: "IndexExpr | Mask", use: str, hint: str = "") -> NoReturn:
    """
    Python asks for the value of something symbolic.

    Where a condition asks, the kernel can be traced with the loops unrolled.
    """
    positions = value.positions
    codegen = current_or_none()
    program = bool(positions) and codegen is not None and codegen.is_grid(positions)
    loops = frozenset[FileLineColLoc]()
    if value.shape:
        message = (
            "Control-flow depending on `nl.arange` or `nl.mgrid` is not supported."
            + hint
        )
    else:
        what = "program_id" if program else "a loop index"
        message = (
            f"{use} needs the value of {what} ({value}), which has none: the body of "
            "an affine_range or sequential_range is traced once; use static_range or "
            "range, or a mask"
        )
        if codegen is not None and use == _CONDITION:
            loops = codegen.loop_places(positions)
    raise SymbolicValueError(message, program, loops)


_CONDITION: Final = "a condition"


class IndexExpr:
    """
    An index: affine in loop indices and in its own axes, of shape `shape`.

    The scalar of a loop has shape (). `nl.arange(n)` has shape (n,), and gets its place
    among the axes by `[:, None]`.
    """

    __slots__ = ("expr", "shape")

    __array_ufunc__: None = None
    """NumPy leaves operators to the index, also those with an array on the left."""

    def __init__(self, expr: Affine, shape: Shape = ()) -> None:
        self.expr = expr
        self.shape = shape

    @property
    def positions(self) -> frozenset[int]:
        """The loops (by number) whose indices occur."""
        return self.expr.positions

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def _combine(self, other: object, sign: int) -> "IndexExpr | None":
        """`self + sign * other`, None where the other is neither index nor int."""
        if isinstance(other, IndexExpr):
            shape = broadcast_shapes(self.shape, other.shape)
            rank = len(shape)
            left = aligned(self.expr, self.shape, rank)
            right = aligned(other.expr, other.shape, rank)
            return IndexExpr(left + right * sign, shape)
        if isinstance(other, bool) or is_integer(other):
            step = operator.index(cast(SupportsIndex, other))
            return IndexExpr(self.expr + sign * step, self.shape)
        return None

    def __add__(self, other: object) -> "IndexExpr":
        return self._or_asked(self._combine(other, 1), other, "+", "__radd__")

    __radd__ = __add__

    def __sub__(self, other: object) -> "IndexExpr":
        return self._or_asked(self._combine(other, -1), other, "-", "__rsub__")

    def __rsub__(self, other: object) -> "IndexExpr":
        return self._or_asked((-self)._combine(other, 1), other, "-", "__sub__")

    def _or_asked(
        self, found: "IndexExpr | None", other: object, operation: str, method: str
    ) -> "IndexExpr":
        """The result; where there is none, a tensor is asked and others refused."""
        if found is not None:
            return found
        if _answers(other, method):
            return NotImplemented
        raise self._no_integer(other, operation)

    def _no_integer(self, other: object, operation: str) -> NKITypeError:
        return NKITypeError(
            f"'{operation}' between NKI index and non integer is not supported. "
            f"Got {self} {operation} {other}"
        )

    def __neg__(self) -> "IndexExpr":
        return IndexExpr(self.expr * -1, self.shape)

    def __pos__(self) -> "IndexExpr":
        return self

    def __mul__(self, other: object) -> "IndexExpr":
        if _answers(other, "__rmul__"):
            return NotImplemented
        return IndexExpr(self.expr * self._factor(other, "*"), self.shape)

    __rmul__ = __mul__

    def __floordiv__(self, other: object) -> "IndexExpr":
        if _answers(other, "__rfloordiv__"):
            return NotImplemented
        return IndexExpr(self.expr.floordiv(self._factor(other, "//")), self.shape)

    def __mod__(self, other: object) -> "IndexExpr":
        if _answers(other, "__rmod__"):
            return NotImplemented
        return IndexExpr(self.expr.mod(self._factor(other, "%")), self.shape)

    def _factor(self, other: object, operation: str) -> int:
        if isinstance(other, IndexExpr) and other.expr.is_constant:
            value = other.expr.constant
        elif isinstance(other, bool) or is_integer(other):
            value = operator.index(cast(SupportsIndex, other))
        else:
            raise self._no_integer(other, operation)
        if operation != "*" and value <= 0:
            raise NKIValueError(f"'{operation}' needs a positive integer, got {value}")
        return value

    def __truediv__(self, other: object) -> Any:
        if _answers(other, "__rtruediv__"):
            return NotImplemented
        raise NKITypeError(f"'/' is not defined for an NKI index; use // ({self})")

    def _compare(self, other: object, sign: int, slack: int) -> "Mask":
        """`sign * (self - other) - slack >= 0`."""
        difference = self._combine(other, -1)
        if difference is None:
            raise NKITypeError(f"{NOT_AFFINE} Got {self} against {other!r}")
        return Mask((difference.expr * sign - slack,), difference.shape)

    def __lt__(self, other: object) -> "Mask":
        return self._compare(other, -1, 1)

    def __le__(self, other: object) -> "Mask":
        return self._compare(other, -1, 0)

    def __gt__(self, other: object) -> "Mask":
        return self._compare(other, 1, 1)

    def __ge__(self, other: object) -> "Mask":
        return self._compare(other, 1, 0)

    def equals(self, other: object) -> "Mask":
        """Where both sides are equal."""
        return (self <= other) & (self >= other)

    def __eq__(self, other: object) -> Any:
        return self.equals(other)

    def __ne__(self, other: object) -> Any:
        raise NKISyntaxError("'not equal' mask is not supported")

    __hash__ = object.__hash__

    def __getitem__(self, subscript: object) -> "IndexExpr":
        """`[:, None]`: puts the one axis of an arange among axes of extent 1."""
        if len(self.shape) != 1 or not is_tuple(subscript):
            raise NKIIndexError("Only support multi-dimensional subscript to arange!")
        places = [self._is_colon(item) for item in subscript]
        if places.count(True) != 1:
            raise NKIIndexError("Need exact 1 `:` in the subscript to arange!")
        axis = places.index(True)
        shape = tuple(self.shape[0] if place else 1 for place in places)
        return IndexExpr(shift_lanes(self.expr, axis), shape)

    @staticmethod
    def _is_colon(item: object) -> bool:
        if item is None:
            return False
        if item == slice(None):
            return True
        raise NKIIndexError("Only support `:` or `None` as subscript to arange!")

    def __bool__(self) -> bool:
        _refuse_value(self, _CONDITION)

    def __int__(self) -> NoReturn:
        _refuse_value(self, "int()")

    def __float__(self) -> NoReturn:
        _refuse_value(self, "float()")

    def __index__(self) -> NoReturn:
        _refuse_value(self, "range(), or indexing a Python sequence,")

    def __iter__(self) -> Iterator[object]:
        raise NKITypeError(f"an NKI index cannot be iterated over ({self})")

    def __str__(self) -> str:
        codegen = current_or_none()
        if codegen is None:
            return str(self.expr)
        return self.expr.render(codegen.loop_name)

    def __repr__(self) -> str:
        return f"<index {self}>"


def _answers(other: object, method: str) -> bool:
    """Whether the other operand is a tensor that answers for itself."""
    from xdsl_neuron.tracer.views import View

    return isinstance(other, View) and hasattr(type(other), method)


class Mask:
    """Predicates that must all be >= 0, over the axes of `shape`."""

    __slots__ = ("predicates", "shape")

    def __init__(self, predicates: tuple[Affine, ...], shape: Shape = ()) -> None:
        self.predicates = predicates
        self.shape = shape

    @property
    def positions(self) -> frozenset[int]:
        """The loops (by number) whose indices occur."""
        return frozenset[int]().union(*(p.positions for p in self.predicates))

    def as_predicates(self) -> "Mask":
        """The same mask; NKISyntaxError where `//` or `%` leave it not affine."""
        for predicate in self.predicates:
            for atom, _ in predicate.terms:
                if not isinstance(atom, Index | Lane):
                    raise NKISyntaxError(
                        f"{NOT_AFFINE} Got {self}, where `//` or `%` is not affine: "
                        "put the condition into a Python `if`, or loop over a range "
                        "for each part"
                    )
        return self

    def __and__(self, other: object) -> "Mask":
        if isinstance(other, bool):
            return self if other else Mask((Affine(-1),), self.shape)
        if not isinstance(other, Mask):
            return NotImplemented
        shape = broadcast_shapes(self.shape, other.shape)
        rank = len(shape)
        left = (aligned(p, self.shape, rank) for p in self.predicates)
        right = (aligned(p, other.shape, rank) for p in other.predicates)
        return Mask((*left, *right), shape)

    __rand__ = __and__

    def __or__(self, other: object) -> NoReturn:
        raise NKISyntaxError(
            "'logical or' is not supported for the `mask`: one mask is a conjunction; "
            "use two instructions with disjoint masks"
        )

    __ror__ = __or__

    def __invert__(self) -> "Mask":
        if len(self.predicates) != 1:
            raise NKISyntaxError(
                "'not' is supported for a mask of one comparison, this one has "
                f"{len(self.predicates)}"
            )
        return Mask((self.predicates[0] * -1 - 1,), self.shape)

    def __bool__(self) -> NoReturn:
        _refuse_value(self, _CONDITION, " Join the comparisons of a mask with `&`")

    def over(self, shape: Shape) -> Sequence[Affine]:
        """The predicates over the last axes of lanes of that shape."""
        by = len(shape) - len(self.shape)
        # Leading axes of extent 1 carry no lane.
        leading, trailing = self.shape[: max(-by, 0)], self.shape[max(-by, 0) :]
        if any(extent != 1 for extent in leading) or any(
            extent not in (1, lanes)
            for extent, lanes in zip(trailing, shape[max(by, 0) :], strict=True)
        ):
            raise NKIValueError(
                f"mask of shape {self.shape} does not fit lanes of shape "
                f"{tuple(shape)}: each extent must be the lanes' or 1"
            )
        return [shift_lanes(p, by) for p in self.predicates]

    def moved(self, dims: Sequence[int], shape: Shape) -> "Mask":
        """The mask over lanes of `shape`, where axis k has become `dims[k]`."""

        def rename(atom: Atom) -> Affine | None:
            return Affine.lane(dims[atom.dim]) if isinstance(atom, Lane) else None

        return Mask(tuple(p.substitute(rename) for p in self.predicates), shape)

    def __str__(self) -> str:
        codegen = current_or_none()
        name = position_name if codegen is None else codegen.loop_name
        return " & ".join(f"{p.render(name)} >= 0" for p in self.predicates)

    def __repr__(self) -> str:
        return f"<mask {self}>"


def arange(*bounds: SupportsIndex) -> IndexExpr:
    """`range(*bounds)` as an index of one axis; the bounds are Python integers."""
    if not 1 <= len(bounds) <= 3:
        raise NKITypeError(f"nl.arange takes 1 to 3 bounds, got {len(bounds)}")
    found = [as_integer(bound, "bound of nl.arange") for bound in bounds]
    if found[2:] == [0]:
        raise NKIValueError("step of nl.arange must be non-zero")
    values = range(*found)
    if not values:
        raise NKIValueError(f"nl.arange{bounds} is empty")
    # An axis of one element may be broadcast, so it carries no lane.
    lane = Affine.lane(0) * values.step if len(values) > 1 else Affine(0)
    return IndexExpr(lane + values.start, (len(values),))
