"""
Softmax over the rows of a matrix, in the functional generation of NKI.

128 rows at a time, the last tile ragged: a mask keeps its loads and stores inside. The
largest element of a row is subtracted first, so the exponentials cannot overflow.

    python examples/softmax.py
"""

import math

import numpy as np

from xdsl_neuron.nki import install

install()

import neuronxcc.nki as nki  # noqa: E402
import neuronxcc.nki.language as nl  # noqa: E402


@nki.jit
def softmax(x):
    """y[i, j] = exp(x[i, j]) / sum over k of exp(x[i, k])."""
    height, width = x.shape
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    rows = nl.tile_size.pmax
    i_p = nl.arange(rows)[:, None]
    i_f = nl.arange(width)[None, :]
    for t in nl.affine_range(math.ceil(height / rows)):
        inside = t * rows + i_p < height
        tile = nl.load(x[t * rows + i_p, i_f], mask=inside)
        largest = nl.max(tile, axis=1, keepdims=True)
        powers = nl.exp(tile - largest)
        total = nl.sum(powers, axis=1, keepdims=True)
        nl.store(y[t * rows + i_p, i_f], value=powers / total, mask=inside)
    return y


def reference(x):
    """The same in fp64."""
    wide = x.astype(np.float64)
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def main():
    """Compares with NumPy."""
    rng = np.random.default_rng(0)
    agree = True
    for shape in ((256, 1024), (300, 777), (1, 1), (5, 2000)):
        x = rng.standard_normal(shape, dtype=np.float32) * 10
        error = np.abs(nki.simulate_kernel(softmax, x) - reference(x)).max()
        # A few roundings of numbers up to 1.
        agree &= bool(error < 1e-6)
        print(f"{shape!s:12s} largest error {error:.1e}")
    print("softmax agrees" if agree else "softmax DISAGREES")
    return 0 if agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
