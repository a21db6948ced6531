"""Kernels that the gates of the tensor engine refuse."""

from collections.abc import Callable
from typing import Any

from kernel_gates.case import case, fisa, fl, functional_case, nisa, nl, ps, sb

BF, FP8, INT = nl.bfloat16, nl.float8_e4m3, nl.int32
DOUBLE = nisa.matmul_perf_mode.double_row


def product(
    left: Any = None, right: Any = None, dst: Any = None, **options: Any
) -> None:
    """[64, 64] from [64, 64] twice, but for what is given."""
    nisa.nc_matmul(
        ps(64, 64) if dst is None else dst,
        sb(64, 64, dtype=BF) if left is None else left,
        sb(64, 64, dtype=BF) if right is None else right,
        **options,
    )


def double(left: Any = None, right: Any = None, **options: Any) -> None:
    product(
        sb(64, 2, 64, dtype=FP8) if left is None else left,
        sb(64, 2, 64, dtype=FP8) if right is None else right,
        **{"perf_mode": DOUBLE, **options},
    )


def turned(src: Any, dst: Any, **options: Any) -> None:
    nisa.nc_transpose(dst, src, **options)


def sparse(left: Any, right: Any, tags: Any, ratio: int = 4) -> None:
    fl.copy(fisa.nc_matmul_sparse(right, left, tags, ratio))


def functional_zeros(*shape: int, dtype: Any = fl.bfloat16) -> Any:
    return fl.zeros(shape, dtype, buffer=fl.sbuf)


def first_rows(low: int) -> Any:
    """A product of [64, 64] without its first rows."""
    return fisa.nc_matmul(
        functional_zeros(64, 64),
        functional_zeros(64, 64),
        mask=fl.arange(64)[:, None] >= low,
    )


def masked(mask: Callable[[Any, Any, Any], Any]) -> None:
    """A sum of products of [64, 64], under masks of a loop index and both others."""
    i, j = fl.mgrid[0:64, 0:64]
    psum = fl.zeros((64, 64), fl.float32, buffer=fl.psum)
    left, right = functional_zeros(64, 64), functional_zeros(64, 64)
    for t in fl.affine_range(4):
        psum += fisa.nc_matmul(left, right, mask=mask(t, i, j))


