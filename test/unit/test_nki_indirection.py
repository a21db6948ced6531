"""Tensor indirection: columns picked by offsets, read and written (trn3)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from picked_columns import (
    BF16,
    COLUMNS,
    COUNT,
    INDEX,
    OFFSETS,
    PLACES,
    SECOND,
    TABLE,
    Array,
    X,
    indices,
    jit,
    load,
    numbers,
    out_of,
    put,
    take,
)

from xdsl_neuron.nki import isa, language
from xdsl_neuron.testing import assert_kernel_ok

nl: Any = language
nisa: Any = isa

Read = Callable[[Any, Any, Any], None]
"""Writes (dst, from an operand with an index, of the column operand)."""

SCALAR = numbers(32, 1, seed=3)

CASES: list[tuple[str, Read, Callable[[Array], Array]]] = [
    ("tensor_copy", lambda d, s, c: nisa.tensor_copy(d, s), lambda x: x),
    (
        "tensor_copy on the scalar engine",
        lambda d, s, c: nisa.tensor_copy(d, s, engine=nisa.engine.scalar),
        lambda x: x,
    ),
    (
        "tensor_scalar",
        lambda d, s, c: nisa.tensor_scalar(
            d, s, nl.add, c, op1=nl.multiply, operand1=2.0
        ),
        lambda x: (x + SCALAR) * 2,
    ),
    (
        "activation",
        lambda d, s, c: nisa.activation(d, nl.relu, s, bias=c),
        lambda x: np.maximum(x + SCALAR, 0),
    ),
    (
        "activate2",
        lambda d, s, c: nisa.activate2(
            d, nl.copy, s, op0=nl.multiply, imm0=3.0, op1=nl.add, imm1=c
        ),
        lambda x: x * 3 + SCALAR,
    ),
    (
        "tensor_scalar_cumulative",
        lambda d, s, c: nisa.tensor_scalar_cumulative(d, s, nl.add, nl.add, c),
        lambda x: np.cumsum(x + SCALAR, axis=1),
    ),
    (
        "tensor_tensor",
        lambda d, s, c: nisa.tensor_tensor(
            d, s, c.broadcast(1, COUNT), nl.subtract, engine=nisa.engine.gpsimd
        ),
        lambda x: x - SCALAR,
    ),
    (
        "exponential",
        lambda d, s, c: nisa.exponential(d, s, max_value=c),
        lambda x: np.exp(x - SCALAR),
    ),
    (
        "tensor_scalar_reduce",
        lambda d, s, c: nisa.tensor_scalar_reduce(d, s, nl.add, c, nl.add, c),
        lambda x: x + SCALAR,
    ),
    (
        "activation_reduce",
        lambda d, s, c: nisa.activation_reduce(d, nl.square, s, nl.add, c),
        lambda x: x * x,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
@pytest.mark.parametrize("how", ["read", "written", "both"])
def test_columns_are_picked(case: Any, how: str) -> None:
    _, emit, want = case

    @jit
    def kernel(x: Any, index: Any, second: Any, column: Any, table: Any) -> Any:
        source, column = load(x), load(column)
        if how != "written":
            source = source.indirect(load(index), num_elem=COUNT)
        if how == "read":
            result = nl.ndarray((32, COUNT), dtype=nl.float32, buffer=nl.sbuf)
            emit(result, source, column)
            return out_of(result)
        result = load(table)
        places = result.indirect(load(second), COUNT)
        emit(places, source if how == "both" else source[:, :COUNT], column)
        return out_of(result)

    read = take(X, OFFSETS) if how != "written" else X[:, :COUNT]
    found = want(read)
    if how != "read":
        found = put(TABLE, PLACES, found)
    # Only `exp` is not exact.
    assert_kernel_ok(
        kernel, X, INDEX, SECOND, SCALAR, TABLE, expected=found, rtol=2.0**-18
    )


def test_an_accumulator_sees_what_is_picked() -> None:
    @jit
    def kernel(x: Any, index: Any) -> Any:
        total = nl.ndarray((32, 1), dtype=nl.float32, buffer=nl.sbuf)
        squares = nl.ndarray((32, COUNT), dtype=nl.float32, buffer=nl.sbuf)
        picked = load(x).indirect(load(index), COUNT)
        nisa.activation_reduce(squares, nl.square, picked, nl.add, total)
        return out_of(total)

    want = (take(X, OFFSETS) ** 2).sum(axis=1, keepdims=True)
    assert_kernel_ok(kernel, X, INDEX, expected=want)


def test_a_reduction_of_picked_columns() -> None:
    @jit
    def kernel(x: Any, index: Any) -> Any:
        total = nl.ndarray((32, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(total, nl.maximum, load(x).indirect(load(index), 7), 1)
        return out_of(total)

    want = take(X, OFFSETS[:, :7]).max(axis=1, keepdims=True)
    assert_kernel_ok(kernel, X, INDEX, expected=want)


def test_a_reduction_is_scattered() -> None:
    @jit
    def kernel(x: Any, index: Any, table: Any) -> Any:
        result = load(table)
        place = result.indirect(load(index), 1)
        nisa.tensor_reduce(place, nl.add, load(x), 1)
        return out_of(result)

    want = put(TABLE, OFFSETS[:, :1], X.sum(axis=1, keepdims=True))
    assert_kernel_ok(kernel, X, INDEX, TABLE, expected=want)


def test_a_predicate_and_a_destination_are_picked() -> None:
    mask = (numbers(32, COLUMNS, seed=7, dtype=np.int32) & 1).astype(np.uint8)

    @jit
    def kernel(x: Any, index: Any, second: Any, mask: Any, table: Any) -> Any:
        result = load(table)
        nisa.tensor_copy_predicated(
            result.indirect(load(second), COUNT),
            load(x)[:, :COUNT],
            load(mask).indirect(load(index), COUNT),
        )
        return out_of(result)

    found = take(TABLE, PLACES)
    np.copyto(found, X[:, :COUNT], where=take(mask, OFFSETS) != 0)
    want = put(TABLE, PLACES, found)
    assert_kernel_ok(kernel, X, INDEX, SECOND, mask, TABLE, expected=want)


@pytest.mark.parametrize("partitions", [128, 64, 48, 16, 9])
@pytest.mark.parametrize("psum", [False, True])
def test_groups_have_their_own_offsets(partitions: int, psum: bool) -> None:
    """A last group of fewer than 16 partitions holds as many offsets."""
    count = 33 if partitions % 16 == 0 else partitions % 16
    index, offsets = indices(partitions, count, 50)
    x = numbers(partitions, 50, dtype=BF16)

    @jit
    def kernel(x: Any, index: Any) -> Any:
        source = load(x)
        if psum:
            held = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.psum)
            nisa.tensor_copy(held, source)
            source = held
        result = nl.ndarray((partitions, count), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(result, source.indirect(load(index), count))
        return out_of(result)

    want = take(x, offsets).astype(np.float32)
    assert_kernel_ok(kernel, x, index, expected=want)


def test_all_elements_of_the_index_count_by_default() -> None:
    index, offsets = indices(16, 48, 60)
    x = numbers(16, 60)

    @jit
    def kernel(x: Any, index: Any) -> Any:
        picked = load(x).indirect(load(index))
        assert picked.shape == (16, 48)
        assert picked.is_indirect()
        result = nl.ndarray(picked.shape, dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(result, picked)
        return out_of(result)

    assert_kernel_ok(kernel, x, index, expected=take(x, offsets))


def test_offsets_count_from_the_view() -> None:
    x = numbers(64, 5, COLUMNS)

    @jit
    def kernel(x: Any, index: Any) -> Any:
        result = nl.ndarray((32, COUNT), dtype=nl.float32, buffer=nl.sbuf)
        part = load(x)[32:64, 3]
        held = nl.ndarray((64, 2), dtype=nl.uint16, buffer=nl.sbuf)
        nisa.dma_copy(held[32:64], index)
        nisa.tensor_copy(result, part.indirect(held[32:64], COUNT))
        return out_of(result)

    assert_kernel_ok(kernel, x, INDEX, expected=take(x[32:, 3], OFFSETS))


def test_the_offsets_of_an_iteration() -> None:
    """Rolled loops move the columns and the index."""
    index = np.stack([indices(32, 16, 20, seed=n)[0] for n in range(3)], axis=1)
    offsets = [indices(32, 16, 20, seed=n)[1] for n in range(3)]
    x = numbers(32, 3, 20)

    @jit
    def kernel(x: Any, index: Any) -> Any:
        source, places = load(x), load(index)
        result = nl.ndarray((32, 3, 16), dtype=nl.float32, buffer=nl.sbuf)
        for turn in nl.dynamic_range(3):
            picked = source.select(1, turn).indirect(places.select(1, turn), 16)
            nisa.tensor_copy(result.select(1, turn), picked)
        return out_of(result)

    want = np.stack([take(x[:, n], offsets[n]) for n in range(3)], axis=1)
    assert_kernel_ok(kernel, x, index, expected=want)


def test_the_last_of_equal_offsets_stays() -> None:
    index = np.zeros((16, 1), np.uint16)
    x = numbers(16, 16)

    @jit
    def kernel(x: Any, index: Any) -> Any:
        result = nl.zeros((16, 3), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(result.indirect(load(index)), load(x))
        return out_of(result)

    want = np.zeros((16, 3), np.float32)
    want[:, 0] = x[:, -1]
    assert_kernel_ok(kernel, x, index, expected=want)


@pytest.mark.parametrize("which", ["stationary", "moving", "dst", "all"])
@pytest.mark.parametrize("accumulate", [False, True])
def test_products_of_picked_columns(which: str, accumulate: bool) -> None:
    """The tensor engine takes offsets for 32 partitions together."""
    left, right = numbers(64, 40, dtype=BF16), numbers(64, 50, seed=4, dtype=BF16)
    old = numbers(32, 60, seed=6)
    tiles = [indices(64, 32, 40, 32, 1), indices(64, 45, 50, 32, 2)]
    tiles.append(indices(32, 45, 60, 32, 3))

    @jit
    def kernel(left: Any, right: Any, old: Any, a: Any, b: Any, c: Any) -> Any:
        result = nl.ndarray((32, 60), dtype=nl.float32, buffer=nl.psum)
        nisa.tensor_copy(result, load(old))
        stationary, moving, dst = load(left), load(right), result
        if which in ("stationary", "all"):
            stationary = stationary.indirect(load(a), 32)
        else:
            stationary = stationary[:, :32]
        if which in ("moving", "all"):
            moving = moving.indirect(load(b), 45)
        else:
            moving = moving[:, :45]
        if which in ("dst", "all"):
            dst = dst.indirect(load(c), 45)
        else:
            dst = dst[:, :45]
        nisa.nc_matmul(dst, stationary, moving, accumulate=accumulate)
        copied = nl.ndarray((32, 60), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(copied, result)
        return out_of(copied)

    a = take(left, tiles[0][1]) if which in ("stationary", "all") else left[:, :32]
    b = take(right, tiles[1][1]) if which in ("moving", "all") else right[:, :45]
    product = a.astype(np.float32).T @ b.astype(np.float32)
    places = np.tile(np.arange(45), (32, 1))
    if which in ("dst", "all"):
        places = tiles[2][1]
    found = take(old, places) + product if accumulate else product
    want = put(old, places, found)
    arrays = [index for index, _ in tiles]
    assert_kernel_ok(kernel, left, right, old, *arrays, expected=want)


def test_a_product_behind_a_scatter_is_added_to_all_columns() -> None:
    """Which of them the scatter has written is known while running only."""
    left, right = numbers(64, 32, dtype=BF16), numbers(64, COLUMNS, seed=4, dtype=BF16)

    @jit
    def kernel(left: Any, right: Any, x: Any, index: Any) -> Any:
        result = nl.full((32, COLUMNS), 3.0, dtype=nl.float32, buffer=nl.psum)
        places = result.indirect(load(index), COUNT)
        nisa.tensor_copy(places, load(x)[:, :COUNT], engine=nisa.engine.vector)
        nisa.nc_matmul(result, load(left), load(right))
        copied = nl.ndarray(result.shape, dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(copied, result)
        return out_of(copied)

    old = put(np.full_like(X, 3), OFFSETS, X[:, :COUNT])
    want = old + left.astype(np.float32).T @ right.astype(np.float32)
    assert_kernel_ok(kernel, left, right, X, INDEX, expected=want)


def test_scales_are_picked_with_their_data() -> None:
    """Rows of scales lie in the quadrant of their data and take its offsets."""
    random = np.random.default_rng(8)
    data = random.integers(0, 0x37, (128, 24, 4)).astype(np.uint8)
    packed = data.reshape(128, 96).view(np.uint32)
    scale = random.integers(120, 132, (128, 24)).astype(np.uint8)
    index, offsets = indices(128, 8, 24, 32, 4)

    def multiply(picked: bool) -> Any:
        @jit
        def kernel(packed: Any, scale: Any, index: Any) -> Any:
            tile = load(packed).view(nl.float8_e4m3fn_x4)
            scales, places = load(scale), load(index)
            operands = [tile[:, :8], scales[:, :8]]
            if picked:
                operands = [each.indirect(places, 8) for each in (tile, scales)]
            result = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul_mx(
                result, operands[0], operands[0], operands[1], operands[1]
            )
            copied = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(copied, result)
            return out_of(copied)

        return kernel

    # Rows of scales without a block of their own hold nothing that counts.
    chosen = take(packed, offsets), take(scale, offsets)
    want = assert_kernel_ok(multiply(False), *chosen, index)
    assert_kernel_ok(multiply(True), packed, scale, index, expected=want)
