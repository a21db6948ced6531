"""Scans, searches, batch normalisation and random generators."""

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import AluOp
from xdsl_neuron.numerics.batchnorm import (
    bn_aggr,
    bn_backprop,
    bn_gradients,
    bn_stats,
)
from xdsl_neuron.numerics.random import (
    Generator,
    avoid_zero_state,
    dropout,
    lfsr,
    pcg32,
    philox,
    random_bits,
    random_uniform,
    seed_state,
    uniform,
    xorwow,
)
from xdsl_neuron.numerics.scan import (
    identity,
    tensor_scalar_cumulative,
    tensor_tensor_scan,
)
from xdsl_neuron.numerics.search import (
    find_index8,
    match_replace8,
    max8,
    nonzero_with_count,
    sequence_bounds,
    topk,
)

Array = NDArray[Any]
Step = Callable[[Any, Any], Any]

F32, BF16, I32 = DType.FLOAT32, DType.BFLOAT16, DType.INT32
U32, U16 = DType.UINT32, DType.UINT16
NAN, INF = float("nan"), float("inf")
ABSENT = 2**32 - 1


@pytest.fixture(autouse=True)
def ieee_exceptions_pass() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def f32(values: Any) -> Array:
    return np.asarray(values, np.float32)


STEPS: dict[AluOp, Step] = {
    AluOp.ADD: lambda a, b: a + b,
    AluOp.SUBTRACT: lambda a, b: a - b,
    AluOp.MULT: lambda a, b: a * b,
    AluOp.MAX: lambda a, b: a if a > b else b,
    AluOp.MIN: lambda a, b: a if a < b else b,
}


@pytest.mark.parametrize("op0", STEPS)
@pytest.mark.parametrize("op1", STEPS)
@pytest.mark.parametrize(("reverse0", "reverse1"), [(False, False), (True, True)])
def test_tensor_tensor_scan(op0: AluOp, op1: AluOp, reverse0: bool, reverse1: bool):
    rng = np.random.default_rng(0)
    a, b = (f32(rng.normal(size=(3, 2, 10))) for _ in range(2))
    initial = f32([[1.0], [2.0], [-3.0]])
    out = np.zeros((3, 20), np.float32)
    kernel = tensor_tensor_scan(F32, F32, F32, op0, reverse0, op1, reverse1)
    kernel(out, a, b, initial)
    for p in range(3):
        state = initial[p, 0]
        for i, (x, y) in enumerate(zip(a[p].flat, b[p].flat, strict=True)):
            state = STEPS[op0](state, x) if reverse0 else STEPS[op0](x, state)
            state = STEPS[op1](y, state) if reverse1 else STEPS[op1](state, y)
            assert out[p, i] == state


def test_scan_state_stays_fp32_and_in_place():
    x = np.full((1, 4), 1 + 2**-7, ml_dtypes.bfloat16)
    zero = np.zeros((1, 4), ml_dtypes.bfloat16)
    kernel = tensor_tensor_scan(BF16, BF16, BF16, AluOp.MULT, False, AluOp.ADD, False)
    wanted = np.cumprod(np.full(4, 1 + 2**-7, np.float32)).astype(ml_dtypes.bfloat16)
    kernel(x, x, zero, 1.0)
    assert x[0].tolist() == wanted.tolist()


@pytest.mark.parametrize("op1", STEPS)
@pytest.mark.parametrize("shape", [(2, 9), (1, 9), (2, 1), (2, 3, 3)])
def test_tensor_scalar_cumulative(op1: AluOp, shape: tuple[int, ...]):
    x = f32(np.random.default_rng(1).normal(size=shape))
    start = f32([0.5, 2.0])[: shape[0]]
    state, out = start.reshape(-1, 1).copy(), np.zeros(shape, np.float32)
    tensor_scalar_cumulative(F32, F32, AluOp.MULT, op1)(out, state, x, 3.0)
    for p in range(shape[0]):
        value = start[p]
        for i, element in enumerate(x[p].flat):
            value = STEPS[op1](element * np.float32(3), value)
            assert out[p].flat[i] == value
        assert state[p, 0] == value


