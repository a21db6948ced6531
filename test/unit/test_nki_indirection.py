"""Tensor indirection: columns picked by offsets, read and written (trn3)."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.nki import isa, language
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

nl: Any = language
nisa: Any = isa
Array = Any

BF16 = ml_dtypes.bfloat16
COLUMNS, COUNT = 40, 27


def jit(kernel: Callable[..., Any]) -> Any:
    return nki.jit(kernel, platform_target="trn3")


def indices(
    partitions: int, count: int, columns: int, group: int = 16, seed: int = 0
) -> tuple[Array, Array]:
    """An index tile, and the offsets it holds for each partition."""
    random = np.random.default_rng(seed)
    width = -(-count // group)
    tile = np.full((partitions, width), 0xFFFF, np.uint16)
    offsets = np.zeros((partitions, count), np.int64)
    for start in range(0, partitions, group):
        mine = random.permutation(columns)[:count]
        for at, offset in enumerate(mine):
            tile[start + at % group, at // group] = offset
        offsets[start : start + group] = mine
    return tile, offsets


def numbers(*shape: int, seed: int = 1, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(seed).integers(-9, 9, shape).astype(dtype)


def load(array: Any) -> Any:
    tile = nl.ndarray(array.shape, dtype=array.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, array)
    return tile


def out_of(tile: Any) -> Any:
    out = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out


def take(x: Array, offsets: Array) -> Array:
    return np.take_along_axis(x, offsets, axis=1)


def put(table: Array, offsets: Array, x: Array) -> Array:
    found = table.copy()
    np.put_along_axis(found, offsets, x.astype(table.dtype), axis=1)
    return found


X = numbers(32, COLUMNS)
TABLE = numbers(32, COLUMNS, seed=2)
INDEX, OFFSETS = indices(32, COUNT, COLUMNS)
SECOND, PLACES = indices(32, COUNT, COLUMNS, seed=5)

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
    mask = numbers(32, COLUMNS, seed=7, dtype=np.int32) & 1

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


Refused = Callable[[Any, Any, Any], None]
"""A call with a tile [32, 40], an index of 32 offsets and a result [32, 16]."""


def ps(*shape: int) -> Any:
    return nl.ndarray(shape, dtype=nl.float32, buffer=nl.psum)


def packed(columns: int) -> Any:
    return nl.ndarray((32, columns), dtype=nl.float8_e4m3fn_x4, buffer=nl.sbuf)


def scale(columns: int) -> Any:
    return nl.ndarray((32, columns), dtype=nl.uint8, buffer=nl.sbuf)


REFUSED: dict[str, tuple[Refused, str]] = {
    "another number of columns": (
        lambda x, i, o: nisa.tensor_copy(o, x.indirect(i, 17)),
        "tile shape mismatch",
    ),
    "fewer partitions": (
        lambda x, i, o: nisa.tensor_copy(o, x.indirect(i[:16], 16)),
        "number of partitions mismatch",
    ),
    "a strided view": (
        lambda x, i, o: nisa.tensor_copy(o, x[:, ::2].indirect(i, 16)),
        "needs contiguous free dimensions",
    ),
    "the second input": (
        lambda x, i, o: nisa.tensor_tensor(o, o, x.indirect(i, 16), nl.add),
        "'rhs' of 'penguin.tensor_tensor' does not support tensor indirection",
    ),
    "an instruction without": (
        lambda x, i, o: nisa.reciprocal(o, x.indirect(i, 16)),
        "does not support tensor indirection",
    ),
    "a DMA": (
        lambda x, i, o: nisa.dma_copy(o, x.indirect(i, 16)),
        "DMA Instruction cannot have TensorIndirect AP",
    ),
    "a view of it": (
        lambda x, i, o: nisa.tensor_copy(o, x.indirect(i, 16)[:, :16]),
        "call indirect() on it",
    ),
    "a type of it": (
        lambda x, i, o: nisa.tensor_copy(o, x.indirect(i, 16).view(nl.int32)),
        "call indirect() on it",
    ),
    "a half of a pair": (
        lambda x, i, o: nisa.nc_matmul_mx(
            ps(16, 16), packed(32).indirect(i, 16), packed(16), scale(32), scale(16)
        ),
        "must agree on tensor indirection",
    ),
    "a pair with two indices": (
        lambda x, i, o: nisa.nc_matmul_mx(
            ps(16, 16),
            packed(32).indirect(i, 16),
            packed(16),
            scale(32).indirect(i[:, 1:], 16),
            scale(16),
        ),
        "must use .indirect() with the same index",
    ),
    "twice": (
        lambda x, i, o: nisa.tensor_copy(o, x.indirect(i, 16).indirect(i, 16)),
        "only one index",
    ),
    "in place": (
        lambda x, i, o: nisa.tensor_copy(x[:, :16], x.indirect(i, 16)),
        "write to another tile",
    ),
    "no index": (
        lambda x, i, o: nisa.tensor_copy(o, x.indirect([1, 2], 2)),
        "must be a tensor",
    ),
}


def _refused(emit: Refused) -> Any:
    def kernel(x: Any, index: Any) -> Any:
        out = nl.ndarray((32, 16), dtype=nl.float32, buffer=nl.sbuf)
        nisa.memset(out, 0.0)
        emit(load(x), load(index), out)
        return out_of(out)

    return jit(kernel)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    emit, message = REFUSED[name]
    index, _ = indices(32, 32, COLUMNS)
    with pytest.raises(NKIError) as raised:
        _refused(emit).trace(X, index)
    assert message in str(raised.value)
    assert raised.value.location is not None


@pytest.mark.parametrize("written", [False, True])
def test_an_offset_behind_the_last_column(written: bool) -> None:
    index, _ = indices(32, 16, COLUMNS)
    index[3, 0] = COLUMNS

    def emit(x: Any, i: Any, o: Any) -> None:
        pair = (x.indirect(i, 16), o) if written else (o, x.indirect(i, 16))
        nisa.tensor_copy(*pair)

    with pytest.raises(DiagnosticError, match="offset 40 is out of bounds for 40"):
        _refused(emit)(X, index)


# -- where tiles are -----------------------------------------------------------------


def _at(shape: tuple[int, ...], dtype: Any, place: Any) -> Any:
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf, address=place)


def _picked_at(table: Any, index: Any) -> Callable[[Any, Any], Any]:
    def pick(x: Any, i: Any) -> Any:
        source, places = (
            _at(x.shape, x.dtype, table),
            _at(i.shape, i.dtype, index),
        )
        nisa.dma_copy(source, x)
        nisa.dma_copy(places, i)
        out = nl.ndarray((32, COUNT), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_copy(out, source.indirect(places, COUNT))
        return out

    return pick


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("table", "index", "message"),
    [
        ((32, 0), (0, 4096), "'src' starts at partition 32 and 'src_index' at 0"),
        ((0, 0), (32, 4096), "'src' starts at partition 0 and 'src_index' at 32"),
        ((16, 0), (16, 4096), "'src_index' starts at partition 16, expected a mult"),
        ((32, 0), (32, 4096), None),
        ((32, 0), None, None),
        (None, (96, 4096), None),
    ],
)
def test_addresses_of_an_index(
    table: Any, index: Any, message: str | None, after: bool
) -> None:
    """Also where the same instruction was right at other addresses."""

    @jit
    def kernel(x: Any, i: Any) -> Any:
        if after:
            _picked_at((0, 8192), (0, 12288))(x, i)
        return out_of(_picked_at(table, index)(x, i))

    if message is None:
        assert_kernel_ok(kernel, X, INDEX, expected=take(X, OFFSETS))
        return
    with pytest.raises(NKIError, match=message):
        kernel.trace(X, INDEX)


def test_a_grid_of_picked_columns_is_refused() -> None:
    @jit
    def kernel(x: Any, index: Any) -> Any:
        nl.tiles(load(x).indirect(load(index), 16), tile_shape=(16, 4))

    with pytest.raises(NKIError, match="call indirect\\(\\) on it"):
        kernel.trace(X, INDEX)
