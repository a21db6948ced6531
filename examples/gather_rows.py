"""
Gather rows of a table by an index, and add rows back to where they came from.

An index tile has one row number per partition. In the destination-passing generation
it is the `vector_offset` of an access pattern; in the functional one it indexes the
table. Adding back is a read-modify-write in HBM: equal indices add up.

    python examples/gather_rows.py
"""

import numpy as np

from xdsl_neuron.nki import install

install()

import neuronxcc.nki as nki1  # noqa: E402
import neuronxcc.nki.language as nl1  # noqa: E402
import neuronxcc.nki.typing as nt  # noqa: E402
import nki  # noqa: E402
import nki.isa as nisa  # noqa: E402
import nki.language as nl  # noqa: E402

ROWS = 128


@nki.jit
def gather_rows(table, index):
    """out[i] = table[index[i]]; the number of indices is a multiple of 128."""
    count, width = index.shape[0], table.shape[1]
    out = nl.ndarray((count, width), table.dtype, buffer=nl.shared_hbm)
    for t in nl.affine_range(count // ROWS):
        chosen = nl.ds(t * ROWS, ROWS)
        rows = nl.ndarray((ROWS, 1), nl.int32, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows, src=index[chosen, :])
        tile = nl.ndarray((ROWS, width), table.dtype, buffer=nl.sbuf)
        picked = table.ap([[width, ROWS], [1, width]], vector_offset=rows)
        nisa.dma_copy(dst=tile, src=picked)
        nisa.dma_copy(dst=out[chosen, :], src=tile)
    return out


@nki.jit
def scatter_add(table, index, values):
    """table[index[i]] += values[i], in order of i; `table` is updated in place."""
    count, width = values.shape
    for t in nl.sequential_range(count // ROWS):
        chosen = nl.ds(t * ROWS, ROWS)
        rows = nl.ndarray((ROWS, 1), nl.int32, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows, src=index[chosen, :])
        tile = nl.ndarray((ROWS, width), values.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=values[chosen, :])
        target = table.ap([[width, ROWS], [1, width]], vector_offset=rows)
        nisa.dma_compute(dst=target, srcs=[target, tile], reduce_op=nl.add)
    return table


@nki1.jit
def gather_rows_functional(table, index):
    """The same gather: the index tile subscripts the table."""
    count, width = index.shape[0], table.shape[1]
    out = nl1.ndarray((count, width), table.dtype, buffer=nl1.shared_hbm)
    i_p = nl1.arange(ROWS)[:, None]
    i_f = nl1.arange(width)[None, :]
    for t in nl1.affine_range(count // ROWS):
        rows = nl1.load(index[t * ROWS + i_p, nl1.arange(1)[None, :]])
        tile = nl1.load(table[rows[i_p, 0], i_f])
        nl1.store(out[t * ROWS + i_p, i_f], value=tile)
    return out


@nki1.jit
def scatter_add_functional(table: nt.mutable_tensor, index, values):
    """The same addition, with `nl.atomic_rmw`."""
    count, width = values.shape
    i_p = nl1.arange(ROWS)[:, None]
    i_f = nl1.arange(width)[None, :]
    for t in nl1.sequential_range(count // ROWS):
        rows = nl1.load(index[t * ROWS + i_p, nl1.arange(1)[None, :]])
        tile = nl1.load(values[t * ROWS + i_p, i_f])
        nl1.atomic_rmw(table[rows[i_p, 0], i_f], tile, op=np.add)
    return table


def main():
    """Compares with NumPy, exactly: the sums are of small integers."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((1000, 256), dtype=np.float32)
    index = rng.integers(0, 1000, (384, 1), dtype=np.int32)
    agree = True
    for kernel in (gather_rows, gather_rows_functional):
        same = np.array_equal(kernel(table, index), table[index[:, 0]])
        agree &= same
        print(f"{kernel.__name__}: {'equal' if same else 'DIFFERENT'}")

    counts = rng.integers(0, 100, (50, 64)).astype(np.float32)
    hits = rng.integers(0, 50, (256, 1), dtype=np.int32)
    values = rng.integers(0, 100, (256, 64)).astype(np.float32)
    want = counts.copy()
    np.add.at(want, hits[:, 0], values)
    for kernel in (scatter_add, scatter_add_functional):
        got = counts.copy()
        kernel(got, hits, values)
        same = np.array_equal(got, want)
        agree &= same
        print(f"{kernel.__name__}: {'equal' if same else 'DIFFERENT'}")
    print("gather_rows agrees exactly" if agree else "gather_rows DISAGREES")
    return 0 if agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
