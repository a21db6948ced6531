"""Random numbers in kernels: the generator's own words, and their states."""

from typing import Any

import numpy as np
from kernel_pieces import (
    F32,
    both,
    fl,
    loaded,
    nisa,
    nl,
    normal,
    saved,
    stored,
    tile,
)

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.isa as functional_isa
from xdsl_neuron.numerics.random import seed_state, uniform, xorwow
from xdsl_neuron.testing import assert_kernel_ok

fisa: Any = functional_isa

P, F = 32, 40


def test_dropout() -> None:
    a = normal(P, F)
    words = xorwow(seed_state(0, 128, 24), F)[:P]
    expected = np.where(uniform(words) < F32(0.25), 0, a), 0 * a, a

    def destination(x: Any) -> Any:
        outs = [tile(P, F) for _ in range(3)]
        given = loaded(x)
        for out, rate in zip(outs, (0.25, 1.0, 0.0), strict=True):
            nisa.dropout(out, given, rate)
        return tuple([saved(out) for out in outs])

    def value(x: Any) -> Any:
        given = fl.load(x)
        return tuple(
            [
                stored(function(given, rate))
                for function, rate in (
                    (fisa.dropout, 0.25),
                    (fl.dropout, 1.0),
                    (fl.dropout, 0.0),
                )
            ]
        )

    both(destination, value, a, expected=expected)


def test_random_states() -> None:
    state = seed_state(42, P, 6)
    seeded = xorwow(seed_state(9, 128, 24), F)[:P]

    def destination(x: Any) -> Any:
        words, bits = tile(P, F, dtype=nl.uint32), tile(P, F, dtype=nl.uint32)
        after, seed = tile(P, 6, dtype=nl.uint32), tile(1, 1, dtype=nl.int32)
        nisa.rand_set_state(loaded(x))
        nisa.rng(words, engine=nisa.gpsimd_engine)
        nisa.rand_get_state(after)
        nisa.memset(seed, 9)
        nisa.set_rng_seed(seed)
        nisa.rng(bits)
        return saved(words), saved(after), saved(bits)

    after = state.copy()
    words = xorwow(after, F)
    assert_kernel_ok(nki.jit(destination), state, expected=(words, after, seeded))

    def value(x: Any) -> Any:
        fl.random_seed(9)
        return stored(fl.rand((P, F)) + 0.0 * fl.load(x))

    zeros = np.zeros((P, F), F32)
    assert_kernel_ok(functional.jit(value), zeros, expected=uniform(seeded))


def test_random_numbers_in_a_loop_go_on() -> None:
    words = xorwow(seed_state(0, 128, 24), 2 * F)[:P]
    a = normal(P, F)

    def value(x: Any) -> Any:
        out = fl.ndarray((2, P, F), dtype=fl.float32, buffer=fl.shared_hbm)
        for k in fl.sequential_range(2):
            fl.store(out[k], fl.dropout(fl.load(x), 0.5))
        return out

    keep = np.stack([uniform(words[:, k * F : (k + 1) * F]) >= 0.5 for k in (0, 1)])
    assert_kernel_ok(functional.jit(value), a, expected=np.where(keep, a, 0))


def test_uniform_between_bounds() -> None:
    @nki.jit(platform_target="trn3")
    def kernel(x: Any) -> Any:
        dst = tile(P, F)
        nisa.rand2(dst, -1.0, loaded(x))
        return saved(dst)

    high = np.full((P, 1), 3, F32)
    unit = uniform(xorwow(seed_state(0, 128, 24), F)[:P])
    assert_kernel_ok(kernel, high, expected=unit * 4 - 1, atol=1e-6)