def test_cumulative_sum_is_sequential():
    x = f32(np.random.default_rng(2).normal(size=(1, 3000)))
    state, out = np.zeros((1, 1), np.float32), np.zeros_like(x)
    tensor_scalar_cumulative(F32, F32, AluOp.ADD, AluOp.ADD)(out, state, x, 0.0)
    total = np.float32(0)
    for i, value in enumerate(x[0]):
        total = np.float32(total + value)
        assert out[0, i] == total


def test_identities():
    ops = (AluOp.ADD, AluOp.SUBTRACT, AluOp.MULT, AluOp.MAX, AluOp.MIN)
    assert [identity(op) for op in ops] == [0.0, 0.0, 1.0, -INF, INF]
    with pytest.raises(ValueError, match="'divide' does not accumulate"):
        tensor_scalar_cumulative(F32, F32, AluOp.ADD, AluOp.DIVIDE)


def test_max8():
    x = f32([[3, 1, 4, 1, 5, 9, 2, 6, 5, 3], [*range(-10, 0)]])
    x[1, 0] = -INF
    out = np.zeros((2, 8), np.float32)
    max8(F32, F32)(out, x)
    assert out.tolist() == [[9, 6, 5, 5, 4, 3, 3, 2], [*range(-1, -9, -1)]]
    exactly = f32([[1, NAN, 2, -1, INF, 0, -INF, 7]])
    max8(F32, F32)(out[:1], exactly)
    np.testing.assert_array_equal(out[0], f32([NAN, INF, 7, 2, 1, 0, -1, -INF]))


VALUES = f32([[5, 5, 9, 5, NAN, 7, -0.0, 2], [1, 1, 1, 1, 1, 1, 1, 1]])
DATA = f32([[2, 5, 0, 9, NAN, 5, 9, 3, 5], [0, 1, 0, 1, 0, 0, 1, 0, 0]])


@pytest.mark.parametrize(("dtype", "ones"), [(np.uint32, ABSENT), (np.uint16, 65535)])
def test_find_index8(dtype: Any, ones: int):
    out = np.zeros((2, 8), dtype)
    find_index8(F32, F32)(out, DATA, VALUES)
    assert out[0].tolist() == [1, 5, 3, 8, ones, ones, 2, 0]
    assert out[1].tolist() == [1, 3, 6, *[ones] * 5]


def test_match_replace8():
    out, index = np.zeros((2, 3, 3), np.float32), np.zeros((2, 8), np.uint32)
    kernel = match_replace8(F32, F32, F32)
    kernel(out, DATA.reshape(2, 3, 3), VALUES, -1.0, index)
    assert index[0].tolist() == [8, 5, 3, 1, ABSENT, ABSENT, 2, 0]
    assert index[1].tolist() == [*[ABSENT] * 5, 6, 3, 1]
    wanted = DATA.copy()
    wanted[0, [8, 5, 3, 1, 2, 0]] = wanted[1, [6, 3, 1]] = -1.0
    np.testing.assert_array_equal(out.reshape(2, 9), wanted)
    again = DATA.copy()
    kernel(again, again, VALUES, -1.0)
    np.testing.assert_array_equal(again, wanted)


def test_match_replace8_keeps_other_bits():
    patterns = np.array([[0x7F81, *range(1, 9)]], np.uint16)
    x = patterns.view(ml_dtypes.bfloat16).copy()
    match_replace8(BF16, BF16, F32)(x, x, np.full((1, 8), 7.0, np.float32), 1.0)
    assert x.view(np.uint16).tolist() == patterns.tolist()


def test_topk():
    values, indices = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.uint32)
    topk(F32, F32)(values, indices, f32([[2, 7, 7, -INF, 1], [0, NAN, INF, NAN, 9]]))
    np.testing.assert_array_equal(values, f32([[7, 7, 2], [NAN, NAN, INF]]))
    assert indices.tolist() == [[1, 2, 0], [1, 3, 2]]


def test_nonzero_with_count():
    x = np.zeros((32, 4), np.float32)
    x[0, 1] = x[0, 3] = x[16, 2] = x[5, 0] = 1.0
    out = np.full((32, 5), 99, np.int32)
    nonzero_with_count(out, x, 10, -7)
    assert out[0].tolist() == [11, 13, -7, -7, 2]
    assert out[16].tolist() == [12, -7, -7, -7, 1]
    assert (np.delete(out, [0, 16], axis=0) == 99).all()


