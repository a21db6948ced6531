"""`nki.jit(compile_config=, specialization_config=)`, and the degree of LNC."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import functional, isa, language
from xdsl_neuron.nki.compiler import (
    AddressRotation,
    CompileConfig,
    SpecializationConfig,
)
from xdsl_neuron.testing import assert_kernel_ok, texts
from xdsl_neuron.tracer.errors import NKIError

nl: Any = language
nisa: Any = isa

A = np.arange(12, dtype=np.float32).reshape(3, 4)
ALL = CompileConfig(
    address_rotation=AddressRotation.DISABLE,
    non_ssa_legalization=True,
    dead_code_elim=True,
    barrier_check=True,
    prefetch_auto=True,
    nki_alloc_fallback=False,
)
WARNS = SpecializationConfig(allow_nested_config_override=True)


def copied(a: Any) -> Any:
    out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, a)
    return out


def calling(inner: Any) -> Callable[[Any], Any]:
    def kernel(a: Any) -> Any:
        return inner(a)

    return kernel


def test_a_config_changes_nothing() -> None:
    plain = texts(nki.jit(copied).trace(A))
    assert texts(nki.jit(copied, compile_config=ALL).trace(A)) == plain

    @nki.jit(compile_config=ALL, specialization_config=WARNS)
    def decorated(a: Any) -> Any:
        return copied(a)

    assert_kernel_ok(decorated, A, expected=A)
    again = nki.jit(nki.jit(copied), compile_config=ALL)
    assert texts(again.trace(A)) == plain
    assert texts(nki.jit(fn=copied).trace(A)) == plain


def test_documented_defaults() -> None:
    config = CompileConfig()
    assert config.address_rotation is AddressRotation.AUTO
    assert (config.prefetch_auto, config.nki_alloc_fallback) == (False, True)
    assert SpecializationConfig().allow_nested_config_override is False
    assert nki.compiler.CompileConfig is CompileConfig
    assert [each.name for each in AddressRotation] == ["AUTO", "ENABLE", "DISABLE"]


WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: nki.jit(copied, compile_config=WARNS), "`compile_config` must be a Compi"),
    (lambda: nki.jit(copied, specialization_config=True), "must be a Specialization"),
    (lambda: nki.jit(copied, compile_config={}), "must be a CompileConfig, got dict"),
    (lambda: nki.jit(copied, config=ALL), "unexpected keyword argument 'config'"),
    (
        lambda: functional.jit(copied, compile_config=ALL),
        "unexpected keyword argument 'compile_config'",
    ),
]
FIELDS: list[tuple[dict[str, Any], str]] = [
    (
        {"dead_code_elim": 1},
        "`dead_code_elim of CompileConfig` must be a bool, got int",
    ),
    ({"address_rotation": "AUTO"}, "must be a AddressRotation, got str"),
    ({"address_rotation": None}, "must be a AddressRotation, got NoneType"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(NKIError, match=message) as raised:
        call()
    assert isinstance(raised.value, TypeError)


@pytest.mark.parametrize(("given", "message"), FIELDS)
def test_refused_fields(given: dict[str, Any], message: str) -> None:
    with pytest.raises(NKIError, match=message) as raised:
        CompileConfig(**given)
    assert isinstance(raised.value, TypeError)
    given_nothing: dict[str, Any] = {"allow_nested_config_override": None}
    with pytest.raises(NKIError, match="allow_nested_config_override of Speciali"):
        SpecializationConfig(**given_nothing)


def test_prefetching_is_automatic_or_by_ring_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NKI_PREFETCH_RING_SIZE", "2")
    nki.jit(copied).trace(A)
    with pytest.raises(NKIError, match="NKI_PREFETCH_RING_SIZE, which is set, are mu"):
        nki.jit(copied, compile_config=ALL).trace(A)


# -- nested kernels ------------------------------------------------------------------


def test_a_nested_config_that_disagrees_is_refused() -> None:
    inner = nki.jit(copied, compile_config=CompileConfig(barrier_check=True))
    with pytest.raises(NKIError, match="disagrees with the one of the ker") as raised:
        nki.jit(calling(inner)).trace(A)
    assert raised.value.location is not None
    assert raised.value.location.file == __file__
    other = CompileConfig(nki_alloc_fallback=False)
    with pytest.raises(NKIError, match="barrier_check=True for False, nki_alloc_fal"):
        nki.jit(calling(inner), compile_config=other).trace(A)
    with pytest.raises(NKIError, match="disagrees"):
        nki.simulate_ranks(nki.jit(calling(inner)), [[A]])


def test_a_nested_config_that_agrees() -> None:
    config, same = CompileConfig(barrier_check=True), CompileConfig(barrier_check=True)
    inner = nki.jit(copied, compile_config=config)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nki.jit(calling(inner), compile_config=same).trace(A)
        nki.jit(calling(nki.jit(copied)), compile_config=config).trace(A)
        default = nki.jit(copied, compile_config=CompileConfig())
        nki.jit(calling(default)).trace(A)
        once = nki.jit(calling(inner), compile_config=same)
        nki.jit(calling(once), compile_config=same).trace(A)
        assert nki.simulate_ranks(nki.jit(calling(inner), compile_config=same), [[A]])


def test_a_nested_config_that_is_overridden_warns() -> None:
    inner = nki.jit(copied, compile_config=ALL)
    outer = nki.jit(calling(inner), specialization_config=WARNS)
    with pytest.warns(UserWarning, match="'copied' disagrees") as caught:
        found = outer.trace(A)
    assert caught[0].filename == __file__
    assert texts(found) == texts(nki.jit(calling(copied)).trace(A))
    # Only that of the outermost kernel counts.
    middle = nki.jit(calling(inner), specialization_config=WARNS)
    with pytest.raises(NKIError, match="disagrees"):
        nki.jit(calling(middle)).trace(A)
    # The launch and the options of a kernel keep what it was decorated with.
    for kernel in (outer[1], outer.with_options(max_instructions=9)):
        with pytest.warns(UserWarning, match="'copied' disagrees"):
            kernel.trace(A)


# -- the degree of LNC ---------------------------------------------------------------


def by_core(a: Any) -> Any:
    cores = nl.num_programs()
    out = nl.ndarray((cores, *a.shape), a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out[nl.program_id(0)], a)
    return out


@pytest.mark.parametrize(
    ("degree", "launched", "cores"),
    [("", 0, 1), ("1", 0, 1), ("2", 0, 2), ("2", 2, 2), ("1", 1, 1), ("", 2, 2)],
)
def test_the_degree_in_the_environment(
    degree: str, launched: int, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", degree)
    kernel = nki.jit(by_core)
    found = (kernel[launched] if launched else kernel)(A)
    np.testing.assert_array_equal(found, np.stack([A] * cores))


def test_one_kernel_for_several_degrees(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = nki.jit(by_core)
    for degree in ("1", "2", "1"):
        monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", degree)
        assert kernel(A).shape[0] == int(degree)
        assert nki.simulate_ranks(kernel, [[A]])[0].shape[0] == int(degree)


def test_degrees_that_do_not_match(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = nki.jit(by_core)
    for degree, launched in (("1", 2), ("2", 1), ("2", (2, 2))):
        monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", degree)
        with pytest.raises(
            NKIError, match=f"NEURON_LOGICAL_NC_CONFIG is {degree}: the"
        ):
            kernel[launched].trace(A)
        with pytest.raises(NKIError, match=r"launched on \[.*the degrees of LNC must"):
            kernel[launched](A)
    monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", "3")
    with pytest.raises(
        NKIError, match="NEURON_LOGICAL_NC_CONFIG is '3', expected 1 or"
    ):
        kernel(A)


def test_the_functional_generation_has_no_degree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fl: Any = functional.language

    def kernel(a: Any) -> Any:
        out = fl.ndarray(a.shape, a.dtype, buffer=fl.shared_hbm)
        fl.store(out, fl.load(a))
        return out

    monkeypatch.setenv("NEURON_LOGICAL_NC_CONFIG", "2")
    np.testing.assert_array_equal(functional.jit(kernel)(A), A)
    assert functional.jit(kernel)[3].trace(A)
