"""Collectives of sizes that are known only while running."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xdsl_neuron import nki
from xdsl_neuron.machine import MachineError, default_level
from xdsl_neuron.nki import collectives, isa, language
from xdsl_neuron.tracer.errors import NKIError

nl: Any = language
nisa: Any = isa
Array = npt.NDArray[Any]
SLOT = 7
RANDOM = np.random.default_rng(4)


def arguments(ranks: int, rows: int) -> list[list[Array]]:
    """For each rank what it has, its destination's old contents, its metadata."""
    found: list[list[Array]] = []
    for _ in range(ranks):
        data = RANDOM.random((SLOT * ranks,), np.float32)
        old = RANDOM.random((SLOT * ranks,), np.float32)
        metadata = np.zeros((rows, ranks), np.uint32)
        metadata[0] = RANDOM.integers(0, SLOT + 1, ranks)
        metadata[1] = RANDOM.integers(0, SLOT * (ranks - 1) + 1, ranks)
        metadata[2] = 99
        if rows == 4:
            metadata[3] = SLOT * RANDOM.permutation(ranks)
        found.append([data, old, metadata])
    return found


def expected(given: list[list[Array]], gathers: bool) -> list[tuple[Array, Array]]:
    """For each rank what it holds then, and its metadata with known counts."""
    found: list[tuple[Array, Array]] = []
    for target, (_, old, metadata) in enumerate(given):
        out, told = old.copy(), metadata.copy()
        for source, (data, _, sent) in enumerate(given):
            column = 0 if gathers else target
            count, start = int(sent[0, column]), int(sent[1, column])
            place = SLOT * source if len(metadata) == 3 else int(metadata[3, source])
            out[place : place + count] = data[start : start + count]
            told[2, source] = count
        found.append((out, told))
    return found


def kernel_of(name: str, ranks: int, region: Any, **options: Any) -> Any:
    group = collectives.ReplicaGroup([list(range(ranks))])

    def kernel(data: Any, old: Any, metadata: Any) -> Any:
        src = nl.ndarray(data.shape, data.dtype, buffer=nl.hbm)
        dst = nl.ndarray(old.shape, old.dtype, buffer=nl.hbm)
        leading = () if region == "hbm" else (1,)
        rows = nl.ndarray(
            (*leading, *metadata.shape), nl.uint32, buffer=getattr(nl, region)
        )
        nisa.dma_copy(src, data)
        nisa.dma_copy(dst, old)
        nisa.dma_copy(rows, metadata.reshape((*leading, *metadata.shape)))
        getattr(collectives, name)([src], [dst], group, rows, **options)
        out = nl.ndarray(old.shape, old.dtype, buffer=nl.shared_hbm)
        told = nl.ndarray(metadata.shape, nl.uint32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, dst)
        nisa.dma_copy(told, rows.reshape(metadata.shape) if not leading else rows[0])
        return out, told

    return kernel


@pytest.mark.parametrize("region", ["hbm", "sbuf"])
@pytest.mark.parametrize(
    ("name", "ranks", "options"),
    [
        ("all_to_all_v", 3, {}),
        ("all_to_all_v", 2, {"recv_counts_known": True}),
        ("all_to_all_v", 4, {"has_rdispls": True}),
        ("all_gather_v", 4, {}),
    ],
)
def test_exchanges(name: str, ranks: int, options: dict[str, Any], region: str) -> None:
    given = arguments(ranks, 4 if "has_rdispls" in options else 3)
    want = expected(given, name == "all_gather_v")
    kernel = kernel_of(name, ranks, region, **options)
    for level in ("penguin", "bir", "dma"):
        token = default_level.set(level)
        try:
            found = nki.simulate_ranks(kernel, given)
        finally:
            default_level.reset(token)
        for at, ((out, told), (values, counts)) in enumerate(
            zip(found, want, strict=True)
        ):
            np.testing.assert_array_equal(out, values)
            known = "recv_counts_known" in options
            np.testing.assert_array_equal(told, given[at][2] if known else counts)


def test_elements_that_leave_an_array() -> None:
    given = arguments(2, 3)
    given[1][2][0] = SLOT + 1
    given[1][2][1] = 0
    with pytest.raises(MachineError, match="rank 1 of the group sends 8 elements"):
        nki.simulate_ranks(kernel_of("all_to_all_v", 2, "hbm"), given)


def hbm(*shape: int, dtype: Any = np.float32) -> Any:
    return nl.ndarray(shape, dtype, buffer=nl.hbm)


def exchange(name: str, ranks: int, rows: Any, **options: Any) -> None:
    group = collectives.ReplicaGroup([list(range(ranks))])
    getattr(collectives, name)([hbm(8)], [hbm(8)], group, rows, **options)


REFUSED: list[tuple[Callable[[], None], str]] = [
    (
        lambda: exchange("all_to_all_v", 2, hbm(3, 2, dtype=np.int32)),
        "`metadata_tensor` must be uint32, got int32",
    ),
    (
        lambda: exchange("all_to_all_v", 2, hbm(3, 4, dtype=np.uint32)),
        r"must have shape \(3, 2\), got \(3, 4\)",
    ),
    (
        lambda: exchange(
            "all_to_all_v", 2, hbm(3, 2, dtype=np.uint32), has_rdispls=True
        ),
        r"must have shape \(4, 2\), got \(3, 2\)",
    ),
    (
        lambda: exchange("all_gather_v", 2, hbm(3, 2, dtype=np.uint32)),
        r"must have exactly 4 of them, got \[\[0, 1\]\]",
    ),
    (
        lambda: exchange(
            "all_gather_v", 4, hbm(4, 4, dtype=np.uint32), has_rdispls=True
        ),
        "has_rdispls=True is not supported",
    ),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSED)
def test_refusals(wrong: Callable[[], None], message: str) -> None:
    def kernel(a: Any) -> None:
        wrong()

    with pytest.raises(NKIError, match=message) as raised:
        nki.trace(kernel)(np.zeros((4, 4), np.float32))
    assert raised.value.location is not None
