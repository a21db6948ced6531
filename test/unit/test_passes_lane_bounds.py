"""The predicates say in which iterations a mask leaves anything."""

from hypothesis import given, strategies as st

from xdsl_neuron.dialects.instructions.masks import bounds_one_lane
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.lane_bounds import can_hold
from xdsl_neuron.geometry.mask import clip

SMALL = st.integers(-3, 3)
LANES = st.lists(st.integers(1, 5), min_size=2, max_size=2)


@st.composite
def terms(draw: st.DrawFn, lanes: bool = True) -> Affine:
    total = Affine(draw(st.integers(-6, 9))) + Affine.index(0) * draw(SMALL)
    for lane in range(2 if lanes else 0):
        total = total + Affine.lane(lane) * draw(SMALL)
    return total


@st.composite
def predicates(draw: st.DrawFn) -> Affine:
    found = draw(terms()) * draw(st.sampled_from([0, 1, 1, -1, 2]))
    sign = draw(st.sampled_from([1, -1, 2]))
    match draw(st.integers(0, 3)):
        case 0:
            return found + draw(terms()).mod(draw(st.integers(2, 4))) * sign
        case 1:
            return found + draw(terms()).floordiv(draw(st.integers(2, 4))) * sign
        case _:
            return draw(terms())


def is_mixed(predicate: Affine) -> bool:
    return not bounds_one_lane(predicate)


@st.composite
def boxes(draw: st.DrawFn) -> Affine:
    lane = Affine.lane(draw(st.integers(0, 1))) * draw(st.sampled_from([-2, -1, 1, 3]))
    return draw(terms(lanes=False)) + lane


@given(
    st.lists(predicates().filter(is_mixed), min_size=1, max_size=2),
    st.lists(boxes(), max_size=2),
    LANES,
)
def test_an_instruction_is_dropped_where_it_was(
    residual: list[Affine], bounds: list[Affine], lanes: list[int]
) -> None:
    try:
        guards = can_hold(residual, bounds, lanes)
    except ValueError:
        return
    assert not any(guard.lanes for guard in guards)
    for index in range(6):
        expected = clip([*bounds, *residual], lanes, (index,))
        found = clip([*bounds, *guards], lanes, (index,))
        assert (found is None) == (expected is None)


def test_a_remainder_of_one_value_is_its_value() -> None:
    odd = (Affine.lane(0) + Affine.index(0)).mod(2) - 1
    assert can_hold([odd], [], [1]) == [Affine.index(0).mod(2) - 1]


def test_a_whole_period_needs_no_predicate() -> None:
    odd = (Affine.lane(0) + Affine.index(0)).mod(2) - 1
    assert can_hold([odd], [], [2]) == []


def test_bounds_that_are_numbers_are_one() -> None:
    odd = (Affine.lane(0) + Affine.index(0)).mod(2) - 1
    rest = [Affine.lane(0) - 3, Affine.lane(0) - 1]
    assert can_hold([odd], rest, [4]) == [(Affine.index(0) + 1).mod(2) - 1]
