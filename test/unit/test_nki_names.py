"""Names that only one generation of NKI has, and the page of all names."""

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
import xdsl_neuron.nki.isa as destination_isa
import xdsl_neuron.nki.language as destination_language
from xdsl_neuron.nki.roster import GENERATIONS, isa_names, language_names
from xdsl_neuron.reference.names import WORKS, state_of
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

Array = npt.NDArray[Any]
fl: Any = functional_language
fisa: Any = functional_isa
nl: Any = destination_language
nisa: Any = destination_isa

NAMES = [
    (module, name)
    for module, names in (("isa", isa_names()), ("language", language_names()))
    for name in names
]


@pytest.mark.parametrize(
    ("module", "name"), NAMES, ids=[f"{m}.{n}-{g}" for m, (n, g) in NAMES]
)
def test_every_documented_name_works(module: str, name: tuple[str, str]) -> None:
    names = isa_names() if module == "isa" else language_names()
    assert state_of(module, names[name], name[1]) == WORKS


def test_the_roster_is_read_whole() -> None:
    assert len({name for name, _ in isa_names()}) == 57
    assert len({name for name, _ in language_names()}) == 146
    assert sum(generation == "0.6" for _, generation in isa_names()) == 52
    assert sum(generation == "0.7" for _, generation in isa_names()) == 55
    copy = isa_names()["dma_copy", "0.2"]
    assert copy.parameters is not None
    assert copy.parameters[-2:] == ("unique_indices", "name")
    assert language_names()["sbuf", "0.1"].parameters is None
    assert language_names()["program_ndim", "0.6"].parameters == ()
    assert ("arange", "0.6") not in language_names()
    assert ("dynamic_range", "0.7") not in language_names()
    assert set(GENERATIONS) == {generation for _, generation in isa_names()}


# -- offsets known while running -----------------------------------------------------


def copies_from(source: Any, offsets: Any) -> Any:
    out = fl.ndarray((100, 5, 3), source.dtype, buffer=fl.shared_hbm)
    tile, where = fl.load(source), fl.load(offsets)
    result = fl.zeros((100, 5, 3), source.dtype, buffer=fl.sbuf)
    i_p, i_f = fl.mgrid[0:100, 0:3]
    for k in fl.affine_range(5):
        moved = tile[i_p, where[0, k] + i_f]
        result[i_p, k, i_f] = fisa.tensor_copy_dynamic_src(moved)
    fl.store(out, result)
    return out


def copies_to(source: Any, offsets: Any) -> Any:
    out = fl.ndarray((100, 40), source.dtype, buffer=fl.shared_hbm)
    tile, where = fl.load(source), fl.load(offsets)
    result = fl.zeros((100, 40), source.dtype, buffer=fl.sbuf)
    i_p = fl.arange(100)[:, None]
    for k in fl.sequential_range(5):
        one = where[0, k]
        fisa.tensor_copy_dynamic_dst(dst=result[i_p, one], src=tile[i_p, one])
    fl.store(out, result)
    return out


def test_dynamic_copies() -> None:
    rng = np.random.default_rng(3)
    source = rng.standard_normal((100, 40), dtype=np.float32)
    offsets = rng.integers(0, 38, (1, 5)).astype(np.uint32)
    gathered = np.stack([source[:, k : k + 3] for k in offsets[0]], axis=1)
    assert_kernel_ok(functional.jit(copies_from), source, offsets, expected=gathered)
    scattered = np.zeros_like(source)
    scattered[:, offsets[0]] = source[:, offsets[0]]
    assert_kernel_ok(functional.jit(copies_to), source, offsets, expected=scattered)


def test_limits_of_dynamic_copies() -> None:
    def scalar_engine(x: Any) -> None:
        fisa.tensor_copy_dynamic_src(fl.load(x), engine=fisa.scalar_engine)

    def other_type(x: Any) -> None:
        tile = fl.load(x)
        fisa.tensor_copy_dynamic_dst(dst=tile, src=tile, dtype=fl.bfloat16)

    x = np.zeros((4, 4), np.float32)
    with pytest.raises(NKIError, match="is not supported on trn1 Scalar Engine"):
        functional.trace(functional.jit(scalar_engine, platform_target="trn1"))(x)
    with pytest.raises(NKIError, match="the destination's type is the result's"):
        functional.trace(other_type)(x)


# -- a fold over programs ------------------------------------------------------------


def reduced(x: Any, op: Any, dtype: Any, by_name: bool) -> Any:
    out = fl.ndarray(x.shape, fl.float32, buffer=fl.shared_hbm)
    me, other = fl.program_id(0), fl.program_id(1)
    for i in fl.affine_range(2):
        tile = fl.load(x[me, other, i])
        axes = [me] if by_name else 0
        total = fl.all_reduce(tile, op=op, program_axes=axes, dtype=dtype)
        fl.store(out[me, other, i], total + tile)
    return out


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize(
    ("op", "fold"),
    [(np.add, np.sum), (np.multiply, np.prod), (np.max, np.max), (np.min, np.min)],
)
def test_all_reduce(op: Any, fold: Any, by_name: bool) -> None:
    x = np.random.default_rng(1).integers(-9, 9, (3, 2, 2, 33, 5)).astype(np.float32)
    expected = fold(x, axis=0, keepdims=True) + x
    kernel = functional.jit(reduced)
    assert_kernel_ok(kernel, x, op, None, by_name, expected=expected, grid=(3, 2))


