"""Views of `NkiTensor` in both memories against NumPy, and what they refuse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xdsl_neuron import nki
from xdsl_neuron.nki import isa, language
from xdsl_neuron.testing import assert_kernel_ok
from xdsl_neuron.tracer.errors import NKIError

nl: Any = language
nisa: Any = isa

A = np.arange(12 * 6 * 10, dtype=np.float32).reshape(12, 6, 10)
Change = Callable[[Any], Any]


def strided(array: Any, offset: int, *pairs: tuple[int, int]) -> Any:
    """`ap` of NumPy, in elements."""
    flat = array.reshape(-1)[offset:]
    steps = tuple(step * array.itemsize for step, _ in pairs)
    return np.lib.stride_tricks.as_strided(flat, [num for _, num in pairs], steps)


CASES: list[tuple[str, Change, Change]] = [
    ("slices", lambda t: t[2:11, 1:6:2, 3:], lambda a: a[2:11, 1:6:2, 3:]),
    ("negative", lambda t: t[:, -4:-1, ::3], lambda a: a[:, -4:-1, ::3]),
    ("ellipsis", lambda t: t[..., 1:9], lambda a: a[..., 1:9]),
    ("integer", lambda t: t[:, 3], lambda a: a[:, 3]),
    ("integers", lambda t: t[:, -1, 7], lambda a: a[:, -1, 7:8]),
    ("ds", lambda t: t[nl.ds(3, 7), :, nl.ds(2, 5)], lambda a: a[3:10, :, 2:7]),
    ("slice", lambda t: t.slice(2, 1, 9, 3), lambda a: a[:, :, 1:9:3]),
    ("select", lambda t: t.select(1, 4), lambda a: a[:, 4]),
    ("select of the last", lambda t: t.select(-1, -2), lambda a: a[..., -2]),
    ("permute", lambda t: t.permute((0, 2, 1)), lambda a: a.transpose(0, 2, 1)),
    ("expand_dim", lambda t: t.expand_dim(1), lambda a: a[:, None]),
    ("expand_dim at the end", lambda t: t.expand_dim(-1), lambda a: a[..., None]),
    ("squeeze_dim", lambda t: t[:, 1:2].squeeze_dim(1), lambda a: a[:, 1]),
    (
        "broadcast",
        lambda t: t[:, :, 4:5].broadcast(2, 7),
        lambda a: np.broadcast_to(a[:, :, 4:5], (12, 6, 7)),
    ),
    ("reshape", lambda t: t.reshape((12, 60)), lambda a: a.reshape(12, 60)),
    ("reshape by -1", lambda t: t.reshape(12, 4, -1), lambda a: a.reshape(12, 4, 15)),
    (
        "reshape_dim",
        lambda t: t[:, :, 1:9].reshape_dim(2, (4, -1)),
        lambda a: a[:, :, 1:9].reshape(12, 6, 4, 2),
    ),
    (
        "flatten_dims",
        lambda t: t[1:5].flatten_dims(1, 2),
        lambda a: a[1:5].reshape(4, 60),
    ),
    (
        "rearrange",
        lambda t: t.rearrange(("b", ("h", "w"), "c"), ("b", "w", "h", "c"), {"h": 3}),
        lambda a: a.reshape(12, 3, 2, 10).transpose(0, 2, 1, 3),
    ),
    (
        "rearrange merges",
        lambda t: t.rearrange(("b", "h", ("w", "c")), ("b", ("h", "w"), "c"), {"c": 2}),
        lambda a: a.reshape(12, 6, 5, 2).reshape(12, 30, 2),
    ),
    (
        "views of views",
        lambda t: t[2:].permute((0, 2, 1))[:, 1:9:2].expand_dim(1)[:, 0, 1:, 2:],
        lambda a: a[2:].transpose(0, 2, 1)[:, 1:9:2][:, 1:, 2:],
    ),
    (
        "ap",
        lambda t: t.ap([[60, 12], [7, 5], [1, 3]], offset=4),
        lambda a: strided(a, 4, (60, 12), (7, 5), (1, 3)),
    ),
    (
        "ap from partition 3",
        lambda t: t.ap([[60, 5], [0, 2], [3, 4]], 3 * 60 + 11),
        lambda a: strided(a, 191, (60, 5), (0, 2), (3, 4)),
    ),
    (
        "ap of a view starts where the view does",
        lambda t: t[4:, 2:].ap([[60, 3], [2, 4]], offset=1),
        lambda a: strided(a, 4 * 60 + 21, (60, 3), (2, 4)),
    ),
    (
        "ap of another type",
        lambda t: t.ap([[120, 12], [2, 9]], offset=7, dtype=nl.bfloat16),
        lambda a: strided(a.view(np.uint16), 7, (120, 12), (2, 9)),
    ),
    (
        "the pattern of a view",
        lambda t: t.ap(t[2:9, :, 1::3].get_pattern(), t[2:9, :, 1::3].offset),
        lambda a: a[2:9, :, 1::3],
    ),
    ("view", lambda t: t.view(nl.int32), lambda a: a.view(np.int32)),
    ("narrower", lambda t: t[1:, :, 2:4].view(nl.uint8), lambda a: a[1:, :, 2:4]),
    (
        "wider",
        lambda t: t.view(nl.bfloat16)[:, 1:3, 4:12].reinterpret_cast(nl.float32),
        lambda a: a[:, 1:3, 2:6],
    ),
]


def seen(array: Any) -> bytes:
    return np.ascontiguousarray(array).tobytes()


@pytest.mark.parametrize("space", ["hbm", "sbuf"])
@pytest.mark.parametrize(
    ("change", "wanted"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_read(space: str, change: Change, wanted: Change) -> None:
    def kernel(a: Any) -> Any:
        source = a
        if space == "sbuf":
            source = nl.ndarray(a.shape, a.dtype, buffer=nl.sbuf)
            nisa.dma_copy(source, a)
        view = change(source)
        out = nl.ndarray(view.shape, view.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, view)
        return out

    found = assert_kernel_ok(kernel, A)
    assert seen(found) == seen(wanted(A))


def test_shapes_of_indexed_views() -> None:
    def kernel(a: Any) -> None:
        tile = nl.ndarray((128, 64), nl.float32, buffer=nl.sbuf)
        assert tile[5].shape == (1, 64)
        assert tile[5, 3].shape == (1, 1)
        assert tile[..., 0].shape == (128, 1)
        assert tile.select(0, 7).shape == (1, 64)
        assert a[0].shape == (6, 10)
        assert a[0, 1, 2].shape == (1,)
        assert a.select(2, 0).shape == (12, 6)

    nki.trace(kernel)(A)


def test_attributes() -> None:
    def kernel(a: Any) -> None:
        tile = nl.ndarray((128, 4, 64), nl.bfloat16, buffer=nl.sbuf, name="t")
        part = tile[32:64, 1:3, 8:]
        assert (part.shape, part.ndim, part.size) == ((32, 2, 56), 3, 32 * 2 * 56)
        assert part.strides == (256, 64, 1)
        assert part.offset == 32 * 256 + 64 + 8
        assert part.get_pattern() == [[256, 32], [64, 2], [1, 56]]
        assert (part.dtype, part.itemsize) == (nl.bfloat16, 2)
        assert part.buffer is nl.sbuf
        assert part.name == "t"
        assert tile[3:7].is_contiguous()
        assert not part.is_contiguous()
        assert not part.is_indirect()
        assert nl.is_sbuf(part.buffer)
        assert nl.is_on_chip(part.buffer)
        shared = nl.ndarray((4,), nl.int8, buffer=nl.shared_hbm)
        assert shared.buffer is nl.shared_hbm
        assert nl.is_hbm(shared.buffer)
        assert nl.is_hbm(a.buffer)
        register = nisa.register_alloc()
        nisa.register_load(register, nl.zeros((1, 1), nl.int32, buffer=nl.sbuf))
        assert a[register].is_indirect()
        assert a.select(1, nl.zeros((1, 1), nl.int32, buffer=nl.sbuf)).is_indirect()

    nki.trace(kernel)(A)


@pytest.mark.parametrize("space", ["hbm", "sbuf"])
@pytest.mark.parametrize("at", [0, 4])
def test_a_dimension_selected_while_running(space: str, at: int) -> None:
    dim = 0 if space == "hbm" else 1

    def kernel(a: Any, index: Any) -> Any:
        source = a
        if space == "sbuf":
            source = nl.ndarray(a.shape, a.dtype, buffer=nl.sbuf)
            nisa.dma_copy(source, a)
        chosen = nl.load(index)
        picked = source.select(dim, chosen)
        again = source[2:].ap(
            [[60, 3], [1, 10]], 10, scalar_offset=chosen, indirect_dim=dim
        )
        outs = [
            nl.ndarray(view.shape, a.dtype, buffer=nl.shared_hbm)
            for view in (picked, again)
        ]
        nisa.dma_copy(outs[0], picked)
        nisa.dma_copy(outs[1], again)
        return tuple(outs)

    start = 2 * 60 + 10 + at * (60 if dim == 0 else 10)
    expected = (np.take(A, at, dim), strided(A, start, (60, 3), (1, 10)))
    assert_kernel_ok(kernel, A, np.array([[at]], np.int32), expected=expected)


def test_rows_picked_by_an_index_tile() -> None:
    picks = np.array([[7], [0], [7], [11], [3]], np.int32)

    def kernel(a: Any, indices: Any) -> Any:
        rows = a.vector_select(0, nl.load(indices))
        assert rows.is_indirect()
        assert rows.shape == (5, 6, 10)
        views = (
            rows,
            rows[:, 2:5, ::3],
            rows.select(1, 4),
            rows.permute((0, 2, 1)),
            rows.reshape((5, 60)).expand_dim(1),
            rows.flatten_dims(1, 2).reshape_dim(1, (4, 15)),
        )
        outs: list[Any] = []
        for view in views:
            tile = nl.ndarray(view.shape, a.dtype, buffer=nl.sbuf)
            nisa.dma_copy(tile, view)
            outs.append(nl.ndarray(view.shape, a.dtype, buffer=nl.shared_hbm))
            nisa.dma_copy(outs[-1], tile)
        return tuple(outs)

    rows = A[picks[:, 0]]
    expected = (
        rows,
        rows[:, 2:5, ::3],
        rows[:, 4],
        rows.transpose(0, 2, 1),
        rows.reshape(5, 1, 60),
        rows.reshape(5, 4, 15),
    )
    assert_kernel_ok(kernel, A, picks, expected=expected)


def test_written_through_a_view() -> None:
    def kernel(a: Any) -> Any:
        tile = nl.ndarray((12, 60), a.dtype, buffer=nl.sbuf)
        nisa.memset(tile, 0.0)
        inner = tile.reshape((12, 6, 10)).permute((0, 2, 1))[:, 2:8:2]
        nisa.tensor_copy(inner, nl.load(a)[:, :, 0:3].permute((0, 2, 1)))
        out = nl.ndarray((12, 60), a.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, tile)
        return out

    expected = np.zeros((12, 6, 10), np.float32)
    expected[:, :, 2:8:2] = A[:, :, 0:3]
    assert_kernel_ok(kernel, A, expected=expected.reshape(12, 60))


def indices() -> Any:
    return nl.zeros((4, 1), nl.int32, buffer=nl.sbuf)


def one() -> Any:
    return nl.zeros((1, 1), nl.int32, buffer=nl.sbuf)


REFUSALS: list[tuple[Callable[[Any, Any], object], str]] = [
    (lambda t, a: t.permute((1, 0, 2)), "must keep the partition dimension first"),
    (lambda t, a: a.permute((1, 0)), r"permute got axes \(1, 0\)"),
    (lambda t, a: t.broadcast(1, 4), "needs a dimension of extent 1, dimension 1"),
    (lambda t, a: t[0:1].broadcast(0, 4), "broadcast .* partition dimension"),
    (lambda t, a: t.expand_dim(0), "cannot be in front of the partition dimension"),
    (lambda t, a: t.expand_dim(5), "expand_dim: no place 5"),
    (lambda t, a: t.squeeze_dim(1), "squeeze_dim .* dimension 1 of .* is 6"),
    (lambda t, a: t[0:1].squeeze_dim(0), "squeeze_dim .* partition dimension"),
    (lambda t, a: t.reshape_dim(1, (4, 2)), "does not make up dimension 1, which"),
    (lambda t, a: t.reshape_dim(0, (4, 3)), "reshape_dim .* partition dimension"),
    (lambda t, a: t.flatten_dims(0, 1), "flatten_dims .* partition dimension"),
    (lambda t, a: t[:, :, 0:3].flatten_dims(1, 2), "are not contiguous in memory"),
    (lambda t, a: t.flatten_dims(2, 1), "start_dim 2 is behind end_dim 1"),
    (lambda t, a: t.reshape((6, 120)), "must keep the partition dimension"),
    (lambda t, a: t.reshape((12, 61)), "cannot change the number of elements"),
    (lambda t, a: t.slice(1, 3, 2), "0 <= start <= end <= 6, got 3 and 2"),
    (lambda t, a: t.slice(1, 0, 7), "0 <= start <= end <= 6, got 0 and 7"),
    (lambda t, a: t.slice(1, 0, 6, 0), "step of a slice must be positive, got 0"),
    (lambda t, a: t.select(1, 6), "needs an index below 6, got 6"),
    (lambda t, a: t.select(0, one()), "cannot be of the partition dimension"),
    (lambda t, a: a.select(0, one()).select(0, one()), "of an indirect view of"),
    (lambda t, a: t.select(3, 0), r"select: no dimension 3 in \(12, 6, 10\)"),
    (lambda t, a: t.vector_select(0, indices()), "must be in hbm"),
    (lambda t, a: a.vector_select(1, indices()), "dim must be 0, got 1"),
    (lambda t, a: a.vector_select(0, indices())[1:3], "that an index tile picks"),
    (
        lambda t, a: a.vector_select(0, indices()).permute((1, 0, 2)),
        "must keep the dimension that an index tile picks first",
    ),
    (lambda t, a: t[None], "Cannot expand dims before partition dimension"),
    (lambda t, a: t[one()], r"a tensor is no index .* use select\(dim, index\)"),
    (
        lambda t, a: t.view(nl.uint8)[:, :, 1:5].view(nl.int16),
        "are no whole number",
    ),
    (
        lambda t, a: t[:, :, ::2].view(nl.uint8),
        "contiguous last dimension, its step",
    ),
    (lambda t, a: t.ap([[1, 2, 3]]), r"must be a list of \[step, number\] pairs"),
    (lambda t, a: t.ap([[30, 2], [1, 3]]), "expected a multiple of 60, got 30"),
    (
        lambda t, a: a.ap([[1, 2]], scalar_offset=one(), indirect_dim=4),
        "indirect_d",
    ),
    (
        lambda t, a: a.ap([[1, 4]], scalar_offset=one(), vector_offset=indices()),
        "they are mutually exclusive",
    ),
    (
        lambda t, a: t.rearrange(("a", "b"), ("a", "b")),
        "src_pattern has 2 dimension",
    ),
    (
        lambda t, a: t.rearrange(("a", "b", "c"), ("a", "c")),
        r"dst_pattern has the names \['a', 'c'\], src_pattern \['a', 'b', 'c'\]",
    ),
    (
        lambda t, a: t.rearrange(("a", ("b", "d"), "c"), ("a", "b", "d", "c")),
        r"more than one of \['b', 'd'\] has no fixed size",
    ),
    (lambda t, a: t.rearrange("abc", ("a", "b", "c")), "must be a tuple of names"),
    (lambda t, a: list(t), "a tensor cannot be iterated over"),
]


@pytest.mark.parametrize(("wrong", "message"), REFUSALS)
def test_refusals(wrong: Callable[[Any, Any], object], message: str) -> None:
    def kernel(a: Any) -> None:
        wrong(nl.ndarray((12, 6, 10), nl.float32, buffer=nl.sbuf), a)

    with pytest.raises(NKIError, match=message) as raised:
        nki.trace(kernel)(A)
    assert raised.value.location is not None
    assert raised.value.location.file == __file__
