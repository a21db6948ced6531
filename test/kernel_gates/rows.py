"""Kernels that the gates of reductions, scans and searches refuse."""

from typing import Any

from kernel_gates.case import case, fisa, fl, functional_case, nisa, nl, ps, sb, tile

BF, INT, WORD = nl.bfloat16, nl.int32, nl.uint32
cmd = nisa.reduce_cmd


def reduced(
    dst: Any, src: Any, op: Any = nl.add, axis: Any = 1, **options: Any
) -> None:
    nisa.tensor_reduce(dst, op, src, axis, **options)


def scanned(x: Any = None, y: Any = None, initial: Any = 0.0, op: Any = nl.add) -> None:
    x = sb(64, 8) if x is None else x
    y = sb(64, 8) if y is None else y
    nisa.tensor_tensor_scan(tile(64, 8), x, y, initial, op, nl.add)


def both_stages(
    x: Any = None, y: Any = None, scalar: Any = 1.0, op: Any = nl.add
) -> None:
    x = sb(64, 8) if x is None else x
    y = sb(64, 8) if y is None else y
    nisa.scalar_tensor_tensor(tile(64, 8), x, op, scalar, nl.add, y)


def running(
    scalar: Any = 1.0,
    dst: Any = None,
    op: Any = nl.add,
    src: Any = None,
    **options: Any,
) -> None:
    nisa.tensor_scalar_cumulative(
        tile(64, 8) if dst is None else dst,
        sb(64, 8) if src is None else src,
        nl.multiply,
        op,
        scalar,
        **options,
    )


def apart(*shape: int) -> None:
    """Folds elements between whose dimensions others lie."""
    steps = [128, 32, 8, 2]
    pattern = [[512, 64], *([s, n] for s, n in zip(steps, shape, strict=True))]
    data = sb(64, 512).ap(pattern)
    nisa.tensor_scalar_reduce(
        tile(*data.shape), data, nl.multiply, 1.0, nl.add, tile(64, 1)
    )


def folded(
    scalar: Any = 1.0,
    dst: Any = None,
    op: Any = nl.add,
    res: Any = None,
    **options: Any,
) -> None:
    dst = tile(64, 8) if dst is None else dst
    nisa.tensor_scalar_reduce(
        dst,
        sb(64, 8),
        nl.multiply,
        scalar,
        op,
        tile(64, 1) if res is None else res,
        **options,
    )


def unread(**options: Any) -> None:
    nisa.tensor_scalar_reduce(
        tile(64, 8), sb(64, 8), nl.multiply, 1.0, nl.add, **options
    )


def summed(dst: Any = None, res: Any = None, op: Any = nl.add) -> None:
    nisa.activation_reduce(
        tile(64, 8) if dst is None else dst,
        nl.exp,
        sb(64, 8),
        op,
        tile(64, 1) if res is None else res,
    )


def summed_into_itself() -> None:
    both = tile(64, 8)
    nisa.tensor_scalar_reduce(both, sb(64, 8), nl.multiply, 2.0, nl.add, both[:, 0:1])


def maximum(command: Any) -> None:
    dst, res, mask = tile(64, 8), tile(64, 1), sb(64, 8, dtype=nl.uint8)
    nisa.select_reduce(dst, mask, sb(64, 8), 0.0, res, command)


def across(dst: Any, src: Any, op: Any = nl.add) -> None:
    nisa.tensor_partition_reduce(dst, op, src)


def summed_from(low: int) -> None:
    """Sums of squares that go on from some row."""
    x, commands = fl.zeros((64, 8), fl.float32), fisa.reduce_cmd
    row = fl.zeros((64, 1), fl.float32)
    options: dict[str, Any] = {"reduce_op": fl.add}
    fisa.activation(fl.square, x, reduce_cmd=commands.reset_reduce, **options)
    rows = fl.arange(64)[:, None] >= low
    fisa.activation(
        fl.square, x, reduce_cmd=commands.reset_reduce, mask=rows, **options
    )
    fisa.activation(fl.square, x, reduce_res=row, **options)


def folded_under_mask(op: Any) -> None:
    inside = fl.arange(64)[:, None] + fl.arange(8)[None, :] < 8
    fisa.tensor_reduce(op, fl.zeros((64, 8), fl.float32), 1, mask=inside)


