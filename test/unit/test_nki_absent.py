"""What may be absent: optional tensors, and slices that have no elements."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import functional as fnki
from xdsl_neuron.nki import isa, language
from xdsl_neuron.nki.functional import language as functional_language
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

nl: Any = language
nisa: Any = isa
fl: Any = functional_language

X = np.random.default_rng(5).random((4, 8), np.float32)
S = np.full((4, 1), 2, np.float32)


def tile_of(x: Any, buffer: Any = nl.sbuf) -> Any:
    tile = nl.ndarray(x.shape, x.dtype, buffer=buffer)
    if buffer is nl.psum:
        nisa.tensor_copy(tile, tile_of(x))
    else:
        nisa.dma_copy(tile, x)
    return tile


def scaled(x: Any, scale: Any = None) -> Any:
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    tile = tile_of(x)
    if scale and not (not scale):
        nisa.tensor_scalar(tile, tile, nl.multiply, scale)
    nisa.dma_copy(out, tile)
    return out


@pytest.mark.parametrize(
    "scale",
    [
        lambda s: tile_of(s),
        lambda s: tile_of(s, nl.psum),
        lambda s: tile_of(s)[0:4, :],
        lambda s: tile_of(s).base_tensor,
    ],
)
def test_a_tensor_that_is_there_is_true(scale: Callable[[Any], Any]) -> None:
    def given(x: Any, s: Any) -> Any:
        return scaled(x, scale(s))

    assert_kernel_ok(given, X, S, expected=X * S)
    assert_kernel_ok(lambda x: scaled(x), X, expected=X)


def test_parts_of_several_elements_are_true() -> None:
    def kernel(x: Any) -> Any:
        for part in (x[0], x[:, 0:1], tile_of(x)[:, 2:3], x[0:0]):
            assert part
        return x

    assert_kernel_ok(kernel, X, expected=X)


def test_the_value_of_an_element_decides_nothing() -> None:
    def kernel(x: Any) -> Any:
        assert tile_of(x)[0, 3]
        return x

    with pytest.raises(NKIError, match=r"depending on tensor value .* `is not None`"):
        nki.trace(kernel)(X)


def test_the_tensor_of_a_view() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out[1:3].base_tensor, x[:, 1].base_tensor)
        return out

    assert_kernel_ok(kernel, X, expected=X)


def shares(share: Callable[[Any, int, int], Any]) -> Callable[[Any], Any]:
    """Cores copy their rows, of which the first ones have none if there are few."""

    def kernel(x: Any) -> Any:
        rows, cores, core = x.shape[0], nl.num_programs(0), nl.program_id(0)
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        each = rows // cores
        first = core * each
        count = rows - first if core == cores - 1 else each
        mine = share(x, first, count)
        assert mine.shape == (count, x.shape[1])
        for row in range(count):
            nisa.dma_copy(out[first + row], mine[row])
        return out

    return kernel


SHARES: list[Callable[[Any, int, int], Any]] = [
    lambda x, first, count: x[nl.ds(first, count)],
    lambda x, first, count: x[first : first + count],
    lambda x, first, count: x[first : first + count, :],
    lambda x, first, count: x[nl.ds(first, count), 0:8],
    lambda x, first, count: x.slice(0, first, first + count),
    lambda x, first, count: x[first : first + count].permute((1, 0)).permute((1, 0)),
    lambda x, first, count: (
        x[first : first + count].reshape((count, 2, 4)).reshape((count, 8))
    ),
]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("rows", [1, 4])
def test_a_core_that_has_nothing_to_do(
    share: Callable[[Any, int, int], Any], rows: int
) -> None:
    assert_kernel_ok(shares(share), X[:rows], grid=2, expected=X[:rows])


EMPTY: list[tuple[Callable[[Any], object], str]] = [
    (lambda x: nisa.dma_copy(x[0:0], x[0:0]), "has no elements, and no instruction"),
    (lambda x: nisa.memset(tile_of(x)[:, 3:3], 0.0), "has no elements, and no instr"),
    (lambda x: nisa.tensor_copy(tile_of(x), x[:, nl.ds(2, 0)]), "has no elements, and"),
    (lambda x: x[2:2][0], "index"),
    (lambda x: x[2:2].reshape((-1, 8)), "has no elements, to"),
    (lambda x: nl.add(tile_of(x)[:, 0:0], 1.0), "has no elements|positive"),
]


@pytest.mark.parametrize(("use", "message"), EMPTY)
def test_no_instruction_works_on_nothing(
    use: Callable[[Any], object], message: str
) -> None:
    def kernel(x: Any) -> Any:
        use(x)
        return x

    with pytest.raises(NKIError, match=message) as raised:
        nki.trace(kernel)(X)
    assert raised.value.location is not None
    assert raised.value.location.file == __file__


@pytest.mark.parametrize("rows", [lambda: slice(0, 0), lambda: fl.ds(2, 0)])
def test_generation_0_1_has_no_empty_slices(rows: Callable[[], Any]) -> None:
    @fnki.jit
    def kernel(x: Any) -> Any:
        out = fl.ndarray(x.shape, x.dtype, buffer=fl.shared_hbm)
        fl.store(out, fl.load(x[rows()]))
        return out

    with pytest.raises(NKIError, match=r"is empty|must be positive"):
        kernel.trace(X)


def test_loops_over_nl_range() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        for row in nl.range(x.shape[0]):
            nisa.dma_copy(out[row], x[row])
        return out

    assert_kernel_ok(kernel, X, expected=X)
