"""Iterations of `affine_range` write memory of their own (NKI API Errors, 2.26)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_neuron.nki.functional as nki
import xdsl_neuron.nki.functional.language as functional_language
from xdsl_neuron.nki import tensor_spec
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

# Kernels are written without types: every name of the language is `Any` to them.
nl: Any = functional_language
Body = Callable[[Any, Any, Any, Any], None]

SPEC = tensor_spec("f32", (4, 128, 64))


def kernel_of(body: Body, loop: Any) -> Any:
    """A kernel around a loop: x, the output, a tile and the kind of loop."""

    def kernel(x: Any) -> Any:
        out = nl.ndarray((6, 128, 64), nl.float32, buffer=nl.shared_hbm)
        tile = nl.zeros((128, 64), nl.float32)
        for row in nl.static_range(6):
            nl.store(out[row], tile)
        body(x, out, tile, loop)
        nl.store(out[5], tile)
        return out

    return kernel


def one_row(x: Any, out: Any, tile: Any, loop: Any) -> None:
    for i in loop(4):
        nl.store(out[0], nl.load(x[i]))


def one_block(x: Any, out: Any, tile: Any, loop: Any) -> None:
    blocks = nl.ndarray((4, nl.par_dim(128), 64), nl.float32)
    for i in loop(4):
        blocks[0] = nl.load(x[i])
    nl.store(out[0], blocks[0])


def plain_sum(x: Any, out: Any, tile: Any, loop: Any) -> None:
    for i in loop(4):
        tile += nl.load(x[i])


def assigned_sum(x: Any, out: Any, tile: Any, loop: Any) -> None:
    for i in loop(4):
        tile[...] = tile + nl.load(x[i])


def outer_index(x: Any, out: Any, tile: Any, loop: Any) -> None:
    for i in loop(4):
        for j in nl.sequential_range(2):
            nl.store(out[j], nl.load(x[i]))


def next_row(x: Any, out: Any, tile: Any, loop: Any) -> None:
    for i in loop(4):
        nl.store(out[i + 1], nl.load(out[i]))


def two_rows(x: Any, out: Any, tile: Any, loop: Any) -> None:
    for i in loop(4):
        nl.store(out[i], nl.load(x[i]))
        nl.store(out[i + 1], nl.load(x[i]))


def wide_columns(x: Any, out: Any, tile: Any, loop: Any) -> None:
    for i in loop(3):
        nl.store(out[0, :, i * 16 : i * 16 + 32], nl.load(x[i, :, 0:32]))


def unlike_steps(x: Any, out: Any, tile: Any, loop: Any) -> None:
    for i in loop(3):
        nl.store(out[i], nl.load(x[i]))
        nl.store(out[2 * i], nl.load(x[i]))


MISSING = "Unexpected output dependencies, missing indices in the dst access: i"
TWICE = "Unexpected output dependencies: different iterations of the i loop write"
REFUSED = [
    (one_row, MISSING),
    (one_block, MISSING),
    (plain_sum, MISSING),
    (assigned_sum, MISSING),
    (outer_index, MISSING),
    (next_row, TWICE + " and read the same elements of `out`"),
    (two_rows, TWICE + " to the same elements of `out`"),
    (wide_columns, TWICE + " to the same elements of `out`"),
    (unlike_steps, TWICE + " to the same elements of `out`"),
]


@pytest.mark.parametrize(("body", "message"), REFUSED)
def test_common_memory(body: Body, message: str) -> None:
    with pytest.raises(NKIError) as refused:
        nki.trace(kernel_of(body, nl.affine_range))(SPEC)
    text = str(refused.value)
    assert message in text
    assert "sequential_range" in text
    lines = {line for *_, line in body.__code__.co_lines()}
    place = refused.value.location
    assert place is not None
    assert place.line in lines
    nki.trace(kernel_of(body, nl.sequential_range))(SPEC)


def own_rows(x: Any, out: Any, tile: Any, loop: Any) -> None:
    for i in loop(2):
        for j in loop(2):
            nl.store(out[2 * i + j, :, 0:32], nl.load(x[i, :, 0:32]))
            nl.store(out[2 * i + j, :, 32:64], nl.load(x[j, :, 0:32]))


def own_columns(x: Any, out: Any, tile: Any, loop: Any) -> None:
    for i in loop(64):
        tile[:, i : i + 1] = nl.load(x[0, :, 0:1])


def interleaved(x: Any, out: Any, tile: Any, loop: Any) -> None:
    for i in loop(2):
        nl.store(out[i], nl.load(x[i]))
        nl.store(out[i + 2], nl.load(x[i]))


def sum_in_psum(x: Any, out: Any, tile: Any, loop: Any) -> None:
    psum = nl.zeros((64, 64), nl.float32, buffer=nl.psum)
    for i in loop(4):
        a = nl.load(x[i])
        psum += nl.matmul(a, a, transpose_x=True)
    nl.store(out[0, 0:64, :], psum)


def sum_in_place(x: Any, out: Any, tile: Any, loop: Any) -> None:
    for i in loop(4):
        tile[...] += nl.load(x[i])


def first_only(x: Any, out: Any, tile: Any, loop: Any) -> None:
    for i in loop(4):
        nl.store(out[0], nl.load(x[i]), mask=i < 1)


def own_tile(x: Any, out: Any, tile: Any, loop: Any) -> None:
    for i in loop(4):
        inner = nl.ndarray((128, 64), nl.float32)
        inner[...] = nl.load(x[i])
        inner += 1.0
        nl.store(out[i], inner)


def one_trip(x: Any, out: Any, tile: Any, loop: Any) -> None:
    for i in loop(1):
        nl.store(out[0], nl.load(x[i]))


@pytest.mark.parametrize(
    "body",
    [
        own_rows,
        own_columns,
        interleaved,
        sum_in_psum,
        sum_in_place,
        first_only,
        own_tile,
        one_trip,
    ],
)
def test_memory_of_their_own(body: Body) -> None:
    """Associative reductions are no dependency (`nl.affine_range`, fused Mamba)."""
    values = np.random.default_rng(5).standard_normal((4, 128, 64), dtype=np.float32)
    results = [
        nki.simulate(kernel_of(body, loop))(values)
        for loop in (nl.affine_range, nl.sequential_range)
    ]
    np.testing.assert_array_equal(*results)


def test_levels_agree() -> None:
    values = np.random.default_rng(6).standard_normal((4, 128, 64), dtype=np.float32)
    assert_kernel_ok(nki.jit(kernel_of(sum_in_place, nl.affine_range)), values)
