"""Python decisions on the index of a rolled loop: the loop is traced unrolled."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import xdsl_neuron.nki.functional as nki
import xdsl_neuron.nki.functional.language as functional_language
from xdsl_neuron.dialects import penguin
from xdsl_neuron.isa import LoopKind
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

Array = npt.NDArray[Any]
nl: Any = functional_language

X = np.random.default_rng(0).standard_normal((64, 24)).astype(np.float32)


def part(i: Any, j: Any = 0) -> tuple[Any, Any]:
    return nl.ds(i * 16, 16), nl.ds(j * 8, 8)


def each(decide: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Any]:
    """A kernel that hands each part to `decide`, with the indices of its loops."""

    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, nl.float32, buffer=nl.shared_hbm)
        for i in nl.affine_range(4):
            for j in nl.sequential_range(3):
                tile = nl.load(x[part(i, j)])
                nl.store(out[part(i, j)], decide(i, j, tile))
        return out

    return kernel


def expected(decide: Callable[[Any, Any, Any], Any]) -> Array:
    out = X.copy()
    for i in range(4):
        for j in range(3):
            at = slice(i * 16, i * 16 + 16), slice(j * 8, j * 8 + 8)
            out[at] = decide(i, j, X[at])
    return out


def on_outer(i: Any, j: Any, tile: Any) -> Any:
    return tile * 2.0 if i == 0 else tile


def on_inner(i: Any, j: Any, tile: Any) -> Any:
    if j > 1:
        tile = tile + 1.0
    return tile


def on_both(i: Any, j: Any, tile: Any) -> Any:
    return tile * 3.0 if 16 * i >= 8 * j + 8 else tile * -1.0


def one_after_the_other(i: Any, j: Any, tile: Any) -> Any:
    if j == 0:
        return tile
    return tile * 4.0 if i < 2 and not i == 1 else tile


def on_truth(i: Any, j: Any, tile: Any) -> Any:
    return tile + 5.0 if i else tile


DECISIONS = [on_outer, on_inner, on_both, one_after_the_other, on_truth]


@pytest.mark.parametrize("decide", DECISIONS)
def test_each_iteration_takes_its_branch(decide: Any) -> None:
    assert_kernel_ok(nki.jit(each(decide)), X, expected=expected(decide))


def kinds(kernel: Any) -> list[LoopKind]:
    module = nki.trace(nki.jit(kernel))(X)
    return [op.kind.data for op in module.walk() if isinstance(op, penguin.ForOp)]


@pytest.mark.parametrize(
    ("decide", "left"),
    [
        (on_outer, [LoopKind.SEQUENTIAL] * 4),
        (on_inner, [LoopKind.PARALLEL]),
        (on_both, []),
    ],
)
def test_only_the_loops_that_decide_are_unrolled(
    decide: Any, left: list[LoopKind]
) -> None:
    assert kinds(each(decide)) == left


def test_a_program_index_may_decide_too() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, nl.float32, buffer=nl.shared_hbm)
        p = nl.program_id(0)
        for j in nl.affine_range(3):
            tile = nl.load(x[part(p, j)])
            if p >= 2 and j == 1:
                tile = tile * 7.0
            nl.store(out[part(p, j)], tile)
        return out

    want = X.copy()
    want[32:, 8:16] *= np.float32(7.0)
    assert_kernel_ok(nki.jit(kernel)[4], X, expected=want)


def test_a_loop_may_be_left_where_it_is_unrolled() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, nl.float32, buffer=nl.shared_hbm)
        nl.store(out, nl.zeros(x.shape, nl.float32, buffer=nl.sbuf))
        for i in nl.affine_range(4):
            if i == 2:
                break
            nl.store(out[part(i)], nl.load(x[part(i)]))
        return out

    want = np.zeros_like(X)
    want[:32, :8] = X[:32, :8]
    assert_kernel_ok(nki.jit(kernel), X, expected=want)


def test_an_arange_still_decides_nothing() -> None:
    def kernel(x: Any) -> None:
        for i in nl.affine_range(4):
            if i * 16 + nl.arange(16)[:, None] < 20:
                nl.load(x[part(i)])

    with pytest.raises(NKIError, match="Control-flow depending on"):
        nki.trace(nki.jit(kernel))(X)
