"""Binding arrays, results, errors, choice of the function, imports."""

import gc
import subprocess
import sys

import numpy as np
import pytest
from machines import MODES, UNROLLED, compute, parsed, program as prepared, random, run

from xdsl_neuron import machine
from xdsl_neuron.machine import Machine, MachineError, MachineOptions, prepare, simulate

DOUBLE = compute(
    "penguin.tensor_scalar_ptr mult %t <- %x0 {imm0 = 2.0}", "8x6xf32", out="8x6xf32"
)
IN_PLACE = """
penguin.func @g(a = %a: !neuron.tensor<8x6xf32, hbm>,
                inout b = %b: !neuron.tensor<8x6xf32, hbm>) {
  %t = penguin.alloc : <8x6xf32, sbuf>
  penguin.sb_atom_load %t <- %a
  penguin.sb_atom_store %b <- %t
  penguin.return b = %b, a = %a
}
"""


def test_ports() -> None:
    program = prepared(IN_PLACE)
    assert [str(port) for port in program.inputs] == [
        "a: float32[8, 6]",
        "b: float32[8, 6]",
    ]
    assert [port.mutable for port in program.inputs] == [False, True]
    assert [port.name for port in program.outputs] == ["b", "a"]
    assert program.name == "g"


def test_bir_ports_are_in_order_of_the_locations() -> None:
    program = prepare(parsed(IN_PLACE, "penguin-to-bir"))
    assert [port.name for port in program.inputs] == ["a", "b"]
    assert [port.mutable for port in program.inputs] == [False, True]
    assert [port.name for port in program.outputs] == ["b", "a"]


@pytest.mark.parametrize("options", MODES)
def test_outputs_are_new_in_every_run(options: MachineOptions) -> None:
    program = prepared(DOUBLE, options)
    a, b = random((8, 6)), random((8, 6), 1)
    (first,) = program.run([a])
    (second,) = program.run([b])
    assert np.array_equal(first, a * 2)
    assert np.array_equal(second, b * 2)
    view = first[2:]
    del first, second
    gc.collect()
    (third,) = program.run([b])
    assert np.array_equal(view, a[2:] * 2)
    assert np.array_equal(third, b * 2)


def test_an_output_nobody_holds_is_used_again() -> None:
    program, a = prepared(DOUBLE), random((8, 6))
    program.run([a])
    address = program.run([a])[0].ctypes.data
    assert program.run([a])[0].ctypes.data == address
    held = program.run([a])
    assert program.run([a])[0].ctypes.data != held[0].ctypes.data


@pytest.mark.parametrize("options", MODES)
def test_mutable_inputs_and_inputs_as_outputs(options: MachineOptions) -> None:
    a, b = random((8, 6)), random((8, 6), 1)
    same, copy = prepared(IN_PLACE, options).run([a, b])
    assert same is b
    assert np.array_equal(b, a)
    assert copy is not a
    assert np.array_equal(copy, a)


@pytest.mark.parametrize("options", MODES)
def test_strided_arrays(options: MachineOptions) -> None:
    program = prepared(IN_PLACE, options)
    for seed in range(2):
        a = random((6, 8), seed).T
        b = random((8, 12), seed + 5)[:, ::2]
        result, _ = program.run([a, b])
        assert result is b
        assert np.array_equal(b, a)


def test_one_array_as_input_and_output() -> None:
    a = random((8, 6))
    twice = "penguin.tensor_scalar_ptr mult %t <- %t {imm0 = 2.0}\n"
    store = "penguin.sb_atom_store"
    text = IN_PLACE.replace(store, f"{twice} {store}")
    expected = a * 2
    prepared(text).run([a, a])
    assert np.array_equal(a, expected)


def test_wrong_arrays_are_named() -> None:
    program = prepared(IN_PLACE)
    a = random((8, 6))
    read_only = a.copy()
    read_only.flags.writeable = False
    for arrays, message in (
        ([a], r"'g' takes 2 arrays \(a: float32\[8, 6\], b: .*\), got 1"),
        ([a, a.T], r"'g' takes b: float32\[8, 6\], got shape \[6, 8\]"),
        ([a.astype(np.float64), a], "as an array of float32, got float64"),
        ([a, read_only], "'g' writes 'b', got a read-only array"),
        ([a, a.tolist()], "as an array of float32, got list"),
    ):
        with pytest.raises(MachineError, match=message):
            program.run(arrays)
    program.run([read_only, a])


def test_bool_is_a_byte() -> None:
    text = compute("penguin.tensor_copy %t <- %x0", "2x3xu8", out="2x3xf32")
    (result,) = prepared(text).run([np.array([[True, False, True]] * 2)])
    assert result.tolist() == [[1, 0, 1]] * 2


def test_empty_bool_rank_zero() -> None:
    text = """
    penguin.func @f(a = %a: !neuron.tensor<f32, hbm>) {
      %o = penguin.alloc : <f32, hbm>
      %t = penguin.alloc : <1x1xf32, sbuf>
      penguin.dma_copy %t <- %a
      penguin.tensor_scalar_ptr add %t <- %t {imm0 = 1.0}
      penguin.dma_copy %o <- %t
      penguin.return o = %o
    }
    """
    (result,) = run(text, np.array(2, np.float32))
    assert result.shape == ()
    assert result == 3


def test_choice_of_the_function() -> None:
    both = parsed(DOUBLE + IN_PLACE)
    with pytest.raises(MachineError, match="several functions, choose one of 'f', 'g'"):
        prepare(both)
    with pytest.raises(MachineError, match="has no function 'h', only 'f', 'g'"):
        prepare(both, entry="h")
    assert prepare(both, entry="g").name == "g"
    function = next(iter(both.body.block.ops))
    assert prepare(function).name == "f"
    with pytest.raises(MachineError, match=r"has no penguin.func or bir.func to run"):
        prepare(parsed("builtin.module {}"))


def test_machine_keeps_its_programs() -> None:
    found = Machine(UNROLLED)
    module = parsed(DOUBLE)
    assert found.prepare(module) is found.prepare(module)
    a = random((8, 6))
    assert np.array_equal(found.simulate(module, [a])[0], a * 2)
    assert np.array_equal(simulate(module, [a])[0], a * 2)


def test_unknown_operations_are_refused_with_a_place() -> None:
    text = "penguin.func @f() {\n  builtin.module {}\n  penguin.return\n}"
    module = parsed(text)
    with pytest.raises(MachineError, match="has no meaning in the machine") as caught:
        prepare(module)
    assert str(caught.value).startswith("test.mlir:2:3: error: 'builtin.module' op")


def test_observers_are_told() -> None:
    seen: list[str] = []

    def observe(module: object, program: machine.Program) -> None:
        seen.append(program.name)

    module = parsed(DOUBLE)
    machine.observers.append(observe)
    machine.notify(module, prepare(module))
    machine.observers.remove(observe)
    machine.notify(module, prepare(module))
    assert seen == ["f"]
    assert machine.default_level.get() == "penguin"


def test_import_is_light() -> None:
    code = (
        "import sys, xdsl_neuron.machine\n"
        "heavy = [n for n in sys.modules if n.startswith(('xdsl_neuron.nki',\n"
        "    'xdsl_neuron.kernels', 'xdsl_neuron.tracer', 'xdsl_neuron.passes'))]\n"
        "import os; print(heavy, os.environ['OPENBLAS_NUM_THREADS'])"
    )
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert done.stdout == "[] 1\n"
