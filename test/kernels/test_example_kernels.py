"""The example kernels at every level, from re-read text, against NumPy."""

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import xdsl_neuron.nki
from xdsl_neuron.testing import assert_kernel_ok

ROOT = Path(__file__).parents[2]
xdsl_neuron.nki.install()
sys.path.insert(0, str(ROOT / "examples"))

import attention  # noqa: E402
import convolution  # noqa: E402
import gather_rows  # noqa: E402
import layer_norm  # noqa: E402
import matmul  # noqa: E402
import matmul_tiles  # noqa: E402
import scan  # noqa: E402
import softmax  # noqa: E402
import tensor_add  # noqa: E402

Array = npt.NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float16), BF16]


def normal(*shape: int, dtype: Any = np.float32) -> Array:
    """Reproducible inputs."""
    return np.random.default_rng(11).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(128, 512), (300, 1000), (1, 1)])
def test_tensor_add(shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
    a, b = normal(*shape, dtype=dtype), normal(*shape, dtype=dtype)[::-1].copy()
    grid = (math.ceil(shape[0] / tensor_add.ROWS),)
    expected = tensor_add.reference(a, b)
    assert_kernel_ok(tensor_add.tensor_add, a, b, expected=expected, grid=grid)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-3), (BF16, 0.6)])
def test_matmul(dtype: Any, tolerance: float) -> None:
    # bf16 outputs near 64 are 0.5 apart; fp32 sums of 512 products err below 1e-3.
    left, right = normal(512, 512, dtype=dtype), normal(512, 513, dtype=dtype)[:, 1:]
    right = right.copy()
    expected = left.astype(np.float64).T @ right.astype(np.float64)
    assert_kernel_ok(matmul.matmul, left, right, expected=expected, atol=tolerance)


@pytest.mark.parametrize("shape", [(1, 1, 1), (129, 127, 513), (300, 130, 40)])
def test_matmul_over_tile_grids(shape: tuple[int, int, int]) -> None:
    depth, height, width = shape
    left, right = normal(depth, height), normal(depth, width + 1)[:, 1:].copy()
    expected = matmul_tiles.reference(left, right)
    kernel = matmul_tiles.matmul_tiles
    assert_kernel_ok(kernel, left, right, expected=expected, atol=1e-3)


@pytest.mark.parametrize("shape", [(200, 300), (1, 1)])
def test_softmax(shape: tuple[int, int]) -> None:
    x = normal(*shape) * 10
    # A few roundings of numbers up to 1.
    assert_kernel_ok(softmax.softmax, x, expected=softmax.reference(x), atol=1e-6)


@pytest.mark.parametrize("shape", [(200, 700), (3, 2)])
def test_layer_norm(shape: tuple[int, int]) -> None:
    x, weights = normal(*shape), normal(2, shape[1])
    gamma, beta = weights[:1].copy(), weights[1:].copy()
    expected = layer_norm.reference(x, gamma, beta)
    # fp32 sums of up to 700 terms; results are below 20.
    assert_kernel_ok(
        layer_norm.layer_norm, x, gamma, beta, expected=expected, atol=2e-5
    )


@pytest.mark.parametrize("shape", [(200, 64), (1, 1)])
def test_attention(shape: tuple[int, int]) -> None:
    q, k, v = normal(*shape), normal(*shape)[::-1].copy(), normal(*shape) + 1
    expected = attention.reference(q, k, v)
    # fp32 sums of up to 200 weighted values, each a few units in size.
    assert_kernel_ok(attention.attention, q, k, v, expected=expected, atol=1e-5)


def test_convolution() -> None:
    image, weights = normal(20, 11, 14), normal(20, 3, 2, 30)
    expected = convolution.reference(image, weights)
    # fp32 sums of 120 products of about 1.
    assert_kernel_ok(
        convolution.convolution, image, weights, expected=expected, atol=1e-4
    )


@pytest.mark.parametrize("shape", [(130, 600), (1, 1)])
def test_scan(shape: tuple[int, int]) -> None:
    decay, inputs = np.abs(normal(*shape)) / 4, normal(*shape)
    expected = scan.reference(decay, inputs)
    assert_kernel_ok(scan.scan, decay, inputs, expected=expected)


@pytest.mark.parametrize("name", ["gather_rows", "gather_rows_functional"])
def test_gather(name: str) -> None:
    table = normal(500, 40)
    index = np.random.default_rng(5).integers(0, 500, (256, 1), dtype=np.int32)
    kernel = getattr(gather_rows, name)
    assert_kernel_ok(kernel, table, index, expected=table[index[:, 0]])


@pytest.mark.parametrize("name", ["scatter_add", "scatter_add_functional"])
def test_scatter_add_with_equal_indices(name: str) -> None:
    rng = np.random.default_rng(5)
    table = np.round(rng.standard_normal((50, 40)) * 8).astype(np.float32)
    index = rng.integers(0, 50, (256, 1), dtype=np.int32)
    values = np.round(rng.standard_normal((256, 40)) * 8).astype(np.float32)
    expected = table.copy()
    np.add.at(expected, index[:, 0], values)
    kernel = getattr(gather_rows, name)
    assert_kernel_ok(kernel, table.copy(), index, values, expected=expected)


def test_each_level_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    """`neuron-trace`, `neuron-opt` and `neuron-run` as commands, bit for bit."""
    scripts = Path(sys.executable).parent

    def command(*words: str | Path) -> None:
        subprocess.run([scripts / words[0], *words[1:]], check=True, cwd=tmp_path)

    arrays = {"lhsT": normal(128, 128), "rhs": normal(128, 512)}
    np.savez(tmp_path / "in.npz", **arrays)
    kernel = f"{ROOT / 'examples' / 'matmul.py'}:matmul"
    given = ("--arg", "lhsT=f32[128,128]", "--arg", "rhs=f32[128,512]")
    command("neuron-trace", kernel, *given, "--target", "trn2", "-o", "penguin.mlir")
    command("neuron-opt", "penguin.mlir", "-p", "penguin-to-bir", "-o", "bir.mlir")
    command("neuron-opt", "bir.mlir", "-p", "bir-to-dma", "-o", "dma.mlir")
    results: list[bytes] = []
    for level in ("penguin", "bir", "dma"):
        files = ("--inputs", "in.npz", "--outputs", f"{level}.npz")
        command("neuron-run", f"{level}.mlir", *files)
        with np.load(tmp_path / f"{level}.npz") as found:
            results.append(found["out"].tobytes())
    assert results[0] == results[1] == results[2]
    expected = arrays["lhsT"].T @ arrays["rhs"]
    found = np.frombuffer(results[0], np.float32).reshape(128, 512)
    np.testing.assert_allclose(found, expected, atol=1e-4)
