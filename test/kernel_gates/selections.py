"""Kernels that the gates of selections, exponentials and indices refuse."""

from typing import Any

from kernel_gates.case import case, nisa, nl, ps, sb, tile

BF, INT, U8 = nl.bfloat16, nl.int32, nl.uint8
cmd = nisa.reduce_cmd


def triangle(
    dst: Any = None, src: Any = None, op: Any = nl.greater_equal, offset: int = 0
) -> None:
    src = sb(64, 8) if src is None else src
    dst = tile(64, 8) if dst is None else dst
    nisa.affine_select(dst, [[1, 8]], -1, src, 0.0, op, offset)


def ranged(
    dst: Any = None,
    src: Any = None,
    bound: Any = None,
    op: Any = nl.less,
    **options: Any,
) -> None:
    nisa.range_select(
        tile(64, 8) if dst is None else dst,
        sb(64, 8) if src is None else src,
        nl.greater_equal,
        op,
        sb(64, 1),
        sb(64, 1) if bound is None else bound,
        **options,
    )


def chosen(
    dst: Any = None, pred: Any = None, src: Any = None, other: Any = 0.0, **options: Any
) -> None:
    nisa.select_reduce(
        tile(64, 8) if dst is None else dst,
        sb(64, 8, dtype=U8) if pred is None else pred,
        sb(64, 8) if src is None else src,
        other,
        **options,
    )


def exponential(dst: Any = None, largest: Any = 0.0, **options: Any) -> None:
    nisa.exponential(tile(64, 8) if dst is None else dst, sb(64, 8), largest, **options)


def staged(*stages: Any, dst: Any = None, op: Any = nl.exp, **options: Any) -> None:
    """imm0, imm1, op0, op1 of an activate2."""
    nisa.activate2(
        tile(64, 8) if dst is None else dst, op, sb(64, 8), *stages, **options
    )


def counted(dst: Any = None, src: Any = None, offset: int = 0) -> None:
    nisa.nonzero_with_count(
        tile(64, 9, dtype=INT) if dst is None else dst,
        sb(64, 8) if src is None else src,
        offset,
    )


def bounded(dst: Any, src: Any) -> None:
    nisa.sequence_bounds(dst, src)


def leaky(slope: Any) -> None:
    ops = nl.multiply, nl.add
    nisa.activate2(tile(64, 8), nl.prelu, sb(64, 8), 1.0, 0.0, *ops, relu_param=slope)


