"""`nisa.topk`: the largest elements of a snake over 16 partitions, and their places."""

from typing import Any, Final

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Space
from xdsl_neuron.nki.arguments import as_flag, as_integer, as_view
from xdsl_neuron.nki.instruction import instruction
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKIValueError
from xdsl_neuron.tracer.layouts import Layout
from xdsl_neuron.tracer.slicing import subscript
from xdsl_neuron.tracer.views import View

GROUP: Final = 16
"""Partitions of a snake: element e is in partition e % 16, column e // 16."""

WIDTH: Final = 8
"""Elements that one search finds."""


@instruction
def topk(
    val_dst: Any,
    idx_dst: Any,
    src: Any,
    n: Any,
    sorted: bool = False,
    name: str | None = None,
) -> None:
    """
    The K largest of `n` elements, and their positions in the snake.

    `src` is bf16 (P, at least n / 16) with P a multiple of 16, `val_dst` bf16 (P, K),
    `idx_dst` uint32 (P, K). Each 16 partitions are a problem of their own. Result j is
    in partition j % 16, column j // 16 of its group (0.7); what the last column holds
    behind result K - 1 is undefined, and further columns are not written.

    Our choice: this also for kernels of 0.6, whose page has all K results in every
    partition, for the instruction is the same; ascending, as 0.6 says, `sorted` or not;
    of equal elements those further in front are taken, and stand behind.
    On the device it is a program of GpSIMD without an instruction of its own; here it
    is made of the 8-wide searches, which bound `n` at 16384 and find -inf only once.
    """
    as_flag(sorted, "sorted")
    values, places = as_view(val_dst, "val_dst"), as_view(idx_dst, "idx_dst")
    tile, count = as_view(src, "src"), as_integer(n, "n")
    _check(values, places, tile, count)
    trace = session()
    k, rows = values.shape[1], tile.shape[0]
    rounds = -(-k // WIDTH)
    data = _unrolled(tile, count)
    found = trace.new_tile((rows, rounds * WIDTH), DType.BFLOAT16)
    where = trace.new_tile((rows, rounds * WIDTH), DType.UINT32)
    for turn in range(rounds):
        largest = _columns(found, turn * WIDTH, WIDTH)
        trace.max8(data, dst=largest)
        trace.find_index8(data, largest, dst=_columns(where, turn * WIDTH, WIDTH))
        data = trace.match_replace8(data, largest, -float("inf"))
    _roll(_columns(found, k - 1, k, -1), values)
    _roll(_columns(where, k - 1, k, -1), places, name)


def _columns(tile: View, first: int, count: int, step: int = 1) -> View:
    """Some columns of a fresh tile."""
    row = tile.layout.pairs[0]
    layout = Layout((row, (step, count)), 0, 0, first, tile.element_type)
    return tile.with_layout(layout)


def _unrolled(src: View, count: int) -> View:
    """Every partition with all elements of its group, in the order of the snake."""
    trace = session()
    rows, width = src.shape
    held = trace.view.of(trace.create_tensor(src.shape, src.element_type, Space.HBM))
    trace.dma_copy(src, held)
    flat = trace.new_tile((rows, count), src.element_type)
    for first in range(0, rows, GROUP):
        for columns, height, start in _parts(count):
            pairs = ((1, GROUP), (GROUP, columns), (1, height))
            target = Layout(pairs, 0, first, start * GROUP, flat.element_type)
            steps = ((0, GROUP), (1, columns), (width, height))
            source = Layout(steps, -1, 0, first * width + start, src.element_type)
            trace.dma_copy(held.with_layout(source), flat.with_layout(target))
    return flat


def _roll(flat: View, dst: View, name: str | None = None) -> None:
    """A group's results, which its partitions all have, as a snake through them."""
    trace = session()
    rows, count = flat.shape
    ordered = trace.new_tile(flat.shape, flat.element_type)
    trace.tensor_copy(flat, ordered)
    held = trace.view.of(trace.create_tensor(flat.shape, flat.element_type, Space.HBM))
    trace.dma_copy(ordered, held)
    width = -(-count // GROUP)
    snake = trace.new_tile((rows, width), flat.element_type)
    for first in range(0, rows, GROUP):
        for columns, height, start in _parts(count):
            target = Layout(
                ((1, height), (1, columns)), 0, first, start, flat.element_type
            )
            source = Layout(
                ((1, height), (GROUP, columns)),
                -1,
                0,
                first * count + start * GROUP,
                flat.element_type,
            )
            trace.dma_copy(held.with_layout(source), snake.with_layout(target))
    # The whole columns are written: behind the last result with what is undefined.
    trace.tensor_copy(snake, subscript(dst, (slice(None), slice(0, width))), name=name)


def _parts(count: int) -> list[tuple[int, int, int]]:
    """The whole columns of a snake and the last one: (columns, partitions, first)."""
    full, rest = divmod(count, GROUP)
    parts = [(full, GROUP, 0), (1, rest, full)]
    return [
        (columns, height, at) for columns, height, at in parts if columns and height
    ]


def _check(values: View, places: View, src: View, count: int) -> None:
    for view, what, kind in (
        (src, "src", DType.BFLOAT16),
        (values, "val_dst", DType.BFLOAT16),
        (places, "idx_dst", DType.UINT32),
    ):
        if view.space is not Space.SBUF or view.element_type is not kind:
            raise NKIValueError(
                f"topk: `{what}` must be {kind.nki_name} in sbuf, got {view!r}"
            )
        if view.ndim != 2:
            raise NKIValueError(
                f"topk: `{what}` must have two dimensions, got {view!r}"
            )
    rows, width = src.shape
    k = values.shape[1]
    if rows % GROUP:
        raise NKIValueError(
            f"topk: the partition dimension must be a multiple of {GROUP}, got {rows}"
        )
    if values.shape != (rows, k) or places.shape != (rows, k):
        raise NKIValueError(
            f"topk: `val_dst` and `idx_dst` must both be ({rows}, K), got "
            f"{values.shape} and {places.shape}"
        )
    if not 8 <= count < 65536:
        raise NKIValueError(f"topk: n must be from 8 to 65535, got {count}")
    if not 1 <= k < 32768 or k > count:
        raise NKIValueError(
            f"topk: K must be from 1 to 32767 and at most n, got K={k}, n={count}"
        )
    if width * GROUP < count:
        raise NKIValueError(
            f"topk: `src` has {width} columns, n={count} needs {-(-count // GROUP)}"
        )
