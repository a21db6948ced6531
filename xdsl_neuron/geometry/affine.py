"""
Quasi-affine integer expressions over loop indices and lanes.

`Affine` is a hash-consed sum `constant + sum(coefficient * atom)`. An atom is a loop
index (by its position in an operation's trailing `indices` operands), a lane (a
dimension of the elements an instruction works on), or the floor division or remainder
of another expression by a positive integer. Pure integers; no IR.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self, TypeAlias


@dataclass(frozen=True, slots=True)
class Index:
    """The loop index at `position` among an operation's `indices`."""

    position: int


@dataclass(frozen=True, slots=True)
class Lane:
    """The coordinate along dimension `dim` of an instruction's lanes."""

    dim: int


@dataclass(frozen=True, slots=True)
class FloorDiv:
    """`operand // divisor`, rounded towards minus infinity."""

    operand: "Affine"
    divisor: int


@dataclass(frozen=True, slots=True)
class Mod:
    """`operand % divisor`, in `0 .. divisor - 1`."""

    operand: "Affine"
    divisor: int


Atom: TypeAlias = Index | Lane | FloorDiv | Mod

_ORDER: Final = {Index: 0, Lane: 1, FloorDiv: 2, Mod: 3}
_INTERNED: dict[tuple[int, tuple[tuple[Atom, int], ...]], Any] = {}


def _sort_key(term: tuple[Atom, int]) -> tuple[int, int, str]:
    atom = term[0]
    match atom:
        case Index(position):
            return (0, position, "")
        case Lane(dim):
            return (1, dim, "")
        case _:
            return (_ORDER[type(atom)], atom.divisor, str(atom.operand))


def _ordered(terms: Iterable[tuple[Atom, int]]) -> tuple[tuple[Atom, int], ...]:
    merged: dict[Atom, int] = {}
    for atom, coefficient in terms:
        merged[atom] = merged.get(atom, 0) + coefficient
    return tuple(sorted(((a, c) for a, c in merged.items() if c), key=_sort_key))


