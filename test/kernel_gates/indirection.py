"""Kernels that the gates of tensor indirection refuse."""

from typing import Any

from kernel_gates.case import Case, Kernel, case, nisa, nl, ps, sb, tile

U16, BF16 = nl.uint16, nl.bfloat16


def on_trn3(
    gate: str, literal: str, wrong: Kernel, right: Kernel, target: str = "trn3"
) -> Case:
    """A case of the generation that has indirection."""
    return case(f"TensorIndirect.{gate}", literal, wrong, right, target)


def copied(count: int, index: Any = None, **options: Any) -> None:
    """Picks columns of [64, 40] by an index [64, 2]."""
    index = sb(64, 2, dtype=U16) if index is None else index
    picked = sb(64, 40).indirect(index, count)
    nisa.tensor_copy(tile(64, count), picked, **options)


def apart(start: int) -> None:
    """Data and index of 32 partitions each, of taller tiles."""
    index = sb(64, 1, dtype=U16)[start : start + 32]
    nisa.tensor_copy(tile(32, 16), sb(64, 40)[:32].indirect(index, 16))


def placed(partition: int) -> None:
    """Data and index at an address."""
    index = nl.ndarray((16, 1), dtype=U16, buffer=nl.sbuf, address=(partition, 0))
    data = nl.ndarray((16, 9), dtype=nl.float32, buffer=nl.sbuf, address=(partition, 8))
    nisa.memset(index, 0)
    nisa.memset(data, 0.0)
    nisa.tensor_copy(tile(16, 16), data.indirect(index, 16))


def scattered(result: Any) -> None:
    """The scalar engine writes columns of [64, 40]."""
    nisa.activation(
        result.indirect(sb(64, 1, dtype=U16), 16), op=nl.exp, data=sb(64, 16)
    )


def within(first: int) -> None:
    """Writes 10 columns of a tile and picks among others of it."""
    data, index = sb(64, 40), sb(64, 1, dtype=U16)
    nisa.tensor_copy(
        data[:, first : first + 20].indirect(index, 16),
        data[:, :20].indirect(index, 16),
    )


def product(dtype: Any = BF16, **options: Any) -> None:
    """[64, 32] x [64, 32] whose first operand is picked."""
    index = sb(64, 1, dtype=U16)
    stationary = sb(64, 40, dtype=dtype).indirect(index, 32)
    nisa.nc_matmul(ps(32, 32), stationary, sb(64, 32, dtype=dtype), **options)


def turned(picked: str) -> None:
    """A transpose one operand of which is picked."""
    index = sb(64, 1, dtype=U16)
    operands = {"stationary": sb(64, 32, dtype=BF16), "moving": sb(64, 64, dtype=BF16)}
    count = operands[picked].shape[1] // 2
    operands[picked] = operands[picked].indirect(index, count)
    shape = (operands["stationary"].shape[1], operands["moving"].shape[1])
    nisa.nc_matmul(ps(*shape, dtype=BF16), **operands, is_transpose=True)


def summed(accumulate: bool | None) -> None:
    """A product that is scattered."""
    dst = ps(32, 64).indirect(sb(32, 1, dtype=U16), 32)
    operand = sb(64, 32, dtype=BF16)
    nisa.nc_matmul(dst, operand, operand, accumulate=accumulate)


ROWS = (64, 128)
CASES = [
    on_trn3(
        "tensor_indirect_arch",
        "is available on NeuronCore-v4 (Trn3) and later, got trn2",
        lambda x, i, b: copied(8),
        lambda x, i, b: nisa.tensor_copy(tile(64, 8), sb(64, 40)[:, :8]),
        "trn2",
    ),
    on_trn3(
        "indirect_indices",
        "TensorIndirect Indices data type must be uint16, got int32",
        lambda x, i, b: copied(8, sb(64, 2, dtype=nl.int32)),
        lambda x, i, b: copied(8),
    ),
    on_trn3(
        "indirect_count",
        "'src' has 33 indices, expected 1 to 32",
        lambda x, i, b: copied(33),
        lambda x, i, b: copied(32),
    ),
    on_trn3(
        "indirect_engine",
        "runs on engine Pool, which picks no columns of 'src'",
        lambda x, i, b: copied(8, engine=nisa.engine.gpsimd),
        lambda x, i, b: copied(8, engine=nisa.engine.scalar),
    ),
    on_trn3(
        "indirect_starts",
        "'src' starts at partition 0 and 'src_index' at 32",
        lambda x, i, b: apart(32),
        lambda x, i, b: apart(0),
    ),
    on_trn3(
        "indirect_quadrant",
        "'src_index' starts at partition 16, expected a multiple of 32",
        lambda x, i, b: placed(16),
        lambda x, i, b: placed(32),
    ),
    on_trn3(
        "scatter_into_psum",
        "on the Scalar engine a scattered dst cannot be in PSUM",
        lambda x, i, b: scattered(ps(64, 40)),
        lambda x, i, b: scattered(sb(64, 40)),
    ),
    on_trn3(
        "indirect_in_place",
        "and picks columns; write to another tile",
        lambda x, i, b: within(0),
        lambda x, i, b: within(20),
    ),
    case(
        "IndirectMatmul.indirect_dtypes",
        "The indirect operands must be a Tensor-Engine float dtype, got float32",
        lambda x, i, b: product(nl.float32),
        lambda x, i, b: product(),
        "trn3",
    ),
    case(
        "IndirectMatmul.transpose_moving",
        "When is_transpose=True, moving cannot use tensor indirection",
        lambda x, i, b: turned("moving"),
        lambda x, i, b: turned("stationary"),
        "trn3",
    ),
    case(
        "IndirectProduct.indirect_untiled",
        "Tensor indirection is incompatible with hardware tiling",
        lambda x, i, b: product(tile_position=(64, 0), tile_size=ROWS),
        lambda x, i, b: product(tile_position=(0, 0), tile_size=ROWS),
        "trn3",
    ),
    case(
        "IndirectProduct.scattered_accumulation",
        "say accumulate=True or accumulate=False",
        lambda x, i, b: summed(None),
        lambda x, i, b: summed(True),
        "trn3",
    ),
]
