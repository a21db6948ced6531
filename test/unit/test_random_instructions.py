"""Random numbers in the machine: the generator's own words, and their uses."""

import numpy as np
from machines import Array, compute, random, run

from xdsl_neuron.numerics.random import seed_state, uniform, xorwow

F32 = np.float32


def state(words: int = 24, partitions: int = 16) -> Array:
    return seed_state(42, partitions, words)


def test_bits_are_those_of_the_generator() -> None:
    given = state(6)
    body = "penguin.rng %t, %x0 <- %x0 {engine = Pool}"
    (result,) = run(compute(body, "16x6xu32", out="16x4x10xu16"), given)
    expected = xorwow(given.copy(), 40).astype(np.uint16)
    assert np.array_equal(result.reshape(16, 40), expected)


def test_the_state_goes_on() -> None:
    given = state()
    body = """
    %w = penguin.alloc : <16x24xu32, sbuf>
    penguin.rng %t[0, 0][1 x 16, 1 x 24], %w <- %x0
    penguin.rng %t[0, 24][1 x 16, 1 x 24], %w <- %w
    """
    (result,) = run(compute(body, "16x24xu32", out="16x48xu32"), given)
    assert np.array_equal(result, xorwow(given.copy(), 48))


def test_uniform_numbers_between_bounds() -> None:
    given, low = state(), random((16, 1))
    body = "penguin.rand2 %t, %x0 <- %x0, low = %x1 {high_imm = 5.0}"
    (result,) = run(compute(body, "16x24xu32", "16x1xf32", out="16x40xf32"), given, low)
    unit = uniform(xorwow(given.copy(), 40))
    assert np.array_equal(result, unit * (F32(5) - low) + low)
    assert np.all((result >= low) & (result < 5))


def test_a_seed_is_spread() -> None:
    seed = np.array([[7]], np.uint32)
    body = "penguin.set_rng_seed %t <- %x0"
    (result,) = run(compute(body, "1x1xu32", out="16x24xu32"), seed)
    assert np.array_equal(result, seed_state(7, 16, 24))


def test_a_state_of_zeros_gets_a_word() -> None:
    given = state(6)
    given[3] = 0
    body = "penguin.rand_set_state %t <- %x0 {engine = Pool}"
    (result,) = run(compute(body, "16x6xu32", out="16x6xu32"), given)
    assert result[3].tolist() == [1, 0, 0, 0, 0, 0]
    assert np.array_equal(np.delete(result, 3, 0), np.delete(given, 3, 0))
    body = "penguin.rand_get_state %t <- %x0 {engine = Pool}"
    (result,) = run(compute(body, "16x6xu32", out="16x6xu32"), given)
    assert np.array_equal(result, given)


def test_dropout_drops_below_the_probability() -> None:
    a, given, p = random((16, 4, 10)), state(), np.linspace(0, 1, 16, dtype=F32)
    for keep in (False, True):
        body = "penguin.dropout_mask %t, %x1 <- %x0, %x1, probability = %x2"
        if keep:
            body += " {keep_threshold}"
        text = compute(body, "16x4x10xf32", "16x24xu32", "16x1xf32", out="16x4x10xf32")
        (result,) = run(text, a, given, p[:, None])
        below = uniform(xorwow(given.copy(), 40)).reshape(a.shape) < p[:, None, None]
        assert np.array_equal(result, np.where(below == keep, a, F32(0)))


def test_a_mask_leaves_states_alone() -> None:
    given = state()
    body = """
    penguin.memset %t {value = 3}
    penguin.rng %t[0, 0][1 x 16, 1 x 8], %x0 <- %x0 where 4 - l0 >= 0
    penguin.tensor_copy %t[0, 8][1 x 16, 1 x 24] <- %x0
    """
    (result,) = run(compute(body, "16x24xu32", out="16x32xu32"), given)
    advanced = given.copy()
    expected = np.full((16, 8), 3, np.uint32)
    words = advanced[:5].copy()
    expected[:5] = xorwow(words, 8)
    advanced[:5] = words
    assert np.array_equal(result, np.concatenate([expected, advanced], axis=1))
