"""Builders of random numbers, from a state of each engine that a trace carries."""

from collections.abc import Sequence
from typing import Final

from xdsl.ir import Attribute

from xdsl_neuron.dialects import penguin
from xdsl_neuron.dialects.instructions.random import (
    DVE_WORDS,
    POOL_WORDS,
    RAND_STATE_LEVEL,
)
from xdsl_neuron.dtypes import DType
from xdsl_neuron.isa import Engine, Space
from xdsl_neuron.tracer.accumulators import scalar_operand
from xdsl_neuron.tracer.index import Mask
from xdsl_neuron.tracer.layouts import Buffer, Layout
from xdsl_neuron.tracer.left_out import keep_mask
from xdsl_neuron.tracer.row_masks import row_mask
from xdsl_neuron.tracer.state import Dep
from xdsl_neuron.tracer.tiles import ENGINES, Number, TileBuilders, immediate
from xdsl_neuron.tracer.views import View

FIRST_SEED: Final = 0
"""
The seed of a state that the kernel does not set.

Our choice: on the device it is what earlier programs left (nki.md 5.5).
"""


class RandomBuilders(TileBuilders):
    """
    Random instructions, each on the state of the engine it runs on.

    The state is a tile at the kernel's front with the words of all partitions; an
    instruction reads and advances those of the partitions it writes.
    """

    def _state(self, engine: Engine, like: View) -> View:
        """The words of the partitions of `like`."""
        found = self.random_states.get(engine)
        if found is None:
            found = self.random_states[engine] = self._new_state(engine)
        layout = self.view.of(found).layout
        pairs = ((layout.pairs[0][0], like.shape[0]), *layout.pairs[1:])
        a = like.layout
        partition = 0 if a.par < 0 else a.partition
        return self.view.of(found).with_layout(
            Layout(pairs, 0, partition, 0, DType.UINT32)
        )

    def _new_state(self, engine: Engine) -> Buffer:
        """A state at the front of the kernel, seeded."""
        body = self.function.body.block
        front = body.first_op
        words = POOL_WORDS if engine is Engine.POOL else DVE_WORDS
        made: list[Buffer] = []
        for shape, dtype, name in (
            ((self.arch.sbuf_partitions, words), DType.UINT32, "random_state"),
            ((1, 1), DType.INT32, "random_seed"),
        ):
            tile = self.create_tensor(shape, dtype, Space.SBUF, name, before=front)
            tile.block = body
            made.append(tile)
        state, seed = (self.view.of(tile) for tile in made)
        self.emit(
            penguin.MemsetOp, [seed], {"value": immediate(FIRST_SEED)}, before=front
        )
        self.emit(
            penguin.SetRngSeedOp,
            [state, seed],
            {"engine": ENGINES[engine]},
            before=front,
        )
        return made[0]

    def rng(self, dst: View, engine: Engine, name: str | None = None) -> View:
        """Random bits, cut to the destination's integer type."""
        state = self._state(engine, dst)
        self.emit(
            penguin.RngOp, [dst, state, state], {"engine": ENGINES[engine]}, name=name
        )
        return dst

    def rand2(
        self, dst: View, low: View | Number, high: View | Number, name: str | None
    ) -> View:
        """Uniform fp32 numbers in [low, high)."""
        state = self._state(Engine.DVE, dst)
        properties: dict[str, Attribute] = {}
        bounds = [
            scalar_operand(properties, "low_imm", low),
            scalar_operand(properties, "high_imm", high),
        ]
        self.emit(penguin.Rand2Op, [dst, state, state, *bounds], properties, name=name)
        return dst

    def set_rng_seed(self, seed: View, engine: Engine, name: str | None = None) -> None:
        """Spreads one 32-bit seed over the words of all partitions."""
        every = self.view.of(self._state(engine, seed).base)
        self.emit(
            penguin.SetRngSeedOp,
            [every, seed],
            {"engine": ENGINES[engine]},
            name=name,
        )

    def rand_set_state(self, words: View, engine: Engine, name: str | None) -> None:
        """Loads the words of the partitions of `words`."""
        state = self._state(engine, words)
        self.emit(
            penguin.RandSetStateOp,
            [state, words],
            {"engine": ENGINES[engine]},
            name=name,
        )

    def rand_get_state(self, dst: View, engine: Engine, name: str | None) -> None:
        """
        Stores the words of the partitions of `dst`.

        The generation without RandGetState has GetRandState (bir.md 7.3).
        """
        state = self._state(engine, dst)
        older = self.arch.level < RAND_STATE_LEVEL
        self.emit(
            penguin.GetRandStateOp if older else penguin.RandGetStateOp,
            [dst, state],
            {"engine": ENGINES[engine]},
            name=name,
        )

    def dropout(
        self,
        data: View,
        probability: View | Number,
        mask: Mask | None = None,
        dtype: DType | None = None,
        deps: Sequence[Dep] = (),
        name: str | None = None,
        dst: View | None = None,
    ) -> View:
        """The data, but 0 with that probability."""
        if dst is None:
            dst = self.new_tile(data.shape, dtype or data.element_type)
        state = self._state(Engine.DVE, dst)
        properties: dict[str, Attribute] = {}
        drop = scalar_operand(properties, "probability_imm", probability)
        clip, fresh = row_mask(mask, data, "dropout"), not dst.base.written
        self.emit(
            penguin.DropoutMaskOp,
            [clip.part(dst), state, clip.part(data), state, drop],
            properties,
            mask=clip.partitions,
            name=name,
            deps=deps,
        )
        if fresh:
            keep_mask(dst, clip.whole)
        return dst
