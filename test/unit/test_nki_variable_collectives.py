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


# -- in two halves --------------------------------------------------------------------


def halves_of(name: str, ranks: int, region: str, turns: int, **options: Any) -> Any:
    """
    Exchanges that are prepared before anything but the metadata is there.

    What was prepared counts, not what the metadata holds when it is triggered.
    """
    group = collectives.ReplicaGroup([list(range(ranks))])
    prepare = getattr(collectives, f"{name}_prepare")
    trigger = getattr(collectives, f"{name}_trigger")

    def kernel(data: Any, old: Any, metadata: Any) -> Any:
        leading = () if region == "hbm" else (1,)
        shape = (*leading, *metadata.shape)
        none = nl.zeros((1, *metadata.shape), nl.uint32, buffer=nl.sbuf)
        outs = list[Any]()
        for turn in range(turns):
            src = nl.ndarray(data.shape, data.dtype, buffer=nl.hbm)
            dst = nl.ndarray(old.shape, old.dtype, buffer=nl.hbm)
            rows = nl.ndarray(shape, nl.uint32, buffer=getattr(nl, region))
            nisa.dma_copy(rows, metadata.reshape(shape))
            half = prepare([src], [dst], group, rows, name=f"half{turn}", **options)
            assert isinstance(half, nisa.NkiInstruction)
            assert half.name == f"half{turn}"
            nisa.dma_copy(rows, none if leading else none.reshape((1, *shape))[0])
            nisa.dma_copy(src, data)
            nisa.dma_copy(dst, old)
            done = trigger(half, name=f"whole{turn}")
            assert done.name == f"whole{turn}"
            out = nl.ndarray(old.shape, old.dtype, buffer=nl.shared_hbm)
            told = nl.ndarray(metadata.shape, nl.uint32, buffer=nl.shared_hbm)
            nisa.dma_copy(out, dst)
            nisa.dma_copy(told, rows[0] if leading else rows)
            outs += [out, told]
        return tuple(outs)

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
def test_halves(name: str, ranks: int, options: dict[str, Any], region: str) -> None:
    given = arguments(ranks, 4 if "has_rdispls" in options else 3)
    want = expected(given, name == "all_gather_v")
    kernel = halves_of(name, ranks, region, 2, **options)
    for level in ("penguin", "bir", "dma"):
        token = default_level.set(level)
        try:
            found = nki.simulate_ranks(kernel, given)
        finally:
            default_level.reset(token)
        for outs, (values, counts) in zip(found, want, strict=True):
            told = np.zeros_like(counts)
            if "recv_counts_known" not in options:
                told[2] = counts[2]
            for out, after in zip(outs[::2], outs[1::2], strict=True):
                np.testing.assert_array_equal(out, values)
                np.testing.assert_array_equal(after, told)


def test_halves_in_the_body_of_a_loop() -> None:
    given = arguments(2, 3)
    want = expected(given, False)

    def kernel(data: Any, old: Any, metadata: Any) -> Any:
        src, dst = hbm(*data.shape), hbm(*old.shape)
        rows = hbm(*metadata.shape, dtype=np.uint32)
        nisa.dma_copy(dst, old)
        nisa.dma_copy(rows, metadata)

        def body(i: Any) -> None:
            half = collectives.all_to_all_v_prepare([src], [dst], [[0, 1]], rows)
            nisa.dma_copy(src, data)
            collectives.all_to_all_v_trigger(half)

        nl.fori_loop(0, 3, body)
        out = nl.ndarray(old.shape, old.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, dst)
        return out

    for out, (values, _) in zip(nki.simulate_ranks(kernel, given), want, strict=True):
        np.testing.assert_array_equal(out, values)


def prepared(
    what: str = "all_to_all_v", ranks: int = 4, name: str | None = None
) -> Any:
    rows = nl.zeros((1, 3, ranks), nl.uint32, buffer=nl.sbuf)
    src = hbm(8)
    nisa.dma_copy(src, nl.zeros((1, 8), np.float32, buffer=nl.sbuf)[0])
    group = collectives.ReplicaGroup([list(range(ranks))])
    act = getattr(collectives, f"{what}_prepare")
    return act([src], [hbm(8)], group, rows, name=name)


def prepare_twice() -> None:
    prepared(name="half")
    prepared("all_gather_v")


def trigger_twice() -> None:
    half = prepared(name="half")
    collectives.all_to_all_v_trigger(half)
    collectives.all_to_all_v_trigger(half)


def trigger_an_older_one() -> None:
    half = prepared(name="half")
    collectives.all_to_all_v_trigger(half)
    prepared()
    collectives.all_to_all_v_trigger(half)


def trigger_a_memset() -> None:
    prepared()
    collectives.all_to_all_v_trigger(nisa.memset(nl.ndarray((1, 1), nl.int32), 0))


def prepare_in_a_body() -> None:
    halves: list[Any] = []

    def body(i: Any) -> None:
        halves.append(prepared())

    nl.fori_loop(0, 3, body)
    collectives.all_to_all_v_trigger(halves[0])


def trigger_in_a_body() -> None:
    half = prepared()

    def body(i: Any) -> None:
        collectives.all_to_all_v_trigger(half)

    nl.fori_loop(0, 3, body)


HALVES: list[Any] = [
    (
        prepare_twice,
        "all_gather_v_prepare: 'half' of all_to_all_v_prepare has not been triggered; "
        "prepares share one slot",
    ),
    (
        lambda: prepared("all_gather_v", name="half"),
        "'half' of all_gather_v_prepare is never triggered: all_gather_v_trigger",
    ),
    (trigger_twice, "and triggers it once; 'half' is not prepared"),
    (trigger_an_older_one, "and triggers it once; 'half' is not prepared"),
    (
        lambda: collectives.all_gather_v_trigger(prepared(name="half")),
        "'half' is of all_to_all_v_prepare, use all_to_all_v_trigger",
    ),
    (
        lambda: collectives.all_to_all_v_trigger(None),
        "all_to_all_v_trigger takes what all_to_all_v_prepare returned, got NoneType",
    ),
    (
        lambda: collectives.all_to_all_v_trigger(
            nisa.memset(nl.zeros((1, 1), nl.int32), 0)
        ),
        "is not prepared",
    ),
    (prepare_in_a_body, "is in another loop's body than its prepare"),
    (trigger_in_a_body, "is in another loop's body than its prepare"),
    (
        lambda: prepared("all_gather_v", ranks=3),
        "each list of ranks must have exactly 4 of them",
    ),
]


@pytest.mark.parametrize(("act", "literal"), HALVES)
def test_halves_that_do_not_match(act: Callable[[], Any], literal: str) -> None:
    def kernel(data: Any) -> None:
        act()

    with pytest.raises(NKIError) as raised:
        nki.jit(kernel).trace(np.zeros((4,), np.float32))
    assert literal in raised.value.message
    assert raised.value.location is not None
    assert raised.value.location.file == __file__
