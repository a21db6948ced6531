"""`target[...] = value` copies, as in NumPy; the copy goes where nobody can tell."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

import xdsl_neuron.nki.functional as nki
import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

Array = npt.NDArray[Any]
Kernel = Callable[..., Any]
nl: Any = functional_language
nisa: Any = functional_isa

X = np.random.default_rng(3).integers(-8, 8, (128, 64)).astype(np.float32)
Y = np.random.default_rng(4).integers(-8, 8, (128, 64)).astype(np.float32)
PRODUCT = X.T @ Y
P, F = np.arange(128)[:, None], np.arange(64)[None, :]


def made(module: ModuleOp) -> list[str]:
    """The instructions in order, without the dialect's name."""
    return [
        op.name.removeprefix("penguin.")
        for op in module.walk()
        if isinstance(op, Instruction)
    ]


def stored(*tiles: Any) -> Any:
    """The tiles in tensors that a kernel returns."""
    found: list[Any] = []
    for tile in tiles:
        out = nl.ndarray(tile.shape, tile.dtype, buffer=nl.shared_hbm)
        nl.store(out, tile)
        found.append(out)
    return tuple(found)


def clipped(tile: Any) -> Any:
    return nl.maximum(tile, 0.0)


def pair(tile: Any) -> tuple[Any, Any]:
    return nl.multiply(tile, 2.0), nl.maximum(tile, 0.0)


def from_helper(x: Any) -> Any:
    tile, total = nl.load(x), nl.ndarray(x.shape, x.dtype)
    value = clipped(tile)
    total[...] = value
    total[...] += tile
    return stored(value, total)


def from_tuple(x: Any) -> Any:
    tile, total = nl.load(x), nl.ndarray(x.shape, x.dtype)
    _, value = pair(tile)
    total[...] = value
    total += tile
    return stored(value, total)


def from_attribute(x: Any) -> Any:
    tile, total, held = nl.load(x), nl.ndarray(x.shape, x.dtype), SimpleNamespace()
    held.value = nl.maximum(tile, 0.0)
    total[...] = held.value
    total[...] = nl.add(total, tile)
    return stored(held.value, total)


def from_entry(x: Any) -> Any:
    tile, total, held = nl.load(x), nl.ndarray(x.shape, x.dtype), dict[str, Any]()
    held["value"] = nl.maximum(tile, 0.0)
    view = held["value"][:, 0:64]
    total[...] = held["value"]
    total[...] = nl.add(total, tile)
    return stored(view, total)


def from_list_twice(x: Any) -> Any:
    tile, total = nl.load(x), nl.zeros(x.shape, x.dtype)
    held = [nl.maximum(tile, 0.0)]
    for _ in range(1):
        total[...] = held[0]
    total[...] += tile
    other = nl.ndarray(x.shape, x.dtype)
    other[...] = held[0]
    return stored(other, total)


def from_loop(x: Any) -> Any:
    tile, total = nl.load(x), nl.ndarray(x.shape, x.dtype)
    value = nl.ndarray(x.shape, x.dtype)
    for block in nl.affine_range(4):
        held = [nl.maximum(tile[:, nl.ds(block * 16, 16)], 0.0)]
        total[:, nl.ds(block * 16, 16)] = held[0]
        total[:, nl.ds(block * 16, 16)] += tile[:, nl.ds(block * 16, 16)]
        value[:, nl.ds(block * 16, 16)] = held[0]
    return stored(value, total)


@pytest.mark.parametrize(
    "kernel",
    [
        from_helper,
        from_tuple,
        from_attribute,
        from_entry,
        from_list_twice,
        from_loop,
    ],
)
def test_what_was_assigned_is_still_its_own_value(kernel: Kernel) -> None:
    value = np.maximum(X, 0)
    assert_kernel_ok(nki.jit(kernel), X, expected=(value, value + X))


def test_a_value_that_only_the_copy_reads_is_written_to_the_target() -> None:
    def kernel(x: Any) -> Any:
        tile = nl.ndarray(x.shape, x.dtype)
        for block in nl.affine_range(4):
            part = nl.ds(block * 16, 16)
            tile[:, part] = nl.load(x[:, part])
            tile[:, part] = nl.multiply(tile[:, part], 2.0)
        total = nl.zeros(x.shape, x.dtype)
        total[...] = clipped(tile)
        return stored(total)

    assert made(nki.trace(kernel)(X)) == [
        "sb_atom_load",
        "tensor_scalar_ptr",
        "memset",
        "tensor_scalar_ptr",
        "sb_atom_store",
    ]
    assert_kernel_ok(nki.jit(kernel), X, expected=np.maximum(2 * X, 0))


