"""Arrays are taken, converted, copied or refused alike, whoever is called."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from machines import Array, parsed
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions

from xdsl_neuron.diagnostics import DiagnosticError
from xdsl_neuron.machine import Machine, prepare
from xdsl_neuron.machine.interpreter import NeuronFunctions
from xdsl_neuron.nki import functional
from xdsl_neuron.nki.functional import language
from xdsl_neuron.parsing import parse_module
from xdsl_neuron.testing import context
from xdsl_neuron.tools.run import main

nl: Any = language

BODY = """
  %t = penguin.alloc : <4x6x{0}, sbuf>
  penguin.sb_atom_load %t <- %x
  penguin.sb_atom_store %y <- %t
"""
PROGRAM = (
    "penguin.func @copy(x = %x: !neuron.tensor<4x6x{0}, hbm>, inout y = %y: "
    "!neuron.tensor<4x6x{0}, hbm>) {{" + BODY + "  penguin.return y = %y\n}}\n"
)
EMBEDDED = (
    "func.func @copy(%x: !neuron.tensor<4x6x{0}, hbm>, %y: "
    "!neuron.tensor<4x6x{0}, hbm>) {{" + BODY + "  func.return\n}}\n"
)
TYPES = {"f32": np.float32, "i16": np.int16, "f16": np.float16, "u32": np.uint32}

Entry = Callable[[str, Any, Any], None]


def program(kind: str, x: Array, y: Array) -> None:
    """A prepared program."""
    prepare(parsed(PROGRAM.format(kind))).run([x, y])


def again(kind: str, x: Array, y: Array) -> None:
    """A machine that has already run on something else."""
    made, module = Machine(), parsed(PROGRAM.format(kind))
    room = np.zeros((4, 12), TYPES[kind])[:, ::2]
    for _ in range(2):
        made.simulate(module, [np.zeros((6, 4), TYPES[kind]).T, room])
    made.simulate(module, [x, y])


def interpreted(text: str, kind: str, x: Array, y: Array) -> None:
    ctx = context()
    ctx.load_registered_dialect("func")
    made = Interpreter(parse_module(ctx, text.format(kind), "test.mlir"))
    made.register_implementations(FuncFunctions())
    made.register_implementations(NeuronFunctions())
    made.call_op("copy", (x, y))


def function(kind: str, x: Array, y: Array) -> None:
    """The interpreter, calling a function of ours."""
    interpreted(PROGRAM, kind, x, y)


def instructions(kind: str, x: Array, y: Array) -> None:
    """The interpreter, in a function of another dialect."""
    interpreted(EMBEDDED, kind, x, y)


@functional.jit(kernel_return=False)
def copy(x: Any, y: Any) -> None:
    nl.store(y, nl.load(x))


def kernel(_: str, x: Array, y: Array) -> None:
    """A kernel call."""
    copy(x, y)


ENTRIES = (program, again, function, instructions, kernel)
REFUSING = ENTRIES[:-1]
"""A kernel is traced for the arrays that it is given, whatever they are."""


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("order", "<>")
def test_byte_order(entry: Entry, kind: str, order: str) -> None:
    dtype = np.dtype(order + np.dtype(TYPES[kind]).str[1:])
    x = np.arange(24).reshape(4, 6).astype(dtype)
    y = np.zeros_like(x)
    entry(kind, x, y)
    assert y.dtype == dtype
    assert np.array_equal(y, np.arange(24).reshape(4, 6))


@pytest.mark.parametrize("entry", ENTRIES)
def test_strides(entry: Entry) -> None:
    x = np.arange(48, dtype=np.float32).reshape(6, 8).T[::2]
    room = np.zeros((4, 12), np.float32)
    y = room[:, ::-2]
    entry("f32", x, y)
    assert np.array_equal(y, x)
    assert not room[:, ::2].any()
    wide = np.broadcast_to(np.arange(6, dtype=np.float32), (4, 6))
    entry("f32", wide, y)
    assert np.array_equal(y, wide)


@pytest.mark.parametrize("entry", REFUSING)
def test_wrong_types_and_shapes_are_named(entry: Entry) -> None:
    x, y = np.ones((4, 6), np.float32), np.zeros((4, 6), np.float32)
    for wrong, message in (
        (x.astype(np.float64), "x: float32[4, 6] as an array of float32, got float64"),
        (x.view(np.int32), "x: float32[4, 6] as an array of float32, got int32"),
        (x.tolist(), "x: float32[4, 6] as an array of float32, got list"),
        (np.float32(1), "x: float32[4, 6], got shape []"),
        (x.T, "x: float32[4, 6], got shape [6, 4]"),
        (x[:, :5], "x: float32[4, 6], got shape [4, 5]"),
    ):
        with pytest.raises(DiagnosticError) as caught:
            entry("f32", wrong, y)
        assert message in str(caught.value)


def test_a_hosts_own_type_of_packed_elements() -> None:
    """Its name says what the bits are; the bits of another name are refused."""

    def named(name: str) -> np.dtype[Any]:
        return np.dtype((type(name, (np.void,), {}), 4))

    x = np.arange(24, dtype=np.uint32).reshape(4, 6)
    program = prepare(parsed(PROGRAM.format("f8e5m2_x4")))
    y = np.zeros_like(x)
    program.run([x.view(named("float8_e5m2_x4")), y.view(named("float8_e5m2_x4"))])
    assert np.array_equal(y, x)
    with pytest.raises(DiagnosticError, match="float8_e5m2_x4"):
        program.run([x.view(named("float8_e4m3fn_x4")), y])


class Copying:
    """An array of a library that gives NumPy copies."""

    dtype = np.dtype(np.float32)
    shape = (4, 6)

    def __array__(self, *_: object, **__: object) -> Array:
        return np.ones(self.shape, np.float32)


@pytest.mark.parametrize("entry", ENTRIES)
def test_what_is_written_reaches_the_caller(entry: Entry) -> None:
    x = np.ones((4, 6), np.float32)
    fixed = x.copy()
    fixed.flags.writeable = False
    shared = np.lib.stride_tricks.as_strided(x.copy(), (4, 6), (0, 4))
    for wrong, message in (
        (fixed, "a read-only array"),
        (shared, "an array whose elements share memory"),
        (Copying(), "a Copying that gives NumPy a copy"),
    ):
        with pytest.raises(DiagnosticError, match=message) as caught:
            entry("f32", x, wrong)
        assert "writes 'y'" in str(caught.value)
    y = np.zeros_like(x)
    entry("f32", Copying(), y)
    assert y.all()


def test_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, given = tmp_path / "copy.mlir", tmp_path / "in.npz"
    text.write_text(PROGRAM.format("f32"))
    x = np.arange(24, dtype=">f4").reshape(4, 6)
    np.savez(given, x=np.asfortranarray(x), y=np.zeros((4, 6), np.float32))
    result = tmp_path / "out.npz"
    assert main([str(text), "--inputs", str(given), "--outputs", str(result)]) == 0
    with np.load(result) as found:
        assert np.array_equal(found["y"], x)
    capsys.readouterr()
    np.savez(given, x=np.zeros((4, 6), ">i4"), y=np.zeros((4, 6), np.float32))
    assert main([str(text), "--inputs", str(given)]) == 1
    message = "'copy' takes x: float32[4, 6] as an array of float32, got >i4"
    assert message in capsys.readouterr().err
