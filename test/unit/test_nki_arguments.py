"""What a kernel may not pass: each is refused at the kernel's line, in its words."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_neuron.nki as destination
import xdsl_neuron.nki.functional as functional
from xdsl_neuron.nki.api import api
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError, NKIInternalError, described
from xdsl_neuron.tracer.views import View

X = np.arange(128 * 64, dtype=np.float32).reshape(128, 64)

fl: Any = functional.language
fisa: Any = functional.isa
dl: Any = destination.language
disa: Any = destination.isa

Call = Callable[[Any], Any]


def lines(*functions: Callable[..., Any]) -> set[int | None]:
    """The lines of functions."""
    return {line for each in functions for *_, line in each.__code__.co_lines()}


def refused(package: Any, call: Call, array: Any = X, grid: Any = None) -> NKIError:
    """The error of a kernel that makes the call on a tile; it stands at the call."""

    def of_functional(x: Any) -> Any:
        out = fl.ndarray(x.shape, x.dtype, buffer=fl.shared_hbm)
        tile = fl.load(x)
        call(tile)
        fl.store(out, tile)
        return out

    def of_destination(x: Any) -> Any:
        tile = dl.ndarray(x.shape, x.dtype, buffer=dl.sbuf)
        disa.dma_copy(tile, x)
        call(tile)
        return x

    kernel = of_functional if package is functional else of_destination
    jitted = package.jit(kernel)
    with pytest.raises(NKIError) as caught:
        (jitted if grid is None else jitted[grid]).trace(array)
    place = caught.value.location
    assert place is not None
    assert place.file == __file__
    assert place.line in lines(call, scalar, select, shaped, _fails)
    return caught.value


def scalar(t: Any, **named: Any) -> Any:
    """A destination-passing tensor_scalar in place."""
    return disa.tensor_scalar(t, t, dl.add, 1.0, **named)


def select(t: Any, pattern: Any) -> Any:
    return disa.affine_select(t, pattern, 1, t, 0.0)


def shaped(t: Any, **fixed: Any) -> Any:
    return t.rearrange(("p", "f"), ("p", "f"), fixed)


FUNCTIONAL: tuple[tuple[Call, str], ...] = (
    # no integers
    (lambda t: t.reshape("ab"), "`shape` must be a list of int, got str"),
    (lambda t: t.reshape(None), "`shape` must be a list of int, got NoneType"),
    (lambda t: t.reshape((128, 8.5, 8)), "`shape` must be a list of int, got float"),
    (lambda t: t.reshape(128, 8.5, 8), "`shape` must be a list of int, got float"),
    (lambda t: t.expand_dims(1.5), "`axis` must be int, got float"),
    (lambda t: fl.expand_dims(t, 1.5), "`axis` must be int, got float"),
    (lambda t: fl.broadcast_to(t, (128, 64.0)), "`shape` must be a tuple of int, got"),
    (lambda t: fl.sum(t, axis=None), "`axis` must be int or a tuple of int, got None"),
    (lambda t: fl.sum(t, axis="x"), "`axis` must be int or a tuple of int, got str"),
    (lambda t: fl.sum(t, axis=(1.5,)), "`axis` must be a list of int, got float"),
    (lambda t: fl.max(t, axis=1.0), "`axis` must be int or a tuple of int, got float"),
    (lambda t: fl.mean(t, axis=True), "`axis` must be int or a tuple of int, got bool"),
    (lambda t: fl.softmax(t, axis=np.array([1.0])), "`axis` must be int or a tuple of"),
    (lambda t: t.sum(axis=None), "`axis` must be int or a tuple of int, got NoneType"),
    (lambda t: fl.ds(0, "a"), "`size` must be int, got str"),
    (lambda t: fl.ds(0, 2.5), "`size` must be int, got float"),
    (lambda t: fl.ds(0.5, 2), "`start` must be int or scalar.int., got float"),
    (lambda t: fl.program_id("x"), "`axis` must be int, got str"),
    (lambda t: fl.program_id(0.5), "`axis` must be int, got float"),
    (lambda t: fl.num_programs("x"), "`axes` must be int or a tuple of int, got str"),
    (lambda t: fl.arange(1.5), "`bound of nl.arange` must be int, got float"),
    (lambda t: fl.arange(), "nl.arange takes 1 to 3 bounds, got 0"),
    (lambda t: fl.arange(0, 4, 0), "step of nl.arange must be non-zero"),
    (lambda t: fl.mgrid[0:4:0, 0:8], "step of nl.arange must be non-zero"),
    (lambda t: fl.mgrid[0:4.5, 0:8], "`bound of nl.arange` must be int, got float"),
    (lambda t: fl.affine_range(4.0), "loop bounds must be int, got float"),
    (lambda t: fl.affine_range(np.arange(3)), "loop bounds must be int, got ndarray"),
    (lambda t: fl.affine_range(0, 4, 0), "step of a loop must be positive, got 0"),
    (lambda t: fl.static_range(0, 4, 0), "step of a loop must be positive, got 0"),
    (lambda t: fl.arange(4) + np.arange(4), "'.' between NKI index and non integer"),
    (lambda t: np.arange(4) * fl.arange(4), "'.' between NKI index and non integer"),
    (lambda t: 1.5 - fl.arange(4), "'-' between NKI index and non integer"),
    (lambda t: fl.arange(4) * 1.5, "'.' between NKI index and non integer"),
    (lambda t: fl.par_dim("x"), "`size` must be int, got str"),
    (lambda t: fl.par_dim(2.5), "`size` must be int, got float"),
    (lambda t: fl.program_id(1 << 80), "`axis` must fit 64 bits, got"),
    # no truth values, names or members of an enumeration
    (lambda t: fl.sum(t, 1, keepdims="x"), "`keepdims` must be bool, got str"),
    (lambda t: fl.mean(t, 1, keepdims=X), "`keepdims` must be bool, got ndarray"),
    (lambda t: fl.matmul(t, t, transpose_x=t), "`transpose_x` must be bool, got "),
    (lambda t: fisa.tensor_copy(t, engine=X), "`engine` is array"),
    (lambda t: fl.zeros((128, 1), fl.int8, buffer=t), "`buffer` is .*expected one of"),
    (lambda t: fl.zeros((128, 1), fl.int8, name=X), "`name` must be str, got ndarray"),
    # sizes
    (lambda t: t.reshape((-1, 0)), "reshape of 'tile' to .-1, 0.: extents must be pos"),
    (
        lambda t: t.reshape((128, -8, -8)),
        "extents must be positive, one of them may be",
    ),
    (
        lambda t: t.reshape((128, -1, -1)),
        "extents must be positive, one of them may be",
    ),
    (lambda t: t.reshape(()), "reshape tensor cannot change the number of elements"),
    (lambda t: fl.broadcast_to(t, (64,)), "mismatched shapes: expected 2 dimensions"),
    (lambda t: fl.broadcast_to(t, ()), "mismatched shapes: expected 2 dimensions"),
    (lambda t: fl.broadcast_to(t, (128, -3)), "mismatched shapes: extents must be pos"),
    (lambda t: t.broadcast_to((128, 0)), "mismatched shapes: extents must be positive"),
    (lambda t: fl.ds(0, -4), "`size` of nl.ds must be positive, got -4"),
    (lambda t: fl.ds(0, 0), "`size` of nl.ds must be positive, got 0"),
    (lambda t: fl.expand_dims(t, 7), "axis 7 is out of bounds, expected -3 to 2"),
    (lambda t: t.expand_dims(-4), "axis -4 is out of bounds, expected -3 to 2"),
    (lambda t: t[..., ...], "an index of 'tile' can have one `...` only"),
    (lambda t: fl.sum(t, axis=(1, -1)), "axis .1, -1. names a dimension of .* twice"),
    (lambda t: fl.mean(t, axis=(1, 1)), "axis .1, 1. names a dimension of .* twice"),
    (lambda t: fl.sum(t, axis=2), "axis .2,. is not within 2 dimensions"),
    # arguments that would have no effect
    (
        lambda t: fisa.tensor_copy_predicated(src=t, dst=t, predicate=t, dtype=np.int8),
        "tensor_copy_predicated: `dtype` is int8, but `dst` is",
    ),
    (
        lambda t: fisa.tensor_scalar(t, np.add, 1.0, reverse1=True),
        "reverse1 swaps the sides of op1, which is not given",
    ),
    (lambda t: fl.affine_range(4, foo=1), "unexpected keyword argument 'foo'; it acc"),
    (lambda t: fl.sequential_range(4, foo=1), "step, and without effect auto_pipe"),
    (lambda t: fl.static_range(4, foo=1), "unexpected keyword argument 'foo'; it acc"),
    # indices as data
    (lambda t: t * (fl.program_id(0) + 1), "index .* has no value as data of a tile"),
    (lambda t: (fl.program_id(0) + 1) * t, "index .* has no value as data of a tile"),
    (lambda t: t - (fl.program_id(0) + 1), "make a tile of the index with nisa.iota"),
    (lambda t: (fl.program_id(0) + 1) - t, "make a tile of the index with nisa.iota"),
    (lambda t: (fl.program_id(0) + 1) % t, "make a tile of the index with nisa.iota"),
    (lambda t: (fl.program_id(0) + 1) / t, "make a tile of the index with nisa.iota"),
    (lambda t: t / fl.arange(64)[None, :], "make a tile of the index with nisa.iota"),
    (lambda t: t & (fl.program_id(0) + 1), "make a tile of the index with nisa.iota"),
    (lambda t: fl.add(t, fl.program_id(0)), "make a tile of the index with nisa.iota"),
)

DESTINATION: tuple[tuple[Call, str], ...] = (
    (lambda t: t.reshape("ab"), "`shape` must be a list of int, got str"),
    (lambda t: t.reshape((128, 8.5, 8)), "`shape` must be a list of int, got float"),
    (lambda t: t.reshape((-1, 0)), "extents must be positive, one of them may be -1"),
    (
        lambda t: t.reshape((128, -8, -8)),
        "extents must be positive, one of them may be",
    ),
    (lambda t: dl.ds(0, -4), "`size` of nl.ds must be 0 or more, got -4"),
    (lambda t: dl.ds(0, 2.5), "`size` must be int, got float"),
    (lambda t: dl.program_id("x"), "`axis` must be int, got str"),
    (lambda t: dl.affine_range("a"), "`start` must be int, got str"),
    (lambda t: dl.sequential_range(0, 4.5), "`stop` must be int, got float"),
    (lambda t: dl.static_range(0, 4, 0), "step of a loop must be non-zero"),
    (lambda t: dl.affine_range(4, foo=1), "unexpected keyword argument 'foo'; it acc"),
    (
        lambda t: t[:, 0:1].broadcast(1, -3),
        "mismatched shapes: extents must be positiv",
    ),
    (lambda t: t[:, 0:1].broadcast(1, 2.5), "`size` must be int, got float"),
    (lambda t: t.expand_dim(7), "no place 7 in"),
    (lambda t: t[..., ...], "can have one `...` only"),
    (lambda t: dl.sum(t, axis=(1, -1)), "axis .1, -1. names a dimension of .* twice"),
    (
        lambda t: disa.tensor_reduce(t, dl.add, t, axis=None),
        "`axis` must be int or a tuple of int, got NoneType",
    ),
    (lambda t: select(t, [1, 64]), "list of .step, number. pairs"),
    (lambda t: select(t, None), "list of .step, number. pairs"),
    (lambda t: select(t, [[1, 64, 2]]), "list of .step, number. pairs"),
    (lambda t: select(t, [[1.5, 64]]), "`pattern` must be a list of int, got float"),
    (lambda t: select(t, [[1, -64]]), "has a number that is not positive"),
    (lambda t: disa.iota(t, [[1, 0]], 0, 1), "has a number that is not positive"),
    (
        lambda t: scalar(t, reverse1=True),
        "reverse1 swaps the sides of op1, which is",
    ),
    (lambda t: scalar(t, reverse0="x"), "`reverse0` must be bool, got str"),
    (lambda t: scalar(t, name=3), "`name` must be str, got int"),
    (lambda t: shaped(t, f=7), "fixed_sizes says that 'f' is 7, the dimension is 64"),
    (lambda t: shaped(t, g=64), "fixed_sizes has 'g', which is not a name of src_pat"),
    (lambda t: shaped(t, f=64.0), "`fixed_sizes.'f'.` must be int, got float"),
    (
        lambda t: t.rearrange(("p", "f"), ("p", "f"), [64]),
        "`fixed_sizes` must be a dict of names and int",
    ),
)


def spelled(case: tuple[Call, str]) -> str:
    return str(case[0].__code__.co_firstlineno)


@pytest.mark.parametrize("case", FUNCTIONAL, ids=spelled)
def test_the_functional_generation_refuses(case: tuple[Call, str]) -> None:
    call, message = case
    error = refused(functional, call, grid=2)
    assert not isinstance(error, NKIInternalError)
    _matches(message, error)


@pytest.mark.parametrize("case", DESTINATION, ids=spelled)
def test_the_destination_passing_generation_refuses(case: tuple[Call, str]) -> None:
    call, message = case
    error = refused(destination, call)
    assert not isinstance(error, NKIInternalError)
    _matches(message, error)


def _matches(message: str, error: NKIError) -> None:
    assert re.search(message, error.message), error.message


def test_the_known_loop_directives_change_nothing() -> None:
    def kernel(x: Any) -> Any:
        out = fl.ndarray(x.shape, x.dtype, buffer=fl.shared_hbm)
        for i in fl.affine_range(2, multi_buffer=2, precise_schedule=True):
            for j in fl.sequential_range(2, auto_pipeline=True, directives=()):
                at = (slice(None), fl.ds(32 * i + 16 * j, 16))
                fl.store(out[at], fl.load(x[at]) + 1.0)
        return out

    assert_kernel_ok(functional.jit(kernel), X, expected=X + 1)


def test_views_take_every_spelling_of_an_integer() -> None:
    def kernel(x: Any) -> Any:
        out = fl.ndarray((128, 1), x.dtype, buffer=fl.shared_hbm)
        tile = fl.load(x).reshape(np.array([128, -1, 8]))
        wide = tile.expand_dims(np.int64(-1))[..., 0]
        total = fl.sum(wide, axis=[np.int32(1), -1])
        fl.store(out, total.reshape(128, np.int64(1)))
        return out

    expected = X.sum(axis=1, keepdims=True)
    assert_kernel_ok(functional.jit(kernel), X, expected=expected)


def test_all_has_the_inputs_type_where_results_have_destinations() -> None:
    found: list[Any] = []

    def passing(x: Any) -> Any:
        tile = dl.ndarray(x.shape, x.dtype, buffer=dl.sbuf)
        disa.dma_copy(tile, x)
        found.append(dl.all(tile, axis=1).dtype)
        found.append(dl.all(tile, axis=1, dtype=dl.int32).dtype)
        return x

    def valued(x: Any) -> Any:
        out = fl.ndarray((128, 1), fl.uint8, buffer=fl.shared_hbm)
        result = fl.all(fl.load(x), axis=1)
        found.append(result.dtype)
        fl.store(out[:, 0], result)
        return out

    destination.jit(passing).trace(X)
    functional.jit(valued).trace(X)
    assert found == [np.float32, np.int32, np.uint8]


def test_a_size_that_the_program_decides_traces_each_program() -> None:
    def kernel(x: Any) -> Any:
        out = fl.ndarray(x.shape, x.dtype, buffer=fl.shared_hbm)
        size = 32 * (fl.program_id(0) + 1)
        at = (slice(None), fl.ds(0, size))
        fl.store(out, fl.load(x))
        fl.store(out[at], fl.load(x[at]) * 2.0)
        return out

    assert functional.jit(kernel)[2].trace(X) is not None


# -- what the implementation itself does wrong -------------------------------------


def _fails(what: Any) -> Any:
    """Uses its argument without a look at it."""
    return View.permuted(what, (0,))


fails = api(_fails)


def test_a_failure_of_the_implementation_says_so_at_the_kernels_line() -> None:
    error = refused(functional, lambda t: fails(3))
    assert isinstance(error, NKIInternalError)
    assert "internal error: AttributeError" in error.message
    assert isinstance(error.__cause__, AttributeError)


def test_a_failure_of_a_method_says_so_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from xdsl_neuron.tracer import views

    monkeypatch.setattr(views, "split_pairs", len)
    error = refused(functional, lambda t: t.reshape((128, 8, 8)))
    assert isinstance(error, NKIInternalError)
    assert "internal error: TypeError" in error.message


@pytest.mark.parametrize("error", [ValueError("mine"), KeyError("k"), OSError("o")])
def test_what_the_kernels_own_functions_raise_is_theirs(error: Exception) -> None:
    @api
    def calls(function: Callable[[], object]) -> object:
        return function()

    def raises() -> None:
        raise error

    def kernel(x: Any) -> Any:
        calls(raises)
        return x

    with pytest.raises(type(error)) as caught:
        functional.jit(kernel).trace(X)
    assert caught.value is error


@pytest.mark.parametrize("package", [functional, destination])
def test_a_name_that_does_not_exist_is_pythons_error(package: Any) -> None:
    def kernel(x: Any) -> Any:
        assert not hasattr(x, "colour")
        assert not hasattr(package.language, "colour")
        return x.colour

    with pytest.raises(AttributeError):
        package.jit(kernel).trace(X)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.ones((128, 3), np.float32), "ndarray (an array of shape (128, 3); make it"),
        ([1.5] * 1000, "list ([1.5, 1.5,"),
        ("one\ntwo", "str ('one\\ntwo')"),
    ],
)
def test_a_wrong_value_is_told_in_one_line(value: Any, text: str) -> None:
    found = described(value)
    assert found.startswith(text)
    assert len(found) < 200
    assert "\n" not in found
