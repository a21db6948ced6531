"""Kernels as objects: launching, caching, arguments, names to import."""

import importlib
import sys
import threading
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

import xdsl_neuron.nki as nki
import xdsl_neuron.nki.functional as functional
import xdsl_neuron.nki.functional.language as functional_language
import xdsl_neuron.nki.isa as language_isa
import xdsl_neuron.nki.language as language
from xdsl_neuron import machine
from xdsl_neuron.dtypes import DType
from xdsl_neuron.nki import kernel as kernel_module, tensor_spec
from xdsl_neuron.nki.dtype import as_dtype
from xdsl_neuron.tracer.errors import (
    OUTSIDE_KERNEL,
    NKIRuntimeError,
    NKISyntaxError,
    NKITypeError,
    NKIValueError,
)

Array = npt.NDArray[Any]
# Kernels are written without types: every name of the language is `Any` to them.
nl: Any = language
nisa: Any = language_isa
nl1: Any = functional_language


def normal(*shape: int) -> Array:
    return np.random.default_rng(5).standard_normal(shape, dtype=np.float32)


@nki.jit
def scale(x: Any, factor: Any = 2.0, *, extra: Any = 0.0) -> Any:
    """x * factor + extra."""
    tile = nl.ndarray(x.shape, x.dtype)
    nisa.dma_copy(tile, x)
    nisa.tensor_scalar(tile, tile, nl.multiply, factor, op1=nl.add, operand1=extra)
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out


@functional.jit
def double(x: Any) -> Any:
    """x * 2 in the functional generation."""
    out = nl1.ndarray(x.shape, x.dtype, buffer=nl1.shared_hbm)
    nl1.store(out, nl1.load(x) * 2.0)
    return out


def test_ways_to_run() -> None:
    x = normal(8, 4)
    want = x * 2
    assert np.array_equal(scale(x), want)
    assert np.array_equal(scale[1](x), want)
    assert np.array_equal(nki.simulate(scale)(x), want)
    assert np.array_equal(nki.simulate(scale)[1](x), want)
    assert np.array_equal(nki.simulate_kernel(scale, x), want)
    assert np.array_equal(functional.simulate_kernel(double[2], x), want)
    assert np.array_equal(functional.simulate_kernel(double, x), want)
    assert np.array_equal(scale(x, 3, extra=1.0), x * 3 + 1)
    assert np.array_equal(scale(x=x, factor=3), x * 3)


def test_a_trace_is_still_a_kernel() -> None:
    """`nki.trace` decorates kernels that are then simulated (nki.md 1.3)."""
    a = normal(8, 4)

    @functional.trace
    def doubled(x: Any, y: Any) -> None:
        nl1.store(y, double_inside(nl1.load(x)))

    @functional.trace
    def double_inside(tile: Any) -> Any:
        return tile * 2.0

    out = np.zeros_like(a)
    functional.simulate_kernel(doubled, a, out)
    assert np.array_equal(out, 2 * a)
    functional.simulate_kernel(doubled[1], a, out)
    module = doubled(tensor_spec("f32", (8, 4)), tensor_spec("f32", (8, 4)))
    assert isinstance(module, ModuleOp)


@pytest.mark.parametrize("level", ["penguin", "bir", "dma"])
def test_the_level_that_is_executed(level: str) -> None:
    a, seen = normal(8, 4), list[str]()

    def observe(module: ModuleOp, program: machine.Program) -> None:
        seen.append(program.function.name)

    machine.observers.append(observe)
    try:
        found = nki.simulate(scale, level=level)(a)
        again = functional.simulate(double, level=level)[1](a)
    finally:
        machine.observers.remove(observe)
    assert np.array_equal(found, a * 2)
    assert np.array_equal(again, a * 2)
    expected = "penguin.func" if level == "penguin" else "bir.func"
    assert seen == [expected] * 2