@pytest.mark.parametrize("kind", [np.int32, np.float32])
def test_sequence_bounds(kind: Any):
    ids = np.array([[0, 1, 1, 2, 2, 2, 0, 1, 1]], kind)
    wide = np.zeros((1, 2, 18), kind)
    sequence_bounds(wide[:, :, ::2], ids)
    # An id that comes back is another segment.
    assert wide[0, :, ::2].tolist() == [
        [9, 1, 1, 3, 3, 3, 9, 7, 7],
        [-1, 3, 3, 6, 6, 6, -1, 9, 9],
    ]
    sequence_bounds(wide[:, :, :1], ids[:, -1:])
    assert wide[0, :, 0].tolist() == [0, 1]


@pytest.mark.parametrize("count", [1, 2, 7, 512])
def test_bn_stats_and_aggr(count: int):
    x = np.random.default_rng(4).normal(3, 2, size=(4, count)).astype(np.float32)
    stats = np.zeros((4, 6), np.float32)
    bn_stats(F32, F32)(stats, x)
    exact = x.astype(np.float64)
    for lane in range(2):
        elements = exact[:, lane::2]
        n = elements.shape[1]
        assert stats[:, 3 * lane].tolist() == [n] * 4
        if n:
            mean, squares = stats[:, 3 * lane + 1], stats[:, 3 * lane + 2]
            np.testing.assert_allclose(mean, elements.mean(1), rtol=1e-5)
            np.testing.assert_allclose(squares, elements.var(1) * n, rtol=1e-5)
    out = np.zeros((4, 2), np.float32)
    bn_aggr(F32, F32)(out, stats)
    np.testing.assert_allclose(out[:, 0], exact.mean(1), rtol=1e-5)
    np.testing.assert_allclose(out[:, 1], exact.var(1), rtol=1e-5, atol=1e-12)


def test_bn_aggr_skips_empty_triples():
    out = np.zeros((1, 2), np.float32)
    bn_aggr(F32, F32)(out, f32([[0, 0, 0, 2, 5, 8, 0, 99, 0]]))
    assert out.tolist() == [[5.0, 4.0]]


def test_bn_gradients_and_backprop():
    x, dy = f32([[1.0, 3.0]]), f32([[2.0, 4.0]])
    out = np.zeros((1, 3), np.float32)
    bn_gradients(F32, F32)(out, x, dy, f32([[2.0]]), f32([[0.5]]))
    assert out.tolist() == [[6.0, 0.5, 1.0]]
    dx = np.zeros((1, 2), np.float32)
    coefficients = f32([[0.5, 6.0, 3.0]])
    bn_backprop(F32, F32)(dx, x, dy, f32([[2.0]]), coefficients, 2.0)
    assert dx.tolist() == [[(4 - (-3 + 6)) / 2, (8 - (3 + 6)) / 2]]


def test_xorwow_of_the_default_state():
    x, y, z, w, v, d = 1, 1, 1, 1, 1, 1
    expected: list[int] = []
    for _ in range(20):
        t = x ^ (x >> 2)
        x, y, z, w = y, z, w, v
        v = (v ^ (v << 4) ^ t ^ (t << 1)) & 0xFFFFFFFF
        d = (d + 362437) & 0xFFFFFFFF
        expected.append((d + v) & 0xFFFFFFFF)
    state = np.ones((2, 6), np.uint32)
    assert xorwow(state, 20).tolist() == [expected, expected]
    assert state[1].tolist() == [x, y, z, w, v, d]
    lanes = np.ones((1, 24), np.uint32)
    assert xorwow(lanes, 10)[0].tolist() == np.repeat(expected[:3], 4)[:10].tolist()


@given(st.integers(1, 2**32 - 1))
def test_lfsr_is_stepped_bit_by_bit(seed: int):
    register, expected = seed, list[int]()
    for _ in range(3):
        for _ in range(32):
            bit = register ^ (register >> 10) ^ (register >> 30) ^ (register >> 31)
            register = (register >> 1) | ((bit & 1) << 31)
        expected.append(register)
    state = np.array([[seed, 7]], np.uint32)
    assert lfsr(state, 3).tolist() == [expected]
    assert state.tolist() == [[register, 7]]


