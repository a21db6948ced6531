"""The values of an affine expression against enumeration of its loops."""

from itertools import product

import pytest
from hypothesis import given, strategies as st

from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.affine_image import MOST_VALUES, image

INDICES = 3
A, B, _ = (Affine.index(position) for position in range(INDICES))


def leaves() -> st.SearchStrategy[Affine]:
    """Constants and loop indices."""
    return st.one_of(
        st.integers(-9, 9).map(Affine),
        st.integers(0, INDICES - 1).map(Affine.index),
    )


def combine(inner: st.SearchStrategy[Affine]) -> st.SearchStrategy[Affine]:
    """Sums, multiples, quotients and remainders."""
    divisor = st.integers(1, 9)
    return st.one_of(
        st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
        st.tuples(inner, st.integers(-9, 9)).map(lambda pair: pair[0] * pair[1]),
        st.tuples(inner, divisor).map(lambda pair: pair[0].floordiv(pair[1])),
        st.tuples(inner, divisor).map(lambda pair: pair[0].mod(pair[1])),
    )


expressions = st.recursive(leaves(), combine, max_leaves=8)


def loop(start: int, count: int, step: int) -> range:
    """The values of an index."""
    return range(start, start + count * step, step)


loops = st.builds(
    loop, st.integers(-20, 20), st.integers(0, 14), st.sampled_from((1, 2, 3, 7, 32))
)


def enumerated(expression: Affine, ranges: tuple[range, ...]) -> set[int]:
    """The values by evaluation in each iteration."""
    return {expression.evaluate(point) for point in product(*ranges)}


@given(expressions, st.tuples(loops, loops, loops))
def test_all_values_of_short_loops(
    expression: Affine, ranges: tuple[range, ...]
) -> None:
    """Each value once; an empty loop around it that it does not use is no matter."""
    used = tuple(
        values if position in expression.positions else range(1)
        for position, values in enumerate(ranges)
    )
    expected = sorted(enumerated(expression, used))
    if len(expected) < MOST_VALUES:
        assert image(expression, used) == tuple(expected)
    else:
        assert len(image(expression, used)) >= MOST_VALUES
        assert set(image(expression, used)) <= set(expected)


@given(st.integers(1, 40), st.integers(1, 64), st.integers(-5, 5), st.integers(1, 3000))
def test_a_long_loop_that_repeats_itself(
    divisor: int, factor: int, add: int, count: int
) -> None:
    """Remainders come back, whatever the last iteration is."""
    expression = (A * factor + add).mod(divisor) * 3 + (A * 2).mod(7) + B.floordiv(500)
    ranges = (range(count), range(1, 2400))
    wanted = {expression.evaluate((i, 0)) for i in range(count)}
    expected = {low + high for low in wanted for high in range(5)}
    assert set(image(expression, ranges)) == expected


@pytest.mark.parametrize(
    "expression",
    [
        A * 32,
        A * 32 + B,
        A.floordiv(3) * 32,
        (A + B).floordiv(5),
        A + A.mod(32) * -1,
        A.floordiv(1024) * 1024,
    ],
)
def test_many_values_are_too_many(expression: Affine) -> None:
    """More values than there are places; each is one that an iteration takes."""
    found = image(expression, (range(10**6), range(10**6)))
    assert len(found) >= MOST_VALUES
    assert len(set(found)) == len(found)


def test_the_last_of_many_iterations_counts() -> None:
    """A value that only iterations behind the first thousand take is seen."""
    ranges = (range(2000), range(3))
    assert image(A.floordiv(1999) * 7, ranges) == (0, 7)
    assert image(B + A.floordiv(1500) * 5, ranges) == (0, 1, 2, 5, 6, 7)


def test_too_many_iterations_to_look_at() -> None:
    """What cannot be looked at is bounded, never left out."""
    ranges = (range(0, 3000, 2), range(3000))
    mixed = (A + B).floordiv(5000) * 32
    assert image(mixed, ranges) == (0, 32)
    assert image((A + B * 2).mod(6007) * 0 + A * 0, ranges) == (0,)
    high = (A * 7 + B * 5).floordiv(30000) * 64 + (A + B).floordiv(9000) * 32
    assert {0, 64} <= set(image(high, ranges)) <= {0, 32, 64}


def test_a_loop_without_iterations_has_no_values() -> None:
    """Nothing executes."""
    assert image(A * 32, (range(0),)) == ()
    assert image(Affine(3), ()) == (3,)
