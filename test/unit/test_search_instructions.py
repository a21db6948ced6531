"""The 8-wide search in the machine, against a search in Python."""

import ml_dtypes
import numpy as np
from machines import Array, compute, random, run

SHAPE, VALUES = "16x4x10xf32", "16x8xf32"


def places(x: Array, values: Array, order: range) -> Array:
    """Where each value first occurs, each place used once; -1 where nowhere."""
    found = np.full(values.shape, -1, np.int64)
    for row in range(x.shape[0]):
        used: set[int] = set()
        for column in order:
            hits = np.flatnonzero(x[row] == values[row, column])
            free = [int(hit) for hit in hits if int(hit) not in used]
            if free:
                found[row, column] = free[0]
                used.add(free[0])
    return found


def sample() -> tuple[Array, Array]:
    """Data with repeated values, and 8 values of which some repeat or are absent."""
    a = np.round(random((16, 4, 10)) * 4)
    values = a.reshape(16, 40)[:, :8].copy()
    values[:, 3] = 1000.0
    values[:, 5] = values[:, 4]
    return a, values


def test_eight_largest() -> None:
    a = random((16, 4, 10))
    text = compute("penguin.sunda_max8 %t <- %x0", SHAPE, out="16x8xbf16")
    (result,) = run(text, a)
    expected = np.sort(a.reshape(16, 40), axis=1)[:, :-9:-1]
    assert np.array_equal(result, expected.astype(ml_dtypes.bfloat16))


def test_eight_largest_of_four_free_dimensions() -> None:
    """Rank 5 is legal in every generation (nki.isa.max8, 2.26 and 2.33)."""
    a = random((16, 3, 4, 5, 6))
    access = "%x0[0, 0][1 x 16, 120 x 2, 30 x 3, 6 x 4, 1 x 5]"
    text = compute(
        f"penguin.sunda_max8 %t <- {access}", "16x3x4x5x6xf32", out="16x8xf32"
    )
    (result,) = run(text, a)
    part = a[:, :2, :3, :4, :5].reshape(16, -1)
    assert np.array_equal(result, np.sort(part, axis=1)[:, :-9:-1])


def test_indices_of_values() -> None:
    a, values = sample()
    body = "penguin.sunda_max_index8 %t <- %x0, %x1"
    expected = places(a.reshape(16, 40), values, range(8))
    for kind, dtype in (("u32", np.uint32), ("u16", np.uint16)):
        text = compute(body, SHAPE, VALUES, out=f"16x8x{kind}")
        (result,) = run(text, a, values)
        assert np.array_equal(result, expected.astype(dtype))


def test_values_are_replaced_from_the_last() -> None:
    a, values = sample()
    body = "penguin.sunda_match_replace8 %t <- %x0, %x1 {imm = -inf}"
    (result,) = run(compute(body, SHAPE, VALUES, out="16x8x5xf32"), a, values)
    expected = a.reshape(16, 40).copy()
    for row, found in enumerate(places(expected, values, range(7, -1, -1))):
        expected[row, found[found >= 0]] = -np.inf
    assert np.array_equal(result.reshape(16, 40), expected)


def test_replacing_tells_the_places() -> None:
    a, values = sample()
    body = (
        "penguin.max_index_and_match_replace %x0, %t <- %x0, %x1 {imm = 0.0}\n"
        "penguin.sunda_max_index8 %t <- %x0, %x1"
    )
    first = compute(body.splitlines()[0], SHAPE, VALUES, out="16x8xu16")
    (result,) = run(first, a, values)
    found = places(a.reshape(16, 40), values, range(7, -1, -1))
    assert np.array_equal(result, found.astype(np.uint16))
    # In place: what is searched afterwards has the zeros.
    (again,) = run(compute(body, SHAPE, VALUES, out="16x8xu16"), a, values)
    replaced = a.reshape(16, 40).copy()
    for row, at in enumerate(found):
        replaced[row, at[at >= 0]] = 0
    assert np.array_equal(again, places(replaced, values, range(8)).astype(np.uint16))
