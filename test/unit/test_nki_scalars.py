"""Scalars of 0.7: `scalar_load`, `scalar_store`, arithmetic that wraps, loop bounds."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from levels import print_module

from xdsl_neuron import nki
from xdsl_neuron.json import from_json, parse_document, to_json
from xdsl_neuron.machine import prepare
from xdsl_neuron.machine.errors import MachineError
from xdsl_neuron.nki import isa, language
from xdsl_neuron.passes.levels import lowered
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

nl: Any = language
nisa: Any = isa
WIDTHS = {32: np.int32, 64: np.int64}


def wrapped(value: int, bits: int) -> int:
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def first(tensor: Any, column: int = 0) -> Any:
    return nisa.scalar_load(tensor[0:1, column : column + 1])


@nki.jit
def arithmetic(pair: Any) -> Any:
    out = nl.ndarray((1, 6), pair.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((1, 1), pair.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, pair[0:1, 0:1])
    x, y = nisa.scalar_load(tile), first(pair, 1)
    assert x.dtype == pair.dtype
    for at, value in enumerate((x * 4 + 1, x * y, -x, 7 - x + y, x - y - 3)):
        nisa.scalar_store(out[0:1, at : at + 1], value)
    nisa.scalar_store(tile, 3 * (x + y) - x)
    nisa.dma_copy(out[0:1, 5:6], tile)
    return out


@pytest.mark.parametrize("bits", [32, 64])
def test_arithmetic_wraps(bits: int) -> None:
    top = (1 << bits - 1) - 1
    for x, y in ((100000, 100000), (top, 1), (-top - 1, -1), (-3, top), (1 << 16, -7)):
        values = (x * 4 + 1, x * y, -x, 7 - x + y, x - y - 3, 3 * (x + y) - x)
        expected = np.array([[wrapped(v, bits) for v in values]], WIDTHS[bits])
        pair = np.array([[x, y]], WIDTHS[bits])
        assert_kernel_ok(arithmetic, pair, expected=expected)


def test_documented_values() -> None:
    pair = np.array([[100000, 100000]], np.int32)
    assert nki.simulate(arithmetic)(pair)[0, 1] == 1410065408
    pair = np.array([[2**31 - 1, -4]], np.int32)
    assert nki.simulate(arithmetic)(pair)[0, 4] == -(2**31)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_pair_of_registers_in_json(kind: Any) -> None:
    module = lowered(arithmetic.trace(np.zeros((1, 2), kind)), "bir")
    text = json.dumps(to_json(module))
    again = from_json(parse_document(text, "file.json"))
    assert print_module(again) == print_module(module)
    assert ('"numPhysicalRegs": 2' in text) is (kind is np.int64)


@nki.jit
def rows_by_scalars(data: Any, places: Any) -> Any:
    """Rows `2 r - 1` of `data`, for the r of `places[1]` between two bounds."""
    out = nl.ndarray(data.shape, data.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, data)
    low, count = first(places), first(places, 1)

    def body(i: Any) -> None:
        assert isinstance(i, nisa.NkiScalar)
        assert not isinstance(i, nisa.VirtualRegister)
        tile = nl.ndarray((1, data.shape[1]), data.dtype, buffer=nl.sbuf)
        row = nisa.scalar_load(places[1:2, nl.ds(i, 1)]) * 2 - 1
        pattern = [[data.shape[1], 1], [1, data.shape[1]]]
        nisa.dma_copy(tile, data.ap(pattern, scalar_offset=row))
        nisa.dma_copy(out[nl.ds(i - low, 1), :], tile)

    nl.fori_loop(low, low + count, body)
    return out


@pytest.mark.parametrize("count", [0, 1, 3])
def test_bounds_indices_and_offsets(count: int) -> None:
    data = np.arange(17 * 5, dtype=np.float32).reshape(17, 5)
    places = np.array([[1, count, 0, 0, 0], [9, 5, 1, 7, 9]], np.int32)
    expected = data.copy()
    expected[:count] = data[[9, 1, 13]][:count]
    assert_kernel_ok(rows_by_scalars, data, places, expected=expected)


@nki.jit
def columns_on_chip(data: Any, place: Any) -> Any:
    out = nl.ndarray((data.shape[0], 2), data.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(data.shape, data.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, data)
    found = nl.ndarray((data.shape[0], 2), data.dtype, buffer=nl.sbuf)
    pattern = [[data.shape[1], data.shape[0]], [1, 2]]
    column = first(place) + 1
    nisa.tensor_copy(found, tile.ap(pattern, scalar_offset=column, indirect_dim=1))
    nisa.dma_copy(out, found)
    return out


def test_an_offset_on_chip() -> None:
    data = np.arange(7 * 11, dtype=np.float32).reshape(7, 11)
    place = np.array([[4]], np.int32)
    assert_kernel_ok(columns_on_chip, data, place, expected=data[:, 5:7])


def test_the_index_of_a_loop_with_integers() -> None:
    """It is the register of 0.6 and the scalar of 0.7."""
    seen: list[Any] = []

    @nki.jit
    def kernel(data: Any) -> Any:
        out = nl.ndarray(data.shape, data.dtype, buffer=nl.shared_hbm)
        copy = nl.ndarray((1, 1), nl.int32, buffer=nl.shared_hbm)
        by = first(data)

        def body(i: Any) -> None:
            seen.extend((i, i * 2 + 1, i + by, i + nisa.register_alloc(1), i < 3))
            register = nisa.register_alloc()
            nisa.register_move(register, i)
            nisa.register_store(copy, register)
            tile = nl.ndarray((1, data.shape[1]), data.dtype, buffer=nl.sbuf)
            nisa.dma_copy(tile, data[nl.ds(i // 2 * 2 + 1 - i % 2, 1), :])
            nisa.dma_copy(out[nl.ds(5 - i, 1), :], tile)

        nl.fori_loop(0, 6, body)
        return out

    data = np.arange(6 * 3, dtype=np.int32).reshape(6, 3)
    expected = data[[4, 5, 2, 3, 0, 1]]
    assert_kernel_ok(kernel, data, expected=expected)
    kinds = [
        (isinstance(each, nisa.NkiScalar), isinstance(each, nisa.VirtualRegister))
        for each in seen[:5]
    ]
    both = (True, True)
    assert kinds == [both, both, (True, False), (False, True), (False, True)]


def test_sums_of_a_static_index_make_no_instruction() -> None:
    """Only what may leave 32 bits is computed in a register."""

    @nki.jit
    def kernel(data: Any) -> None:
        by = nisa.scalar_load(data[0:1, 0:1])

        def body(i: Any) -> None:
            tile = nl.ndarray((1, 3), data.dtype, buffer=nl.sbuf)
            nisa.dma_copy(tile, data[nl.ds(7 - (i * 2 + 1), 1), :])
            nisa.scalar_store(tile[0:1, 0:1], by + i)

        nl.fori_loop(0, 4, body)

    text = str(kernel.trace(np.zeros((8, 3), np.int32)))
    assert text.count("register_alu") == 1


@nki.jit
def a_row_far_away(data: Any, place: Any) -> Any:
    out = nl.ndarray((1, 5), data.dtype, buffer=nl.shared_hbm)
    row = first(place) + 1
    nisa.dma_copy(out, data.ap([[5, 1], [1, 5]], scalar_offset=row))
    return out


def test_an_offset_of_64_bits() -> None:
    data = np.arange(15, dtype=np.float32).reshape(3, 5)
    assert_kernel_ok(a_row_far_away, data, np.array([[1]]), expected=data[2:])
    for level in ("penguin", "bir", "dma"):
        program = lowered(a_row_far_away.trace(data, np.array([[1]])), level)
        for place in (1 << 32, -(1 << 33)):
            with pytest.raises(MachineError, match=str(5 * (place + 1))):
                prepare(program).run([data, np.array([[place]])])


@nki.jit
def as_indices(data: Any, places: Any) -> Any:
    s, p = first(places), first(places, 1)
    out = nl.ndarray((5, 4), nl.int32, buffer=nl.shared_hbm)
    nisa.dma_copy(out[0:1, :], data[nl.ds(s, 1), :])
    nisa.dma_copy(out[1], data[p])
    nisa.dma_copy(out[2], data.select(0, s + 1))
    nisa.dma_copy(out[3], data[s * 2 - 1, :])
    cell = nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)

    def body(j: Any) -> None:
        nisa.scalar_store(cell, j * p + s)
        nisa.dma_copy(out[4:5, nl.ds(j, 1)], cell)

    nl.fori_loop(0, 4, body)
    return out


def test_indices() -> None:
    data = np.arange(32, dtype=np.int32).reshape(8, 4)
    expected = np.stack([data[2], data[5], data[3], data[3], [2, 7, 12, 17]])
    places = np.array([[2, 5]], np.int32)
    assert_kernel_ok(as_indices, data, places, expected=expected.astype(np.int32))


@nki.jit
def triangles(places: Any) -> Any:
    """The sum of j * k over triangles: the index of a loop bounds another one."""
    out = nl.ndarray((1, 1), nl.int32, buffer=nl.shared_hbm)
    total = nl.zeros((1, 1), nl.int32, buffer=nl.sbuf)
    n = first(places)

    def outer(j: Any) -> None:
        def inner(k: Any) -> None:
            nisa.scalar_store(total, nisa.scalar_load(total) + j * k)

        nl.fori_loop(j, n - j + 2, inner)
        nl.fori_loop(0, j, inner, 2)

    nl.fori_loop(0, n, outer)
    nl.fori_loop(0, 3, outer)
    nisa.dma_copy(out, total)
    return out


@pytest.mark.parametrize("n", [0, 2, 5])
def test_loops_bounded_by_the_index_of_another(n: int) -> None:
    total = 0
    for j in (*range(n), *range(3)):
        total += sum(j * k for k in (*range(j, n - j + 2), *range(0, j, 2)))
    expected = np.array([[total]], np.int32)
    assert_kernel_ok(triangles, np.array([[n]], np.int32), expected=expected)


def test_registers_bounded_by_the_index_of_another() -> None:
    """So it is with the registers of 0.6, also as the condition of a while_loop."""

    @nki.jit
    def kernel(data: Any) -> Any:
        out = nl.ndarray((1, 1), nl.int32, buffer=nl.shared_hbm)
        count = nisa.register_alloc(0)
        bound = nisa.register_alloc(data)

        def add(k: Any) -> None:
            nisa.register_move(count, count + 1)

        def once(r: Any) -> Any:
            nisa.register_move(count, count + 100)
            return nisa.register_alloc(0)

        def body(j: Any) -> None:
            nl.fori_loop(0, j, add)
            nl.while_loop(j, once)

        nl.fori_loop(1, bound, body)
        nl.fori_loop(1, 3, body)
        nisa.register_store(out, count)
        return out

    data = np.array([[4]], np.int32)
    expected = np.array([[1 + 2 + 3 + 300 + 1 + 2 + 200]], np.int32)
    assert_kernel_ok(kernel, data, expected=expected)


def test_scalars_of_two_cores() -> None:
    @nki.jit
    def kernel(places: Any) -> Any:
        out = nl.ndarray((2, 1), nl.int32, buffer=nl.shared_hbm)
        core = nl.program_id(0)
        total = nl.zeros((1, 1), nl.int32, buffer=nl.sbuf)

        def body(j: Any) -> None:
            nisa.scalar_store(total, nisa.scalar_load(total) + j + core)

        nl.fori_loop(core, first(places) + core, body)
        nisa.dma_copy(out[nl.ds(core, 1), :], total)
        return out

    expected = np.array([[0 + 1], [2 + 3]], np.int32)
    assert_kernel_ok(kernel[2], np.array([[2]], np.int32), expected=expected)


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
@pytest.mark.parametrize("shape", [(7, 13), (1, 1), (128, 5), (300, 3)])
def test_tensors_of_64_bits_are_moved(kind: Any, shape: tuple[int, int]) -> None:
    @nki.jit
    def kernel(data: Any) -> Any:
        assert data.dtype in (nl.int64, nl.uint64)
        out = nl.ndarray(data.shape, data.dtype, buffer=nl.shared_hbm)
        for row in range(0, shape[0], 128):
            rows = slice(row, min(row + 128, shape[0]))
            tile = nl.ndarray(data[rows].shape, data.dtype, buffer=nl.sbuf)
            nisa.dma_copy(tile, data[rows])
            nisa.dma_copy(out[rows], tile)
        return out

    data = np.random.default_rng(1).integers(0, 1 << 63, shape).astype(kind)
    data = data * kind(2) + kind(1)
    assert_kernel_ok(kernel, data, expected=data)


def refused(literal: str, act: Callable[[Any, Any, Any], Any]) -> Any:
    return pytest.param(literal, act, id=literal)


def in_python(s: Any, a: Any, b: Any) -> None:
    if s(a) < 1:
        nisa.register_alloc(1)


def carried(s: Any, a: Any, b: Any) -> None:
    held = s(a)

    def body(i: Any) -> None:
        nonlocal held
        held = held + 1

    nl.fori_loop(0, s(a), body)


REFUSED = [
    refused(
        "`upper` of a run-time loop is an NkiScalar of int64; it must be of int32",
        lambda s, a, b: nl.fori_loop(0, s(b), print),
    ),
    refused(
        "`lower` of a run-time loop is an NkiScalar of int64",
        lambda s, a, b: nl.fori_loop(s(b), 4, print),
    ),
    refused(
        "the result of comparing scalars cannot be used",
        lambda s, a, b: nl.fori_loop(0, s(a) < 1, print),
    ),
    refused("a condition needs a value", in_python),
    refused("int() needs a value", lambda s, a, b: int(s(a))),
    refused("float() needs a value", lambda s, a, b: float(s(a))),
    refused("range(), or indexing", lambda s, a, b: range(s(a))),
    refused(
        "'is_ge' is not defined for an NkiScalar of int64", lambda s, a, b: s(b) >= 1
    ),
    refused("'is_equal' is not defined for an NkiScalar of", lambda s, a, b: s(b) == 1),
    refused(
        "'add' takes scalars of one type, got int32 and int64",
        lambda s, a, b: s(a) + s(b),
    ),
    refused("an integer or a scalar of int32, got float", lambda s, a, b: 1.5 * s(a)),
    refused("or a scalar of int32, got NkiTensor", lambda s, a, b: s(a) - a),
    refused(
        "'add' of an NkiScalar and a register",
        lambda s, a, b: s(a) + nisa.register_alloc(1),
    ),
    refused(
        "a register and an NkiScalar have no arithmetic together",
        lambda s, a, b: nisa.register_alloc(1) * s(a),
    ),
    refused("2147483648 does not fit the int32", lambda s, a, b: s(a) - (1 << 31)),
    refused("does not fit the int64 of the scalar", lambda s, a, b: s(b) * (1 << 63)),
    refused("'//' is not defined for an NkiScalar", lambda s, a, b: s(a) // 2),
    refused("'%' is not defined for an NkiScalar", lambda s, a, b: s(a) % 2),
    refused("'/' is not defined for an NkiScalar", lambda s, a, b: 2 / s(a)),
    refused(
        "`value` is int32, and `dst` is <b: 1x1 int64 in hbm>",
        lambda s, a, b: nisa.scalar_store(b[0:1, 0:1], s(a)),
    ),
    refused(
        "`value` must be an NkiScalar, got int; nisa.memset writes a number",
        lambda s, a, b: nisa.scalar_store(a[0:1, 0:1], 4),
    ),
    refused("`src` must be one element", lambda s, a, b: nisa.scalar_load(a)),
    refused(
        "must be int32 or int64, got <a: 1x1 uint32 in hbm>",
        lambda s, a, b: nisa.scalar_load(a[0:1, 0:1].view(nl.uint32)),
    ),
    refused(
        "`src` must be in SBUF or HBM",
        lambda s, a, b: nisa.scalar_load(nl.zeros((1, 1), nl.int32, buffer=nl.psum)),
    ),
    refused(
        "`dst` must be a register of register_alloc(), got NkiScalar",
        lambda s, a, b: nisa.register_move(s(a), 1),
    ),
    refused(
        "`src` is an NkiScalar of int64, which a register of 32 bits does not hold",
        lambda s, a, b: nisa.register_move(nisa.register_alloc(0), s(b)),
    ),
    refused(
        "`x` is an NkiScalar of int64, which a register of 32 bits does not hold",
        lambda s, a, b: nisa.register_alloc(s(b)),
    ),
    refused(
        "which a register of 32 bits does not hold; use nisa.scalar_load",
        lambda s, a, b: nisa.register_alloc(b[0:1, 0:1]),
    ),
    refused(
        "a register holds any type but the packed float8_e5m2_x4",
        lambda s, a, b: nisa.register_load(
            nisa.register_alloc(), a[0:1, 0:1].view(nl.float8_e4m3fn_x4)
        ),
    ),
    refused(
        "register_store: `dst` is <a: 1x1 float8_e5m2_x4 in hbm>",
        lambda s, a, b: nisa.register_store(
            a[0:1, 0:1].view(nl.float8_e5m2_x4), nisa.register_alloc(1)
        ),
    ),
    refused(
        "`init` must be a register of register_alloc(), got NkiScalar",
        lambda s, a, b: nl.while_loop(s(a), print),
    ),
    refused(
        "no engine computes on int64; DMA moves it",
        lambda s, a, b: nisa.memset(nl.ndarray((4, 4), nl.int64, buffer=nl.sbuf), 0),
    ),
    refused("an NkiScalar is made by", lambda s, a, b: nisa.NkiScalar(3)),
    refused("'held' is read in the body of fori_loop and bound", carried),
]


@pytest.mark.parametrize(("literal", "act"), REFUSED)
def test_refused(literal: str, act: Callable[[Any, Any, Any], Any]) -> None:
    @nki.jit
    def kernel(a: Any, b: Any) -> None:
        act(first, a, b)

    with pytest.raises(NKIError) as raised:
        kernel.trace(np.zeros((4, 4), np.int32), np.zeros((4, 4), np.int64))
    assert literal in raised.value.message
    assert raised.value.location is not None
    assert raised.value.location.file == __file__


def test_a_pair_behind_a_register_is_no_offset_on_chip() -> None:
    """The same copy by a register of 32 bits in front of it changes nothing."""

    @nki.jit
    def kernel(x: Any, narrow: Any, wide: Any) -> Any:
        out = nl.ndarray((16, 1), x.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray(x.shape, x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(tile, x)
        column = nl.ndarray((16, 1), x.dtype, buffer=nl.sbuf)
        for place in (narrow, wide):
            offset = first(place)
            nisa.tensor_copy(column, tile.ap([[8, 16], [1, 1]], scalar_offset=offset))
        nisa.dma_copy(out, column)
        return out

    x = np.zeros((16, 8), np.float32)
    places = [np.zeros((1, 1), width) for width in WIDTHS.values()]
    with pytest.raises(NKIError, match="an offset of 64 bits reaches HBM only"):
        kernel.trace(x, *places)
    assert_kernel_ok(kernel, x, places[0], places[0])
