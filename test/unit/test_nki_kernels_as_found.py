"""What kernels of generation 0.1 leave to the compiler, and spellings they use."""

import functools
import importlib
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import xdsl_neuron.nki
import xdsl_neuron.nki.functional as nki
import xdsl_neuron.nki.functional.compiler as functional_compiler
import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
import xdsl_neuron.nki.language as destination_language
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

Array = npt.NDArray[Any]
nl: Any = functional_language
nisa: Any = functional_isa
ncc: Any = functional_compiler

F32 = np.float32


def normal(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(F32)


def stored(value: Any, shape: tuple[int, ...] | None = None, dtype: Any = None) -> Any:
    out = nl.ndarray(shape or value.shape, dtype or value.dtype, buffer=nl.shared_hbm)
    nl.store(out, value)
    return out


# -- operands that engines cannot read in PSUM ------------------------------------


def selected_from_psum(a: Any, b: Any) -> Any:
    product = nl.matmul(nl.load(a), nl.load(b), transpose_x=True)
    i, j = nl.mgrid[0:16, 0:24]
    return stored(nisa.affine_select(i >= j, product, -9.0))


def test_affine_select_of_a_matmul() -> None:
    a, b = normal(32, 16), normal(32, 24)
    rows, columns = np.indices((16, 24))
    want = np.where(rows >= columns, a.T @ b, F32(-9))
    assert_kernel_ok(nki.jit(selected_from_psum), a, b, expected=want)


def transposed_operands(a: Any, b: Any) -> Any:
    left = nisa.nc_transpose(nl.load(a), engine=nisa.tensor_engine)
    right = nisa.nc_transpose(nl.load(b), engine=nisa.tensor_engine)
    return stored(nisa.nc_matmul(left, right))


def test_matmul_of_transposes() -> None:
    a, b = np.round(4 * normal(16, 64)), np.round(4 * normal(24, 64))
    assert_kernel_ok(nki.jit(transposed_operands), a, b, expected=a @ b.T)


# -- masks and index tensors of one element ---------------------------------------


@pytest.mark.parametrize("rows", [1, 2])
def test_an_axis_of_one_element_is_broadcast(rows: int) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        for row in nl.affine_range(rows):
            i = row + nl.arange(1)[None, :]
            j = nl.arange(40)[None, :]
            inside = (i < rows) & (j < 40)
            nl.store(out[i, j], nl.load(x[i, j]), mask=inside)
        return out

    x = normal(rows, 40)
    assert_kernel_ok(nki.jit(kernel), x, expected=x)


def test_an_axis_of_one_element_keeps_where_it_starts() -> None:
    def kernel(x: Any) -> Any:
        i, j = nl.mgrid[2:3, 0:40]
        return stored(nl.load(x[i, j], mask=(i < 4) & (j < 40)))

    x = normal(4, 40)
    assert_kernel_ok(nki.jit(kernel), x, expected=x[2:3])


def test_masked_operands_of_a_matmul() -> None:
    def kernel(a: Any, b: Any) -> Any:
        left, right = nl.load(a), nl.load(b)
        k, m = nl.mgrid[0:32, 0:16]
        product = nl.zeros((nl.par_dim(16), 24), nl.float32, buffer=nl.psum)
        for step in nl.affine_range(2):
            product += nisa.nc_matmul(left[k, m][m + 16 * step < 40], right)
        return stored(product)

    a, b = normal(32, 16), normal(32, 24)
    assert_kernel_ok(nki.jit(kernel), a, b, expected=2 * (a.T @ b))


# -- shapes -------------------------------------------------------------------------


def columns_of_sums(x: Any) -> Any:
    tile = nl.load(x)
    sums = nl.ndarray((nl.par_dim(32), 3), nl.float32, buffer=nl.sbuf)
    for j in nl.affine_range(3):
        part = tile[:, nl.ds(j * 8, 8)]
        sums[:, j] = nl.sum(part, axis=1, keepdims=True)
        sums[:, j] += nl.max(part, axis=1, keepdims=True)
    return stored(sums)


def test_a_column_takes_a_value_that_kept_its_dimension() -> None:
    x = np.round(normal(32, 24) * 8)
    parts = x.reshape(32, 3, 8)
    want = parts.sum(axis=2) + parts.max(axis=2)
    assert_kernel_ok(nki.jit(columns_of_sums), x, expected=want)


def test_a_column_is_a_tile_of_one_column() -> None:
    def kernel(x: Any) -> Any:
        tile = nl.load(x)
        column = tile[:, 3]
        column[:, 0] = column[:, 0] * 2.0
        return stored(tile)

    x = normal(32, 8)
    want = x.copy()
    want[:, 3] *= F32(2)
    assert_kernel_ok(nki.jit(kernel), x, expected=want)


def test_a_store_drops_dimensions_of_one_element() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((2, 32), x.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(2):
            nl.store(out[i], nl.load(x[i, :, :]))
        return out

    x = normal(2, 32, 1)
    assert_kernel_ok(nki.jit(kernel), x, expected=x[:, :, 0])


@pytest.mark.parametrize("shape", [(32, 2), (31, 1), (1, 32)])
def test_other_shapes_are_not_assigned(shape: tuple[int, int]) -> None:
    def kernel(x: Any) -> None:
        sums = nl.ndarray((nl.par_dim(32), 3), nl.float32, buffer=nl.sbuf)
        sums[:, 0] = nl.load(x)

    with pytest.raises(NKIError, match="Illegal assignment destination shape"):
        nki.trace(nki.jit(kernel))(normal(*shape))


def test_one_element_is_loaded_and_stored() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((2, 3), x.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(2):
            for j in nl.affine_range(3):
                nl.store(out[i, j], nl.load(x[i, j]) * 2.0)
        return out

    x = normal(2, 3)
    assert_kernel_ok(nki.jit(kernel), x, expected=x * F32(2))


def test_reshape_by_keyword() -> None:
    def kernel(x: Any) -> Any:
        return stored(nl.load(x.reshape(shape=(16, 4, 6))).reshape(shape=(16, 24)))

    x = normal(4, 4, 24)
    assert_kernel_ok(nki.jit(kernel), x, expected=x.reshape(16, 24))


def test_reshape_takes_one_shape() -> None:
    def kernel(x: Any) -> None:
        x.reshape(16, 24, shape=(16, 24))

    with pytest.raises(NKIError, match="expected one"):
        nki.trace(nki.jit(kernel))(normal(4, 4, 24))


# -- types --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int16])
def test_a_quotient_of_integers_has_its_fraction(dtype: Any) -> None:
    def kernel(x: Any) -> Any:
        return stored(nl.floor(nl.load(x) / 8, dtype=nl.int32))

    x = np.arange(64, dtype=dtype).reshape(16, 4)
    assert_kernel_ok(nki.jit(kernel), x, expected=(x // 8).astype(np.int32))


def test_a_quotient_has_the_type_that_is_asked_for() -> None:
    def kernel(x: Any) -> Any:
        return stored(nl.divide(nl.load(x), 4, dtype=nl.int32))

    x = np.arange(0, 256, 4, dtype=np.int32).reshape(16, 4)
    assert_kernel_ok(nki.jit(kernel), x, expected=x // 4)


def test_static_cast_of_arrays_and_tiles() -> None:
    def kernel(x: Any) -> Any:
        return stored(nl.static_cast(nl.load(x), nl.float32))

    x = normal(16, 4)
    cast = nl.static_cast(x, nl.bfloat16)
    assert cast.dtype == ml_dtypes.bfloat16
    assert np.array_equal(cast, x.astype(ml_dtypes.bfloat16))
    assert_kernel_ok(nki.jit(kernel), cast, expected=cast.astype(F32))
    with pytest.raises(NKIError, match="packs 4 elements"):
        nl.static_cast(x, nl.float8_e4m3fn_x4)


def test_constants_of_the_language() -> None:
    xdsl_neuron.nki.install()
    module: Any = importlib.import_module("neuronxcc.nki.language.constants")
    sizes = [module.sizeinbytes(kind) for kind in (nl.uint8, nl.bfloat16, np.float32)]
    assert sizes == [1, 2, 4]


# -- hints and places ---------------------------------------------------------------


def test_when_a_tensor_is_filled_is_a_hint() -> None:
    def kernel(x: Any) -> Any:
        tile = nl.full((16, 4), 3.0, nl.float32, lazy_initialization=True)
        zero = nl.zeros((16, 4), nl.float32, lazy_initialization=False)
        return stored(nl.load(x) + tile + zero)

    x = np.round(normal(16, 4))
    assert_kernel_ok(nki.jit(kernel), x, expected=x + F32(3))


def test_generations_without_the_hint_refuse_it() -> None:
    language: Any = destination_language

    def kernel(x: Any) -> None:
        language.full((16, 4), 3.0, language.float32, lazy_initialization=True)

    with pytest.raises(NKIError, match="lazy_initialization"):
        xdsl_neuron.nki.trace(xdsl_neuron.nki.jit(kernel))(normal(16, 4))


def own_bank(
    banks: dict[tuple[int, ...], int], idx: Any, pdim_size: int, fdim_size: int
):
    return banks[idx], 0, 0


def one_bank(idx: Any, pdim_size: int, fdim_size: int):
    return idx[0], 0, 0


def any_names(block: Any, rows: int, size: int):
    return block[0] + 2, 0, 0


@pytest.mark.parametrize(
    "rule",
    [functools.partial(own_bank, banks={(0,): 1, (1,): 5}), one_bank, any_names],
)
def test_allocation_functions(rule: Callable[..., Any]) -> None:
    def kernel(a: Any, b: Any) -> Any:
        out = nl.ndarray((2, 16, 24), nl.float32, buffer=nl.shared_hbm)
        shape = 2, nl.par_dim(16), 24
        products = nl.ndarray(shape, nl.float32, buffer=ncc.psum.alloc(rule))
        right = nl.load(b)
        for i in nl.affine_range(2):
            products[i] = nl.matmul(nl.load(a[i]), right, transpose_x=True)
            nl.store(out[i], nl.copy(products[i]))
        return out

    a, b = normal(2, 32, 16), normal(32, 24)
    want = np.stack([part.T @ b for part in a])
    assert_kernel_ok(nki.jit(kernel), a, b, expected=want)


def test_part_of_a_block_of_tiles_that_do_not_fit_together() -> None:
    blocks = 12

    def kernel(x: Any) -> Any:
        out = nl.ndarray((128, blocks * 512), nl.float32, buffer=nl.shared_hbm)
        eye = nl.load(nl.shared_constant(np.eye(128, dtype=F32)))
        shape = blocks, nl.par_dim(128), 512
        place = ncc.psum.mod_alloc(base_bank=0, num_bank_tiles=(4,))
        held = nl.ndarray(shape, nl.float32, buffer=place)
        i, j = nl.mgrid[0:128, 0:128]
        for block in nl.affine_range(blocks):
            for part in nl.affine_range(4):
                tile = nl.load(x[i, (block * 4 + part) * 128 + j])
                held[block, i, part * 128 + j] = nisa.nc_matmul(eye, tile)
            nl.store(out[:, nl.ds(block * 512, 512)], nl.copy(held[block]))
        return out

    x = normal(128, blocks * 512)
    assert_kernel_ok(nki.jit(kernel), x, expected=x)


def test_a_kernel_without_a_result_writes_its_parameters() -> None:
    def doubled(x: Any, out: Any) -> None:
        nl.store(out, nl.load(x) * 2.0)

    x = normal(16, 4)
    out = np.zeros_like(x)
    nki.simulate_kernel(nki.jit(doubled, kernel_return=False), x, out)
    assert np.array_equal(out, x * F32(2))
    with pytest.raises(NKIError, match="immutable"):
        nki.simulate_kernel(nki.jit(doubled), x, out)
