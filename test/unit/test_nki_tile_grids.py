"""`nl.tiles`, `nl.blocks`, `nl.alloc_tiles`, `nl.alloc_blocks`: what grids are."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.isa as destination_isa
import xdsl_neuron.nki.language as destination_language
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

Array = npt.NDArray[Any]
nl: Any = destination_language
nisa: Any = destination_isa


def numbers(*shape: int, dtype: Any = np.float32) -> Array:
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


def traced(kernel: Callable[..., Any], *arrays: Array) -> str:
    return str(nki.jit(kernel).trace(*arrays))


# -- what a grid says of itself ------------------------------------------------------


def said(check: Callable[[Any], None], *shape: int) -> str:
    """Runs a check on a tensor in HBM; the text of the kernel it makes."""

    def kernel(x: Any) -> None:
        check(x)

    return traced(kernel, numbers(*shape))


def test_attributes_of_tiles() -> None:
    def check(x: Any) -> None:
        grid = nl.tiles(x, tile_shape=(128, 256))
        assert isinstance(grid, nl.NkiTileGrid)
        assert isinstance(grid, nl.NkiGrid)
        assert not hasattr(grid, "block_shape")
        assert (grid.shape, grid.element_shape) == ((3, 3), (300, 700))
        assert (grid.dtype, grid.buffer) == (x.dtype, x.buffer)
        assert grid.tile_shape == grid.index_step_elements == (128, 256)
        assert grid.is_data_representable
        assert grid.is_remainder
        assert grid.data.shape == x.shape
        one, last, row = grid[1, 1], grid[-1, 2], grid[0]
        assert isinstance(one, nl.NkiTileGrid)
        assert one.shape == ()
        assert one.element_shape == one.data.shape == (128, 256)
        assert last.element_shape == last.data.shape == (44, 188)
        assert last.is_remainder
        assert not one.is_remainder
        assert (one.tile_shape, one.index_step_elements) == ((128, 256), ())
        assert (row.shape, row.element_shape) == ((3,), (128, 700))
        assert row[1:].element_shape == (128, 444)
        assert row[1:].is_remainder
        assert grid[:2, :2].element_shape == (256, 512)
        assert not grid[:2, :2].is_remainder
        assert grid[..., 2].shape == grid[:, 2].shape == (3,)
        every = grid[::2]
        assert (every.shape, every.element_shape) == ((2, 3), (172, 700))
        assert every.index_step_elements == (256, 256)
        assert not every.is_data_representable
        assert every[1].is_data_representable
        assert every[1, 0].data.offset == grid[2, 0].data.offset

    assert said(check, 300, 700) == said(lambda x: None, 300, 700), "it emits something"


def test_attributes_of_blocks() -> None:
    def check(x: Any) -> None:
        grid = nl.blocks(x, tile_shape=(64, 100), block_shape=(2, 3))
        assert isinstance(grid, nl.NkiBlockGrid)
        assert (grid.shape, grid.block_shape) == ((3, 3), (2, 3))
        assert (grid.tile_shape, grid.index_step_elements) == ((64, 100), (128, 300))
        assert grid[0, 1].data.offset == 300
        assert grid[2, 0].element_shape == (44, 300)
        inner = nl.tiles(grid[0, 2])
        assert (inner.shape, inner.element_shape) == ((2, 1), (128, 100))
        assert inner[1, 0].data.offset == 64 * 700 + 600
        assert nl.blocks(nl.tiles(x, tile_shape=(64, 100)), block_shape=(2, 3)).shape
        finer = nl.tiles(grid[1, 1], tile_shape=(50, 70))
        assert (finer.shape, finer[2, 4].element_shape) == ((3, 5), (28, 20))
        assert finer[2, 4].data.offset == (128 + 100) * 700 + 300 + 280
        again = nl.blocks(grid[:, 1], block_shape=(1, 2))
        assert (again.shape, again.element_shape) == ((5, 2), (300, 300))
        assert nl.tiles(grid).shape == (5, 7)

    assert said(check, 300, 700) == said(lambda x: None, 300, 700), "it emits something"


def test_untiled_dimensions_of_hbm() -> None:
    def check(x: Any) -> None:
        grid = nl.tiles(x, tile_shape=(4, 5))
        assert (grid.shape, grid.tile_shape) == ((2, 3, 3, 3), (4, 5))
        assert grid.index_step_elements == (1, 1, 4, 5)
        slab = grid[1, 2]
        assert (slab.shape, slab.element_shape) == ((3, 3), (9, 11))
        tile = slab[2, 1]
        assert tile.element_shape == tile.data.shape == (1, 5)
        assert tile.data.offset == ((1 * 3 + 2) * 9 + 8) * 11 + 5
        assert grid[:, 0, 0, 0].data.shape == (2, 4, 5)
        assert nl.tiles(slab, tile_shape=(9, 2)).shape == (1, 6)
        whole = nl.tiles(grid[0], tile_shape=(2, 9, 11))
        assert (whole.shape, whole.element_shape) == ((2, 1, 1), (3, 9, 11))

    said(check, 2, 3, 9, 11)


def test_storage_of_its_own() -> None:
    def check(x: Any) -> None:
        on = nl.alloc_tiles(
            tile_shape=(64, 100),
            element_shape=(300, 250),
            buffer=nl.sbuf,
            dtype=nl.bfloat16,
        )
        assert (on.shape, on.element_shape) == ((5, 3), (300, 250))
        assert (on.dtype, on.buffer) == (nl.bfloat16, nl.sbuf)
        # Tiles are one behind the other, in the partitions of one.
        place = (3 * 3 + 1) * 100
        assert on[3, 1].data.get_pattern() == [[15 * 100, 64], [1, 100]]
        assert on[3, 1].data.offset == place
        assert on[4, 2].data.shape == (44, 50)
        row = on[1]
        assert row.is_data_representable
        assert row.data.shape == (64, 250)
        assert on[1, 1:].data.offset == 400
        assert not on.is_data_representable
        assert not on[:2, 0].is_data_representable
        assert nl.tiles(on[1], tile_shape=(32, 60))[1, 1].data.offset == (
            32 * 1500 + 300 + 60
        )
        assert not nl.tiles(on, tile_shape=(48, 100))[1, 0].is_data_representable
        made = nl.alloc_blocks(
            tile_shape=(2, 3),
            block_shape=(2, 2),
            element_shape=(2, 7, 9),
            buffer=nl.private_hbm,
            dtype=nl.int32,
        )
        assert (made.shape, made.data.shape) == ((2, 2, 2), (2, 7, 9))
        assert made[1, 0, 1].data.strides == (9, 1)

    said(check, 2, 2)


def test_tiles_of_three_dimensions_on_chip() -> None:
    def check(x: Any) -> None:
        on = nl.alloc_tiles(
            tile_shape=(8, 2, 3),
            element_shape=(20, 5, 7),
            buffer=nl.psum,
            dtype=nl.float32,
        )
        tile = on[2, 1, 1].data
        assert tile.shape == (4, 2, 3)
        assert tile.offset == ((2 * 3 + 1) * 3 + 1) * 6
        assert tile.strides[1:] == (3, 1)
        # A tile is stored whole, so its neighbour's row is elsewhere.
        assert not on[0, 0].is_data_representable
        assert not on[0, :, 0].is_data_representable
        flat = nl.alloc_tiles(
            tile_shape=(8, 1, 3),
            element_shape=(8, 5, 6),
            buffer=nl.sbuf,
            dtype=nl.float32,
        )
        assert flat[0, 2].data.shape == (8, 1, 6)
        assert flat.is_data_representable
        assert flat.data.shape == (8, 5, 6)
        slabs = nl.alloc_tiles(
            tile_shape=(8, 4),
            element_shape=(3, 12, 6),
            buffer=nl.sbuf,
            dtype=nl.float32,
        )
        assert slabs.shape == (3, 2, 2)
        assert not slabs[:, 0].is_data_representable
        assert slabs[2, 1].data.shape == (4, 6)
        assert slabs[2, 1].data.offset == (2 * 4 + 2) * 4

    said(check, 2, 2)


def test_data_of_a_tensor_is_the_tensor() -> None:
    def check(x: Any) -> None:
        assert x.data is x

    said(check, 2, 2)


# -- kernels -------------------------------------------------------------------------


def copied(x: Any) -> Any:
    tile_shape = (128, 256)
    source = nl.tiles(x, tile_shape=tile_shape)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    target = nl.tiles(out, tile_shape=tile_shape)
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            one = source[i, j]
            tile = nl.ndarray(one.element_shape, x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile.data, src=one.data)
            nisa.dma_copy(dst=target[i, j].data, src=tile.data)
    return out


@pytest.mark.parametrize("shape", [(300, 700), (128, 256), (1, 257), (129, 1)])
def test_tile_by_tile(shape: tuple[int, int]) -> None:
    x = numbers(*shape)
    assert_kernel_ok(nki.jit(copied), x, expected=x)


def by_blocks(x: Any) -> Any:
    """Row by row through a grid on chip, which has as many rows as the tensor."""
    shapes = {"tile_shape": (64, 128), "block_shape": (2, 3)}
    source = nl.blocks(x, **shapes)
    held = nl.alloc_blocks(
        **shapes, element_shape=x.shape, buffer=nl.sbuf, dtype=nl.float32
    )
    out = nl.alloc_tiles(
        tile_shape=(64, 128),
        element_shape=x.shape,
        buffer=nl.shared_hbm,
        dtype=nl.float32,
    )
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            a, b = nl.tiles(source[i, j]), nl.tiles(held[i, j])
            for k in range(a.shape[0]):
                nisa.dma_copy(dst=b[k].data, src=a[k].data)
    tiles = nl.tiles(held)
    for k in range(tiles.shape[0]):
        nisa.activation(dst=tiles[k].data, op=nl.relu, data=tiles[k].data)
        nisa.dma_copy(dst=out[k].data, src=tiles[k].data)
    return out.data


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_blocks_through_a_grid_on_chip(dtype: Any) -> None:
    x = (numbers(300, 700) % 250 - 100).astype(dtype)
    want = np.maximum(x.astype(np.float32), 0)
    assert_kernel_ok(nki.jit(by_blocks), x, expected=want)


def products(left: Any, right: Any) -> Any:
    """PSUM tiles of a grid, and loops on the device over tiles on chip and in HBM."""
    out = nl.ndarray((left.shape[1], right.shape[1]), nl.float32, buffer=nl.shared_hbm)
    lefts, rights = (nl.tiles(x, tile_shape=(32, 40)) for x in (left, right))
    sums = nl.alloc_tiles(
        tile_shape=(40, 40), element_shape=out.shape, buffer=nl.psum, dtype=nl.float32
    )
    held = nl.alloc_tiles(
        tile_shape=(32, 40), element_shape=left.shape, buffer=nl.sbuf, dtype=nl.float32
    )
    whole = left.shape[0] // 32

    def load(k: Any) -> None:
        nisa.dma_copy(dst=held[:whole][k].data, src=lefts[:whole, :][k, :].data)

    nl.fori_loop(0, whole, load)
    if whole < lefts.shape[0]:
        nisa.dma_copy(dst=held[-1].data, src=lefts[-1].data)
    for m in range(sums.shape[0]):
        for n in range(sums.shape[1]):
            for k in range(lefts.shape[0]):
                moving = nl.load(rights[k, n].data)
                nisa.nc_matmul(sums[m, n].data, held[k, m].data, moving)
        row = nl.copy(sums[m].data)
        nisa.dma_copy(dst=nl.tiles(out, tile_shape=(40, 40))[m].data, src=row)
    return out


def test_tiles_of_psum_and_coordinates_of_a_loop_on_the_device() -> None:
    rng = np.random.default_rng(4)
    left, right = (rng.integers(-4, 5, (75, n)).astype(np.float32) for n in (90, 77))
    assert_kernel_ok(nki.jit(products), left, right, expected=left.T @ right)


def picked(x: Any, where: Any) -> Any:
    """A register says which tile: in HBM, in the order of a tensor, tile by tile."""
    tile = (16, 24)
    held = nl.alloc_tiles(
        tile_shape=tile, element_shape=x.shape, buffer=nl.sbuf, dtype=x.dtype
    )
    source = nl.tiles(x, tile_shape=tile)
    for i in range(source.shape[0]):
        nisa.dma_copy(dst=held[i].data, src=source[i].data)
    places = nl.load(where)
    row, column = nisa.register_alloc(), nisa.register_alloc()
    nisa.register_load(row, places[:, 0:1])
    nisa.register_load(column, places[:, 1:2])
    out = nl.ndarray((3, *tile), x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out[0], src=source[row, 1].data)
    chosen = nl.ndarray(tile, x.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=chosen, src=held[row, 2].data)
    nisa.dma_copy(dst=out[1], src=chosen)
    inner = nl.tiles(held[1], tile_shape=(16, 12))
    for half in range(2):
        nisa.tensor_copy(
            dst=chosen[:, nl.ds(half * 12, 12)],
            src=inner[0, nl.ds(column, 1)].data,
        )
    nisa.dma_copy(dst=out[2], src=chosen)
    return out


@pytest.mark.parametrize(("row", "column"), [(0, 0), (2, 5), (1, 3)])
def test_a_register_picks_a_tile(row: int, column: int) -> None:
    x = numbers(48, 72)
    where = np.array([[row, column]], np.int32)
    first = slice(16 * row, 16 * row + 16)
    part = x[16:32, 12 * column : 12 * column + 12]
    want = np.stack([x[first, 24:48], x[first, 48:72], np.hstack([part, part])])
    assert_kernel_ok(nki.jit(picked), x, where, expected=want)


def test_a_grid_of_a_view() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((40, 60), x.dtype, buffer=nl.shared_hbm)
        turned = nl.tiles(x.permute((1, 0))[:, 3:63], tile_shape=(16, 25))
        target = nl.tiles(out, tile_shape=(16, 25))
        for i in range(3):
            for j in range(3):
                nisa.dma_copy(dst=target[i, j].data, src=turned[i, j].data)
        return out

    x = numbers(70, 40)
    assert_kernel_ok(nki.jit(kernel), x, expected=x.T[:, 3:63])


def test_a_grid_of_rows_that_an_index_tile_picks() -> None:
    def kernel(x: Any, rows: Any) -> Any:
        picked = x.vector_select(0, nl.load(rows))
        grid = nl.tiles(picked, tile_shape=(20, 32))
        lower = nl.tiles(picked, tile_shape=(8, 32))
        assert not lower[0, 0].is_data_representable
        out = nl.ndarray((20, 70), x.dtype, buffer=nl.shared_hbm)
        target = nl.tiles(out, tile_shape=(20, 32))
        for j in range(grid.shape[1]):
            tile = nl.ndarray(grid[0, j].element_shape, x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=grid[0, j].data)
            nisa.dma_copy(dst=target[0, j].data, src=tile)
        return out

    x = numbers(90, 70)
    rows = np.random.default_rng(2).permutation(90)[:20].astype(np.int32)
    assert_kernel_ok(nki.jit(kernel), x, rows[:, None], expected=x[rows])


def test_the_programs_of_a_launch_grid_pick_tiles() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        source, target = (nl.tiles(t, tile_shape=(27, 70)) for t in (x, out))
        mine = nl.program_id(0)
        nisa.dma_copy(dst=target[mine].data, src=source[mine].data)
        return out

    x = numbers(50, 70)
    assert_kernel_ok(nki.jit(kernel), x, expected=x, grid=2)


def test_addresses_of_a_grid() -> None:
    def kernel(x: Any, address: Any) -> None:
        grid = nl.alloc_tiles(
            tile_shape=(32, 64),
            element_shape=x.shape,
            buffer=nl.sbuf,
            dtype=x.dtype,
            address=address,
            name="held",
        )
        nisa.dma_copy(dst=grid[1].data, src=x[32:])

    x = numbers(40, 100)
    module = str(nki.jit(kernel).trace(x, (32, 512)))
    assert "%held = penguin.alloc at [(32, 512)] : <32x256xf32, sbuf>" in module
    with pytest.raises(NKIError, match=r"must be a \(partition, byte\) tuple"):
        nki.jit(kernel).trace(x, (1, 2, 3))


# -- refusals ------------------------------------------------------------------------


def grid_of(x: Any) -> Any:
    return nl.tiles(x, tile_shape=(16, 24))


def on_chip(tile_shape: Any = (16, 24), element_shape: Any = (40, 60), **named: Any):
    wanted = {"buffer": nl.sbuf, "dtype": nl.float32, **named}
    return nl.alloc_tiles(tile_shape=tile_shape, element_shape=element_shape, **wanted)


REFUSED: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda x: nl.tiles(x), TypeError, "nl.tiles of a tensor needs `tile_shape`"),
    (lambda x: nl.tiles(3, tile_shape=(2, 2)), TypeError, "`source` of nl.tiles must"),
    (lambda x: nl.tiles(x, tile_shape=[16, 24]), TypeError, "must be a tuple of int"),
    (lambda x: nl.tiles(x, tile_shape=(16, 2.0)), TypeError, "must be a tuple of int"),
    (lambda x: nl.tiles(x, tile_shape=(True, 2)), TypeError, "must be a tuple of int"),
    (lambda x: nl.tiles(x, tile_shape=(16, 0)), ValueError, "must be positive"),
    (lambda x: nl.tiles(x, tile_shape=(16,)), ValueError, "two dimensions or more"),
    (
        lambda x: nl.tiles(x, tile_shape=(1, 16, 24)),
        ValueError,
        r"has more dimensions than <x: .*>, which has the shape \(40, 60\)",
    ),
    (
        lambda x: nl.tiles(nl.load(x)[:, None], tile_shape=(16, 24)),
        ValueError,
        "have 3: only leading dimensions of hbm may be untiled",
    ),
    (lambda x: nl.tiles(grid_of(x)[::2]), ValueError, "has selected every 2. coordina"),
    (
        lambda x: nl.blocks(x, tile_shape=(16, 24), block_shape=(2, 2, 2)),
        ValueError,
        "must have as many dimensions as tile_shape",
    ),
    (lambda x: nl.blocks(x, tile_shape=(16, 24)), TypeError, "block_shape"),
    (lambda x: nl.NkiTileGrid(shape=(2, 2)), TypeError, "is not made by its class"),
    (lambda x: on_chip(buffer="sbuf"), TypeError, "`buffer` must be a memory region"),
    (lambda x: on_chip([16, 24]), TypeError, "`tile_shape` must be a tuple of int"),
    (
        lambda x: on_chip(element_shape=[4, 6]),
        TypeError,
        "`element_shape` must be",
    ),
    (lambda x: on_chip(element_shape=(4, -6)), ValueError, "must be positive"),
    (lambda x: on_chip((2, 2, 2)), ValueError, "more dimensions than element_shape"),
    (lambda x: on_chip((200, 2)), ValueError, "partitions 200 exceed"),
    (lambda x: on_chip().data, ValueError, "is not one operand: its 40 rows are in mo"),
    (
        lambda x: grid_of(x)[:, ::2].data,
        ValueError,
        "is not one operand: dimension 1 selects every 2. coordinate",
    ),
    (lambda x: grid_of(x)[3, 0], IndexError, "must be from 0 to 2, got 3"),
    (lambda x: grid_of(x)[0, -4], IndexError, "must be from 0 to 2, got -4"),
    (lambda x: grid_of(x)[0:4], IndexError, "must be from 0 to 2, got 0 to 3"),
    (lambda x: grid_of(x)[2:2], IndexError, "is empty"),
    (lambda x: grid_of(x)[::-1], ValueError, "step of a slice of a grid must be pos"),
    (lambda x: grid_of(x)[0, 0, 0], IndexError, "too many coordinates"),
    (lambda x: grid_of(x)[0, 0][0], IndexError, "too many coordinates"),
    (lambda x: grid_of(x)[..., ...], IndexError, "can have one `...` only"),
    (lambda x: grid_of(x)[None], TypeError, "None is no coordinate"),
    (lambda x: grid_of(x)[True], TypeError, "True is no coordinate"),
    (lambda x: grid_of(x)[x], TypeError, "is no coordinate of"),
    (lambda x: grid_of(x)["a"], TypeError, "`coordinate` must be int"),
    (lambda x: list(grid_of(x)), NKIError, "cannot be iterated over"),
    (lambda x: grid_of(x).__setitem__(0, x), NKIError, "cannot be assigned to"),
    (lambda x: nl.load(grid_of(x)[0, 0]), TypeError, "must be a tensor, got NkiTileGr"),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED)
def test_refused(call: Callable[[Any], Any], kind: type, message: str) -> None:
    def kernel(x: Any) -> None:
        call(x)

    with pytest.raises(NKIError, match=message) as error:
        nki.jit(kernel).trace(numbers(40, 60))
    assert isinstance(error.value, kind)
    assert error.value.location is not None


def test_a_register_does_not_pick_a_partial_tile() -> None:
    def loop(x: Any, stop: int) -> None:
        grid = grid_of(x)
        tile = nl.ndarray((16, 60), x.dtype, buffer=nl.sbuf)

        def body(i: Any) -> None:
            nisa.dma_copy(tile, grid[i].data)

        nl.fori_loop(0, stop, body)

    def by_register(x: Any) -> None:
        register = nisa.register_alloc()
        nisa.register_load(register, nl.load(x[0:1, 0:1].view(nl.int32)))
        grid_of(x)[register]

    x = numbers(40, 60)
    with pytest.raises(NKIError, match="slice the 2 whole ones first"):
        nki.jit(by_register).trace(x)
    with pytest.raises(NKIError, match="slice the 2 whole ones first"):
        nki.jit(loop).trace(x, 3)
    with pytest.raises(NKIError, match="must be from 0 to 2, got 0 to 3"):
        nki.jit(loop).trace(x, 4)
    nki.jit(loop).trace(x, 2)
