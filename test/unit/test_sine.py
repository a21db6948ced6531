"""The instruction's sine ends at pi, the language's does not."""

from typing import Any

import numpy as np
from kernel_pieces import F32, fl, loaded, nisa, nl, saved, stored, tile

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.isa as functional_isa
from xdsl_neuron.testing import assert_kernel_ok

fisa: Any = functional_isa
X = np.array([[9.0, -9.0, 3.0, -1.0, 4.0, 40.0]], F32)
PAST = np.abs(X.astype(np.float64)) - np.pi
# nki.api.shared of 2.32: sin(9) is about 27.65, on the cubic about pi.
ENDS = np.where(PAST > 0, np.sign(X) * (PAST**3 / 6 - PAST), np.sin(X)).astype(F32)


def test_an_activation_has_no_range_reduction() -> None:
    def kernel(x: Any) -> Any:
        x = loaded(x)
        plain, scaled, two = (tile(*x.shape) for _ in range(3))
        row = tile(1, 1)
        nisa.activation(plain, nl.sin, x)
        nisa.activation_reduce(scaled, nl.sin, x, nl.add, row, scale=1.0)
        nisa.activate2(two, nl.sin, x, 1.0, 0.0, nl.multiply, nl.bypass)
        return saved(plain), saved(scaled), saved(nl.sin(x)), saved(nl.cos(x))

    def value(x: Any) -> Any:
        x = fl.load(x)
        return stored(fisa.activation(np.sin, x)), stored(fl.sin(x))

    assert 27.6 < ENDS[0, 0] < 27.7
    exact = np.sin(X.astype(np.float64)).astype(F32)
    cosine = np.cos(X.astype(np.float64)).astype(F32)
    assert_kernel_ok(
        nki.jit(platform_target="trn3")(kernel), X,
        expected=(ENDS, ENDS, exact, cosine), rtol=1e-5, atol=1e-5,
    )  # fmt: skip
    assert_kernel_ok(
        functional.jit(value), X, expected=(ENDS, exact), rtol=1e-5, atol=1e-5
    )


def test_the_language_keeps_large_arguments_in_range() -> None:
    a = (F32(10) ** np.arange(9, dtype=F32)).reshape(1, 9)

    def kernel(x: Any) -> Any:
        return saved(nl.sin(loaded(x)))

    found = nki.simulate(nki.jit(kernel))(a)
    assert np.abs(found).max() <= 1
