"""Kernels that the gates of elementwise instructions refuse."""

from typing import Any

from kernel_gates.case import case, nisa, nl, ps, sb, tile

BF, INT, U8, PACKED = nl.bfloat16, nl.int32, nl.uint8, nl.float8_e4m3fn_x4


def added(x: Any, y: Any, dst: Any = None, op: Any = nl.add, **options: Any) -> None:
    nisa.tensor_tensor(tile(*x.shape) if dst is None else dst, x, y, op, **options)


def scaled(*stages: Any, dst: Any = None, **options: Any) -> None:
    """A tensor_scalar of [64, 8] with an operation and a scalar, perhaps twice."""
    names = ("op0", "operand0", "op1", "operand1")
    given = dict(zip(names, stages, strict=False))
    dst = tile(64, 8) if dst is None else dst
    nisa.tensor_scalar(dst, sb(64, 8), **given, **options)


def activated(op: Any = nl.exp, dst: Any = None, **options: Any) -> None:
    nisa.activation(tile(64, 8) if dst is None else dst, op, sb(64, 8), **options)


def picked(src: Any, predicate: Any, dst: Any = None) -> None:
    nisa.tensor_copy_predicated(sb(64, 8) if dst is None else dst, src, predicate)


def two_groups(step: int) -> Any:
    return tile(64, 512).ap([[512, 64], [256, 2], [64, 2], [16, 2], [4, 2], [step, 2]])


