"""Kernels that the gates of memory and DMA methods refuse."""

from typing import Any

from kernel_gates.case import (
    case,
    loaded,
    nisa,
    nl,
    sb,
    tile,
)

LANES = list(range(32))


def rows(x: Any, index: Any, count: int = 64) -> Any:
    pattern = [[64, count], [1, 64]]
    return x.ap(pattern, vector_offset=index, indirect_dim=0)


def skip(x: Any, index: Any) -> None:
    nisa.dma_copy(
        dst=tile(64, 64), src=rows(x, loaded(index)), oob_mode=nisa.oob_mode.skip
    )


def scatter_add(x: Any, index: Any, mode: Any, op: Any = nl.add) -> None:
    target = rows(x, loaded(index))
    nisa.dma_copy(dst=target, src=loaded(x[0:64, :]), dst_rmw_op=op, oob_mode=mode)


def both(x: Any, index: Any) -> None:
    held = loaded(index)
    nisa.dma_copy(dst=rows(x, held), src=rows(x, held))


def one_after_the_other(x: Any, index: Any) -> None:
    held, through = loaded(index), tile(64, 64)
    nisa.dma_copy(dst=through, src=rows(x, held))
    nisa.dma_copy(dst=rows(x, held), src=through)


def turn(x: Any, axes: Any, *shape: int) -> None:
    nisa.dma_transpose(dst=tile(*shape, dtype=x.dtype), src=x, axes=axes)


def gather_turn(
    b: Any, index: Any, pattern: Any, *shape: int, axes: Any = None
) -> None:
    words = tile(64, 1, dtype=nl.uint32)
    nisa.tensor_copy(words, loaded(index))
    dst, src = tile(*shape, dtype=b.dtype), b.ap(pattern, vector_offset=words)
    nisa.dma_transpose(dst=dst, src=src, axes=axes)


def shuffle(
    rows: int, lanes: Any, dtype: Any = nl.float32, sources: int = 0, wide: int = 8
) -> None:
    source = sb(sources or rows, wide)
    nisa.nc_stream_shuffle(tile(rows, 8, dtype=dtype), source, lanes)


def local(run: int, valid: Any, rows: int = 64, wide: int = 2, count: int = 32) -> None:
    index = sb(rows, wide, dtype=nl.uint16)
    nisa.local_gather(tile(64, count), sb(64, 64), index, run, valid)


def flattened(dtype: Any, *shape: int) -> None:
    data = sb(*shape)
    nisa.nc_n_gather(tile(64, 8), data, sb(64, 8, dtype=dtype))


def shifted(step: int) -> None:
    x = sb(64, 64)
    nisa.tensor_copy(x[:, step : step + 32], x[:, 0:32])


def moved(step: int) -> None:
    x = sb(64, 64)
    nisa.dma_copy(dst=x[:, step : step + 32], src=x[:, 0:32])


def dims(x: Any, inner: int) -> None:
    pattern = [[900, 2], [200, 2], [50, 2], [20, 2], [inner, 2], [3, 2]]
    nisa.dma_copy(dst=tile(2, 32), src=x.ap(pattern))


def indexed_by(x: Any, index: Any) -> None:
    nisa.dma_copy(dst=tile(64, 64), src=rows(x, index))