CASES = [
    case(
        "MatmulBase.result_in_psum",
        "Result buffer of matmult must be psum! Got dst: f32[64, 64] in sbuf",
        lambda x, i, b: product(dst=sb(64, 64)),
        lambda x, i, b: product(),
    ),
    case(
        "MatmulBase.contraction_size",
        "number of partitions mismatch in parameters (stationary: 32, moving:",
        lambda x, i, b: product(sb(32, 64, dtype=BF)),
        lambda x, i, b: product(sb(32, 64, dtype=BF), sb(32, 64, dtype=BF)),
    ),
    case(
        "MatmulBase.one_bank",
        "access to 'dst' crosses a PSUM bank: bytes 1920 to 2175 of a partition,",
        lambda x, i, b: product(dst=ps(64, 1024)[:, 480:544]),
        lambda x, i, b: product(dst=ps(64, 1024)[:, 512:576]),
        target="trn2",
    ),
    case(
        "MatmulBase.tile_sizes",
        "tile_size [96, 64] is not supported on trn3: rows and columns of the",
        lambda x, i, b: product(tile_position=(0, 0), tile_size=(96, 64)),
        lambda x, i, b: product(tile_position=(0, 0), tile_size=(128, 64)),
    ),
    case(
        "MatmulBase.tile_place",
        "tile_position row 32 is not supported: a tile of 64 rows starts at 0, 64",
        lambda x, i, b: product(tile_position=(32, 0), tile_size=(64, 64)),
        lambda x, i, b: product(tile_position=(64, 0), tile_size=(64, 64)),
    ),
    case(
        "MatmulBase.tile_holds_stationary",
        "'stationary' takes 64 rows and 64 columns of the array, more than",
        lambda x, i, b: product(tile_position=(0, 0), tile_size=(32, 64)),
        lambda x, i, b: product(tile_position=(0, 0), tile_size=(64, 64)),
    ),
    case(
        "Matmul.matmul_dtypes",
        "a float32 or tfloat32 operand goes only with another one, got bfloat16",
        lambda x, i, b: product(right=sb(64, 64)),
        lambda x, i, b: product(sb(64, 64), sb(64, 64)),
    ),
    case(
        "Matmul.ocp_fp8_arch",
        "'stationary' of float8_e4m3fn is not supported on trn2, whose array",
        lambda x, i, b: product(sb(64, 64, dtype=nl.float8_e4m3fn)),
        lambda x, i, b: product(sb(64, 64, dtype=nl.float8_e4m3)),
        target="trn2",
    ),
    case(
        "Matmul.psum_dtype",
        "PSUM tensor for non-transpose writes must be a 4-byte dtype",
        lambda x, i, b: product(dst=ps(64, 64, dtype=nl.int16)),
        lambda x, i, b: product(dst=ps(64, 64)),
    ),
    functional_case(
        "Matmul.mask_of_one_operand",
        "mask '63 - l1 - l2 >= 0' couples the stationary and the moving operand;",
        lambda x, i, b: fl.copy(
            fisa.nc_matmul(
                functional_zeros(64, 64),
                functional_zeros(64, 64),
                mask=fl.arange(64)[:, None] + fl.arange(64)[None, :] < 64,
            )
        ),
    ),
    functional_case(
        "Matmul.masked_start",
        "mask leaves out the first partitions of 'dst' (dst: f32[64, 64] in psum): "
        "expected an access of 48 partitions to start at partition 0 or 64, got 16;",
        lambda x, i, b: fl.copy(first_rows(16)),
        lambda x, i, b: fl.copy(first_rows(32)),
    ),
    functional_case(
        "Matmul.masked_start",
        "to start at partition 0, 32, 64 or 96, got 16; multiply all rows, then copy",
        lambda x, i, b: masked(lambda t, i, j: (i >= t * 16) & (i < t * 16 + 16)),
        lambda x, i, b: masked(lambda t, i, j: (i >= t * 32) & (i < t * 32 + 32)),
    ),
    case(
        "Matmul.transpose_is_plain",
        "a matmul in transpose mode moves bits and does not accumulate;",
        lambda x, i, b: product(
            dst=ps(64, 64, dtype=BF), is_transpose=True, accumulate=True
        ),
        lambda x, i, b: product(dst=ps(64, 64, dtype=BF), is_transpose=True),
    ),
    case(
        "Matmul.perf_mode_arch",
        "perf_mode=`double_row_gen3` is not supported on trn1",
        lambda x, i, b: double(),
        target="trn1",
    ),
    case(
        "Matmul.double_row_dtypes",
        "The double_row matmult only support fp8e4m3 and fp8e5m2, got bfloat16",
        lambda x, i, b: double(sb(64, 2, 64, dtype=BF)),
        lambda x, i, b: double(),
    ),
    case(
        "Matmul.double_row_shape",
        "first F dim of LHS and RHS of the double_row matmult must be 2:",
        lambda x, i, b: double(sb(64, 64, dtype=FP8)),
        lambda x, i, b: double(),
    ),
    case(
        "Matmul.double_row_alone",
        "double_row cannot be combined with column tiling, got tile_size [64,",
        lambda x, i, b: double(tile_position=(0, 0), tile_size=(64, 64)),
        lambda x, i, b: double(tile_position=(0, 0), tile_size=(64, 128)),
    ),
    case(
        "Matmul.free_sizes",
        "size of dimension 1 in 'moving' of 'penguin.matmul' exceed architecture",
        lambda x, i, b: product(right=sb(64, 513, dtype=BF), dst=ps(64, 513)),
        lambda x, i, b: product(right=sb(64, 512, dtype=BF), dst=ps(64, 512)),
        target="trn2",
    ),
    case(
        "Matmul.result_shape",
        "tile shape mismatch, expected '[64, 64]' (stationary free, moving free)",
        lambda x, i, b: product(dst=ps(64, 63)),
        lambda x, i, b: product(),
    ),
    case(
        "Transpose.engine_set",
        "Transpose engine can only be Tensor or Vector or Unknown. Got Activation",
        lambda x, i, b: turned(sb(32, 32), sb(32, 32), engine=nisa.engine.scalar),
        lambda x, i, b: turned(sb(32, 32), sb(32, 32), engine=nisa.engine.vector),
    ),
    case(
        "Transpose.transposed_shape",
        "tile shape mismatch, expected '[16, 32]' for 'dst', got [32, 16]",
        lambda x, i, b: turned(sb(32, 16), ps(32, 16)),
        lambda x, i, b: turned(sb(32, 16), ps(16, 32)),
    ),
    case(
        "Transpose.same_dtype",
        "penguin.transpose src and dst must have same data type but got float32",
        lambda x, i, b: turned(sb(32, 32), ps(32, 32, dtype=BF)),
        lambda x, i, b: turned(sb(32, 32, dtype=BF), ps(32, 32, dtype=BF)),
    ),
    case(
        "Transpose.transpose_spaces",
        "Expected operand 'src' of 'penguin.transpose' to be in address space",
        lambda x, i, b: turned(ps(32, 32), ps(32, 32)),
        lambda x, i, b: turned(sb(32, 32), ps(32, 32)),
    ),
    functional_case(
        "MatmulSparse.sparse_arch",
        "'penguin.matmul_sparse' is available on trn2 or later, got trn1",
        lambda x, i, b: sparse(
            functional_zeros(64, 64),
            functional_zeros(64, 4, 64),
            functional_zeros(64, 16, dtype=fl.uint16),
        ),
        target="trn1",
    ),
    functional_case(
        "MatmulSparse.sparse_dtypes",
        "Unsupported dtype 'int16' of 'tags' in 'penguin.matmul_sparse',",
        lambda x, i, b: sparse(
            functional_zeros(64, 64),
            functional_zeros(64, 4, 64),
            functional_zeros(64, 16, dtype=fl.int16),
        ),
        lambda x, i, b: sparse(
            functional_zeros(64, 64),
            functional_zeros(64, 4, 64),
            functional_zeros(64, 16, dtype=fl.uint16),
        ),
        target="trn2",
    ),
    functional_case(
        "MatmulSparse.ratio_range",
        "compress_ratio 17 is not supported, expected one of 1, 2, 3, 4: 4 tags",
        lambda x, i, b: sparse(
            functional_zeros(64, 64),
            functional_zeros(64, 17, 64),
            functional_zeros(64, 16, dtype=fl.uint16),
            17,
        ),
        target="trn2",
    ),
    functional_case(
        "MatmulSparse.same_contraction",
        "LHS, RHS and TAG should has the same number of contract dim! Got 64, 64",
        lambda x, i, b: sparse(
            functional_zeros(64, 64),
            functional_zeros(64, 4, 64),
            functional_zeros(32, 16, dtype=fl.uint16),
        ),
        target="trn2",
    ),
    functional_case(
        "MatmulSparse.indices_match",
        "Indices mismatch! 'tags' has 8 words of 4 tags for 64 elements of",
        lambda x, i, b: sparse(
            functional_zeros(64, 64),
            functional_zeros(64, 4, 64),
            functional_zeros(64, 8, dtype=fl.uint16),
        ),
        target="trn2",
    ),
    functional_case(
        "MatmulSparse.even_result",
        "'dst' of a sparse matmul has an even number of elements per partition,",
        lambda x, i, b: sparse(
            functional_zeros(64, 64),
            functional_zeros(64, 4, 63),
            functional_zeros(64, 16, dtype=fl.uint16),
        ),
        target="trn2",
    ),
]
