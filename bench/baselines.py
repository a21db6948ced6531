"""The same work by hand: one-shot NumPy, and a NumPy loop over the same tiles."""

from collections.abc import Callable
from dataclasses import dataclass

import ml_dtypes
import numpy as np

P = 128
BF16 = np.dtype(ml_dtypes.bfloat16)


@dataclass
class Case:
    """A kernel's name and arguments, its baselines and how far it may be off."""

    name: str
    kernel: str
    arguments: tuple
    one_shot: Callable[[], np.ndarray] | None
    tile_loop: Callable[[], np.ndarray]
    tolerance: float


def cases() -> list[Case]:
    """The benchmark cases."""
    return [
        _add(),
        _matmul("matmul 512^3 fp32", np.dtype(np.float32), 1e-3),
        _matmul("matmul 512^3 bf16", BF16, 0.6),
        _softmax(),
        _rmsnorm(),
        _strided(),
        _tiny(),
        _transpose(),
    ]


def _add() -> Case:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((1024, 1024), dtype=np.float32) for _ in range(2))
    out = np.empty_like(a)

    def tiles() -> np.ndarray:
        x, y, z = (np.empty((P, 512), np.float32) for _ in range(3))
        for r in range(0, 1024, P):
            for c in range(0, 1024, 512):
                np.copyto(x, a[r : r + P, c : c + 512])
                np.copyto(y, b[r : r + P, c : c + 512])
                np.add(x, y, out=z)
                out[r : r + P, c : c + 512] = z
        return out

    arguments = (a, b, np.zeros_like(a))
    return Case("add 1024x1024 fp32", "add", arguments, lambda: np.add(a, b), tiles, 0)


def _matmul(name: str, dtype: np.dtype, tolerance: float) -> Case:
    rng = np.random.default_rng(0)
    left, right = (
        rng.standard_normal((512, 512), dtype=np.float32).astype(dtype)
        for _ in range(2)
    )
    out = np.empty((512, 512), dtype)

    def one_shot() -> np.ndarray:
        product = left.T.astype(np.float32) @ right.astype(np.float32)
        return product.astype(dtype)

    def tiles() -> np.ndarray:
        total = np.empty((P, 512), np.float32)
        for m in range(0, 512, P):
            total[...] = 0
            for k in range(0, 512, P):
                x = left[k : k + P, m : m + P].copy()
                y = right[k : k + P, :].copy()
                if dtype != np.float32:
                    x, y = x.astype(np.float32), y.astype(np.float32)
                np.add(total, x.T @ y, out=total)
            out[m : m + P, :] = total.astype(dtype)
        return out

    arguments = (left, right, np.zeros((512, 512), dtype))
    return Case(name, "matmul", arguments, one_shot, tiles, tolerance)


def _softmax() -> Case:
    x = np.random.default_rng(0).standard_normal((2048, 1024), dtype=np.float32)
    out = np.empty_like(x)

    def one_shot() -> np.ndarray:
        exps = np.exp(x - x.max(1, keepdims=True))
        return exps * (1.0 / exps.sum(1, keepdims=True))

    def tiles() -> np.ndarray:
        tile, exps = (np.empty((P, 1024), np.float32) for _ in range(2))
        for r in range(0, 2048, P):
            np.copyto(tile, x[r : r + P])
            np.subtract(tile, tile.max(1, keepdims=True), out=exps)
            np.exp(exps, out=exps)
            np.multiply(exps, 1.0 / exps.sum(1, keepdims=True), out=exps)
            out[r : r + P] = exps
        return out

    arguments = (x, np.zeros_like(x))
    return Case("softmax 2048x1024", "softmax", arguments, one_shot, tiles, 1e-5)


def _rmsnorm() -> Case:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2048, 1024), dtype=np.float32)
    weight = np.broadcast_to(
        rng.standard_normal((1, 1024), dtype=np.float32), (P, 1024)
    ).copy()
    out = np.empty_like(x)
    eps = np.float32(1e-6)

    def one_shot() -> np.ndarray:
        mean = np.einsum("pf,pf->p", x, x)[:, None] * np.float32(1 / 1024)
        return x * (1.0 / np.sqrt(mean + eps)) * weight[:1]

    def tiles() -> np.ndarray:
        tile, work = (np.empty((P, 1024), np.float32) for _ in range(2))
        gain = weight.copy()
        for r in range(0, 2048, P):
            np.copyto(tile, x[r : r + P])
            np.multiply(tile, tile, out=work)
            mean = work.sum(1, keepdims=True) * np.float32(1 / 1024) + eps
            np.multiply(tile, 1.0 / np.sqrt(mean), out=work)
            np.multiply(work, gain, out=work)
            out[r : r + P] = work
        return out

    arguments = (x, weight, np.zeros_like(x), 1e-6)
    return Case("rmsnorm 2048x1024", "rmsnorm", arguments, one_shot, tiles, 1e-3)


def _strided() -> Case:
    x = np.random.default_rng(0).standard_normal((P, 1024), dtype=np.float32)

    def one_shot() -> np.ndarray:
        blocks = x.reshape(P, 32, 32).transpose(0, 2, 1)
        return np.ascontiguousarray(blocks).reshape(P, 1024)

    def tiles() -> np.ndarray:
        source, target = x.copy(), np.empty_like(x)
        for i in range(32):
            for j in range(32):
                target[:, j * 32 + i : j * 32 + i + 1] = source[
                    :, i * 32 + j : i * 32 + j + 1
                ]
        return target

    arguments = (x, np.zeros_like(x), 32, 32)
    return Case("1024 strided copies", "strided_copies", arguments, one_shot, tiles, 0)


def _tiny() -> Case:
    x = np.zeros((P, 64), np.float32)

    def tiles() -> np.ndarray:
        source, target = x.copy(), x.copy()
        for _ in range(10_000):
            target[:, 0:1] = source[:, 1:2]
        return target

    arguments = (x, np.zeros_like(x), 10_000)
    return Case("10000 [128,1] copies", "tiny_copies", arguments, None, tiles, 0)


def _transpose() -> Case:
    x = np.random.default_rng(0).standard_normal((512, 512), dtype=np.float32)
    out = np.empty_like(x)

    def tiles() -> np.ndarray:
        for i in range(0, 512, P):
            for j in range(0, 512, P):
                tile = x[i : i + P, j : j + P].copy()
                out[j : j + P, i : i + P] = tile.T.copy().copy()
        return out

    def one_shot() -> np.ndarray:
        return np.ascontiguousarray(x.T)

    arguments = (x, np.zeros_like(x))
    return Case("PE transpose 512x512", "pe_transpose", arguments, one_shot, tiles, 0)
