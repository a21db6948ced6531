"""Random numbers, as functions of an explicit state."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from xdsl_neuron.dialects.instructions import random as isa
from xdsl_neuron.machine.build import Array
from xdsl_neuron.machine.calls import Call, scalar, types_of
from xdsl_neuron.machine.elementwise import Tensor
from xdsl_neuron.machine.site import Emitter, Scope
from xdsl_neuron.numerics import random as numerics


def _rng(scope: Scope, op: isa.Rng) -> Emitter:
    fill = numerics.random_bits(types_of(op)["dst"])

    def kernel(out: Array, advanced: Array, state: Array) -> None:
        words = _words(state)
        fill(out, words)
        advanced[...] = words.reshape(advanced.shape)

    outs = (Tensor("dst"), Tensor("next_state"))
    return Call(scope, op, kernel, outs, (Tensor("state"),)).emit


def _rand2(scope: Scope, op: isa.Rand2) -> Emitter:
    fill = numerics.random_uniform(types_of(op)["dst"])

    def kernel(out: Array, advanced: Array, state: Array, low: Any, high: Any) -> None:
        words = _words(state)
        fill(out, words, _column(low), _column(high))
        advanced[...] = words.reshape(advanced.shape)

    outs = (Tensor("dst"), Tensor("next_state"))
    low = scalar(op, "low", op.low_imm)
    high = scalar(op, "high", op.high_imm, 1.0)
    return Call(scope, op, kernel, outs, (Tensor("state"), low, high)).emit


def _words(state: Array) -> Array:
    """A copy of the words, one row per partition, to be advanced."""
    return np.array(state).reshape(state.shape[0], -1)


def _column(value: float | Array) -> float | Array:
    """One value per partition as [P, 1]; a number as it is."""
    return value if isinstance(value, float | int) else value.reshape(-1, 1)


def _set_seed(scope: Scope, op: isa.SetRandState) -> Emitter:
    def kernel(out: Array, seed: Array) -> None:
        partitions = out.shape[0]
        words = out.size // partitions
        state = numerics.seed_state(int(seed.reshape(-1)[0]), partitions, words)
        out[...] = state.reshape(out.shape)

    return Call(scope, op, kernel, (Tensor("dst"),), (Tensor("src"),)).emit


def _set_state(scope: Scope, op: isa.RandSetState) -> Emitter:
    def kernel(out: Array, state: Array) -> None:
        words = numerics.avoid_zero_state(_words(state))
        out[...] = words.reshape(out.shape)

    return Call(scope, op, kernel, (Tensor("dst"),), (Tensor("src"),)).emit


def _rand(scope: Scope, op: isa.Rand) -> Emitter:
    generator = numerics.generator(
        op.random_algorithm.data, op.rand_num_steps.value.data
    )
    fill = numerics.random_bits(types_of(op)["dst"], generator)

    def kernel(out: Array, advanced: Array, state: Array) -> None:
        words = _words(state)
        fill(out, words)
        advanced[...] = words.reshape(advanced.shape)

    outs = (Tensor("dst"), Tensor("next_state"))
    return Call(scope, op, kernel, outs, (Tensor("state"),)).emit


def _get_state(scope: Scope, op: isa.GetRandState) -> Emitter:
    def kernel(out: Array, state: Array) -> None:
        out[...] = state.reshape(out.shape)

    return Call(scope, op, kernel, (Tensor("dst"),), (Tensor("src"),)).emit


def _dropout(scope: Scope, op: isa.Dropout) -> Emitter:
    types = types_of(op)
    drop = numerics.dropout(
        types["dst"], types["src"], keep_threshold=op.keep_threshold is not None
    )

    def kernel(
        out: Array, advanced: Array, x: Array, state: Array, probability: Any
    ) -> None:
        words = _words(state)
        bits = numerics.xorwow(words, x.size // x.shape[0])
        flat = np.empty((x.shape[0], x.size // x.shape[0]), out.dtype)
        drop(flat, x.reshape(flat.shape), _column(probability), bits)
        out[...] = flat.reshape(out.shape)
        advanced[...] = words.reshape(advanced.shape)

    outs = (Tensor("dst"), Tensor("next_state"))
    probability = scalar(op, "probability", op.probability_imm)
    ins = (Tensor("src"), Tensor("state"), probability)
    return Call(scope, op, kernel, outs, ins).emit


HANDLERS: Final[dict[type, Callable[[Scope, Any], Emitter]]] = {
    isa.Rng: _rng,
    isa.Rand2: _rand2,
    isa.SetRandState: _set_seed,
    isa.RandSetState: _set_state,
    isa.GetRandState: _get_state,
    isa.Rand: _rand,
    isa.Dropout: _dropout,
}
