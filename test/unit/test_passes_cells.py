"""Sets of elements as bits are the sets."""

from collections.abc import Sequence

from hypothesis import given, strategies as st

from xdsl_neuron.analysis.cells import accesses_of, cells, cells_of
from xdsl_neuron.dialects.neuron import Access
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.pattern import Pattern


def members(found: int) -> set[int]:
    return {at for at in range(found.bit_length()) if found >> at & 1}


PAIRS = st.lists(st.tuples(st.integers(-6, 9), st.integers(1, 7)), max_size=4)


@given(PAIRS, st.integers(1, 4))
def test_cells_are_the_addresses(pairs: Sequence[tuple[int, int]], width: int) -> None:
    start = -sum(min(0, step * (num - 1)) for step, num in pairs)
    pattern = Pattern(start, tuple(pairs))
    expected = {at + i for at in pattern.addresses() for i in range(width)}
    assert members(cells(start, tuple(pairs), width)) == expected


def test_cells_of_another_type() -> None:
    """Two-byte cells of four-byte elements; a partition has 16 bytes."""
    access = Access(Affine(1), ((1, 2), (2, 2)), Affine(1))
    assert members(cells_of(access, 16, 4, 2)) == {10, 11, 14, 15, 18, 19, 22, 23}


@given(st.integers(0, (1 << 60) - 1))
def test_accesses_cover_the_set_once(found: int) -> None:
    pieces = accesses_of(found, 12, 5, 1)
    assert pieces is not None
    covered = [at for piece in pieces for at in piece.flat(12).addresses()]
    assert len(covered) == len(set(covered))
    assert set(covered) == members(found)


@given(st.integers(0, (1 << 30) - 1))
def test_accesses_of_elements_of_two_cells(found: int) -> None:
    doubled = sum(3 << 2 * at for at in members(found))
    pieces = accesses_of(doubled, 12, 5, 2)
    assert pieces is not None
    covered = [at for piece in pieces for at in piece.flat(6).addresses()]
    assert set(covered) == members(found)


def test_half_an_element_is_no_access() -> None:
    assert accesses_of(0b1110, 12, 5, 2) is None


def test_regular_sets_are_one_access() -> None:
    columns = cells(1, ((12, 5), (3, 4)), 1)
    pieces = accesses_of(columns, 12, 5, 1)
    assert pieces is not None
    assert list(pieces) == [Access(Affine(1), ((1, 5), (3, 4)), Affine(0))]
