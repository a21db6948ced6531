"""What `nki.jit` takes: functions, methods, partials, objects, and no source file."""

import functools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import functional as nki_first, isa as nisa, language as nl
from xdsl_neuron.nki.functional import language as nl_first
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError, NKITypeError

X = np.zeros((4, 4), np.float32)
STEP = 1.0


def add(a: Any, times: int, offset: Any = None) -> Any:
    tile = nl.ndarray(a.shape, a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=a)
    for _ in range(times):
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=STEP)
    if offset is not None:
        other = nl.ndarray(a.shape, a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=other, src=offset)
        nisa.tensor_tensor(dst=tile, data1=tile, data2=other, op=nl.add)
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


kernel_of_module = nki.jit(add)


class Layer:
    """Methods of every kind, and a kernel of the module that it only holds."""

    held = kernel_of_module

    def __init__(self, times: int) -> None:
        self.times = times

    def __call__(self, a: Any) -> Any:
        return add(a, self.times)

    def plain(self, a: Any) -> Any:
        return add(a, self.times)

    @nki.jit
    def method(self, a: Any) -> Any:
        return add(a, self.times)

    @nki.jit
    @staticmethod
    def inner_static(a: Any) -> Any:
        return add(a, 2)

    @staticmethod
    @nki.jit
    def outer_static(a: Any) -> Any:
        return add(a, 2)

    @nki.jit
    @classmethod
    def inner_class(cls, a: Any) -> Any:
        return add(a, 2 if cls is Layer else 0)

    @classmethod
    @nki.jit
    def outer_class(cls, a: Any) -> Any:
        return add(a, 2 if cls is Layer else 0)


@dataclass(frozen=True)
class Frozen:
    """Its fields cannot change; what its method reads of the module can."""

    times: int

    def __call__(self, a: Any) -> Any:
        return add(a, self.times)


LAYER = Layer(2)


@pytest.mark.parametrize(
    "kernel",
    [
        functools.partial(add, times=2),
        functools.partial(functools.partial(add, times=3), times=2),
        functools.partial(kernel_of_module, times=2),
        nki.jit(functools.partial(kernel_of_module, times=2)),
        LAYER,
        LAYER.plain,
        LAYER.method,
        LAYER.method[1],
        functools.partial(Layer.method, LAYER),
        LAYER.inner_static,
        LAYER.outer_static,
        LAYER.inner_class,
        LAYER.outer_class,
        Layer.inner_class,
        functools.partial(LAYER.held, times=2),
        Frozen(2),
        lambda a: add(a, 2),  # pyright: ignore
    ],
    ids=lambda each: repr(each).partition(" at 0x")[0],
)
def test_kernel_is_any_callable(kernel: Callable[..., Any]) -> None:
    assert_kernel_ok(kernel, X, expected=X + 2)
    assert (nki.jit(kernel)(X) == 2).all()


def test_partial_may_hold_arrays() -> None:
    kernel = nki.jit(functools.partial(add, offset=np.full_like(X, 5), times=1))
    assert_kernel_ok(kernel, X, expected=X + 6)
    assert (kernel(X + 1, times=2) == 8).all()


def test_method_sees_its_object_as_it_is() -> None:
    layer = Layer(1)
    assert (layer.method(X) == 1).all()
    layer.times = 3
    assert (layer.method(X) == 3).all()

    @nki.jit
    def outer(a: Any) -> Any:
        return layer.method(a)

    assert (outer(X) == 3).all()
    layer.times = 4
    assert (outer(X) == 4).all()


def test_what_an_object_s_method_reads_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = nki.jit(Frozen(1))
    assert (kernel(X) == 1).all()
    monkeypatch.setitem(globals(), "STEP", 2.0)
    assert (kernel(X) == 2).all()


class First:
    """A method in the functional generation, and one that is refused."""

    @nki_first.jit
    def double(self, a: Any) -> Any:
        out = nl_first.ndarray(a.shape, a.dtype, buffer=nl_first.shared_hbm)
        nl_first.store(out, nl_first.multiply(nl_first.load(a), 2))
        return out

    @nki_first.jit
    def wrong(self, a: Any) -> Any:
        return nl_first.load(a, nothing=1)


def test_methods_of_the_functional_generation() -> None:
    assert (First().double(X + 1) == 2).all()
    with pytest.raises(NKIError) as caught:
        First().wrong(X)
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


def test_what_is_not_written_in_python_is_refused() -> None:
    with pytest.raises(NKITypeError, match="a kernel is a function written in Python"):
        nki.jit(len)


PIPED = """
import numpy as np
import xdsl_neuron.nki
xdsl_neuron.nki.install()
import nki, nki.language as nl, nki.isa as nisa

@nki.jit
def double(a):
    tile = nl.ndarray(a.shape, a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=a)
    nisa.tensor_tensor(dst=tile, data1=tile, data2=tile, op=nl.add)
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out

@nki.jit
def wrong(a):
    nisa.dma_copy(dst=a, src=a, nothing=1)

print(double(np.ones((2, 2), np.float32)).sum())
try:
    wrong(np.ones((2, 2), np.float32))
except Exception as error:
    print(str(error).partition(": error")[0])
"""


@pytest.mark.parametrize(
    ("options", "text", "name"),
    [(["-"], PIPED, "<stdin>"), (["-c", PIPED], "", "<string>")],
    ids=["stdin", "c"],
)
def test_kernels_without_a_file(
    tmp_path: Path, options: list[str], text: str, name: str
) -> None:
    done = subprocess.run(
        [sys.executable, *options],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout.splitlines() == ["8.0", f"{name}:18:5"]


def test_prompt(tmp_path: Path) -> None:
    """Statement by statement, as at a prompt: each is a `<stdin>` of its own."""
    typed = "\n\n".join(
        part.replace("\n\n", "\n") for part in PIPED.split("\n\n") if part.strip()
    )
    done = subprocess.run(
        [sys.executable, "-i", "-q"],
        input=typed + "\n\n",
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert "8.0" in done.stdout
    assert "Traceback" not in done.stderr


def test_cell_of_a_notebook_is_quoted() -> None:
    """Notebooks and doctests tell Python the text of their cells."""
    import linecache

    text = "def wrong(a):\n    nisa.dma_copy(dst=a, src=a, nothing=1)\n"
    name = "<ipython-input-1-abc>"
    lines = [str(line) for line in text.splitlines(keepends=True)]
    linecache.cache[name] = (len(text), None, lines, name)
    names: dict[str, Any] = {"nisa": nisa}
    exec(compile(text, name, "exec"), names)
    with pytest.raises(NKIError) as caught:
        nki.jit(names["wrong"])(X)
    assert "    nisa.dma_copy(dst=a, src=a, nothing=1)\n    ^" in str(caught.value)
