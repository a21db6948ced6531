"""
Layer normalisation, in the destination-passing generation of NKI.

The vector engine takes mean and variance of at most 512 elements in one instruction
(`bn_stats`) and joins those of several (`bn_aggr`). The weights are one row, repeated
over all partitions by an access pattern whose first step is 0.

    python examples/layer_norm.py
"""

import math

import numpy as np

from xdsl_neuron.nki import install

install()

import nki  # noqa: E402
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402

EPSILON = 1e-5


def load_repeated(row, partitions):
    """A tile with the (1, n) row in each partition."""
    width = row.shape[1]
    tile = nl.ndarray((partitions, width), row.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=row.ap([[0, partitions], [1, width]]))
    return tile


@nki.jit
def layer_norm(x, gamma, beta):
    """y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, row by row."""
    height, width = x.shape
    y = nl.ndarray((height, width), x.dtype, buffer=nl.shared_hbm)
    pmax, fmax = nl.tile_size.pmax, nl.tile_size.bn_stats_fmax
    chunks = math.ceil(width / fmax)
    scale, shift = load_repeated(gamma, pmax), load_repeated(beta, pmax)
    epsilon = nl.ndarray((pmax, 1), nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=epsilon, value=EPSILON)

    for first in range(0, height, pmax):
        rows = min(pmax, height - first)
        tile = nl.ndarray((rows, width), nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[first : first + rows, :])

        parts = nl.ndarray((rows, 6 * chunks), nl.float32, buffer=nl.sbuf)
        for c in range(chunks):
            some = tile[:, c * fmax : min(c * fmax + fmax, width)]
            nisa.bn_stats(dst=parts[:, 6 * c : 6 * c + 6], data=some)
        moments = nl.ndarray((rows, 2), nl.float32, buffer=nl.sbuf)
        nisa.bn_aggr(dst=moments, data=parts)

        inverse = nl.ndarray((rows, 1), nl.float32, buffer=nl.sbuf)
        nisa.activation(
            dst=inverse, op=nl.rsqrt, data=moments[:, 1:2], bias=epsilon[0:rows, :]
        )
        nisa.tensor_scalar(
            dst=tile,
            data=tile,
            op0=nl.subtract,
            operand0=moments[:, 0:1],
            op1=nl.multiply,
            operand1=inverse,
        )
        nisa.tensor_tensor(dst=tile, data1=tile, data2=scale[0:rows, :], op=nl.multiply)
        result = nl.ndarray((rows, width), x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=result, data1=tile, data2=shift[0:rows, :], op=nl.add)
        nisa.dma_copy(dst=y[first : first + rows, :], src=result)
    return y


def reference(x, gamma, beta):
    """The same in fp64."""
    wide = x.astype(np.float64)
    mean = wide.mean(axis=1, keepdims=True)
    variance = wide.var(axis=1, keepdims=True)
    return (wide - mean) / np.sqrt(variance + EPSILON) * gamma + beta


def main():
    """Compares with NumPy."""
    rng = np.random.default_rng(0)
    agree = True
    for shape in ((256, 1024), (200, 700), (1, 3)):
        x = rng.standard_normal(shape, dtype=np.float32) * 3 + 1
        gamma = rng.standard_normal((1, shape[1]), dtype=np.float32)
        beta = rng.standard_normal((1, shape[1]), dtype=np.float32)
        found = layer_norm(x, gamma, beta)
        error = np.abs(found - reference(x, gamma, beta)).max()
        # fp32 sums of up to 1024 terms; results are below 20.
        agree &= bool(error < 2e-5)
        print(f"{shape!s:12s} largest error {error:.1e}")
    print("layer_norm agrees" if agree else "layer_norm DISAGREES")
    return 0 if agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
