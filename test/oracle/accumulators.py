"""Accumulators of engines: commands one after another, and reads (nki.md 5.5)."""

from collections.abc import Callable
from typing import Final

import numpy as np
from oracle.alu import apply
from oracle.elementwise import fields
from oracle.kernel import Draw, Tile, oracle
from oracle.numbers import F32, Array, Near, Result, immediate
from oracle.reductions import fold

FUNCTIONS: Final[dict[str, Callable[[Array], Array]]] = {
    "Identity": lambda x: x,
    "Square": lambda x: x * x,
    "Abs": lambda x: np.asarray(np.abs(x)),
}
IDENTITY: Final = {"max": -np.inf, "min": np.inf, "abs_max": 0.0, "abs_min": np.inf}


def _joined(op: str, state: Near, row: Near) -> Near:
    """fp32 accumulators after one more fold."""
    if op.startswith("abs"):
        return Near(apply(op, state.values, row.values).astype(np.float64), 0.0)
    if op != "add":
        largest = np.fmin if "min" in op else np.fmax
        return Near(largest(state.values, row.values))
    error = state.error + row.error
    total = state.values + row.values
    return Near(total, error + (np.abs(state.values) + np.abs(row.values)) * 2.0**-22)


def _fold(op: str, values: Array) -> Near:
    """The rows of one instruction."""
    found = fold(op, values, np.ones(values.shape, bool))
    if isinstance(found, Near):
        return found
    return Near(found.stored.astype(np.float64), 0.0)


def _reset(op: str, rows: int) -> Near:
    return Near(np.full((rows, 1), IDENTITY.get(op, 0.0)), 0.0)


def _chain(
    d: Draw, name: str, op: str, commands: tuple[str, ...], extra: str
) -> tuple[Tile, Near]:
    """Instructions that command the accumulators; (a tile they wrote, their state)."""
    rows, free = d.partitions(), d.free()
    # Accumulators belong to the partitions that are written.
    out = d.tile((rows, *free), "f32", written=True, fixed=True, start=0)
    state: Near | None = None
    last: Array = out.raw
    for _ in range(d.number(1, 4)):
        a = d.tile((rows, *free), d.pick(("f32", "bf16", "i16")), plain=True)
        # Only what defines the accumulators comes first.
        command = d.pick(commands if state is not None else commands[1:])
        operand, texts = "", [f"command = {command}", extra]
        match command:
            case "AddAccumulate":
                assert state is not None
                state = _joined(op, state, _fold(op, a.wide))
            case "Zero":
                state = _reset(op, rows)
            case "LoadAccumulate":
                value = d.pick((0.0, 1.5, -3.0))
                texts.append(f"initial_imm = {immediate(value)}")
                start = Near(np.full((rows, 1), value), 0.0)
                state = _joined(op, start, _fold(op, a.wide))
            case _:
                state = _fold(op, a.wide)
        last = a.wide
        d.run(f"penguin.{name} {out} <- {a}{operand}{fields(*texts)}")
    assert state is not None
    d.expect(out, Result(np.asarray(last, F32)))
    return out, state


def _read(d: Draw, out: Tile, state: Near, reader: str, negates: bool) -> None:
    """The accumulators, moved to a tile by an instruction of bir."""
    rows = out.shape[0]
    result = d.tile((rows, 1), "f32", written=True, fixed=True, start=0)
    dummy = d.tile((rows, 1), "f32")
    negated = negates and d.chance(2)
    d.run(f"penguin.tensor_copy @K {result} <- {dummy}")
    field = " {negated}" if negated else ""
    d.instead["K"] = f"bir.{reader} @K {result}{field}"
    d.expect(result, Near(-state.values if negated else state.values, state.error))


@oracle("bir.dve_read_accumulator")
def dve_read(d: Draw) -> None:
    d.arch()
    op = d.pick(("add", "max", "min"))
    commands = ("AddAccumulate", "ZeroAccumulate", "LoadAccumulate")
    name = f"tensor_scalar_cache_reduce mult {op}"
    out, state = _chain(d, name, op, commands, "imm0 = 1.0")
    _read(d, out, state, "dve_read_accumulator", True)


@oracle("bir.read_activation_accumulator")
def activation_read(d: Draw) -> None:
    _scalar_engine(d, "read_activation_accumulator")


@oracle("bir.activation_read_accumulator")
def read_activation(d: Draw) -> None:
    _scalar_engine(d, "activation_read_accumulator")


def _scalar_engine(d: Draw, reader: str) -> None:
    d.arch()
    commands = ("AddAccumulate", "ZeroAccumulate", "Zero")
    name = "activation_accumulation Copy"
    out, state = _chain(d, name, "add", commands, "")
    _read(d, out, state, reader, False)


@oracle("penguin.activate2_reduce", "bir.activate2_reduce")
def activate2_reduce(d: Draw) -> None:
    d.arch(40)
    rows, free = d.partitions(), d.free()
    op = d.pick(("add", "max", "min", "abs_max", "abs_min"))
    name = d.pick(tuple(FUNCTIONS))
    a = d.tile((rows, *free), d.pick(("f32", "bf16")), plain=True)
    out = d.tile((rows, *free), "f32", written=True)
    result = d.tile((rows, 1), d.pick(("f32", "bf16", "f16")), written=True)
    scale = d.pick((0.5, -2.0))
    d.run(
        f"penguin.activate2_reduce {name} {out} <- {a}, reduce_res = {result}"
        f"{fields(f'reduce_op = {op}', 'op0 = mult', f'imm0 = {scale}')}"
    )
    values = np.asarray(FUNCTIONS[name](a.wide * F32(scale)), F32)
    d.expect(out, Result(values, "numbers"))
    d.expect(result, _fold(op, values))
