"""What kernels of tests are made of, in both generations of the language."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.language as functional_language
import xdsl_neuron.nki.isa as destination_isa
import xdsl_neuron.nki.language as destination_language
from xdsl_neuron.testing import assert_kernel_ok

Array = npt.NDArray[Any]
Kernel = Callable[..., Any]
# Kernels are written without types: every name of the languages is `Any` to them.
nl: Any = destination_language
nisa: Any = destination_isa
fl: Any = functional_language

F32 = np.float32


def normal(*shape: int) -> Array:
    return np.random.default_rng(7).standard_normal(shape, dtype=F32)


def tile(*shape: int, dtype: Any = nl.float32) -> Any:
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)


def loaded(x: Any) -> Any:
    found = tile(*x.shape, dtype=x.dtype)
    nisa.dma_copy(found, x)
    return found


def saved(x: Any) -> Any:
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x)
    return out


def stored(x: Any) -> Any:
    out = fl.ndarray(x.shape, dtype=x.dtype, buffer=fl.shared_hbm)
    fl.store(out, x)
    return out


def both(
    destination: Kernel,
    value: Kernel,
    *arrays: Array,
    expected: Any,
    rtol: float = 0.0,
) -> None:
    """A kernel in each generation; all levels of both give what NumPy gives."""
    for made, jit in ((destination, nki.jit), (value, functional.jit)):
        assert_kernel_ok(jit(made), *arrays, expected=expected, rtol=rtol, atol=rtol)
