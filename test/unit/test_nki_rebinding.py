"""Variables of bodies that are traced once: handed on (refused), or not (allowed)."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import functional, isa, language
from xdsl_neuron.nki.functional import language as functional_language
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKISyntaxError

fl: Any = functional_language
nl: Any = language
nisa: Any = isa
X = np.arange(128 * 8, dtype=np.float32).reshape(128, 8)
N = np.array([[3]], np.int32)
shared: Any = 1


def number() -> Any:
    """A register of 3, known only while running."""
    return nisa.register_alloc(nl.load(nl.full((1, 1), 3, nl.int32, nl.hbm)))


# -- functional: handed on ---------------------------------------------------------


def tile_sum(t: Any) -> None:
    acc = fl.zeros((128, 8), fl.float32)
    for _ in fl.sequential_range(4):
        acc = acc + t


def tile_sum_augmented_later(t: Any) -> None:
    acc, other = fl.zeros((128, 8), fl.float32), t
    for _ in fl.sequential_range(4):
        other += acc
        acc = fl.add(t, 1.0)


def swapped(t: Any) -> None:
    u = fl.add(t, 1.0)
    for _ in fl.sequential_range(4):
        t, u = u, t


def previous(t: Any) -> None:
    before = fl.zeros((128, 8), fl.float32)
    for _ in fl.sequential_range(4):
        fl.add(before, 1.0)
        before = fl.add(t, 1.0)


def factor(t: Any) -> None:
    f = 2.0
    for _ in fl.affine_range(4):
        fl.multiply(t, f)
        f = f * 2


def counter_under_a_condition(t: Any, wanted: bool = True) -> None:
    n = 0
    for _ in fl.affine_range(4):
        if wanted:
            n += 1


def first_time(t: Any) -> None:
    first = True
    for _ in fl.sequential_range(4):
        if first:
            fl.add(t, 1.0)
            first = False


def nothing_yet(t: Any) -> None:
    before = None
    for _ in fl.sequential_range(4):
        if before is not None:
            fl.add(before, 1.0)
        before = fl.add(t, 1.0)


def in_a_comprehension(t: Any) -> None:
    acc = t
    for _ in fl.sequential_range(4):
        parts = [fl.add(acc, float(k)) for k in range(2)]
        acc = parts[1]


def by_a_function(t: Any) -> None:
    acc = t

    def step() -> None:
        nonlocal acc
        acc = fl.add(acc, 1.0)

    for _ in fl.sequential_range(4):
        step()


def read_by_one_bound_by_another(t: Any) -> None:
    acc = t

    def read() -> None:
        fl.add(acc, 1.0)

    def bind() -> None:
        nonlocal acc
        acc = fl.add(t, 2.0)

    for _ in fl.sequential_range(4):
        read()
        bind()


def of_the_module(t: Any) -> None:
    global shared
    shared = 1
    for _ in fl.sequential_range(4):
        shared = shared + 1


def in_an_inner_loop(t: Any) -> None:
    acc = t
    for _ in fl.sequential_range(4):
        for k in range(2):
            acc = acc + float(k)


def index_sum(t: Any) -> None:
    at = 0
    for i in fl.sequential_range(4):
        at = at + i


def attribute(t: Any) -> None:
    state = SimpleNamespace(acc=fl.add(t, 1.0))
    for _ in fl.sequential_range(4):
        state.acc = state.acc + t


def item_of_a_list(t: Any) -> None:
    tiles = [t, fl.add(t, 1.0)]
    for _ in fl.sequential_range(4):
        tiles[1] = fl.add(tiles[1], t)


def item_of_a_dict(t: Any) -> None:
    tiles = {"acc": fl.add(t, 1.0)}
    for _ in fl.affine_range(4):
        tiles["acc"] = tiles["acc"] * 2.0


HANDED_ON: dict[Callable[[Any], None], tuple[str, str]] = {
    tile_sum: ("acc", "another tensor there"),
    tile_sum_augmented_later: ("acc", r"`acc\[\.\.\.\] = expression`"),
    swapped: ("[tu]", "another tensor there"),
    previous: ("before", "another tensor there"),
    factor: ("f", "another number there; .* use static_range or range"),
    counter_under_a_condition: ("n", "another number"),
    first_time: ("first", "another number"),
    nothing_yet: ("before", "another tensor"),
    in_a_comprehension: ("acc", "another tensor"),
    by_a_function: ("acc", "another tensor"),
    read_by_one_bound_by_another: ("acc", "another tensor"),
    of_the_module: ("shared", "another number"),
    in_an_inner_loop: ("acc", "another tensor"),
    index_sum: ("at", "another index"),
    attribute: (r"state\.acc", "another tensor"),
    item_of_a_list: (r"tiles\[1\]", "another tensor"),
    item_of_a_dict: (r"tiles\['acc'\]", "another tensor"),
}


@pytest.mark.parametrize("body", HANDED_ON, ids=lambda body: body.__name__)
def test_refused_in_a_rolled_loop(body: Callable[[Any], None]) -> None:
    def kernel(x: Any) -> Any:
        out = fl.ndarray(x.shape, x.dtype, buffer=fl.shared_hbm)
        tile = fl.load(x)
        body(tile)
        fl.store(out, tile)
        return out

    name, message = HANDED_ON[body]
    expected = f"'{name}' is read in the body of .*_range and bound to .*{message}"
    with pytest.raises(NKISyntaxError, match=expected) as raised:
        functional.trace(kernel)(X)
    _is_in(raised.value, body, name)


def _is_in(error: NKISyntaxError, body: Callable[..., Any], name: str) -> None:
    """The place is a line of the body."""
    assert error.location is not None
    assert error.location.file == __file__
    first = body.__code__.co_firstlineno
    assert first < error.location.line < first + 20


# -- functional: not handed on -----------------------------------------------------


@functional.jit
def allowed(x: Any) -> Any:
    """Names that each iteration binds before it reads them, at first bound outside."""
    out = fl.ndarray((4, *x.shape), x.dtype, buffer=fl.shared_hbm)
    t, part, total = fl.load(x), fl.load(x), fl.load(x)
    at, last, cut = 7, -1, 0
    for m in range(2):
        for i in fl.affine_range(2):
            part = fl.load(x)
            part = part + float(m)
            at = 2 * m
            at += i
            for k in range(3):
                if k == 0:
                    total = fl.add(part, 0.0)
                else:
                    total = total + t
            for k in range(3):
                last = k
            cut = last if last == 2 else 0
            fl.store(out[at], fl.multiply(total, float(cut)))
    return out


def test_what_is_bound_first_is_allowed() -> None:
    rows = [2 * (X + m + 2 * X) for m in range(2) for _ in range(2)]
    assert_kernel_ok(allowed, X, expected=np.stack(rows))


@functional.jit
def one_trip(x: Any) -> Any:
    out = fl.ndarray(x.shape, x.dtype, buffer=fl.shared_hbm)
    acc = fl.load(x)
    for _ in fl.sequential_range(1):
        acc = acc + 1.0
        fl.store(out, acc)
    return out


def test_one_trip_hands_nothing_on() -> None:
    assert_kernel_ok(one_trip, X, expected=X + 1)


@functional.jit
def left_by_break_elsewhere(x: Any, leave: bool = False) -> Any:
    out = fl.ndarray(x.shape, x.dtype, buffer=fl.shared_hbm)
    tile, by = fl.load(x), 0.0
    for k in range(2):
        for _ in fl.sequential_range(2):
            if leave:
                break
            by = float(k)
        fl.store(out, tile + by)
    return out


def test_a_way_out_of_the_loop_is_not_an_iteration() -> None:
    assert_kernel_ok(left_by_break_elsewhere, X, expected=X + 1)


@functional.jit
def shape_only(x: Any) -> Any:
    out = fl.ndarray(x.shape, x.dtype, buffer=fl.shared_hbm)
    t = fl.load(x)

    def fresh() -> None:
        nonlocal t
        t = fl.load(x)

    def use(by: float) -> None:
        fl.store(out, t + by)

    for _ in fl.sequential_range(3):
        _, _ = t.shape
        fresh()
        use(2.0)
    return out


def test_shapes_and_functions_that_bind_first_are_allowed() -> None:
    assert_kernel_ok(shape_only, X, expected=X + 2)


@functional.jit
def items_of_each_iteration(x: Any) -> Any:
    out = fl.ndarray(x.shape, x.dtype, buffer=fl.shared_hbm)
    tiles = [fl.load(x), fl.load(x)]
    state = SimpleNamespace(held=tiles[0], count=0)
    for _ in range(2):
        for _ in fl.sequential_range(2):
            tiles[1] = fl.add(tiles[0], 1.0)
            state.held = fl.add(tiles[1], 1.0)
            state.count += 1
            fl.store(out, fl.add(state.held, tiles[1]))
        tiles[1] = tiles[0]
        state.held = tiles[1]
    return out


def test_items_that_each_iteration_replaces_first_are_allowed() -> None:
    assert_kernel_ok(items_of_each_iteration, X, expected=2 * X + 3)


# -- loops on the device -----------------------------------------------------------


def register_sum(n: Any) -> None:
    r = nisa.register_alloc(0)
    for _ in nl.dynamic_range(n):
        r = r + 1


def register_sum_augmented(n: Any) -> None:
    r = nisa.register_alloc(0)
    for _ in nl.dynamic_range(4):
        r += 2


def python_number(n: Any) -> None:
    f = 1
    for _ in nl.dynamic_range(n):
        f = f * 2


def closure_of_fori(n: Any) -> None:
    acc = nisa.register_alloc(0)

    def body(i: Any) -> None:
        nonlocal acc
        acc = acc + i

    nl.fori_loop(0, n, body)


def times(act: Callable[[Any], None], i: Any) -> None:
    act(i)


def function_called_by_fori(n: Any) -> None:
    acc = nisa.register_alloc(0)

    def add(i: Any) -> None:
        nonlocal acc
        acc = acc + i

    nl.fori_loop(0, n, partial(times, add))


def closure_of_while(n: Any) -> None:
    count = 0

    def body(left: Any) -> Any:
        nonlocal count
        count += 1
        return left - 1

    nl.while_loop(n, body)


def while_counts_down(n: Any) -> None:
    while n:
        n = n - 1


def while_compares(n: Any) -> None:
    i = nisa.register_alloc(0)
    while i < 5:
        i = i + 1


def while_tile(n: Any) -> None:
    t = nl.zeros((1, 1), nl.int32, buffer=nl.sbuf)
    while n:
        u = nl.add(t, 1)
        nisa.register_move(n, n - 1)
        t = u


REGISTERS: dict[Callable[[Any], None], tuple[str, str]] = {
    register_sum: ("r", r"another register there; .*nisa.register_move\(r, "),
    register_sum_augmented: ("r", "another register there"),
    python_number: ("f", "another number"),
    closure_of_fori: ("acc", "another register"),
    function_called_by_fori: ("acc", "another register"),
    closure_of_while: ("count", "another number"),
    while_counts_down: ("n", "another register"),
    while_compares: ("i", "another register"),
    while_tile: ("t", "another tensor"),
}


@pytest.mark.parametrize("body", REGISTERS, ids=lambda body: body.__name__)
def test_refused_in_a_loop_on_the_device(body: Callable[[Any], None]) -> None:
    def kernel(count: Any) -> Any:
        out = nl.ndarray((1, 1), nl.int32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, count)
        body(nisa.register_alloc(nl.load(count)))
        return out

    name, message = REGISTERS[body]
    expected = f"'{name}' is read in the body of .* and bound to {message}"
    with pytest.raises(NKISyntaxError, match=expected) as raised:
        nki.trace(kernel)(N)
    _is_in(raised.value, body, name)


@nki.jit
def bound_in_each_trip(count: Any) -> Any:
    out = nl.ndarray((1, 4), nl.int32, buffer=nl.shared_hbm)
    n = nisa.register_alloc(nl.load(count))
    total, q = nisa.register_alloc(0), nisa.register_alloc(100)
    for i in nl.dynamic_range(n):
        q = i * 2
        nisa.register_move(total, total + q)
    nisa.register_store(out[:, 0:1], total)

    def body(i: Any) -> None:
        nonlocal q
        q = i + 1
        nisa.register_move(total, total + q)

    nl.fori_loop(0, n, body)
    nisa.register_store(out[:, 1:2], total)
    while n:
        less = n - 1
        nisa.register_move(n, less)
    nisa.register_store(out[:, 2:3], n)
    left = nisa.register_alloc(2)
    while left:
        left = nisa.register_alloc(nl.load(out[:, 2:3]))
        nisa.register_move(total, total + 1)
    nisa.register_store(out[:, 3:4], total)
    return out


@pytest.mark.parametrize("count", [1, 3])
def test_what_each_trip_binds_is_allowed(count: int) -> None:
    doubled = sum(2 * i for i in range(count))
    total = doubled + sum(i + 1 for i in range(count))
    expected = np.array([[doubled, total, 0, total + 1]], np.int32)
    assert_kernel_ok(
        bound_in_each_trip, np.array([[count]], np.int32), expected=expected
    )


# -- what a body computes of registers of before -----------------------------------


@nki.jit
def used_behind(count: Any) -> Any:
    out = nl.ndarray((1, 2), nl.int32, buffer=nl.shared_hbm)
    n, k = nisa.register_alloc(nl.load(count)), nisa.register_alloc(7)
    q, p = k, k
    for _ in nl.dynamic_range(n):
        q = k * 2
    for _ in nl.dynamic_range(4):
        for _ in nl.dynamic_range(n):
            p = k * 5
        p = k + n
    nisa.register_store(out[:, 0:1], q)
    nisa.register_store(out[:, 1:2], p)
    return out


def test_an_expression_of_registers_of_before_is_used_behind_the_loop() -> None:
    assert_kernel_ok(used_behind, N, expected=np.array([[14, 10]], np.int32))


def test_what_nothing_uses_leaves_no_copy() -> None:
    def kernel(count: Any) -> Any:
        out = nl.ndarray((1, 1), nl.int32, buffer=nl.shared_hbm)
        n = nisa.register_alloc(nl.load(count))
        kept = nisa.register_alloc(5)
        for i in nl.dynamic_range(n):
            nisa.register_store(out, i)
        nisa.register_store(out, kept)
        return out

    text = str(nki.trace(kernel)(N))
    assert "carried" not in text
    assert "register_move" not in text
    assert_kernel_ok(kernel, N, expected=np.array([[5]], np.int32))


def test_an_expression_of_a_changed_register_stays_in_the_body() -> None:
    def kernel(count: Any) -> Any:
        out = nl.ndarray((1, 1), nl.int32, buffer=nl.shared_hbm)
        n, k = nisa.register_alloc(nl.load(count)), nisa.register_alloc(0)
        q = k
        for _ in nl.dynamic_range(n):
            q = k * 2
            nisa.register_move(k, k + 1)
        nisa.register_store(out, q)
        return out

    with pytest.raises(NKISyntaxError, match="used outside of the loop it was loaded"):
        nki.trace(kernel)(N)