CASES = [
    case(
        "AffineSelect.select_in_sbuf",
        "Expected operand 'src' of 'penguin.aff_sel_tensor_scalar' to be in",
        lambda x, i, b: triangle(src=ps(64, 8)),
        lambda x, i, b: triangle(),
    ),
    case(
        "AffineSelect.int32_numbers",
        "the offset and the steps of 'penguin.aff_sel_tensor_scalar' must be int32",
        lambda x, i, b: triangle(offset=-(1 << 31) - 1),
        lambda x, i, b: triangle(offset=-(1 << 31)),
    ),
    case(
        "AffineSelect.compare_op",
        "add is not supported in 'penguin.aff_sel_tensor_scalar', expected one",
        lambda x, i, b: triangle(op=nl.add),
        lambda x, i, b: triangle(),
    ),
    case(
        "AffineSelect.same_shape",
        "number of partitions mismatch in parameters (dst: 32, src: 64)",
        lambda x, i, b: triangle(tile(32, 8)),
        lambda x, i, b: triangle(),
    ),
    case(
        "RangeSelect.range_select_arch",
        "'penguin.range_select_reduce' is available on trn2 or later, got trn1",
        lambda x, i, b: ranged(),
        target="trn1",
    ),
    case(
        "RangeSelect.compare_ops",
        "not_equal is not supported in 'penguin.range_select_reduce', expected",
        lambda x, i, b: ranged(op=nl.not_equal),
        lambda x, i, b: ranged(),
    ),
    case(
        "RangeSelect.bounds_per_partition",
        "'bound1' must hold one element for each of 64 partitions, got bound1:",
        lambda x, i, b: ranged(bound=sb(64, 2)),
        lambda x, i, b: ranged(),
    ),
    case(
        "RangeSelect.float_source",
        "'src' of 'penguin.range_select_reduce' must be floating point, got int32",
        lambda x, i, b: ranged(src=sb(64, 8, dtype=INT)),
        lambda x, i, b: ranged(),
    ),
    case(
        "RangeSelect.exact_columns",
        "columns 16777209 to 16777216 must be between 0 and 16777215",
        lambda x, i, b: ranged(range_start=2**24 - 7),
        lambda x, i, b: ranged(range_start=2**24 - 8),
    ),
    case(
        "RangeSelect.same_shape",
        "tile shape mismatch, expected '[64, 9]' of 'dst', got [64, 8] for 'src'",
        lambda x, i, b: ranged(tile(64, 9)),
        lambda x, i, b: ranged(),
    ),
    case(
        "RangeSelectReduce.reduce_ops",
        "add is not supported in 'penguin.range_select_reduce', expected one of",
        lambda x, i, b: ranged(reduce_res=tile(64, 1), reduce_op=nl.add),
        lambda x, i, b: ranged(reduce_res=tile(64, 1)),
    ),
    case(
        "SelectReduce.integer_predicate",
        "`predicate` must be a boolean or integer tile, got float32",
        lambda x, i, b: chosen(pred=sb(64, 8)),
        lambda x, i, b: chosen(),
    ),
    case(
        "SelectReduce.integer_predicate",
        "Unsupported dtype 'uint32' of 'predicate' in 'penguin.select_reduce',",
        lambda x, i, b: chosen(pred=sb(64, 8, dtype=nl.uint32)),
        lambda x, i, b: chosen(pred=sb(64, 8, dtype=nl.uint16)),
    ),
    case(
        "SelectReduce.on_true_dtype",
        "Unsupported dtype 'int32' of 'on_true' in 'penguin.select_reduce',",
        lambda x, i, b: chosen(src=sb(64, 8, dtype=INT)),
        lambda x, i, b: chosen(),
    ),
    case(
        "SelectReduce.on_false_vector",
        "on_false's free dimension should be 1 (a vector), got [64, 8]",
        lambda x, i, b: chosen(other=sb(64, 8)),
        lambda x, i, b: chosen(other=sb(64, 1)),
    ),
    case(
        "SelectReduce.one_psum_input",
        "both inputs cannot be PSUM (on_true and predicate); copy one to SBUF",
        lambda x, i, b: chosen(src=ps(64, 8), pred=ps(64, 8, dtype=nl.int16)),
        lambda x, i, b: chosen(src=ps(64, 8)),
    ),
    case(
        "SelectReduce.reduce_ops",
        "add is not supported in 'penguin.select_reduce', expected one of max",
        lambda x, i, b: chosen(
            reduce_res=tile(64, 1), reduce_cmd=cmd.reset_reduce, reduce_op=nl.add
        ),
        lambda x, i, b: chosen(reduce_res=tile(64, 1), reduce_cmd=cmd.reset_reduce),
    ),
    case(
        "SelectReduce.same_shape",
        "tile shape mismatch, expected '[64, 9]' of 'dst', got [64, 8] for",
        lambda x, i, b: chosen(tile(64, 9)),
        lambda x, i, b: chosen(),
    ),
    case(
        "Exponential.exponential_arch",
        "'penguin.exponential' is available on trn3 or later, got trn2",
        lambda x, i, b: exponential(),
        target="trn2",
    ),
    case(
        "Exponential.max_value_given",
        "'max_value' must hold one element for each of 64 partitions, got",
        lambda x, i, b: exponential(largest=sb(64, 2)),
        lambda x, i, b: exponential(largest=sb(64, 1)),
    ),
    case(
        "Exponential.same_shape",
        "tile shape mismatch, expected '[64, 9]' of 'dst', got [64, 8] for 'src'",
        lambda x, i, b: exponential(tile(64, 9)),
        lambda x, i, b: exponential(),
    ),
    case(
        "ExponentialReduce.reduce_shape",
        "'reduce_res' must hold one element for each of 64 partitions, got",
        lambda x, i, b: exponential(
            reduce_res=tile(64, 2), reduce_cmd=cmd.reset_reduce
        ),
        lambda x, i, b: exponential(
            reduce_res=tile(64, 1), reduce_cmd=cmd.reset_reduce
        ),
    ),
    case(
        "Exponential.exponential_dtypes",
        "Unsupported dtype 'uint32' of 'dst' in 'penguin.exponential', expected one",
        lambda x, i, b: exponential(tile(64, 8, dtype=nl.uint32)),
        lambda x, i, b: exponential(tile(64, 8, dtype=nl.uint16)),
    ),
    case(
        "Activate2.activate2_arch",
        "'penguin.activate2' is available on trn3 or later, got trn2",
        lambda x, i, b: staged(1.0, None, nl.add, None),
        target="trn2",
    ),
    case(
        "Activate2.stages_given",
        "op1 needs op0",
        lambda x, i, b: staged(None, 1.0, None, nl.add),
        lambda x, i, b: staged(1.0, None, nl.add, None),
    ),
    case(
        "Activate2.stage_pairs",
        "(op0, op1) = (mult, mult) is not supported in 'penguin.activate2', expected",
        lambda x, i, b: staged(1.0, 1.0, nl.multiply, nl.multiply),
        lambda x, i, b: staged(1.0, 1.0, nl.multiply, nl.subtract),
    ),
    case(
        "Activate2.scalar_dtypes",
        "scalar0 and scalar1 must have the same dtype, got float32 and bfloat16",
        lambda x, i, b: staged(sb(64, 1), sb(64, 1, dtype=BF), nl.multiply, nl.add),
        lambda x, i, b: staged(sb(64, 1), sb(64, 1), nl.multiply, nl.add),
    ),
    case(
        "Activate2.alpha_of_relu",
        "alpha is used only by Prelu, got Exp",
        lambda x, i, b: staged(1.0, None, nl.add, None, relu_param=0.5),
        lambda x, i, b: staged(1.0, None, nl.add, None),
    ),
    case(
        "Activate2.slope_given",
        "'slope' must hold one element for each of 64 partitions, got",
        lambda x, i, b: leaky(sb(64, 2)),
        lambda x, i, b: leaky(sb(64, 1)),
    ),
    case(
        "Activate2.same_shape",
        "tile shape mismatch, expected '[64, 9]' of 'dst', got [64, 8] for 'src'",
        lambda x, i, b: staged(1.0, None, nl.add, None, dst=tile(64, 9)),
        lambda x, i, b: staged(1.0, None, nl.add, None),
    ),
    case(
        "Activate2Reduce.reduce_ops",
        "mult is not supported in 'penguin.activate2_reduce', expected one of",
        lambda x, i, b: staged(
            1.0,
            None,
            nl.add,
            None,
            reduce_res=tile(64, 1),
            reduce_cmd=cmd.reset_reduce,
            reduce_op=nl.multiply,
        ),
        lambda x, i, b: staged(
            1.0,
            None,
            nl.add,
            None,
            reduce_res=tile(64, 1),
            reduce_cmd=cmd.reset_reduce,
            reduce_op=nl.maximum,
        ),
    ),
    case(
        "NonzeroWithCount.nonzero_arch",
        "'penguin.nonzero_with_count' is available on trn2 or later, got trn1",
        lambda x, i, b: counted(),
        target="trn1",
    ),
    case(
        "NonzeroWithCount.nonzero_dtypes",
        "Unsupported dtype 'float32' of 'dst' in 'penguin.nonzero_with_count',",
        lambda x, i, b: counted(tile(64, 9)),
        lambda x, i, b: counted(),
    ),
    case(
        "NonzeroWithCount.int32_fields",
        "indexOffset must be int32, got 2147483648",
        lambda x, i, b: counted(offset=2**31),
        lambda x, i, b: counted(offset=2**31 - 1),
    ),
    case(
        "NonzeroWithCount.one_more",
        "'dst' has 8 elements per partition, but must have exactly 9",
        lambda x, i, b: counted(tile(64, 8, dtype=INT)),
        lambda x, i, b: counted(),
    ),
    case(
        "GetSequenceBounds.bounds_arch",
        "'penguin.get_sequence_bounds' is available on trn2 or later, got trn1",
        lambda x, i, b: bounded(tile(1, 2, 8), sb(1, 8)),
        target="trn1",
    ),
    case(
        "GetSequenceBounds.bounds_dtypes",
        "Unsupported dtype 'bfloat16' of 'dst' in 'penguin.get_sequence_bounds',",
        lambda x, i, b: bounded(tile(1, 2, 8, dtype=BF), sb(1, 8)),
        lambda x, i, b: bounded(tile(1, 2, 8), sb(1, 8)),
    ),
    case(
        "GetSequenceBounds.one_partition",
        "'src' must have partition size 1, got 2",
        lambda x, i, b: bounded(tile(2, 2, 8), sb(2, 8)),
        lambda x, i, b: bounded(tile(1, 2, 8), sb(1, 8)),
    ),
]
