"""A trace is used again only while what the kernel reads is the same."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache, partial
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import xdsl_neuron.nki.kernel as kernels
from xdsl_neuron.nki import functional
from xdsl_neuron.nki.functional import language

nl: Any = language
X = np.ones((4, 8), np.float32)

Mode = Enum("Mode", ["ONE", "TWO"])


@dataclass(frozen=True)
class Frozen:
    """A value with fields."""

    by: float


class Class:
    """Its attribute is read by kernels."""

    by: float = 2.0

    def __init__(self, by: float) -> None:
        self.own = by

    def scaled(self, tile: Any) -> Any:
        """A method that reads the object."""
        return nl.multiply(tile, self.own)


number: Any = 2.0
listed: Any = [2.0]
mapped: Any = {"by": [2.0]}
paired: Any = (2.0, [2.0])
frozen: Any = Frozen(2.0)
space: Any = SimpleNamespace(by=2.0)
config: Any = ModuleType("config")
config.__file__ = __file__
config.by = 2.0


def scale(tile: Any) -> Any:
    return nl.multiply(tile, number)


def scale_with(tile: Any, by: Any = listed) -> Any:
    return nl.multiply(tile, by[0])


@lru_cache
def cached() -> Any:
    return scale


def body(factor: Callable[[Any], Any]) -> Any:
    @functional.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, factor(nl.load(x)))
        return out

    return kernel


READS: dict[str, Callable[[Any], Any]] = {
    "number": lambda t: nl.multiply(t, number),
    "in a comprehension": lambda t: [nl.multiply(t, number) for _ in range(2)][1],
    "function": lambda t: scale(t),
    "default": lambda t: scale_with(t),
    "list": lambda t: nl.multiply(t, listed[0]),
    "dict": lambda t: nl.multiply(t, mapped["by"][0]),
    "list in a tuple": lambda t: nl.multiply(t, paired[1][0]),
    "dataclass": lambda t: nl.multiply(t, frozen.by),
    "object": lambda t: nl.multiply(t, space.by),
    "module": lambda t: nl.multiply(t, config.by),
    "class": lambda t: nl.multiply(t, Class.by),
    "cached": lambda t: cached()(t),
}


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    set_all(2.0)


def set_all(value: float) -> None:
    global number, frozen
    number, frozen = value, Frozen(value)
    listed[0] = paired[1][0] = mapped["by"][0] = value
    space.by = config.by = Class.by = value


@pytest.mark.parametrize("reads", READS)
def test_what_a_kernel_reads_is_looked_at(reads: str) -> None:
    kernel = body(READS[reads])
    for value in (2.0, 3.0, 2.0, 5.0):
        set_all(value)
        assert np.array_equal(kernel(X), X * value)


def test_cells_are_looked_at() -> None:
    by, inner = 2.0, nl.multiply

    @functional.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, inner(nl.load(x), by))
        return out

    assert np.array_equal(kernel(X), X * 2)
    by = 3.0
    assert np.array_equal(kernel(X), X * 3)
    inner = nl.add
    assert np.array_equal(kernel(X), X + 3)


@functional.jit
def applied(x: Any, function: Any) -> Any:
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nl.store(out, function(nl.load(x)))
    return out


def test_functions_given_as_arguments_are_looked_at() -> None:
    held = Class(2.0)
    tables = [2.0]
    functions = (scale, held.scaled, partial(scale_with, by=tables))
    for value in (2.0, 3.0):
        set_all(value)
        held.own = tables[0] = value
        for function in functions:
            assert np.array_equal(applied(X, function), X * value)


def test_a_kernel_made_of_a_method_is_traced_anew() -> None:
    held = Class(2.0)

    class Holder:
        """Its method is a kernel."""

        def kernel(self, x: Any) -> Any:
            """Reads an object that changes."""
            out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
            nl.store(out, held.scaled(nl.load(x)))
            return out

    kernel = functional.jit(Holder().kernel)
    assert np.array_equal(kernel(X), X * 2)
    held.own = 3.0
    assert np.array_equal(kernel(X), X * 3)


STEADY: dict[str, Callable[[Any], Any]] = {
    name: function for name, function in READS.items() if name != "object"
}
STEADY["library"] = lambda t: nl.multiply(t, float(np.sqrt(np.float32(4.0))))
STEADY["mode"] = lambda t: nl.multiply(t, 2.0 if Mode(1) is Mode.ONE else 1.0)


@pytest.mark.parametrize("reads", STEADY)
def test_what_stays_the_same_is_not_traced_again(
    reads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced: list[object] = []
    make = kernels.trace_kernel

    def counted(*arguments: Any) -> Any:
        traced.append(arguments[0])
        return make(*arguments)

    monkeypatch.setattr(kernels, "trace_kernel", counted)
    kernel = body(STEADY[reads])
    for value in (2.0, 2.0):
        assert np.array_equal(kernel(X), X * value)
        set_all(value)
    assert len(traced) == 1
