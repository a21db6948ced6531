"""Kernels that the gates of collectives, registers and loops refuse."""

from typing import Any

from kernel_gates.case import case, loaded, nisa, nl, sb, tile

import xdsl_neuron.nki.collectives as destination_collectives

collectives: Any = destination_collectives
GROUP = [[0, 1]]


def private(*shape: int, dtype: Any = nl.float32) -> Any:
    return nl.ndarray(shape, dtype, buffer=nl.private_hbm)


def written(*shape: int, dtype: Any = nl.float32) -> Any:
    found = private(*shape, dtype=dtype)
    nisa.dma_copy(dst=found, src=sb(*shape, dtype=dtype))
    return found


def reduced(dst: Any = None, op: Any = nl.add, groups: Any = GROUP) -> None:
    collectives.all_reduce(
        [written(8, 64)], [private(8, 64) if dst is None else dst], groups, op
    )


def same(register: Any) -> Any:
    return register


def held(i: Any) -> Any:
    return nisa.register_alloc(i[0:1, 0:1])


def picked(data: Any, i: Any) -> Any:
    """A row by a scalar of 64 bits."""
    cell = i[0:1, 0:1].ap([[1, 2]]).view(nl.int64)
    row = nisa.scalar_load(cell)
    return data.ap([[data.strides[0], 1], [1, 64]], scalar_offset=row, indirect_dim=1)


CASES = [
    case(
        "CollectiveCompute.collective_arch",
        "curArchLevel > sunda: CollectiveCompute needs level 30, trn1 is 20",
        lambda x, i, b: reduced(),
        target="trn1",
    ),
    case(
        "CollectiveCompute.reduction",
        "a collective reduces by add, max or min, got mult",
        lambda x, i, b: reduced(op=nl.multiply),
        lambda x, i, b: reduced(op=nl.maximum),
    ),
    case(
        "CollectiveCompute.groups",
        "replica groups differ in size: [(0, 1), (2,)]",
        lambda x, i, b: reduced(groups=[[0, 1], [2]]),
        lambda x, i, b: reduced(groups=[[0, 1], [2, 3]]),
    ),
    case(
        "CollectiveCompute.memory",
        "partitions of 'src' must be contiguous, got step 2",
        lambda x, i, b: collectives.all_reduce(
            [sb(64, 8).ap([[16, 32], [1, 8]])], [tile(32, 8)], GROUP, nl.add
        ),
        lambda x, i, b: collectives.all_reduce(
            [sb(64, 8).ap([[8, 32], [1, 8]])], [tile(32, 8)], GROUP, nl.add
        ),
    ),
    case(
        "CollectiveCompute.ratio",
        "Illegal src/dst ratio for AllReduce: in=512, out=256, 2 ranks per group",
        lambda x, i, b: reduced(private(8, 32)),
        lambda x, i, b: reduced(private(8, 64)),
    ),
    case(
        "CollectiveCompute.types",
        "a collective does not cast: src is float32, dst bfloat16",
        lambda x, i, b: reduced(private(8, 64, dtype=nl.bfloat16)),
        lambda x, i, b: reduced(private(8, 64)),
    ),
    case(
        "ProcessingRankId.step",
        "'iter_id' is negative: -1",
        lambda x, i, b: (
            collectives.collective_permute_implicit_current_processing_rank_id(
                -1, GROUP
            )
        ),
        lambda x, i, b: (
            collectives.collective_permute_implicit_current_processing_rank_id(0, GROUP)
        ),
    ),
    case(
        "TensorSave.one_saved_element",
        "InstTensorLoad/InstTensorSave register and tensor must have the same",
        lambda x, i, b: nisa.register_store(tile(1, 1), held(i)),
        lambda x, i, b: nisa.register_store(tile(1, 1, dtype=nl.int32), held(i)),
    ),
    case(
        "Instruction.offset_registers",
        "an offset of 64 bits reaches HBM only, but 'dst' is",
        lambda x, i, b: nisa.dma_copy(dst=picked(loaded(x[0:4, :]), i), src=x[0:1, :]),
        lambda x, i, b: nisa.dma_copy(dst=tile(1, 64), src=picked(x, i)),
    ),
    case(
        "RegisterAlu.register_operands",
        "immediate 4294967296 of 'rhs' does not fit a register of 32 bits",
        lambda x, i, b: held(i) < 2**32,
        lambda x, i, b: held(i) < 2**32 - 1,
    ),
    case(
        "RegisterMove.move_dtype",
        "immediate 4294967296 of 'value' does not fit a register of 32 bits",
        lambda x, i, b: nl.while_loop(nisa.register_alloc(2**32), same),
        lambda x, i, b: nl.while_loop(nisa.register_alloc(2**31), same),
    ),
]
