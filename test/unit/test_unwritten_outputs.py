"""Which elements of a result were never written: exact per byte, at every level."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st
from machines import MODES, Array, kernel, parsed, random

from xdsl_neuron import nki
from xdsl_neuron.machine import (
    MachineOptions,
    Program,
    Unwritten,
    UnwrittenOutput,
    prepare as prepared,
)
from xdsl_neuron.machine.written import Written
from xdsl_neuron.nki import functional, isa, language
from xdsl_neuron.nki.functional import language as functional_language
from xdsl_neuron.testing import assert_kernel_ok

nl: Any = language
nl1: Any = functional_language
nisa: Any = isa

LEVELS = ((), ("penguin-to-bir",), ("neuron",))


def left(program: Program, *arrays: Array) -> tuple[list[Unwritten], list[Array]]:
    """What a run leaves unwritten, and its results."""
    found: list[Unwritten] = []
    results = program.run(arrays, found)
    return found, results


def check(text: str, expected: Array, *arrays: Array) -> None:
    """In both modes and at each level the elements where `expected` is False remain."""
    for passes in LEVELS:
        module = parsed(text, *passes)
        for options in MODES:
            program = prepared(module, options)
            for _ in range(2):
                found, (result,) = left(program, *arrays)
                if expected.all():
                    assert not found
                    continue
                (finding,) = found
                assert finding.count == (~expected).sum()
                assert finding.first == tuple(np.argwhere(~expected)[0].tolist())
                assert finding.shape == result.shape
                assert (~np.isnan(result) == expected).all()


ONES = "%t = penguin.alloc : <4x4xf32, sbuf>\npenguin.memset %t {value = 1.0}\n"


def flags(shape: tuple[int, ...], *written: Any) -> Array:
    found = np.zeros(shape, np.bool_)
    for index in written:
        found[index] = True
    return found


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("", ()),
        ("penguin.dma_copy %o <- %t", (...,)),
        (
            "penguin.dma_copy %o[0][4 x 3, 1 x 4] <- %t[0, 0][1 x 3, 1 x 4]",
            (np.s_[:3],),
        ),
        (
            "penguin.dma_copy %o[1][4 x 4, 2 x 2] <- %t[0, 0][1 x 4, 1 x 2]",
            (np.s_[:, 1::2],),
        ),
        (
            "penguin.for parallel %i = 0 to 3 {\n"
            "penguin.dma_copy %o[%i * 4][1 x 4] <- %t[0, 0][1 x 1, 1 x 4]\n}",
            (np.s_[:3],),
        ),
        (
            "penguin.for parallel %i = 0 to 4 {\n"
            "penguin.dma_copy %o[%i * 4][1 x 4] <- %t[0, 0][1 x 1, 1 x 4]\n}",
            (...,),
        ),
        (
            "penguin.sb_atom_store %o <- %t where 1 - l0 >= 0 and l1 - 1 >= 0",
            (np.s_[:2, 1:],),
        ),
        (
            "penguin.sb_atom_store %o <- %t where l0 - l1 >= 0",
            tuple(np.s_[i, : i + 1] for i in range(4)),
        ),
        (  # written after it was read, and so filled
            "penguin.dma_copy %o[0][1 x 4] <- %t[0, 0][1 x 1, 1 x 4]\n"
            "penguin.dma_copy %t[0, 0][1 x 1, 1 x 2] <- %o[0][1 x 2]\n"
            "penguin.dma_copy %o[14][1 x 2] <- %t[0, 0][1 x 1, 1 x 2]",
            (0, np.s_[3, 2:]),
        ),
    ],
)
def test_what_accesses_say(body: str, written: Sequence[Any]) -> None:
    text = kernel(ONES + body, "", "o", "<4x4xf32, hbm>")
    check(text, flags((4, 4), *written))


SCATTER = """
penguin.func @f(a = %a: !neuron.tensor<4x6xf32, hbm>,
                n = %n: !neuron.tensor<4x1xi32, hbm>) {
  %o = penguin.alloc : <10x6xf32, hbm>
  %t = penguin.alloc : <4x6xf32, sbuf>
  %i = penguin.alloc : <4x1xi32, sbuf>
  penguin.sb_atom_load %i <- %n
  penguin.sb_atom_load %t <- %a
  MORE
  penguin.neuron_indirect_save %o[0][6 x 4, 1 x 6] <- %t, %i {max_index = 10}
  penguin.return o = %o
}
"""
REST = "penguin.sb_atom_store %o[FIRST][6 x 4, 1 x 6] <- %t"


def column(*values: int) -> Array:
    return np.array(values, np.int32).reshape(-1, 1)


@pytest.mark.parametrize("passes", LEVELS)
@pytest.mark.parametrize("options", MODES)
def test_what_indices_decide(options: MachineOptions, passes: tuple[str, ...]) -> None:
    """Each run by itself."""
    a, twice = random((4, 6)), REST.replace("FIRST", "0") + "\n"
    stores = ("", twice, twice + REST.replace("FIRST", "24"))
    for count, more in enumerate(stores):
        program = prepared(parsed(SCATTER.replace("MORE", more), *passes), options)
        for index in ((8, 9, -1, 0), (9, 8, 9, 8), (1, 2, 3, 4), (8, 9, 2, 1)):
            expected = flags((10,), np.s_[: 4 * count], [i for i in index if i >= 0])
            found, _ = left(program, a, column(*index))
            if expected.all():
                assert not found
                continue
            (finding,) = found
            assert finding.count == 6 * (~expected).sum()
            assert finding.first == (int(np.argmin(expected)), 0)


def test_a_whole_output_costs_no_step() -> None:
    program = prepared(
        parsed(kernel(ONES + "penguin.dma_copy %o <- %t", "", "o", "<4x4xf32, hbm>"))
    )
    assert program.step_count == 3  # the last is the place of the fill


@given(st.data())
def test_bytes(data: st.DataObject) -> None:
    """Against one set of bytes, for accesses of elements of all sizes."""
    size, itemsize = 48, data.draw(st.sampled_from([1, 2, 4]))
    written, expected = Written(size, itemsize), np.zeros(size, np.bool_)
    for _ in range(data.draw(st.integers(0, 6))):
        width = data.draw(st.sampled_from([1, 2, 4]))
        count, step = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
        last = size // width - step * (count - 1) - 1
        offset = width * data.draw(st.integers(0, last))
        written.add((offset, (count,), (step * width,), width))
        for at in range(count):
            expected[offset + at * step * width :][:width] = True
    whole = expected.reshape(-1, itemsize).all(axis=1)
    assert np.array_equal(written.missing(), np.flatnonzero(~whole))
    assert written.settle() == expected.all()


X = np.arange(64, dtype=np.float32).reshape(8, 8)


@nki.jit
def rows(x: Any, count: Any) -> Any:
    """The first rows of x."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((count, x.shape[1]), x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[:count])
    nisa.dma_copy(dst=out[:count], src=tile)
    return out


