"""Kernels that count what they execute: `benchmark`, `baremetal`, `profile`."""

from typing import Any

import numpy as np
import pytest

import xdsl_neuron.nki.functional as nki
import xdsl_neuron.nki.functional.language as functional_language
from xdsl_neuron.nki import tensor_spec
from xdsl_neuron.nki.counts import Counts, count
from xdsl_neuron.tracer.errors import NKIRuntimeError

nl: Any = functional_language

ROWS, COLUMNS = 300, 64


def doubled(x: Any) -> Any:
    """Tiles of 128 rows, the last one of 44."""
    out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
    i, j = nl.mgrid[0:128, 0:COLUMNS]
    for block in nl.affine_range(3):
        rows = block * 128 + i
        tile = nl.load(x[rows, j], mask=rows < ROWS)
        nl.store(out[rows, j], tile * 2.0, mask=rows < ROWS)
    return out


def test_counts_follow_loops_and_masks() -> None:
    found = count(nki.trace(doubled)(tensor_spec("f32", (ROWS, COLUMNS))))
    assert found.exact
    assert found.instructions == {
        "sb_atom_load": 3,
        "tensor_scalar_ptr": 3,
        "sb_atom_store": 3,
    }
    assert found.bytes_read == found.bytes_written == ROWS * COLUMNS * 4


def test_a_mask_that_drops_iterations() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        for block in nl.affine_range(4):
            nl.store(out, nl.load(x), mask=block < 1)
        return out

    found = count(nki.trace(kernel)(tensor_spec("f32", (8, 4))))
    assert found.instructions == {"sb_atom_load": 4, "sb_atom_store": 1}
    assert (found.bytes_read, found.bytes_written) == (4 * 128, 128)


def test_a_mask_that_is_no_box_leaves_a_bound() -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        i, j = nl.mgrid[0:8, 0:4]
        nl.store(out[i, j], nl.load(x), mask=i < j)
        return out

    found = count(nki.trace(kernel)(tensor_spec("f32", (8, 4))))
    assert not found.exact
    assert "(a bound: some loops or masks are not counted)" in str(found)


def result_of(kernel: Any) -> Any:
    return kernel.benchmark_result


@pytest.mark.parametrize("name", ["baremetal", "benchmark", "profile"])
def test_measured_kernels_run(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    decorator: Any = getattr(nki, name)
    x = np.ones((ROWS, COLUMNS), np.float32)
    made: tuple[Any, ...] = (
        decorator(doubled, warmup=2, iters=5, save_neff_name="x.neff"),
        decorator(working_directory="x", platform_target="trn1")(nki.jit(doubled)),
    )
    for kernel in made:
        assert result_of(kernel) is None
        assert np.array_equal(kernel(x), 2 * x)
        counts: Counts = result_of(kernel).counts
        assert counts.total == 9
        assert np.array_equal(kernel[1](x), 2 * x)
        with pytest.raises(NKIRuntimeError, match="latency is not modelled"):
            result_of(kernel).nc_latency
    printed = capsys.readouterr().out
    if name == "baremetal":
        assert printed == ""
    else:
        assert printed.startswith("doubled: latency is not modelled\n")
        assert "76800 bytes read from HBM" in printed


def test_measured_kernels_inside_kernels() -> None:
    @nki.benchmark
    def inner(tile: Any) -> Any:
        return tile * 2.0

    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        nl.store(out, inner(nl.load(x)))
        return out

    x = np.ones((8, 4), np.float32)
    assert np.array_equal(nki.simulate_kernel(kernel, x), 2 * x)
