"""
The random generators, seedable and documented (bir.md 10.8).

No page gives the output bits of the hardware (nki.md 5.5), so only the algorithms are
meant to agree. A generator takes a uint32 state of one row per partition, advances it
in place, and returns uint32 [P, count]: each partition has its own sequence.
"""

from collections.abc import Callable
from functools import cache
from typing import Final, TypeAlias

import numpy as np

from ..dtypes import DType
from ..isa import RandomAlgorithm
from .casts import copy
from .kernel import Array, Kernel, Scalar
from .rules import Rule

Generator: TypeAlias = Callable[[Array, int], Array]

_U32: Final = np.uint32

_XORWOW_WORDS: Final = 6
_WEYL: Final = _U32(362437)

# Bits of an LFSR word that its taps (32, 22, 2, 1) read, counted from bit 0.
_LFSR_TAPS: Final = (0, 10, 30, 31)

_PCG_MULTIPLIER: Final = np.uint64(0x5851F42D4C957F2D)
_PCG_INCREMENT: Final = np.uint64(0x14057B7EF767814F)

_PHILOX_MULTIPLIERS: Final = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_PHILOX_WEYL: Final = (_U32(0x9E3779B9), _U32(0xBB67AE85))
_PHILOX_ROUNDS: Final = 10
_PHILOX_WORDS: Final = 4


