"""Calls with wrong arguments: the close name first, then what the call has itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import functional, isa, language
from xdsl_neuron.tracer.errors import NKIError, NKIInternalError, NKITypeError

nl: Any = language
nisa: Any = isa
fl: Any = functional.language
fisa: Any = functional.isa
X = np.zeros((4, 4), np.float32)


@dataclass
class _Config(nl.NKIObject):
    heads: int
    width: int = 3
    scale = 1.0

    def __post_init__(self) -> None:
        if self.width == 0:
            raise TypeError("width is 0")


class _Plain(nl.NKIObject):
    def __init__(self, heads: int) -> None:
        self.heads = heads


Config: Any = _Config
Plain: Any = _Plain


def many(a: Any, **_: Any) -> None:
    nl.ndarray(a.shape, a.dtype, buffer=nl.sbuf)


def attention(a: Any, heads: int = 1, bias: Any = None) -> Any:
    return a


wide_names = ", ".join(f"parameter_number_{at}=None" for at in range(60))
names: dict[str, Any] = {}
exec(f"def wide(a, {wide_names}): return a", names)


IN_KERNELS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda a: Config(), "_Config() missing a required argument: 'heads'; it acc"),
    (
        lambda a: Config(3, hedas=2),
        "_Config() got an unexpected keyword argument 'hedas'; did you mean "
        "'heads'? it accepts heads, width",
    ),
    (lambda a: Config(1, 2, 3), "_Config() too many positional arguments; it acc"),
    (lambda a: Plain(), "_Plain() missing a required argument: 'heads'"),
    (
        lambda a: Plain(haeds=1),
        "_Plain() got an unexpected keyword argument 'ha",
    ),
    (
        lambda a: nisa.dma_copy(dts=a, src=a),
        "dma_copy() got an unexpected keyword argument 'dts'; did you mean 'dst'? "
        "it accepts dst, src, ",
    ),
    (lambda a: nisa.memset(a), "memset() missing a required argument: 'value'; it"),
    (
        lambda a: nl.load(a, maks=3),
        "load() got an unexpected keyword argument 'maks'; did you mean 'mask'? it "
        "accepts src, dtype, mask, and as every instruction deps, ",
    ),
]


@pytest.mark.parametrize(("call", "message"), IN_KERNELS)
def test_calls_in_kernels(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(NKITypeError) as caught:
        nki.jit(call)(X)
    assert message in str(caught.value)
    assert not isinstance(caught.value, NKIInternalError)
    assert caught.value.location is not None
    assert caught.value.location.line == call.__code__.co_firstlineno


FUNCTIONAL: list[tuple[Callable[[Any], Any], str]] = [
    (
        lambda a: fisa.tensor_tensor(a, a, ops=3),
        "'ops'; did you mean 'op'? it accepts data1, data2, op, dtype, mask, "
        "engine, and as every instruction deps, dma_qos, mode, name, schedule",
    ),
    (lambda a: fl.load(a, schedul=1), "did you mean 'schedule'? it accepts src, "),
    (lambda a: fl.add(a, dtyp=3), "'dtyp'; did you mean 'dtype'? it accepts x, y"),
    (
        lambda a: fl.affine_range(3, multi_bufer=2),
        "did you mean 'multi_buffer'? it accepts start, stop, step, and without",
    ),
]


@pytest.mark.parametrize(("call", "message"), FUNCTIONAL)
def test_calls_in_the_functional_generation(
    call: Callable[[Any], Any], message: str
) -> None:
    with pytest.raises(NKITypeError) as caught:
        functional.jit(call)(X)
    assert message in str(caught.value)


OF_KERNELS: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: nki.jit(attention)(X, haeds=3),
        "attention() got an unexpected keyword argument 'haeds'; did you mean "
        "'heads'? it accepts a, heads, bias",
    ),
    (lambda: nki.jit(attention)(), "attention() missing a required argument: 'a'"),
    (
        lambda: nki.jit(names["wide"])(X, parameter=1),
        "parameter_number_22, ... (37 more)",
    ),
    (
        lambda: nki.jit(attention, platform_traget="trn2"),
        "'platform_traget'; did you mean 'platform_target'? it accepts ",
    ),
]


@pytest.mark.parametrize(("call", "message"), OF_KERNELS)
def test_calls_of_kernels(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(NKITypeError) as caught:
        call()
    assert message in str(caught.value)
    assert len(caught.value.diagnostics[0].message) < 800


def no_width(a: Any) -> None:
    Config(1, 0)


def test_what_the_code_of_a_class_raises_is_its_own() -> None:
    with pytest.raises(TypeError, match="width is 0") as caught:
        nki.jit(no_width)(X)
    assert not isinstance(caught.value, NKIError)


def test_legal_calls() -> None:
    made: Any = Config(2, scale=2.0)
    assert (made.heads, made.width, made.scale) == (2, 3, 2.0)
    assert nki.jit(many)(X, anything=1) is None
    assert Plain(heads=4).heads == 4
