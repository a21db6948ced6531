"""Rows of what folds, scans or normalises the elements of a partition."""

from math import prod
from typing import Any

import numpy as np
from kernels.names.rows import (
    ONE_LENGTH,
    WHOLE_ROWS,
    Operand,
    Row,
    Shape,
    between,
    column,
    fisa,
    fl,
    integers,
    nisa,
    nl,
    one,
    rows_of,
)
from oracle.activation import function_of, row_sum
from oracle.numbers import F32, Array, Near
from oracle.reductions import fold

FP32_MIN = F32(-3.4028235e38)
DEEP: tuple[Shape, ...] = ((5, 2, 3), (3, 2, 1, 5), (7, 4, 1), (1, 3, 2))


def flat(array: Array) -> Array:
    return array.reshape(array.shape[0], -1)


def units(shape: Shape) -> Shape:
    """All free dimensions folded and kept."""
    return (shape[0], *(1,) * (len(shape) - 1))


def every(tile: Any) -> tuple[int, ...]:
    """All free axes of a tile."""
    return tuple(range(1, len(tile.shape)))


def _beside(where: Array) -> tuple[Array, Array]:
    """A result of all elements and one of rows."""
    return where, rows_of(where)


def _folded(name: str, op: str, **named: Any) -> Row:
    return Row(
        name=f"nl.{name}",
        outs=(Operand(shape=units),),
        functional=lambda x, **k: getattr(fl, name)(x, axis=every(x), **k),
        destination=lambda x: getattr(nl, name)(x, axis=every(x), keepdims=True),
        returns=True,
        folds=True,
        kept=rows_of,
        want=lambda x, where: fold(op, flat(x), flat(where)),
        **named,
    )


def _middle(shape: Shape) -> Shape:
    """Without the first free dimension, which is folded and kept."""
    return (shape[0], 1, *shape[2:])


def _sum_of_middle(x: Array, where: Array) -> Array:
    return np.where(where, x, 0).sum(axis=1, keepdims=True)


def _mean(x: Array, where: Array) -> Near:
    values = np.where(where, x, 0).astype(np.float64)
    count = flat(where).sum(axis=1, keepdims=True)
    found = flat(values).sum(axis=1, keepdims=True) / count
    return Near(found, 2.0**-18 * (1 + np.abs(found)))


def _var(x: Array, where: Array) -> Near:
    mean = _mean(x, where).values
    distance = np.where(flat(where), flat(x) - mean, 0)
    count = flat(where).sum(axis=1, keepdims=True)
    return Near((distance**2).sum(axis=1, keepdims=True) / count, 2.0**-14)


def _softmax(x: Array, where: Array) -> Near:
    values = np.where(where, x, -np.inf).astype(np.float64)
    axes = tuple(range(1, x.ndim))
    power = np.exp(values - values.max(axis=axes, keepdims=True))
    return Near(power / power.sum(axis=axes, keepdims=True), 2.0**-18)


def _rms(x: Array, w: Array, where: Array) -> Near:
    square = np.where(where, x.astype(np.float64) ** 2, 0)
    axes = tuple(range(1, x.ndim))
    mean = square.sum(axis=axes, keepdims=True) / 3 + 1e-6
    return Near(x / np.sqrt(mean) * w, 2.0**-15)


def _all(x: Array, where: Array) -> Array:
    return np.where(flat(where), flat(x) != 0, True).all(axis=1, keepdims=True)


LANGUAGE = (
    _folded("sum", "add"),
    _folded("prod", "mult", thorough=False),
    _folded("max", "max"),
    _folded("min", "min", thorough=False),
    Row(
        name="nl.sum",
        note="a middle axis",
        shapes=DEEP,
        outs=(Operand(shape=_middle),),
        functional=lambda x, **k: fl.sum(x, axis=1, keepdims=True, **k),
        returns=True,
        folds=True,
        kept=lambda where: where.any(axis=1, keepdims=True),
        want=_sum_of_middle,
        without={"of a loop": "two dimensions"},
    ),
    Row(
        name="nl.all",
        thorough=False,
        operands=one(draw=integers(0, 3)),
        outs=(Operand("u8", shape=units, draw=integers(0, 2)),),
        functional=lambda x, **k: fl.all(x, axis=every(x), **k),
        destination=lambda x: nl.all(x, axis=every(x)),
        returns=True,
        folds=True,
        kept=rows_of,
        want=_all,
    ),
    Row(
        name="nl.mean",
        thorough=False,
        outs=(Operand(shape=units),),
        functional=lambda x, **k: fl.mean(x, axis=every(x), keepdims=True, **k),
        destination=lambda x: nl.mean(x, axis=every(x), keepdims=True),
        returns=True,
        folds=True,
        kept=rows_of,
        want=_mean,
    ),
    Row(
        name="nl.var",
        thorough=False,
        outs=(Operand(shape=units),),
        functional=lambda x, **k: fl.var(x, axis=every(x), **k),
        destination=lambda x: nl.var(x, axis=every(x), keepdims=True),
        returns=True,
        folds=True,
        kept=rows_of,
        want=_var,
    ),
    Row(
        name="nl.softmax",
        thorough=False,
        functional=lambda x, **k: fl.softmax(x, axis=every(x), **k),
        destination=lambda x: nl.softmax(x, axis=every(x)),
        returns=True,
        folds=True,
        want=_softmax,
    ),
    Row(
        name="nl.rms_norm",
        thorough=False,
        operands=(Operand(draw=between(1, 3)), Operand()),
        functional=lambda x, w, **k: fl.rms_norm(x, w, axis=every(x), n=3, **k),
        destination=lambda x, w: nl.rms_norm(x, w, axis=every(x), n=3),
        returns=True,
        folds=True,
        want=_rms,
    ),
)


