"""Loops whose trips are in a register, and the arithmetic of registers."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from levels import after, context, parse, print_module
from xdsl.dialects.func import Func
from xdsl.interpreter import Interpreter
from xdsl.interpreters.func import FuncFunctions
from xdsl.parser import Parser

from xdsl_neuron.dialects import penguin
from xdsl_neuron.geometry.affine import Affine
from xdsl_neuron.isa import AluOp
from xdsl_neuron.machine import MachineError, MachineOptions, prepare
from xdsl_neuron.machine.interpreter import NeuronFunctions
from xdsl_neuron.numerics.registers import register_alu
from xdsl_neuron.passes.pipelines import BirToDma, PenguinToBir

COPIES = """
builtin.module {
penguin.func @f(a = %a: !neuron.tensor<16x4xi32, hbm>, n = %n: !neuron.tensor<1x2xi32, hbm>) {
  %c = penguin.alloc : <16x4xi32, hbm>
  %t = penguin.alloc : <16x4xi32, sbuf>
  penguin.memset %t {value = 0}
  penguin.sb_atom_store %c <- %t
  %r = penguin.load_tensor_to_register %n[0][1 x 1]
  penguin.dynamic_for %i = 1 to %r * 2 + 1 step 2 {
    penguin.sb_atom_load %t[0, 0][4 x 1, 1 x 4] <- %a[%i * 4][4 x 1, 1 x 4]
    penguin.sb_atom_store %c[%i * 4][4 x 1, 1 x 4] <- %t[0, 0][4 x 1, 1 x 4]
    penguin.store_register_to_tensor %c[%i * 4 + 3][1 x 1] {value = %i}
  }
  penguin.return c = %c
}
}
"""  # noqa: E501

COUNTDOWN = """
builtin.module {
penguin.func @f(n = %n: !neuron.tensor<1x1xi32, hbm>) {
  %t = penguin.alloc : <1x2xi32, sbuf>
  penguin.memset %t {value = 0}
  penguin.sb_atom_load %t[0, 0][1 x 1, 1 x 1] <- %n
  penguin.do_while {
    %r = penguin.load_tensor_to_register %t[0, 0][1 x 1, 1 x 1]
    %s = penguin.register_alu subtract {lhs = %r, rhs = 1}
    penguin.store_register_to_tensor %t[0, 0][1 x 1, 1 x 1] {value = %s}
    %sum = penguin.load_tensor_to_register %t[0, 1][1 x 1, 1 x 1]
    %next = penguin.register_alu add {lhs = %sum, rhs = %r}
    penguin.store_register_to_tensor %t[0, 1][1 x 1, 1 x 1] {value = %next}
    penguin.continue_if %s
  }
  %c = penguin.alloc : <1x2xi32, hbm>
  penguin.sb_atom_store %c <- %t
  penguin.return c = %c
}
}
"""


def levels(text: str) -> list[str]:
    bir = after(text, PenguinToBir())
    return [text, bir, after(bir, BirToDma())]


@pytest.mark.parametrize("level", range(3))
@pytest.mark.parametrize("count", [0, 1, 5, 7, -3])
def test_a_register_bounds_a_loop(level: int, count: int) -> None:
    program = prepare(parse(levels(COPIES)[level]))
    a = np.arange(100, 164, dtype=np.int32).reshape(16, 4)
    expected = np.zeros_like(a)
    for i in range(1, count * 2 + 1, 2):
        expected[i] = a[i]
        expected[i, 3] = i
    (c,) = program.run([a, np.array([[count, 0]], np.int32)])
    np.testing.assert_array_equal(c, expected)


def test_an_iteration_out_of_bounds_is_refused() -> None:
    program = prepare(parse(COPIES))
    a = np.zeros((16, 4), np.int32)
    with pytest.raises(
        MachineError, match=r"Out-of-bound access .* iteration i = 17, r"
    ):
        program.run([a, np.array([[9, 0]], np.int32)])


@pytest.mark.parametrize("level", range(3))
@pytest.mark.parametrize("count", [1, 4, 1000])
def test_a_body_runs_until_its_register_is_zero(level: int, count: int) -> None:
    program = prepare(parse(levels(COUNTDOWN)[level]))
    (c,) = program.run([np.array([[count]], np.int32)])
    assert c.tolist() == [[0, count * (count + 1) // 2]]


def test_iterations_are_limited() -> None:
    program = prepare(parse(COUNTDOWN), MachineOptions(max_iterations=100))
    program.run([np.array([[100]], np.int32)])
    with pytest.raises(MachineError, match="more than 100 iterations of run-time loop"):
        program.run([np.array([[0]], np.int32)])


IN_ANOTHER_FUNCTION = """
func.func @g(%n: !neuron.tensor<1x2xi32, hbm>) -> !neuron.tensor<1x2xi32, hbm> {
  %c = penguin.alloc init 0 : <1x2xi32, hbm>
  %r = penguin.load_tensor_to_register %n[0][1 x 1]
  penguin.dynamic_for %i = 0 to %r {
    %x = penguin.load_tensor_to_register %c[0][1 x 1]
    %y = penguin.register_alu add {lhs = %x, rhs = %i}
    penguin.store_register_to_tensor %c[0][1 x 1] {value = %y}
  }
  penguin.do_while {
    %x = penguin.load_tensor_to_register %c[1][1 x 1]
    %y = penguin.register_alu add {lhs = %x, rhs = 1}
    penguin.store_register_to_tensor %c[1][1 x 1] {value = %y}
    %more = penguin.register_alu is_lt {lhs = %y, rhs = %r}
    penguin.continue_if %more
  }
  func.return %c : !neuron.tensor<1x2xi32, hbm>
}
"""


def test_run_time_loops_in_the_interpreter() -> None:
    ctx = context()
    ctx.load_dialect(Func)
    module = Parser(ctx, IN_ANOTHER_FUNCTION).parse_module()
    module.verify()
    interpreter = Interpreter(module)
    interpreter.register_implementations(NeuronFunctions())
    interpreter.register_implementations(FuncFunctions())
    (c,) = interpreter.call_op("g", (np.array([[5, 0]], np.int32),))
    assert c.tolist() == [[10, 5]]


def test_loops_are_built() -> None:
    module = parse(COPIES)
    (load,) = (
        op for op in module.walk() if isinstance(op, penguin.LoadTensorToRegisterOp)
    )
    register = load.results[0]
    loop = penguin.DynamicForOp.make(0, Affine.index(0) * 2, (register,), 3, "k")
    again = penguin.DoWhileOp.make()
    again.body.block.add_op(penguin.ContinueIfOp.make(register))
    loop.body.block.add_op(again)
    assert load.parent is not None
    load.parent.insert_op_after(loop, load)
    text = print_module(module)
    assert "penguin.dynamic_for %k = 0 to %r * 2 step 3 {" in text
    assert "penguin.do_while {\n        penguin.continue_if %r\n" in text
    assert print_module(parse(text)) == text


INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
NUMPY = {
    AluOp.ADD: np.add,
    AluOp.SUBTRACT: np.subtract,
    AluOp.MULT: np.multiply,
    AluOp.MAX: np.maximum,
    AluOp.MIN: np.minimum,
    AluOp.BITWISE_AND: np.bitwise_and,
    AluOp.BITWISE_OR: np.bitwise_or,
    AluOp.BITWISE_XOR: np.bitwise_xor,
    AluOp.IS_LT: np.less,
    AluOp.IS_GE: np.greater_equal,
    AluOp.IS_EQUAL: np.equal,
}


@given(op=st.sampled_from(sorted(NUMPY)), a=INT32, b=INT32)
def test_registers_compute_like_int32(op: AluOp, a: int, b: int) -> None:
    with np.errstate(over="ignore"):
        expected = int(NUMPY[op](np.int32(a), np.int32(b)))
    assert register_alu(op, 32)(a, b) == expected


@pytest.mark.parametrize(
    ("op", "a", "b", "expected"),
    [
        (AluOp.ADD, 0xFFFFFFFF, 1, 0),
        (AluOp.ABS, -(1 << 31), 0, -(1 << 31)),
        (AluOp.DIVIDE, -7, 2, -3),
        (AluOp.DIVIDE, 7, 0, 0),
        (AluOp.MOD, -7, 3, 2),
        (AluOp.MOD, 5, 0, 0),
        (AluOp.BITWISE_NOT, 5, 0, -6),
        (AluOp.LOGICAL_SHIFT_RIGHT, -1, 28, 15),
        (AluOp.LOGICAL_SHIFT_RIGHT, -1, 32, 0),
        (AluOp.ARITH_SHIFT_RIGHT, -8, 99, -1),
        (AluOp.ARITH_SHIFT_LEFT, 3, 31, -(1 << 31)),
        (AluOp.LOGICAL_SHIFT_LEFT, 3, -1, 0),
        (AluOp.LOGICAL_XOR, 3, 0, 1),
    ],
)
def test_register_arithmetic(op: AluOp, a: int, b: int, expected: int) -> None:
    assert register_alu(op, 32)(a, b) == expected


def test_register_pairs() -> None:
    assert register_alu(AluOp.MULT, 64)(1 << 40, 1 << 22) == 1 << 62
    assert register_alu(AluOp.ADD, 64)((1 << 63) - 1, 1) == -(1 << 63)


def test_an_operation_without_an_integer_form() -> None:
    with pytest.raises(ValueError, match="'rsqrt' has no form on registers"):
        register_alu(AluOp.RSQRT, 32)
