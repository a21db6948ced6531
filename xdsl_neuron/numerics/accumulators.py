"""
The accumulators of an engine: one fp32 number for each partition.

A command resets them, folds a row of each partition into them, or does both.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from ..dtypes import DType
from ..isa import AccumulateCommand, AluOp
from .alu import float_function
from .casts import copy
from .kernel import Array, Kernel
from .rules import Rule

_IDENTITIES: Final[dict[AluOp, float]] = {
    AluOp.ADD: 0.0,
    AluOp.SUBTRACT: 0.0,
    AluOp.MULT: 1.0,
    AluOp.MAX: float("-inf"),
    AluOp.MIN: float("inf"),
    AluOp.ABS_MAX: 0.0,
    AluOp.ABS_MIN: float("inf"),
}


def identity(op: AluOp) -> float:
    """
    What an accumulator holds after a reset for folds by `op`.

    Raises `ValueError` for an operation that does not accumulate.
    """
    value = _IDENTITIES.get(op)
    if value is None:
        raise ValueError(f"'{op}' does not accumulate")
    return value


def accumulate(
    command: AccumulateCommand, op: AluOp
) -> Callable[[Array, Array | None, Array | None], Array | None]:
    """
    f(fold, state, initial): the accumulators after a command, all fp32 [P, 1].

    `fold` are the folded rows, `state` the accumulators before (None where nothing
    reads them), `initial` what LoadAccumulate loads. None where they are undefined.
    """
    join, start = float_function(op), np.float32(identity(op))

    def after(fold: Array, state: Array | None, initial: Array | None) -> Array | None:
        match command:
            case AccumulateCommand.ZERO:
                return np.full_like(fold, start)
            case AccumulateCommand.ADD_ACCUMULATE:
                return None if state is None else join(state, fold)
            case AccumulateCommand.LOAD_ACCUMULATE:
                return None if initial is None else join(initial, fold)
            case AccumulateCommand.ZERO_ACCUMULATE:
                return fold
            case _:
                return state

    return after


def folding(
    kernel: Callable[..., object],
    command: AccumulateCommand,
    op: AluOp,
    negate: bool = False,
    result: DType = DType.FLOAT32,
    behind: bool = False,
) -> Kernel:
    """
    Kernel(out, *arguments, row, state, initial) of `kernel(out, fold, *arguments)`.

    `row` (None where it is not asked for) receives the accumulators after the command,
    with their signs changed if `negate`, cast to `result`; it may be part of `out`
    where it is written `behind` it. `state` (None where nothing reads it) holds
    them between instructions. `initial` is a number or fp32 with one value per
    partition.
    """
    after = accumulate(command, op)
    loads = command is AccumulateCommand.LOAD_ACCUMULATE
    store = copy(result, DType.FLOAT32)
    straight = result is DType.FLOAT32 and not negate and not behind
    plain = command is AccumulateCommand.ZERO_ACCUMULATE and straight

    def run(out: Array, *rest: Any) -> None:
        *arguments, row, state, initial = rest
        if plain and state is None and row is not None:
            kernel(out, row, *arguments)
            return
        fold = np.empty((out.shape[0], 1), np.float32)
        before = None if state is None else state.reshape(-1, 1)
        start = None
        if loads:
            # A copy: it may be a column of what the kernel writes.
            start = np.empty_like(fold)
            start[...] = np.asarray(initial, np.float32).reshape(-1, 1)
        kernel(out, fold, *arguments)
        value = after(fold, before, start)
        if value is None:
            return
        if state is not None and command is not AccumulateCommand.IDLE:
            state[...] = value.reshape(state.shape)
        if row is not None:
            given = np.negative(value) if negate else value
            store(row, given.reshape(row.shape))

    return run


def advancing(kernel: Callable[..., object]) -> Kernel:
    """
    Kernel(out, row, state, *arguments, start) of `kernel(out, running, *arguments)`.

    The kernel advances `running`, fp32 [P, 1], from `start`, a number or one value per
    partition; `row` and `state` (None where nobody asks) receive its last value.
    """

    def run(out: Array, row: Array | None, state: Array | None, *rest: Any) -> None:
        *arguments, start = rest
        running = np.empty((out.shape[0], 1), np.float32)
        running[...] = np.asarray(start, np.float32).reshape(-1, 1)
        kernel(out, running, *arguments)
        for target in (row, state):
            if target is not None:
                target[...] = running.reshape(target.shape)

    return run


@cache
def read_accumulator(dst: DType, negate: bool = False) -> Kernel:
    """Kernel(out, state): out = the fp32 accumulators [P, 1], negated if asked."""
    store = copy(dst, DType.FLOAT32)

    def kernel(out: Array, state: Array) -> None:
        value = np.negative(state) if negate else state
        store(out, value.reshape(out.shape))

    return kernel


RULES: Final = (
    Rule(
        "accumulator commands",
        "reset_reduce stores the fold of the row, reduce stores accumulator op fold, "
        "load_reduce stores initial op fold, reset stores op's identity; the fold of a "
        "row is that of the instruction with reset_reduce",
        "inferred",
        "nki.md 1.1, 5.5",
    ),
    Rule(
        "accumulator identities",
        "0 for add, subtract and abs_max, 1 for mult, -inf for max, +inf for min and "
        "abs_min; those of abs_max and abs_min are ours",
        "our choice",
        "penguin.md 7",
    ),
    Rule(
        "accumulator of a partition",
        "an instruction uses the accumulators of the partitions that it writes dst to",
        "our choice",
        "nki.md 5.5",
    ),
    Rule(
        "accumulators after idle",
        "the scalar engine's are unchanged; the vector engine's are undefined, of all "
        "partitions, after range_select, select_reduce and exponential with idle, and "
        "unchanged after instructions that have no reduce_cmd; at the start of a "
        "kernel all are undefined",
        "our choice",
        "nki.md 5.5",
    ),
    Rule(
        "accumulator result",
        "reduce_res receives the accumulators after the command; reduce_res_negate "
        "changes the signs of what it receives, NaN included, not the accumulators",
        "documented",
        "nki.md 1.1",
    ),
)
