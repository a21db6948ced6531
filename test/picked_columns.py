"""Kernels that pick columns by offsets (trn3), and what NumPy makes of them."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from xdsl_neuron import nki
from xdsl_neuron.nki import isa, language

nl: Any = language
nisa: Any = isa
Array = Any

BF16 = ml_dtypes.bfloat16
COLUMNS, COUNT = 40, 27


def jit(kernel: Callable[..., Any]) -> Any:
    return nki.jit(kernel, platform_target="trn3")


def indices(
    partitions: int, count: int, columns: int, group: int = 16, seed: int = 0
) -> tuple[Array, Array]:
    """An index tile, and the offsets it holds for each partition."""
    random = np.random.default_rng(seed)
    width = -(-count // group)
    tile = np.full((partitions, width), 0xFFFF, np.uint16)
    offsets = np.zeros((partitions, count), np.int64)
    for start in range(0, partitions, group):
        mine = random.permutation(columns)[:count]
        for at, offset in enumerate(mine):
            tile[start + at % group, at // group] = offset
        offsets[start : start + group] = mine
    return tile, offsets


def numbers(*shape: int, seed: int = 1, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(seed).integers(-9, 9, shape).astype(dtype)


def load(array: Any) -> Any:
    tile = nl.ndarray(array.shape, dtype=array.dtype, buffer=nl.sbuf)
    nisa.dma_copy(tile, array)
    return tile


def out_of(tile: Any) -> Any:
    out = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out


def take(x: Array, offsets: Array) -> Array:
    return np.take_along_axis(x, offsets, axis=1)


def put(table: Array, offsets: Array, x: Array) -> Array:
    found = table.copy()
    np.put_along_axis(found, offsets, x.astype(table.dtype), axis=1)
    return found


X = numbers(32, COLUMNS)
TABLE = numbers(32, COLUMNS, seed=2)
INDEX, OFFSETS = indices(32, COUNT, COLUMNS)
SECOND, PLACES = indices(32, COUNT, COLUMNS, seed=5)