@functional.jit
def masked(x: Any, count: Any) -> Any:
    """The same, by a mask."""
    out = nl1.ndarray(x.shape, x.dtype, buffer=nl1.shared_hbm)
    i, j = nl1.arange(8)[:, None], nl1.arange(8)[None, :]
    tile = nl1.load(x[i, j], mask=i < count)
    nl1.store(out[i, j], tile, mask=i < count)
    return out


def line(function: Any, text: str) -> int:
    """The number of the kernel's line with a text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(at for at, each in enumerate(lines) if text in each)


@pytest.mark.parametrize(
    ("made", "dtype"),
    [
        (rows, np.float32),
        (rows, np.int16),
        (rows, ml_dtypes.bfloat16),
        (masked, np.uint8),
    ],
)
def test_kernels_warn(made: Any, dtype: Any) -> None:
    integer = np.issubdtype(dtype, np.integer)
    x = X.astype(dtype)
    expected = x.copy()
    expected[5:] = 4 if integer else np.nan
    simulated: list[Callable[..., Any]] = [made, nki.simulate(made)]
    if made is rows:
        simulated.append(lambda *given: assert_kernel_ok(rows, *given))
    for level in ("penguin", "bir", "dma"):
        simulated.append(made.with_options(level=level))
    for run in simulated:
        for _ in range(2):
            with pytest.warns(UnwrittenOutput) as caught:
                result = run(x, 5)
            assert result.dtype == dtype
            np.testing.assert_array_equal(np.float64(result), np.float64(expected))
            (warning,) = caught
            assert str(warning.message) == (
                "output 'out' is written in part: 24 of 64 elements hold "
                f"{4 if integer else 'NaN'}, the first is [5, 0]"
            )
            assert warning.filename == __file__
            assert warning.lineno == line(made.function, "out = nl")
        assert np.array_equal(run(x, 8), x)


def test_bytes_of_an_element() -> None:
    """Half of an element is not the element."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray((4, 4), nl.int32, buffer=nl.shared_hbm)
        halves = out.view(nl.int16)
        nisa.dma_copy(dst=halves[:, :7], src=x[:, :7])
        return out

    x = np.zeros((4, 8), np.int16)
    with pytest.warns(UnwrittenOutput, match=r"4 of 16 .* first is \[0, 3\]"):
        result = assert_kernel_ok(kernel, x)
    assert (result[:, :3] == 0).all()


def test_each_output_once() -> None:
    @nki.jit
    def kernel(x: Any) -> Any:
        first = nl.ndarray((8, 8), x.dtype, buffer=nl.shared_hbm)
        whole = nl.ndarray((8, 8), x.dtype, buffer=nl.shared_hbm)
        last = nl.ndarray((2, 8, 8), x.dtype, buffer=nl.shared_hbm)
        for i in range(7):
            nisa.dma_copy(dst=first[i], src=x[i])
        nisa.dma_copy(dst=whole, src=x)
        nisa.dma_copy(dst=last[1], src=x)
        return first, whole, last, first

    with pytest.warns(UnwrittenOutput) as caught:
        kernel(X)
    assert [str(each.message).partition(" is ")[0] for each in caught] == [
        "output 'first'",
        "output 'last'",
    ]
    (first, _) = caught
    assert isinstance(first.message, UnwrittenOutput)
    assert first.message.finding is not None
    assert first.message.finding.first == (7, 0)


def test_run_time_loops() -> None:
    @nki.jit
    def kernel(x: Any, count: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        held = nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)
        nisa.dma_copy(dst=held, src=count)
        register = nisa.register_alloc(None)
        nisa.register_load(register, held)
        for i in nl.dynamic_range(0, register):
            tile = nl.ndarray((1, 8), x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[nl.ds(i, 1)])
            nisa.dma_copy(dst=out[nl.ds(i, 1)], src=tile)
        return out

    with pytest.warns(UnwrittenOutput, match=r"16 of 64 .* first is \[6, 0\]"):
        assert_kernel_ok(kernel, X, np.array([[6]], np.int32))
    assert_kernel_ok(kernel, X, np.array([[8]], np.int32), expected=X)