def test_a_level_that_there_is_not() -> None:
    with pytest.raises(NKIValueError, match="`level` is 'wave', expected one of"):
        nki.simulate(scale, level="wave")


def test_limits_of_types() -> None:
    assert nl1.fp32.min == float(np.finfo(np.float32).min)
    assert nl1.fp32.max == float(np.finfo(np.float32).max)
    assert nl1.finfo(nl1.bfloat16).eps == 2.0**-7
    with pytest.raises(AttributeError, match="are min, max, eps and tiny, got dtype"):
        nl1.fp32.dtype
    with pytest.raises(NKITypeError, match="takes a floating-point type, got int32"):
        nl1.finfo(nl1.int32)


def test_prints_from_the_device(capsys: pytest.CaptureFixture[str]) -> None:
    def kernel(x: Any) -> Any:
        tile = nl1.load(x)
        nl1.device_print("tile = ", tile)
        out = nl1.ndarray(x.shape, x.dtype, buffer=nl1.shared_hbm)
        nl1.store(out, tile)
        return out

    def prints_a_number(x: Any) -> None:
        nl1.device_print(3, x)

    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    functional.simulate_kernel(kernel, a)
    assert capsys.readouterr().out == f"tile = {a}\n"
    with pytest.raises(NKITypeError, match="must be a constant string, got int"):
        functional.trace(prints_a_number)(a)


def test_the_size_of_a_trace_is_bounded() -> None:
    x = normal(8, 4)
    for call in (nki.trace, nki.simulate):
        with pytest.raises(NKISyntaxError, match="more than 2 instructions"):
            call(scale, max_instructions=2)(x)
    assert np.array_equal(nki.simulate(scale, max_instructions=3)(x), x * 2)


def test_ways_to_decorate() -> None:
    def plain(x: Any) -> Any:
        return scale.function(x)

    x = normal(8, 4)
    for kernel in (
        nki.jit(plain),
        nki.jit()(plain),
        nki.jit(mode="simulation", platform_target="trn2")(plain),
        functional.jit(plain, mode="baremetal", experimental_flags="x"),
        nki.jit(nki.jit(plain)),
    ):
        assert kernel.__name__ == "plain"
        assert np.array_equal(kernel(x), x * 2)
    assert scale.__doc__ == "x * factor + extra."
    assert repr(scale[2]) == "<nki kernel scale[2]>"


def test_a_trace_is_used_again_for_the_same_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traced: list[object] = []
    original = kernel_module.trace_kernel

    def counted(*args: Any) -> Any:
        traced.append(args)
        return original(*args)

    monkeypatch.setattr(kernel_module, "trace_kernel", counted)

    def runs(*args: Any, **kwargs: Any) -> int:
        before = len(traced)
        kernel(*args, **kwargs)
        return len(traced) - before

    kernel = nki.jit(scale.function)
    x = normal(8, 4)
    assert runs(x) == 1
    assert runs(x + 1) == 0
    assert runs(x, 2.0) == 1
    assert runs(x, factor=2.0) == 0
    assert runs(x, 2) == 1, "an int is another value than a float"
    assert runs(x, -0.0) == 1
    assert runs(x, 0.0) == 1
    assert runs(normal(8, 5)) == 1
    assert runs(x.astype(np.float16)) == 1
    before = len(traced)
    kernel[2](x)
    kernel[2](x)
    assert len(traced) - before == 1
    monkeypatch.setenv("NEURON_PLATFORM_TARGET_OVERRIDE", "trn2")
    assert runs(x) == 1
    assert runs(x) == 0


def test_a_value_that_may_change_is_not_cached() -> None:
    class Config:
        factor = 2.0

    def kernel(x: Any, config: Any) -> Any:
        return scale.function(x, config.factor)

    config = Config()
    x = normal(8, 4)
    jitted = nki.jit(kernel)
    assert np.array_equal(jitted(x, config), x * 2)
    config.factor = 3.0
    assert np.array_equal(jitted(x, config), x * 3)


