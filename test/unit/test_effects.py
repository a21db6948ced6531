"""What instructions say they do to their operands, against what the machine does."""

from random import Random

import pytest
from levels import parse, print_module
from oracle.every import ORACLES
from oracle.kernel import Draw, Tile
from oracle_run import outcome, text_of
from xdsl.traits import EffectInstance, MemoryEffectKind, get_effects

from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.dialects.effects import WORLD, Writes, accumulators
from xdsl_neuron.dialects.instruction import Instruction
from xdsl_neuron.isa import Engine
from xdsl_neuron.testing import apply

DRAWS = 8
"""Kernels of each instruction."""


def drawn(names: tuple[str, ...], number: int) -> tuple[Draw, Instruction] | None:
    """A kernel with one instruction of these names, which one rank runs in penguin."""
    d = Draw(Random(number))
    ORACLES[names](d)
    if d.peers or d.ranks or d.instead:
        return None
    found = [
        op
        for op in parse(text_of(d)).walk()
        if isinstance(op, Instruction) and op.name in names
    ]
    return (d, found[0]) if len(found) == 1 else None


def tile_of(d: Draw, op: Instruction, name: str) -> Tile | None:
    """The drawn tile an operand is."""
    hint = op.data_values()[name].name_hint
    return next((tile for tile in d.tiles if tile.name == hint), None)


@pytest.mark.parametrize("names", ORACLES, ids=lambda names: names[0])
def test_effects_are_what_happens(names: tuple[str, ...]) -> None:
    """Only what is said to be written changes; what is overwritten does not matter."""
    for number in range(DRAWS):
        case = drawn(names, number)
        if case is None:
            continue
        d, op = case
        effects = {name: op.effect(name) for name in op.data_values()}
        written = {
            tile.name
            for name, effect in effects.items()
            if effect.writes is not Writes.NOTHING
            and (tile := tile_of(d, op, name)) is not None
        }
        assert set(d.expected) <= written
        try:
            before = outcome(d, parse(text_of(d)))
        except DiagnosticError:
            continue  # a mask that an operand's shape cannot be seen with
        for name, effect in effects.items():
            tile = tile_of(d, op, name)
            others = [n for n in effects if n != name and tile_of(d, op, n) is tile]
            overwritten = effect.writes is Writes.ALL and not effect.reads
            if tile is None or others or not overwritten or op.masks():
                continue
            raw = tile.array.view(f"u{tile.array.itemsize}")
            raw ^= 1
            after = outcome(d, parse(text_of(d)))
            for key, array in after.items():
                places = tile.places.reshape(-1) if key == tile.name else slice(None)
                same = before[key].reshape(-1)[places]
                assert array.reshape(-1)[places].tobytes() == same.tobytes(), name
            raw ^= 1


STATES = """
builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  bir.func @f {
    bir.semaphore @s
    %a = bir.location @a ExternalInput : <4x4xf32, hbm>
    %t = bir.location @t : <4x4xf32, sbuf>
    %u = bir.location @u : <4x1xf32, sbuf>
    bir.load @I0 %t <- %a {engine = SP}
    bir.load @I1 %t <- %a {engine = SP, on_update = [SEM_INC @s]}
    bir.tensor_scalar_cache_reduce @I2 add add %t <- %t {imm0 = 1.0}
    bir.dve_read_accumulator @I3 %u
    bir.no_op @I4
  }
}
"""


def instructions(text: str) -> list[Instruction]:
    return [op for op in parse(text).walk() if isinstance(op, Instruction)]


def test_effects_on_state() -> None:
    load, updating, reducing, reading, nothing = instructions(STATES)
    assert load.state_effects() == ()
    assert updating.state_effects() == (WORLD,)
    vector = accumulators(Engine.DVE)
    assert [(e.state, e.writes) for e in reducing.state_effects()] == [(vector, True)]
    assert [(e.state, e.reads) for e in reading.state_effects()] == [(vector, True)]
    assert nothing.state_effects() == (WORLD,)


def test_generic_passes_see_which_value_is_read_and_which_is_written() -> None:
    load, *_ = instructions(STATES)
    dst, src = load.data_values().values()
    assert get_effects(load) == {
        EffectInstance(MemoryEffectKind.WRITE, dst),
        EffectInstance(MemoryEffectKind.READ, src),
    }


LOADS = """
builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  penguin.func @f(a = %a: !neuron.tensor<4x4xi32, hbm>) {
    %o = penguin.alloc : <1x4xi32, hbm>
    %t = penguin.alloc : <1x4xi32, sbuf>
    %dead = penguin.load_tensor_to_register %a[0][1 x 1]
    %r = penguin.load_tensor_to_register %a[1][1 x 1]
    %same = penguin.load_tensor_to_register %a[1][1 x 1]
    penguin.dma_copy %t <- %a[%r][4 x 1, 1 x 4]
    penguin.dma_copy %t <- %a[%same][4 x 1, 1 x 4]
    penguin.dma_copy %o <- %t
    penguin.return o = %o
  }
}
"""


def test_dead_and_equal_register_loads_go() -> None:
    text = print_module(apply(parse(LOADS), ("cse", "dce")))
    assert text.count("load_tensor_to_register") == 1
    assert text.count("dma_copy") == 3