class Affine:
    """A quasi-affine expression; equal expressions are the same object."""

    __slots__ = ("__dict__", "constant", "terms")

    constant: int
    terms: tuple[tuple[Atom, int], ...]

    def __new__(cls, constant: int = 0, terms: Iterable[tuple[Atom, int]] = ()) -> Self:
        key = (constant, () if terms == () else _ordered(terms))
        found = _INTERNED.get(key)
        if found is None:
            found = object.__new__(cls)
            found.constant = constant
            found.terms = key[1]
            _INTERNED[key] = found
        return found

    @staticmethod
    def index(position: int) -> "Affine":
        """The loop index at `position`."""
        return Affine(0, ((Index(position), 1),))

    @staticmethod
    def lane(dim: int) -> "Affine":
        """The lane coordinate along `dim`."""
        return Affine(0, ((Lane(dim), 1),))

    @staticmethod
    def of(value: "Affine | int") -> "Affine":
        """An integer as an expression; an expression unchanged."""
        return value if isinstance(value, Affine) else Affine(value)

    @property
    def is_constant(self) -> bool:
        """Whether no atom occurs."""
        return not self.terms

    @cached_property
    def positions(self) -> frozenset[int]:
        """Positions of the loop indices that occur, also inside `//` and `%`."""
        found: set[int] = set()
        for atom, _ in self.terms:
            if isinstance(atom, Index):
                found.add(atom.position)
            elif isinstance(atom, FloorDiv | Mod):
                found |= atom.operand.positions
        return frozenset(found)

    @cached_property
    def lanes(self) -> frozenset[int]:
        """Lane dimensions that occur, also inside `//` and `%`."""
        found: set[int] = set()
        for atom, _ in self.terms:
            if isinstance(atom, Lane):
                found.add(atom.dim)
            elif isinstance(atom, FloorDiv | Mod):
                found |= atom.operand.lanes
        return frozenset(found)

    def coefficient(self, atom: Atom) -> int:
        """The coefficient of `atom`, 0 where it does not occur by itself."""
        for candidate, coefficient in self.terms:
            if candidate == atom:
                return coefficient
        return 0

    def __add__(self, other: "Affine | int") -> "Affine":
        if isinstance(other, int):
            return Affine(self.constant + other, self.terms)
        return Affine(self.constant + other.constant, (*self.terms, *other.terms))

    __radd__ = __add__

    def __neg__(self) -> "Affine":
        return self * -1

    def __sub__(self, other: "Affine | int") -> "Affine":
        return self + (-other)

    def __rsub__(self, other: int) -> "Affine":
        return -self + other

    def __mul__(self, factor: int) -> "Affine":
        return Affine(self.constant * factor, ((a, c * factor) for a, c in self.terms))

    __rmul__ = __mul__

    def floordiv(self, divisor: int) -> "Affine":
        """`self // divisor`; what divides evenly is taken out of the atom."""
        if divisor <= 0:
            raise ValueError(f"divisor must be positive, got {divisor}")
        whole = Affine(
            self.constant // divisor,
            ((a, c // divisor) for a, c in self.terms if c % divisor == 0),
        )
        rest = Affine(
            self.constant % divisor, ((a, c) for a, c in self.terms if c % divisor)
        )
        if rest.is_constant:
            return whole
        return whole + Affine(0, ((FloorDiv(rest, divisor), 1),))

    def mod(self, divisor: int) -> "Affine":
        """`self % divisor`; multiples of the divisor are dropped."""
        if divisor <= 0:
            raise ValueError(f"divisor must be positive, got {divisor}")
        rest = Affine(
            self.constant % divisor,
            ((a, c % divisor) for a, c in self.terms if c % divisor),
        )
        if rest.is_constant:
            return rest
        return Affine(0, ((Mod(rest, divisor), 1),))

    def evaluate(self, indices: Sequence[int], lanes: Sequence[int] = ()) -> int:
        """The value for these loop indices and lane coordinates."""
        total = self.constant
        for atom, coefficient in self.terms:
            match atom:
                case Index(position):
                    value = indices[position]
                case Lane(dim):
                    value = lanes[dim]
                case FloorDiv(operand, divisor):
                    value = operand.evaluate(indices, lanes) // divisor
                case Mod(operand, divisor):
                    value = operand.evaluate(indices, lanes) % divisor
            total += coefficient * value
        return total

    def substitute(self, replace: Callable[[Atom], "Affine | int | None"]) -> "Affine":
        """Replaces index and lane atoms for which `replace` has an expression."""
        result = Affine(self.constant)
        for atom, coefficient in self.terms:
            match atom:
                case FloorDiv(operand, divisor):
                    new = operand.substitute(replace).floordiv(divisor)
                case Mod(operand, divisor):
                    new = operand.substitute(replace).mod(divisor)
                case _:
                    found = replace(atom)
                    new = Affine(0, ((atom, 1),)) if found is None else found
            result = result + Affine.of(new) * coefficient
        return result

    def with_indices(self, values: Mapping[int, "Affine | int"]) -> "Affine":
        """Replaces loop indices by position."""
        if not self.positions:
            return self
        return self.substitute(
            lambda atom: values.get(atom.position) if isinstance(atom, Index) else None
        )

    def bounds(
        self,
        indices: Sequence[tuple[int, int]],
        lanes: Sequence[tuple[int, int]] = (),
    ) -> tuple[int, int]:
        """
        Lowest and highest value for inclusive ranges of the atoms.

        Exact for affine expressions; with `//` and `%` each atom is bounded by
        itself, so the interval may be wider than what is reached.
        """
        low = high = self.constant
        for atom, coefficient in self.terms:
            match atom:
                case Index(position):
                    first, last = indices[position]
                case Lane(dim):
                    first, last = lanes[dim]
                case FloorDiv(operand, divisor):
                    first, last = operand.bounds(indices, lanes)
                    first, last = first // divisor, last // divisor
                case Mod(operand, divisor):
                    first, last = operand.bounds(indices, lanes)
                    if first // divisor == last // divisor:
                        first, last = first % divisor, last % divisor
                    else:
                        first, last = 0, divisor - 1
            if coefficient < 0:
                first, last = last, first
            low += coefficient * first
            high += coefficient * last
        return low, high

    def render(self, index_name: Callable[[int], str]) -> str:
        """The expression as text, loop indices named by `index_name`."""
        pieces: list[str] = []
        for atom, coefficient in self.terms:
            text = _render_atom(atom, index_name)
            if abs(coefficient) != 1:
                text = f"{text} * {abs(coefficient)}"
            sign = "-" if coefficient < 0 else "+"
            pieces.append(f"{sign} {text}")
        if self.constant or not pieces:
            sign = "-" if self.constant < 0 else "+"
            pieces.append(f"{sign} {abs(self.constant)}")
        lead = next((n for n, piece in enumerate(pieces) if piece[0] == "+"), 0)
        pieces.insert(0, pieces.pop(lead))
        text = " ".join(pieces)
        return text[2:] if text[0] == "+" else "-" + text[2:]

    def __str__(self) -> str:
        return self.render(lambda position: f"d{position}")

    def __repr__(self) -> str:
        return f"Affine({self})"

    def __reduce__(self) -> tuple[object, ...]:
        return (Affine, (self.constant, self.terms))


def _render_atom(atom: Atom, index_name: Callable[[int], str]) -> str:
    match atom:
        case Index(position):
            return index_name(position)
        case Lane(dim):
            return f"l{dim}"
        case FloorDiv(operand, divisor):
            return f"({operand.render(index_name)}) floordiv {divisor}"
        case Mod(operand, divisor):
            return f"({operand.render(index_name)}) mod {divisor}"