CASES = [
    case(
        "TensorReduce.free_axes",
        "Reduction on partition axes is not supported, got axes [0]; transpose",
        lambda x, i, b: reduced(tile(64, 1), sb(64, 8), axis=0),
        lambda x, i, b: reduced(tile(64, 1), sb(64, 8)),
    ),
    case(
        "TensorReduce.reduce_op",
        "divide is not supported in 'penguin.tensor_reduce', expected one of",
        lambda x, i, b: reduced(tile(64, 1), sb(64, 8), nl.divide),
        lambda x, i, b: reduced(tile(64, 1), sb(64, 8), nl.maximum),
    ),
    case(
        "TensorReduce.negate_arithmetic",
        "negate option can only be used with arithmetic ops, unsupported",
        lambda x, i, b: reduced(
            tile(64, 1, dtype=INT), sb(64, 8, dtype=INT), nl.bitwise_and, negate=True
        ),
        lambda x, i, b: reduced(
            tile(64, 1, dtype=INT), sb(64, 8, dtype=INT), nl.bitwise_and
        ),
    ),
    case(
        "TensorReduce.reduced_shape",
        "tile shape mismatch, expected '[64, 1]' for 'dst', got [64, 2]",
        lambda x, i, b: reduced(tile(64, 2), sb(64, 8)),
        lambda x, i, b: reduced(tile(64, 1), sb(64, 8)),
    ),
    case(
        "TensorTensorScan.arithmetic",
        "bitwise_and is not supported in 'penguin.tensor_tensor_scan', expected",
        lambda x, i, b: scanned(op=nl.bitwise_and),
        lambda x, i, b: scanned(),
    ),
    case(
        "TensorTensorScan.initial_given",
        "'initial' must hold one element for each of 64 partitions, got initial:",
        lambda x, i, b: scanned(initial=sb(64, 2)),
        lambda x, i, b: scanned(initial=sb(64, 1)),
    ),
    case(
        "TensorTensorScan.one_psum_input",
        "both inputs cannot be PSUM (data0 and data1); copy one to SBUF with",
        lambda x, i, b: scanned(ps(64, 8), ps(64, 8)),
        lambda x, i, b: scanned(ps(64, 8)),
    ),
    case(
        "TensorTensorScan.same_shape",
        "tile shape mismatch, expected '[64, 8]' of 'dst', got [64, 9] for",
        lambda x, i, b: scanned(sb(64, 9)),
        lambda x, i, b: scanned(),
    ),
    case(
        "ScalarTensorTensor.arithmetic",
        "bitwise_and is not supported in 'penguin.scalar_tensor_tensor',",
        lambda x, i, b: both_stages(op=nl.bitwise_and),
        lambda x, i, b: both_stages(),
    ),
    case(
        "ScalarTensorTensor.scalar_given",
        "'scalar0' must hold one element for each of 64 partitions, got scalar0:",
        lambda x, i, b: both_stages(scalar=sb(64, 2)),
        lambda x, i, b: both_stages(scalar=sb(64, 1)),
    ),
    case(
        "ScalarTensorTensor.one_psum_input",
        "both inputs cannot be PSUM (src and other); copy one to SBUF with",
        lambda x, i, b: both_stages(ps(64, 8), ps(64, 8)),
        lambda x, i, b: both_stages(ps(64, 8)),
    ),
    case(
        "ScalarTensorTensor.same_shape",
        "tile shape mismatch, expected '[64, 8]' of 'dst', got [64, 9] for 'src'",
        lambda x, i, b: both_stages(sb(64, 9)),
        lambda x, i, b: both_stages(),
    ),
    case(
        "TensorScalarCumulative.cumulative_ops",
        "divide is not supported in 'penguin.tensor_scalar_cache_cumulative',",
        lambda x, i, b: running(op=nl.divide),
        lambda x, i, b: running(),
    ),
    case(
        "TensorScalarCumulative.scalar_given",
        "'scalar0' must hold one element for each of 64 partitions, got scalar0:",
        lambda x, i, b: running(sb(64, 2)),
        lambda x, i, b: running(sb(64, 1)),
    ),
    case(
        "TensorScalarCumulative.narrow_integers",
        "Unsupported dtype 'int32' of 'src' in",
        lambda x, i, b: running(src=sb(64, 8, dtype=INT)),
        lambda x, i, b: running(src=sb(64, 8, dtype=nl.int16)),
    ),
    case(
        "TensorScalarCumulative.same_shape",
        "tile shape mismatch, expected '[64, 9]' of 'dst', got [64, 8] for 'src'",
        lambda x, i, b: running(dst=tile(64, 9)),
        lambda x, i, b: running(),
    ),
    case(
        "TensorScalarReduce.negated_result",
        "negate changes the sign of reduce_res: give it",
        lambda x, i, b: unread(reduce_res_negate=True),
        lambda x, i, b: folded(reduce_res_negate=True),
    ),
    case(
        "TensorScalarReduce.reduce_rank",
        "access to 'src' has 4 free dimensions, 'penguin.tensor_scalar_cache_reduce'",
        lambda x, i, b: apart(2, 2, 2, 2),
        lambda x, i, b: apart(2, 2, 2, 1),
    ),
    case(
        "TensorScalarReduce.reduce_ops",
        "divide is not supported in 'penguin.tensor_scalar_cache_reduce',",
        lambda x, i, b: folded(op=nl.divide),
        lambda x, i, b: folded(op=nl.maximum),
    ),
    case(
        "TensorScalarReduce.scalar_given",
        "'scalar0' must hold one element for each of 64 partitions, got scalar0:",
        lambda x, i, b: folded(sb(64, 2)),
        lambda x, i, b: folded(sb(64, 1)),
    ),
    case(
        "TensorScalarReduce.same_shape",
        "tile shape mismatch, expected '[64, 9]' of 'dst', got [64, 8] for 'src'",
        lambda x, i, b: folded(dst=tile(64, 9)),
        lambda x, i, b: folded(),
    ),
    case(
        "ActivationReduce.activation_reduce_op",
        "reduce_op max is not supported in 'penguin.activation_accumulation' on",
        lambda x, i, b: summed(op=nl.maximum),
        lambda x, i, b: summed(),
    ),
    case(
        "ActivationReduce.reduce_shape",
        "'reduce_res' must hold one element for each of 64 partitions, got",
        lambda x, i, b: summed(res=tile(64, 2)),
        lambda x, i, b: summed(),
    ),
    case(
        "AccumulatorUser.accumulator_is_defined",
        "reads the accumulators of engine DVE, which no instruction in front of",
        lambda x, i, b: folded(reduce_cmd=cmd.reduce),
        lambda x, i, b: (folded(), folded(reduce_cmd=cmd.reduce)),
    ),
    functional_case(
        "AccumulatorUser.masked_start_of_chain",
        "accumulators of engine Activation are read, and the mask of 'penguin.",
        lambda x, i, b: summed_from(5),
        lambda x, i, b: summed_from(32),
    ),
    case(
        "Accumulating.command_is_known",
        "command LoadAccumulate (load_reduce) is not supported in",
        lambda x, i, b: nisa.activation(
            tile(64, 8),
            nl.exp,
            sb(64, 8),
            reduce_op=nl.add,
            reduce_res=tile(64, 1),
            reduce_cmd=cmd.load_reduce,
        ),
    ),
    case(
        "Accumulating.idle_has_no_result",
        "reduce_res with command Idle (idle) reads accumulators that the",
        lambda x, i, b: (maximum(cmd.reset_reduce), maximum(cmd.idle)),
        lambda x, i, b: maximum(cmd.reset_reduce),
    ),
    case(
        "Loading.initial_value",
        "initial or initial_imm is given with command LoadAccumulate",
        lambda x, i, b: folded(reduce_init=1.0),
        lambda x, i, b: folded(reduce_init=1.0, reduce_cmd=cmd.load_reduce),
    ),
    case(
        "PartitionReduce.partition_reduce_op",
        "par_reduce does not support operator=mult, expected one of add, average,",
        lambda x, i, b: across(tile(1, 8), sb(64, 8), nl.multiply),
        lambda x, i, b: across(tile(1, 8), sb(64, 8)),
    ),
    case(
        "PartitionReduce.partition_reduce_dtypes",
        "Unsupported dtype 'float32' of 'dst' in a bitwise operation, expected",
        lambda x, i, b: across(tile(1, 8), sb(64, 8), nl.bitwise_or),
        lambda x, i, b: across(tile(1, 8), sb(64, 8)),
    ),
    case(
        "PartitionReduce.one_partition",
        "tile shape mismatch, expected '[1, 8]' for 'dst', got [2, 8]",
        lambda x, i, b: across(tile(2, 8), sb(64, 8)),
        lambda x, i, b: across(tile(1, 8), sb(64, 8)),
    ),
    case(
        "RowInstruction.separate_outputs",
        "outputs 'dst' and 'reduce_res' overlap in `dst`; write to two tiles",
        lambda x, i, b: summed_into_itself(),
        lambda x, i, b: summed(),
    ),
    functional_case(
        "BoxMasked.box_mask",
        "mask '7 - l0 - l1 >= 0' does not bound one dimension by itself;",
        lambda x, i, b: fisa.tensor_tensor_scan(
            fl.zeros((64, 8), fl.float32),
            fl.zeros((64, 8), fl.float32),
            0.0,
            fl.add,
            fl.add,
            mask=fl.arange(64)[:, None] + fl.arange(8)[None, :] < 8,
        ),
    ),
    functional_case(
        "TensorReduce.masked_difference",
        "mask '7 - l0 - l1 >= 0' does not bound one dimension by itself; subtract",
        lambda x, i, b: folded_under_mask(fl.subtract),
        lambda x, i, b: folded_under_mask(fl.add),
    ),
]
