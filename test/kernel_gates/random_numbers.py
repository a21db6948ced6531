"""Kernels that the gates of random generators refuse."""

from typing import Any

from kernel_gates.case import case, fisa, fl, functional_case, nisa, nl, sb, tile

BF, WORD = nl.bfloat16, nl.uint32


def uniform(dst: Any = None, low: Any = 0.0, high: Any = 1.0) -> None:
    nisa.rand2(tile(64, 8) if dst is None else dst, low, high)


def dropped(dst: Any = None, share: Any = 0.5) -> None:
    nisa.dropout(tile(64, 8) if dst is None else dst, sb(64, 8), share)


def dropped_value(dtype: Any) -> None:
    fisa.dropout(fl.zeros((64, 8), dtype), 0.5, dtype=fl.bfloat16)


CASES = [
    case(
        "Rng.integer_result",
        "'dst' of 'penguin.rng' must be an integer tile, got float32",
        lambda x, i, b: nisa.rng(tile(64, 8)),
        lambda x, i, b: nisa.rng(tile(64, 8, dtype=WORD)),
    ),
    case(
        "Rand2.rand2_arch",
        "'penguin.rand2' is available on trn3 or later, got trn2",
        lambda x, i, b: uniform(),
        target="trn2",
    ),
    case(
        "Rand2.uniform_dtypes",
        "Unsupported dtype 'float8_e4m3fn' of 'dst' in 'penguin.rand2', expected one",
        lambda x, i, b: uniform(tile(64, 8, dtype=nl.float8_e4m3fn)),
        lambda x, i, b: uniform(tile(64, 8, dtype=BF)),
    ),
    case(
        "Rand2.bounds_ordered",
        "rand2 needs min < max for valid range, got min 2.0 and max -2.0",
        lambda x, i, b: uniform(low=2.0, high=-2.0),
        lambda x, i, b: uniform(low=-2.0, high=2.0),
    ),
    case(
        "Rand2.bounds_given",
        "'low' must hold one element for each of 64 partitions, got low: f32[64,",
        lambda x, i, b: uniform(low=sb(64, 2)),
        lambda x, i, b: uniform(low=sb(64, 1)),
    ),
    case(
        "SetRandState.one_seed",
        "'src' must hold one seed, got src: u32[1, 2] in sbuf",
        lambda x, i, b: nisa.set_rng_seed(sb(1, 2, dtype=WORD)),
        lambda x, i, b: nisa.set_rng_seed(sb(1, 1, dtype=WORD)),
    ),
    case(
        "RandSetState.state_arch",
        "'penguin.rand_set_state' is available on trn2 or later, got trn1",
        lambda x, i, b: nisa.rand_set_state(sb(128, 6, dtype=WORD)),
        target="trn1",
    ),
    case(
        "RandSetState.state_words",
        "'src' has 24 elements per partition, but must have exactly 6 (engine",
        lambda x, i, b: nisa.rand_set_state(sb(128, 24, dtype=WORD)),
        lambda x, i, b: nisa.rand_set_state(sb(128, 6, dtype=WORD)),
    ),
    case(
        "GetRandState.state_words",
        "'dst' has 24 elements per partition, but must have exactly 6 (engine",
        lambda x, i, b: nisa.rand_get_state(tile(128, 24, dtype=WORD)),
        lambda x, i, b: nisa.rand_get_state(tile(128, 6, dtype=WORD)),
    ),
    functional_case(
        "Dropout.same_dtype",
        "Unsupported dtype 'bfloat16' of 'dst' in 'penguin.dropout_mask',",
        lambda x, i, b: dropped_value(fl.int32),
        lambda x, i, b: dropped_value(fl.float32),
    ),
    case(
        "",
        "dropout: `dst` must have the type of `data`, <tile of shape (64, 8): 64x8",
        lambda x, i, b: dropped(tile(64, 8, dtype=BF)),
        lambda x, i, b: dropped(),
    ),
    case(
        "Dropout.probability_given",
        "'probability' must hold one element for each of 64 partitions, got",
        lambda x, i, b: dropped(share=sb(64, 2)),
        lambda x, i, b: dropped(share=sb(64, 1)),
    ),
    case(
        "Dropout.same_shape",
        "tile shape mismatch, expected '[64, 9]' of 'dst', got [64, 8] for 'src'",
        lambda x, i, b: dropped(tile(64, 9)),
        lambda x, i, b: dropped(),
    ),
]
