"""Rows of searches and statistics of whole partitions."""

import numpy as np
from kernels.names.folds import flat
from kernels.names.rows import (
    ONE_LENGTH,
    Operand,
    Row,
    Shape,
    between,
    distinct,
    fisa,
    nisa,
    one,
    rows_of,
)
from oracle.numbers import F32, Array, Near


def _statistics(x: Array, where: Array) -> Near:
    """Count, mean and M2 of the even elements that are kept, then of the odd ones."""
    found = np.zeros((x.shape[0], 6))
    for row, (values, kept) in enumerate(zip(flat(x), flat(where), strict=True)):
        chosen = values[kept].astype(np.float64)
        for lane in range(2):
            part = chosen[lane::2]
            if part.size:
                mean = part.mean()
                found[row, 3 * lane : 3 * lane + 3] = (
                    part.size,
                    mean,
                    ((part - mean) ** 2).sum(),
                )
    return Near(found, 2.0**-15)


def _triples(random: np.random.Generator, shape: Shape, dtype: str) -> Array:
    found = random.uniform(0.5, 3, shape)
    found[..., ::3] = 4
    return found.astype(F32)


def _merged(data: Array, where: Array) -> Near:
    kept = np.where(where, data, 0).astype(np.float64)
    n, mean, m2 = kept.reshape(data.shape[0], -1, 3).transpose(2, 0, 1)
    total = n.sum(axis=1)
    middle = (n * mean).sum(axis=1) / total
    spread = (m2 + n * (mean - middle[:, None]) ** 2).sum(axis=1) / total
    return Near(np.stack([middle, spread], axis=1), 2.0**-15)


WIDE: tuple[Shape, ...] = ((7, 13), (1, 8), (128, 9), (5, 3, 4), (3, 2, 2, 5))


def _eight(shape: Shape) -> Shape:
    return (shape[0], 8)


def _top(x: Array, where: Array) -> Array:
    found = np.zeros((x.shape[0], 8), F32)
    for row, (values, kept) in enumerate(zip(flat(x), flat(where), strict=True)):
        if kept.sum() >= 8:
            found[row] = np.sort(values[kept])[:-9:-1]
    return found


def _places(x: Array, vals: Array, where: Array) -> Array:
    """The first place of each value among distinct elements, all ones where none."""
    found = np.full((x.shape[0], 8), 0xFFFFFFFF, np.uint32)
    for row, (values, kept) in enumerate(zip(flat(x), flat(where), strict=True)):
        for at, value in enumerate(vals[row]):
            (same,) = np.nonzero(kept & (values == value))
            if same.size:
                found[row, at] = same[0]
    return found


def _replaced(x: Array, vals: Array, where: Array) -> tuple[Array, Array]:
    found = np.where(
        (flat(x)[:, :, None] == vals[:, None, :]).any(axis=2) & flat(where), -1, flat(x)
    )
    return found.astype(F32), _places(x, vals, where)


def _row_and_eight(where: Array) -> tuple[Array, Array]:
    return where, rows_of(where)


SEARCHED = (
    Operand(draw=distinct, never=("broadcast",)),
    Operand(shape=_eight, draw=distinct, never=("broadcast",)),
)
LATE = {"mask box": "leaves out elements before others of a partition"}
SEARCHES = (
    Row(
        name="nisa.max8",
        refused=ONE_LENGTH,
        shapes=WIDE,
        masked=WIDE[:1],
        width=9,
        operands=one(draw=distinct),
        outs=(Operand(shape=_eight),),
        functional=lambda x, **k: fisa.max8(src=x, **k),
        destination=lambda out, x: nisa.max8(out, x),
        folds=True,
        kept=rows_of,
        want=_top,
    ),
    Row(
        name="nisa.nc_find_index8",
        thorough=False,
        refused=ONE_LENGTH | LATE,
        shapes=WIDE,
        masked=WIDE[:1],
        width=9,
        operands=SEARCHED,
        outs=(Operand("u32", shape=_eight),),
        functional=lambda x, v, **k: fisa.nc_find_index8(data=x, vals=v, **k),
        destination=lambda out, x, v: nisa.nc_find_index8(out, x, v),
        folds=True,
        kept=rows_of,
        want=_places,
    ),
    Row(
        name="nisa.nc_match_replace8",
        refused=ONE_LENGTH | LATE,
        shapes=WIDE,
        masked=WIDE[:1],
        width=9,
        operands=SEARCHED,
        outs=(Operand(), Operand("u32", shape=_eight)),
        functional=lambda x, v, index, **k: fisa.nc_match_replace8(
            data=x, vals=v, imm=-1.0, dst_idx=index, **k
        ),
        destination=lambda out, index, x, v: nisa.nc_match_replace8(
            out, x, v, -1.0, index
        ),
        folds=True,
        kept=_row_and_eight,
        want=_replaced,
    ),
)

STATISTICS = (
    Row(
        name="nisa.bn_stats",
        refused=ONE_LENGTH,
        operands=one(draw=between(-2, 2)),
        outs=(Operand(shape=lambda s: (s[0], 6)),),
        functional=lambda x, **k: fisa.bn_stats(x, **k),
        destination=lambda out, x: nisa.bn_stats(out, x),
        folds=True,
        kept=rows_of,
        want=_statistics,
    ),
    Row(
        name="nisa.bn_aggr",
        thorough=False,
        refused=ONE_LENGTH
        | {"mask first columns": "free size must be a multiple of 3"},
        operands=(Operand(shape=lambda s: (s[0], 12), draw=_triples),),
        outs=(Operand(shape=lambda s: (s[0], 2)),),
        lanes=lambda s: (s[0], 12),
        functional=lambda x, **k: fisa.bn_aggr(x, **k),
        destination=lambda out, x: nisa.bn_aggr(out, x),
        folds=True,
        kept=rows_of,
        want=_merged,
    ),
)

ROWS = (*SEARCHES, *STATISTICS)
