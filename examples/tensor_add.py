"""
Add two matrices of any size, in the functional generation of NKI.

Each program of the launch grid adds one block of 128 rows; columns are walked in tiles
of 512. The last tile in either direction is ragged, so loads and stores are masked.

    python examples/tensor_add.py
"""

import math

import ml_dtypes
import numpy as np

from xdsl_neuron.nki import install

install()

import neuronxcc.nki as nki  # noqa: E402
import neuronxcc.nki.language as nl  # noqa: E402

ROWS, COLUMNS = 128, 512


@nki.jit
def tensor_add(a, b):
    """c = a + b; the grid has one program per 128 rows."""
    height, width = a.shape
    c = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm, name="c")
    i_p = nl.program_id(0) * ROWS + nl.arange(ROWS)[:, None]
    for j in nl.affine_range(math.ceil(width / COLUMNS)):
        i_f = j * COLUMNS + nl.arange(COLUMNS)[None, :]
        inside = (i_p < height) & (i_f < width)
        a_tile = nl.load(a[i_p, i_f], mask=inside)
        b_tile = nl.load(b[i_p, i_f], mask=inside)
        nl.store(c[i_p, i_f], value=nl.add(a_tile, b_tile), mask=inside)
    return c


def reference(a, b):
    """The sum in fp32, rounded once to the inputs' type."""
    return (a.astype(np.float32) + b.astype(np.float32)).astype(a.dtype)


def main():
    """Compares with NumPy, bit for bit."""
    rng = np.random.default_rng(0)
    agree = True
    for dtype in (np.float32, np.float16, ml_dtypes.bfloat16):
        for shape in ((256, 1024), (300, 1000), (1, 1), (129, 513)):
            a = rng.standard_normal(shape, dtype=np.float32).astype(dtype)
            b = rng.standard_normal(shape, dtype=np.float32).astype(dtype)
            grid = (math.ceil(shape[0] / ROWS),)
            c = nki.simulate_kernel(tensor_add[grid], a, b)
            same = np.array_equal(c, reference(a, b))
            agree &= same
            name = np.dtype(dtype).name
            print(f"{name:9s} {shape!s:12s} {'equal' if same else 'DIFFERENT'}")
    print("tensor_add agrees exactly" if agree else "tensor_add DISAGREES")
    return 0 if agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
