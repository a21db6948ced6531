"""What generation 0.1 has and the later ones have not, or not on the device."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.isa as functional_isa
import xdsl_neuron.nki.functional.language as functional_language
import xdsl_neuron.nki.isa as destination_isa
import xdsl_neuron.nki.language as destination_language
from xdsl_neuron.nki import tensor_spec
from xdsl_neuron.tracer.errors import NKIError
from xdsl_neuron.tracer.release_warnings import NKIReleaseWarning

# Kernels are written without types: every name of the languages is `Any` to them.
nl: Any = destination_language
nisa: Any = destination_isa
fl: Any = functional_language
fisa: Any = functional_isa
Body = Callable[[], object]

X = tensor_spec("f32", (128, 64))


def trace(body: Body, language: Any = nki) -> None:
    def kernel(x: Any) -> None:
        body()

    language.trace(language.jit(kernel))(X)


def full(*shape: int, dtype: Any = None, buffer: Any = None) -> Any:
    return nl.full(shape, 2, dtype or nl.float32, buffer=buffer or nl.sbuf)


def in_psum() -> Any:
    tile = nl.ndarray((128, 64), nl.float32, buffer=nl.psum)
    nisa.memset(tile, 2.0)
    return tile


def move_index() -> None:
    for i in nl.dynamic_range(4):
        nisa.register_move(i, 3)


def load_index() -> None:
    cell = full(1, 1, dtype=nl.int32)
    for i in nl.dynamic_range(4):
        nisa.register_load(i, cell)


def copied_index() -> None:
    for i in nl.dynamic_range(4):
        own = nisa.register_alloc(i)
        nisa.register_move(own, 3)


def case(message: str, wrong: Body, right: Body) -> tuple[str, Body, Body]:
    return message, wrong, right


def made(dtype: Any) -> Any:
    return nl.ndarray((128, 64), dtype)


REFUSED = {
    "memset": case(
        "`value` is the float 1.5, but the elements are int32",
        lambda: nisa.memset(made(nl.int32), 1.5),
        lambda: nisa.memset(made(nl.int32), 2),
    ),
    "memset of a whole float": case(
        "`value` is the float 2.0, but the elements are uint8",
        lambda: nisa.memset(made(nl.uint8), 2.0),
        lambda: nisa.memset(made(nl.bfloat16), 2),
    ),
    "full": case(
        "`fill_value` is the float 0.5, but the elements are int32",
        lambda: nl.full((128, 64), 0.5, nl.int32),
        lambda: nl.full((128, 64), 0.5, nl.float32),
    ),
    "buffer": case(
        "`buffer` is 'sbuf': from release 0.3 on a name or a number stands for no "
        "member; use nl.sbuf",
        lambda: nl.ndarray((128, 64), nl.float32, buffer="sbuf"),
        lambda: nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf),
    ),
    "engine": case(
        "`engine` is 'vector': from release 0.3 on a name or a number stands for no "
        "member; use nisa.engine.vector",
        lambda: nisa.memset(made(nl.float32), 1.0, engine="vector"),
        lambda: nisa.memset(made(nl.float32), 1.0, engine=nisa.engine.vector),
    ),
    "seed": case(
        "random_seed takes a (1, 1) tile in sbuf or psum, got int (42)",
        lambda: nl.random_seed(42),
        lambda: nl.random_seed(full(1, 1, dtype=nl.int32)),
    ),
    "move into the index": case(
        "the index of a run-time loop is read-only", move_index, copied_index
    ),
    "load into the index": case(
        "the index of a run-time loop is read-only", load_index, copied_index
    ),
    "rsqrt": case(
        "nl.rsqrt takes no tile in PSUM from release 0.5 on",
        lambda: nl.rsqrt(in_psum()),
        lambda: nl.rsqrt(full(128, 64)),
    ),
    "sum": case(
        "sum: axis 1 of ",
        lambda: nl.sum(full(128, 4, 16), axis=1),
        lambda: nl.sum(full(128, 4, 16), axis=2),
    ),
    "max": case(
        "max: axis [1, 3] of ",
        lambda: nl.max(full(128, 4, 2, 8), axis=[1, 3]),
        lambda: nl.max(full(128, 4, 2, 8), axis=[2, 3]),
    ),
    "mean": case(
        "mean: axis 1 of ",
        lambda: nl.mean(full(128, 4, 16), axis=1),
        lambda: nl.mean(full(128, 4, 16), axis=(1, 2)),
    ),
    "broadcast_to": case(
        "broadcast_to: shape (128, 4, 64) must have the same rank as x",
        lambda: nl.broadcast_to(full(128, 64), (128, 4, 64)),
        lambda: nl.broadcast_to(full(128, 1, 64), (128, 4, 64)),
    ),
    "transpose": case(
        "parameter 'x[64, 4, 2]' of 'transpose' exceed max supported number of "
        "dimensions of 2.",
        lambda: nl.transpose(full(64, 4, 2)),
        lambda: nl.transpose(full(64, 8)),
    ),
    "par_dim": case(
        "nki.language.par_dim is of generation 0.1",
        lambda: nl.ndarray((nl.par_dim(128), 64), nl.float32),
        lambda: nl.ndarray((128, 64), nl.float32),
    ),
    "simulate_kernel": case(
        "nki.language.simulate_kernel is of generation 0.1; use nki.simulate",
        lambda: nl.simulate_kernel,
        lambda: nki.simulate,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    message, wrong, right = REFUSED[name]
    with pytest.raises(NKIError) as refused:
        trace(wrong)
    assert message in str(refused.value)
    trace(right)


def test_generation_0_1_takes_them() -> None:
    def body() -> None:
        tile = fl.full((128, 4, 16), 1.5, fl.int32, buffer="sbuf")
        fisa.memset((128, 4), 1.5, fl.int32, engine=5)
        fl.random_seed(42)
        fl.sum(tile, axis=1)
        fl.rsqrt(fl.copy(tile))
        fl.power(fl.add(tile, fl.zeros((128, 1, 16), fl.float32)), 2.0)

    trace(body, functional)


WARNED = {
    "divide": (
        "nl.divide runs in simulation, but is not supported by releases 0.3 to 0.6",
        lambda: nl.divide(full(128, 64), full(128, 64)),
        lambda: nl.multiply(full(128, 64), nl.reciprocal(full(128, 64))),
    ),
    "fmod": (
        "nl.fmod runs in simulation",
        lambda: nl.fmod(full(128, 64), 3.0),
        lambda: nl.subtract(full(128, 64), 3.0),
    ),
    "mod": (
        "nl.mod runs in simulation",
        lambda: nl.mod(full(128, 64), full(128, 64)),
        lambda: nl.maximum(full(128, 64), full(128, 64)),
    ),
    "power": (
        "nl.power with a number as exponent",
        lambda: nl.power(full(128, 64), 2.0),
        lambda: nl.power(full(128, 64), full(128, 64)),
    ),
    "broadcast": (
        "nl.multiply of shapes (128, 64) and (128, 1): releases 0.3 to 0.6 do not",
        lambda: nl.multiply(full(128, 64), full(128, 1)),
        lambda: nl.multiply(full(128, 64), nl.broadcast_to(full(128, 1), (128, 64))),
    ),
    "matmul": (
        "nl.matmul without transpose_x=True is not supported by releases 0.3 to 0.6",
        lambda: nl.matmul(full(128, 64), full(64, 32)),
        lambda: nl.matmul(full(128, 64), full(128, 32), transpose_x=True),
    ),
}


@pytest.mark.parametrize("name", WARNED)
def test_warned(name: str) -> None:
    """What the simulator runs and the device does not (NKI notes, 2.29 to 2.32)."""
    message, wrong, right = WARNED[name]
    with pytest.warns(NKIReleaseWarning) as caught:
        trace(wrong)
    assert message in str(caught[0].message)
    assert caught[0].filename == __file__
    assert caught[0].lineno in {line for *_, line in wrong.__code__.co_lines()}
    trace(right)


def output_in(region: Any) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=region)
        nisa.dma_copy(dst=out, src=x)
        return out

    return kernel


@pytest.mark.parametrize("region", ["hbm", "private_hbm"])
def test_outputs_in_hbm(region: str) -> None:
    """A page of 2.32 (`nisa.nonzero_with_count`) does what its notes rule out."""
    values = np.arange(64, dtype=np.float32).reshape(2, 32)
    with pytest.warns(NKIReleaseWarning, match=f"in nl.{region}: from release 0.3 on"):
        found = nki.simulate(output_in(getattr(nl, region)))(values)
    np.testing.assert_array_equal(found, values)
    nki.simulate(output_in(nl.shared_hbm))(values)


def test_list_arguments() -> None:
    def kernel(xs: Any, count: int) -> Any:
        out = nl.ndarray(xs[0].shape, xs[0].dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=xs[count])
        return out

    values = np.ones((2, 4), np.float32)
    for wrong in ([values, values], (values, [values])):
        with pytest.raises(
            NKIError, match=r"argument 'xs' .* is or holds a list.*tuple"
        ):
            nki.simulate(kernel)(wrong, 1)
    with pytest.raises(NKIError, match="argument 'count' of the kernel"):
        nki.simulate(kernel)((values,), count=[1])
    np.testing.assert_array_equal(nki.simulate(kernel)((values, values), 1), values)


def test_warnings_as_errors() -> None:
    """An error made of a warning is no failure of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NKIReleaseWarning):
            trace(lambda: nl.power(full(128, 64), 2.0))


