"""What passes add, and what ranks exchange (bir.md 6.1, 6.2, 6.12, 6.13, 10.7)."""

from typing import Final

import numpy as np
from oracle.elementwise import fields
from oracle.kernel import Draw, Tile, oracle
from oracle.movement import EVERY, moved
from oracle.numbers import (
    F32,
    NUMBERS,
    PACKED,
    STORAGE,
    Array,
    Result,
    narrow,
    ordinary,
    wide,
)

NOTHING: Final = (
    "bir.no_op @I0 {on_wait = [SEM_GE_IMM @s 4]}",
    "bir.event_semaphore @I0 {on_update = [EVENT_SET @e]}",
    "bir.group_reset_semaphores @I0 {engine = SP, sema_group = [1]}",
    "bir.all_engine_barrier @I0",
    "bir.drain @I0",
    "bir.halt @I0",
    "bir.core_barrier @I0 {cores = [0]}",
    'bir.switch_queue_instance @I0 {queue = "q", instance = "q.0"}',
    'bir.reset_queue_instance @I0 {queue = "q", instance = "q.0"}',
    "bir.tensor_completion @I0 src = %{tile}",
    "bir.load_act_func_set @I0",
)
"""In program order they change nothing."""
DECLARED: Final = (
    "bir.semaphore @s",
    "bir.event @e",
    'bir.queue @q {type = data, instances = ["q.0"]}',
)


@oracle(
    "bir.no_op",
    "bir.event_semaphore",
    "bir.group_reset_semaphores",
    "bir.all_engine_barrier",
    "bir.drain",
    "bir.halt",
    "bir.core_barrier",
    "bir.switch_queue_instance",
    "bir.reset_queue_instance",
    "bir.tensor_completion",
    "bir.load_act_func_set",
)
def nothing(d: Draw) -> None:
    d.arch(30)
    a = d.tile((d.partitions(), *d.free()), d.pick(NUMBERS))
    out = d.tile(a.shape, a.dtype, written=True)
    d.run(f"penguin.tensor_copy @K {out} <- {a}")
    steps = [d.pick(NOTHING) for _ in range(d.number(1, 3))]
    texts = [
        step.replace("@I0", f"@S{number}").replace("{tile}", a.name)
        for number, step in enumerate(steps)
    ]
    copy = f"bir.tensor_copy @K {out} <- {a}"
    d.declared += DECLARED
    d.instead["K"] = "\n".join((*texts, copy))
    d.expect(out, Result(a.raw, "bits"))
    d.kept(a)


@oracle("penguin.core_barrier", "penguin.device_print", "bir.device_print")
def barrier(d: Draw) -> None:
    d.arch(30)
    a = d.tile((d.partitions(), *d.free()), d.pick(NUMBERS))
    d.run("penguin.core_barrier {cores = [0]}")
    d.run(f'penguin.device_print %{a.name} {{prefix = "a tile: "}}')
    d.kept(a)


def _dynamic(d: Draw, side: str) -> None:
    """A copy whose offset on one side is a register."""
    d.arch()
    rows, count = d.partitions(), d.number(1, 12)
    offset = d.number(0, 6)
    source = d.pick([each for each in EVERY if each not in PACKED])
    target = d.pick((source, *NUMBERS))
    a = d.tile((rows, 20), source, fixed=True, start=0)
    out = d.tile((rows, 20), target, written=True, fixed=True, start=0)
    number = d.memory((1,), "i32", contents=np.array([offset], np.int32))
    fixed = d.number(0, 8)
    moving = {"src": (fixed, "%r"), "dst": ("%r", fixed)}[side]
    pairs = f"[1 x {rows}, 1 x {count}]"
    text = f"%{out.name}[0, {moving[0]}]{pairs} <- %{a.name}[0, {moving[1]}]{pairs}"
    d.run(f"%r = penguin.load_tensor_to_register {number}")
    d.run(f"penguin.tensor_copy @K {text}")
    d.instead["K"] = f"bir.tensor_copy_dynamic_{side} @K {text}"
    read, written = (offset, fixed) if side == "src" else (fixed, offset)
    found = moved(a.raw[:, read : read + count], source, target)
    places = out.rows[:, written : written + count]
    d.expect_places(out, places, found)


@oracle("bir.tensor_copy_dynamic_src")
def dynamic_source(d: Draw) -> None:
    _dynamic(d, "src")


@oracle("bir.tensor_copy_dynamic_dst")
def dynamic_destination(d: Draw) -> None:
    _dynamic(d, "dst")


# -- ranks ---------------------------------------------------------------------------


def _reduced(op: str, arrays: list[Array], dtype: str) -> Array:
    """Folded in fp32 in rank order, then cast (bir.md 10.7)."""
    total = wide(arrays[0], dtype)
    for each in arrays[1:]:
        other = wide(each, dtype)
        if op == "add":
            total = (total + other).astype(F32)
        else:
            total = (np.maximum if op == "max" else np.minimum)(total, other)
    return narrow(total, dtype)


