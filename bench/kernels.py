"""The benchmark kernels, destination-passing style: `out` is written and returned."""

import nki.isa as nisa
import nki.language as nl

P = 128


def add(a, b, out):
    rows, columns = a.shape
    width = 512
    for r in nl.affine_range(rows // P):
        for c in nl.affine_range(columns // width):
            block = (slice(r * P, (r + 1) * P), slice(c * width, (c + 1) * width))
            x = nl.ndarray((P, width), dtype=a.dtype, buffer=nl.sbuf)
            y = nl.ndarray((P, width), dtype=b.dtype, buffer=nl.sbuf)
            z = nl.ndarray((P, width), dtype=out.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=x, src=a[block])
            nisa.dma_copy(dst=y, src=b[block])
            nisa.tensor_tensor(dst=z, data1=x, data2=y, op=nl.add)
            nisa.dma_copy(dst=out[block], src=z)
    return out


def matmul(lhsT, rhs, out):
    k_size, m_size = lhsT.shape
    n_size = rhs.shape[1]
    width = 512
    for m in nl.affine_range(m_size // P):
        rows = slice(m * P, (m + 1) * P)
        for n in nl.affine_range(n_size // width):
            columns = slice(n * width, (n + 1) * width)
            total = nl.ndarray((P, width), dtype=nl.float32, buffer=nl.psum)
            for k in nl.affine_range(k_size // P):
                terms = slice(k * P, (k + 1) * P)
                left = nl.ndarray((P, P), dtype=lhsT.dtype, buffer=nl.sbuf)
                right = nl.ndarray((P, width), dtype=rhs.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=left, src=lhsT[terms, rows])
                nisa.dma_copy(dst=right, src=rhs[terms, columns])
                nisa.nc_matmul(dst=total, stationary=left, moving=right)
            result = nl.ndarray((P, width), dtype=out.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=result, src=total)
            nisa.dma_copy(dst=out[rows, columns], src=result)
    return out


def softmax(x, out):
    rows, columns = x.shape
    for r in nl.affine_range(rows // P):
        block = slice(r * P, (r + 1) * P)
        tile = nl.ndarray((P, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[block, :])
        least = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(
            dst=least, op=nl.maximum, data=tile, axis=1, negate=True, keepdims=True
        )
        exps = nl.ndarray((P, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=exps, op=nl.exp, data=tile, bias=least)
        total = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=exps, axis=1, keepdims=True)
        inverse = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(dst=inverse, data=total)
        result = nl.ndarray((P, columns), dtype=out.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=result, data=exps, op0=nl.multiply, operand0=inverse)
        nisa.dma_copy(dst=out[block, :], src=result)
    return out


def rmsnorm(x, weight, out, eps):
    """`weight` is already broadcast to (128, columns) in HBM."""
    rows, columns = x.shape
    gain = nl.ndarray((P, columns), dtype=weight.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=gain, src=weight[0:P, :])
    for r in nl.affine_range(rows // P):
        block = slice(r * P, (r + 1) * P)
        tile = nl.ndarray((P, columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[block, :])
        squares = nl.ndarray((P, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=squares, data1=tile, data2=tile, op=nl.multiply)
        total = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(dst=total, op=nl.add, data=squares, axis=1, keepdims=True)
        mean = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(
            dst=mean,
            data=total,
            op0=nl.multiply,
            operand0=1.0 / columns,
            op1=nl.add,
            operand1=eps,
        )
        scale = nl.ndarray((P, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(dst=scale, op=nl.rsqrt, data=mean)
        normed = nl.ndarray((P, columns), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(dst=normed, data=tile, op0=nl.multiply, operand0=scale)
        result = nl.ndarray((P, columns), dtype=out.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(dst=result, data1=normed, data2=gain, op=nl.multiply)
        nisa.dma_copy(dst=out[block, :], src=result)
    return out


def strided_copies(x, out, rows, columns):
    """A transpose of [rows, columns] blocks, one element column a copy."""
    partitions, width = x.shape
    source = nl.ndarray((partitions, width), dtype=x.dtype, buffer=nl.sbuf)
    target = nl.ndarray((partitions, width), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=source, src=x)
    for i in nl.affine_range(rows):
        for j in nl.affine_range(columns):
            nisa.tensor_copy(
                dst=target[:, nl.ds(j * rows + i, 1)],
                src=source[:, nl.ds(i * columns + j, 1)],
            )
    nisa.dma_copy(dst=out, src=target)
    return out


def tiny_copies(x, out, count):
    """How fast instructions are dispatched: `count` copies of a column."""
    partitions, width = x.shape
    source = nl.ndarray((partitions, width), dtype=x.dtype, buffer=nl.sbuf)
    target = nl.ndarray((partitions, width), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=source, src=x)
    nisa.dma_copy(dst=target, src=x)
    for _ in nl.affine_range(count):
        nisa.tensor_copy(dst=target[:, 0:1], src=source[:, 1:2])
    nisa.dma_copy(dst=out, src=target)
    return out


def pe_transpose(x, out):
    """A square transpose by blocks on the tensor engine."""
    size = x.shape[0]
    for i in nl.affine_range(size // P):
        rows = slice(i * P, (i + 1) * P)
        for j in nl.affine_range(size // P):
            columns = slice(j * P, (j + 1) * P)
            tile = nl.ndarray((P, P), dtype=x.dtype, buffer=nl.sbuf)
            turned = nl.ndarray((P, P), dtype=x.dtype, buffer=nl.psum)
            result = nl.ndarray((P, P), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[rows, columns])
            nisa.nc_transpose(dst=turned, data=tile)
            nisa.tensor_copy(dst=result, src=turned)
            nisa.dma_copy(dst=out[columns, rows], src=result)
    return out
