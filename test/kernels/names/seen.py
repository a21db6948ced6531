"""Ways to see a tile: views of a larger storage, in both languages and in NumPy."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from kernels.names.rows import Shape, fl, nl
from oracle.numbers import Array

BOTH = ("functional", "destination")


@dataclass(frozen=True)
class Seen:
    """
    A tile of a shape, as part of a storage of another shape.

    `bits` says that the storage holds bytes. `fits` says for which shapes it is there.
    """

    name: str
    storage: Callable[[Shape], Shape]
    tile: Callable[[Any, Shape], Any]
    array: Callable[[Array, Shape], Array]
    writes: bool = True
    generations: tuple[str, ...] = BOTH
    bits: bool = False
    fits: Callable[[Shape], bool] = lambda shape: True


def _sliced(
    name: str, storage: Callable[[Shape], Shape], items: Callable[[Shape], Any]
) -> Seen:
    def look(tile: Any, shape: Shape) -> Any:
        return tile[items(shape)]

    return Seen(name, storage, look, look)


def _last(item: Callable[[int], slice]) -> Callable[[Shape], Any]:
    return lambda shape: (*(slice(None),) * (len(shape) - 1), item(shape[-1]))


def _start(shape: Shape) -> int:
    """A partition that so many may start at."""
    return 32 if shape[0] <= 32 else 64 if shape[0] <= 64 else 0


def _corner(shape: Shape) -> Any:
    first = _start(shape)
    middle = (slice(None),) * (len(shape) - 2)
    return (slice(first, first + shape[0]), *middle, slice(2, 2 + shape[-1]))


def _index(tile: Any, shape: Shape) -> Any:
    indices = [
        fl.arange(n)[
            tuple(slice(None) if at == k else None for at in range(len(shape)))
        ]
        for k, n in enumerate(shape)
    ]
    return tile[(*indices[:-1], indices[-1] * 2 + 1)]


def _steps(shape: Shape) -> list[int]:
    """Steps of the free dimensions, every second element."""
    return [2 * prod(shape[at + 1 :]) for at in range(1, len(shape))]


def _width(shape: Shape) -> int:
    return 2 * prod(shape[1:]) + 3


def _ap(tile: Any, shape: Shape) -> Any:
    free = [list(pair) for pair in zip(_steps(shape), shape[1:], strict=True)]
    first = prod(tile.shape[1:]) if len(tile.shape) > 1 else 1
    return tile.ap([[first, shape[0]], *free], offset=1)


def _as_strided(array: Array, shape: Shape) -> Array:
    steps = [_width(shape), *_steps(shape)]
    return np.lib.stride_tricks.as_strided(
        array.reshape(-1)[1:], shape, [step * array.itemsize for step in steps]
    )


def _swapped(shape: Shape) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2])


def _exchange(shape: Shape) -> list[int]:
    order = list(range(len(shape)))
    order[-2:] = order[:-3:-1]
    return order


def _merged(shape: Shape) -> Shape:
    return (shape[0], prod(shape[1:])) if len(shape) > 2 else (shape[0], 1, shape[1])


def _rearranged(tile: Any, shape: Shape) -> Any:
    """(p, (f, two)) seen as (p, f) by taking one of two."""
    if len(shape) != 2:
        return tile.permute(_exchange(shape))
    parts = tile.rearrange(("p", ("f", "two")), ("p", "two", "f"), {"two": 2})
    return parts[:, 1]


VIEWS = (
    _sliced("plain", lambda s: s, lambda s: ...),
    _sliced(
        "every second",
        lambda s: (*s[:-1], 2 * s[-1] + 1),
        _last(lambda n: slice(1, 1 + 2 * n, 2)),
    ),
    _sliced(
        "backwards", lambda s: (*s[:-1], s[-1] + 2), _last(lambda n: slice(n, 0, -1))
    ),
    _sliced("corner", lambda s: (_start(s) + s[0], *s[1:-1], s[-1] + 3), _corner),
    Seen(
        "index tensors",
        lambda s: (*s[:-1], 2 * s[-1] + 1),
        _index,
        lambda a, s: a[..., 1::2],
        generations=("functional",),
    ),
    Seen(
        "rearranged",
        lambda s: (s[0], 2 * s[1]) if len(s) == 2 else _swapped(s),
        _rearranged,
        lambda a, s: a[:, 1::2] if len(s) == 2 else np.swapaxes(a, -1, -2),
        generations=("destination",),
        fits=lambda s: len(s) != 3 or s[0] != 0,
    ),
    Seen(
        "selected",
        lambda s: (*s, 3),
        lambda t, s: t.select(-1, 1),
        lambda a, s: a[..., 1],
        generations=("destination",),
        fits=lambda s: len(s) < 4,
    ),
    Seen(
        "reshaped",
        _merged,
        lambda t, s: t.reshape(s),
        lambda a, s: a.reshape(s),
    ),
    Seen(
        "access pattern",
        lambda s: (s[0], _width(s)),
        _ap,
        _as_strided,
        generations=("destination",),
    ),
    Seen("bytes", lambda s: s, lambda t, s: t, lambda a, s: a, bits=True),
    Seen(
        "broadcast",
        lambda s: (*s[:-1], 1),
        lambda t, s: (
            t.broadcast(len(s) - 1, s[-1])
            if hasattr(t, "broadcast")
            else fl.broadcast_to(t, shape=s)
        ),
        lambda a, s: np.broadcast_to(a, s),
        writes=False,
        fits=lambda s: s[-1] > 1,
    ),
)

BY_NAME = {seen.name: seen for seen in VIEWS}
PLAIN = BY_NAME["plain"]
__all__ = ["BY_NAME", "PLAIN", "VIEWS", "Seen", "nl"]