CASES = [
    case(
        "OpenCopy.one_indirect_side",
        "``src`` and ``dst`` operands cannot both be indirect memory accesses",
        lambda x, i, b: both(x, i),
        lambda x, i, b: one_after_the_other(x, i),
    ),
    case(
        "OpenCopy.direct_source_of_rmw",
        "``dst_rmw_op`` is not supported indirect memory access on source (``src``) "
        "operand",
        lambda x, i, b: nisa.dma_copy(
            dst=tile(64, 64), src=rows(x, loaded(i)), dst_rmw_op=nl.add
        ),
        lambda x, i, b: nisa.dma_copy(dst=tile(64, 64), src=rows(x, loaded(i))),
    ),
    case(
        "Copy.direct_bounds",
        "oob_mode.skip is not supported for direct memory access. Only "
        "oob_mode.error is allowed (got oob_mode.skip)",
        lambda x, i, b: nisa.dma_copy(
            dst=tile(64, 64), src=x[0:64, :], oob_mode=nisa.oob_mode.skip
        ),
        lambda x, i, b: skip(x, i),
    ),
    case(
        "IndirectAccumulate.scatter_op",
        "scatter op can only support bypass or add for now",
        lambda x, i, b: scatter_add(x, i, nisa.oob_mode.error, nl.maximum),
        lambda x, i, b: scatter_add(x, i, nisa.oob_mode.error, nl.bypass),
    ),
    case(
        "IndirectAccumulate.scatter_bounds",
        "scatter add cannot have other modes except for error",
        lambda x, i, b: scatter_add(x, i, nisa.oob_mode.skip),
        lambda x, i, b: scatter_add(x, i, nisa.oob_mode.error),
    ),
    case(
        "DmaTranspose.axes_per_rank",
        "(0, 1) provided for 2D transpose, only (1, 0) supported.",
        lambda x, i, b: turn(x[0:64, :], (0, 1), 64, 64),
        lambda x, i, b: turn(x[0:64, :], (1, 0), 64, 64),
    ),
    case(
        "DmaTranspose.axes_per_rank",
        "(0, 2, 1) provided for 3D transpose, only (2, 1, 0) supported.",
        lambda x, i, b: turn(x[0:64].reshape(8, 8, 64), (0, 2, 1), 8, 64, 8),
        lambda x, i, b: turn(x[0:64].reshape(8, 8, 64), None, 64, 8, 8),
    ),
    case(
        "DmaTranspose.axes_per_rank",
        "(0, 1, 2, 3) provided for 4D transpose, only (3, 1, 2, 0) supported.",
        lambda x, i, b: turn(x[0:64].reshape(8, 8, 8, 8), (0, 1, 2, 3), 8, 8, 8, 8),
        lambda x, i, b: turn(x[0:64].reshape(8, 8, 8, 8), None, 8, 8, 8, 8),
    ),
    case(
        "DmaTranspose.axes_per_rank",
        "unsupported tile.ndim 5; a DMA transposes rank 2, 3 or 4",
        lambda x, i, b: turn(x[0:64].reshape(8, 2, 4, 8, 8), None, 8, 8, 4, 2, 8),
    ),
    case(
        "DmaIndirectTranspose.axes_per_rank",
        "provided for gather transpose, only 3D supported.",
        lambda x, i, b: gather_turn(b, i, [[64, 64], [1, 64]], 64, 64, axes=(0, 1)),
        lambda x, i, b: gather_turn(b, i, [[64, 64], [64, 1], [1, 64]], 64, 1, 64),
    ),
    case(
        "StreamShuffle.same_dtype",
        "StreamShuffle does not support cast, got float32 to bfloat16",
        lambda x, i, b: shuffle(64, LANES, nl.bfloat16),
        lambda x, i, b: shuffle(64, LANES),
    ),
    case(
        "StreamShuffle.shuffle_mask",
        "StreamShuffle Mask must have 32 elements, got 31",
        lambda x, i, b: shuffle(64, LANES[:31]),
        lambda x, i, b: shuffle(64, [255, *LANES[:31]]),
    ),
    case(
        "StreamShuffle.lanes_there",
        "StreamShuffle takes partition 32 of 'dst' from ",
        lambda x, i, b: shuffle(33, LANES[::-1]),
        lambda x, i, b: shuffle(32, LANES),
    ),
    case(
        "StreamShuffle.lanes_there",
        "StreamShuffle takes partition 33 of 'dst' from 33 of 'src', which has 33",
        lambda x, i, b: shuffle(64, [0, 1] * 16, sources=33),
        lambda x, i, b: shuffle(64, [0, 1] * 16, sources=34),
    ),
    case(
        "StreamShuffle.same_elements",
        "tile shape mismatch, expected '[32, 8]' of 'dst', got [32, 9] for 'src'",
        lambda x, i, b: shuffle(32, LANES, wide=9),
        lambda x, i, b: shuffle(32, LANES),
    ),
    case(
        "IndirectCopy.run_length",
        "num_elem_per_idx must be one of [1, 2, 4, 8, 16, 32], got 3",
        lambda x, i, b: local(3, None, count=96),
        lambda x, i, b: local(2, None, count=64),
    ),
    case(
        "IndirectCopy.index_count",
        "num_valid_indices cannot exceed total indices per core, got 33 of 32",
        lambda x, i, b: local(1, 33, count=33),
        lambda x, i, b: local(1, 31, count=31),
    ),
    case(
        "IndirectCopy.index_count",
        "number of indices per core must be <= 4096, got 4112",
        lambda x, i, b: local(1, 16, wide=257, count=16),
        lambda x, i, b: local(1, 16, wide=256, count=16),
    ),
    case(
        "IndirectCopy.same_partitions",
        "src_buffer and index must have same partition dimension size, got 64 and 32",
        lambda x, i, b: local(1, None, rows=32),
        lambda x, i, b: local(1, None),
    ),
    case(
        "Gather.index_dtype",
        "Unsupported dtype 'int32' of 'index', expected one of the following dtypes: "
        "uint32",
        lambda x, i, b: flattened(nl.int32, 64, 8),
        lambda x, i, b: flattened(nl.uint32, 64, 8),
    ),
    case(
        "Gather.gather_shapes",
        "'src' has 5 dimensions, exceed max supported number of dimension: a gather "
        "takes 2 to 4",
        lambda x, i, b: flattened(nl.uint32, 64, 2, 2, 2, 2),
        lambda x, i, b: flattened(nl.uint32, 64, 2, 2, 2),
    ),
    case(
        "Memset.engine_set",
        "Memset engine can only be Vector or GpSIMD or Unknown.",
        lambda x, i, b: nisa.memset(tile(64, 8), 0.0, engine=nisa.engine.scalar),
        lambda x, i, b: nisa.memset(tile(64, 8), 0.0, engine=nisa.engine.gpsimd),
    ),
    case(
        "",
        "number of partitions 129 exceed architecture limitation of 128",
        lambda x, i, b: nl.ndarray((129, 8), nl.float32, buffer=nl.sbuf),
        lambda x, i, b: tile(128, 8),
    ),
    case(
        "ComputeInstruction.partition_start",
        "expected an access of 10 partitions to start at partition 0, 32, 64 or 96, "
        "got 10",
        lambda x, i, b: nisa.tensor_copy(tile(128, 8)[10:20, :], sb(10, 8)),
        lambda x, i, b: nisa.tensor_copy(tile(128, 8)[96:106, :], sb(10, 8)),
    ),
    case(
        "Sized.capacity",
        "SB tensor overflow: a tensor of shape (128, 61439) and type float32 needs "
        "245756 bytes in a partition, trn3 has 245752; use smaller tiles",
        lambda x, i, b: nl.ndarray((128, 61439), nl.float32, buffer=nl.sbuf),
        lambda x, i, b: tile(128, 61438),
    ),
    case(
        "Sized.capacity",
        "PSUM tensor overflow: a tensor of shape (128, 4097) and type float32 needs "
        "16388 bytes in a partition, trn3 has 16384; use smaller tiles",
        lambda x, i, b: nl.ndarray((128, 4097), nl.float32, buffer=nl.psum),
        lambda x, i, b: tile(128, 4096, buffer=nl.psum),
    ),
    case(
        "ComputeInstruction.in_place",
        "in-place accesses are the same pattern or disjoint; write to another tile",
        lambda x, i, b: shifted(31),
        lambda x, i, b: (shifted(32), shifted(0)),
    ),
    case(
        "DmaInstruction.no_partial_overlap",
        "source and destination overlap partly in",
        lambda x, i, b: moved(31),
        lambda x, i, b: (moved(32), moved(0)),
    ),
    case(
        "DmaInstruction.dma_dimensions",
        "Invalid number of AccessPattern dimensions; must be in [2, 5], got 6 for "
        "'src'",
        lambda x, i, b: dims(x, 8),
        lambda x, i, b: dims(x, 6),
    ),
    case(
        "",
        "cannot use indirect indexing access with the current NKI API for 'x': "
        "'penguin.tensor_copy' has no index for 'src'",
        lambda x, i, b: nisa.tensor_copy(tile(64, 64), rows(x, loaded(i))),
    ),
    case(
        "IndirectInstruction.index_tile",
        "Indirect indices tile must be on SBUF. Got",
        lambda x, i, b: indexed_by(x, i),
        lambda x, i, b: indexed_by(x, loaded(i)),
    ),
    case(
        "IndirectInstruction.index_tile",
        "Unsupported dtype 'float32' of 'index', expected one of the following "
        "dtypes: uint32, int32",
        lambda x, i, b: indexed_by(x, loaded(x[0:64, 0:1])),
        lambda x, i, b: indexed_by(x, loaded(i)),
    ),
    case(
        "",
        "access pattern on 'x' has both scalar_offset and vector_offset; they are "
        "mutually exclusive",
        lambda x, i, b: x.ap([[64, 1]], scalar_offset=1, vector_offset=loaded(i)),
    ),
    case(
        "TensorLoad.one_element",
        "InstTensorLoad/InstTensorSave register and tensor must have the same number "
        "of bytes. Got src=float32 dst=int32",
        lambda x, i, b: nisa.register_load(nisa.register_alloc(), x[0:1, 0:1]),
        lambda x, i, b: nisa.register_load(nisa.register_alloc(), i[0:1, 0:1]),
    ),
    case(
        "",
        "a register is used before register_load or register_move",
        lambda x, i, b: x[nisa.register_alloc()],
        lambda x, i, b: x[nisa.register_alloc(3)],
    ),
    case(
        "",
        "dma_qos is 4, expected none, Default, P0, P1, P2 or P3",
        lambda x, i, b: nisa.dma_copy(dst=tile(64, 64), src=x[0:64], priority=4),
        lambda x, i, b: nisa.dma_copy(dst=tile(64, 64), src=x[0:64], priority=3),
    ),
]
