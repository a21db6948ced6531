"""
Causal attention in tiles, in the destination-passing generation of NKI.

A block of 128 queries meets the keys 128 at a time and keeps, per query, the largest
score so far, the sum of exponentials below it, and the weighted sum of values; when a
larger score comes, what was summed is scaled down. No matrix of all scores is needed.

    python examples/attention.py
"""

import math

import numpy as np

from xdsl_neuron.nki import install

install()

import nki  # noqa: E402
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402

BLOCK = 128


def sbuf(rows, columns):
    """An fp32 tile in SBUF."""
    return nl.ndarray((rows, columns), nl.float32, buffer=nl.sbuf)


def psum(rows, columns):
    """An fp32 tile in PSUM."""
    return nl.ndarray((rows, columns), nl.float32, buffer=nl.psum)


def load_transposed(x, first, rows):
    """Rows of (sequence, depth) as a tile (depth, rows), which the array contracts."""
    depth = x.shape[1]
    straight = sbuf(rows, depth)
    nisa.dma_copy(dst=straight, src=x[first : first + rows, :])
    turned = psum(depth, rows)
    nisa.nc_transpose(dst=turned, data=straight)
    tile = sbuf(depth, rows)
    nisa.tensor_copy(dst=tile, src=turned)
    return tile


def scores_of(query, key, scale, future):
    """Scaled scores (queries, keys); `future`: keys behind a query are left out."""
    rows, columns = query.shape[1], key.shape[1]
    product = psum(rows, columns)
    nisa.nc_matmul(dst=product, stationary=query, moving=key)
    scores = sbuf(rows, columns)
    nisa.activation(dst=scores, op=nl.copy, data=product, scale=scale)
    if future:
        nisa.affine_select(
            dst=scores,
            pattern=[[-1, columns]],
            offset=0,
            channel_multiplier=1,
            on_true_tile=scores,
            on_false_value=-1e30,
            cmp_op=nl.greater_equal,
        )
    return scores


def add_block(state, scores, value):
    """Takes a block of keys into the running maximum, sum and weighted values."""
    largest, total, output = state
    rows, columns = scores.shape
    depth = value.shape[1]

    below = sbuf(rows, 1)
    nisa.tensor_reduce(dst=below, op=nl.maximum, data=scores, axis=1)
    nisa.tensor_tensor(dst=below, data1=below, data2=largest, op=nl.maximum)
    shrink = sbuf(rows, 1)
    nisa.tensor_tensor(dst=shrink, data1=largest, data2=below, op=nl.subtract)
    nisa.activation(dst=shrink, op=nl.exp, data=shrink)
    nisa.tensor_copy(dst=largest, src=below)

    powers, sums = sbuf(rows, columns), sbuf(rows, 1)
    nisa.tensor_scalar(dst=powers, data=scores, op0=nl.subtract, operand0=below)
    nisa.activation(dst=powers, op=nl.exp, data=powers)
    nisa.tensor_reduce(dst=sums, op=nl.add, data=powers, axis=1)
    nisa.tensor_tensor(dst=total, data1=total, data2=shrink, op=nl.multiply)
    nisa.tensor_tensor(dst=total, data1=total, data2=sums, op=nl.add)

    turned, weights = psum(columns, rows), sbuf(columns, rows)
    nisa.nc_transpose(dst=turned, data=powers)
    nisa.tensor_copy(dst=weights, src=turned)
    weighted = psum(rows, depth)
    nisa.nc_matmul(dst=weighted, stationary=weights, moving=value)
    nisa.tensor_scalar(dst=output, data=output, op0=nl.multiply, operand0=shrink)
    nisa.tensor_tensor(dst=output, data1=output, data2=weighted, op=nl.add)


@nki.jit
def attention(q, k, v):
    """softmax(q k^T / sqrt(depth)) v, no key behind its query; all (length, depth)."""
    length, depth = q.shape
    out = nl.ndarray((length, depth), q.dtype, buffer=nl.shared_hbm)
    scale = 1 / math.sqrt(depth)
    for start in range(0, length, BLOCK):
        rows = min(BLOCK, length - start)
        query = load_transposed(q, start, rows)
        largest, total, output = sbuf(rows, 1), sbuf(rows, 1), sbuf(rows, depth)
        state = largest, total, output
        for tile, value in zip(state, (-1e30, 0.0, 0.0), strict=True):
            nisa.memset(dst=tile, value=value)
        for first in range(0, start + rows, BLOCK):
            columns = min(BLOCK, length - first)
            key = load_transposed(k, first, columns)
            value = sbuf(columns, depth)
            nisa.dma_copy(dst=value, src=v[first : first + columns, :])
            scores = scores_of(query, key, scale, future=first == start)
            add_block(state, scores, value)
        nisa.reciprocal(dst=total, data=total)
        nisa.tensor_scalar(dst=output, data=output, op0=nl.multiply, operand0=total)
        nisa.dma_copy(dst=out[start : start + rows, :], src=output)
    return out


def reference(q, k, v):
    """The same in fp64, with the matrix of all scores."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.T / math.sqrt(q.shape[1])
    scores[np.triu_indices(len(q), 1)] = -np.inf
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers @ v / powers.sum(axis=1, keepdims=True)


def main():
    """Compares with NumPy."""
    rng = np.random.default_rng(0)
    agree = True
    for shape in ((512, 64), (300, 128), (1, 1)):
        q, k, v = (rng.standard_normal(shape, dtype=np.float32) for _ in range(3))
        error = np.abs(attention(q, k, v) - reference(q, k, v)).max()
        # fp32 sums of up to 512 weighted values, each a few units in size.
        agree &= bool(error < 1e-5)
        print(f"{shape!s:12s} largest error {error:.1e}")
    print("attention agrees" if agree else "attention DISAGREES")
    return 0 if agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
