"""Affine expressions against integer arithmetic, masks against enumeration."""

import pickle
from itertools import product

import pytest
from hypothesis import given, strategies as st
from xdsl.context import Context
from xdsl.parser import Parser

from xdsl_neuron.dialects.neuron import AffineAttr, Neuron
from xdsl_neuron.geometry.affine import Affine, Atom, Index, Lane
from xdsl_neuron.geometry.mask import boxes, clip, elements, holds

INDICES = 2
LANES = 3
small = st.integers(-9, 9)


def leaves() -> st.SearchStrategy[Affine]:
    """Constants, loop indices and lanes."""
    return st.one_of(
        small.map(Affine),
        st.integers(0, INDICES - 1).map(Affine.index),
        st.integers(0, LANES - 1).map(Affine.lane),
    )


def combine(inner: st.SearchStrategy[Affine]) -> st.SearchStrategy[Affine]:
    """Sums, multiples, quotients and remainders."""
    divisor = st.integers(1, 5)
    return st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] - pair[1]),
        st.tuples(inner, small).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, divisor).map(lambda pair: pair[0].floordiv(pair[1])),
        st.tuples(inner, divisor).map(lambda pair: pair[0].mod(pair[1])),
    )


expressions = st.recursive(leaves(), combine, max_leaves=6)
points = st.tuples(
    st.tuples(*[st.integers(-7, 7)] * INDICES), st.tuples(*[st.integers(0, 6)] * LANES)
)


@given(expressions, expressions, points, st.integers(1, 6))
def test_arithmetic_is_that_of_integers(
    a: Affine,
    b: Affine,
    point: tuple[tuple[int, ...], tuple[int, ...]],
    divisor: int,
) -> None:
    x, y = a.evaluate(*point), b.evaluate(*point)
    assert (a + b).evaluate(*point) == x + y
    assert (a - b).evaluate(*point) == x - y
    assert (3 - a).evaluate(*point) == 3 - x
    assert (a * -4).evaluate(*point) == -4 * x
    assert a.floordiv(divisor).evaluate(*point) == x // divisor
    assert a.mod(divisor).evaluate(*point) == x % divisor


@given(expressions)
def test_equal_expressions_are_one_object(a: Affine) -> None:
    assert a + 1 - 1 is a
    assert Affine(a.constant, reversed(a.terms)) is a
    assert pickle.loads(pickle.dumps(a)) is a


@given(expressions, points)
def test_substitution(
    a: Affine, point: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    indices, lanes = point

    def bound(atom: Atom) -> int | None:
        match atom:
            case Index(position):
                return indices[position]
            case Lane(dim):
                return lanes[dim]
            case _:
                return None

    assert a.substitute(bound) is Affine(a.evaluate(indices, lanes))
    partly = a.with_indices({0: Affine.index(1) * 2 + 1})
    assert partly.evaluate(indices, lanes) == a.evaluate(
        (indices[1] * 2 + 1, indices[1]), lanes
    )


@given(expressions)
def test_bounds_contain_every_value(a: Affine) -> None:
    ranges = [(-2, 1)] * INDICES
    lanes = [(0, 2)] * LANES
    low, high = a.bounds(ranges, lanes)
    for indices in product(range(-2, 2), repeat=INDICES):
        for point in product(range(3), repeat=LANES):
            assert low <= a.evaluate(indices, point) <= high


@given(expressions)
def test_text_reads_back(a: Affine) -> None:
    context = Context()
    context.load_dialect(Neuron)
    text = str(AffineAttr(a))
    assert Parser(context, text).parse_attribute() == AffineAttr(a)


def test_divisors_are_positive() -> None:
    with pytest.raises(ValueError, match="divisor must be positive"):
        Affine.index(0).floordiv(0)
    with pytest.raises(ValueError, match="divisor must be positive"):
        Affine.index(0).mod(-1)


@given(st.lists(expressions, max_size=3), st.tuples(*[st.integers(1, 4)] * LANES))
def test_a_mask_keeps_exactly_what_its_predicates_say(
    predicates: list[Affine], shape: tuple[int, ...]
) -> None:
    indices = (2, -1)
    expected = {
        point
        for point in product(*map(range, shape))
        if all(p.evaluate(indices, point) >= 0 for p in predicates)
    }
    box = clip(predicates, shape, indices)
    if box is None:
        assert not expected
        return
    kept = [
        point
        for point in product(*(range(low, high) for low, high in box.ranges))
        if holds(box.residual, point)
    ]
    assert set(kept) == expected
    assert list(elements(box)) == kept
    pieces = list(boxes(box))
    covered = [point for piece in pieces for point in elements(piece)]
    assert all(not piece.residual for piece in pieces)
    assert len(covered) == len(set(covered))
    assert set(covered) == expected
