"""Rows of the tensor engine, of microscaling and of folds over partitions."""

import numpy as np
from kernels.names.rows import (
    ONE_LENGTH,
    Operand,
    Row,
    Shape,
    fisa,
    fl,
    nisa,
    nl,
    one,
)
from oracle.mx import EMAX, scale_row
from oracle.numbers import F32, LARGEST, STORAGE, Array, Result

PRODUCTS: tuple[Shape, ...] = ((7, 13), (1, 13), (7, 1), (1, 1), (128, 5))


def _six(shape: Shape) -> Shape:
    return (shape[0], 6)


def _result(shape: Shape) -> Shape:
    return (6, *shape[1:])


def _product(x: Array, y: Array) -> Array:
    return x.astype(F32).T @ y.astype(F32)


COUPLED = {
    "mask box": "multiply all rows, then copy the result under the mask",
    "mask triangle": "couples the stationary and the moving operand",
    "mask stripes": "couples the stationary and the moving operand",
}
"""A product's rows are partitions of PSUM, and it has no elements of its own."""


def _matmul(dtype: str) -> Row:
    return Row(
        name="nisa.nc_matmul",
        note=dtype,
        shapes=PRODUCTS,
        operands=(Operand(dtype, shape=_six), Operand(dtype)),
        outs=(Operand(shape=_result, space="psum"),),
        lanes=_result,
        functional=lambda x, y, **k: fisa.nc_matmul(x, y, **k),
        destination=lambda out, x, y: nisa.nc_matmul(out, x, y, accumulate=False),
        thorough=dtype == "bf16",
        masked=((7, 13), (128, 5)),
        refused=COUPLED,
        without={"of a loop": "partitions are folded"},
        want=_product,
    )


def _folded(x: Array, where: Array) -> Array:
    return np.where(where, x, 0).sum(axis=0, keepdims=True)


def _quantised(x: Array) -> tuple[Result, Result]:
    rows, columns = x.shape
    blocks, containers = rows // 8, columns // 4
    values = x.astype(np.float64).reshape(blocks, 8, containers, 4)
    largest = np.abs(values).max(axis=(1, 3))
    exponent = np.floor(np.log2(np.where(largest == 0, 1, largest)))
    exponent = np.where(largest == 0, -127, exponent)
    biased = np.clip(exponent - (EMAX["f8e4m3fn_x4"] - 1), -127, 127)
    scaled = values * 2.0 ** -biased[:, None, :, None]
    most = LARGEST["f8e4m3fn"]
    lanes = np.clip(scaled, -most, most).astype(F32).astype(STORAGE["f8e4m3fn"])
    packed = np.ascontiguousarray(lanes.reshape(rows, containers, 4)).view(np.uint32)
    return (
        Result(packed.reshape(rows, containers)),
        Result((biased + 127).astype(np.uint8)),
    )


def _scales(shape: Shape) -> Shape:
    return (shape[0] // 8, shape[1] // 4)


def _packed(shape: Shape) -> Shape:
    return (shape[0], shape[1] // 4)


def _bytes(random: np.random.Generator, shape: Shape, dtype: str) -> Array:
    """Four small numbers to a word."""
    values = random.integers(-3, 4, (*shape, 4)).astype(STORAGE["f8e4m3fn"])
    return values.view(np.uint32)[..., 0]


def _exponents(random: np.random.Generator, shape: Shape, dtype: str) -> Array:
    return random.integers(126, 129, shape).astype(np.uint8)


def _dequantised(data: Array, scale: Array) -> Array:
    """[4 P, C]: value * 2^(scale - 127), one scale for 8 partitions of 4 elements."""
    rows, columns = data.shape
    lanes = np.ascontiguousarray(data)[..., None].view(np.uint8)
    values = lanes.view(STORAGE["f8e4m3fn"]).astype(np.float64)
    places = [scale_row(b, rows // 8, scale.shape[0]) for b in range(rows // 8)]
    power = np.repeat(2.0 ** (scale[places].astype(np.float64) - 127), 8, axis=0)
    found = values * power[:, :, None]
    return found.transpose(0, 2, 1).reshape(4 * rows, columns)


def _scaled_product(x: Array, y: Array, a: Array, b: Array) -> Array:
    return (_dequantised(x, a).T @ _dequantised(y, b)).astype(F32)


def _four(shape: Shape) -> Shape:
    return (shape[0], 4)


ROWS = (
    _matmul("f32"),
    _matmul("bf16"),
    Row(
        name="nl.matmul",
        shapes=PRODUCTS,
        operands=(Operand("bf16", shape=lambda s: (6, s[0])), Operand("bf16")),
        outs=(Operand(shape=_result),),
        lanes=_result,
        functional=lambda x, y, **k: fl.matmul(x, y, **k),
        destination=lambda x, y: nl.matmul(nl.copy(nl.transpose(x)), y, True),
        returns=True,
        masked=((7, 13), (128, 5)),
        refused=COUPLED,
        without={"of a loop": "partitions are folded"},
        want=lambda x, y: x.astype(F32) @ y.astype(F32),
    ),
    Row(
        name="nisa.tensor_partition_reduce",
        outs=(Operand(shape=lambda s: (1, *s[1:])),),
        functional=lambda x, **k: fisa.tensor_partition_reduce(np.add, x, **k),
        destination=lambda out, x: nisa.tensor_partition_reduce(out, nl.add, x),
        folds=True,
        kept=lambda where: where.any(axis=0, keepdims=True),
        masked=((7, 13), (5, 2, 3)),
        refused=ONE_LENGTH
        | {
            "mask box": "partitions to start at partition 0, 32, 64 or 96",
        },
        without={"of a loop": "partitions are folded"},
        want=_folded,
    ),
    Row(
        name="nisa.quantize_mx",
        shapes=((32, 8), (64, 4), (128, 12)),
        operands=one("bf16"),
        outs=(Operand("u32", shape=_packed), Operand("u8", shape=_scales)),
        destination=lambda out, scale, x: nisa.quantize_mx(
            out.view(nl.float8_e4m3fn_x4), x, scale
        ),
        target="trn3",
        want=_quantised,
    ),
    Row(
        name="nisa.nc_matmul_mx",
        shapes=((32, 7), (64, 1), (128, 13)),
        operands=(
            Operand("u32", shape=_four, draw=_bytes),
            Operand("u32", draw=_bytes),
            Operand("u8", shape=lambda s: (s[0] // 8, 4), draw=_exponents),
            Operand("u8", shape=lambda s: (s[0] // 8, s[1]), draw=_exponents),
        ),
        outs=(Operand(shape=lambda s: (4, s[1]), space="psum"),),
        destination=lambda out, x, y, a, b: nisa.nc_matmul_mx(
            out,
            x.view(nl.float8_e4m3fn_x4),
            y.view(nl.float8_e4m3fn_x4),
            a,
            b,
            accumulate=False,
        ),
        target="trn3",
        refused={
            f"reads corner {shape}": "must start in the same 32-partition quadrant"
            for shape in ("64x1", "128x13")
        },
        want=_scaled_product,
    ),
)
