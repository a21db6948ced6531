"""Microscaling: blocks of 8 partitions by 4 elements (penguin.md 14, bir.md 7.4)."""

from typing import Final

import numpy as np
from oracle.elementwise import fields
from oracle.kernel import Draw, Tile, oracle
from oracle.matmul import joined, product
from oracle.numbers import LARGEST, STORAGE, Array, Result

ELEMENTS: Final = {"f8e4m3fn_x4": "f8e4m3fn", "f8e5m2_x4": "f8e5m2"}
EMAX: Final = {"f8e4m3fn_x4": 8, "f8e5m2_x4": 15}
FP4: Final = np.array(
    [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float64
)


def scale_row(block: int, blocks: int, partitions: int) -> int:
    """The partition that holds the scales of a row of blocks."""
    return block if partitions == blocks else (block & 3) + 32 * (block >> 2)


@oracle("penguin.quantize_mx", "bir.quantize_mx")
def quantize_mx(d: Draw) -> None:
    d.arch(40)
    rows, containers = d.pick((32, 64, 128)), d.number(1, 6)
    kind = d.pick(("bf16", "f16"))
    contents = d.random.standard_normal((rows, 4 * containers)) * 2.0 ** d.number(
        -20, 12
    )
    block_scale = 2.0 ** d.random.integers(-6, 6, (rows // 8, containers))
    contents *= np.repeat(np.repeat(block_scale, 8, axis=0), 4, axis=1)
    contents[d.random.random(contents.shape) < 0.2] = 0
    if d.chance(2):
        contents[:8, :4] = 0
    contents = np.clip(contents, -60000, 60000)
    a = d.tile(
        (rows, 4 * containers),
        kind,
        contents=contents.astype(np.float32).astype(STORAGE[kind]),
    )
    dtype = d.pick(tuple(ELEMENTS))
    out = d.tile((rows, containers), dtype, written=True)
    blocks = rows // 8
    scale_rows = d.pick((blocks, rows))
    scale = d.tile((scale_rows, containers), d.pick(("u8", "f8e8m0fnu")), written=True)
    d.run(f"penguin.quantize_mx {out}, {scale} <- {a}")
    x = a.wide.astype(np.float64).reshape(blocks, 8, containers, 4)
    largest = np.abs(x).max(axis=(1, 3))
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log2(largest))
    exponent = np.where(largest < 2.0**-126, -127, exponent)
    biased = np.clip(exponent - (EMAX[dtype] - 1), -127, 127)
    scaled = x * 2.0 ** -biased[:, None, :, None]
    element = ELEMENTS[dtype]
    bounded = np.clip(scaled, -LARGEST[element], LARGEST[element])
    lanes = bounded.astype(np.float32).astype(STORAGE[element])
    packed = np.ascontiguousarray(lanes.reshape(rows, containers, 4)).view(np.uint32)
    d.expect(out, Result(packed.reshape(rows, containers)))
    found = np.zeros(scale.rows.shape, np.uint8)
    written = np.zeros(scale.rows.shape, bool)
    for block in range(blocks):
        row = scale_row(block, blocks, scale_rows)
        found[row] = biased[block] + 127
        written[row] = True
    d.expect(scale, Result(found.view(scale.array.dtype), "bits"), written)


def dequantised(data: Tile, scale: Tile) -> Array:
    """float64 [4 P, C]: value * 2^(scale - 127), lane 0 in the low bits."""
    raw = data.raw
    rows, containers = raw.shape
    if data.dtype == "f4e2m1fn_x4":
        nibbles = (raw[..., None] >> np.array([0, 4, 8, 12], np.uint16)) & 15
        values = FP4[nibbles]
    else:
        kind = STORAGE[ELEMENTS[data.dtype]]
        values = np.ascontiguousarray(raw)[..., None].view(np.uint8).view(kind)
        values = values.astype(np.float64)
    blocks = rows // 8
    places = [scale_row(block, blocks, scale.raw.shape[0]) for block in range(blocks)]
    exponents = scale.raw.view(np.uint8)[places].astype(np.float64) - 127
    power = np.repeat(2.0**exponents, 8, axis=0)[:, :, None]
    return (values * power).transpose(0, 2, 1).reshape(4 * rows, containers)


def _packed(d: Draw, rows: int, columns: int) -> Tile:
    dtype = d.pick(("f8e4m3fn_x4", "f8e5m2_x4", "f4e2m1fn_x4"))
    if dtype == "f4e2m1fn_x4":
        words = d.random.integers(0, 1 << 16, (rows, columns)).astype(np.uint16)
    else:
        values = d.random.standard_normal((rows, columns, 4)).astype(np.float32)
        lanes = values.astype(STORAGE[ELEMENTS[dtype]])
        words = np.ascontiguousarray(lanes).view(np.uint32)[..., 0]
    return d.tile((rows, columns), dtype, contents=words, start=0)


def _scale(d: Draw, data: Tile) -> Tile:
    rows, columns = data.shape
    kind = d.pick(("u8", "f8e8m0fnu"))
    exponents = d.random.integers(120, 134, (d.pick((rows // 8, rows)), columns))
    contents = exponents.astype(np.uint8).view(STORAGE[kind])
    return d.tile(contents.shape, kind, contents=contents, start=0)


@oracle("penguin.matmul_mx", "bir.matmult_mx")
def matmul_mx(d: Draw) -> None:
    d.arch(40)
    rows = d.pick((32, 64, 128))
    left, right = (
        _packed(d, rows, 2 * d.number(1, 20)),
        _packed(d, rows, d.number(1, 40)),
    )
    scales = [_scale(d, left), _scale(d, right)]
    dtype = d.pick(("f32", "bf16"))
    out = d.tile(
        (left.shape[1], right.shape[1]), dtype, space="psum", written=True, plain=True
    )
    how = d.pick(("", "overwrite", "accumulate"))
    d.run(
        f"penguin.matmul_mx {out} <- {left}, {right}, {scales[0]}, {scales[1]}"
        f"{fields(f'accumulate = {how}' if how else '')}"
    )
    found = product(dequantised(left, scales[0]), dequantised(right, scales[1]))
    d.expect(out, joined(found, out.wide.astype(np.float64), how != "overwrite"))
