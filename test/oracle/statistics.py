"""Statistics of rows, for batch normalisation forwards and backwards (bir.md 6.7)."""

import numpy as np
from oracle.kernel import Draw, Tile, oracle
from oracle.numbers import Array, Near

EPSILON = 2.0**-21
"""Sums of a row in any order, and a few operations on them."""

TYPES = ("f32", "f32", "bf16", "f16", "i16", "u8")


def _row_error(*terms: Array) -> Array:
    """What rounding may change in a sum of products of terms, for each row."""
    sizes = np.ones_like(terms[0], np.float64)
    for term in terms:
        sizes = sizes * (np.abs(term) + 1e-6)
    return sizes.sum(axis=1, keepdims=True) * (EPSILON + terms[0].shape[1] * 2.0**-22)


@oracle("penguin.sunda_bn_stats", "bir.bn_stats")
def bn_stats(d: Draw) -> None:
    d.arch()
    shape = (d.partitions(), *d.free())
    a = d.tile(shape, d.pick(TYPES), plain=True)
    out = d.tile((shape[0], 6), "f32", written=True)
    where, mask = d.mask((shape[0],), "rows")
    d.run(f"penguin.sunda_bn_stats {out} <- {a}{where}")
    x = a.wide.astype(np.float64)
    found, error = np.zeros((shape[0], 6)), np.zeros((shape[0], 6))
    for lane in range(2):
        part = x[:, lane::2]
        count = part.shape[1]
        found[:, 3 * lane] = count
        if not count:
            continue  # nothing counted: mean and deviations are 0
        mean = part.mean(axis=1, keepdims=True)
        found[:, 3 * lane + 1] = mean[:, 0]
        found[:, 3 * lane + 2] = ((part - mean) ** 2).sum(axis=1)
        error[:, 3 * lane + 1] = _row_error(part)[:, 0]
        error[:, 3 * lane + 2] = _row_error(
            part - mean, np.abs(part - mean) + np.abs(part)
        )[:, 0]
    d.expect(out, Near(found, error), np.broadcast_to(mask, found.shape))


@oracle("penguin.sunda_bn_aggr", "bir.bn_stats_aggregate")
def bn_aggregate(d: Draw) -> None:
    d.arch()
    rows, triples = d.partitions(), d.number(1, 6)
    counts = d.random.integers(0, 9, (rows, triples))
    counts[:, d.number(0, triples - 1)] = 4
    contents = np.stack(
        [
            counts,
            np.where(counts, d.random.standard_normal((rows, triples)), 0),
            np.where(counts, d.random.random((rows, triples)) * 5, 0),
        ],
        axis=2,
    ).reshape(rows, -1)
    a = d.tile((rows, 3 * triples), "f32", contents=contents.astype(np.float32))
    out = d.tile((rows, 2), d.pick(("f32", "f32", "bf16")), written=True)
    where, mask = d.mask((rows,), "rows")
    d.run(f"penguin.sunda_bn_aggr {out} <- {a}{where}")
    n, mean, deviations = (
        a.wide.astype(np.float64).reshape(rows, -1, 3).transpose(2, 0, 1)
    )
    total = n.sum(axis=1)
    merged = (n * mean).sum(axis=1) / total
    spread = (deviations + n * (mean - merged[:, None]) ** 2).sum(axis=1) / total
    found = np.stack([merged, spread], axis=1)
    d.expect(out, Near(found, 2.0**-17), np.broadcast_to(mask, found.shape))


def _backward(d: Draw) -> tuple[Tile, Tile, Tile]:
    shape = (d.partitions(), *d.free())
    dtype = d.pick(("f32", "f32", "bf16", "f16"))
    a = d.tile(shape, dtype, plain=True)
    dy = d.tile((shape[0], *d.another(shape[1:])), dtype, plain=True)
    return a, dy, d.column(a, plain=True)


@oracle("penguin.bn_gradients", "bir.bn_gradients")
def bn_gradients(d: Draw) -> None:
    d.arch()
    a, dy, mean = _backward(d)
    factor = d.column(a, plain=True)
    out = d.tile((a.shape[0], 3), d.pick(("f32", "f32", "bf16")), written=True)
    where, mask = d.mask((a.shape[0],), "rows")
    d.run(f"penguin.bn_gradients {out} <- {a}, {dy}, {mean}, {factor}{where}")
    x, g, m, v = (t.wide.astype(np.float64) for t in (a, dy, mean, factor))
    first = g.sum(axis=1, keepdims=True)
    second = ((x - m) * g).sum(axis=1, keepdims=True)
    found = np.concatenate([first, second * v**2, second * v], axis=1)
    wide = _row_error(np.abs(x) + np.abs(m), g)
    error = np.concatenate([_row_error(g), wide * v**2, wide * np.abs(v)], axis=1)
    d.expect(out, Near(found, error), np.broadcast_to(mask, found.shape))


@oracle("penguin.bn_backprop", "bir.bn_backprop")
def bn_backprop(d: Draw) -> None:
    _input_gradient(d, "bn_backprop", (3,))


@oracle("penguin.bn_backprop2", "bir.bn_backprop2")
def bn_backprop2(d: Draw) -> None:
    _input_gradient(d, "bn_backprop2", (1, 2))


def _input_gradient(d: Draw, name: str, counts: tuple[int, ...]) -> None:
    d.arch()
    a, dy, mean = _backward(d)
    given = [d.tile((a.shape[0], count), "f32", plain=True) for count in counts]
    shape = (a.shape[0], *d.another(a.shape[1:]))
    out = d.tile(shape, d.pick(("f32", "f32", "bf16")), written=True)
    total = d.pick((1.0, 96.0, 0.5))
    where, mask = d.mask((a.shape[0],), "rows")
    d.run(
        f"penguin.{name} {out} <- {a}, {dy}, {mean}, {', '.join(map(str, given))}"
        f"{where} {{total_elements = {total}}}"
    )
    x, g, m = (t.wide.astype(np.float64) for t in (a, dy, mean))
    columns = np.concatenate([t.wide.astype(np.float64) for t in given], axis=1)
    # Three are (scale, A, Bc); A alone comes before (scale, Bc).
    order = (0, 1, 2) if len(counts) == 1 else (1, 0, 2)
    scale, shift, slope = (columns[:, at : at + 1] for at in order)
    found = (g * total - ((x - m) * slope + shift)) * scale
    sizes = np.abs(g * total) + (np.abs(x) + np.abs(m)) * np.abs(slope) + np.abs(shift)
    error = sizes * np.abs(scale) * EPSILON
    d.expect(out, Near(found, error), np.broadcast_to(mask, found.shape))
