"""Cutting a transfer into descriptors loses no element and exceeds no limit."""

from collections.abc import Sequence
from math import prod

import pytest
from hypothesis import given, strategies as st

from xdsl_neuron.dialects.dma import (
    COUNT_MAX,
    RUN_BYTES_MAX,
    STEP_MAX,
    STRIDED_DIMS_MAX,
)
from xdsl_neuron.dialects.neuron import Access
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.geometry.pattern import Pattern
from xdsl_neuron.passes.descriptors import Side, copies, in_bytes, indexed_rows

PITCH = 1 << 20
"""Bytes of a partition in these tests; elements per partition divide it."""


def access(
    pairs: Sequence[tuple[int, int]], offset: int = 0, partition: int | None = None
) -> Access:
    start = None if partition is None else Affine(partition)
    return Access(Affine(offset), tuple(pairs), start)


def addresses(found: Access, element_bytes: int, in_elements: bool) -> list[int]:
    """The first byte of every element, in order."""
    unit = element_bytes if in_elements else 1
    if found.partition is None:
        return [unit * at for at in found.flat(0).addresses()]
    return [unit * at for at in found.flat(PITCH // unit).addresses()]


def check_limits(found: Access, element_bytes: int) -> None:
    pairs = [pair for pair in found.pairs if pair[1] > 1]
    if pairs and pairs[-1][0] == element_bytes and pairs[-1] is not found.pairs[0]:
        assert pairs.pop()[1] * element_bytes <= RUN_BYTES_MAX
    elif found.partition is None and pairs and pairs[-1][0] == element_bytes:
        assert pairs.pop()[1] * element_bytes <= RUN_BYTES_MAX
    assert len(pairs) <= STRIDED_DIMS_MAX
    assert all(num <= COUNT_MAX and abs(step) <= STEP_MAX for step, num in pairs)


def refined(draw: st.DrawFn, shape: list[int]) -> list[int]:
    """Another shape of as many elements: dimensions split and joined."""
    factors: list[int] = []
    for extent in shape:
        divisors = [d for d in range(1, extent + 1) if extent % d == 0]
        divisor = draw(st.sampled_from(divisors))
        factors += [divisor, extent // divisor]
    joined: list[int] = []
    for factor in factors:
        if joined and draw(st.booleans()):
            joined[-1] *= factor
        else:
            joined.append(factor)
    return joined


@st.composite
def sides(draw: st.DrawFn, shape: list[int], size: int) -> Side:
    """A side of this shape, mostly with natural steps, sometimes with others."""
    on_chip = draw(st.booleans()) and shape[0] <= 128
    steps: list[int] = []
    step = 1
    for extent in reversed(shape):
        steps.append(draw(st.sampled_from([step, step, step, 2 * step, 3, 0, -step])))
        step *= extent
    pairs = list(zip(reversed(steps), shape, strict=True))
    low = sum(min(0, s * (n - 1)) for s, n in pairs[on_chip:])
    offset = draw(st.integers(0, 5)) - low
    if not on_chip:
        return Side(access(pairs, offset), size)
    pairs[0] = (draw(st.sampled_from([1, 1, 2, 0])), shape[0])
    return Side(access(pairs, offset, draw(st.integers(0, 3))), size)


@st.composite
def transfers(draw: st.DrawFn) -> tuple[Side, Side]:
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    sizes = st.sampled_from([1, 2, 4])
    left = draw(sides(shape, draw(sizes)))
    right = draw(sides(refined(draw, shape), draw(sizes)))
    return left, right


@given(transfers(), st.booleans())
def test_copies_are_the_transfer(transfer: tuple[Side, Side], ordered: bool) -> None:
    left, right = transfer
    expected = list(
        zip(
            addresses(left.access, left.element_bytes, True),
            addresses(right.access, right.element_bytes, True),
            strict=True,
        )
    )
    found: list[tuple[int, int]] = []
    for to, of in copies((left, right), ordered):
        assert to.count == of.count
        check_limits(to, left.element_bytes)
        check_limits(of, right.element_bytes)
        found += zip(
            addresses(to, left.element_bytes, False),
            addresses(of, right.element_bytes, False),
            strict=True,
        )
    assert found == expected if ordered else sorted(found) == sorted(expected)


def test_a_long_run_is_one_descriptor_where_it_divides() -> None:
    side = Side(access([(1, 1 << 20)]), 4)
    ((left, right),) = copies((side, side), True)
    assert left == right
    assert left.pairs == ((65536, 64), (4, 16384))


def test_a_long_run_that_does_not_divide_leaves_a_rest() -> None:
    side = Side(access([(1, 65537)]), 1)
    found = [left for left, _ in copies((side, side), True)]
    assert found == [access([(1, 65536)]), access([(1, 1)], 65536)]


def test_many_strided_elements_are_counted_in_16_bits() -> None:
    left = Side(access([(2, 65537)]), 4)
    right = Side(access([(3, 65537)]), 4)
    found = [pair for pair, _ in copies((left, right), True)]
    assert sum(each.count for each in found) == 65537
    assert all(num <= COUNT_MAX for each in found for _, num in each.pairs)


def test_far_steps_are_enumerated() -> None:
    left = Side(access([(1 << 30, 3), (1, 4)]), 4)
    right = Side(access([(4, 3), (1, 4)]), 4)
    found = [left for left, _ in copies((left, right), False)]
    assert found == [access([(4, 4)], at << 32) for at in range(3)]


def test_the_shortest_dimension_is_enumerated() -> None:
    left = Side(access([(1, 128), (96, 8), (16, 3), (1, 4)], 0, 0), 4)
    right = Side(access([(1000, 128), (4, 8), (100, 3), (1, 4)]), 4)
    assert len(list(copies((left, right), False))) == 3
    assert len(list(copies((left, right), True))) == 128


@st.composite
def gathers(draw: st.DrawFn) -> tuple[Side, Side, Access]:
    """Rows in HBM, as many on chip one or two a partition, and their indices."""
    rows = draw(st.integers(1, 8))
    content = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    size = draw(st.sampled_from([1, 2, 4]))
    table = draw(
        sides([rows, *content], size).filter(lambda s: s.access.partition is None)
    )
    inner = prod(content)
    per_partition = draw(st.sampled_from([1, 1, 2 if rows % 2 == 0 else 1]))
    partitions = rows // per_partition
    free = refined(draw, content) if per_partition == 1 else [inner]
    pairs: list[tuple[int, int]] = []
    step = draw(st.integers(1, 2))
    for extent in reversed(free):
        pairs.append((step, extent))
        step *= extent
    if per_partition > 1:
        pairs.append((step, per_partition))
    chip = access([(1, partitions), *reversed(pairs)], 3, 1)
    index = access([(1, partitions), (1, per_partition)], 2, 1)
    return table, Side(chip, draw(st.sampled_from([1, 2, 4]))), index


@given(gathers(), st.data())
def test_indexed_rows_are_the_gather(
    gather: tuple[Side, Side, Access], data: st.DataObject
) -> None:
    table, chip, index = gather
    count = table.access.shape[0]
    numbers = data.draw(st.lists(st.integers(0, 9), min_size=count, max_size=count))
    picked = dict(zip(addresses(index, 4, True), numbers, strict=True))

    def pairs_of(rows: Access, other: Access, at: Access, scale: int) -> list[object]:
        """(byte in the table, byte on chip) of every element, in order."""
        step, _ = rows.pairs[0]
        content = Pattern(rows.offset.constant, rows.pairs[1:])
        chosen = [picked[a] for a in addresses(at, 4, scale != 1)]
        left = [
            (step * row + a) * (table.element_bytes if scale != 1 else 1)
            for row in chosen
            for a in content.addresses()
        ]
        right = addresses(other, chip.element_bytes, scale != 1)
        return list(zip(left, right, strict=True))

    expected = pairs_of(table.access, chip.access, index, 0)
    found: list[object] = []
    for rows, other, at in indexed_rows(table, chip, index):
        check_limits(rows, table.element_bytes)
        check_limits(other, chip.element_bytes)
        found += pairs_of(rows, other, at, 1)
    assert sorted(map(str, found)) == sorted(map(str, expected))


def test_rows_that_cannot_be_taken_apart_are_refused() -> None:
    table = Side(access([(7, 3), (2, 2), (3, 2)]), 4)
    chip = Side(access([(1, 4), (1, 3)], 0, 0), 4)
    with pytest.raises(ValueError, match="3 rows of shape"):
        list(indexed_rows(table, chip, access([(1, 3), (1, 1)], 0, 0)))


def test_in_bytes() -> None:
    assert in_bytes(access([(2, 3)], 5), 4) == access([(8, 3)], 20)
    assert in_bytes(access([(1, 8)], 5, 2), 4) == access([(1, 8), (4, 1)], 20, 2)
