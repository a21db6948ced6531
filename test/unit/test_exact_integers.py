"""32-bit integers beyond 2^24: exact on GpSIMD, which is where they go by default."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_pieces import F32, Array, fl, loaded, nisa, nl, saved, stored, tile

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

BIG = 2**24
A = np.array([[BIG + 1, BIG + 3, -BIG - 1, 2**31 - 1, 0, -7]], np.int32)
B = np.array([[BIG, BIG + 3, -BIG, 2**31 - 2, 5, -7]], np.int32)
COMPARES: dict[str, Callable[[Any, Any], Array]] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}
OPS = COMPARES | {
    "maximum": np.maximum,
    "minimum": np.minimum,
    "add": np.add,
    "logical_xor": np.logical_xor,
}


def through_fp32(op: str, a: Array, b: Array) -> Array:
    found = OPS[op](a.astype(F32), b.astype(F32)).astype(np.float64)
    return np.clip(found, -(2**31), 2**31 - 1).astype(np.int32)


@pytest.mark.parametrize("kind", [np.int32, np.uint32])
@pytest.mark.parametrize("name", OPS)
def test_by_default(name: str, kind: Any) -> None:
    def kernel(x: Any, y: Any) -> Any:
        x, y = loaded(x), loaded(y)
        dst = tile(*x.shape, dtype=x.dtype)
        nisa.tensor_tensor(dst, x, y, getattr(nl, name))
        # Comparisons of the language have their operands' type (2.29), so are exact.
        return saved(dst), saved(getattr(nl, name)(x, y))

    a, b = A.astype(kind), B.astype(kind)
    with np.errstate(over="ignore"):
        found = OPS[name](a, b).astype(kind)
    assert_kernel_ok(nki.jit(kernel), a, b, expected=(found, found))


def test_power() -> None:
    a, b = np.array([[3, -3, 2, 1, -1, 0]] * 2), np.array([[20, 19, -1, -4, -3, 0]] * 2)

    def kernel(x: Any, y: Any) -> Any:
        return saved(nl.power(loaded(x), loaded(y)))

    low = np.array([[3**20 - 2**32, -(3**19), 0, 1, -1, 1]] * 2, np.int32)
    assert_kernel_ok(
        nki.jit(kernel), a.astype(np.int32), b.astype(np.int32), expected=low
    )


@pytest.mark.parametrize("name", OPS)
def test_the_vector_engine_goes_through_fp32(name: str) -> None:
    """Asked for, with an operand in PSUM, and where a tile is no 32-bit integer."""

    def kernel(x: Any, y: Any) -> Any:
        x, y = loaded(x), loaded(y)
        asked, from_psum = (tile(*x.shape, dtype=nl.int32) for _ in range(2))
        nisa.tensor_tensor(asked, x, y, getattr(nl, name), engine=nisa.engine.vector)
        bank = nl.ndarray(x.shape, nl.int32, buffer=nl.psum)
        nisa.tensor_copy(bank, x)
        nisa.tensor_tensor(from_psum, bank, y, getattr(nl, name))
        wide = tile(*x.shape)
        nisa.tensor_tensor(wide, x, y, getattr(nl, name))
        return saved(asked), saved(from_psum), saved(wide)

    found = through_fp32(name, A, B)
    wide = OPS[name](A.astype(F32), B.astype(F32)).astype(F32)
    assert_kernel_ok(nki.jit(kernel), A, B, expected=(found, found, wide))


def test_gpsimd_does_not_reach_psum() -> None:
    def kernel(x: Any, y: Any) -> Any:
        bank = nl.ndarray(x.shape, nl.int32, buffer=nl.psum)
        nisa.tensor_copy(bank, loaded(x))
        dst = tile(*x.shape, dtype=nl.int32)
        nisa.tensor_tensor(dst, bank, loaded(y), nl.less, engine=nisa.engine.gpsimd)
        return saved(dst)

    with pytest.raises(NKIError, match="PSUM"):
        nki.simulate(nki.jit(kernel))(A, B)


def test_generation_0_1_compares_in_fp32() -> None:
    """Its page knows of no native integers (nki.isa.tensor_tensor of 2.23)."""

    def kernel(x: Any, y: Any) -> Any:
        x, y = fl.load(x), fl.load(y)
        return (
            stored(fl.maximum(x, y)),
            stored(fl.less(x, y, dtype=fl.int32)),
            stored(x + y),
        )

    with np.errstate(over="ignore"):
        exact = A + B
    found = through_fp32("maximum", A, B), through_fp32("less", A, B), exact
    assert_kernel_ok(functional.jit(kernel), A, B, expected=found)


def test_truth_values_have_the_type_of_the_tiles() -> None:
    """Since 2.29; bool in generation 0.1."""
    a = np.array([[1.0, -2.0, 0.0]], F32)

    def kernel(x: Any) -> Any:
        x = loaded(x)
        less, small = nl.less(x, 0.5), nl.equal(x, 0.0, dtype=nl.uint8)
        return saved(less), saved(small), saved(nl.logical_not(nl.greater(2.0, x)))

    truth = a < 0.5
    assert_kernel_ok(
        nki.jit(kernel), a,
        expected=(truth.astype(F32), (a == 0).astype(np.uint8), np.zeros_like(a)),
    )  # fmt: skip
    made: list[Any] = []

    def value(x: Any) -> Any:
        found = fl.less(fl.load(x), 0.5)
        made.append(found.dtype)
        return stored(found)

    assert_kernel_ok(functional.jit(value), a, expected=truth.astype(np.uint8))
    assert made[0] is fl.bool_ or str(made[0]) in ("bool", "uint8")