CASES = [
    case(
        "ComputeInstruction.engine_set",
        "runs on engine PE, expected one of DVE, Activation, Pool or Unassigned",
        lambda x, i, b: nisa.tensor_copy(
            tile(64, 8), sb(64, 8), engine=nisa.engine.tensor
        ),
        lambda x, i, b: nisa.tensor_copy(
            tile(64, 8), sb(64, 8), engine=nisa.engine.scalar
        ),
    ),
    case(
        "Activation.activation_on_pool",
        "'penguin.activation' runs on engine Pool from trn3 on, got trn2; use the",
        lambda x, i, b: nisa.activation(
            tile(64, 8), nl.exp, sb(64, 8), engine=nisa.engine.gpsimd
        ),
        lambda x, i, b: nisa.activation(tile(64, 8), nl.exp, sb(64, 8)),
        target="trn2",
    ),
    case(
        "ComputeInstruction.engine_set",
        "runs on engine Pool, expected one of Activation or Unassigned",
        lambda x, i, b: nisa.activation(
            tile(64, 8),
            nl.exp,
            sb(64, 8),
            reduce_op=nl.add,
            reduce_res=tile(64, 1),
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
            engine=nisa.engine.gpsimd,
        ),
        lambda x, i, b: nisa.activation(
            tile(64, 8), nl.exp, sb(64, 8), engine=nisa.engine.gpsimd
        ),
    ),
    case(
        "ComputeInstruction.operands_on_chip",
        "Expected operand 'src' of 'penguin.tensor_copy' to be in address space",
        lambda x, i, b: nisa.tensor_copy(tile(64, 64), x[0:64]),
        lambda x, i, b: nisa.tensor_copy(tile(64, 64), sb(64, 64)),
    ),
    case(
        "ComputeInstruction.pool_without_psum",
        "Pool cannot read or write PSUM, but 'src' is src: f32[64, 8] in psum;",
        lambda x, i, b: nisa.tensor_copy(
            tile(64, 8), ps(64, 8), engine=nisa.engine.gpsimd
        ),
        lambda x, i, b: nisa.tensor_copy(
            tile(64, 8), sb(64, 8), engine=nisa.engine.gpsimd
        ),
    ),
    case(
        "ComputeInstruction.rank_limit",
        "access to 'dst' has 5 free dimensions, exceed max supported number of",
        lambda x, i, b: nisa.memset(two_groups(1), 0.0),
        lambda x, i, b: nisa.memset(two_groups(2), 0.0),
    ),
    case(
        "TensorTensor.same_shape",
        "tile shape mismatch, expected '[64, 8]' of 'dst', got [64, 9] for 'rhs'",
        lambda x, i, b: added(sb(64, 8), sb(64, 9)),
        lambda x, i, b: added(sb(64, 8), sb(64, 8)),
    ),
    case(
        "TensorTensor.one_psum_input",
        "both inputs cannot be PSUM; copy one to SBUF with tensor_copy first",
        lambda x, i, b: added(ps(64, 8), ps(64, 8)),
        lambda x, i, b: added(ps(64, 8), sb(64, 8)),
        target="trn2",
    ),
    case(
        "ComputeInstruction.partition_step",
        "the access on the partition dimension must be contiguous, but 'src'",
        lambda x, i, b: nisa.tensor_copy(tile(32, 8), sb(64, 8)[0:64:2]),
        lambda x, i, b: nisa.dma_copy(tile(32, 8), sb(64, 8)[0:64:2]),
    ),
    case(
        "ComputeInstruction.partition_step",
        "in sbuf) steps by 2 partitions; gather the partitions into a tile with",
        lambda x, i, b: nisa.memset(tile(64, 8).ap([[16, 32], [1, 8]]), 0.0),
        lambda x, i, b: nisa.memset(tile(64, 8).ap([[8, 32], [1, 8]]), 0.0),
    ),
    case(
        "TensorTensor.binary_op",
        "rsqrt takes one operand and is not supported in 'penguin.tensor_tensor'",
        lambda x, i, b: added(sb(64, 8), sb(64, 8), op=nl.rsqrt),
        lambda x, i, b: added(sb(64, 8), sb(64, 8), op=nl.maximum),
    ),
    case(
        "TensorTensor.power_without_psum",
        "the input/output tiles cannot be in PSUM if op is power, which runs on",
        lambda x, i, b: added(ps(64, 8), sb(64, 8), op=nl.power),
        lambda x, i, b: added(sb(64, 8), sb(64, 8), op=nl.power),
    ),
    case(
        "TensorScalar.bitvec_engine",
        "bitvec operators must run on Vector Engine, got bitwise_and on engine Pool",
        lambda x, i, b: nisa.tensor_scalar(
            tile(64, 8, dtype=INT),
            sb(64, 8, dtype=INT),
            nl.bitwise_and,
            3,
            engine=nisa.engine.gpsimd,
        ),
        lambda x, i, b: nisa.tensor_scalar(
            tile(64, 8, dtype=INT),
            sb(64, 8, dtype=INT),
            nl.bitwise_and,
            3,
            engine=nisa.engine.vector,
        ),
    ),
    case(
        "TensorTensor.bitvec_dtypes",
        "Unsupported dtype 'float32' of 'dst' in a bitwise operation, expected",
        lambda x, i, b: added(sb(64, 8), sb(64, 8), op=nl.bitwise_and),
        lambda x, i, b: added(
            sb(64, 8, dtype=INT),
            sb(64, 8, dtype=INT),
            tile(64, 8, dtype=INT),
            op=nl.bitwise_and,
        ),
    ),
    case(
        "TensorScalar.engine_set",
        "Engine for tensor_scalar can only be Scalar or Vector or GpSIMD or",
        lambda x, i, b: scaled(nl.add, 1.0, engine=nisa.engine.tensor),
        lambda x, i, b: scaled(nl.add, 1.0, engine=nisa.engine.scalar),
    ),
    case(
        "TensorScalar.scalars_given",
        "operand1 and op1 input arguments must be both provided or both None.",
        lambda x, i, b: scaled(nl.add, 1.0, nl.multiply),
        lambda x, i, b: scaled(nl.add, 1.0, nl.multiply, 2.0),
    ),
    case(
        "TensorScalar.one_family",
        "op0=add and op1=bitwise_and must be both bitvec or both arithmetic",
        lambda x, i, b: scaled(nl.add, 1.0, nl.bitwise_and, 2),
        lambda x, i, b: scaled(nl.add, 1.0, nl.multiply, 2),
    ),
    case(
        "TensorScalar.scalar_shapes",
        "'scalar0' must hold one element for each of 64 partitions, got scalar0:",
        lambda x, i, b: scaled(nl.add, sb(64, 2)),
        lambda x, i, b: scaled(nl.add, sb(64, 1)),
    ),
    case(
        "TensorScalar.scalar_engine_operations",
        "op0=subtract, op1=None is not supported on engine Activation, expected",
        lambda x, i, b: scaled(nl.subtract, 1.0, engine=nisa.engine.scalar),
        lambda x, i, b: scaled(nl.add, 1.0, engine=nisa.engine.scalar),
    ),
    case(
        "Activation.activation_shapes",
        "tile shape mismatch, expected '[64, 9]' of 'dst', got [64, 8] for 'src'",
        lambda x, i, b: activated(dst=tile(64, 9)),
        lambda x, i, b: activated(dst=tile(64, 8)),
    ),
    case(
        "Activation.bias_vector",
        "'bias' param of 'penguin.activation' must be a vector of any number",
        lambda x, i, b: activated(bias=sb(64, 1, dtype=nl.tfloat32)),
        lambda x, i, b: activated(bias=sb(64, 1, dtype=INT)),
    ),
    case(
        "Activation.scale_vector",
        "'scale' param of 'penguin.activation' must be a scalar or vector of",
        lambda x, i, b: activated(scale=sb(64, 1, dtype=BF)),
        lambda x, i, b: activated(scale=sb(64, 1)),
    ),
    case(
        "Activation.reciprocal_bias",
        "reciprocal must have bias=None for trn1.",
        lambda x, i, b: activated(nl.reciprocal, bias=sb(64, 1)),
        lambda x, i, b: activated(nl.reciprocal),
        target="trn1",
    ),
    case(
        "Reciprocal.same_shape",
        "tile shape mismatch, expected '[64, 9]' of 'dst', got [64, 8] for 'src'",
        lambda x, i, b: nisa.reciprocal(tile(64, 9), sb(64, 8)),
        lambda x, i, b: nisa.reciprocal(tile(64, 8), sb(64, 8)),
    ),
    case(
        "TensorCopy.same_shape",
        "tile shape mismatch, expected '[64, 9]' of 'dst', got [64, 8] for 'src'",
        lambda x, i, b: nisa.tensor_copy(tile(64, 9), sb(64, 8)),
        lambda x, i, b: nisa.tensor_copy(tile(64, 8), sb(64, 8)),
    ),
    case(
        "Memset.packed_zero",
        "memset of packed float8_e4m3fn_x4 takes only 0, got 1",
        lambda x, i, b: nisa.memset(tile(64, 8, dtype=PACKED), 1),
        lambda x, i, b: nisa.memset(tile(64, 8, dtype=PACKED), 0),
    ),
    case(
        "Iota.iota_in_sbuf",
        "Expected operand 'dst' of 'penguin.index_value' to be in address space",
        lambda x, i, b: nisa.iota(tile(64, 8, dtype=INT, buffer=nl.psum), [[1, 8]]),
        lambda x, i, b: nisa.iota(tile(64, 8, dtype=INT), [[1, 8]]),
    ),
    case(
        "Iota.int32_numbers",
        "the offset and the steps of 'penguin.index_value' must be int32, got "
        "2147483648",
        lambda x, i, b: nisa.iota(tile(64, 8, dtype=INT), [[1, 8]], 1 << 31),
        lambda x, i, b: nisa.iota(tile(64, 8, dtype=INT), [[1, 8]], (1 << 31) - 1),
    ),
    case(
        "TensorCopyPredicated.integer_predicate",
        "`predicate` must be a boolean or integer tile, got float32",
        lambda x, i, b: picked(sb(64, 8), sb(64, 8)),
        lambda x, i, b: picked(sb(64, 8), sb(64, 8, dtype=U8)),
    ),
    case(
        "TensorCopyPredicated.integer_predicate",
        "Unsupported dtype 'int8' of 'predicate' in 'penguin.tensor_copy_predicated',",
        lambda x, i, b: picked(sb(64, 8), sb(64, 8, dtype=nl.int8)),
        lambda x, i, b: picked(sb(64, 8), sb(64, 8, dtype=nl.uint32)),
    ),
    case(
        "TensorCopyPredicated.one_psum_input",
        "both inputs cannot be PSUM (src and predicate); copy one to SBUF",
        lambda x, i, b: picked(ps(64, 8), ps(64, 8, dtype=nl.uint32)),
        lambda x, i, b: picked(ps(64, 8), sb(64, 8, dtype=U8)),
    ),
    case(
        "TensorCopyPredicated.scalar_kind",
        "Scalar `src` must be float if `dst` is float, got 1 and float32",
        lambda x, i, b: picked(1, sb(64, 8, dtype=U8)),
        lambda x, i, b: picked(1, sb(64, 8, dtype=U8), sb(64, 8, dtype=INT)),
    ),
    case(
        "TensorCopyPredicated.same_dtype",
        "`src` and `dst` must have the same dtype, got bfloat16 and float32",
        lambda x, i, b: picked(sb(64, 8, dtype=BF), sb(64, 8, dtype=U8)),
        lambda x, i, b: picked(sb(64, 8), sb(64, 8, dtype=U8)),
    ),
    case(
        "TensorCopyPredicated.same_shape",
        "tile shape mismatch, expected '[64, 8]' of 'dst', got [64, 9] for 'src'",
        lambda x, i, b: picked(sb(64, 9), sb(64, 8, dtype=U8)),
        lambda x, i, b: picked(sb(64, 8), sb(64, 8, dtype=U8)),
    ),
]
