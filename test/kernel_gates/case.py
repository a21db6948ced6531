"""What the tables of refused kernels are made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
import xdsl_neuron.nki.isa as destination_isa
import xdsl_neuron.nki.language as destination_language
from xdsl_neuron.nki import tensor_spec

# Kernels are written without types: every name of the languages is `Any` to them.
nl: Any = destination_language
nisa: Any = destination_isa
fl: Any = functional_language
fisa: Any = functional_isa
Kernel = Callable[[Any, Any, Any], Any]

SPECS = (
    tensor_spec("f32", (300, 64)),
    tensor_spec("i32", (64, 1)),
    tensor_spec("bf16", (300, 64)),
)
"""The arguments of every kernel: x, i and b."""


@dataclass(frozen=True)
class Case:
    """A kernel that a gate refuses, and one that just keeps the rule."""

    gate: str
    """`Class.method`; empty where the language refuses before there is IR."""
    literal: str
    wrong: Kernel
    right: Kernel | None
    language: Any
    target: str | None

    def trace(self, kernel: Kernel) -> None:
        """Traces one of its kernels."""

        def traced(x: Any, i: Any, b: Any) -> None:
            kernel(x, i, b)

        jit = self.language.jit(platform_target=self.target)
        self.language.trace(jit(traced))(*SPECS)


def case(
    gate: str,
    literal: str,
    wrong: Kernel,
    right: Kernel | None = None,
    target: str | None = None,
) -> Case:
    """A kernel of the destination-passing generation."""
    return Case(gate, literal, wrong, right, nki, target)


def functional_case(
    gate: str,
    literal: str,
    wrong: Kernel,
    right: Kernel | None = None,
    target: str | None = None,
) -> Case:
    """A kernel of the functional generation."""
    return Case(gate, literal, wrong, right, functional, target)


def tile(*shape: int, dtype: Any = nl.float32, buffer: Any = nl.sbuf) -> Any:
    return nl.ndarray(shape, dtype=dtype, buffer=buffer)


def sb(*shape: int, dtype: Any = nl.float32) -> Any:
    """A tile of zeros in SBUF."""
    return nl.zeros(shape, dtype=dtype, buffer=nl.sbuf)


def ps(*shape: int, dtype: Any = nl.float32) -> Any:
    """A tile of zeros in PSUM."""
    return nl.zeros(shape, dtype=dtype, buffer=nl.psum)


def hbm(*shape: int, dtype: Any = nl.float32) -> Any:
    return nl.ndarray(shape, dtype=dtype, buffer=nl.shared_hbm)


def loaded(x: Any) -> Any:
    found = tile(*x.shape, dtype=x.dtype)
    nisa.dma_copy(dst=found, src=x)
    return found
