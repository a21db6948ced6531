"""What engines shuffle and gather on chip, and registers (bir.md 6.3, 6.9, 6.12)."""

from collections.abc import Callable
from typing import Final

import numpy as np
from oracle.elementwise import fields
from oracle.kernel import Draw, oracle
from oracle.movement import EVERY
from oracle.numbers import PACKED, Result

KEEP: Final = 255
CORE: Final = 16


@oracle("penguin.stream_shuffle", "bir.stream_shuffle")
def stream_shuffle(d: Draw) -> None:
    d.arch()
    shape = (d.pick((32, 64, 96, 128)), *d.free())
    dtype = d.pick(EVERY)
    # Both sides start where so many partitions may, whatever their steps.
    a = d.tile(shape, dtype, space="psum" if d.chance(6) else "sbuf", start=0)
    out = d.tile((shape[0], *d.another(shape[1:])), dtype, written=True, start=0)
    mask = [KEEP if d.chance(6) else d.number(0, 31) for _ in range(32)]
    d.run(f"penguin.stream_shuffle {out} <- {a} {{mask = {mask}}}")
    rows = np.arange(shape[0])
    entries = np.array(mask)[rows % 32]
    source = rows // 32 * 32 + np.where(entries == KEEP, 0, entries)
    written = np.broadcast_to((entries != KEEP)[:, None], out.rows.shape)
    d.expect(out, Result(a.raw[source], "bits"), written)


