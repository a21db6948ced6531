"""The sixteen methods of memory and DMA (penguin.md 1.1), each at every level."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
import xdsl_neuron.nki.isa as destination_isa
import xdsl_neuron.nki.language as destination_language
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.testing import assert_kernel_ok, printed

Array = npt.NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)
# Kernels are written without types: every name of the language is `Any` to them.
nl: Any = destination_language
nisa: Any = destination_isa
fl: Any = functional_language
fisa: Any = functional_isa

SWAP = [i ^ 1 for i in range(32)]
SWAP[4] = 255


def made(module: ModuleOp) -> list[str]:
    """The instructions in order, without the dialect's name."""
    return [
        op.name.removeprefix("penguin.")
        for op in module.walk()
        if isinstance(op, Instruction)
    ]


def numbers(*shape: int, dtype: Any = np.float32, low: int = -99) -> Array:
    return np.random.default_rng(3).integers(low, 99, shape).astype(dtype)


def indices(rows: int, limit: int, dtype: Any = np.int32) -> Array:
    return np.random.default_rng(4).integers(0, limit, (rows, 1)).astype(dtype)


def tile(*shape: int, dtype: Any = nl.float32, buffer: Any = nl.sbuf) -> Any:
    return nl.ndarray(shape, dtype=dtype, buffer=buffer)


def loaded(x: Any, dtype: Any = None) -> Any:
    found = tile(*x.shape, dtype=dtype or x.dtype)
    nisa.dma_copy(dst=found, src=x)
    return found