def test_masks_are_affine() -> None:
    def store(mask: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def kernel(x: Any) -> Any:
            out = fl.ndarray((8, 128, 64), fl.float32, buffer=fl.shared_hbm)
            for i in fl.affine_range(8):
                fl.store(out[i], fl.load(x), mask=mask(i))
            return out

        return kernel

    def traced(mask: Callable[[Any], Any]) -> None:
        functional.trace(functional.jit(store(mask)))(X)

    not_affine: tuple[Callable[[Any], Any], ...] = (
        lambda i: i % 4 < 2,
        lambda i: (i // 2 > 1) & (i < 7),
    )
    for wrong in not_affine:
        with pytest.raises(NKIError, match="must be affine expressions of static loop"):
            traced(wrong)
    traced(lambda i: (2 * i + 1 < 9) & (i >= 1))


def test_partitions_are_not_broadcast() -> None:
    def tiles(rows: int) -> tuple[Any, Any]:
        return fl.zeros((128, 9), fl.float32), fl.zeros((rows, 9), fl.float32)

    message = r"mismatch in parameters \(data1\[128, 9\], data2\[1, 9\]\)"
    with pytest.raises(NKIError, match=message):
        trace(lambda: fisa.tensor_tensor(*tiles(1), op=fl.add), functional)
    trace(lambda: fisa.tensor_tensor(*tiles(128), op=fl.add), functional)
    trace(lambda: fl.add(*tiles(1)), functional)
    with pytest.raises(NKIError, match="of 'transpose' exceed max supported number"):
        trace(lambda: fl.transpose(fl.zeros((64, 4, 2), fl.float32)), functional)


def test_a_number_for_a_member_is_a_warning() -> None:
    """Kernels of 2.29 have them, though its guide says that they are no members."""

    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, x, dge_mode=3)
        return out

    x = np.ones((4, 4), np.float32)
    with pytest.warns(NKIReleaseWarning, match=r"use nisa\.dge_mode\.none") as found:
        nki.trace(kernel)(x)
    assert found[0].filename == __file__
