"""Random numbers in the machine: the generator's own words, and their uses."""

from typing import Any

import numpy as np
import pytest
from kernel_pieces import nisa, nl, saved, tile
from machines import Array, compute, random, run

import xdsl_neuron.nki as nki
from xdsl_neuron.numerics.random import (
    Generator,
    lfsr,
    pcg32,
    philox,
    seed_state,
    uniform,
    xorwow,
)
from xdsl_neuron.testing import assert_kernel_ok

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


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("kind", ["u8", "i16", "u32", "u64"])
@pytest.mark.parametrize(
    ("algorithm", "generator"), [("LFSR", lfsr), ("PCG32", pcg32), ("PHILOX_1", philox)]
)
def test_bits_of_a_published_generator(
    algorithm: str, generator: Generator, kind: str, steps: int
) -> None:
    """Every `steps`-th word, cut to the type; the state goes on where it stopped."""
    given = state(6)
    given[0] = 0xFFFFFFFF
    given[1] = [0, 0, 0, 0, 0, 1]
    body = f"""
    %w = penguin.alloc : <16x6xu32, sbuf>
    penguin.rand {algorithm} %t[0, 0][1 x 16, 1 x 12], %w <- %x0
        {{rand_num_steps = {steps}}}
    penguin.rand {algorithm} %t[0, 12][1 x 16, 1 x 1], %w <- %w
        {{rand_num_steps = {steps}}}
    """
    (result,) = run(compute(body, "16x6xu32", out=f"16x13x{kind}"), given)
    words, advanced = 2 if kind == "u64" else 1, given.copy()
    expected: list[Array] = []
    for count in (12, 1):
        drawn = generator(advanced, count * words * steps)[:, steps - 1 :: steps]
        drawn = drawn.astype(np.uint64)
        if words == 2:
            drawn = drawn[:, ::2] | (drawn[:, 1::2] << np.uint64(32))
        expected.append(drawn.astype(result.dtype))
    assert np.array_equal(result, np.concatenate(expected, axis=1))


def test_known_words_of_pcg32() -> None:
    """The multiplier and increment of the published generator, from state 0."""
    body = "penguin.rand PCG32 %t, %x0 <- %x0"
    text = compute(body, "1x6xu32", out="1x2xu32")
    (result,) = run(text, np.zeros((1, 6), np.uint32))
    value = 0x14057B7EF767814F
    mixed, turn = (((value >> 18) ^ value) >> 27) & 0xFFFFFFFF, value >> 59
    second = ((mixed >> turn) | (mixed << (32 - turn))) & 0xFFFFFFFF
    assert result.tolist() == [[0, second]]


@pytest.mark.parametrize(("engine", "words"), [("Pool", 6), ("DVE", 24)])
def test_every_generation_gets_a_state(engine: str, words: int) -> None:
    given = state(words)
    given[0] = 0xFFFFFFFF
    body = f"penguin.get_rand_state %t <- %x0 {{engine = {engine}}}"
    (result,) = run(compute(body, f"16x{words}xu32", out=f"16x{words}xu32"), given)
    assert np.array_equal(result, given)


@pytest.mark.parametrize(
    ("target", "name"), [("trn1", "get_rand_state"), ("trn2", "rand_get_state")]
)
def test_the_language_reads_a_state(target: str, name: str) -> None:
    def kernel() -> Any:
        words = tile(128, 6, dtype=nl.uint32)
        nisa.rand_get_state(words)
        return saved(words)

    made = nki.jit(platform_target=target)(kernel)
    assert f"penguin.{name} " in str(made.trace())
    assert_kernel_ok(made, expected=seed_state(0, 128, 6))
