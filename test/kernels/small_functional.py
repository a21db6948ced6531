"""Small kernels of the functional generation, each a trap of its own."""

import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc import nki


@nki.jit
def rolled_matmul(lhsT, rhs):
    """A matmul that accumulates in PSUM over a rolled loop."""
    k_size, m_size = lhsT.shape
    n_size = rhs.shape[1]
    out = nl.ndarray((m_size, n_size), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.zeros((m_size, n_size), dtype=nl.float32, buffer=nl.psum)
    for k in nl.affine_range(k_size // 128):
        left = nl.load(lhsT[k * 128 : (k + 1) * 128, :])
        right = nl.load(rhs[k * 128 : (k + 1) * 128, :])
        total += nisa.nc_matmul(left, right)
    nl.store(out, nl.copy(total))
    return out


@nki.jit
def causal(x):
    """A mask that is no box: the lower triangle is doubled, the rest stays 1."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(rows)[:, None]
    i_f = nl.arange(columns)[None, :]
    tile = nl.full((rows, columns), 1.0, dtype=x.dtype)
    loaded = nl.load(x[i_p, i_f])
    tile[i_p, i_f] = nl.multiply(loaded, 2.0, mask=(i_p >= i_f))
    nl.store(out[i_p, i_f], value=tile)
    return out


@nki.jit
def causal_load(x, y):
    """The lower triangle of `x` over the upper one of `y`."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(rows)[:, None]
    i_f = nl.arange(columns)[None, :]
    upper = nl.load(y[i_p, i_f])
    nl.store(out[i_p, i_f], value=upper)
    lower = nl.load(x[i_p, i_f], mask=(i_p >= i_f))
    nl.store(out[i_p, i_f], value=lower, mask=(i_p >= i_f))
    return out


@nki.jit
def ragged(x):
    """A masked load, an unmasked operation, a store of the defined rows only."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(128)[:, None]
    i_f = nl.arange(columns)[None, :]
    for i in nl.affine_range((rows + 127) // 128):
        inside = i * 128 + i_p < rows
        tile = nl.load(x[i * 128 + i_p, i_f], mask=inside)
        exps = nl.exp(tile)
        nl.store(out[i * 128 + i_p, i_f], value=exps, mask=inside)
    return out


@nki.jit
def many_trips(x):
    """A rolled loop of as many trips as `x` has rows."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    i_f = nl.arange(columns)[None, :]
    i_p = nl.arange(1)[:, None]
    for i in nl.affine_range(rows):
        row = nl.load(x[i + i_p, i_f])
        nl.store(out[i + i_p, i_f], value=nl.add(row, 1.0))
    return out


@nki.jit
def running_sum(x):
    """A tile allocated once and read and written by every iteration."""
    rows, columns = x.shape
    out = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    total = nl.zeros((128, columns), dtype=nl.float32)
    for i in nl.sequential_range(rows // 128):
        tile = nl.load(x[i * 128 : (i + 1) * 128, :])
        total[...] = nl.add(total, tile)
    nl.store(out, total)
    return out