def _first_axes(x: Any) -> tuple[int, ...]:
    """The last free axis alone."""
    return (len(x.shape) - 1,)


def _last_unit(shape: Shape) -> Shape:
    return (*shape[:-1], 1)


def _running(op: Any, start: Any, *tiles: Array, where: Array) -> Array:
    """r = op(r, elements) along each partition, where the mask holds."""
    state = np.broadcast_to(np.asarray(start, F32), (where.shape[0], 1)).copy()
    kept = flat(where)
    found = np.zeros(kept.shape, F32)
    given = [flat(each).astype(F32) for each in tiles]
    for i in range(kept.shape[1]):
        step = op(state, *(each[:, i : i + 1] for each in given))
        state = np.where(kept[:, i : i + 1], step, state)
        found[:, i : i + 1] = state
    return found.reshape(where.shape)


def _range_selected(x: Array, low: Array, high: Array, where: Array) -> Any:
    kept = flat(where)
    columns = np.arange(prod(x.shape[1:])) + 2
    inside = (columns >= low) & (columns < high)
    found = np.where(inside, flat(x), FP32_MIN)
    return found, fold("max", found, kept)


def _bounds(random: np.random.Generator, shape: Shape, dtype: str) -> Array:
    return random.integers(0, 12, shape).astype(F32)


def _scaled(x: Array, where: Array) -> tuple[Array, Any]:
    value = x * F32(2)
    return value, fold("add", flat(value), flat(where))


def _exponentials(x: Array, b: Array, where: Array) -> tuple[Near, Near]:
    rank = x.ndim
    shifted = x * F32(0.5) + b.reshape(b.shape[0], *(1,) * (rank - 1))
    found = function_of("Exp", flat(shifted.astype(F32)), 0)
    return found, row_sum(found, flat(where))


def _chosen_rows(p: Array, x: Array, where: Array) -> tuple[Array, Any]:
    value = np.where(p, x, F32(-9))
    return value, fold("max", flat(value), flat(where))


TWO = (Operand(), Operand(shape=column))

