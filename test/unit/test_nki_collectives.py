"""`nki.collectives`: ranks of one kernel in one process."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.machine import MachineError, default_level
from xdsl_neuron.nki import collectives, isa, language
from xdsl_neuron.tracer.errors import NKIError
from xdsl_neuron.tracer.release_warnings import NKIReleaseWarning

nl: Any = language
nisa: Any = isa

GROUP = collectives.ReplicaGroup([[0, 1, 2]])
RANKS = [np.random.default_rng(n).random((6, 5), np.float32) for n in range(3)]
WHOLE = np.stack(RANKS)


def run(kernel: Callable[..., Any], *others: Any) -> list[Any]:
    """The results of all ranks, the same at every level."""
    arguments = [[rank, *others] for rank in RANKS]
    results = nki.simulate_ranks(kernel, arguments)
    for level in ("bir", "dma"):
        token = default_level.set(level)
        try:
            lowered = nki.simulate_ranks(kernel, arguments)
        finally:
            default_level.reset(token)
        for one, other in zip(results, lowered, strict=True):
            np.testing.assert_array_equal(one, other)
    return results


def exchanged(a: Any, shape: Any, act: Callable[[Any, Any], None], buffer: Any) -> Any:
    """What a collective leaves of a copy of `a`, copied out."""
    src = nl.ndarray(a.shape, a.dtype, buffer=buffer)
    dst = nl.ndarray(shape, a.dtype, buffer=buffer)
    out = nl.ndarray(shape, a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(src, a)
    act(src, dst)
    nisa.dma_copy(out, dst)
    return out


@pytest.mark.parametrize("region", ["hbm", "sbuf"])
@pytest.mark.parametrize("op", ["add", "maximum", "minimum"])
def test_all_reduce(op: str, region: str) -> None:
    def kernel(a: Any) -> Any:
        def act(src: Any, dst: Any) -> None:
            collectives.all_reduce([src], [dst], GROUP, getattr(nl, op))

        return exchanged(a, a.shape, act, getattr(nl, region))

    fold = {"add": np.add, "maximum": np.maximum, "minimum": np.minimum}[op]
    for found in run(kernel):
        np.testing.assert_allclose(found, fold.reduce(WHOLE), rtol=1e-6)


@pytest.mark.parametrize(("region", "dim"), [("hbm", 0), ("sbuf", 0), ("sbuf", 1)])
def test_all_gather(region: str, dim: int) -> None:
    expected = np.concatenate(RANKS, dim)

    def kernel(a: Any) -> Any:
        def act(src: Any, dst: Any) -> None:
            collectives.all_gather([src], [dst], GROUP, collective_dim=dim)

        return exchanged(a, expected.shape, act, getattr(nl, region))

    for found in run(kernel):
        np.testing.assert_array_equal(found, expected)


def test_reduce_scatter_and_all_to_all() -> None:
    def kernel(a: Any) -> Any:
        def scatter(src: Any, dst: Any) -> None:
            collectives.reduce_scatter([src], [dst], GROUP, 0, nl.add)

        def spread(src: Any, dst: Any) -> None:
            collectives.all_to_all([src], [dst], GROUP, 0)

        return (
            exchanged(a, (2, 5), scatter, nl.hbm),
            exchanged(a, a.shape, spread, nl.hbm),
        )

    for number, (part, spread) in enumerate(run_pairs(kernel)):
        at = slice(2 * number, 2 * number + 2)
        np.testing.assert_allclose(part, WHOLE.sum(0)[at], rtol=1e-6)
        np.testing.assert_array_equal(spread, np.concatenate(WHOLE[:, at]))


def run_pairs(kernel: Callable[..., Any]) -> list[Any]:
    return nki.simulate_ranks(kernel, [[rank] for rank in RANKS])


def test_permutes_and_the_ring() -> None:
    def kernel(a: Any) -> Any:
        def pairs(src: Any, dst: Any) -> None:
            nisa.dma_copy(dst, src)
            collectives.collective_permute([src], [dst], [(0, 2), (2, 0)])

        def ring(src: Any, dst: Any) -> None:
            collectives.collective_permute_implicit([[src]], [[dst]], GROUP)

        def fold(src: Any, dst: Any) -> None:
            collectives.collective_permute_implicit_reduce(
                [[src]], [[src]], [[dst]], GROUP, nl.add
            )

        return tuple(exchanged(a, a.shape, act, nl.hbm) for act in (pairs, ring, fold))

    for number, (pairs, ring, fold) in enumerate(run_pairs(kernel)):
        np.testing.assert_array_equal(pairs, RANKS[(2, 1, 0)[number]])
        np.testing.assert_array_equal(ring, RANKS[number - 1])
        np.testing.assert_array_equal(fold, RANKS[number - 1] * 2)


@pytest.mark.parametrize("op", ["add", "maximum", "minimum"])
def test_a_ring_that_reduces(op: str) -> None:
    def kernel(a: Any, b: Any) -> Any:
        def act(src: Any, dst: Any) -> None:
            other = nl.ndarray(b.shape, b.dtype, buffer=nl.hbm)
            nisa.dma_copy(other, b)
            collectives.collective_permute_implicit_reduce(
                [[src]], [[other]], [[dst]], GROUP, getattr(nl, op)
            )

        return exchanged(a, a.shape, act, nl.hbm)

    other = np.random.default_rng(9).random((6, 5), np.float32)
    fold = {"add": np.add, "maximum": np.maximum, "minimum": np.minimum}[op]
    for number, found in enumerate(run(kernel, other)):
        np.testing.assert_array_equal(found, fold(RANKS[number - 1], other))


def test_rank_numbers_are_registers() -> None:
    def kernel(a: Any, table: Any) -> Any:
        out = nl.ndarray((1, 3), nl.int32, buffer=nl.shared_hbm)
        rank = collectives.rank_id()
        nisa.register_store(out[0, 0:1], rank * 10 + 1)
        behind = collectives.collective_permute_implicit_current_processing_rank_id(
            1, GROUP
        )
        nisa.register_store(out[0, 1:2], behind)
        tile = nl.ndarray((1, 1), nl.int32, buffer=nl.sbuf)
        nisa.dma_copy(tile, table[0:1, nl.ds(behind, 1)])
        nisa.dma_copy(out[0:1, 2:3], tile)
        return out

    table = np.array([[7, 8, 9]], np.int32)
    found = [each.tolist() for each in run(kernel, table)]
    assert found == [[[1, 2, 9]], [[11, 0, 7]], [[21, 1, 8]]]


def test_several_tensors_in_one_collective() -> None:
    def kernel(a: Any) -> Any:
        outs = [nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm) for _ in range(2)]
        srcs, dsts = (
            [nl.ndarray(a.shape, a.dtype, buffer=nl.hbm) for _ in range(2)]
            for _ in range(2)
        )
        for src in srcs:
            nisa.dma_copy(src, a)
        collectives.all_reduce(srcs, dsts, GROUP, nl.maximum, priority=1)
        for out, dst in zip(outs, dsts, strict=True):
            nisa.dma_copy(out, dst)
        return tuple(outs)

    for first, second in run_pairs(kernel):
        np.testing.assert_array_equal(first, WHOLE.max(0))
        np.testing.assert_array_equal(second, WHOLE.max(0))


def hbm() -> Any:
    return nl.ndarray((2, 2), nl.float32, buffer=nl.hbm)


def sbuf() -> Any:
    return nl.ndarray((2, 2), nl.float32, buffer=nl.sbuf)


REFUSALS: list[tuple[Callable[[], object], str]] = [
    (
        lambda: collectives.all_reduce(hbm(), hbm(), GROUP, nl.add),
        "`srcs` and `dsts` must be lists of tensors",
    ),
    (
        lambda: collectives.all_reduce([hbm()], [], GROUP, nl.add),
        "must have the same length, got 1 and 0",
    ),
    (
        lambda: collectives.all_reduce([hbm()], [sbuf()], GROUP, nl.add),
        "all tensors must be in HBM, or all in SBUF, got hbm, sbuf",
    ),
    (
        lambda: collectives.all_reduce([sbuf()] * 2, [sbuf()] * 2, GROUP, nl.add),
        "several tensors in one collective must be in HBM, got 2 in SBUF",
    ),
    (
        lambda: collectives.all_reduce([hbm()], [hbm()], GROUP, nl.multiply),
        "a collective reduces by add, max or min",
    ),
    (
        lambda: collectives.all_gather([hbm()], [hbm()], GROUP, 1),
        r"`collective_dim` of tensors in hbm must be in \(0,\), got 1",
    ),
    (
        lambda: collectives.all_to_all([sbuf()], [sbuf()], GROUP, 0),
        "tensors must be in hbm, got sbuf",
    ),
    (
        lambda: collectives.collective_permute([hbm()] * 2, [hbm()] * 2, [(0, 1)]),
        "has exactly one tensor, got 2",
    ),
    (
        lambda: collectives.collective_permute_implicit([], [], GROUP, [1]),
        r"`channel_ids` must be consecutive and start at 0, got \[1\]",
    ),
    (
        lambda: collectives.collective_permute_implicit([[hbm()]] * 2, [], GROUP),
        "expected one list of tensors for each of 1 channels, got 2",
    ),
    (
        lambda: collectives.collective_permute_implicit_reduce(
            [[hbm()]], [[hbm()]], [[hbm()]], GROUP, nl.multiply
        ),
        "reduces by nl.add, nl.maximum or nl.minimum, got nl.multiply",
    ),
    (
        lambda: collectives.all_reduce([hbm()], [hbm()], 3, nl.add),
        "`replica_group` must be a ReplicaGroup of lists of ranks, got int",
    ),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSALS)
def test_refusals(wrong: Callable[[], None], message: str) -> None:
    def kernel(a: Any) -> None:
        wrong()

    with pytest.raises(NKIError, match=message) as raised:
        nki.trace(kernel)(RANKS[0])
    assert raised.value.location is not None
    assert raised.value.location.file == __file__


def test_all_ranks_run_one_trace() -> None:
    def kernel(a: Any) -> None: ...

    with pytest.raises(NKIError, match=r"rank 1 has tensors .* all ranks run one"):
        nki.simulate_ranks(kernel, [[RANKS[0]], [RANKS[1][:2]]])
    with pytest.raises(NKIError, match="takes a list of arguments for each rank"):
        nki.simulate_ranks(kernel, [])


# -- regions of HBM, and what calls return ---------------------------------------------


def gathered(srcs: list[Any], dsts: list[Any]) -> Callable[[Any], None]:
    def kernel(a: Any) -> None:
        views = [
            [nl.ndarray((4 * n, 8), a.dtype, buffer=region) for region in regions]
            for n, regions in ((1, srcs), (2, dsts))
        ]
        for view in views[0]:
            nisa.dma_copy(view, a)
        found: Any = collectives.all_gather(views[0], views[1], [[0, 1]], 0)
        assert isinstance(found, nisa.NkiInstruction)

    return kernel


PRIVATE, SHARED = nl.private_hbm, nl.shared_hbm


@pytest.mark.parametrize(
    ("srcs", "dsts", "cores", "literal"),
    [
        ([PRIVATE], [nl.hbm], 1, None),
        ([PRIVATE, nl.hbm], [PRIVATE, PRIVATE], 1, None),
        ([PRIVATE, PRIVATE], [SHARED, PRIVATE], 2, "`dsts` in HBM must all be"),
        ([PRIVATE, SHARED], [SHARED, SHARED], 2, "`srcs` in HBM must all be"),
        ([PRIVATE, PRIVATE], [SHARED, SHARED], 2, None),
        ([SHARED], [PRIVATE], 2, None),
    ],
)
def test_regions_of_a_gather(
    srcs: list[Any], dsts: list[Any], cores: int, literal: str | None
) -> None:
    kernel: Any = nki.jit(gathered(srcs, dsts))
    kernel = kernel[cores] if cores > 1 else kernel
    a = np.zeros((4, 8), np.float32)
    if literal is None:
        kernel.trace(a)
        return
    with pytest.raises(NKIError) as raised:
        kernel.trace(a)
    assert literal in raised.value.message


def reduced(srcs: list[Any], dsts: list[Any]) -> Callable[[Any], None]:
    def kernel(a: Any) -> None:
        views = [
            [nl.ndarray((4, 8), a.dtype, buffer=region) for region in regions]
            for regions in (srcs, dsts)
        ]
        for view in views[0]:
            nisa.dma_copy(view, a)
        collectives.all_reduce(views[0], views[1], [[0, 1]], nl.add)

    return kernel


@pytest.mark.parametrize("made", [gathered, reduced])
def test_shared_tensors_of_one_core(
    made: Callable[[list[Any], list[Any]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Legal before 2.33, and kernels do it: a warning at the kernel's line."""
    a = np.zeros((4, 8), np.float32)
    with pytest.warns(NKIReleaseWarning, match="only with NKI_LNC1_SHARED") as found:
        nki.jit(made([PRIVATE], [SHARED])).trace(a)
    assert found[0].filename == __file__
    with pytest.warns(NKIReleaseWarning, match="`srcs` of a kernel of one core must b"):
        nki.jit(made([SHARED], [PRIVATE])).trace(a)
    with pytest.raises(NKIError, match="`dsts` in HBM must all be"):
        nki.jit(made([PRIVATE, PRIVATE], [SHARED, PRIVATE])).trace(a)
    monkeypatch.setenv("NKI_LNC1_SHARED_HBM", "1")
    nki.jit(made([PRIVATE], [SHARED])).trace(a)


