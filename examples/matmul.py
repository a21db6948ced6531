"""
Multiply matrices in tiles, in the destination-passing generation of NKI.

The tensor engine contracts over partitions, so the left matrix is given transposed:
`lhsT` is [K, M]. Products of the K tiles accumulate in one PSUM bank.

    python examples/matmul.py
"""

import ml_dtypes
import numpy as np

from xdsl_neuron.nki import install

install()

import nki  # noqa: E402
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402

TILE_K, TILE_M, TILE_N = 128, 128, 512


@nki.jit
def matmul(lhsT, rhs):
    """lhsT.T @ rhs for K and M in multiples of 128, N in multiples of 512."""
    depth, height = lhsT.shape
    _, width = rhs.shape
    out = nl.ndarray((height, width), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(height // TILE_M):
        rows = nl.ds(m * TILE_M, TILE_M)
        for n in nl.affine_range(width // TILE_N):
            columns = nl.ds(n * TILE_N, TILE_N)
            acc = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for k in nl.affine_range(depth // TILE_K):
                inner = nl.ds(k * TILE_K, TILE_K)
                left = nl.ndarray((TILE_K, TILE_M), lhsT.dtype, buffer=nl.sbuf)
                right = nl.ndarray((TILE_K, TILE_N), rhs.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=left, src=lhsT[inner, rows])
                nisa.dma_copy(dst=right, src=rhs[inner, columns])
                # The first product overwrites the fresh PSUM tile, later ones add.
                nisa.nc_matmul(dst=acc, stationary=left, moving=right)
            result = nl.ndarray((TILE_M, TILE_N), out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=acc)
            nisa.dma_copy(dst=out[rows, columns], src=result)
    return out


def reference(lhsT, rhs):
    """The product in float64."""
    return lhsT.astype(np.float64).T @ rhs.astype(np.float64)


def main():
    """Compares with NumPy: relative to the largest element, one part in 2^20 or 2^7."""
    rng = np.random.default_rng(0)
    agree = True
    for dtype, tolerance in ((np.float32, 2**-20), (ml_dtypes.bfloat16, 2**-7)):
        for depth, height, width in ((512, 512, 512), (1024, 2048, 512)):
            lhsT = rng.standard_normal((depth, height), np.float32).astype(dtype)
            rhs = rng.standard_normal((depth, width), np.float32).astype(dtype)
            want = reference(lhsT, rhs)
            got = matmul(lhsT, rhs).astype(np.float64)
            error = np.abs(got - want).max() / np.abs(want).max()
            agree &= bool(error <= tolerance)
            name = np.dtype(dtype).name
            print(f"{name:9s} {depth}x{height}x{width}: relative error {error:.1e}")
    print("matmul agrees" if agree else "matmul DISAGREES")
    return 0 if agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
