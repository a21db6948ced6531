"""
Multiply matrices of any size over grids of tiles, in generation 0.7 of NKI.

`nl.tiles` counts a tensor in tiles, of which the last ones are as large as the tensor
leaves them: the loops need no rest of their own. A grid made by `nl.alloc_tiles` on
chip holds a column of tiles, also where that has more rows than SBUF has partitions.

    python examples/matmul_tiles.py
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
def matmul_tiles(lhsT, rhs):
    """lhsT.T @ rhs for lhsT [K, M] and rhs [K, N]."""
    lefts = nl.tiles(lhsT, tile_shape=(TILE_K, TILE_M))
    rights = nl.tiles(rhs, tile_shape=(TILE_K, TILE_N))
    outs = nl.alloc_tiles(
        tile_shape=(TILE_M, TILE_N),
        element_shape=(lhsT.shape[1], rhs.shape[1]),
        buffer=nl.shared_hbm,
        dtype=lhsT.dtype,
    )
    for n in range(rights.shape[1]):
        column = tiles_in_sbuf(rights[:, n])
        for m in range(lefts.shape[1]):
            row = tiles_in_sbuf(lefts[:, m])
            shape = outs[m, n].element_shape
            acc = nl.ndarray(shape, nl.float32, buffer=nl.psum)
            for k in range(lefts.shape[0]):
                # The first product overwrites the fresh PSUM tile, later ones add.
                nisa.nc_matmul(acc, stationary=row[k].data, moving=column[k].data)
            result = nl.ndarray(shape, outs.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=acc)
            nisa.dma_copy(dst=outs[m, n].data, src=result)
    return outs.data


def tiles_in_sbuf(source):
    """A column of tiles, copied to SBUF tile by tile."""
    held = nl.alloc_tiles(
        tile_shape=source.tile_shape,
        element_shape=source.element_shape,
        buffer=nl.sbuf,
        dtype=source.dtype,
    )
    for k in range(held.shape[0]):
        nisa.dma_copy(dst=held[k].data, src=source[k].data)
    return held


def reference(lhsT, rhs):
    """The product in float64."""
    return lhsT.astype(np.float64).T @ rhs.astype(np.float64)


def main():
    """Compares with NumPy: relative to the largest element, one part in 2^20 or 2^7."""
    rng = np.random.default_rng(0)
    agree = True
    for dtype, tolerance in ((np.float32, 2**-20), (ml_dtypes.bfloat16, 2**-7)):
        for depth, height, width in ((512, 512, 512), (700, 300, 1100)):
            lhsT = rng.standard_normal((depth, height), np.float32).astype(dtype)
            rhs = rng.standard_normal((depth, width), np.float32).astype(dtype)
            want = reference(lhsT, rhs)
            got = matmul_tiles(lhsT, rhs).astype(np.float64)
            error = np.abs(got - want).max() / np.abs(want).max()
            agree &= bool(error <= tolerance)
            name = np.dtype(dtype).name
            print(f"{name:9s} {depth}x{height}x{width}: relative error {error:.1e}")
    print("matmul_tiles agrees" if agree else "matmul_tiles DISAGREES")
    return 0 if agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
