"""Names that a module does not have: who has them, and what is close."""

import sys
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import functional
from xdsl_neuron.nki.install import install
from xdsl_neuron.nki.roster import GENERATIONS, isa_names, language_names
from xdsl_neuron.tracer.errors import NKIError

install()
A = np.zeros((4, 4), np.float32)


def module(name: str) -> Any:
    return sys.modules[name]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nki.baremetal", "nki.baremetal is of generation 0.1; call the kernel"),
        ("nki.benchmark", "nki.benchmark is of generation 0.1; `neuron-run"),
        ("nki.profile", "nki.profile is of generation 0.1; `neuron-run"),
        ("nki.simulte", "did you mean 'simulate'"),
        ("nki.isa.tensor_tenser", "did you mean 'tensor_tensor'"),
        ("nki.isa.load", "there is nki.language.load"),
        ("nki.isa.all_reduce", "there is nki.collectives.all_reduce"),
        ("nki.isa.nonsense", "module 'nki.isa' has no attribute 'nonsense'"),
        ("nki.language.flaot32", "did you mean 'float32'"),
        ("nki.language.tensor_tensor", "there is nki.isa.tensor_tensor"),
        ("nki.language.static_cast", "nki.language.static_cast was removed before 0.2"),
        ("nki.collectives.all_recude", "did you mean 'all_reduce'"),
        ("nki.compiler.CompilConfig", "did you mean 'CompileConfig'"),
        ("neuronxcc.nki.jitt", "did you mean 'jit'"),
        ("neuronxcc.nki.simulate_ranks", "there is nki.simulate_ranks (generation 0.2"),
        ("neuronxcc.nki.collectives", "there is nki.collectives (generation 0.2 and"),
        ("neuronxcc.nki.isa.tensor_copi", "did you mean 'tensor_copy'"),
        (
            "neuronxcc.nki.isa.register_alloc",
            "it is of generation 0.2 and later: nki.isa.register_alloc",
        ),
        (
            "neuronxcc.nki.language.dynamic_range",
            "it is of generation 0.6: nki.language.dynamic_range",
        ),
    ],
)
def test_a_name_that_is_not_there(name: str, message: str) -> None:
    """Asked of the module, in a kernel, and imported."""
    path, _, attribute = name.rpartition(".")
    found = module(path)
    assert not hasattr(found, attribute)

    def kernel(a: Any) -> None:
        getattr(found, attribute)

    for jit in (nki.jit, functional.jit):
        with pytest.raises(AttributeError) as caught:
            jit(kernel)(A)
        assert isinstance(caught.value, NKIError)
        assert message in caught.value.message
        assert caught.value.location is not None
        assert caught.value.location.file == __file__
    with pytest.raises(ImportError) as imported:
        exec(f"from {path} import {attribute}")
    assert message in str(imported.value)


def test_names_of_other_generations_say_so() -> None:
    """Every documented name that a language lacks."""
    for part, names in (("isa", isa_names()), ("language", language_names())):
        for name, generation in names:
            family = "nki" if generation == GENERATIONS[0] else "neuronxcc.nki"
            found = module(f"{family}.{part}")
            if hasattr(found, name):
                continue
            with pytest.raises(NKIError, match=r"generation|removed before 0.2"):
                getattr(found, name)


def test_what_python_asks_for_is_its_own_error() -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(module("nki.isa"), "__nothing__")
    assert not isinstance(caught.value, NKIError)
