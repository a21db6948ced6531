"""Two cores of one launch: barriers, exchanges, and orders that do not match."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.machine import MachineError
from xdsl_neuron.nki import isa, language
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

nl: Any = language
nisa: Any = isa

A = np.random.default_rng(0).random((66, 37), np.float32)


@nki.jit
def halves(a: Any) -> Any:
    """Each core doubles or triples its half, then adds what the other one made."""
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    core, rows = nl.program_id(0), a.shape[0] // 2
    mine = nl.load(a[core * rows : (core + 1) * rows])
    nisa.tensor_scalar(mine, mine, nl.multiply, float(core + 2))
    # Made between the two programs' uses of it: what is shared comes first.
    between = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(between[core * rows : (core + 1) * rows], mine)
    nisa.core_barrier(between, (0, 1))
    other = 1 - core
    theirs = nl.load(between[other * rows : (other + 1) * rows])
    nl.store(out[core * rows : (core + 1) * rows], nl.add(mine, theirs))
    return out


def test_a_barrier_between_cores() -> None:
    first, second = A[:33] * 2, A[33:] * np.float32(3)
    expected = np.concatenate([first + second, second + first])
    assert_kernel_ok(halves, A, grid=2, expected=expected)
    text = str(halves[2].trace(A))
    assert text.count("penguin.core_barrier") == 1
    before, after = text.split("penguin.core_barrier")
    assert before.count("tensor_scalar_ptr") == 2
    assert after.count("tensor_tensor") == 2


@nki.jit
def swapped(a: Any) -> Any:
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    core, rows = nl.program_id(0), a.shape[0] // 2
    tile = nl.load(a[core * rows : (core + 1) * rows])
    copy = nl.ndarray(tile.shape, tile.dtype, buffer=nl.sbuf)
    other = 1 - core
    nisa.sendrecv(tile, copy, other, other, pipe_id=0)
    nisa.sendrecv(copy, copy, other, other, pipe_id=1)
    nisa.sendrecv(
        src=copy,
        dst=tile,
        send_to_rank=other,
        recv_from_rank=other,
        pipe_id=0,
        dma_engine=nisa.dma_engine.gpsimd_dma,
    )
    nl.store(out[core * rows : (core + 1) * rows], tile)
    return out


def test_an_exchange_of_tiles_also_in_place() -> None:
    expected = np.concatenate([A[33:], A[:33]])
    assert_kernel_ok(swapped, A, grid=2, expected=expected)


def test_programs_that_do_not_meet_stay_in_order() -> None:
    @nki.jit
    def kernel(a: Any) -> Any:
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        at = nl.program_id(0)
        nl.store(out[at], nl.multiply(nl.load(a[at]), 2.0))
        return out

    a = A[:2]
    assert_kernel_ok(kernel, a, grid=2, expected=a * 2)


def loaded(a: Any) -> Any:
    register = nisa.register_alloc()
    nisa.register_load(register, nl.load(a))
    return register


@nki.jit
def in_loops(a: Any, counts: Any) -> Any:
    """Tiles that change cores as often as a register says, and then once more."""
    core = nl.program_id(0)
    other, rows = 1 - core, a.shape[0] // 2
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    steps = nl.ndarray((2, 1), nl.int32, buffer=nl.shared_hbm)
    tile = nl.load(a[core * rows : (core + 1) * rows])
    total = nisa.register_alloc(core)
    for i in nl.dynamic_range(loaded(counts[core : core + 1, 0:1])):
        nisa.tensor_scalar(tile, tile, nl.add, float(core + 1))
        nisa.sendrecv(tile, tile, other, other, pipe_id=0)
        nisa.register_move(total, total + i)
    left = loaded(counts[core : core + 1, 1:2])
    while left:
        nisa.core_barrier(out, (0, 1))
        nl.store(out[core * rows : (core + 1) * rows], tile)
        nisa.core_barrier(out, (0, 1))
        nisa.dma_copy(tile, out[other * rows : (other + 1) * rows])
        nisa.register_move(left, left - 1)
    nl.store(out[core * rows : (core + 1) * rows], tile)
    nisa.register_store(steps[core : core + 1], total)
    return out, steps


@pytest.mark.parametrize(("first", "second"), [(0, 1), (3, 0), (4, 5)])
def test_cores_meet_in_run_time_loops(first: int, second: int) -> None:
    halves = [A[:33].copy(), A[33:].copy()]
    for _ in range(first):
        halves = [halves[1] + np.float32(2), halves[0] + np.float32(1)]
    if second % 2:
        halves.reverse()
    counted = first * (first - 1) // 2
    steps = np.array([[counted], [counted + 1]], np.int32)
    counts = np.array([[first, second]] * 2, np.int32)
    expected = (np.concatenate(halves), steps)
    assert_kernel_ok(in_loops, A, counts, grid=2, expected=expected)


@pytest.mark.parametrize("counts", [[[1, 1], [2, 1]], [[1, 2], [1, 1]]])
def test_cores_that_leave_a_loop_at_different_times(counts: Any) -> None:
    with pytest.raises(MachineError, match="`cores_leave_a_loop_together`"):
        in_loops[2](A, np.array(counts, np.int32))


def barrier(a: Any, **changes: Any) -> None:
    shared = nl.ndarray((2, 2), nl.float32, buffer=nl.shared_hbm)
    nisa.core_barrier(**{"data": shared, "cores": (0, 1)} | changes)


def exchange(a: Any, **changes: Any) -> None:
    tile = nl.ndarray((4, 3), nl.float32, buffer=nl.sbuf)
    nisa.memset(tile, 0.0)
    other = 1 - nl.program_id(0)
    given = {"send_to_rank": other, "recv_from_rank": other, "pipe_id": 0}
    nisa.sendrecv(**{"src": tile, "dst": tile} | given | changes)


def one_has_more(a: Any) -> None:
    barrier(a)
    if nl.program_id(0):
        exchange(a)


def other_kinds(a: Any) -> None:
    if nl.program_id(0):
        barrier(a)
    else:
        exchange(a)


def other_pipes(a: Any) -> None:
    exchange(a, pipe_id=nl.program_id(0))


def other_tensors(a: Any) -> None:
    two = [nl.ndarray((2, 2), nl.float32, buffer=nl.shared_hbm) for _ in range(2)]
    nisa.core_barrier(two[nl.program_id(0)], (0, 1))


def loops_that_differ(a: Any) -> None:
    register = nisa.register_alloc()
    nisa.register_load(register, nl.load(a[0:1, 0:1]).view(nl.int32))

    def body(i: Any) -> None:
        exchange(a)

    nl.fori_loop(nl.program_id(0), register, body)


def tile(**options: Any) -> Any:
    shape = options.get("shape", (4, 3))
    return nl.ndarray(shape, options.get("dtype", nl.float32), buffer=nl.sbuf)


REFUSALS: list[tuple[Callable[[Any], object], str]] = [
    (
        one_has_more,
        r"core 0 has core_barrier\(0, 1\) \(line \d+\); core 1 has core_barrier"
        r"\(0, 1\) \(line \d+\), sendrecv\(pipe_id=0\) \(line \d+\)",
    ),
    (
        other_kinds,
        r"core 0 has sendrecv\(pipe_id=0\) .*; core 1 has core_barrier\(0, 1\)",
    ),
    (other_pipes, r"core 0 has .*pipe_id=0.* core 1 has sendrecv\(pipe_id=1\)"),
    (other_tensors, "core 0 waits at 'tile of shape .* and core 1 at"),
    (
        loops_that_differ,
        r"core 0 has loop from 0 to a register, step 1 \(line \d+\), sendrecv.*"
        "core 1 has loop from 1 to a register",
    ),
    (lambda a: barrier(a, cores=(0,)), r"must name all 2 cores of the launch, got"),
    (
        lambda a: barrier(a, data=nl.ndarray((2, 2), nl.float32, buffer=nl.hbm)),
        "`data` must be a tensor in shared HBM",
    ),
    (lambda a: exchange(a, send_to_rank=2), "ranks must be below 2, got send_to_r"),
    (
        lambda a: exchange(a, send_to_rank=nl.program_id(0)),
        r"core 0 receives from core 1, which sends to core 1, in sendrecv",
    ),
    (lambda a: exchange(a, src=a), "`src` must be a tile in sbuf"),
    (
        lambda a: exchange(a, dst=tile(shape=(4, 2))),
        "must have the same shape and t",
    ),
    (lambda a: exchange(a, dst=tile(dtype=nl.int32)), "same shape and type"),
    (
        lambda a: exchange(a, dma_engine="x"),
        "expected one of dma_engine.dma, dma_e",
    ),
    (
        lambda a: exchange(
            a,
            src=tile(shape=(4, 257)),
            dst=tile(shape=(4, 257)),
            dma_engine=nisa.dma_engine.gpsimd_dma,
        ),
        "up to 1024 bytes per partition of a 32-bit type, got 1028",
    ),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSALS)
def test_refusals(wrong: Callable[[Any], object], message: str) -> None:
    def kernel(a: Any) -> Any:
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        wrong(a)
        nisa.dma_copy(out, a)
        return out

    with pytest.raises(NKIError, match=message) as raised:
        nki.simulate(kernel)[2].trace(A)
    assert raised.value.location is not None
    assert raised.value.location.file == __file__


@pytest.mark.parametrize("meet", [barrier, exchange])
def test_one_core_has_nobody_to_meet(meet: Callable[[Any], object]) -> None:
    def kernel(a: Any) -> Any:
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        meet(a)
        nisa.dma_copy(out, a)
        return out

    with pytest.raises(NKIError, match="is launched on one; launch it as kernel"):
        nki.trace(kernel)(A)
    older = nki.jit(kernel, platform_target="trn1")
    with pytest.raises(NKIError, match="needs NeuronCore-v3 or newer, trn1 is older"):
        older[2].trace(A)