INSTRUCTIONS = (
    Row(
        name="nisa.tensor_reduce",
        outs=(Operand(shape=units),),
        functional=lambda x, **k: fisa.tensor_reduce(
            np.add, x, axis=every(x), keepdims=True, **k
        ),
        destination=lambda out, x: nisa.tensor_reduce(out, nl.add, x, every(x)),
        folds=True,
        kept=rows_of,
        want=lambda x, where: fold("add", flat(x), flat(where)),
    ),
    Row(
        name="nisa.tensor_reduce",
        note="last axis negated",
        outs=(Operand(shape=_last_unit),),
        functional=lambda x, **k: fisa.tensor_reduce(
            np.max, x, axis=_first_axes(x), negate=True, keepdims=True, **k
        ),
        destination=lambda out, x: nisa.tensor_reduce(
            out, nl.maximum, x, _first_axes(x), negate=True
        ),
        folds=True,
        kept=lambda where: where.any(axis=-1, keepdims=True),
        want=lambda x, where: -np.where(where, x, -np.inf).max(axis=-1, keepdims=True),
    ),
    Row(
        name="nisa.tensor_scalar_reduce",
        refused=WHOLE_ROWS,
        outs=TWO,
        functional=lambda x, row, **k: fisa.tensor_scalar_reduce(
            data=x,
            op0=np.multiply,
            operand0=2.0,
            reduce_op=np.add,
            reduce_res=row,
            **k,
        ),
        destination=lambda out, row, x: nisa.tensor_scalar_reduce(
            out, x, nl.multiply, 2.0, nl.add, row
        ),
        folds=True,
        kept=_beside,
        want=_scaled,
    ),
    Row(
        name="nisa.activation_reduce",
        thorough=False,
        refused=WHOLE_ROWS,
        operands=(Operand(draw=between(-2, 2)), Operand(shape=column)),
        outs=TWO,
        functional=lambda x, b, row, **k: fisa.activation_reduce(
            np.exp, x, reduce_op=np.add, reduce_res=row, bias=b, scale=0.5, **k
        ),
        destination=lambda out, row, x, b: nisa.activation_reduce(
            out, nl.exp, x, nl.add, row, b, 0.5
        ),
        folds=True,
        kept=_beside,
        want=_exponentials,
    ),
    Row(
        name="nisa.activation",
        refused=WHOLE_ROWS,
        note="reduces",
        operands=(Operand(draw=between(-2, 2)), Operand(shape=column)),
        outs=TWO,
        functional=lambda x, b, row, **k: fisa.activation(
            np.exp,
            x,
            bias=b,
            scale=0.5,
            reduce_op=np.add,
            reduce_res=row,
            reduce_cmd=fisa.reduce_cmd.reset_reduce,
            **k,
        ),
        destination=lambda out, row, x, b: nisa.activation(
            out,
            nl.exp,
            x,
            bias=b,
            scale=0.5,
            reduce_op=nl.add,
            reduce_res=row,
            reduce_cmd=nisa.reduce_cmd.reset_reduce,
        ),
        thorough=False,
        folds=True,
        kept=_beside,
        want=_exponentials,
    ),
    Row(
        name="nisa.exponential",
        note="reduces",
        operands=one(draw=between(-2, 2)),
        outs=TWO,
        target="trn3",
        destination=lambda out, row, x: nisa.exponential(
            out, x, 1.0, row, nisa.reduce_cmd.reset_reduce
        ),
        thorough=False,
        folds=True,
        kept=_beside,
        want=lambda x, where: (
            found := function_of("Exp", flat(x - F32(1)), 0),
            row_sum(found, flat(where)),
        ),
    ),
    Row(
        name="nisa.select_reduce",
        thorough=False,
        refused=WHOLE_ROWS,
        note="reduces",
        operands=(Operand("u8", draw=integers(0, 2)), Operand()),
        outs=TWO,
        writes=True,
        functional=lambda out, row, p, x, **k: fisa.select_reduce(
            dst=out,
            predicate=p,
            on_true=x,
            on_false=-9.0,
            reduce_res=row,
            reduce_cmd=fisa.reduce_cmd.reset_reduce,
            **k,
        ),
        destination=lambda out, row, p, x: nisa.select_reduce(
            out, p, x, -9.0, row, nisa.reduce_cmd.reset_reduce
        ),
        folds=True,
        kept=_beside,
        want=_chosen_rows,
    ),
    Row(
        name="nisa.range_select",
        refused=ONE_LENGTH,
        operands=(
            Operand(),
            Operand(shape=column, draw=_bounds),
            Operand(shape=column, draw=_bounds),
        ),
        outs=TWO,
        functional=lambda x, low, high, row, **k: fisa.range_select(
            on_true_tile=x,
            comp_op0=np.greater_equal,
            comp_op1=np.less,
            bound0=low,
            bound1=high,
            reduce_cmd=fisa.reduce_cmd.reset_reduce,
            reduce_res=row,
            range_start=2,
            **k,
        ),
        destination=lambda out, row, x, low, high: nisa.range_select(
            out,
            x,
            nl.greater_equal,
            nl.less,
            low,
            high,
            reduce_res=row,
            range_start=2,
        ),
        folds=True,
        kept=_beside,
        want=_range_selected,
    ),
    Row(
        name="nisa.tensor_tensor_scan",
        refused=WHOLE_ROWS,
        operands=(Operand(), Operand(), Operand(shape=column)),
        functional=lambda x, y, c, **k: fisa.tensor_tensor_scan(
            x, y, c, np.maximum, np.add, **k
        ),
        destination=lambda out, x, y, c: nisa.tensor_tensor_scan(
            out, x, y, c, nl.maximum, nl.add
        ),
        folds=True,
        want=lambda x, y, c, where: _running(
            lambda r, a, b: np.maximum(a, r) + b, c, x, y, where=where
        ),
    ),
    Row(
        name="nisa.tensor_scalar_cumulative",
        destination=lambda out, x: nisa.tensor_scalar_cumulative(
            out, x, nl.multiply, nl.add, 2.0
        ),
        folds=True,
        want=lambda x, where: _running(lambda r, a: r + 2 * a, 0, x, where=where),
    ),
)

ROWS = (*LANGUAGE, *INSTRUCTIONS)
