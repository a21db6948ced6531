"""Scans along the free axis: strictly sequential, with an fp32 state (nki.md 5.5)."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

from ..dtypes import DType
from ..isa import AluOp
from .accumulators import identity
from .alu import float_function
from .casts import copy, to_float32
from .kernel import Array, Kernel, Scalar
from .rules import Rule

# s(terms, state) -> every state: rows of terms [F, P], the state before them [P].
Scan: TypeAlias = Callable[[Array, Array], Array]

_F32: Final = DType.FLOAT32

# Running operations that NumPy accumulates in the same order.
_ACCUMULATES: Final[dict[AluOp, Callable[..., Any]]] = {
    AluOp.ADD: np.add.accumulate,
    AluOp.MULT: np.multiply.accumulate,
    AluOp.MAX: np.maximum.accumulate,
    AluOp.MIN: np.minimum.accumulate,
}


def _steps(x: Array) -> Array:
    """x [P, ...] as contiguous fp32 rows [F, P], one per step of the scan."""
    return np.ascontiguousarray(x.reshape(x.shape[0], -1).T)


def _state(value: Scalar, partitions: int) -> Array:
    """A Python number or one value per partition, as fp32 [P]."""
    state = np.asarray(value, np.float32).reshape(-1)
    return np.broadcast_to(state, (partitions,))


@cache
def tensor_tensor_scan(
    dst: DType,
    data0: DType,
    data1: DType,
    op0: AluOp,
    reverse0: bool,
    op1: AluOp,
    reverse1: bool,
) -> Kernel:
    """
    Kernel(out, data0, data1, initial): r[i] = (data0[i] op0 r[i-1]) op1 data1[i].

    All are [P, ...] and scanned along their flattened free axes; `initial` (r[-1]) is a
    Python number or fp32 with one value per partition. A reverse flag swaps the
    operands of its operation. Raises `ValueError` for a bit operation.
    """
    first, second = float_function(op0, reverse0), float_function(op1, reverse1)
    widen0, widen1, store = to_float32(data0), to_float32(data1), copy(dst, _F32)

    def kernel(out: Array, data0: Array, data1: Array, initial: Scalar) -> None:
        left, right = _steps(widen0(data0)), _steps(widen1(data1))
        states = np.empty_like(left)
        state = _state(initial, left.shape[1])
        for a, b, target in zip(left, right, states, strict=True):
            first(a, state, out=target)
            second(target, b, out=target)
            state = target
        store(out, states.T.reshape(out.shape))

    return kernel


@cache
def tensor_scalar_cumulative(
    dst: DType, src: DType, op0: AluOp, op1: AluOp, reverse0: bool = False
) -> Kernel:
    """
    Kernel(out, state, x, s0): state = (x[i] op0 s0) op1 state, written at every i.

    `state` is fp32 with one value per partition: read before the first element, and
    updated in place. `identity(op1)` is its value after a reset.
    """
    identity(op1)
    stage, scan = float_function(op0, reverse0), _scan(op1)
    widen, store = to_float32(src), copy(dst, _F32)

    def kernel(out: Array, state: Array, x: Array, s0: Scalar) -> None:
        states = scan(_steps(stage(widen(x), s0)), state.reshape(-1))
        state[...] = states[-1].reshape(state.shape)
        store(out, states.T.reshape(out.shape))

    return kernel


def _scan(op: AluOp) -> Scan:
    function = float_function(op)
    accumulate = _ACCUMULATES.get(op)
    if accumulate is not None:

        def accumulated(terms: Array, state: Array) -> Array:
            function(terms[0], state, out=terms[0])
            return accumulate(terms, axis=0)

        return accumulated

    def scan(terms: Array, state: Array) -> Array:
        for term in terms:
            function(term, state, out=term)
            state = term
        return terms

    return scan


RULES: Final = (
    Rule(
        "scans",
        "strictly sequential along the free axis, with an fp32 state that is rounded "
        "after each operation and cast only when written",
        "documented",
        "nki.md 5.5",
    ),
    Rule(
        "tensor_scalar_cumulative",
        "state = (x op0 imm) op1 state, so subtract gives x - state",
        "documented",
        "penguin.md 7",
    ),
)
