"""The element types that results have where a kernel names none; bool is one."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from kernel_pieces import F32, fl, loaded, nisa, nl, saved, stored, tile

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.isa as functional_isa
from xdsl_neuron.testing import assert_kernel_ok

fisa: Any = functional_isa
A = np.array([[1.0, -2.0, 0.0, 3.5]], F32)
B = np.array([[5.0, 6.0, -7.0, 8.0]], F32)
M = np.array([[True, False, True, True]])


def test_not_of_a_comparison_is_logical_in_generation_0_1() -> None:
    def kernel(x: Any, y: Any, m: Any) -> Any:
        x, y, m = fl.load(x), fl.load(y), fl.load(m)
        more, high = x > 0, fl.greater(y, 5.5)
        return tuple(
            stored(each)
            for each in (
                fl.where(~more, x, y),
                ~more | high,
                ~(more & high),
                ~more * y,
                ~m,
                fl.invert(more ^ m),
                ~fl.copy(more),
                ~fl.equal(x, 0.0, dtype=bool),
                ~fl.equal(x, 0.0, dtype=np.uint8),
                fl.logical_not(~~more),
            )
        )

    more, high = A > 0, B > 5.5
    expected = (
        np.where(~more, A, B), ~more | high, ~(more & high), ~more * B, ~M,
        ~(more ^ M), ~more, A != 0, np.where(A == 0, 254, 255).astype(np.uint8), ~more,
    )  # fmt: skip
    assert_kernel_ok(functional.jit(kernel), A, B, M, expected=expected)
    found = functional.jit(kernel)(A, B, M)
    assert [each.dtype for each in found] == [each.dtype for each in expected]


def test_not_is_logical_in_rolled_loops_and_under_masks() -> None:
    a = np.arange(-6, 14, dtype=F32).reshape(5, 4)

    def kernel(x: Any) -> Any:
        out = fl.ndarray(x.shape, dtype=x.dtype, buffer=fl.shared_hbm)
        i, j = fl.mgrid[0:2, 0:4]
        for t in fl.affine_range(3):
            part = fl.load(x[t * 2 + i, j], mask=t * 2 + i < 5)
            kept = fl.where(~(part > 3), part, -1.0, mask=t * 2 + i < 5)
            fl.store(out[t * 2 + i, j], kept, mask=t * 2 + i < 5)
        return out

    assert_kernel_ok(functional.jit(kernel), a, expected=np.where(~(a > 3), a, F32(-1)))


def test_bool_tensors_come_back_as_bools() -> None:
    def kernel(x: Any, m: Any) -> Any:
        given, mask = loaded(x), loaded(m)
        assert m.dtype == nl.bool_
        assert np.dtype(mask.dtype) == np.bool_
        out = nl.ndarray(m.shape, dtype=m.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, mask)
        made = tile(*x.shape, dtype=nl.bool_)
        nisa.tensor_scalar(made, given, nl.greater, 0.0)
        byte = tile(*x.shape, dtype=nl.uint8)
        nisa.tensor_copy(byte, made)
        named = nl.greater(given, 0.0, dtype=nl.bool_)
        return out, saved(made), saved(byte), saved(named), saved(nl.copy(mask))

    more = A > 0
    found = nki.simulate(nki.jit(kernel))(A, M)
    expected = (M, more, more.astype(np.uint8), more, M)
    assert [each.dtype for each in found] == [each.dtype for each in expected]
    assert_kernel_ok(nki.jit(kernel), A, M, expected=expected)


def test_a_bool_and_a_byte_argument_are_two_traces() -> None:
    @nki.jit
    def kernel(m: Any) -> Any:
        return saved(loaded(m))

    @nki.jit
    def typed(m: Any, dtype: Any) -> Any:
        found = tile(*m.shape, dtype=dtype)
        nisa.dma_copy(found, m)
        return saved(found)

    for array in (M, M.astype(np.uint8), M):
        assert nki.simulate(kernel)(array).dtype == array.dtype
    for dtype, wanted in ((nl.bool_, np.bool_), (nl.uint8, np.uint8)):
        assert nki.simulate(typed)(M, dtype).dtype == wanted


def test_bytes_that_are_no_bools_are_true() -> None:
    def kernel(x: Any) -> Any:
        made = tile(*x.shape, dtype=nl.bool_)
        nisa.tensor_copy(made, loaded(x))
        return saved(made)

    found = nki.simulate(nki.jit(kernel))(B)
    assert found.dtype == np.bool_
    assert found.view(np.uint8).tolist() == [[1, 1, 0, 1]]


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.uint8])
def test_mean_of_integers_is_fp32_in_generation_0_1(kind: Any) -> None:
    a = np.array([[1, 2, 4, 6], [0, 0, 0, 1]], kind)

    def kernel(x: Any) -> Any:
        x = fl.load(x)
        mean, whole = fl.mean(x, axis=1), fl.mean(x, axis=1, dtype=x.dtype)
        assert mean.dtype == fl.float32
        return stored(fl.mean(x, axis=[1], keepdims=True)), stored(whole)

    mean = a.mean(1, keepdims=True).astype(F32)
    assert_kernel_ok(
        functional.jit(kernel), a, expected=(mean, np.rint(mean[:, 0]).astype(kind))
    )


def test_instructions_of_generation_0_1_have_the_type_of_their_tiles() -> None:
    """nki.isa.tensor_tensor, tensor_scalar, tensor_tensor_scan of 2.23."""
    half, whole = A.astype(ml_dtypes.bfloat16), B.astype(np.int32)

    def kernel(x: Any, y: Any, z: Any) -> Any:
        x, y, z = fl.load(x), fl.load(y), fl.load(z)
        first = fisa.tensor_tensor_scan(x, y, 0.0, np.multiply, np.add)
        second = fisa.tensor_tensor_scan(y, x, 0.0, np.multiply, np.add)
        mixed = fisa.tensor_tensor_scan(z, x, 0.0, np.multiply, np.add)
        named = fisa.tensor_tensor_scan(
            y, x, 0.0, np.multiply, np.add, dtype=fl.bfloat16
        )
        compared = fisa.tensor_tensor(x, y, np.less)
        scalar = fisa.tensor_scalar(x, np.greater, 0.0)
        made = (first, second, mixed, named, compared, scalar)
        kinds = "float32 float32 bfloat16 bfloat16 float32 bfloat16".split()
        assert [str(each.dtype) for each in made] == kinds
        return stored(compared), stored(scalar), stored(second)

    states, state = np.empty_like(B), F32(0)
    for at in range(4):
        state = states[0, at] = B[0, at] * state + half.astype(F32)[0, at]
    assert_kernel_ok(
        functional.jit(kernel), half, B, whole,
        expected=((half.astype(F32) < B).astype(F32),
                  (A > 0).astype(ml_dtypes.bfloat16), states),
    )  # fmt: skip


NUMBERS = (
    (np.float16, np.float16(2), "float16"),
    (np.float16, 1.2, "float32"),
    (np.float16, np.float64(2), "float32"),
    (np.int8, np.int8(3), "int8"),
    (np.int8, 3, "int32"),
    (np.int8, np.int64(3), "int32"),
    (np.int8, np.uint8(3), "int16"),
    (np.int8, np.bool_(True), "int16"),
    (np.int16, np.float16(3), "float16"),
    (ml_dtypes.bfloat16, ml_dtypes.bfloat16(2), "bfloat16"),
    (ml_dtypes.bfloat16, np.float16(2), "float32"),
)


@pytest.mark.parametrize(("storage", "number", "kind"), NUMBERS)
def test_numbers_with_a_type_promote_as_it(
    storage: Any, number: Any, kind: str
) -> None:
    a = np.array([[1, 2, 3]]).astype(storage)

    def kernel(x: Any) -> Any:
        x = fl.load(x)
        made = (fl.add(x, number), x + number, number + x, fl.add(number, x))
        assert {str(each.dtype) for each in made} == {kind}
        return tuple(map(stored, made))

    found = (a.astype(F32) + F32(number)).astype(getattr(fl, kind).dtype)
    assert_kernel_ok(functional.jit(kernel), a, expected=(found,) * 4)


def test_var_keeps_the_reduced_dimension_in_later_languages() -> None:
    a = np.arange(12, dtype=F32).reshape(3, 4) ** 2

    def kernel(x: Any) -> Any:
        x = loaded(x)
        return saved(nl.var(x, 1)), saved(nl.var(x, axis=[1], keepdims=True))

    def value(x: Any) -> Any:
        found = fl.var(fl.load(x), axis=1)
        assert found.shape == (3,)
        return stored(found)

    kept = a.var(1, keepdims=True)
    assert_kernel_ok(nki.jit(kernel), a, expected=(kept, kept), rtol=1e-6)
    assert_kernel_ok(functional.jit(value), a, expected=kept[:, 0], rtol=1e-6)
