"""Tensors that a kernel places: in IR at every level, and apart where it matters."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import isa, language
from xdsl_neuron.testing import assert_kernel_ok, texts
from xdsl_neuron.tracer.errors import NKIError

nl: Any = language
nisa: Any = isa

A = np.random.default_rng(0).random((30, 17), np.float32)


def placed(at: Any, name: str = "", buffer: Any = nl.sbuf) -> Any:
    return nl.ndarray((30, 17), nl.float32, buffer=buffer, name=name, address=at)


@nki.jit
def in_turn(a: Any) -> Any:
    """Two tiles in the same bytes, one after the other, in every iteration."""
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    total = placed((0, 100))
    nisa.memset(total, 0.0)
    for _ in range(3):
        first = placed((0, 1000))
        nisa.dma_copy(first, a)
        nisa.tensor_tensor(total, total, first, nl.add)
        second = placed((0, 1004))
        nisa.tensor_scalar(second, total, nl.multiply, 2.0)
        nisa.tensor_copy(total, second)
    nisa.dma_copy(out, total)
    return out


def test_memory_used_in_turn() -> None:
    expected = np.zeros_like(A)
    for _ in range(3):
        expected = (expected + A) * 2
    assert_kernel_ok(in_turn, A, expected=expected)
    for level in ("penguin", "bir", "dma"):
        text = texts(in_turn.trace(A))[level]
        assert text.count("at [(0, 1004)]") == 3


def taken(a: Any) -> None:
    first = placed((0, 0), "first")
    second = placed((0, 64), "second")
    nisa.memset(first, 1.0)
    nisa.memset(second, 2.0)
    nisa.tensor_copy(placed((0, 9000)), first)


def never_written(a: Any) -> None:
    first = placed((0, 0), "first")
    second = placed((0, 0), "second")
    nisa.memset(first, 1.0)
    nisa.tensor_copy(placed((0, 9000)), second)


def apart(a: Any) -> None:
    """What is read lies beside what was taken, or has been written again."""
    first = placed((0, 0))
    second = placed((0, 64))
    nisa.memset(first, 1.0)
    nisa.memset(second[:, 0:3], 2.0)
    nisa.tensor_copy(placed((0, 9000)), first[:, 0:16].ap([[17, 30], [0, 17]]))
    nisa.memset(first[:, 16:17], 3.0)
    nisa.tensor_copy(placed((0, 9000)), first)
    other = placed((32, 64))
    nisa.memset(other, 2.0)
    nisa.memset(placed((0, 0), buffer=nl.psum), 2.0)
    nisa.tensor_copy(placed((0, 9000)), first)


def in_hbm(at: Any, name: str = "", buffer: Any = nl.private_hbm) -> Any:
    return nl.ndarray((30, 17), nl.float32, buffer=buffer, name=name, address=at)


def taken_in_hbm(a: Any) -> None:
    first, second = in_hbm((0,), "first"), in_hbm((2000,), "second")
    nisa.dma_copy(first, a)
    nisa.dma_copy(second, a)
    nisa.dma_copy(placed((0, 0)), first)


def picked_in_hbm(a: Any) -> None:
    """Rows that an index tile picks may be any."""
    first, second = in_hbm((0,), "first"), in_hbm((2000,), "second")
    nisa.dma_copy(first, a)
    nisa.dma_copy(second, a)
    index = nl.ndarray((2, 1), nl.int32, buffer=nl.sbuf)
    nisa.iota(index, [[1, 1]], 0, 1)
    rows = nl.ndarray((2, 17), nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(rows, first.vector_select(0, index))


def apart_in_hbm(a: Any) -> None:
    first, second = in_hbm((0,)), in_hbm((30 * 17 * 4,), buffer=nl.shared_hbm)
    nisa.dma_copy(first, a)
    nisa.dma_copy(second, a)
    nisa.dma_copy(placed((0, 0)), first)
    third = in_hbm((68,))
    nisa.dma_copy(third[29:30], a[0:1])
    nisa.dma_copy(placed((0, 0)), first)


def columns_picked(read: str) -> Callable[[Any], None]:
    """Columns that an index picks may be any, and the index itself is read."""

    def use(a: Any) -> None:
        table, index = placed((0, 0), "table"), placed_index((0, 4096), "index")
        nisa.memset(table, 1.0)
        nisa.memset(index, 0)
        place = (0, 4096) if read == "index" else (0, 64)
        other = placed(place, "other")
        nisa.memset(other, 2.0)
        beside, picked = placed((0, 9000)), table.indirect(index, 2)
        nisa.memset(beside, 3.0)
        if read == "other":
            nisa.tensor_copy(picked, beside[:, :2])
            nisa.tensor_copy(beside, other)
        elif read == "table":
            # Two columns are no more than what was there of the others.
            nisa.tensor_copy(picked, beside[:, :2])
            nisa.tensor_copy(beside, table)
        else:
            nisa.tensor_copy(beside[:, :2], picked)

    return use


def placed_index(at: Any, name: str) -> Any:
    return nl.ndarray((30, 1), nl.uint16, buffer=nl.sbuf, name=name, address=at)


REFUSALS: list[tuple[Callable[[Any], object], str]] = [
    (taken, "'first' is read after 'second', which is placed on the same bytes"),
    (never_written, "'second' is read and was never written, only 'first' on the"),
    (apart, ""),
    (taken_in_hbm, "'first' is read after 'second', which is placed on the same bytes"),
    (picked_in_hbm, "'first' is read after 'second', which is placed on the same byt"),
    (apart_in_hbm, ""),
    (columns_picked("columns"), "'table' is read after 'other', which is placed on"),
    (columns_picked("index"), "'index' is read after 'other', which is placed on the"),
    (columns_picked("other"), "'other' is read after 'table', which is placed on the"),
    (columns_picked("table"), "'table' is read after 'other', which is placed on the"),
    (lambda a: in_hbm((0, 0)), r"in private_hbm must be a \(byte,\) tuple, got \(0, 0"),
    (lambda a: in_hbm((-4,)), "`address` must not be negative"),
    (lambda a: in_hbm(("x",)), "`address` must be int, got str"),
    (lambda a: placed(7), r"must be a \(partition, byte\) tuple, got 7"),
    (lambda a: placed((0, "x")), "`address` must be int, got str"),
    (
        lambda a: placed((99, 0)),
        r"address \(99, 0\): 30 partitions from 99 on exceed the 128 there are",
    ),
    (
        lambda a: placed((0, 245700)),
        "68 bytes from 245700 on exceed the 245752 of a partition of sbuf",
    ),
    (lambda a: placed((-1, 0)), r"address \(-1, 0\): 30 partitions from -1 on exceed"),
    (
        lambda a: placed((0, 2), buffer=nl.psum),
        "an address in psum is a multiple of 4 bytes",
    ),
]


@pytest.mark.parametrize(("use", "message"), REFUSALS)
def test_places(use: Callable[[Any], Any], message: str) -> None:
    def kernel(a: Any) -> Any:
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        use(a)
        nisa.dma_copy(out, a)
        return out

    if not message:
        nki.trace(kernel)(A)
        return
    with pytest.raises(NKIError, match=message) as raised:
        nki.trace(kernel)(A)
    assert raised.value.location is not None
    assert raised.value.location.file == __file__


def test_cores_have_memory_of_their_own() -> None:
    def kernel(a: Any) -> Any:
        out = nl.ndarray((2, *a.shape), a.dtype, buffer=nl.shared_hbm)
        tile = placed((0, 0))
        nisa.dma_copy(tile, a)
        nisa.core_barrier(out, (0, 1))
        nisa.dma_copy(out[nl.program_id(0)], tile)
        return out

    assert_kernel_ok(kernel, A, grid=2, expected=np.stack([A, A]))


def exchanged(a: Any, last: str = "") -> Any:
    """Two cores exchange a tile; then another one takes its bytes."""
    out = nl.ndarray((2, *a.shape), a.dtype, buffer=nl.shared_hbm)
    core = nl.program_id(0)
    mine, theirs = placed((0, 0), "mine"), placed((0, 1024), "theirs")
    nisa.dma_copy(mine, a)
    nisa.tensor_scalar(mine, mine, nl.add, float(core))
    nisa.sendrecv(mine, theirs, 1 - core, 1 - core, 0)
    nisa.tensor_tensor(theirs, mine, theirs, nl.add)
    after = placed((0, 64), "after")
    nisa.dma_copy(after, a)
    if last == "sent":
        nisa.sendrecv(mine, theirs, 1 - core, 1 - core, 0)
    if last == "received":
        nisa.sendrecv(after, mine, 1 - core, 1 - core, 0)
        nisa.tensor_tensor(theirs, after, theirs, nl.add)
    if not last:
        nisa.tensor_tensor(theirs, after, theirs, nl.add)
    nisa.dma_copy(out[core], theirs)
    return out


def test_bytes_taken_after_an_exchange() -> None:
    """Cores meet where the kernel says so, not after all of them have ended."""
    assert_kernel_ok(exchanged, A, grid=2, expected=np.stack([A + (A + 1) + A] * 2))


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("sent", "'mine' is read after 'after', which is placed on the same bytes"),
        ("received", "'after' is read after 'mine', which is placed on the same bytes"),
    ],
)
def test_what_an_exchange_reads_and_writes(last: str, message: str) -> None:
    with pytest.raises(NKIError, match=message) as raised:
        nki.jit(exchanged)[2].trace(A, last)
    assert raised.value.location is not None
    first = exchanged.__code__.co_firstlineno
    assert raised.value.location.line == first + (12 if last == "sent" else 15)