def saved(x: Any) -> Any:
    out = tile(*x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    return out


def stored(x: Any) -> Any:
    out = fl.ndarray(x.shape, x.dtype, buffer=fl.shared_hbm)
    fl.store(out, x)
    return out


# -- the functional generation ---------------------------------------------------------


def load_masked(x: Any) -> Any:
    i_p, i_f = fl.arange(64)[:, None], fl.arange(40)[None, :]
    return stored(fl.load(x[i_p, i_f], mask=i_p + i_f < 60) * 0 + 1)


def load_cast(x: Any) -> Any:
    return stored(fl.load(x, dtype=fl.bfloat16))


def store_number(x: Any) -> Any:
    out = fl.ndarray((64, 40), fl.float32, buffer=fl.shared_hbm)
    fl.store(out, 3)
    fl.store(out[0:32, :], fl.load(x[0:32, :]))
    return out


def store_psum(x: Any) -> Any:
    return stored(fisa.nc_transpose(fl.load(x)))


def store_broadcast(x: Any) -> Any:
    out = fl.ndarray((64, 40), fl.float32, buffer=fl.shared_hbm)
    fl.store(out, fl.load(x[:, 0:1]))
    return out


def gather(x: Any, index: Any) -> Any:
    return stored(fl.load(x[fl.load(index), fl.arange(40)[None, :]]))


def scatter(x: Any, index: Any) -> Any:
    out = fl.ndarray((64, 40), fl.float32, buffer=fl.shared_hbm)
    fl.store(out, 0)
    fl.store(out[fl.load(index), fl.arange(40)[None, :]], fl.load(x[0:32, :]))
    return out


def accumulate(x: Any, index: Any) -> Any:
    out = fl.ndarray((64, 40), fl.float32, buffer=fl.shared_hbm)
    fl.store(out, 1)
    rows = fl.load(x[0:32, :])
    fl.atomic_rmw(out[fl.load(index), fl.arange(40)[None, :]], rows, fl.add)
    return out


def transposed_load(x: Any) -> Any:
    return stored(fl.load_transpose2d(x, dtype=fl.bfloat16))


def dma_transposed(x: Any) -> Any:
    return stored(fisa.dma_transpose(fl.load(x)))


def flattened(x: Any, index: Any) -> Any:
    return stored(fl.gather_flattened(fl.load(x), fl.load(index)))


def gathered_locally(x: Any, index: Any) -> Any:
    return stored(fisa.local_gather(fl.load(x), fl.load(index), 2))


def shuffled(x: Any) -> Any:
    source = fl.load(x)
    out = fl.full((64, 40), 7.0, fl.float32)
    fisa.nc_stream_shuffle(source, out, SWAP)
    return stored(out)


def shuffled_from_one(x: Any) -> Any:
    out = fl.ndarray((64, 40), fl.float32)
    fisa.nc_stream_shuffle(fl.load(x[5:38]), out, [0] * 32)
    return stored(out)


def broadcast(x: Any) -> Any:
    return stored(fl.broadcast_to(fl.load(x[3:4, :]), shape=(64, 40)))


TABLE = np.arange(64 * 40, dtype=np.float32).reshape(64, 40)


def constants(x: Any) -> Any:
    eye = fl.load(fl.shared_identity_matrix(64, dtype=fl.bfloat16))
    again = fl.load(fl.shared_identity_matrix(64, dtype=fl.bfloat16))
    table = fl.load(fl.shared_constant(TABLE))
    return stored(fl.load(x) + table + eye[:, 0:40] + again[:, 0:40])


def memset(x: Any) -> Any:
    return stored(fisa.memset((64, 40), 2.5, fl.float32) + fl.load(x))


def shuffle_reference(x: Array) -> Array:
    found = np.full_like(x, 7)
    for block in (0, 32):
        for lane, source in enumerate(SWAP):
            if source != 255:
                found[block + lane] = x[block + source]
    return found


def local_reference(x: Array, index: Array, run: int) -> Array:
    columns = index.shape[1]
    found = np.zeros((x.shape[0], columns, 16, run), x.dtype)
    for p in range(x.shape[0]):
        core = index[p // 16 * 16 : p // 16 * 16 + 16]
        for i in range(columns):
            for lane in range(16):
                start = int(core[lane, i])
                found[p, i, lane] = x[p, start : start + run]
    return found


def scatter_reference(x: Array, index: Array) -> Array:
    found = np.zeros((64, 40), np.float32)
    for row, at in enumerate(index[:, 0]):
        found[at] = x[row]
    return found


def add_reference(x: Array, index: Array) -> Array:
    found = np.ones((64, 40), np.float32)
    for row, at in enumerate(index[:, 0]):
        found[at] += x[row]
    return found


X = numbers(64, 40)
COLUMN = indices(32, 64)
WORDS = np.random.default_rng(5).integers(0, 40, (64, 3, 4)).astype(np.uint32)
HALVES = np.random.default_rng(5).integers(0, 20, (64, 3)).astype(np.uint16)


def tensors(*items: Array) -> tuple[Array, ...]:
    return items


FUNCTIONAL: list[tuple[Callable[..., Any], tuple[Array, ...], Array, str]] = [
    (load_cast, (X,), X.astype(BF16), "sb_atom_load"),
    (store_number, (X,), np.where(np.arange(64)[:, None] < 32, X, 3), "sb_atom_store"),
    (store_psum, (X,), X.T, "tensor_copy"),
    (store_broadcast, (X,), np.broadcast_to(X[:, :1], X.shape), "sb_atom_store"),
    (gather, (X, COLUMN), X[COLUMN[:, 0]], "neuron_indirect_load"),
    (scatter, (X, COLUMN), scatter_reference(X, COLUMN), "neuron_indirect_save"),
    (accumulate, (X, COLUMN), add_reference(X, COLUMN), "neuron_indirect_rmw"),
    (transposed_load, (X,), X.T, "dma_transpose_load"),
    (dma_transposed, (X,), X.T, "dma_transpose_copy"),
    (
        flattened,
        (X, WORDS),
        np.take_along_axis(X, WORDS.reshape(64, 12).astype(int), 1).reshape(64, 3, 4),
        "pool_gather",
    ),
    (gathered_locally, (X, HALVES), local_reference(X, HALVES, 2), "indirect_copy"),
    (shuffled, (X,), shuffle_reference(X), "stream_shuffle"),
    (shuffled_from_one, (X,), X[[5] * 32 + [37] * 32], "stream_shuffle"),
    (broadcast, (X,), np.broadcast_to(X[3:4], X.shape), "tensor_copy"),
    (constants, (X,), X + TABLE + 2 * np.eye(64, 40), "sb_atom_load"),
    (memset, (X,), X + 2.5, "memset"),
]


@pytest.mark.parametrize(
    ("kernel", "arguments", "expected", "name"),
    FUNCTIONAL,
    ids=[row[0].__name__ for row in FUNCTIONAL],
)
def test_functional(
    kernel: Callable[..., Any], arguments: tuple[Array, ...], expected: Array, name: str
) -> None:
    assert_kernel_ok(functional.jit(kernel), *arguments, expected=expected)
    assert name in made(functional.trace(kernel)(*arguments))


# -- the destination-passing generations -----------------------------------------------


def copied(x: Any) -> Any:
    part = tile(64, 20)
    nisa.dma_copy(dst=part, src=x[:, 0:40:2], priority=2)
    return saved(part)


def added(x: Any) -> Any:
    out = saved(loaded(x))
    nisa.dma_copy(dst=out, src=loaded(x), dst_rmw_op=nl.add)
    return out


def gathered(x: Any, index: Any) -> Any:
    rows = tile(32, 40)
    picked = x.ap([[40, 32], [1, 40]], vector_offset=loaded(index), indirect_dim=0)
    nisa.dma_copy(dst=rows, src=picked)
    return saved(rows)


def gathered_some(x: Any, index: Any) -> Any:
    rows = tile(32, 40)
    nisa.memset(rows, -1.0)
    picked = x.ap([[40, 32], [1, 40]], vector_offset=loaded(index), indirect_dim=0)
    nisa.dma_copy(dst=rows, src=picked, oob_mode=nisa.oob_mode.skip)
    return saved(rows)


def scattered(x: Any, index: Any) -> Any:
    out = saved(loaded(x))
    target = out.ap([[40, 32], [1, 40]], vector_offset=loaded(index), indirect_dim=0)
    nisa.dma_copy(dst=target, src=loaded(x)[0:32, :])
    nisa.dma_copy(dst=target, src=loaded(x)[32:64, :], dst_rmw_op=nl.add)
    return out


def turned(x: Any) -> Any:
    found = tile(40, 64, dtype=x.dtype)
    nisa.dma_transpose(dst=found, src=x)
    return saved(found)


def turned_four(x: Any) -> Any:
    found = tile(5, 2, 3, 4)
    nisa.dma_transpose(dst=found, src=x, axes=(3, 1, 2, 0))
    return saved(found)


def turned_rows(x: Any, index: Any) -> Any:
    found = tile(64, 1, 32, dtype=x.dtype)
    picked = x.ap([[64, 32], [64, 1], [1, 64]], vector_offset=loaded(index))
    nisa.dma_transpose(dst=found, src=picked)
    return saved(found)


def gathered_n(x: Any, index: Any) -> Any:
    found = tile(64, 12)
    nisa.nc_n_gather(found, loaded(x), loaded(index))
    return saved(found)


def cores(x: Any, index: Any) -> Any:
    found = tile(64, 80)
    nisa.local_gather(found, loaded(x), loaded(index), 2, 40)
    return saved(found)


def swapped(x: Any) -> Any:
    found = tile(64, 40)
    nisa.memset(found, 7.0)
    nisa.nc_stream_shuffle(found, loaded(x), SWAP)
    return saved(found)


def by_register(x: Any, places: Any) -> Any:
    out = tile(4, 3, 40, buffer=nl.shared_hbm)
    held = loaded(places)
    start, other = nisa.register_alloc(), nisa.register_alloc(2)
    for i in range(4):
        nisa.register_load(start, held[0:1, i : i + 1])
        row = tile(3, 40)
        nisa.dma_copy(dst=row, src=x.ap([[40, 3], [1, 40]], scalar_offset=start))
        nisa.dma_copy(dst=out[i], src=row)
    nisa.register_move(other, start)
    nisa.dma_copy(dst=out[0], src=x[nl.ds(other, 3), :])
    column = tile(64, 1)
    nisa.tensor_copy(
        column, loaded(x).ap([[40, 64], [1, 1]], scalar_offset=start, indirect_dim=1)
    )
    nisa.dma_copy(
        dst=out[1, 0:1, 0:40], src=x.ap([[1, 1], [1, 40]], scalar_offset=held[0:1, 0:1])
    )
    return out, saved(column)


def stored_registers(places: Any) -> Any:
    held = loaded(places)
    out = tile(1, 4, dtype=nl.int32)
    nisa.memset(out, 0)
    register = nisa.register_alloc(held[0:1, 1:2])
    nisa.register_store(out[0:1, 2:3], register)
    nisa.register_load(register, held[0:1, 2:3])
    nisa.register_store(out[0:1, 3:4], nisa.register_alloc(register * 2 + 5))
    return saved(out)


def shared(x: Any) -> Any:
    eye = tile(64, 64, dtype=nl.bfloat16)
    nl.shared_identity_matrix(64, dtype=nl.bfloat16, dst=eye)
    table = loaded(nl.shared_constant(TABLE))
    out = tile(64, 40)
    nisa.tensor_tensor(out, table, eye[:, 0:40], nl.add)
    return saved(out)


def some_outside(index: Array) -> Array:
    found = index.copy()
    found[3], found[5], found[6] = -1, 64, 1000
    return found


SOME = some_outside(COLUMN)
PLACES = np.array([[5, 0, 61, 7]], np.int32)
HALF = X.astype(BF16)
WIDE = numbers(128, 64, dtype=BF16)
COUNTED = COLUMN.astype(np.uint32)


def some_reference() -> Array:
    valid = (SOME[:, 0] >= 0) & (SOME[:, 0] < 64)
    return np.where(valid[:, None], X[np.where(valid, SOME[:, 0], 0)], -1)


def scattered_reference() -> Array:
    found = X.copy()
    for row, at in enumerate(COLUMN[:, 0]):
        found[at] = X[row]
    for row, at in enumerate(COLUMN[:, 0]):
        found[at] += X[32 + row]
    return found


def register_reference() -> list[Array]:
    rows = np.stack([X[at : at + 3] for at in PLACES[0]])
    rows[0] = X[7:10]
    rows[1, 0] = X[5]
    return [rows, X[:, 7:8]]


FOUR = numbers(4, 2, 3, 5)
DESTINATION: list[tuple[Callable[..., Any], tuple[Array, ...], Any, str]] = [
    (copied, (X,), X[:, ::2], "dma_copy"),
    (added, (X,), X + X, "dma_copy"),
    (gathered, (X, COLUMN), X[COLUMN[:, 0]], "neuron_indirect_load"),
    (gathered_some, (X, SOME), some_reference(), "neuron_indirect_load"),
    (scattered, (X, COLUMN), scattered_reference(), "neuron_indirect_rmw"),
    (turned, (HALF,), HALF.T, "dma_transpose_load"),
    (turned_four, (FOUR,), FOUR.transpose(3, 1, 2, 0), "dma_transpose_load"),
    (
        turned_rows,
        (WIDE, COUNTED),
        WIDE[COUNTED[:, 0].astype(int)].T[:, None],
        "dma_indirect_transpose",
    ),
    (
        gathered_n,
        (X, WORDS.reshape(64, 12)),
        np.take_along_axis(X, WORDS.reshape(64, 12).astype(int), 1),
        "pool_gather",
    ),
    (
        cores,
        (X, HALVES),
        local_reference(X, HALVES, 2).reshape(64, -1)[:, :80],
        "indirect_copy",
    ),
    (swapped, (X,), shuffle_reference(X), "stream_shuffle"),
    (by_register, (X, PLACES), register_reference(), "load_tensor_to_register"),
    (
        stored_registers,
        (PLACES,),
        np.array([[0, 0, 0, 2 * 61 + 5]]),
        "store_register_to_tensor",
    ),
    (shared, (X,), TABLE + np.eye(64, 40), "dma_copy"),
]


@pytest.mark.parametrize(
    ("kernel", "arguments", "expected", "name"),
    DESTINATION,
    ids=[row[0].__name__ for row in DESTINATION],
)
def test_destination(
    kernel: Callable[..., Any], arguments: tuple[Array, ...], expected: Any, name: str
) -> None:
    assert_kernel_ok(nki.jit(kernel), *arguments, expected=expected)
    assert name in made(nki.trace(kernel)(*arguments))


def test_load_leaves_masked_elements_alone() -> None:
    text = printed(functional.trace(load_masked)(X))
    assert "where 59 - l0 - l1 >= 0" in text
