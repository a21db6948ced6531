"""`dynamic_range`, `fori_loop`, `while_loop`, `while register` and their registers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import isa, language
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

nl: Any = language
nisa: Any = isa


def scalar(value: int) -> Any:
    return np.array([[value]], np.int32)


def loaded(source: Any) -> Any:
    """A register with the one element of an HBM tensor."""
    tile = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(tile, source)
    register = nisa.register_alloc()
    nisa.register_load(register, tile)
    return register


def stored(register: Any) -> Any:
    out = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.shared_hbm)
    nisa.register_store(out, register)
    return out


@nki.jit
def every_second(data: Any, count: Any) -> Any:
    out = nl.ndarray(data.shape, data.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, nl.zeros(data.shape, dtype=data.dtype, buffer=nl.sbuf))
    one = nl.ndarray((1, 1), dtype=data.dtype, buffer=nl.sbuf)

    def body(i: Any) -> None:
        place = {"pattern": [[1, 1], [1, 1]], "scalar_offset": i, "indirect_dim": 1}
        nisa.dma_copy(one, data.ap(**place))
        nisa.dma_copy(out.ap(**place), one)

    nl.fori_loop(1, loaded(count), body, 2)
    return out


@pytest.mark.parametrize("count", [0, 1, 6, 17])
def test_fori_loop(count: int) -> None:
    data = np.arange(17, dtype=np.float32)[None]
    expected = np.zeros_like(data)
    expected[0, 1:count:2] = data[0, 1:count:2]
    assert_kernel_ok(every_second, data, scalar(count), expected=expected)


@nki.jit
def rows(a: Any, start: Any, stop: Any) -> Any:
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, nl.zeros(a.shape, dtype=a.dtype, buffer=nl.sbuf))
    for i in nl.dynamic_range(loaded(start), loaded(stop), 3):
        tile = nl.ndarray((2, a.shape[1]), a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(tile, a[nl.ds(i, 2), :])
        nisa.tensor_scalar(tile, tile, nl.add, 1.0)
        nisa.dma_copy(out[i : i + 2], tile)
    return out


@pytest.mark.parametrize(("start", "stop"), [(0, 18), (4, 13), (5, 5), (7, 2)])
def test_both_bounds_of_a_dynamic_range_are_registers(start: int, stop: int) -> None:
    a = np.random.default_rng(0).random((20, 7), np.float32)
    expected = np.zeros_like(a)
    for i in range(start, stop, 3):
        expected[i : i + 2] = a[i : i + 2] + 1
    assert_kernel_ok(rows, a, scalar(start), scalar(stop), expected=expected)


@nki.jit
def constant_bounds(a: Any) -> Any:
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    for i in nl.dynamic_range(a.shape[0]):
        tile = nl.load(a[i])
        nl.store(out[i], nl.multiply(tile, 2.0))
    return out


def test_constant_bounds_are_a_rolled_loop() -> None:
    a = np.random.default_rng(0).random((5, 3), np.float32)
    assert_kernel_ok(constant_bounds, a, expected=a * 2)
    assert "penguin.for sequential %i = 0 to 5 {" in str(constant_bounds.trace(a))


@nki.jit
def counted(data: Any, count: Any) -> Any:
    """Sums while a register counts down; another one is carried along."""
    out = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    value, total = nl.load(data), nl.zeros((1, 1), dtype=nl.float32, buffer=nl.sbuf)
    steps, by = nisa.register_alloc(0), nisa.register_alloc(3)

    def body(left: Any) -> Any:
        nisa.tensor_tensor(total, total, value, nl.add)
        nisa.register_move(steps, steps + by)
        return left - 1

    nl.while_loop(loaded(count), body)
    nisa.dma_copy(out, total)
    return out, stored(steps)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_while_loop(count: int) -> None:
    expected = (np.array([[2.5 * count]], np.float32), scalar(3 * count))
    data = np.array([[2.5]], np.float32)
    assert_kernel_ok(counted, data, scalar(count), expected=expected)


@nki.jit
def while_statements(count: Any) -> Any:
    left, total, i = loaded(count), nisa.register_alloc(0), nisa.register_alloc(0)
    while left:
        for j in nl.dynamic_range(left):
            nisa.register_move(total, total + j)
        nisa.register_move(left, left - 1)
    while i < 5:
        nisa.register_move(i, i + 1)
        nisa.register_move(total, total + i * i)
    return stored(total)


@pytest.mark.parametrize("count", [0, 1, 6])
def test_while_statements_on_registers(count: int) -> None:
    expected = sum(j for left in range(1, count + 1) for j in range(left)) + 55
    assert_kernel_ok(while_statements, scalar(count), expected=scalar(expected))


@nki.jit
def arithmetic(a: Any, b: Any) -> Any:
    x, y = loaded(a), loaded(b)
    return tuple(
        stored(each)
        for each in (
            x * y - 3 * x + 7,
            x // 4,
            x % 5 + (y + 2) // 3,
            -x,
            x < y,
            x >= y,
            x == y,
            x != y,
            nisa.register_alloc(x),
            nisa.register_alloc(9),
        )
    )


@pytest.mark.parametrize(("a", "b"), [(17, 4), (-7, 4), (3, 3), (0, -1)])
def test_register_arithmetic(a: int, b: int) -> None:
    expected = (
        a * b - 3 * a + 7,
        a // 4,
        a % 5 + (b + 2) // 3,
        -a,
        a < b,
        a >= b,
        a == b,
        a != b,
        a,
        9,
    )
    assert_kernel_ok(
        arithmetic, scalar(a), scalar(b), expected=tuple(map(scalar, expected))
    )


def test_a_register_that_a_body_leaves_alone_is_not_carried() -> None:
    def kernel(count: Any) -> Any:
        n, kept = loaded(count), nisa.register_alloc(2)
        out = stored(nisa.register_alloc(0))
        for _ in nl.dynamic_range(n):
            nisa.register_store(out, kept + n)
        return out

    text = str(nki.trace(kernel)(scalar(1)))
    assert "carried" not in text
    assert_kernel_ok(kernel, scalar(4), expected=scalar(6))


def left_by_break(n: Any) -> None:
    for _ in nl.dynamic_range(n):
        break
    nisa.register_alloc(n * 2 + n * n)


def while_left_by_break(n: Any) -> None:
    while n:
        break


def no_register(n: Any) -> None:
    def body(register: Any) -> Any:
        return True

    nl.while_loop(n, body)


def nothing(i: Any) -> None:
    pass


def in_order(n: Any) -> None:
    with nl.no_reorder():
        nl.fori_loop(0, n, nothing)


def index_changed_inside(n: Any) -> None:
    def outer(i: Any) -> None:
        def inner(j: Any) -> None:
            nisa.register_move(i, j)

        nl.fori_loop(0, n, inner)

    nl.fori_loop(0, n, outer)


def decides(n: Any) -> None:
    if n:
        pass


def of_the_body(n: Any) -> None:
    register = nisa.register_alloc()
    for i in nl.dynamic_range(n):
        nisa.register_move(register, i)
    stored(register)


def shared_in_a_body(n: Any) -> None:
    def body(i: Any) -> None:
        nl.ndarray((1, 1), nl.int32, buffer=nl.shared_hbm)

    nl.fori_loop(0, n, body)


REFUSALS: list[tuple[Callable[[Any], object], str]] = [
    (
        lambda n: list(nl.dynamic_range(n)),
        "only be the iterable of a for statement",
    ),
    (lambda n: nl.dynamic_range(0, n, n), "must be an integer known while tracing"),
    (lambda n: nl.fori_loop(0, n, id, 0), "run-time loop must be positive, got 0"),
    (lambda n: nl.while_loop(3, id), "`init` must be a register of register_alloc"),
    (lambda n: int(n), "needs the value of a loop index"),
    (
        lambda n: nisa.register_move(nisa.register_alloc()),
        "takes one of src and imm",
    ),
    (
        lambda n: nisa.register_alloc() + 1,
        "is used before register_load or registe",
    ),
    (left_by_break, "left the body of a dynamic_range, which is traced once"),
    (while_left_by_break, "left the body of a `while register:`, which is traced"),
    (
        no_register,
        "body_fun returns the register that says whether to go on, got b",
    ),
    (
        in_order,
        r"stands inside of nl.no_reorder\(\); put no_reorder into the loop's",
    ),
    (
        index_changed_inside,
        "the index of a run-time loop is read-only",
    ),
    (
        decides,
        "Python control flow on it is `while register:` alone; use nl.fori_l",
    ),
    (of_the_body, "is used outside of the loop it was loaded in"),
    (
        shared_in_a_body,
        "shared_hbm buffer can only be created top level kernel sco",
    ),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSALS)
def test_refusals(wrong: Callable[[Any], object], message: str) -> None:
    def kernel(count: Any) -> Any:
        out = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.shared_hbm)
        wrong(loaded(count))
        nisa.dma_copy(out, count)
        return out

    with pytest.raises(NKIError, match=message) as raised:
        nki.trace(kernel)(scalar(1))
    assert raised.value.location is not None
    assert raised.value.location.file == __file__