def test_names_stay_without_gaps_where_copies_go() -> None:
    def kernel(x: Any) -> Any:
        tile = nl.ndarray(x.shape, x.dtype)
        tile[...] = nl.load(x)
        tile[...] = nl.multiply(tile, 2.0)
        return stored(tile)

    names = [
        op.properties["inst_name"]
        for op in nki.trace(kernel)(X).walk()
        if isinstance(op, Instruction)
    ]
    assert [str(name) for name in names] == ['"I1"', '"I2"', '"I3"']


def test_assignment_between_programs_that_meet() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((2, 128, 64), x.dtype, buffer=nl.shared_hbm)
        tile, held = nl.ndarray(x.shape, x.dtype), [nl.maximum(nl.load(x), 0.0)]
        tile[...] = held[0]
        total = nl.all_reduce(held[0], np.add, program_axes=(0,))
        nl.store(out[nl.program_id(0)], nl.add(total, tile))
        return out

    want = 3 * np.maximum(X, 0)
    assert_kernel_ok(nki.jit(kernel), X, expected=np.stack([want, want]), grid=2)


# -- what a mask left out ------------------------------------------------------------


def masked_then_reversed(x: Any) -> Any:
    f = nl.arange(64)[None, :]
    total, value = nl.zeros(x.shape, x.dtype), nl.add(nl.load(x), 1.0, mask=f < 10)
    total[...] = value[:, ::-1]
    return stored(total)


def masked_then_cut(x: Any) -> Any:
    f = nl.arange(64)[None, :]
    total, value = nl.zeros(x.shape, x.dtype), nl.add(nl.load(x), 1.0, mask=f < 10)
    total[:, 0:32] = value[:, 4:36]
    return stored(total)


def masked_into_reversed(x: Any) -> Any:
    f = nl.arange(64)[None, :]
    total, value = nl.zeros(x.shape, x.dtype), nl.add(nl.load(x), 1.0, mask=f < 10)
    total[:, ::-1] = value
    return stored(total)


def masked_rows_then_spread(x: Any) -> Any:
    p, total = nl.arange(128)[:, None], nl.zeros(x.shape, x.dtype)
    total[...] = nl.sum(nl.load(x), axis=1, keepdims=True, mask=p < 50)
    return stored(total)


def masked_middle_fold(x: Any) -> Any:
    p, total = nl.arange(128)[:, None, None], nl.zeros((128, 1, 8), x.dtype)
    tile = nl.load(x).reshape((128, 8, 8))
    total[...] = nl.sum(tile, axis=1, keepdims=True, mask=p < 50)
    return stored(total)


def masked_in_an_ended_loop(x: Any) -> Any:
    f = nl.arange(64)[None, :]
    value, total = nl.ndarray(x.shape, x.dtype), nl.zeros(x.shape, x.dtype)
    for step in nl.sequential_range(2):
        value[...] = nl.add(nl.load(x), 1.0, mask=f < 32 + 32 * step)
    total[...] = value
    return stored(total)


def masked_part_by_part(x: Any) -> Any:
    p, f = nl.arange(128)[:, None], nl.arange(16)[None, :]
    value, total = nl.ndarray(x.shape, x.dtype), nl.zeros(x.shape, x.dtype)
    for part in nl.affine_range(4):
        value[p, part * 16 + f] = nl.load(x[p, part * 16 + f], mask=part * 16 + f < 64)
    total[...] = value
    return stored(total)


def masked_in_an_open_loop(x: Any) -> Any:
    p, f = nl.arange(128)[:, None], nl.arange(16)[None, :]
    total = nl.zeros(x.shape, x.dtype)
    for part in nl.affine_range(4):
        value = nl.load(x[p, part * 16 + f], mask=part * 16 + f < 50)
        total[:, nl.ds(part * 16, 16)] = value
        total[:, nl.ds(part * 16, 16)] = value[:, ::-1]
    return stored(total)


def reversed_blocks() -> Array:
    want = np.where(F < 50, X, 0)
    for part in range(4):
        block = slice(part * 16, part * 16 + 16)
        known = (np.arange(16) + part * 16 < 50)[::-1]
        want[:, block] = np.where(known, X[:, block][:, ::-1], want[:, block])
    return want


@pytest.mark.parametrize(
    ("kernel", "want"),
    [
        (masked_then_reversed, np.where(F >= 54, X[:, ::-1] + 1, 0)),
        (
            masked_then_cut,
            np.where(F < 6, np.roll(X, -4, axis=1) + 1, 0),
        ),
        (masked_into_reversed, np.where(F >= 54, X[:, ::-1] + 1, 0)),
        (
            masked_rows_then_spread,
            np.where(P < 50, X.sum(1, keepdims=True), 0) + 0 * X,
        ),
        (
            masked_middle_fold,
            np.where(P[..., None] < 50, X.reshape(128, 8, 8).sum(1, keepdims=True), 0),
        ),
        (masked_in_an_ended_loop, X + 1),
        (masked_part_by_part, X),
        (masked_in_an_open_loop, reversed_blocks()),
    ],
)
def test_what_a_mask_left_out_stays(kernel: Kernel, want: Array) -> None:
    assert_kernel_ok(nki.jit(kernel), X, expected=want)


