"""`geometry.pattern` against NumPy's strided views and brute force over sets."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, strategies as st

from xdsl_neuron.geometry.pattern import ChipPattern, Pattern, align


def patterns(
    max_pairs: int = 4, max_num: int = 4, reach: int = 12, min_num: int = 0
) -> st.SearchStrategy[Pattern]:
    """Small patterns: any signs, zero steps, unit and (by default) empty pairs."""
    pair = st.tuples(st.integers(-reach, reach), st.integers(min_num, max_num))
    pairs = st.lists(pair, max_size=max_pairs).map(tuple)
    return st.builds(Pattern, st.integers(-20, 20), pairs)


def fusible_patterns() -> st.SearchStrategy[Pattern]:
    """Patterns made by cutting up the loops of another, so that much fuses."""

    def cut(pattern: Pattern, factors: list[int]) -> Pattern:
        pairs: list[tuple[int, int]] = []
        for (step, num), factor in zip(pattern.pairs, factors, strict=False):
            pairs += [(step * num, factor), (step, num)]
        return Pattern(pattern.start, tuple(pairs))

    factors = st.lists(st.integers(1, 3), min_size=3, max_size=3)
    return st.builds(cut, patterns(max_pairs=3, max_num=3, min_num=1), factors)


def listed(pattern: Pattern) -> list[int]:
    return list(pattern.addresses())


# The walk


@given(patterns(min_num=1))
def test_addresses_are_those_of_a_strided_view(pattern: Pattern) -> None:
    low, high = pattern.bounds()
    memory = np.arange(low, high + 1)
    view = np.lib.stride_tricks.as_strided(
        memory[pattern.start - low :],
        shape=pattern.shape,
        strides=[step * memory.itemsize for step, _ in pattern.pairs],
    )
    assert listed(pattern) == view.ravel().tolist()
    assert pattern.count == view.size


@given(patterns())
def test_count_bounds_and_within(pattern: Pattern) -> None:
    addresses = listed(pattern)
    assert pattern.count == len(addresses)
    if addresses:
        assert pattern.bounds() == (min(addresses), max(addresses))
    for size in range(30):
        assert pattern.within(size) == all(0 <= at < size for at in addresses)


def test_empty_pattern_has_no_bounds() -> None:
    with pytest.raises(ValueError, match="an empty access pattern has no bounds"):
        Pattern(0, ((1, 4), (1, 0))).bounds()


def test_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match=r"at least 0, got \(2, -1\)"):
        Pattern(0, ((1, 2), (1, -1)))


def test_dense() -> None:
    assert Pattern.dense((3, 4, 5), 7) == Pattern(7, ((20, 3), (5, 4), (1, 5)))
    assert Pattern.dense(()) == Pattern(0, ())
    assert listed(Pattern.dense((2, 3))) == [0, 1, 2, 3, 4, 5]
    assert Pattern.dense((2, 0)).count == 0


def test_patterns_are_values() -> None:
    assert len({Pattern.dense((2, 3)), Pattern(0, ((3, 2), (1, 3)))}) == 1


# Changes


@given(patterns(), st.integers(-9, 9))
def test_shift(pattern: Pattern, distance: int) -> None:
    assert listed(pattern.shift(distance)) == [at + distance for at in listed(pattern)]


@given(patterns(max_pairs=3), st.sampled_from([1, 2, 4]))
def test_scaled(pattern: Pattern, size: int) -> None:
    assert listed(pattern.scaled(size)) == [
        at * size + byte for at in listed(pattern) for byte in range(size)
    ]


@given(patterns(min_num=1), st.data())
def test_permuted(pattern: Pattern, data: st.DataObject) -> None:
    axes = data.draw(st.permutations(range(len(pattern.pairs))))
    array = np.array(listed(pattern)).reshape(pattern.shape)
    assert listed(pattern.permuted(axes)) == array.transpose(axes).ravel().tolist()


def test_permuted_refuses_what_is_not_an_order() -> None:
    with pytest.raises(ValueError, match=r"an order of 2 axes, got \(0, 0\)"):
        Pattern.dense((2, 3)).permuted((0, 0))


@given(patterns(min_num=1), st.data())
def test_restrict(pattern: Pattern, data: st.DataObject) -> None:
    array = np.array(listed(pattern)).reshape(pattern.shape)
    box: list[slice] = []
    part = pattern
    for dim, num in enumerate(pattern.shape):
        low = data.draw(st.integers(0, num))
        high = data.draw(st.integers(low, num))
        box.append(slice(low, high))
        part = part.restrict(dim, low, high)
    assert listed(part) == array[tuple(box)].ravel().tolist()


def test_restrict_refuses_a_range_outside() -> None:
    with pytest.raises(ValueError, match=r"within 0\.\.3, got 1\.\.4"):
        Pattern.dense((2, 3)).restrict(1, 1, 4)


# The normal form


@given(patterns() | fusible_patterns())
def test_normalise_keeps_the_walk(pattern: Pattern) -> None:
    normal = pattern.normalise()
    assert listed(normal) == listed(pattern)
    assert normal.normalise() == normal
    assert len(normal.pairs) <= max(1, len(pattern.pairs))


@given(fusible_patterns(), fusible_patterns())
def test_equal_walks_have_equal_normal_forms(a: Pattern, b: Pattern) -> None:
    assert (a.normalise() == b.normalise()) == (listed(a) == listed(b))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (((12, 2), (4, 3), (1, 4)), ((1, 24),)),
        (((16, 2), (4, 3), (1, 4)), ((16, 2), (1, 12))),
        (((5, 1), (4, 3), (9, 1), (1, 4), (7, 1)), ((1, 12),)),
        (((0, 2), (0, 3), (1, 4)), ((0, 6), (1, 4))),
        (((-3, 2), (-1, 3)), ((-1, 6),)),
        (((3, 2), (-1, 3)), ((3, 2), (-1, 3))),
        (((3, 2), (1, 0)), ((1, 0),)),
        (((3, 1), (8, 1)), ()),
    ],
)
def test_normal_forms(
    pairs: tuple[tuple[int, int], ...], expected: tuple[tuple[int, int], ...]
) -> None:
    assert Pattern(3, pairs).normalise() == Pattern(3, expected)


@given(patterns() | fusible_patterns())
def test_contiguous_run(pattern: Pattern) -> None:
    addresses = listed(pattern)
    run = min(1, len(addresses))
    while run < len(addresses) and addresses[run] == addresses[run - 1] + 1:
        run += 1
    found = pattern.contiguous_run()
    # A walk such as 0 1 | 2 4 has a longer first run by chance, never a shorter one.
    assert found <= run
    assert all(
        addresses[at + 1] == addresses[at] + 1
        for at in range(len(addresses) - 1)
        if (at + 1) % found
    )


# Sets of addresses


@given(patterns())
def test_is_injective(pattern: Pattern) -> None:
    addresses = listed(pattern)
    assert pattern.is_injective() == (len(set(addresses)) == len(addresses))


@given(patterns(max_pairs=6, max_num=3, reach=200, min_num=2))
def test_is_injective_of_many_pairs(pattern: Pattern) -> None:
    addresses = listed(pattern)
    assert pattern.is_injective() == (len(set(addresses)) == len(addresses))


@given(patterns(), st.integers(0, 12))
def test_covers(pattern: Pattern, size: int) -> None:
    addresses = set(listed(pattern))
    assert pattern.covers(size) == (addresses == set(range(size)))
    if addresses:
        moved = pattern.shift(-min(addresses))
        size = max(addresses) - min(addresses) + 1
        assert moved.covers(size) == (len(addresses) == size)


@given(st.permutations(range(3)), st.lists(st.integers(1, 4), min_size=3, max_size=3))
def test_a_permuted_dense_tensor_is_covered(axes: list[int], shape: list[int]) -> None:
    pattern = Pattern.dense(shape).permuted(axes)
    assert pattern.covers(prod(shape))
    assert pattern.is_injective()


@given(patterns(), patterns())
def test_overlaps(a: Pattern, b: Pattern) -> None:
    expected = not set(listed(a)).isdisjoint(listed(b))
    assert a.overlaps(b) == expected
    assert b.overlaps(a) == expected


@given(
    patterns(max_pairs=3, max_num=5, reach=300, min_num=1),
    patterns(max_pairs=3, max_num=5, reach=300, min_num=1),
    st.integers(-400, 400),
)
def test_overlaps_sparse(a: Pattern, b: Pattern, distance: int) -> None:
    b = b.shift(distance)
    assert a.overlaps(b) == (not set(listed(a)).isdisjoint(listed(b)))


@given(
    patterns(max_pairs=6, max_num=3, reach=1500, min_num=1),
    patterns(max_pairs=6, max_num=3, reach=1500, min_num=1),
)
def test_overlaps_of_six_pairs(a: Pattern, b: Pattern) -> None:
    assert a.overlaps(b) == (not set(listed(a)).isdisjoint(listed(b)))


def test_overlaps_every_small_pair_of_progressions() -> None:
    for step, other, num, other_num in product(range(1, 8), range(1, 8), (3, 5), (4,)):
        a = Pattern(0, ((step, num),))
        for start in range(-30, 40):
            b = Pattern(start, ((other, other_num),))
            assert a.overlaps(b) == (not set(listed(a)).isdisjoint(listed(b)))


MILLION = 10**6


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        pytest.param(
            Pattern(0, ((2 * MILLION, MILLION), (2, MILLION))),
            Pattern(1, ((2 * MILLION, MILLION), (2, MILLION))),
            False,
            id="even and odd columns",
        ),
        pytest.param(
            Pattern(0, ((2 * MILLION, MILLION), (1, MILLION))),
            Pattern(MILLION, ((2 * MILLION, MILLION), (1, MILLION))),
            False,
            id="left and right half of the columns",
        ),
        pytest.param(
            Pattern(0, ((2 * MILLION, MILLION), (1, MILLION + 1))),
            Pattern(MILLION, ((2 * MILLION, MILLION), (1, MILLION))),
            True,
            id="halves that share one column",
        ),
        pytest.param(
            Pattern(0, ((2 * MILLION, MILLION), (1, MILLION))),
            Pattern(5 * 2 * MILLION + 7, ((2 * MILLION, MILLION), (1, MILLION))),
            True,
            id="shifted windows",
        ),
        pytest.param(
            Pattern(4 * MILLION, ((-2 * MILLION, 3), (-2, MILLION))),
            Pattern(1, ((0, MILLION), (2, 2 * MILLION))),
            False,
            id="reversed, and repeated at odd addresses",
        ),
        pytest.param(
            Pattern(0, ((MILLION + 1, MILLION),)),
            Pattern(1, ((MILLION, MILLION), (1, MILLION // 2))),
            True,
            id="diagonal and left half",
        ),
        pytest.param(
            Pattern(0, ((MILLION + 1, MILLION // 2),)),
            Pattern(MILLION // 2, ((MILLION, MILLION), (1, MILLION // 2))),
            False,
            id="upper diagonal and right half",
        ),
        pytest.param(
            Pattern(0, ((10**9, 1000), (10**6, 500), (10**3, 500), (1, 500))),
            Pattern(500, ((10**9, 1000), (10**6, 900), (10**3, 900), (1, 500))),
            False,
            id="tiles of rank four beside each other",
        ),
        pytest.param(
            Pattern(0, ((6, MILLION), (10, MILLION), (15, MILLION))),
            Pattern(29, ((10**9, MILLION),)),
            False,
            id="the largest sum that 6, 10 and 15 miss",
        ),
    ],
)
def test_overlaps_of_huge_patterns(a: Pattern, b: Pattern, expected: bool) -> None:
    assert a.overlaps(b) is expected
    assert b.overlaps(a) is expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (10**5 * MILLION - 10**5 - 1, False),
        (10**5 * MILLION - 10**5, True),
        (10**5 * MILLION + 77_777, True),
        (10**5 * MILLION + 10**5, True),
        (10**5 * MILLION + 10**5 + 1, False),
    ],
)
def test_overlaps_of_nearly_equal_steps(address: int, expected: bool) -> None:
    """Sums of k steps are k million plus or minus k, with gaps up to k = 500000."""
    steps = (MILLION - 1, -MILLION, MILLION + 1)
    walk = Pattern(MILLION**2, tuple((step, MILLION + 1) for step in steps))
    assert walk.overlaps(Pattern(address)) is expected
    assert walk.overlaps(Pattern(address, ((0, 5),))) is expected


def test_huge_patterns_are_injective_and_cover() -> None:
    dense = Pattern.dense((1000, 1000, 1000, 1000)).permuted((2, 0, 3, 1))
    assert dense.is_injective()
    assert dense.covers(10**12)
    assert not dense.covers(10**12 - 1)
    windows = Pattern(0, ((MILLION, MILLION), (1, MILLION + 1)))
    assert not windows.is_injective()
    assert windows.covers(10**12 + 1)
    assert Pattern(0, ((MILLION + 1, MILLION), (MILLION, MILLION))).is_injective()
    assert not Pattern(
        0, ((MILLION, MILLION), (MILLION - 1, MILLION + 1))
    ).is_injective()


# Splitting


@given(
    patterns(max_num=7) | fusible_patterns(),
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(1, 9) | st.none(),
)
def test_split(pattern: Pattern, pairs: int, num: int, inner: int | None) -> None:
    parts = list(pattern.split(pairs, num, inner))
    assert [at for part in parts for at in part.addresses()] == listed(pattern)
    for part in parts:
        assert len(part.pairs) <= pairs
        assert all(size <= num for size in part.shape[:-1])
        assert all(size <= (inner or num) for size in part.shape[-1:])


def test_split_keeps_what_fits() -> None:
    rows = Pattern(5, ((1000, 128), (1, 1000)))
    assert list(rows.split(2, 128000)) == [Pattern(5, ((1, 128000),))]
    assert list(rows.split(2, 65535)) == [Pattern(5, ((64000, 2), (1, 64000)))]
    assert list(Pattern(5, ((2000, 9), (1, 9))).split(2, 9)) == [
        Pattern(5, ((2000, 9), (1, 9)))
    ]


def test_split_factors_before_it_cuts() -> None:
    run = Pattern(0, ((1, 3 * 65536),))
    assert list(run.split(3, 65535, 65536)) == [Pattern(0, ((65536, 3), (1, 65536)))]
    assert list(Pattern(0, ((1, 65537),)).split(3, 65535, 65536)) == [
        Pattern(0, ((1, 65536),)),
        Pattern(65536),
    ]
    assert list(Pattern(0, ((3, 7), (1, 2))).split(2, 4)) == [
        Pattern(0, ((3, 4), (1, 2))),
        Pattern(12, ((3, 3), (1, 2))),
    ]


def test_split_of_a_huge_pattern_is_lazy() -> None:
    pattern = Pattern.dense((10**6, 10**6, 2)).permuted((1, 0, 2))
    parts = pattern.split(3, 65535)
    assert next(parts).count > 65535


@pytest.mark.parametrize("limits", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_split_refuses_limits_below_one(limits: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="limits of at least 1"):
        next(Pattern.dense((2,)).split(*limits))


# Two patterns at once


@st.composite
def equal_counts(draw: st.DrawFn) -> tuple[Pattern, Pattern]:
    """Two patterns whose shapes multiply to the same count in different ways."""
    primes = draw(st.lists(st.sampled_from([1, 2, 3, 5]), max_size=5))

    def side() -> Pattern:
        shape = [1] * draw(st.integers(1, 4))
        for prime in draw(st.permutations(primes)):
            shape[draw(st.integers(0, len(shape) - 1))] *= prime
        dense = draw(st.booleans())
        steps = [
            step if dense else draw(st.integers(-9, 9))
            for step, _ in Pattern.dense(shape).pairs
        ]
        return Pattern(draw(st.integers(-9, 9)), tuple(zip(steps, shape, strict=True)))

    return side(), side()


@given(equal_counts())
def test_align(sides: tuple[Pattern, Pattern]) -> None:
    a, b = sides
    walk: list[tuple[int, int]] = []
    for nest in align(a, b):
        part_a = Pattern(nest.start_a, tuple(zip(nest.steps_a, nest.nums, strict=True)))
        part_b = Pattern(nest.start_b, tuple(zip(nest.steps_b, nest.nums, strict=True)))
        walk += zip(part_a.addresses(), part_b.addresses(), strict=True)
        assert 1 not in nest.nums
        for outer, inner in zip(range(99), range(1, len(nest.nums)), strict=False):
            num = nest.nums[inner]
            assert (
                nest.steps_a[outer] != nest.steps_a[inner] * num
                or nest.steps_b[outer] != nest.steps_b[inner] * num
            )
    assert walk == list(zip(listed(a), listed(b), strict=True))


def test_align_is_one_nest_where_the_shapes_refine() -> None:
    tile = Pattern(0, ((1000, 128), (1, 512)))
    blocks = Pattern(7, ((4096, 8), (2048, 2), (2, 4096)))
    assert list(align(tile, blocks)) == [
        ((16, 8, 512), 0, (8000, 1000, 1), 7, (2048, 1024, 2))
    ]
    assert list(align(Pattern.dense((6, 4)), Pattern.dense((3, 8)))) == [
        ((24,), 0, (1,), 0, (1,))
    ]
    assert list(
        align(Pattern(0, ((10, 6), (1, 4))), Pattern(0, ((9, 12), (1, 2))))
    ) == [((6, 2, 2), 0, (10, 2, 1), 0, (18, 9, 1))]


def test_align_cuts_where_they_do_not() -> None:
    a, b = Pattern(0, ((10, 2), (1, 3))), Pattern(0, ((100, 3), (7, 2)))
    assert list(align(a, b)) == [
        ((2,), 0, (1,), 0, (7,)),
        ((), 2, (), 100, ()),
        ((), 10, (), 107, ()),
        ((2,), 11, (1,), 200, (7,)),
    ]


def test_align_of_huge_patterns() -> None:
    a = Pattern(0, ((2 * MILLION, MILLION), (1, MILLION)))
    b = Pattern(0, ((2 * 10**9, 1000), (1, 10**9)))
    assert list(align(a, b)) == [
        (
            (1000, 1000, MILLION),
            0,
            (2 * 10**9, 2 * MILLION, 1),
            0,
            (2 * 10**9, MILLION, 1),
        )
    ]


def test_align_refuses_different_counts() -> None:
    with pytest.raises(ValueError, match="expected equal counts, got 6 and 8"):
        next(align(Pattern.dense((6,)), Pattern.dense((8,))))


def test_align_of_empty_and_of_single_elements() -> None:
    assert list(align(Pattern.dense((0, 3)), Pattern.dense((0,)))) == []
    assert list(align(Pattern(4), Pattern.dense((1, 1), 9))) == [((), 4, (), 9, ())]


# On chip


def test_chip_pattern_is_flat_with_a_pitch() -> None:
    tile = ChipPattern(32, 2, 3, 10, ((4, 2), (1, 3)))
    assert tile.flat(100) == Pattern(3210, ((200, 3), (4, 2), (1, 3)))


@pytest.mark.parametrize(
    ("tile", "reason"),
    [
        (ChipPattern(0, 1, 128, 0, ((1, 512),)), None),
        (ChipPattern(0, 1, 128, 511, ()), None),
        (ChipPattern(200, 1, 0, 0, ((1, 600),)), None),
        (
            ChipPattern(64, 1, 65, 0, ((1, 512),)),
            "partitions 64..128 are outside of 0..127",
        ),
        (
            ChipPattern(0, 1, 128, 1, ((1, 512),)),
            "free elements 1..512 are outside of 0..511",
        ),
        (
            ChipPattern(0, 1, 1, 3, ((-1, 5),)),
            "free elements -1..3 are outside of 0..511",
        ),
    ],
)
def test_chip_pattern_fits(tile: ChipPattern, reason: str | None) -> None:
    assert tile.fits(128, 512) == reason
