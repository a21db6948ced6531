"""An error in a function that a kernel calls leads back to the kernel."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import functional, isa, language
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tools import run, trace
from xdsl_neuron.tracer.errors import NKIError

nl: Any = language
nisa: Any = isa
fl: Any = functional.language
X = np.zeros((4, 4), np.float32)


def told(error: Exception) -> list[str]:
    """The message, and the notes with the name of this file's line."""
    found: list[str] = []
    for line in str(error).splitlines():
        shown = re.fullmatch(r"(?:(\S+?):\d+:\d+: )?((?:error|note): .*)", line)
        if shown is not None:
            assert shown[1] in (None, __file__)
            found.append(shown[2])
    return found


def copy(dst: Any, src: Any) -> None:
    nisa.dma_copy(dst=dst, src=src, nothing=1)


def rows(dst: Any, src: Any) -> None:
    for at, (name, step) in enumerate([("a", 1), ("b", 2)]):
        if step == 2:
            copy(dst, src)
        assert at == 0, name


def test_calls_and_iterations() -> None:
    @nki.jit
    def kernel(a: Any) -> Any:
        tile = nl.ndarray(a.shape, a.dtype, buffer=nl.sbuf)
        for i in nl.affine_range(3):
            for j in range(2, 4):
                if (i, j) == (1, 3):
                    rows(tile, a)
        return a

    with pytest.raises(NKIError) as caught:
        kernel(X)
    error, *notes = told(caught.value)
    assert "unexpected keyword argument 'nothing'" in error
    assert notes == [
        "note: called from here, in the iteration at = 1, name = 'b', step = 2",
        "note: called from here, in the iteration i = 1, j = 3",
    ]
    places = [note.location for note in caught.value.diagnostics[0].notes]
    first = rows.__code__.co_firstlineno
    assert places[0] is not None
    assert places[0].line == first + 3


def test_the_iteration_of_the_kernel_itself() -> None:
    @nki.jit
    def kernel(a: Any) -> Any:
        for i in range(2, 5):
            nl.ndarray((32 * i, 4), a.dtype, buffer=nl.sbuf)
            nl.ndarray((64 * i, 4), a.dtype, buffer=nl.sbuf)
        return a

    with pytest.raises(NKIError) as caught:
        kernel(X)
    assert told(caught.value)[1:] == ["note: in the iteration i = 3"]


def wrong(value: int) -> None:
    nisa.memset(value, 0.0)


def comprehension(a: Any) -> Any:
    return [wrong(i) for i in range(3) if i]


def recursive(a: Any, depth: int = 20) -> Any:
    return recursive(a, depth - 1) if depth else wrong(0)


def inner(a: Any) -> Any:
    wrong(0)


def nested(a: Any) -> Any:
    nki.jit(inner)(a)


@pytest.mark.parametrize(
    ("kernel", "notes"),
    [
        (comprehension, ["note: called from here, in the iteration i = 1"]),
        (recursive, 11 * ["note: called from here"]),
        (nested, 2 * ["note: called from here"]),
    ],
)
def test_what_calls(kernel: Callable[..., Any], notes: list[str]) -> None:
    with pytest.raises(NKIError) as caught:
        nki.jit(kernel)(X)
    found = [note for note in told(caught.value)[1:] if "more calls" not in note]
    assert found[: len(notes)] == notes


def test_loops_that_are_traced_once_have_no_value_to_show() -> None:
    @functional.jit
    def kernel(a: Any) -> Any:
        tile = fl.load(a)
        for i in fl.affine_range(2):
            for j in fl.static_range(2):
                fl.store(a[i], tile, nothing=j)

    with pytest.raises(NKIError) as caught:
        kernel(X)
    assert told(caught.value)[1:] == ["note: in the iteration j = 0"]


def test_an_error_outside_of_a_kernel_has_no_calls() -> None:
    with pytest.raises(NKIError) as caught:
        wrong(0)
    assert len(told(caught.value)) == 1


SCRIPT = """\
import nki
import numpy as np

def inner(value):
    raise ValueError(f"refused {value}")

def helper(value):
    inner(value)

@nki.jit
def kernel(a):
    for i in range(2):
        if i == 1:
            helper(i)

if __name__ == "__main__":
    kernel(np.ones((2, 2), np.float32))
"""


def test_what_a_script_raises_in_a_function(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    assert run.main([str(file)]) == 1
    shown = capsys.readouterr().err.splitlines()
    assert trace.main([f"{file}:kernel", "--arg", "a=f32[2,2]"]) == 1
    assert capsys.readouterr().err.splitlines() == shown
    assert [line for line in shown if line.startswith(str(file))] == [
        f"{file}:5:5: error: ValueError: refused 1",
        f"{file}:8:5: note: called from here",
        f"{file}:14:13: note: called from here, in the iteration i = 1",
    ]


def test_a_legal_kernel_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    def kernel(a: Any) -> Any:
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        for i in range(2):
            part = nl.ds(2 * i, 2)
            nisa.dma_copy(dst=out[part], src=a[part])
        return out

    assert_kernel_ok(kernel, X, expected=X)
    assert capsys.readouterr().err == ""
