"""Loops in both modes, pooled buffers, poison, lifetimes."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from machines import (
    MODES,
    STREAMED,
    Array,
    compute,
    kernel,
    parsed,
    program as prepared,
    random,
    run,
)

from xdsl_neuron.geometry.pattern import Pattern
from xdsl_neuron.machine import MachineError, MachineOptions, prepare
from xdsl_neuron.machine.memory import Pool
from xdsl_neuron.machine.regions import Freshness

ZERO = MachineOptions(uninitialized_memory="zero")

LONG = compute(
    "penguin.memset %t {value = 0.0}\n"
    "penguin.for sequential %i = 0 to 100 {\n"
    "penguin.for sequential %j = 0 to 100 {\n"
    "%u = penguin.alloc : <8x1xf32, sbuf>\n"
    "penguin.tensor_copy %u <- %x0[0, (%i + %j) mod 7][1 x 8, 1 x 1]\n"
    "penguin.tensor_tensor add %t[0, %j][1 x 8, 1 x 1] "
    "<- %t[0, %j][1 x 8, 1 x 1], %u\n}\n}",
    "8x7xf32",
    out="8x100xf32",
)


@pytest.mark.parametrize("options", MODES)
def test_ten_thousand_trips(options: MachineOptions) -> None:
    a = random((8, 7))
    program = prepare(parsed(LONG), options)
    (result,) = program.run([a])
    (again,) = program.run([a])
    expected = np.zeros((8, 100), np.float32)
    for i in range(100):
        for j in range(100):
            expected[:, j] += a[:, (i + j) % 7]
    assert np.array_equal(result, expected)
    assert again.tobytes() == result.tobytes()
    assert program.executions == 20_003


def test_streaming_needs_little_memory() -> None:
    program = prepare(parsed(LONG), STREAMED)
    a = random((8, 7))
    program.run([a])
    tracemalloc.start()
    program.run([a])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4_000_000


def test_too_many_iterations_are_refused_before_they_run() -> None:
    loops = "".join(
        f"penguin.for sequential %i{k} = 0 to 1000000000 {{\n" for k in range(3)
    )
    text = compute(
        f"{loops}penguin.memset %t {{value = 0.0}}\n}}\n}}\n}}", out="1x1xf32"
    )
    with pytest.raises(MachineError, match="more than 50000000 iterations"):
        prepared(text)


def test_too_large_a_tensor_is_refused() -> None:
    text = kernel("", "", "o", "<65536x65536xf32, hbm>")
    with pytest.raises(MachineError, match="tensor o of 17179869184 bytes exceeds"):
        prepared(text)


def test_empty_loop() -> None:
    text = compute(
        "penguin.memset %t {value = 4.0}\n"
        "penguin.for sequential %i = 3 to 3 {\npenguin.memset %t {value = 1.0}\n}",
        out="1x1xf32",
    )
    assert run(text)[0].tolist() == [[4]]


def test_loop_with_a_step() -> None:
    text = compute(
        "penguin.memset %t {value = 0.0}\n"
        "penguin.for sequential %i = 1 to 8 step 3 {\n"
        "penguin.memset %t[0, %i][1 x 1, 1 x 1] {value = 1.0}\n}",
        out="1x8xf32",
    )
    assert run(text)[0].tolist() == [[0, 1, 0, 0, 1, 0, 0, 1]]


def test_poison_is_visible_by_type() -> None:
    for dtype, expected in (("f32", np.nan), ("i32", 4), ("u8", 4), ("i16", 4)):
        text = compute("", out=f"2x2x{dtype}")
        (result,) = run(text)
        np.testing.assert_equal(result.tolist(), [[expected] * 2] * 2)
        (result,) = run(text, options=ZERO)
        assert not result.any()


def test_poison_where_only_a_part_is_written() -> None:
    text = kernel(
        "%t = penguin.alloc : <4x4xf32, sbuf>\n"
        "penguin.memset %t[1, 1][1 x 2, 1 x 2] {value = 1.0}\n"
        "penguin.dma_copy %o[0][1 x 16] <- %t\n",
        "",
        "o",
        "<5x4xf32, hbm>",
    )
    (result,) = run(text)
    written = np.zeros((5, 4), np.bool_)
    written[1:3, 1:3] = True
    assert np.array_equal(~np.isnan(result), written)


def test_output_written_in_tiles_needs_no_poison() -> None:
    text = kernel(
        "%t = penguin.alloc : <4x4xf32, sbuf>\n"
        "penguin.memset %t {value = 1.0}\n"
        "penguin.for parallel %i = 0 to 4 {\n"
        "penguin.dma_copy %o[%i * 4][16 x 4, 1 x 4] <- %t\n}",
        "",
        "o",
        "<4x16xf32, hbm>",
    )
    program = prepared(text)
    assert (program.run([])[0] == 1).all()
    assert program.step_count == 1 + 4 + 1  # the last is the place of the fill


def test_reading_back_an_output_before_it_is_whole() -> None:
    text = kernel(
        "%t = penguin.alloc : <1x4xf32, sbuf>\n"
        "penguin.memset %t {value = 1.0}\n"
        "penguin.dma_copy %o[0][1 x 4] <- %t\n"
        "penguin.dma_copy %t <- %o[2][1 x 4]\n"
        "penguin.dma_copy %o[4][1 x 4] <- %t\n",
        "",
        "o",
        "<1x8xf32, hbm>",
    )
    (result,) = run(text)
    np.testing.assert_equal(result.tolist(), [[1, 1, 1, 1, 1, 1, np.nan, np.nan]])


def test_an_output_that_nothing_touches() -> None:
    (result,) = run(kernel("", "", "o", "<2x3xf32, hbm>"))
    assert np.isnan(result).all()
    (result,) = run(kernel("", "", "o", "<2x3xf32, hbm>"), options=ZERO)
    assert not result.any()


def test_initial_value_where_nothing_writes() -> None:
    text = kernel(
        "%t = penguin.alloc init 3.0 : <4x4xbf16, sbuf>\n"
        "penguin.memset %t[1, 1][1 x 2, 1 x 2] {value = 1.0}\n"
        "penguin.dma_copy %o <- %t\n",
        "",
        "o",
        "<4x4xf32, hbm>",
    )
    (result,) = run(text)
    expected = np.full((4, 4), 3, np.float32)
    expected[1:3, 1:3] = 1
    assert np.array_equal(result, expected)


def test_a_buffer_is_not_shared_while_it_is_alive() -> None:
    """Three tiles of one size whose lives overlap pairwise, in a loop."""
    a = random((8, 16))
    text = compute(
        "penguin.memset %t {value = 0.0}\n"
        "penguin.for sequential %i = 0 to 2 {\n"
        "%u = penguin.alloc : <8x16xf32, sbuf>\n"
        "penguin.tensor_scalar_ptr mult %u <- %x0 {imm0 = 2.0}\n"
        "%v = penguin.alloc : <8x16xf32, sbuf>\n"
        "penguin.for sequential %j = 0 to 2 {\n"
        "%w = penguin.alloc : <8x16xf32, sbuf>\n"
        "penguin.tensor_scalar_ptr add %w <- %u {imm0 = 1.0}\n"
        "penguin.tensor_copy %v[0, %j * 8][1 x 8, 1 x 8] "
        "<- %w[0, %j * 8][1 x 8, 1 x 8]\n"
        "}\n"
        "%y = penguin.alloc : <8x16xf32, sbuf>\n"
        "penguin.tensor_tensor mult %y <- %v, %x0\n"
        "penguin.tensor_tensor add %t <- %t, %y\n}",
        "8x16xf32",
        out="8x16xf32",
    )
    (result,) = run(text, a)
    one = (a * 2 + 1) * a
    assert np.array_equal(result, one + one)


def test_a_tile_of_a_descriptor_lives_until_its_trigger() -> None:
    a = random((4, 6))
    text = """
    bir.func @f {
      %a = bir.location @a ExternalInput : <4x6xf32, hbm>
      %o = bir.location @o ExternalOutput : <4x6xf32, hbm>
      %t = bir.location @t : <4x6xf32, sbuf>
      dma.block @L { dma.copy f32 f32 %t[0, 0][1 x 4, 4 x 6] <- %a[0][24 x 4, 4 x 6] }
      dma.block @S { dma.copy f32 f32 %o[0][24 x 4, 4 x 6] <- %t[0, 0][1 x 4, 4 x 6] }
      bir.dma_trigger @TL [@L]
      %u = bir.location @u : <4x6xf32, sbuf>
      bir.memset @M %u {value = 0.0, engine = DVE}
      bir.dma_trigger @TS [@S]
      bir.return o = %o
    }
    """
    (result,) = run(text, a)
    assert np.array_equal(result, a)


def test_pool_gives_the_last_buffer_first() -> None:
    pool = Pool()
    first, second = pool.take(64), pool.take(64)
    assert first is not second
    pool.give(first)
    pool.give(second)
    assert pool.take(64) is second
    assert pool.take(32) is not first
    assert pool.take(64) is first
    assert first.ctypes.data % 64 == 0


@given(
    st.lists(
        st.tuples(
            st.integers(0, 10), st.integers(1, 3), st.integers(1, 4), st.integers(1, 5)
        ),
        max_size=30,
    )
)
@settings(max_examples=60, deadline=None)
def test_freshness_is_exact(writes: list[tuple[int, int, int, int]]) -> None:
    """Against a set of the written elements of 4 bytes each."""
    size = 40
    freshness, written = Freshness(4 * size), set[int]()
    for start, rows, step, columns in writes:
        nums, strides = (rows, columns), (12 * 4, step * 4)
        span = (start * 4, nums, strides, 4)
        pattern = Pattern(start, ((12, rows), (step, columns)))
        elements = [e for e in pattern.addresses()]
        if max(elements) >= size:
            continue
        found = freshness.fresh(span)
        expected: Array = np.array([e not in written for e in elements])
        if isinstance(found, bool):
            assert expected.all() if found else not expected.any()
        else:
            assert np.array_equal(found.reshape(-1), expected)
        freshness.written(span)
        written |= set(elements)
