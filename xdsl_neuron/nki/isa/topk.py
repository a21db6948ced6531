"""`nisa.topk`: the largest elements of a snake over 16 partitions, and their places."""

from typing import Any, Final

from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Space
from xdsl_neuron.nki.arguments import as_integer, as_view
from xdsl_neuron.nki.instruction import instruction
from xdsl_neuron.nki.trace import session
from xdsl_neuron.tracer.errors import NKIValueError
from xdsl_neuron.tracer.views import Layout, View

GROUP: Final = 16
"""Partitions of a snake: element e is in partition e % 16, column e // 16."""

WIDTH: Final = 8
"""Elements that one search finds."""


@instruction
def topk(val_dst: Any, idx_dst: Any, src: Any, n: Any, name: str | None = None) -> None:
    """
    The K largest of `n` elements, ascending, and their positions in the snake.

    `src` is bf16 (P, at least n / 16) with P a multiple of 16, `val_dst` bf16 (P, K),
    `idx_dst` uint32 (P, K). Every partition of a group of 16 gets the group's result;
    of equal elements those further in front are taken, and stand behind (our choice).
    On the device it is a program of GpSIMD without an instruction of its own; here it
    is made of the 8-wide searches, which bound `n` at 16384 and find -inf only once.
    """
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
    trace.tensor_copy(_columns(found, k - 1, k, -1), values)
    trace.tensor_copy(_columns(where, k - 1, k, -1), places, name=name)


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
    full, rest = divmod(count, GROUP)
    for first in range(0, rows, GROUP):
        for columns, height, start in ((full, GROUP, 0), (1, rest, full)):
            if columns == 0 or height == 0:
                continue
            pairs = ((1, GROUP), (GROUP, columns), (1, height))
            target = Layout(pairs, 0, first, start * GROUP, flat.element_type)
            steps = ((0, GROUP), (1, columns), (width, height))
            source = Layout(steps, -1, 0, first * width + start, src.element_type)
            trace.dma_copy(held.with_layout(source), flat.with_layout(target))
    return flat


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