def test_arguments_may_be_nested_and_of_many_kinds() -> None:
    class Wrapped:
        """Anything with `__array__`, a shape and a dtype."""

        def __init__(self, array: Array) -> None:
            self.array = array
            self.shape = array.shape
            self.dtype = array.dtype

        def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
            return self.array

    def kernel(pair: Any, named: Any, flag: Any) -> Any:
        assert flag is None
        total = nl.add(loaded(pair[0]), loaded(pair[1]))
        total = nl.add(total, loaded(named["z"]))
        out = nl.ndarray(total.shape, total.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, total)
        return [out]

    def loaded(x: Any) -> Any:
        tile = nl.ndarray(x.shape, x.dtype)
        nisa.dma_copy(tile, x)
        return tile

    x, y, z = normal(8, 4), normal(8, 4) + 1, normal(8, 4) + 2
    transposed = np.asfortranarray(y)
    (found,) = nki.simulate(kernel)((x, transposed), {"z": Wrapped(z)}, None)
    np.testing.assert_array_equal(found, (x + y) + z)
    module = nki.trace(kernel)((x, y), {"z": tensor_spec("f32", (8, 4))}, None)
    assert "penguin.func @kernel(pair.0 = %" in str(module)


def test_mutable_arguments_change_in_the_callers_arrays() -> None:
    def kernel(x: Any, y: Any) -> Any:
        tile = nl.ndarray(x.shape, x.dtype)
        nisa.dma_copy(tile, x)
        nisa.dma_copy(y, tile)
        return y

    x, y = normal(8, 4), np.zeros((8, 4), np.float32)
    strided = np.zeros((8, 8), np.float32)
    nki.simulate(kernel)(x, y)
    nki.simulate(kernel)(x, strided[:, ::2])
    assert np.array_equal(y, x)
    assert np.array_equal(strided[:, ::2], x)
    assert not strided[:, 1::2].any()


def test_element_types_of_the_host() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, x)
        return out

    for dtype in ("bool", "int8", "uint16", "int32", "int64", "float16"):
        x = np.arange(8).astype(dtype).reshape(2, 4)
        assert np.array_equal(nki.simulate(kernel)(x), x)
    for kind in (ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn):
        x = np.arange(8).astype(kind).reshape(2, 4)
        found = nki.simulate(kernel)(x)
        assert found.dtype == x.dtype
        assert np.array_equal(found, x)
    with pytest.raises(NKITypeError, match="argument 'x' has dtype float64, which is"):
        nki.simulate(kernel)(np.zeros((2, 2)))


def test_element_types_of_the_language() -> None:
    assert nl.float32 == np.float32
    assert nl.bfloat16 == ml_dtypes.bfloat16
    assert nl.bfloat16 == "bfloat16"
    assert nl.float32 != nl.float16
    assert np.zeros(2, dtype=nl.bfloat16).dtype == np.dtype(ml_dtypes.bfloat16)
    assert (str(nl.int8), repr(nl.int8), nl.int8.itemsize) == ("int8", "nl.int8", 1)
    assert as_dtype(bool) is DType.UINT8
    assert {nl.float32: 1}[nl.float32] == 1
    with pytest.raises(NKITypeError, match="Unsupported dtype 'f7', expected one of"):
        as_dtype("f7")


def test_outside_of_a_kernel_every_name_refuses() -> None:
    modules: tuple[Any, ...] = (
        language,
        language_isa,
        functional_language,
        functional.isa,
    )
    lone = {"is_hbm", "is_on_chip", "is_psum", "is_sbuf", "ds", "par_dim"}
    lone |= {"nc", "spmd_dim", "finfo"}  # the grid of a launch, a type
    lone |= {"static_cast"}  # also of arrays
    checked = 0
    for module in modules:
        for name in module.__all__:
            value = getattr(module, name)
            if name in lone or isinstance(value, type) or not callable(value):
                continue
            with pytest.raises(NKIRuntimeError) as raised:
                value()
            assert raised.value.message == OUTSIDE_KERNEL
            checked += 1
    assert checked > 60
    with pytest.raises(NKIRuntimeError, match="calling NKI API outside of NKI kernels"):
        nl.exp(1.0)