@oracle("penguin.collective_compute", "bir.collective_compute")
def collective(d: Draw) -> None:
    d.arch(30)
    ranks = d.number(2, 4)
    kind = d.pick(("AllReduce", "AllGather", "ReduceScatter", "AllToAll", "Permute"))
    on_chip = d.chance(2)
    free = d.chance(2)
    axis = 1 if on_chip and free else 0
    shape = [d.number(1, 4), d.number(1, 5)]
    if kind in ("ReduceScatter", "AllToAll"):
        shape[axis] *= ranks
    after = list(shape)
    if kind == "AllGather":
        after[axis] *= ranks
    elif kind == "ReduceScatter":
        after[axis] //= ranks
    dtype = d.pick(("f32", "bf16", "i32", "f8e4m3"))
    a, out = (_whole(d, each, dtype, on_chip) for each in (shape, after))
    op = d.pick(("add", "max", "min")) if kind in ("AllReduce", "ReduceScatter") else ""
    shift = d.number(1, ranks - 1)
    pairs = [[rank, (rank + shift) % ranks] for rank in range(ranks)]
    texts = [f"op = {op}" if op else "", f"cc_dim = {'Free' if free else 'Partition'}"]
    if kind == "Permute":
        texts.append(f"src_target_pairs = {pairs}")
    else:
        texts.append(f"replica_groups = [{list(range(ranks))}]")
    d.run(f"penguin.collective_compute {kind} {out} <- {a}{fields(*texts)}")
    given = [ordinary(d.random, a.array.shape, dtype) for _ in range(ranks)]
    d.ranks = {a.name: given}
    match kind:
        case "AllReduce":
            found = [_reduced(op, given, dtype)] * ranks
        case "AllGather":
            found = [np.concatenate(given, axis)] * ranks
        case "ReduceScatter":
            found = np.split(_reduced(op, given, dtype), ranks, axis)
        case "AllToAll":
            parts = [np.split(each, ranks, axis) for each in given]
            found = [np.concatenate([p[r] for p in parts], axis) for r in range(ranks)]
        case _:
            found = [given[(rank - shift) % ranks] for rank in range(ranks)]
    d.rank_results = {out.name: [each.reshape(out.array.shape) for each in found]}
    d.kept(out)


def _whole(d: Draw, shape: list[int], dtype: str, on_chip: bool) -> Tile:
    """A whole tensor."""
    name = f"x{len(d.tiles)}"
    array = ordinary(d.random, shape, dtype)
    places = np.arange(array.size).reshape(shape)
    space = "sbuf" if on_chip else "hbm"
    tile = Tile(name, dtype, space, array, places, f"%{name}")
    d.tiles.append(tile)
    return tile


@oracle("penguin.get_global_rank_id", "bir.get_global_rank_id")
def rank_id(d: Draw) -> None:
    d.arch(30)
    ranks = d.number(2, 4)
    out = _whole(d, [1, 1], "i32", True)
    d.run(f"%r = penguin.get_global_rank_id {{world_size = {ranks}}}")
    d.run(f"penguin.store_register_to_tensor {out} {{value = %r}}")
    d.ranks = {out.name: [out.array] * ranks}
    d.rank_results = {out.name: [np.array([[rank]], np.int32) for rank in range(ranks)]}
    d.kept(out)


@oracle("penguin.get_cur_processing_rank_id", "bir.get_cur_processing_rank_id")
def processing_rank(d: Draw) -> None:
    """After k steps around a ring, the data of the rank k places before."""
    d.arch(30)
    ranks, step = d.number(2, 4), d.number(0, 5)
    out = _whole(d, [1, 1], "i32", True)
    groups = [list(range(ranks))]
    if ranks == 4 and d.chance(2):
        groups = [[0, 2], [3, 1]]
    d.run(
        f"%r = penguin.get_cur_processing_rank_id {{iter_id = {step}, channel_id = 0, "
        f"replica_groups = {groups}}}"
    )
    d.run(f"penguin.store_register_to_tensor {out} {{value = %r}}")
    found = dict[int, int]()
    for group in groups:
        for place, rank in enumerate(group):
            found[rank] = group[(place - step) % len(group)]
    d.ranks = {out.name: [out.array] * ranks}
    d.rank_results = {
        out.name: [np.array([[found[rank]]], np.int32) for rank in range(ranks)]
    }
    d.kept(out)


@oracle(
    "penguin.collective_send",
    "penguin.collective_recv",
    "bir.collective_send",
    "bir.collective_recv",
)
def send(d: Draw) -> None:
    """Two ranks, each with a function of its own."""
    d.arch(30)
    shape, dtype = [d.number(1, 4), d.number(1, 5)], d.pick(tuple(STORAGE))
    on_chip = d.chance(2)
    a, out = (_whole(d, shape, dtype, on_chip) for _ in range(2))
    first = [
        f"penguin.collective_send {a} {{peer_id = PEER}}",
        f"penguin.collective_recv {out} {{peer_id = PEER}}",
    ]
    d.peers = [
        [line.replace("PEER", "1") for line in first],
        [line.replace("PEER", "0") for line in reversed(first)],
    ]
    given = [d.values(a.array.shape, dtype, False) for _ in range(2)]
    d.ranks = {a.name: given}
    d.rank_results = {out.name: given[::-1]}
    d.kept(out)
