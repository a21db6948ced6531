"""
The tensor engine's matmul with structured sparsity.

The weights are [K, M], in groups of 4 rows; a tag per weight names one of the 4 * ratio
dense rows of its group. The tags expand the weights to dense ones, which are multiplied
like any (bir.md 6.10).
"""

from functools import cache
from typing import Final

import numpy as np

from ..arch import Arch
from ..dtypes import DType
from .kernel import Array, Kernel
from .matmul import operand_values, product_writer
from .rules import Rule

_GROUP: Final = Arch.sparse_group
_TAGS_PER_WORD: Final = Arch.sparse_tags_per_word
_TAG_BITS: Final = Arch.sparse_tag_bits


def decode_tags(words: Array) -> Array:
    """Words [K, W] of four 4-bit tags, the first in the low bits, as tags [K, 4 W]."""
    shifts = np.arange(_TAGS_PER_WORD, dtype=np.uint16) * np.uint16(_TAG_BITS)
    tag = np.uint16((1 << _TAG_BITS) - 1)
    return ((words[..., None] >> shifts) & tag).reshape(len(words), -1)


def expand(weights: Array, tags: Array, ratio: int) -> Array:
    """
    fp32 weights [K, M] at their places in a dense matrix [K * ratio, M].

    Weights of one column and group with the same tag add up. `ValueError` for a tag
    that is beyond its group's dense rows.
    """
    terms, columns = weights.shape
    if tags.size and int(tags.max()) >= _GROUP * ratio:
        raise ValueError(
            f"tag {int(tags.max())} of a sparse matmul is beyond the {_GROUP * ratio} "
            f"dense rows of a group at compress_ratio {ratio}"
        )
    dense = np.zeros((terms * ratio, columns), np.float32)
    first: Array = np.arange(terms, dtype=np.intp) // _GROUP * (_GROUP * ratio)
    column: Array = np.arange(columns, dtype=np.intp)
    for member in range(_GROUP):
        # No two weights of one member of the groups have a place in common.
        rows = slice(member, None, _GROUP)
        dense[first[rows, None] + tags[rows], column] += weights[rows]
    return dense


@cache
def matmul_sparse(
    dst: DType,
    stationary: DType,
    moving: DType,
    ratio: int,
    zero_points: tuple[int, int] = (0, 0),
) -> Kernel:
    """
    Kernel(out, stationary, moving, tags, accumulate=False).

    stationary [K, M...], moving [K, ratio, N...], tags [K, M / 4] uint16, out
    [M..., N...] as in `matmul`. `ValueError` for a tag that names no dense row.
    """
    widen_s = operand_values(stationary, zero_points[0])
    widen_m = operand_values(moving, zero_points[1])
    write = product_writer(dst)

    def kernel(
        out: Array,
        stationary: Array,
        moving: Array,
        tags: Array,
        accumulate: bool = False,
    ) -> None:
        terms = stationary.shape[0]
        decoded = decode_tags(tags.reshape(terms, -1)).astype(np.intp)
        left = expand(widen_s(stationary).reshape(terms, -1), decoded, ratio)
        write(out, left, widen_m(moving).reshape(terms * ratio, -1), accumulate)

    return kernel


RULES: Final = (
    Rule(
        "sparse tags",
        "tag = (word >> (4 * lane)) & 15, four columns to a word; it is a row of the "
        "group's dense ones, which are the moving operand's [4 partitions, ratio] in "
        "that order",
        "inferred",
        "penguin.md 6.2",
    ),
    Rule(
        "sparse matmul",
        "tags expand the weights to a dense matrix with zeros (so 0 * inf is NaN, and "
        "weights with one place add up), which is multiplied like any fp32 matmul",
        "inferred",
        "bir.md 6.10",
    ),
)
