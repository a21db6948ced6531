"""Kernels that the gates of accesses, DMA directions and gathers refuse."""

from typing import Any

from kernel_gates.case import (
    case,
    fl,
    functional_case,
    hbm,
    loaded,
    nisa,
    nl,
    ps,
    sb,
    tile,
)

BF, INT, WORD, X4 = nl.bfloat16, nl.int32, nl.uint32, nl.float8_e4m3fn_x4
dge = nisa.dge_mode


def turned(dst: Any, src: Any, **options: Any) -> None:
    nisa.dma_transpose(dst=dst, src=src, **options)


def gathered(dst: Any, b: Any, index: Any, rows: int = 64, **options: Any) -> None:
    pattern = [[64, rows], [64, 1], [1, 64]]
    nisa.dma_transpose(dst=dst, src=b.ap(pattern, vector_offset=index), **options)


def turned_rows(b: Any, step: int) -> None:
    whole = hbm(16, 128, dtype=b.dtype)
    nisa.dma_copy(dst=whole, src=sb(16, 128, dtype=b.dtype))
    dst = tile(128, 32, dtype=b.dtype).ap([[32, 128], [step, 16]])
    nisa.dma_transpose(dst=dst, src=whole, dge_mode=dge.hwdge)


def triggered(x: Any, engine: Any) -> None:
    nisa.dma_copy(dst=tile(64, 64), src=x[0:64], dge_mode=dge.hwdge, engine=engine)


def moved(x: Any, i: Any, mode: Any) -> None:
    at = nisa.register_alloc(i[0:1, 0:1])
    nisa.dma_copy(dst=tile(64, 64), src=x[nl.ds(at, 64)], dge_mode=mode)


def words(rows: int = 64, dtype: Any = WORD) -> Any:
    return sb(rows, 1, dtype=dtype)


def row_of(x: Any, index: Any, rows: int = 64) -> Any:
    return x.ap([[64, rows], [1, 64]], vector_offset=index, indirect_dim=0)


def blocks_at_once() -> None:
    tiles = fl.ndarray((9, fl.par_dim(64), 512), fl.float32, buffer=fl.psum)
    i, j = fl.mgrid[0:64, 0:8]
    tiles[j, i, 0] = fl.zeros((64, 8), fl.float32)


