"""What a kernel returns is what the caller gets: order, type and shape of elements."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import functional as fnki, isa, language
from xdsl_neuron.nki.functional import language as functional_language
from xdsl_neuron.testing import assert_kernel_ok, texts
from xdsl_neuron.tracer.errors import NKIError

Function = Callable[[Any], Any]
nl: Any = language
fl: Any = functional_language
nisa: Any = isa

X = np.random.default_rng(3).integers(-8, 8, (4, 32, 16)).astype(np.float32)


def case(view: Function, reference: Function) -> tuple[object, object]:
    """A view of a tensor and the same one of NumPy."""
    return view, reference


def part(view: Function) -> object:
    """A view that is not all of a tensor."""
    return view


def listed(value: Any) -> list[Any]:
    return value if type(value) in (tuple, list) else [value]


def returning(view: Function) -> Any:
    """A kernel that returns a view of a copy of its argument."""

    @nki.jit
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, x)
        return view(out)

    return kernel


@pytest.mark.parametrize(
    ("view", "reference"),
    [
        case(lambda o: o, lambda x: x),
        case(lambda o: o.permute((1, 0, 2)), lambda x: x.transpose(1, 0, 2)),
        case(lambda o: o.permute((2, 0, 1)), lambda x: x.transpose(2, 0, 1)),
        case(lambda o: o.reshape((128, 16)), lambda x: x.reshape(128, 16)),
        case(
            lambda o: o.reshape((128, 16)).permute((1, 0)),
            lambda x: x.reshape(128, 16).T,
        ),
        case(lambda o: o.view(nl.int32), lambda x: x.view(np.int32)),
        case(lambda o: o.view(nl.bfloat16), lambda x: x.view(ml_dtypes.bfloat16)),
        case(lambda o: o.view(nl.uint8), lambda x: x.view(np.uint8)),
        case(
            lambda o: o.view(nl.int32).permute((2, 1, 0)),
            lambda x: x.view(np.int32).transpose(2, 1, 0),
        ),
        case(
            lambda o: (o, o.permute((1, 0, 2)), o.reshape((64, 32))),
            lambda x: (x, x.transpose(1, 0, 2), x.reshape(64, 32)),
        ),
    ],
)
def test_a_returned_view(view: Function, reference: Function) -> None:
    found, want = assert_kernel_ok(returning(view), X), reference(X)
    for one, other in zip(listed(found), listed(want), strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize(
    "view",
    [
        part(lambda o: o[0:2]),
        part(lambda o: o[::-1]),
        part(lambda o: o[0:1].broadcast(0, 4)),
        part(lambda o: o.ap([[0, 4], [16, 32], [1, 16]])),
        part(lambda o: o.ap([[1, 2048]], offset=1)),
    ],
)
def test_what_is_not_all_of_a_tensor_is_not_returned(view: Function) -> None:
    with pytest.raises(NKIError, match="expected the whole tensor"):
        returning(view).trace(X)


@nki.jit
def returns_its_parameter(x: Any) -> Any:
    """Nothing but what is known while tracing."""
    tile = nl.ndarray((4, 8), nl.float32, buffer=nl.sbuf)
    assert tile[:, 0:2].shape == (4, 2)
    return x


@nki.jit
def returns_both(x: Any) -> Any:
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, x)
    return x, out, x.permute((1, 0, 2))


@nki.jit
def returns_half_of_it_written(x: Any) -> Any:
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out[0:2], x[0:2])
    return out


@nki.jit
def returns_nothing_written(x: Any) -> Any:
    return nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)


@fnki.jit
def returns_its_parameter_in_0_1(x: Any) -> Any:
    return x


@fnki.jit
def returns_nothing_written_in_0_1(x: Any) -> Any:
    return fl.ndarray(x.shape, x.dtype, buffer=fl.shared_hbm)


def test_a_returned_parameter_has_its_values() -> None:
    """Generation 0.1 refuses it, later ones do not."""
    assert_kernel_ok(returns_its_parameter, X, expected=X)
    assert_kernel_ok(returns_both, X, expected=(X, X, X.transpose(1, 0, 2)))
    assert texts(returns_its_parameter.trace(X))["penguin"].count("mutable") == 0


@pytest.mark.filterwarnings("ignore")  # that it is undefined is said, see test_tools
@pytest.mark.parametrize("level", ["penguin", "bir", "dma"])
def test_what_was_not_written_is_the_sentinel(level: str) -> None:
    nothing = nki.simulate(returns_nothing_written, level=level)(X)
    assert np.isnan(nothing).all()
    half = nki.simulate(returns_half_of_it_written, level=level)(X)
    assert (half[0:2] == X[0:2]).all()
    assert np.isnan(half[2:4]).all()


@pytest.mark.parametrize(
    "kernel", [returns_its_parameter_in_0_1, returns_nothing_written_in_0_1]
)
def test_generation_0_1_wants_outputs_written(kernel: Any) -> None:
    with pytest.raises(NKIError, match="never written to"):
        kernel.trace(X)
