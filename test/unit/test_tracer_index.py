"""Index expressions and masks."""

import operator
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given, strategies as st

from xdsl_neuron.geometry.mask import holds
from xdsl_neuron.tracer.errors import NKIError
from xdsl_neuron.tracer.index import IndexExpr, Mask, arange, broadcast_shapes

ROWS, COLUMNS = 5, 7


def axes() -> tuple[IndexExpr, IndexExpr]:
    """The two index tensors of a 5 x 7 tile."""
    return arange(ROWS)[:, None], arange(COLUMNS)[None, :]


Term = Callable[[Any, Any], Any]
TERMS: list[Term] = [
    lambda p, f: p + f,
    lambda p, f: p * 3 - f,
    lambda p, f: 4 - p,
    lambda p, f: -f + 2 * p + 1,
    lambda p, f: f // 2,
    lambda p, f: (f + 3) % 4,
    lambda p, f: p - (p * 7) % 4,
]


@pytest.mark.parametrize("term", TERMS)
def test_arithmetic_is_that_of_integers(term: Term) -> None:
    p, f = axes()
    found = term(p, f)
    shape = found.shape
    for i, j in product(range(ROWS), range(COLUMNS)):
        lanes = (i if shape[0] > 1 else 0, j if shape[1] > 1 else 0)
        assert found.expr.evaluate((), lanes) == term(i, j)


@given(
    st.sampled_from([operator.lt, operator.le, operator.gt, operator.ge]),
    st.sampled_from(TERMS),
    st.integers(-3, 9),
)
def test_a_comparison_is_the_mask_of_its_elements(
    compare: Callable[[Any, Any], Any], term: Term, bound: int
) -> None:
    p, f = axes()
    mask = compare(term(p, f), bound)
    assert isinstance(mask, Mask)
    for i, j in product(range(ROWS), range(COLUMNS)):
        lanes = (i, j)
        assert holds(mask.over((ROWS, COLUMNS)), lanes) == compare(term(i, j), bound)


def test_and_equality_and_not() -> None:
    p, f = axes()
    mask = (p < 3) & (f >= 2) & (p * 2).equals(f) & True
    kept = [
        point
        for point in product(range(ROWS), range(COLUMNS))
        if holds(mask.over((ROWS, COLUMNS)), point)
    ]
    assert kept == [(1, 2), (2, 4)]
    never = (mask & False).over((ROWS, COLUMNS))
    assert not any(holds(never, point) for point in kept)
    others = (~(p < 3)).over((ROWS, COLUMNS))
    assert [i for i in range(ROWS) if holds(others, (i, 0))] == [3, 4]
    with pytest.raises(NKIError, match="does not fit lanes of shape"):
        mask.over((ROWS + 1, COLUMNS))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: axes()[0] * axes()[1], "'*' between NKI index and non integer is not"),
        (lambda: axes()[0] // 0, "'//' needs a positive integer, got 0"),
        (lambda: axes()[0] % 1.5, "'%' between NKI index and non integer is not"),
        (lambda: axes()[0] / 2, "'/' is not defined for an NKI index; use //"),
        (lambda: axes()[0] != 2, "'not equal' mask is not supported"),
        (lambda: (axes()[0] < 2) | (axes()[0] > 3), "'logical or' is not supported"),
        (lambda: ~((axes()[0] < 2) & (axes()[0] > 3)), "a mask of one comparison"),
        (lambda: axes()[0] < 1.5, "NKI mask expressions must be affine expressions of"),
        (lambda: arange(3)[0], "Only support multi-dimensional subscript to arange!"),
        (lambda: arange(3)[:, :], "Need exact 1 `:` in the subscript to arange!"),
        (lambda: arange(3)[1, None], "Only support `:` or `None` as subscript to"),
        (lambda: arange(0), "nl.arange(0,) is empty"),
        (lambda: bool(axes()[0] < 2), "Control-flow depending on `nl.arange` or "),
        (lambda: range(axes()[0]), "Control-flow depending on `nl.arange` or "),
        (lambda: list(axes()[0]), "an NKI index cannot be iterated over"),
        (lambda: arange(3)[:, None] + arange(4)[:, None], "could not be broadcast"),
    ],
)
def test_messages(wrong: Callable[[], object], message: str) -> None:
    with pytest.raises(NKIError) as raised:
        wrong()
    assert raised.value.message.startswith(message) or message in raised.value.message
    place = raised.value.location
    assert place is not None
    assert place.file == __file__


def test_broadcast_shapes() -> None:
    assert broadcast_shapes((3, 1), (4,), ()) == (3, 4)
    with pytest.raises(NKIError, match="together with shapes \\(3,\\) \\(4,\\)"):
        broadcast_shapes((3,), (4,))
