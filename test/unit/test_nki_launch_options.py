"""Keyword arguments of `nki.jit` and its relatives."""

from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import functional
from xdsl_neuron.testing import texts
from xdsl_neuron.tracer.errors import NKIError

A = np.arange(12, dtype=np.float32).reshape(3, 4)


def kernel_of(package: Any) -> Any:
    """A copy in the language of a package."""
    nl: Any = package.language

    def copied(a: Any) -> Any:
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nl.store(out, nl.load(a))
        return out

    return copied


@pytest.mark.parametrize("package", [nki, functional])
def test_options_of_the_vendors_tools_have_no_effect(package: Any) -> None:
    options = {"debug_kernel": True, "experimental_flags": "x", "mode": "simulation"}
    kernel = kernel_of(package)
    given = package.jit(kernel, **options).trace(A)
    assert texts(given) == texts(package.jit(kernel).trace(A))


@pytest.mark.parametrize("package", [nki, functional])
@pytest.mark.parametrize("maker", ["jit", "simulate", "trace"])
def test_an_unknown_option_is_refused(package: Any, maker: str) -> None:
    with pytest.raises(NKIError, match="unexpected keyword argument 'traget'; it acc"):
        getattr(package, maker)(kernel_of(package), traget="trn2")


@pytest.mark.parametrize("maker", ["benchmark", "profile", "baremetal"])
def test_an_unknown_option_of_a_measurement_is_refused(maker: str) -> None:
    with pytest.raises(NKIError, match="unexpected keyword argument 'itres'"):
        getattr(functional, maker)(itres=3)