def test_all_reduce_rounds_once() -> None:
    x = np.full((3, 1, 2, 4, 4), 1.0, ml_dtypes.bfloat16)
    x[1] = 256.0
    # 258 fits bf16; adding 1 to 256 in bf16 twice would stay at 256.
    expected = 258.0 + x.astype(np.float32)
    kernel = functional.jit(reduced)
    arguments = (x, np.add, fl.bfloat16, False)
    found = assert_kernel_ok(kernel, *arguments, grid=(3, 1))
    np.testing.assert_array_equal(
        found, expected.astype(ml_dtypes.bfloat16).astype(np.float32)
    )


def test_all_reduce_of_one_program_and_of_what_it_has_not() -> None:
    x = np.ones((1, 1, 2, 4, 4), np.float32)
    kernel = functional.jit(reduced)
    assert_kernel_ok(kernel, x, np.add, None, False, expected=x * 2, grid=(1, 1))
    with pytest.raises(NKIError, match="is not supported in 'all_reduce'"):
        kernel[1, 1].trace(x, np.subtract, None, False)

    def beyond(x: Any) -> None:
        fl.all_reduce(fl.load(x), np.add, 2)

    with pytest.raises(NKIError, match="axis 2 is out of bounds of the launch grid"):
        functional.jit(beyond)[2].trace(np.ones((4, 4), np.float32))


# -- the largest elements of a snake --------------------------------------------------


def largest(x: Any, n: int, k: int) -> Any:
    rows, width = x.shape[0], -(-k // 16)
    rest = k - 16 * (width - 1)
    values = nl.ndarray((rows, width), nl.bfloat16, buffer=nl.shared_hbm)
    places = nl.ndarray((rows, width), nl.uint32, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    found = nl.ndarray((rows, k), nl.bfloat16, buffer=nl.sbuf)
    where = nl.ndarray((rows, k), nl.uint32, buffer=nl.sbuf)
    nisa.topk(val_dst=found, idx_dst=where, src=tile, n=n, sorted=True)
    for out, results in ((values, found), (places, where)):
        nisa.dma_copy(out, nl.zeros(out.shape, out.dtype, buffer=nl.sbuf))
        for first in range(0, rows, 16):
            group = slice(first, first + 16)
            if width > 1:
                some = slice(0, width - 1)
                nisa.dma_copy(out[group, some], results[group, some])
            last = slice(first, first + rest), slice(width - 1, width)
            nisa.dma_copy(out[last], results[last])
    return values, places


def snake_of(results: Array, rows: int) -> Array:
    """Results of one group as they lie in 16 partitions; zeros behind them."""
    width = -(-results.size // 16)
    found = np.zeros(width * 16, results.dtype)
    found[: results.size] = results
    return np.tile(found.reshape(width, 16).T, (rows, 1))


@pytest.mark.parametrize(
    ("rows", "columns", "n", "k"),
    [
        (32, 5, 70, 8),
        (16, 3, 42, 13),
        (128, 4, 64, 1),
        (48, 1, 8, 8),
        (32, 4, 61, 37),
        (16, 2, 32, 32),
    ],
)
def test_topk(rows: int, columns: int, n: int, k: int) -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(-40, 40, (rows, columns)).astype(ml_dtypes.bfloat16)
    values, places = assert_kernel_ok(nki.jit(largest), x, n, k)
    for first in range(0, rows, 16):
        group = slice(first, first + 16)
        snake = x[group].astype(np.float32).T.reshape(-1)[:n]
        taken = np.argsort(-snake, kind="stable")[:k][::-1]
        np.testing.assert_array_equal(values[group], snake_of(snake[taken], 1))
        np.testing.assert_array_equal(places[group], snake_of(taken, 1))


def test_topk_leaves_the_rest_of_its_last_column_undefined() -> None:
    """Not what was there before: the device writes whole columns."""

    def kernel(x: Any) -> Any:
        out = nl.ndarray((16, 3), nl.uint32, buffer=nl.shared_hbm)
        tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x)
        found = nl.ndarray((16, 3), nl.bfloat16, buffer=nl.sbuf)
        where = nl.full((16, 3), 99, nl.uint32, buffer=nl.sbuf)
        nisa.topk(found, where, tile, 16)
        nisa.dma_copy(dst=out, src=where)
        return out

    found = nki.simulate(kernel)(np.arange(16).astype(ml_dtypes.bfloat16)[:, None])
    assert found[:, 1:].tolist() == [[99, 99]] * 16
    assert found[:3, 0].tolist() == [13, 14, 15]
    assert 99 not in found[3:, 0]


@pytest.mark.parametrize(
    ("shape", "dtype", "n", "k", "message"),
    [
        ((32, 5), np.float32, 70, 8, "`src` must be bfloat16 in sbuf"),
        ((24, 5), ml_dtypes.bfloat16, 70, 8, "must be a multiple of 16, got 24"),
        ((32, 5), ml_dtypes.bfloat16, 7, 7, "n must be from 8 to 65535, got 7"),
        ((32, 5), ml_dtypes.bfloat16, 70, 71, "at most n, got K=71, n=70"),
        ((32, 4), ml_dtypes.bfloat16, 70, 8, "has 4 columns, n=70 needs 5"),
    ],
)
def test_limits_of_topk(
    shape: tuple[int, int], dtype: Any, n: int, k: int, message: str
) -> None:
    with pytest.raises(NKIError, match=message):
        nki.jit(largest).trace(np.zeros(shape, dtype), n, k)
