"""Types of uniform numbers and of dropout, as their pages list them."""

from typing import Any

import numpy as np
import pytest
from kernel_pieces import fl, loaded, nisa, nl, normal, saved, stored, tile

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.isa as functional_isa
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

fisa: Any = functional_isa
P, F = 32, 24
FLOATS = ("float8_e4m3", "float8_e5m2", "float16", "bfloat16", "float32", "tfloat32")
INTEGERS = ("int8", "int16", "int32", "uint8", "uint16", "uint32")


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_uniform_numbers_of_every_type(name: str) -> None:
    def kernel() -> Any:
        dst, wide = tile(P, F, dtype=getattr(nl, name)), tile(P, F)
        nisa.rand2(dst, 10.0, 20.0)
        nisa.tensor_copy(wide, dst)
        return saved(wide)

    found = assert_kernel_ok(nki.jit(kernel))
    assert np.all((found >= 10) & (found <= 20))
    assert len(np.unique(found)) > 4


@pytest.mark.parametrize("chance", FLOATS)
def test_probabilities_of_floats(chance: str) -> None:
    x = normal(P, F)

    def kernel(x: Any) -> Any:
        dst, share = tile(P, F), tile(P, 1, dtype=getattr(nl, chance))
        nisa.memset(share, 0.5)
        nisa.dropout(dst, loaded(x), share)
        return saved(dst)

    found = assert_kernel_ok(nki.jit(kernel), x)
    assert np.all((found == x) | (found == 0))
    assert 0.3 < np.mean(found == 0) < 0.7


def test_the_probability_of_integers() -> None:
    def kernel(x: Any) -> Any:
        dst, share = tile(P, F, dtype=x.dtype), tile(P, 1, dtype=nl.bfloat16)
        nisa.memset(share, 0.5)
        nisa.dropout(dst, loaded(x), share)
        return saved(dst)

    with pytest.raises(NKIError, match="following dtypes: float32"):
        nki.trace(nki.jit(kernel))(np.ones((P, F), np.int16))


def test_the_result_type_of_generation_0_1() -> None:
    x = normal(P, F)

    def kernel(x: Any) -> Any:
        return stored(fisa.dropout(fl.load(x), 0.0, dtype=fl.bfloat16))

    found = assert_kernel_ok(functional.jit(kernel), x)
    assert str(found.dtype) == "bfloat16"
    assert np.array_equal(found, x.astype(found.dtype))