# -- results of matmuls --------------------------------------------------------------


def joined_then_stored(a: Any, b: Any) -> Any:
    left, right = nl.load(a), nl.load(b)
    total = nl.zeros((64, 64), nl.float32, buffer=nl.psum)
    total[...] += nl.matmul(left, right, transpose_x=True)
    value = nl.matmul(left, right, transpose_x=True)
    total[...] += value
    return stored(value, total)


def assigned_then_changed(a: Any, b: Any) -> Any:
    left, right = nl.load(a), nl.load(b)
    total = nl.ndarray((64, 64), nl.float32, buffer=nl.psum)
    value = nl.matmul(left, right, transpose_x=True)
    total[...] = value
    total[...] += nl.matmul(left, right, transpose_x=True)
    return stored(value, total)


def joined_twice(a: Any, b: Any) -> Any:
    left, right = nl.load(a), nl.load(b)
    first = nl.zeros((64, 64), nl.float32, buffer=nl.psum)
    second = nl.zeros((64, 64), nl.float32, buffer=nl.psum)
    first += nl.matmul(left, right, transpose_x=True)
    value = nl.matmul(left, right, transpose_x=True)
    first += value
    second += value
    return stored(second, first)


def inputs_change_first(a: Any, b: Any) -> Any:
    left, right = nl.load(a), nl.load(b)
    total = nl.zeros((64, 64), nl.float32, buffer=nl.psum)
    total += nl.matmul(left, right, transpose_x=True)
    value = nl.matmul(left, right, transpose_x=True)
    total += value
    right[...] = 0.0
    return stored(value, total)


def inputs_change_in_a_loop(a: Any, b: Any) -> Any:
    left, right = nl.load(a), nl.load(b)
    total = nl.zeros((64, 64), nl.float32, buffer=nl.psum)
    total += nl.matmul(left, right, transpose_x=True)
    value = nl.matmul(left, right, transpose_x=True)
    total += value
    out = nl.ndarray((64, 64), nl.float32)
    for _ in nl.sequential_range(3):
        out[...] = value
        right[...] = 0.0
    return stored(out, total)


@pytest.mark.parametrize(
    "kernel",
    [
        joined_then_stored,
        assigned_then_changed,
        joined_twice,
        inputs_change_first,
        inputs_change_in_a_loop,
    ],
)
def test_a_matmul_result_is_not_the_accumulator(kernel: Kernel) -> None:
    assert_kernel_ok(nki.jit(kernel), X, Y, expected=(PRODUCT, 2 * PRODUCT))


def test_a_matmul_result_ends_with_its_loop() -> None:
    def kernel(a: Any, b: Any) -> Any:
        left, right = nl.load(a), nl.load(b)
        total, value = nl.zeros((64, 64), nl.float32, buffer=nl.psum), None
        for _ in nl.affine_range(2):
            value = nl.matmul(left, right, transpose_x=True)
            total += value
        return stored(value)

    with pytest.raises(NKIError, match="referenced outside of its parent scope"):
        nki.trace(kernel)(X, Y)


def test_a_matmul_is_made_where_it_is_assigned() -> None:
    def kernel(a: Any, b: Any) -> Any:
        left, right = nl.load(a), nl.load(b)
        total = nl.ndarray((64, 64), nl.float32, buffer=nl.psum)
        total[...] = nl.matmul(left, right, transpose_x=True)
        return stored(total)

    assert made(nki.trace(kernel)(X, Y)) == [
        "sb_atom_load",
        "sb_atom_load",
        "matmul",
        "tensor_copy",  # the store's, from PSUM
        "sb_atom_store",
    ]
    assert_kernel_ok(nki.jit(kernel), X, Y, expected=PRODUCT)


def test_what_a_matmul_does_wrong_is_said_where_it_stands() -> None:
    def looked_at(a: Any, b: Any) -> Any:
        value = nisa.nc_matmul(nl.load(a)[:, 0:64], nl.load(b)[0:64])
        return stored(nl.exp(value))

    def put_off(a: Any, b: Any) -> Any:
        value = nisa.nc_matmul(nl.load(a)[:, 0:64], nl.load(b)[0:64])
        other = nl.load(a)
        return stored(value, other)

    def joined(a: Any, b: Any) -> Any:
        value = nisa.nc_matmul(nl.load(a)[:, 0:64], nl.load(b)[0:64])
        total = nl.zeros((64, 64), nl.float32, buffer=nl.psum)
        total += value
        return stored(total)

    for kernel in (looked_at, put_off, joined):
        with pytest.raises(NKIError) as caught:
            nki.trace(kernel)(X, Y)
        place = caught.value.location
        assert place is not None
        assert place.line == kernel.__code__.co_firstlineno + 1
