"""Small kernels of the destination-passing generations, each a trap of its own."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def matmul(lhsT, rhs):
    """One matmul of any legal shape, also with one row or one column."""
    k_size, m_size = lhsT.shape
    n_size = rhs.shape[1]
    out = nl.ndarray((m_size, n_size), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((k_size, m_size), dtype=lhsT.dtype, buffer=nl.sbuf)
    right = nl.ndarray((k_size, n_size), dtype=rhs.dtype, buffer=nl.sbuf)
    product = nl.ndarray((m_size, n_size), dtype=nl.float32, buffer=nl.psum)
    result = nl.ndarray((m_size, n_size), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=lhsT)
    nisa.dma_copy(dst=right, src=rhs)
    nisa.nc_matmul(dst=product, stationary=left, moving=right)
    nisa.tensor_copy(dst=result, src=product)
    nisa.dma_copy(dst=out, src=result)
    return out


@nki.jit
def gram(x):
    """A matmul whose two operands are one tile."""
    k_size, m_size = x.shape
    out = nl.ndarray((m_size, m_size), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((k_size, m_size), dtype=x.dtype, buffer=nl.sbuf)
    product = nl.ndarray((m_size, m_size), dtype=nl.float32, buffer=nl.psum)
    result = nl.ndarray((m_size, m_size), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.nc_matmul(dst=product, stationary=tile, moving=tile)
    nisa.tensor_copy(dst=result, src=product)
    nisa.dma_copy(dst=out, src=result)
    return out


@nki.jit
def dma_cast(x, dtype):
    """DMA copies that cast on the way in and on the way out."""
    rows, columns = x.shape
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    narrow = nl.ndarray((rows, columns), dtype=dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((rows, columns), dtype=dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=narrow, src=tile)
    nisa.dma_copy(dst=out, src=narrow)
    return out, narrow


@nki.jit
def partial_accumulation(lhsT, rhs):
    """The second matmul meets a destination that is only half written."""
    k_size, m_size = lhsT.shape
    n_size = rhs.shape[1]
    half = n_size // 2
    out = nl.ndarray((m_size, n_size), dtype=nl.float32, buffer=nl.shared_hbm)
    left = nl.ndarray((k_size, m_size), dtype=lhsT.dtype, buffer=nl.sbuf)
    right = nl.ndarray((k_size, n_size), dtype=rhs.dtype, buffer=nl.sbuf)
    product = nl.ndarray((m_size, n_size), dtype=nl.float32, buffer=nl.psum)
    result = nl.ndarray((m_size, n_size), dtype=nl.float32, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=lhsT)
    nisa.dma_copy(dst=right, src=rhs)
    nisa.nc_matmul(dst=product[:, 0:half], stationary=left, moving=right[:, 0:half])
    nisa.nc_matmul(dst=product, stationary=left, moving=right)
    nisa.tensor_copy(dst=result, src=product)
    nisa.dma_copy(dst=out, src=result)
    return out


@nki.jit
def in_place(x):
    """`x` is updated in the caller's array."""
    rows, columns = x.shape
    tile = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
    nisa.dma_copy(dst=x, src=tile)
    return x