def test_pcg32():
    value, expected = 0x123456789ABCDEF0, list[int]()
    state = np.array([[value & 0xFFFFFFFF, value >> 32]], np.uint32)
    for _ in range(50):
        mixed = (((value >> 18) ^ value) >> 27) & 0xFFFFFFFF
        turn = value >> 59
        expected.append(((mixed >> turn) | (mixed << (-turn & 31))) & 0xFFFFFFFF)
        value = (value * 0x5851F42D4C957F2D + 0x14057B7EF767814F) % 2**64
    assert pcg32(state, 50).tolist() == [expected]
    assert state.tolist() == [[value & 0xFFFFFFFF, value >> 32]]


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        # The known answers of the Random123 library for philox4x32-10.
        (
            [0, 0, 0, 0],
            [0, 0],
            [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8],
        ),
        (
            [0xFFFFFFFF] * 4,
            [0xFFFFFFFF] * 2,
            [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD],
        ),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_philox_known_answers(counter: list[int], key: list[int], expected: list[int]):
    state = np.array([[*counter, *key]], np.uint32)
    assert philox(state, 4).tolist() == [expected]
    assert state[0, 0] == (counter[0] + 1) % 2**32
    assert state[0, 1:].tolist() == [*counter[1:], *key]


@pytest.mark.parametrize(
    ("generator", "words"), [(xorwow, 6), (xorwow, 24), (lfsr, 1), (pcg32, 2)]
)
def test_a_sequence_can_be_drawn_in_parts(generator: Generator, words: int):
    whole, parts = seed_state(7, 3, words), seed_state(7, 3, words)
    drawn = [generator(parts, count) for count in (4, 8, 12)]
    assert generator(whole, 24).tolist() == np.concatenate(drawn, axis=1).tolist()


def test_seeded_states_differ_between_partitions_and_seeds():
    states = np.concatenate([seed_state(seed, 128, 6) for seed in (0, 1)])
    assert len(np.unique(states, axis=0)) == 256
    zero = np.zeros((2, 6), np.uint32)
    assert avoid_zero_state(zero)[:, 0].tolist() == [1, 1]


def test_uniform():
    bits = np.array([0, 511, 512, 2**32 - 1], np.uint32)
    assert uniform(bits).tolist() == [0.0, 0.0, 2**-23, 1 - 2**-23]
    out, state = np.zeros((4, 2, 3), np.float32), seed_state(1, 4, 6)
    words = xorwow(state.copy(), 6)
    random_uniform(F32)(out, state, -1.0, f32([[1.0], [2.0], [3.0], [4.0]]))
    for p in range(4):
        unit = (words[p] >> 9).astype(np.float32) * f32(2.0**-23)
        assert out[p].reshape(-1).tolist() == (unit * f32(p + 2) - 1).tolist()


def test_random_bits():
    words = xorwow(seed_state(1, 2, 6), 6).tolist()
    out = np.zeros((2, 3), np.int16)
    random_bits(DType.INT16)(out, seed_state(1, 2, 6))
    assert (out.view(np.uint16) == np.array(words)[:, :3] % 65536).all()
    wide = np.zeros((2, 3), np.uint64)
    random_bits(DType.UINT64)(wide, seed_state(1, 2, 6))
    assert wide[1, 2] == words[1][4] + (words[1][5] << 32)


def test_dropout():
    bits = np.array([[0, 2**31, 2**32 - 1], [0, 2**30, 2**31]], np.uint32)
    x = f32([[1, 2, 3], [4, NAN, 6]])
    out = np.zeros_like(x)
    dropout(F32, F32)(out, x, 0.5, bits)
    np.testing.assert_array_equal(out, f32([[0, 2, 3], [0, 0, 6]]))
    dropout(F32, F32, keep_threshold=True)(x, x, f32([[1.0], [0.25]]), bits)
    assert x.tolist() == [[1, 2, 3], [4, 0, 0]]
    dropout(F32, F32)(x, x, 1.0, bits)
    assert not x.any()
