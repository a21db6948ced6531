"""Kernels that the gates of searches and statistics refuse."""

from typing import Any

from kernel_gates.case import case, nisa, nl, sb, tile

WORD = nl.uint32


def found(dst: Any = None, data: Any = None, vals: Any = None) -> None:
    nisa.nc_find_index8(
        tile(64, 8, dtype=WORD) if dst is None else dst,
        sb(64, 16) if data is None else data,
        sb(64, 8) if vals is None else vals,
    )


def replaced(
    dst: Any = None, data: Any = None, vals: Any = None, index: Any = None
) -> None:
    nisa.nc_match_replace8(
        tile(64, 16) if dst is None else dst,
        sb(64, 16) if data is None else data,
        sb(64, 8) if vals is None else vals,
        0.0,
        index,
    )


def spread(step: int) -> Any:
    """Eight elements per partition in three dimensions, or two where they fuse."""
    return tile(64, 64).ap([[64, 64], [16, 2], [4, 2], [step, 2]])


CASES = [
    case(
        "Max8.searched_size",
        "'src' has 7 elements per partition, but must be between 8 and 16384",
        lambda x, i, b: nisa.max8(tile(64, 8), sb(64, 7)),
        lambda x, i, b: nisa.max8(tile(64, 8), sb(64, 8)),
    ),
    case(
        "Max8.found_rank",
        "access to 'dst' has 3 free dimensions, 'penguin.sunda_max8' takes at most 2",
        lambda x, i, b: nisa.max8(spread(1), sb(64, 8)),
        lambda x, i, b: nisa.max8(spread(2), sb(64, 8)),
    ),
    case(
        "Max8.eight",
        "'dst' has 7 elements per partition, but must have exactly 8",
        lambda x, i, b: nisa.max8(tile(64, 7), sb(64, 8)),
        lambda x, i, b: nisa.max8(tile(64, 8), sb(64, 8)),
    ),
    case(
        "FindIndex8.searched_size",
        "'src' has 7 elements per partition, but must be between 8 and 16384",
        lambda x, i, b: found(data=sb(64, 7)),
        lambda x, i, b: found(data=sb(64, 8)),
    ),
    case(
        "FindIndex8.eight",
        "'values' has 7 elements per partition, but must have exactly 8",
        lambda x, i, b: found(vals=sb(64, 7)),
        lambda x, i, b: found(),
    ),
    case(
        "FindIndex8.index_dtype",
        "Unsupported dtype 'float32' of 'dst' in 'penguin.sunda_max_index8',",
        lambda x, i, b: found(tile(64, 8)),
        lambda x, i, b: found(),
    ),
    case(
        "MatchReplace8.searched_size",
        "'src' has 7 elements per partition, but must be between 8 and 16384",
        lambda x, i, b: replaced(tile(64, 7), sb(64, 7)),
        lambda x, i, b: replaced(tile(64, 8), sb(64, 8)),
    ),
    case(
        "MatchReplace8.eight",
        "'values' has 7 elements per partition, but must have exactly 8",
        lambda x, i, b: replaced(vals=sb(64, 7)),
        lambda x, i, b: replaced(),
    ),
    case(
        "MatchReplace8.same_shape",
        "tile shape mismatch, expected '[64, 15]' of 'dst', got [64, 16] for",
        lambda x, i, b: replaced(tile(64, 15)),
        lambda x, i, b: replaced(),
    ),
    case(
        "MatchReplaceIndices8.eight_indices",
        "'index' has 7 elements per partition, but must have exactly 8",
        lambda x, i, b: replaced(index=tile(64, 7, dtype=WORD)),
        lambda x, i, b: replaced(index=tile(64, 8, dtype=WORD)),
    ),
    case(
        "MatchReplaceIndices8.index_arch",
        "'penguin.max_index_and_match_replace' is available on trn2 or later,",
        lambda x, i, b: replaced(index=tile(64, 8, dtype=WORD)),
        lambda x, i, b: replaced(),
        target="trn1",
    ),
    case(
        "BNStats.source_size",
        "'src' has 513 elements per partition, but must be between 1 and 512;",
        lambda x, i, b: nisa.bn_stats(tile(64, 6), sb(64, 513)),
        lambda x, i, b: nisa.bn_stats(tile(64, 6), sb(64, 512)),
    ),
    case(
        "BNStats.six",
        "'dst' has 5 elements per partition, but must have exactly 6",
        lambda x, i, b: nisa.bn_stats(tile(64, 5), sb(64, 8)),
        lambda x, i, b: nisa.bn_stats(tile(64, 6), sb(64, 8)),
    ),
    case(
        "BNStatsAggregate.whole_triples",
        "free size must be a multiple of 3, got 7 elements per partition of 'src'",
        lambda x, i, b: nisa.bn_aggr(tile(64, 2), sb(64, 7)),
        lambda x, i, b: nisa.bn_aggr(tile(64, 2), sb(64, 6)),
    ),
    case(
        "BNStatsAggregate.two",
        "'dst' has 3 elements per partition, but must have exactly 2",
        lambda x, i, b: nisa.bn_aggr(tile(64, 3), sb(64, 6)),
        lambda x, i, b: nisa.bn_aggr(tile(64, 2), sb(64, 6)),
    ),
]