def whole_group(name: str, src: Any, dst: Any) -> None:
    """A collective of three ranks."""
    match name:
        case "all_reduce":
            collectives.all_reduce([src], [dst], GROUP, nl.add)
        case "all_gather":
            collectives.all_gather([src], [dst], GROUP, 0)
        case "reduce_scatter":
            collectives.reduce_scatter([src], [dst], GROUP, 0, nl.add)
        case _:
            collectives.collective_permute([src], [dst], [(0, 1), (1, 0)])


ROWS = {"all_reduce": 6, "all_gather": 18, "reduce_scatter": 2, "permute": 6}


@pytest.mark.parametrize("name", list(ROWS))
@pytest.mark.parametrize("ranks", [0, 1], ids=["call", "one rank"])
def test_one_rank_is_told_how_to_run_several(name: str, ranks: int) -> None:
    def kernel(a: Any) -> Any:
        def act(src: Any, dst: Any) -> None:
            whole_group(name, src, dst)

        return exchanged(a, (ROWS[name], 5), act, nl.hbm)

    def run_alone() -> None:
        if ranks:
            nki.simulate_ranks(kernel, [[RANKS[0]]])
        else:
            nki.simulate(kernel)(RANKS[0])

    advice = r"nki\.simulate_ranks\(kernel, \[\[arguments of rank 0"
    with pytest.raises(MachineError, match=advice) as e:
        run_alone()
    place = e.value.diagnostics[0].location
    assert place is not None
    assert place.file == __file__
