"""Random numbers: the published generators, word by word (bir.md 6.11, 10.8)."""

from typing import Final

import numpy as np
from oracle.elementwise import fields
from oracle.kernel import Draw, Tile, oracle
from oracle.numbers import (
    F32,
    FLOATS,
    INTEGERS,
    NUMBERS,
    STORAGE,
    WIDE_INTEGERS,
    Array,
    Result,
    immediate,
    narrow,
)

MASK: Final = 0xFFFFFFFF


def words_of(engine: str) -> int:
    """6 of GpSIMD's generator, 4 lanes of 6 of the vector engine's."""
    return 6 if engine == "Pool" else 24


def xorwow(state: list[int]) -> int:
    """Marsaglia's xorwow: x, y, z, w, v, d; advances in place."""
    x, y, z, w, v, weyl = state
    t = x ^ (x >> 2)
    new = (v ^ (v << 4) & MASK) ^ t ^ ((t << 1) & MASK)
    weyl = (weyl + 362437) & MASK
    state[:] = [y, z, w, v, new & MASK, weyl]
    return (new + weyl) & MASK


def draws(state: Array, count: int) -> tuple[Array, Array]:
    """(words [P, count], the states after them); the lanes take turns."""
    found, after = np.zeros((state.shape[0], count), np.uint32), state.copy()
    for row in range(state.shape[0]):
        lanes = [[int(w) for w in lane] for lane in state[row].reshape(-1, 6)]
        steps = -(-count // len(lanes))
        # All lanes advance together.
        words = [xorwow(lane) for _ in range(steps) for lane in lanes]
        found[row] = words[:count]
        after[row] = np.array(lanes, np.uint32).reshape(-1)
    return found, after


def uniform(words: Array) -> Array:
    """23 bits, in [0, 1)."""
    return ((words >> np.uint32(9)) / 2.0**23).astype(F32)


def _state(d: Draw, rows: int, engine: str) -> tuple[Tile, Tile]:
    words = words_of(engine)
    before = d.tile((rows, words), "u32")
    return before, d.tile((rows, words), "u32", written=True)


@oracle("penguin.rng", "bir.rng")
def rng(d: Draw) -> None:
    d.arch()
    rows, free = d.number(1, 5), d.free()
    engine = d.pick(("", "Pool", "DVE"))
    out = d.tile((rows, *free), d.pick((*INTEGERS, *WIDE_INTEGERS)), written=True)
    before, after = _state(d, rows, engine)
    where, mask = d.mask((rows,), "rows")
    d.run(
        f"penguin.rng {out}, {after} <- {before}{where}"
        f"{fields(f'engine = {engine}' if engine else '')}"
    )
    count, width = out.rows.shape[1], out.array.dtype.itemsize
    words, state = draws(before.raw, count * (2 if width == 8 else 1))
    if width == 8:
        words = np.ascontiguousarray(words).view(np.uint64)
    bits = words.astype(f"u{width}").view(out.array.dtype)
    d.expect(out, Result(bits), np.broadcast_to(mask, bits.shape))
    d.expect(after, Result(state), np.broadcast_to(mask, state.shape))


UNIFORM: Final = ("f8e4m3", "f8e5m2", "f16", "bf16", "f32", "tf32", *INTEGERS)
"""What nki.isa.rand2 lists."""


@oracle("penguin.rand2", "bir.rand2")
def rand2(d: Draw) -> None:
    d.arch(40)
    rows = d.number(1, 5)
    out = d.tile((rows, *d.free()), d.pick(UNIFORM), written=True)
    before, after = _state(d, rows, "")
    operands, texts = "", list[str]()
    bounds: list[Array] = []
    for name, default in (("low", 0.0), ("high", 1.0)):
        value = np.full((1, 1), default, F32)
        match d.number(1, 3):
            case 1:
                column = d.tile((rows, 1), "f32", plain=True)
                operands += f", {name} = {column}"
                value = column.wide
            case 2:
                value[...] = d.pick((-2.0, -0.5) if name == "low" else (1.5, 8.0))
                texts.append(f"{name}_imm = {immediate(float(value[0, 0]))}")
            case _:
                pass
        bounds.append(value)
    d.run(f"penguin.rand2 {out}, {after} <- {before}{operands}{fields(*texts)}")
    words, state = draws(before.raw, out.rows.shape[1])
    low, high = bounds
    found = (uniform(words) * (high - low) + low).astype(F32)
    d.expect(out, Result(narrow(found, out.dtype)))
    d.expect(after, Result(state))


@oracle("penguin.dropout_mask", "bir.dropout")
def dropout(d: Draw) -> None:
    d.arch()
    rows, free = d.number(1, 5), d.free()
    a = d.tile((rows, *free), d.pick(NUMBERS))
    floats = a.dtype in FLOATS
    kind = d.pick((a.dtype, *(NUMBERS if floats else ())))
    out = d.tile((rows, *d.another(free)), kind, written=True)
    before, after = _state(d, rows, "")
    if d.chance(2):
        chance = d.pick(("f32", "bf16", "f16") if floats else ("f32",))
        chances = d.random.random((rows, 1)).astype(STORAGE[chance])
        column = d.tile((rows, 1), chance, contents=chances)
        operand, text, probability = f", probability = {column}", "", column.wide
    else:
        value = d.pick((0.0, 0.25, 1.0))
        operand, text, probability = "", f"probability_imm = {value}", F32(value)
    keep = d.chance(3)
    where, mask = d.mask((rows,), "rows")
    d.run(
        f"penguin.dropout_mask {out}, {after} <- {a}, {before}{operand}{where}"
        f"{fields(text, 'keep_threshold' if keep else '')}"
    )
    words, state = draws(before.raw, a.raw.shape[1])
    dropped = (uniform(words) < probability) != keep
    if kind == a.dtype:
        found = np.where(dropped, np.zeros((), a.array.dtype), a.raw)
        result = Result(found, "bits")
    else:
        found = np.where(dropped, F32(0), a.wide)
        result = Result(narrow(found, kind))
    d.expect(out, result, np.broadcast_to(mask, found.shape))
    d.expect(after, Result(state), np.broadcast_to(mask, state.shape))


def philox(counter: list[int], key: list[int]) -> list[int]:
    """Philox 4x32-10."""
    a, b, c, e = counter
    k0, k1 = key
    for _ in range(10):
        left, right = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, e = (
            (right >> 32) ^ b ^ k0,
            right & MASK,
            (left >> 32) ^ e ^ k1,
            left & MASK,
        )
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return [a, b, c, e]


def lfsr(state: list[int]) -> int:
    """The register with taps 32, 22, 2, 1 after 32 more bits; advances in place."""
    for _ in range(32):
        register = state[0]
        bit = register ^ register >> 10 ^ register >> 30 ^ register >> 31
        state[0] = register >> 1 | (bit & 1) << 31
    return state[0]


def pcg32(state: list[int]) -> int:
    """PCG-XSH-RR; advances in place."""
    value = state[0] | state[1] << 32
    mixed, turn = (value >> 18 ^ value) >> 27 & MASK, value >> 59
    value = value * 0x5851F42D4C957F2D + 0x14057B7EF767814F
    state[0], state[1] = value & MASK, value >> 32 & MASK
    return (mixed >> turn | mixed << (32 - turn & 31)) & MASK


def published(algorithm: str, state: list[int], count: int) -> list[int]:
    """The next words; advances in place, Philox by whole blocks."""
    if algorithm != "PHILOX_1":
        step = {"LFSR": lfsr, "PCG32": pcg32}[algorithm]
        return [step(state) for _ in range(count)]
    found: list[int] = []
    while len(found) < count:
        found += philox(state[:4], state[4:])
        state[0] = state[0] + 1 & MASK
    return found[:count]


@oracle("penguin.rand", "bir.rand")
def rand(d: Draw) -> None:
    d.arch()
    rows, free = d.number(1, 5), d.free(12)
    algorithm, steps = d.pick(("LFSR", "PCG32", "PHILOX_1")), d.number(1, 3)
    out = d.tile((rows, *free), d.pick((*INTEGERS, *WIDE_INTEGERS)), written=True)
    before, after = _state(d, rows, "Pool")
    where, mask = d.mask((rows,), "rows")
    text = f"rand_num_steps = {steps}" if steps > 1 else ""
    d.run(f"penguin.rand {algorithm} {out}, {after} <- {before}{where}{fields(text)}")
    count, width = out.rows.shape[1], out.array.dtype.itemsize
    each = 2 if width == 8 else 1
    states = [[int(word) for word in row] for row in before.raw]
    drawn = [published(algorithm, row, count * each * steps) for row in states]
    words = np.array(drawn, np.uint32)[:, steps - 1 :: steps]
    if width == 8:
        words = np.ascontiguousarray(words).view(np.uint64)
    bits = words.astype(f"u{width}").view(out.array.dtype)
    d.expect(out, Result(bits), np.broadcast_to(mask, bits.shape))
    after_words = np.array(states, np.uint32)
    d.expect(after, Result(after_words), np.broadcast_to(mask, after_words.shape))


@oracle("penguin.set_rng_seed", "bir.set_rand_state")
def set_seed(d: Draw) -> None:
    d.arch()
    engine = d.pick(("", "Pool", "DVE"))
    rows, words = d.number(1, 5), words_of(engine)
    out = d.tile((rows, words), "u32", written=True)
    seed = d.tile((1, 1), d.pick(("u32", "i32")))
    d.run(
        f"penguin.set_rng_seed {out} <- {seed}"
        f"{fields(f'engine = {engine}' if engine else '')}"
    )
    key = int(seed.raw[0, 0]) & MASK
    found = [
        [philox([word, row, 0, 0], [key, 0])[0] for word in range(words)]
        for row in range(rows)
    ]
    d.expect(out, Result(np.array(found, np.uint32)))


@oracle("penguin.rand_set_state", "bir.rand_set_state")
def set_state(d: Draw) -> None:
    _move_state(d, "rand_set_state")


@oracle("penguin.rand_get_state", "bir.rand_get_state")
def get_state(d: Draw) -> None:
    _move_state(d, "rand_get_state")


@oracle("penguin.get_rand_state", "bir.get_rand_state")
def get_state_of_any(d: Draw) -> None:
    _move_state(d, "get_rand_state", 20)


def _move_state(d: Draw, name: str, level: int = 30) -> None:
    d.arch(level)
    engine = d.pick(("", "Pool", "DVE"))
    rows, words = d.number(1, 5), words_of(engine)
    contents = d.random.integers(0, 1 << 32, (rows, words)).astype(np.uint32)
    contents[d.random.random(rows) < 0.3] = 0
    a = d.tile((rows, words), "u32", contents=contents)
    out = d.tile((rows, words), "u32", written=True)
    where, mask = d.mask((rows,), "rows")
    d.run(
        f"penguin.{name} {out} <- {a}{where}"
        f"{fields(f'engine = {engine}' if engine else '')}"
    )
    found = a.raw.copy()
    if name == "rand_set_state":
        # A generator never leaves a state of zeros (bir.md 10.8).
        found[~found.any(axis=1), 0] = 1
    d.expect(out, Result(found), np.broadcast_to(mask, found.shape))
