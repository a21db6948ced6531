"""Transposes, shuffles, replication and reducing copies (bir.md 6.1, 6.9)."""

from functools import cache
from typing import Final

import numpy as np

from ..dtypes import DType
from ..isa import AluOp, TransposeOp
from .alu import float_function
from .casts import copy, to_float32
from .kernel import Array, Kernel
from .rules import Rule

_F32: Final = DType.FLOAT32

# Partitions in a block of the vector engine's shuffles and transposes.
_BLOCK: Final = 32
# A shuffle mask's "leave the destination partition as it is".
_KEEP: Final = 255


@cache
def transpose(dst: DType, src: DType) -> Kernel:
    """Kernel(out, x): out [N, M] = the transpose of x [M, N]."""
    move = copy(dst, src)

    def kernel(out: Array, x: Array) -> None:
        # Assignment reads all before it writes where the arrays overlap.
        move(out, x.T)

    return kernel


@cache
def dma_transpose(dst: DType, src: DType, op: TransposeOp) -> Kernel:
    """Kernel(out, x): the axes of x [W, Z, Y, X] permuted (dma.md 1.5)."""
    move, permutation = copy(dst, src), op.permutation

    def kernel(out: Array, x: Array) -> None:
        move(out, x.transpose(permutation).reshape(out.shape))

    return kernel


def stream_transpose(out: Array, x: Array) -> None:
    """
    Kernel: every aligned 32 x 32 block of x [P, E] transposed where it stands.

    The low five bits of partition and element are swapped (bir.md 6.9). `out` has the
    type of `x` and a place for every element: [E, P] where both are at most 32, the
    shape of `x` where both are multiples of 32.
    """
    partitions = x.shape[0]
    x = x.reshape(partitions, -1)
    elements = x.shape[1]
    if partitions % _BLOCK == 0 and elements % _BLOCK == 0:
        blocks = x.reshape(partitions // _BLOCK, _BLOCK, elements // _BLOCK, _BLOCK)
        out[...] = blocks.transpose(0, 3, 2, 1).reshape(out.shape)
        return
    if np.may_share_memory(out, x):
        x = x.copy()
    for p in range(0, partitions, _BLOCK):
        for e in range(0, elements, _BLOCK):
            block = x[p : p + _BLOCK, e : e + _BLOCK].T
            rows, columns = block.shape
            out[p : p + rows, e : e + columns] = block


@cache
def stream_shuffle(mask: tuple[int, ...]) -> Kernel:
    """
    Kernel(out, x): out[b + i] = x[b + mask[i]] in every block b of 32 partitions.

    Both have the same type and as many elements per partition; 255 leaves the partition
    of `out` as it is. Raises `ValueError` for an illegal mask, with the literals of
    bir.md 6.9.
    """
    if len(mask) != _BLOCK:
        raise ValueError("StreamShuffle Mask must have 32 elements")
    if any(entry != _KEEP and not 0 <= entry < _BLOCK for entry in mask):
        raise ValueError("StreamShuffle Mask entry must be <32")
    lanes = np.flatnonzero(np.array(mask) != _KEEP)
    sources = np.array(mask)[lanes]

    def kernel(out: Array, x: Array) -> None:
        partitions = out.shape[0]
        block: Array = np.arange(0, partitions, _BLOCK, dtype=np.intp).reshape(-1, 1)
        targets: Array = (block + lanes).reshape(-1)
        inside = targets < partitions
        found = x[(block + sources).reshape(-1)[inside]]
        out[targets[inside]] = found.reshape(-1, *out.shape[1:])

    return kernel


@cache
def replicate(dst: DType, src: DType) -> Kernel:
    """Kernel(out, x): x [S, N] repeated along the partitions of out [R * S, N]."""
    move = copy(dst, src)

    def kernel(out: Array, x: Array) -> None:
        copies = out.shape[0] // x.shape[0]
        move(out, np.tile(x, (copies, *(1,) * (x.ndim - 1))))

    return kernel


@cache
def dma_reduce(
    dst: DType,
    srcs: tuple[DType, ...],
    op: AluOp = AluOp.ADD,
    constants: tuple[float, ...] | None = None,
) -> Kernel:
    """
    Kernel(out, *xs): the sources folded in fp32, then cast (bir.md 6.1, dma.md 10.2).

    add: 0 + constants[i] * xs[i] in order, 1 where `constants` is None. max and min
    start from the first source.
    """
    if op not in (AluOp.ADD, AluOp.MAX, AluOp.MIN):
        raise ValueError(f"'{op}' is not a reduction of a DMA")
    widen = [to_float32(src) for src in srcs]
    combine, store = float_function(op), copy(dst, _F32)
    scales = constants or (1.0,) * len(srcs)

    def kernel(out: Array, *xs: Array) -> None:
        total: Array | None = None
        for widen_x, x, scale in zip(widen, xs, scales, strict=True):
            term = widen_x(x)
            if scale != 1.0:
                term = np.multiply(term, scale)
            if total is not None:
                combine(total, term, out=total)
            elif op is AluOp.ADD:
                total = np.add(term, 0.0)
            else:
                total = term.copy()
        if total is not None:
            store(out, total)

    return kernel


@cache
def dma_accumulate(dst: DType, src: DType) -> Kernel:
    """
    Kernel(out, x): out = out + x, as memory accumulates (bir.md 10.3).

    32 and 64-bit integers of one type wrap; everything else is added in fp32 and
    rounded to the type of `out`.
    """
    if dst is src and (dst is _F32 or (dst.is_integer and dst.bytes >= 4)):

        def add(out: Array, x: Array) -> None:
            np.add(out, x, out=out)

        return add
    widen_out, widen_x, store = to_float32(dst), to_float32(src), copy(dst, _F32)

    def kernel(out: Array, x: Array) -> None:
        store(out, np.add(widen_out(out), widen_x(x)))

    return kernel


RULES: Final = (
    Rule(
        "stream transpose",
        "32 x 32 blocks are transposed where they stand; their coordinates do not move",
        "documented",
        "bir.md 6.9",
    ),
    Rule(
        "replicate",
        "destination partition p reads source partition p modulo the source's count",
        "inferred",
        "bir.md 6.1",
    ),
    Rule(
        "DMA reduction",
        "add starts from 0, max and min from the first source",
        "our choice",
        "dma.md 10.2",
    ),
    Rule(
        "DMA accumulate",
        "32 and 64-bit integers of one type wrap, other types are added in fp32 and "
        "rounded",
        "documented",
        "bir.md 10.3",
    ),
)