def xorwow(state: Array, count: int) -> Array:
    """
    Marsaglia's xorwow. `state` is [P, 6 * lanes]: x, y, z, w, v, d of lane after lane.

    The lanes take turns: word i comes from lane i modulo their number.
    """
    partitions = state.shape[0]
    words = state.reshape(partitions, -1, _XORWOW_WORDS)
    lanes = words.shape[1]
    x, y, z, w, v, d = (words[:, :, i].copy() for i in range(_XORWOW_WORDS))
    steps = -(-count // lanes)
    out = np.empty((partitions, steps, lanes), _U32)
    for step in range(steps):
        t = x ^ (x >> _U32(2))
        x, y, z, w = y, z, w, v
        v = v ^ (v << _U32(4)) ^ t ^ (t << _U32(1))
        d = d + _WEYL
        np.add(d, v, out=out[:, step])
    advanced = np.stack([x, y, z, w, v, d], axis=2)
    state[...] = advanced.reshape(state.shape)
    return out.reshape(partitions, -1)[:, :count]


@cache
def _lfsr_word_tables() -> Array:
    """
    The register 32 steps later, as one table [4, 256] per byte to combine with xor.

    A step is linear over bits, so the tables of the bytes add up.
    """
    value = np.arange(256, dtype=_U32)
    state = np.stack([value << _U32(8 * byte) for byte in range(4)])
    for _ in range(32):
        bit = np.zeros_like(state)
        for tap in _LFSR_TAPS:
            bit ^= state >> _U32(tap)
        state = (state >> _U32(1)) | ((bit & _U32(1)) << _U32(31))
    return state


def lfsr(state: Array, count: int) -> Array:
    """
    The 32-bit linear feedback shift register with taps (32, 22, 2, 1).

    The first word of each row of `state` is the register. An output word is the
    register after 32 further single-bit steps.
    """
    tables = _lfsr_word_tables()
    register = state[:, 0].copy()
    out = np.empty((state.shape[0], count), _U32)
    for step in range(count):
        low, high = tables[0][register & 255], tables[3][register >> _U32(24)]
        low ^= tables[1][(register >> _U32(8)) & 255]
        high ^= tables[2][(register >> _U32(16)) & 255]
        register = low ^ high
        out[:, step] = register
    state[:, 0] = register
    return out


def pcg32(state: Array, count: int) -> Array:
    """PCG-XSH-RR. The first two words of a row are the 64-bit state, low word first."""
    value = state[:, 0].astype(np.uint64) | (state[:, 1].astype(np.uint64) << 32)
    out = np.empty((state.shape[0], count), _U32)
    for step in range(count):
        mixed = (((value >> 18) ^ value) >> 27).astype(_U32)
        turn = (value >> 59).astype(_U32)
        out[:, step] = (mixed >> turn) | (mixed << ((_U32(32) - turn) & _U32(31)))
        value = value * _PCG_MULTIPLIER + _PCG_INCREMENT
    state[:, 0] = value.astype(_U32)
    state[:, 1] = (value >> 32).astype(_U32)
    return out


def philox(state: Array, count: int) -> Array:
    """
    Philox 4x32-10. A row of `state` is a counter of four words and a key of two.

    A block of four words comes from one counter; the first counter word advances by
    one a block, wrapping into nothing.
    """
    blocks = -(-count // _PHILOX_WORDS)
    columns = [state[:, i, None] for i in range(_PHILOX_WORDS + 2)]
    first = columns[0] + np.arange(blocks, dtype=_U32)
    others = [np.broadcast_to(column, first.shape) for column in columns[1:4]]
    words = philox_block([first, *others], (columns[4], columns[5]))
    state[:, 0] += _U32(blocks & 0xFFFFFFFF)
    return np.stack(words, axis=2).reshape(state.shape[0], -1)[:, :count]


def philox_block(counter: list[Array], key: tuple[Array, Array]) -> list[Array]:
    """The four output words of Philox 4x32-10 for counters and keys of one shape."""
    a, b, c, d = counter
    k0, k1 = key
    for _ in range(_PHILOX_ROUNDS):
        left = a.astype(np.uint64) * _PHILOX_MULTIPLIERS[0]
        right = c.astype(np.uint64) * _PHILOX_MULTIPLIERS[1]
        a = (right >> 32).astype(_U32) ^ b ^ k0
        c = (left >> 32).astype(_U32) ^ d ^ k1
        b, d = right.astype(_U32), left.astype(_U32)
        k0, k1 = k0 + _PHILOX_WEYL[0], k1 + _PHILOX_WEYL[1]
    return [a, b, c, d]


@cache
def generator(algorithm: RandomAlgorithm, steps: int) -> Generator:
    """The algorithm's generator, of which every `steps`-th word is given."""
    every = _GENERATORS[algorithm]
    if steps == 1:
        return every

    def generate(state: Array, count: int) -> Array:
        return every(state, count * steps)[:, steps - 1 :: steps]

    return generate


_GENERATORS: Final[dict[RandomAlgorithm, Generator]] = {
    RandomAlgorithm.LFSR: lfsr,
    RandomAlgorithm.PCG32: pcg32,
    RandomAlgorithm.PHILOX_1: philox,
}


def seed_state(seed: int, partitions: int, words: int) -> Array:
    """
    A state [partitions, words] from one 32-bit seed.

    Word w of partition p is Philox's first output for the counter (w, p, 0, 0) and the
    key (seed, 0); a row of zeros, which xorwow and the LFSR never leave, gets a 1.
    """
    shape = (partitions, words)
    word = np.broadcast_to(np.arange(words, dtype=_U32), shape)
    partition = np.broadcast_to(np.arange(partitions, dtype=_U32)[:, None], shape)
    zero = np.zeros(shape, _U32)
    key = np.full(shape, seed & 0xFFFFFFFF, _U32)
    state = philox_block([word, partition, zero, zero], (key, zero))[0]
    return avoid_zero_state(state)


def avoid_zero_state(state: Array) -> Array:
    """`state`, with word 0 of every all-zero row set to 1, in place (bir.md 10.8)."""
    state[~state.any(axis=1), 0] = 1
    return state


def uniform(bits: Array) -> Array:
    """fp32 in [0, 1) from the upper 23 bits of uint32 words (bir.md 10.8)."""
    return (bits >> _U32(9)).astype(np.float32) * np.float32(2.0**-23)


@cache
def random_uniform(dst: DType, generator: Generator = xorwow) -> Kernel:
    """
    Kernel(out, state, low=0.0, high=1.0): low + uniform * (high - low), in fp32.

    `out` is [P, ...]; the bounds are Python numbers or fp32 [P, 1].
    """
    store = copy(dst, DType.FLOAT32)

    def kernel(out: Array, state: Array, low: Scalar = 0.0, high: Scalar = 1.0) -> None:
        unit = uniform(generator(state, out.size // out.shape[0]))
        store(out, (unit * (high - low) + low).reshape(out.shape))

    return kernel


@cache
def random_bits(dst: DType, generator: Generator = xorwow) -> Kernel:
    """
    Kernel(out, state): raw words, cut to the width of the integer type `dst`.

    A 64-bit type takes two words, low word first.
    """
    width = dst.bytes

    def kernel(out: Array, state: Array) -> None:
        count = out.size // out.shape[0]
        if width == 8:
            words = generator(state, 2 * count).astype(np.uint64)
            patterns = words[:, ::2] | (words[:, 1::2] << np.uint64(32))
        else:
            patterns = generator(state, count)
        raw = f"u{width}"
        out.view(raw)[...] = patterns.astype(raw).reshape(out.shape)

    return kernel


@cache
def dropout(dst: DType, src: DType, *, keep_threshold: bool = False) -> Kernel:
    """
    Kernel(out, x, probability, bits): x where it is kept, else 0.

    `bits` are uint32 words, one per element of x; an element is dropped where
    uniform(bits) < probability, or kept there if `keep_threshold`. The probability is
    a Python number or fp32 [P, 1, ...]. Kept elements are not scaled.
    """
    move = copy(dst, src)

    def kernel(out: Array, x: Array, probability: Scalar, bits: Array) -> None:
        below = np.less(uniform(bits).reshape(x.shape), probability)
        dropped = ~below if keep_threshold else below
        move(out, x)
        np.copyto(out, np.zeros((), out.dtype), where=dropped)

    return kernel


RULES: Final = (
    Rule(
        "random generators",
        "the published algorithms with the documented constants; their bits are not "
        "claimed to be the device's",
        "our choice",
        "nki.md 5.5, bir.md 10.8",
    ),
    Rule(
        "random lanes",
        "xorwow's lanes take turns along the free axis",
        "our choice",
        "bir.md 10.8",
    ),
    Rule(
        "random seed",
        "a 32-bit seed is spread over partitions and words by Philox",
        "our choice",
        "bir.md 6.11",
    ),
    Rule(
        "rand",
        "the first words of a partition's six are the generator's state: 1 of the "
        "LFSR, 2 of PCG32, a counter of 4 and a key of 2 of Philox; an element takes "
        "the last of rand_num_steps words, a 64-bit one the last of the first and of "
        "the next rand_num_steps",
        "our choice",
        "bir.md 4.5, 6.11",
    ),
    Rule("random floats", "23 bits, in [0, 1)", "documented", "bir.md 10.8"),
    Rule(
        "dropout",
        "drops where uniform < probability, and does not scale what it keeps",
        "our choice",
        "bir.md 6.5, 13; nki.md 1.1",
    ),
)
