"""Kernels that the gates of microscaling instructions refuse."""

from typing import Any

from kernel_gates.case import case, nisa, nl, ps, sb, tile

BF, BYTE, X4 = nl.bfloat16, nl.uint8, nl.float8_e4m3fn_x4


def quantized(dst: Any = None, src: Any = None, scale: Any = None) -> None:
    """[64, 32] to [64, 8] and a scale for each block."""
    nisa.quantize_mx(
        tile(64, 8, dtype=X4) if dst is None else dst,
        sb(64, 32, dtype=BF) if src is None else src,
        tile(64, 8, dtype=BYTE) if scale is None else scale,
    )


def product(
    dst: Any = None,
    left: Any = None,
    right: Any = None,
    left_scale: Any = None,
    right_scale: Any = None,
    **options: Any,
) -> None:
    """[64, 64] from packed [64, 64] and [64, 64]."""
    nisa.nc_matmul_mx(
        ps(64, 64) if dst is None else dst,
        sb(64, 64, dtype=X4) if left is None else left,
        sb(64, 64, dtype=X4) if right is None else right,
        sb(64, 64, dtype=BYTE) if left_scale is None else left_scale,
        sb(64, 64, dtype=BYTE) if right_scale is None else right_scale,
        **options,
    )


def few(rows: int) -> None:
    product(
        ps(64, 64),
        sb(rows, 64, dtype=X4),
        sb(rows, 64, dtype=X4),
        sb(rows, 64, dtype=BYTE),
        sb(rows, 64, dtype=BYTE),
    )


CASES = [
    case(
        "QuantizeMx.quantize_arch",
        "'penguin.quantize_mx' is available on trn3 or later, got trn2",
        lambda x, i, b: quantized(),
        target="trn2",
    ),
    case(
        "QuantizeMx.quantize_dtypes",
        "Unsupported dtype 'float32' of 'src' in 'penguin.quantize_mx', expected",
        lambda x, i, b: quantized(src=sb(64, 32)),
        lambda x, i, b: quantized(),
    ),
    case(
        "QuantizeMx.whole_quadrants",
        "quantize_mx src must have 32-multiple partition dimension size. Got 48",
        lambda x, i, b: quantized(tile(48, 8, dtype=X4), sb(48, 32, dtype=BF)),
        lambda x, i, b: quantized(),
    ),
    case(
        "QuantizeMx.whole_containers",
        "quantize_mx src must have the last free dimension size to be multiple",
        lambda x, i, b: quantized(src=sb(64, 30, dtype=BF)),
        lambda x, i, b: quantized(),
    ),
    case(
        "QuantizeMx.quantized_shape",
        "quantize_mx dst must access F // 4 elements per partition for src with",
        lambda x, i, b: quantized(tile(64, 9, dtype=X4)),
        lambda x, i, b: quantized(),
    ),
    case(
        "QuantizeMx.quantized_starts",
        "'scale' must start in the first 16 partitions of a quadrant, got",
        lambda x, i, b: quantized(
            tile(32, 8, dtype=X4), sb(32, 32, dtype=BF), tile(64, 8, dtype=BYTE)[16:20]
        ),
        lambda x, i, b: quantized(
            tile(32, 8, dtype=X4), sb(32, 32, dtype=BF), tile(64, 8, dtype=BYTE)[12:16]
        ),
    ),
    case(
        "MatmulMx.mx_arch",
        "'penguin.matmul_mx' is available on trn3 or later, got trn2",
        lambda x, i, b: product(),
        target="trn2",
    ),
    case(
        "MatmulMx.matmul_dtypes",
        "Unsupported dtype 'bfloat16' of 'stationary' in 'penguin.matmul_mx',",
        lambda x, i, b: product(left=sb(64, 64, dtype=BF)),
        lambda x, i, b: product(),
    ),
    case(
        "MatmulMx.psum_dtype",
        "PSUM tensor for non-transpose writes must be a 4-byte dtype",
        lambda x, i, b: product(ps(64, 64, dtype=nl.float16)),
        lambda x, i, b: product(ps(64, 64, dtype=BF)),
    ),
    case(
        "MatmulMx.free_sizes",
        "size of dimension 1 in 'stationary' of 'penguin.matmul_mx' exceed",
        lambda x, i, b: product(left=sb(64, 130, dtype=X4)),
        lambda x, i, b: product(),
    ),
    case(
        "MatmulMx.result_shape",
        "tile shape mismatch, expected '[64, 64]' (stationary free, moving free)",
        lambda x, i, b: product(ps(64, 63)),
        lambda x, i, b: product(),
    ),
    case(
        "MatmulMx.whole_columns",
        "nc_matmul_mx does not support column PE tiling, got column 0 and",
        lambda x, i, b: product(tile_position=(0, 0), tile_size=(64, 64)),
        lambda x, i, b: product(tile_position=(0, 0), tile_size=(64, 128)),
    ),
    case(
        "MatmulMx.whole_rows",
        "nc_matmul_mx accesses 64 partitions in a tile of 128 rows; they must be",
        lambda x, i, b: product(tile_position=(0, 0), tile_size=(128, 128)),
        lambda x, i, b: product(tile_position=(0, 0), tile_size=(64, 128)),
    ),
    case(
        "MatmulMx.scale_counts",
        "nc_matmul_mx stationary_scale must access same elements per partition",
        lambda x, i, b: product(left_scale=sb(64, 63, dtype=BYTE)),
        lambda x, i, b: product(),
    ),
    case(
        "MatmulMx.scale_starts",
        "'stationary' and 'stationary_scale' must start in the same 32-partition",
        lambda x, i, b: product(left_scale=sb(128, 64, dtype=BYTE)[64:128]),
        lambda x, i, b: product(),
    ),
    case(
        "MatmulMx.even_stationary",
        "nc_matmul_mx stationary must have an even number of packed (x4)",
        lambda x, i, b: product(
            ps(63, 64), sb(64, 63, dtype=X4), None, sb(64, 63, dtype=BYTE)
        ),
        lambda x, i, b: product(),
    ),
    case(
        "MatmulMx.mx_partitions",
        "nc_matmul_mx stationary/moving must access 32/64/128 partitions. Got 96",
        lambda x, i, b: few(96),
        lambda x, i, b: few(64),
    ),
]