@oracle("penguin.indirect_copy", "bir.indirect_copy")
def local_gather(d: Draw) -> None:
    d.arch()
    rows, run = d.pick((16, 32, 64, 128)), d.pick((1, 2, 4))
    columns = d.number(run, 30)
    dtype = d.pick(EVERY)
    a = d.tile((rows, columns), dtype)
    per_partition = d.number(1, 3)
    total = per_partition * CORE
    valid = d.pick((total, d.number(1, total)))
    starts = d.random.integers(0, columns - run + 1, (rows, per_partition))
    index = d.tile((rows, per_partition), "u16", contents=starts.astype(np.uint16))
    out = d.tile((rows, valid * run), dtype, written=True)
    d.run(
        f"penguin.indirect_copy {out} <- {a}, {index}"
        f"{fields(f'num_elem_per_idx = {run}', f'num_valid_indices = {valid}')}"
    )
    found = np.zeros(out.rows.shape, a.array.dtype)
    for core in range(rows // CORE):
        block = slice(core * CORE, (core + 1) * CORE)
        # Indices run along the core's partitions first.
        order = index.raw[block].T.reshape(-1)[:valid].astype(int)
        places = (order[:, None] + np.arange(run)).reshape(-1)
        found[block] = a.raw[block][:, places]
    d.expect(out, Result(found, "bits"))


@oracle("penguin.pool_gather", "bir.gather")
def gather(d: Draw) -> None:
    d.arch()
    rows, free = d.partitions(), d.free()[:3]
    dtype = d.pick([each for each in EVERY if each not in PACKED])
    a = d.tile((rows, *free), dtype)
    shape = (rows, *(d.another(free) if d.chance(2) else d.free()[:3]))
    picks = d.random.integers(0, int(np.prod(free)), shape).astype(np.uint32)
    index = d.tile(shape, "u32", contents=picks)
    out = d.tile(shape, dtype, written=True)
    where, mask = "", np.ones(out.rows.shape, bool)
    if d.chance(3):
        last = d.number(1, rows)
        where, mask = (
            f" where {last - 1} - l0 >= 0",
            mask & (np.arange(rows) < last)[:, None],
        )
    elif d.chance(2):
        # Over the indices' columns: the data is reached as a whole all the same.
        lane = d.number(1, len(shape) - 1)
        last = d.number(1, shape[lane])
        columns = np.indices(shape)[lane].reshape(rows, -1)
        where, mask = f" where {last - 1} - l{lane} >= 0", columns < last
    d.run(f"penguin.pool_gather {out} <- {a}, {index}{where}")
    found = np.take_along_axis(a.raw, index.raw.astype(np.int64), axis=1)
    d.expect(out, Result(found, "bits"), mask)


def wrapped(value: int, bits: int) -> int:
    """The signed integer of the low bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


REGISTER_OPS: Final[dict[str, Callable[[int, int], int]]] = {
    "bypass": lambda a, b: a,
    "bitwise_not": lambda a, b: ~a,
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "mult": lambda a, b: a * b,
    "max": max,
    "min": min,
    "abs": lambda a, b: abs(a),
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "logical_and": lambda a, b: int(a != 0 and b != 0),
    "logical_or": lambda a, b: int(a != 0 or b != 0),
    "logical_xor": lambda a, b: int((a != 0) != (b != 0)),
    "is_equal": lambda a, b: int(a == b),
    "not_equal": lambda a, b: int(a != b),
    "is_gt": lambda a, b: int(a > b),
    "is_ge": lambda a, b: int(a >= b),
    "is_lt": lambda a, b: int(a < b),
    "is_le": lambda a, b: int(a <= b),
    # Rounds towards zero; by zero it is 0 (our choices).
    "divide": lambda a, b: (
        int(np.sign(a) * np.sign(b)) * (abs(a) // abs(b)) if b else 0
    ),
    "mod": lambda a, b: a - b * (a // b) if b else 0,
}


def register_op(op: str, a: int, b: int, bits: int) -> int:
    """An operation on signed integers that wrap."""
    a, b = wrapped(a, bits), wrapped(b, bits)
    if "shift" not in op:
        return wrapped(REGISTER_OPS[op](a, b), bits)
    count = b & ((1 << bits) - 1)
    if "left" in op:
        return wrapped(a << count, bits) if count < bits else 0
    if op == "arith_shift_right":
        return a >> min(count, bits)
    return wrapped((a & ((1 << bits) - 1)) >> count, bits) if count < bits else 0


SHIFTS: Final = (
    "arith_shift_left",
    "arith_shift_right",
    "logical_shift_left",
    "logical_shift_right",
)


@oracle(
    "penguin.register_alu",
    "penguin.register_move",
    "penguin.load_tensor_to_register",
    "penguin.store_register_to_tensor",
    "bir.register_alu",
    "bir.register_move",
    "bir.tensor_load",
    "bir.tensor_save",
)
def registers(d: Draw) -> None:
    d.arch()
    bits = 64 if d.chance(3) else 32
    types = (f"i{bits}", f"u{bits}")
    dtype = d.pick(("i32", "u32", *types))
    a = d.memory((2,), dtype) if d.chance(2) else d.tile((1, 2), dtype)
    out = (
        d.memory((1,), types[0], written=True)
        if d.chance(2)
        else d.tile((1, 1), d.pick(types), written=True)
    )
    values = [int(v) for v in a.raw.reshape(-1)]
    texts = list[str]()
    for number in range(2):
        if d.chance(4):
            value = d.pick((0, 1, -1, 5, 31, 32, 2**31 - 1, -(2**31)))
            values[number] = value
            if d.chance(2):
                d.run(f"%r{number} = penguin.register_move {{value = {value}}}")
                texts.append(f"%r{number}")
            else:
                texts.append(str(value))
            continue
        place = a.text[: a.text.index("[")]
        flat = int(a.places.reshape(-1)[number])
        width = a.array.shape[-1]
        at = f"[{flat}]" if a.space == "hbm" else f"[{flat // width}, {flat % width}]"
        pairs = "[1 x 1]" if a.space == "hbm" else "[1 x 1, 1 x 1]"
        d.run(f"%r{number} = penguin.load_tensor_to_register {place}{at}{pairs}")
        texts.append(f"%r{number}")
    op = d.pick((*REGISTER_OPS, *SHIFTS))
    pair = ", is_64bit" if bits == 64 else ""
    d.run(
        f"%r2 = penguin.register_alu {op} {{lhs = {texts[0]}, rhs = {texts[1]}{pair}}}"
    )
    d.run(f"penguin.store_register_to_tensor {out} {{value = %r2}}")
    found = register_op(op, values[0], values[1], bits) & (1 << bits) - 1
    word = np.array([[found]], f"u{bits // 8}")
    d.expect(out, Result(word.view(out.array.dtype)))
    d.kept(a)
