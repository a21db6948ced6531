"""Python's operators on tiles of the functional generation, against NumPy."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import xdsl_neuron.nki as destination
import xdsl_neuron.nki.functional as nki
import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

nl: Any = functional_language
nisa: Any = functional_isa
Unary = Callable[[Any], Any]
Binary = Callable[[Any, Any], Any]
Array = npt.NDArray[Any]
X = (np.arange(7 * 12, dtype=np.float32).reshape(7, 12) % 11) - 5
Y = (np.arange(7 * 12, dtype=np.float32).reshape(7, 12) % 7) + 1
NUMBER = 3

ARITHMETIC = ("add", "sub", "mul", "truediv", "mod")
BITS = ("and", "or", "xor", "lshift", "rshift")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def python(name: str) -> Binary:
    return getattr(operator, f"__{name}__")


def integers(dtype: Any) -> tuple[Array, Array]:
    return (X * 3).astype(dtype), (Y % 5).astype(dtype)


def stored(found: Any) -> Any:
    out = nl.ndarray(found.shape, found.dtype, buffer=nl.shared_hbm)
    nl.store(out, found)
    return out


def run(function: Unary, array: Array, expected: Array) -> None:
    """The function of a loaded tile, stored; and what NumPy says of it."""

    def kernel(x: Any) -> Any:
        return stored(function(nl.load(x)))

    assert_kernel_ok(nki.jit(kernel), array, expected=expected)


def run_both(function: Binary, left: Array, right: Array, expected: Array) -> None:
    """The function of two loaded tiles."""

    def kernel(x: Any, y: Any) -> Any:
        return stored(function(nl.load(x), nl.load(y)))

    assert_kernel_ok(nki.jit(kernel), left, right, expected=expected)


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic_of_tiles_and_numbers(name: str) -> None:
    op = python(name)
    run_both(op, X, Y, expected=op(X, Y))
    run(lambda x: op(x, NUMBER), X, expected=op(X, np.float32(NUMBER)))
    run(lambda y: op(NUMBER, y), Y, expected=op(np.float32(NUMBER), Y))
    run(lambda y: op(np.float32(NUMBER), y), Y, expected=op(np.float32(NUMBER), Y))


def test_powers() -> None:
    run(lambda y: y**2, Y, expected=Y**2)
    run(lambda y: 2**y, Y, expected=2**Y)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int16, np.uint8, np.int8])
@pytest.mark.parametrize("name", BITS)
def test_bits_of_tiles_and_numbers(name: str, dtype: Any) -> None:
    op, (x, y) = python(name), integers(dtype)
    number = dtype(NUMBER)
    run_both(op, x, y, expected=op(x, y))
    run(lambda x: op(x, NUMBER), x, expected=op(x, number))
    run(lambda y: op(NUMBER, y), y, expected=op(number, y))


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name: str) -> None:
    op = python(name)
    run_both(op, X, Y, expected=op(X, Y))
    run(lambda x: op(x, NUMBER), X, expected=op(X, NUMBER))
    run(lambda x: op(np.float32(NUMBER), x), X, expected=op(np.float32(NUMBER), X))


@pytest.mark.parametrize("name", [*ARITHMETIC, *BITS])
def test_augmented_operators_write_the_tile(name: str) -> None:
    op = getattr(operator, f"__i{name}__")
    x, y = integers(np.int32) if name in BITS else (X, Y)

    def changed(x: Any, y: Any) -> Any:
        seen = x[:, 2:8]
        for _ in nl.sequential_range(2):
            op(x, y)
        return nl.copy(seen)

    expected = python(name)(python(name)(x, y), y)[:, 2:8]
    run_both(changed, x, y, expected=expected)


@pytest.mark.parametrize(
    "function", [operator.neg, operator.pos, operator.abs, np.exp, np.negative, np.sign]
)
def test_unary_operators_and_functions_of_numpy(function: Callable[..., Any]) -> None:
    if function is np.exp:
        run(function, X * 0, expected=np.exp(X * 0))
    else:
        run(function, X, expected=function(X))


def test_inversion() -> None:
    x, _ = integers(np.int32)
    run(operator.invert, x, expected=~x)


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_fmod_has_the_sign_of_the_dividend(dtype: Any) -> None:
    x, y = X.astype(dtype), (Y * np.where(X > 1, -1, 1)).astype(dtype)
    run_both(lambda x, y: nl.fmod(x, y), x, y, expected=np.fmod(x, y))
    run(lambda x: nl.fmod(x, 3), x, expected=np.fmod(x, 3))
    run(lambda y: nl.fmod(-7, y), y, expected=np.fmod(-7, y))
    run_both(lambda x, y: nl.mod(x, y), x, y, expected=np.mod(x, y))


def test_fmod_of_special_values() -> None:
    x = np.array([[np.inf, -np.inf, np.nan, 5.5, -5.5, 0.0, -0.0]], np.float32)
    y = np.array([[2, 2, 2, 1.5, -1.5, 0.0, 3.0]], np.float32)
    with np.errstate(all="ignore"):
        run_both(lambda x, y: nl.fmod(x, y), x, y, expected=np.fmod(x, y))


REFUSED: list[tuple[Unary, str]] = [
    (lambda x: x @ x, r"'@' is not an operator of tiles; use nl.matmul"),
    (lambda x: x // 2, r"'//' is not an operator of tiles; use nl.floor"),
    (lambda x: list(x), "cannot be iterated over"),
    (lambda x: np.asarray(x), "has no values while the kernel is traced"),
    (lambda x: np.sinh(x), "np.sinh does not work on"),
    (lambda x: np.add.reduce(x), "np.add does not work on"),
    (lambda x: np.ones((7, 12), np.float32) + x, "operand"),
    (lambda x: nisa.tensor_scalar(x, np.fmod, 3.0), "the sign of the divisor"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED)
def test_messages(function: Callable[[Any], Any], message: str) -> None:
    def kernel(x: Any) -> None:
        function(nl.load(x))

    with pytest.raises(NKIError, match=message) as raised:
        nki.trace(kernel)(X)
    assert raised.value.location is not None


REFUSED_LATER: list[tuple[Unary, str]] = [
    (lambda x: np.float32(2) * x, "np.multiply does not work on 'x'"),
    (lambda x: np.asarray(x), "'x' is a tensor of a kernel"),
    (lambda x: [row for row in x], "cannot be iterated over"),
]


@pytest.mark.parametrize(("function", "message"), REFUSED_LATER)
def test_messages_of_the_destination_passing_generations(
    function: Unary, message: str
) -> None:
    def kernel(x: Any) -> None:
        function(x)

    with pytest.raises(NKIError, match=message):
        destination.trace(kernel)(X)


def test_fmod_of_a_column_under_a_mask() -> None:
    def kernel(x: Any, y: Any) -> Any:
        column, tile = nl.load(x[:, 0:1]), nl.load(y)
        found = nl.zeros(y.shape, y.dtype, buffer=nl.sbuf)
        mask = nl.arange(12)[None, :] < 7
        found[...] = nl.fmod(column, tile, mask=mask)
        return stored(found)

    expected = np.where(np.arange(12) < 7, np.fmod(X[:, :1], Y), np.float32(0))
    assert_kernel_ok(nki.jit(kernel), X, Y, expected=expected)