CASES = [
    case(
        "Instruction.access_bounds",
        "Out-of-bound access for tensor `x` on dimension 0 (flattened) index",
        lambda x, i, b: nisa.dma_copy(
            dst=tile(64, 64),
            src=x.ap([[64, 64], [1, 64]], offset=300 * 64 - 64 * 64 + 1),
        ),
        lambda x, i, b: nisa.dma_copy(
            dst=tile(64, 64), src=x.ap([[64, 64], [1, 64]], offset=300 * 64 - 64 * 64)
        ),
    ),
    case(
        "Sized.placed",
        "address (0, 245752): 32 bytes from 245752 on exceed the 245752 of a",
        lambda x, i, b: nl.ndarray(
            (64, 8), nl.float32, buffer=nl.sbuf, address=(0, 245752)
        ),
        lambda x, i, b: nl.ndarray(
            (64, 8), nl.float32, buffer=nl.sbuf, address=(0, 245720)
        ),
    ),
    functional_case(
        "Instruction.one_block",
        "access to 'dst' (tiles: f32[64, 8] in psum) does not reach one block of",
        lambda x, i, b: blocks_at_once(),
    ),
    case(
        "DmaInstruction.dma_spaces",
        "Expected operand 'src' of 'penguin.dma_copy' to be in address space",
        lambda x, i, b: nisa.dma_copy(dst=tile(64, 64), src=ps(64, 64)),
    ),
    case(
        "DmaInstruction.equal_counts",
        "DMA instruction must read and write same number of elements, got 4032",
        lambda x, i, b: nisa.dma_copy(dst=tile(64, 63), src=x[0:64]),
        lambda x, i, b: nisa.dma_copy(dst=tile(64, 64), src=x[0:64]),
    ),
    case(
        "DmaInstruction.dma_steps",
        "access pattern of 'src' steps by 2147483648 bytes, which does not fit",
        lambda x, i, b: nisa.dma_copy(
            dst=tile(2, 1), src=hbm(2**30 // 2 + 1).ap([[2**29, 2], [1, 1]])
        ),
    ),
    case(
        "DmaInstruction.tensor_size",
        "Tensor size must be < 4GB, but it is 4294967296 bytes (src)",
        lambda x, i, b: nisa.dma_copy(
            dst=tile(64, 64), src=hbm(2**15, 2**15)[0:64, 0:64]
        ),
        lambda x, i, b: nisa.dma_copy(dst=tile(64, 64), src=x[0:64]),
    ),
    case(
        "DmaInstruction.packed_not_cast",
        "DMA may move but not cast packed types, got float32 to float8_e4m3fn_x4",
        lambda x, i, b: nisa.dma_copy(dst=tile(64, 64, dtype=X4), src=x[0:64]),
    ),
    functional_case(
        "Save.save_direction",
        "Expected SB <-> DRAM or PSUM <-> SB, but got hbm -> hbm; a store goes",
        lambda x, i, b: fl.store(
            fl.ndarray((64, 64), fl.float32, buffer=fl.shared_hbm), x[0:64]
        ),
    ),
    case(
        "Copy.copy_reduce_op",
        "scatter op can only support bypass or add for now, got max; use add, or",
        lambda x, i, b: nisa.dma_copy(
            dst=tile(64, 64), src=x[0:64], dst_rmw_op=nl.maximum
        ),
        lambda x, i, b: nisa.dma_copy(dst=sb(64, 64), src=x[0:64], dst_rmw_op=nl.add),
    ),
    case(
        "Copy.hardware_dge_cast",
        "HWDGE DMA needs equal dtypes, got float32 to bfloat16; leave dge_mode",
        lambda x, i, b: nisa.dma_copy(
            dst=tile(64, 64, dtype=BF), src=x[0:64], dge_mode=dge.hwdge
        ),
        lambda x, i, b: nisa.dma_copy(
            dst=tile(64, 64), src=x[0:64], dge_mode=dge.hwdge
        ),
    ),
    case(
        "OpenCopy.copy_trigger_engine",
        "InstDMA cannot be on PE engine",
        lambda x, i, b: nisa.dma_copy(
            dst=tile(64, 64), src=x[0:64], dge_mode=dge.hwdge, engine=nisa.engine.tensor
        ),
        lambda x, i, b: nisa.dma_copy(
            dst=tile(64, 64), src=x[0:64], dge_mode=dge.hwdge, engine=nisa.engine.scalar
        ),
    ),
    case(
        "IndirectLoad.gather_direction",
        "Non-indirect tensor `dst` of Vector DGE DMACopy must have",
        lambda x, i, b: nisa.dma_copy(dst=hbm(64, 64), src=row_of(x, loaded(i))),
        lambda x, i, b: nisa.dma_copy(dst=tile(64, 64), src=row_of(x, loaded(i))),
    ),
    case(
        "IndirectSave.scatter_direction",
        "Non-indirect tensor `src` of Vector DGE DMACopy must have",
        lambda x, i, b: nisa.dma_copy(dst=row_of(hbm(300, 64), loaded(i)), src=x[0:64]),
        lambda x, i, b: nisa.dma_copy(
            dst=row_of(hbm(300, 64), loaded(i)), src=sb(64, 64)
        ),
    ),
    case(
        "DmaTranspose.permuted_shape",
        "tile shape mismatch, expected '[64, 32]' for 'dst', got [32, 64]",
        lambda x, i, b: turned(tile(32, 64), x[0:32]),
        lambda x, i, b: turned(tile(64, 32), x[0:32]),
    ),
    case(
        "DmaTranspose.same_dtype",
        "DMA transpose input and output should have the same type, but it has in",
        lambda x, i, b: turned(tile(64, 32, dtype=BF), x[0:32]),
        lambda x, i, b: turned(tile(64, 32), x[0:32]),
    ),
    case(
        "DmaTranspose.not_in_place",
        "'penguin.dma_transpose_copy' cannot write `dst` in place; write to",
        lambda x, i, b: [turned(t, t) for t in [sb(64, 64)]],
    ),
    case(
        "DmaTranspose.transpose_destination",
        "Transpose dst must be in SB, but it is in hbm",
        lambda x, i, b: turned(hbm(64, 32), x[0:32]),
        lambda x, i, b: turned(tile(64, 32), x[0:32]),
    ),
    case(
        "DmaTranspose.direct_bounds",
        "oob_mode.skip is not supported for direct memory access. Only",
        lambda x, i, b: turned(tile(64, 32), x[0:32], oob_mode=nisa.oob_mode.skip),
        lambda x, i, b: turned(tile(64, 32), x[0:32]),
    ),
    case(
        "DmaTranspose.transpose_dge",
        "SWDGE is not a valid dge_mode for non-indirect dma_transpose",
        lambda x, i, b: turned(tile(64, 32), x[0:32], dge_mode=dge.swdge),
        lambda x, i, b: turned(tile(64, 32), x[0:32]),
    ),
    case(
        "DmaTranspose.transposed_patterns",
        "DGE xbar transpose dst columns must be consecutive. Last dimension step",
        lambda x, i, b: turned_rows(b, 2),
        lambda x, i, b: turned_rows(b, 1),
    ),
    case(
        "OpenCopy.copy_hardware_dge_engine",
        "DMAs that use HWDGE can only be assigned to EngineType::Activation",
        lambda x, i, b: triggered(x, nisa.engine.vector),
        lambda x, i, b: triggered(x, nisa.engine.sync),
    ),
    case(
        "Copy.dynamic_needs_dge",
        "DGE must be enabled when dynamic src access in DMA is used; leave dge_mode",
        lambda x, i, b: moved(x, i, dge.none),
        lambda x, i, b: moved(x, i, dge.swdge),
    ),
    case(
        "Sized.aligned",
        "Access must be aligned to datatype, sbuf start address 2 for memory",
        lambda x, i, b: nl.ndarray((64, 8), nl.float32, nl.sbuf, address=(0, 2)),
        lambda x, i, b: nl.ndarray((64, 8), nl.bfloat16, nl.sbuf, address=(0, 2)),
    ),
    case(
        "DmaIndirectTranspose.transpose_dge",
        "Indirect DMA transpose operations must use SWDGE mode, got hwdge",
        lambda x, i, b: gathered(
            tile(64, 1, 64, dtype=BF), b, words(), dge_mode=dge.hwdge
        ),
        lambda x, i, b: gathered(
            tile(64, 1, 64, dtype=BF), b, words(), dge_mode=dge.swdge
        ),
    ),
    case(
        "DmaIndirectTranspose.gather_arch",
        "DMA transpose with a vector of dynamic offsets is not supported on trn1",
        lambda x, i, b: gathered(tile(64, 1, 64, dtype=BF), b, words()),
        target="trn1",
    ),
    case(
        "DmaIndirectTranspose.gather_operands",
        "Source tensor for DMA gather transpose must have 2B dtype, got float32",
        lambda x, i, b: gathered(tile(64, 1, 64), x, words()),
        lambda x, i, b: gathered(tile(64, 1, 64, dtype=BF), b, words()),
    ),
    case(
        "StreamShuffle.in_place",
        "'penguin.stream_shuffle' reads 'src' [0, 0][1 x 64, 1 x 7] of `dst`",
        lambda x, i, b: [
            nisa.nc_stream_shuffle(t[:, 1:8], t[:, 0:7], list(range(32)))
            for t in [sb(64, 8)]
        ],
    ),
    case(
        "StreamShuffle.shuffle_starts",
        "access to 'dst' (dst: f32[32, 8] in sbuf): expected an access of 64",
        lambda x, i, b: nisa.nc_stream_shuffle(
            tile(128, 8)[32:64], sb(128, 8)[0:64], list(range(32))
        ),
    ),
    case(
        "IndirectCopy.gather_dtypes",
        "TensorIndirect Indices data type must be uint16, got int32",
        lambda x, i, b: nisa.local_gather(
            tile(64, 32), sb(64, 64), sb(64, 2, dtype=INT)
        ),
        lambda x, i, b: nisa.local_gather(
            tile(64, 32), sb(64, 64), sb(64, 2, dtype=nl.uint16)
        ),
    ),
]
