"""abs_max and abs_min wherever an ALU operation stands: the operand that wins."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_pieces import F32, Array, loaded, nisa, nl, saved, tile

import xdsl_neuron.nki as nki
from xdsl_neuron.testing import assert_kernel_ok

P, F = 32, 10
Chosen = Callable[[Array, Array], Array]


def largest(a: Array, b: Array) -> Array:
    """The second on a tie (nki.language.abs_max of 2.30)."""
    return np.where(np.abs(a) > np.abs(b), a, b)


def smallest(a: Array, b: Array) -> Array:
    return np.where(np.abs(a) < np.abs(b), a, b)


OPS = {"abs_max": largest, "abs_min": smallest}


def whole(*shape: int, seed: int) -> Array:
    """Small integers, so that magnitudes tie."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(F32)


def folded(chosen: Chosen, rows: Array) -> Array:
    state = rows[:, 0]
    for column in rows.T[1:]:
        state = chosen(state, column)
    return state[:, None]


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int32", "int16", "int8"])
@pytest.mark.parametrize("name", OPS)
def test_elementwise(name: str, kind: str) -> None:
    op, chosen = getattr(nl, name), OPS[name]
    a, b, s = whole(P, F, seed=1), whole(P, F, seed=2), whole(P, 1, seed=3)
    storage = ml_dtypes.bfloat16 if kind == "bfloat16" else np.dtype(kind)
    dtype = getattr(nl, kind)

    def kernel(x: Any, y: Any, column: Any) -> Any:
        x, y, column = loaded(x), loaded(y), loaded(column)
        both, one, two, three = (tile(P, F, dtype=dtype) for _ in range(4))
        nisa.tensor_tensor(both, x, y, op)
        nisa.tensor_scalar(one, x, op, -2.0)
        nisa.tensor_scalar(two, x, op, column, reverse0=True)
        nisa.tensor_scalar(
            three, x, nl.add, 0.0, op1=op, operand1=column, reverse1=True
        )
        named = nl.copy(getattr(nl, name)(x, y), dtype)
        return tuple(saved(each) for each in (both, one, two, three, named))

    two = np.full((1, 1), -2, F32)
    found = (
        chosen(a, b), chosen(a, two), chosen(s, a), chosen(s, a), chosen(a, b)
    )  # fmt: skip
    assert_kernel_ok(
        nki.jit(platform_target="trn3")(kernel), a.astype(storage), b.astype(storage),
        s, expected=tuple(each.astype(storage) for each in found),
    )  # fmt: skip


@pytest.mark.parametrize("name", OPS)
def test_two_stages_and_folds(name: str) -> None:
    op, chosen = getattr(nl, name), OPS[name]
    a, b, s = whole(P, F, seed=4), whole(P, F, seed=5), whole(P, 1, seed=6)

    def kernel(x: Any, y: Any, column: Any) -> Any:
        x, y, column = loaded(x), loaded(y), loaded(column)
        pair, scan, active, kept = (tile(P, F) for _ in range(4))
        row, reduced = tile(P, 1), tile(P, 1)
        nisa.scalar_tensor_tensor(pair, x, op, column, op, y, reverse0=True)
        nisa.tensor_tensor_scan(scan, x, y, column, op, op)
        nisa.activate2(
            active, nl.copy, x, 1.0, 0.0, nl.multiply, nl.add,
            reduce_op=op, reduce_res=row, reduce_cmd=nisa.reduce_cmd.reset_reduce,
        )  # fmt: skip
        nisa.tensor_scalar_reduce(kept, x, op, 3.0, nl.add, reduced)
        return tuple(saved(each) for each in (pair, scan, row, kept, reduced))

    states, state = np.empty_like(a), s[:, 0]
    for at in range(F):
        state = states[:, at] = chosen(chosen(a[:, at], state), b[:, at])
    kept = chosen(a, np.full((1, 1), 3, F32))
    assert_kernel_ok(
        nki.jit(platform_target="trn3")(kernel), a, b, s,
        expected=(chosen(chosen(s, a), b), states, folded(chosen, a), kept,
                  kept.sum(1, keepdims=True)),
    )  # fmt: skip