def test_kernels_inside_kernels() -> None:
    def outer(x: Any) -> Any:
        return scale(x, 4.0)

    def gridded(x: Any) -> Any:
        return scale[2](x)

    x = normal(8, 4)
    assert np.array_equal(nki.simulate(outer)(x), x * 4)
    with pytest.raises(NKISyntaxError, match="inside another kernel is not supported"):
        nki.simulate(gridded)(x)


def test_two_threads_trace_at_once() -> None:
    inside = threading.Barrier(2, timeout=20)
    texts: list[str] = []

    def kernel(x: Any) -> Any:
        tile = nl.ndarray(x.shape, x.dtype)
        inside.wait()
        nisa.dma_copy(tile, x)
        inside.wait()
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, tile)
        return out

    def work(rows: int) -> None:
        texts.append(str(nki.trace(kernel)(tensor_spec("f32", (rows, 4)))))

    threads = [threading.Thread(target=work, args=(rows,)) for rows in (8, 16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(text.count("<8x4xf32") for text in texts) == [0, 3]
    assert sorted(text.count("<16x4xf32") for text in texts) == [0, 3]


def test_wrong_calls() -> None:
    x = normal(8, 4)
    with pytest.raises(NKITypeError, match=r"scale\(\) missing a required argument"):
        scale()
    with pytest.raises(NKIValueError, match="a launch grid has positive extents, got"):
        scale[0](x)
    with pytest.raises(NKIValueError, match="expected at most three positive extents"):
        scale[1, 1, 1, 1](x)
    with pytest.raises(NKITypeError, match="launch grid 'a' is not made of integers"):
        scale["a"](x)
    with pytest.raises(NKITypeError, match="expected a kernel, got int"):
        nki.simulate(3)
    with pytest.raises(NKIValueError, match="unknown target 'trn7'"):
        nki.jit(scale.function, platform_target="trn7")(x)
    with pytest.raises(NKITypeError, match="argument 'x': tensor has shape"):
        scale(np.zeros((0, 4), np.float32))


def test_observers_and_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[machine.Program] = []

    def observe(module: ModuleOp, program: machine.Program) -> None:
        seen.append(program)

    monkeypatch.setattr("xdsl_neuron.machine.hooks.observers", [observe])
    kernel = nki.jit(scale.function)
    kernel(normal(8, 4))
    assert len(seen) == 1
    token = machine.default_level.set("bir")
    try:
        kernel(normal(8, 4))
    finally:
        machine.default_level.reset(token)
    kernel(normal(8, 4))
    assert len({id(program) for program in seen}) == 2


def test_install_makes_imports_mean_ours() -> None:
    nki.install()
    nki.install()
    found: dict[str, ModuleType] = {
        name: importlib.import_module(name)
        for name in (
            "nki",
            "nki.language",
            "nki.isa",
            "nki.typing",
            "neuronxcc",
            "neuronxcc.nki",
            "neuronxcc.nki.language",
            "neuronxcc.nki.isa",
            "neuronxcc.nki.isa.constants",
            "neuronxcc.nki.typing",
            "neuronxcc.nki.compiler",
        )
    }
    assert found["nki.language"] is language
    assert found["nki"].__dict__["isa"] is language_isa
    assert found["nki"].__dict__["jit"] is nki.jit
    assert found["neuronxcc"].__dict__["nki"] is found["neuronxcc.nki"]
    assert found["neuronxcc.nki"].__dict__["jit"] is functional.jit
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("nki.runtime")
    assert "nki.kernel" not in sys.modules
