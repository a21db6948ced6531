"""A function gives the same bytes at every level, each read from printed text."""

from io import StringIO
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.printer import Printer
from xdsl.transforms import get_all_passes as get_xdsl_passes

from xdsl_neuron.dialects import register_dialects
from xdsl_neuron.dtypes import DType
from xdsl_neuron.machine import Program, prepare
from xdsl_neuron.numerics.casts import storage
from xdsl_neuron.passes.pipelines import BirToDma, PenguinToBir
from xdsl_neuron.verification import verify

Array = NDArray[Any]


def context() -> Context:
    found = Context()
    found.load_dialect(Builtin)
    register_dialects(found)
    return found


def parse(text: str) -> ModuleOp:
    module = Parser(context(), text).parse_module()
    verify(module)
    return module


def print_module(module: ModuleOp) -> str:
    stream = StringIO()
    Printer(stream).print_op(module)
    return stream.getvalue()


def after(text: str, *steps: ModulePass) -> str:
    module = parse(text)
    for step in steps:
        step.apply(context(), module)
    verify(module)
    return print_module(module)


def arguments(program: Program) -> list[Array]:
    """Inputs with some of everything: exact, tiny, negative, and a few infinities."""
    random = np.random.default_rng(1)
    found: list[Array] = []
    for port in program.inputs:
        kind = storage(port.dtype)
        if port.dtype.is_integer:
            values = random.integers(0, 100, port.shape).astype(kind)
        else:
            values = (random.standard_normal(port.shape) * 3).astype(kind)
        if port.name.startswith("index"):
            values = random.integers(-1, 50, port.shape).astype(kind)
        found.append(values)
    return found


def run(text: str) -> list[bytes]:
    program = prepare(parse(text))
    inputs = arguments(program)
    outputs = program.run(inputs)
    mutable = [
        array
        for array, port in zip(inputs, program.inputs, strict=True)
        if port.mutable
    ]
    return [array.tobytes() for array in (*outputs, *mutable)]


CLEANUPS = ("cse", "dce", "canonicalize", "licm")


def cleaned(text: str) -> str:
    return after(text, *(get_xdsl_passes()[name]()() for name in CLEANUPS))


def check(penguin: str, bounds: tuple[int, ...] = (20000, 1)) -> None:
    """All levels, unrolled and rolled, as they are and cleaned up by xDSL."""
    expected = run(penguin)
    assert run(cleaned(penguin)) == expected
    bir = after(penguin, PenguinToBir())
    assert run(bir) == expected
    assert run(cleaned(bir)) == expected
    for bound in bounds:
        dma = after(bir, BirToDma(max_instructions=bound))
        assert run(dma) == expected
        assert run(cleaned(dma)) == expected


HEAD = "builtin.module attributes {neuron.target = #neuron.target<trn2>} {\n"


def kernel(signature: str, body: str) -> str:
    return f"{HEAD}penguin.func @f({signature}) {{\n{body}\n}}\n}}\n"


def hbm(name: str, shape: str) -> str:
    return f"{name} = %{name}: !neuron.tensor<{shape}, hbm>"


RAGGED = kernel(
    hbm("a", "300x100xf32") + ", inout " + hbm("b", "300x100xf32"),
    """
  %c = penguin.alloc : <300x100xbf16, hbm>
  penguin.for parallel %i = 0 to 3 {
    %t = penguin.alloc init 0.5 : <128x100xf32, sbuf>
    %u = penguin.alloc : <128x100xbf16, sbuf>
    penguin.sb_atom_load %t <- %a[%i * 12800][100 x 128, 1 x 100] where 299 - %i * 128 - l0 >= 0
    penguin.tensor_scalar_ptr mult %u <- %t {imm0 = 2.0, op1 = add, imm1 = 1.0}
    penguin.activation Exp %t <- %t
    penguin.sb_atom_store %b[%i * 12800][100 x 128, 1 x 100] <- %t where 299 - %i * 128 - l0 >= 0 {rmw_op = add}
    penguin.sb_atom_store %c[%i * 12800][100 x 128, 1 x 100] <- %u where 299 - %i * 128 - l0 >= 0
  }
  penguin.return c = %c, b = %b
""",
)

CAUSAL = kernel(
    hbm("a", "512x96xf32"),
    """
  %c = penguin.alloc init -1.0 : <512x96xf32, hbm>
  %d = penguin.alloc init 7.0 : <512x1xbf16, hbm>
  %e = penguin.alloc : <512x96xi32, hbm>
  penguin.for parallel %i = 0 to 4 {
    %t = penguin.alloc init 0.0 : <128x96xf32, sbuf>
    %u = penguin.alloc : <128x96xbf16, sbuf>
    %v = penguin.alloc : <128x96xi32, sbuf>
    %w = penguin.alloc init 3 : <128x96xi32, sbuf>
    %r = penguin.alloc init 7.0 : <128x1xbf16, sbuf>
    penguin.sb_atom_load %t <- %a[%i * 12288][96 x 128, 1 x 96] where 480 - %i * 128 - l0 >= 0 and l0 - l1 + 30 >= 0
    penguin.memset %u {value = 3.0}
    penguin.tensor_scalar_ptr mult %u <- %t where 499 - %i * 128 - l0 >= 0 and l0 - l1 + %i * 4 >= 0 and (l1) mod 3 - 1 >= 0 {imm0 = 2.0}
    penguin.tensor_copy %t <- %u where (l0 + l1) floordiv 5 - %i >= 0
    penguin.tensor_reduce max %r <- %u where 499 - %i * 128 - l0 >= 0 and l0 - l1 + %i * 40 - 130 >= 0 {axes = [1]}
    penguin.tensor_reduce add %t[0, 0][1 x 128, 1 x 1] <- %t where l1 - l0 >= 0 {axes = [1]}
    penguin.index_value %v {value = %i * 1000 + l0 * 96 + l1}
    penguin.tensor_tensor mult %w <- %v, %v where l1 * 2 - l0 >= 0
    penguin.memset %w where l0 - l1 * 2 - 9 >= 0 {value = -5}
    penguin.sb_atom_store %c[%i * 12288][96 x 128, 1 x 96] <- %t where l0 - l1 >= 0
    penguin.sb_atom_store %d[%i * 128][1 x 128, 1 x 1] <- %r
    penguin.sb_atom_store %e[%i * 12288][96 x 128, 1 x 96] <- %w
  }
  penguin.return c = %c, d = %d, e = %e
""",
)

STRIDED = kernel(
    hbm("a", "64x6x10xf16") + ", " + hbm("b", "7x64xi32"),
    """
  %c = penguin.alloc init 0.0 : <64x10x6xf32, hbm>
  %d = penguin.alloc : <64x7xf8e4m3, hbm>
  %t = penguin.alloc : <64x60xf16, sbuf>
  %u = penguin.alloc : <64x10x6xf32, sbuf>
  %v = penguin.alloc : <64x7xi32, sbuf>
  %w = penguin.alloc : <64x7xf8e4m3, sbuf>
  penguin.sb_atom_load %t[0, 0][1 x 64, 6 x 10, 1 x 6] <- %a[0][60 x 64, 1 x 10, 10 x 6]
  penguin.tensor_copy %u <- %t[0, 0][1 x 64, 6 x 10, 1 x 6]
  penguin.sb_atom_load %v <- %b[0][1 x 64, 64 x 7]
  penguin.tensor_copy %w[0, 0][1 x 64, 1 x 4] <- %v[0, 6][1 x 64, -2 x 4]
  penguin.tensor_copy %w[0, 4][1 x 64, 1 x 3] <- %v[0, 1][1 x 64, 2 x 3]
  penguin.dma_copy %c[5][60 x 64, 12 x 5, 1 x 1] <- %u[0, 0][1 x 64, 12 x 5, 1 x 1]
  penguin.dma_copy %d <- %w
  %e = penguin.alloc : <3840xf16, hbm>
  penguin.dma_copy %e[0][1 x 3840] <- %a[3839][-1 x 3840]
  penguin.return c = %c, d = %d, e = %e
""",
)

MATMUL = kernel(
    hbm("a", "500x128xbf16") + ", " + hbm("b", "500x300xbf16"),
    """
  %c = penguin.alloc : <128x300xf32, hbm>
  %acc = penguin.alloc : <128x300xf32, psum>
  penguin.for sequential %k = 0 to 4 {
    %s = penguin.alloc init 0.0 : <128x128xbf16, sbuf>
    %m = penguin.alloc init 0.0 : <128x300xbf16, sbuf>
    penguin.sb_atom_load %s <- %a[%k * 16384][128 x 128, 1 x 128] where 499 - %k * 128 - l0 >= 0
    penguin.sb_atom_load %m <- %b[%k * 38400][300 x 128, 1 x 300] where 499 - %k * 128 - l0 >= 0
    penguin.matmul %acc <- %s, %m where 499 - %k * 128 - l0 >= 0
    penguin.matmul %acc[0, 0][1 x 128, 1 x 64] <- %s, %m[0, 0][1 x 128, 1 x 64] where l0 - l1 + %k * 30 - 60 >= 0
  }
  %out = penguin.alloc : <128x300xf32, sbuf>
  penguin.tensor_copy %out <- %acc
  penguin.sb_atom_store %c <- %out
  penguin.return c = %c
""",
)

NARROW = kernel(
    hbm("a", "128x1xf32") + ", " + hbm("b", "128x77xf32"),
    """
  %c = penguin.alloc : <1x77xf32, hbm>
  %d = penguin.alloc : <77x1xf32, hbm>
  %s = penguin.alloc : <128x1xf32, sbuf>
  %m = penguin.alloc : <128x77xf32, sbuf>
  penguin.sb_atom_load %s <- %a
  penguin.sb_atom_load %m <- %b
  %p = penguin.alloc : <1x77xf32, psum>
  %q = penguin.alloc : <77x1xf32, psum>
  penguin.for sequential %k = 0 to 3 {
    penguin.matmul %p <- %s, %m
    penguin.matmul %q <- %m, %s
  }
  %x = penguin.alloc : <1x77xf32, sbuf>
  %y = penguin.alloc : <77x1xf32, sbuf>
  penguin.tensor_copy %x <- %p
  penguin.tensor_copy %y <- %q
  penguin.sb_atom_store %c <- %x
  penguin.sb_atom_store %d <- %y
  penguin.return c = %c, d = %d
""",
)

PARTIAL = kernel(
    hbm("a", "128x128xbf16") + ", " + hbm("b", "128x512xbf16"),
    """
  %c = penguin.alloc : <128x512xf32, hbm>
  %s = penguin.alloc : <128x128xbf16, sbuf>
  %m = penguin.alloc : <128x512xbf16, sbuf>
  penguin.sb_atom_load %s <- %a
  penguin.sb_atom_load %m <- %b
  %p = penguin.alloc init 0.0 : <128x512xf32, psum>
  penguin.matmul %p[0, 0][1 x 128, 2 x 200] <- %s, %m[0, 0][1 x 128, 1 x 200]
  penguin.for sequential %k = 2 to 8 step 3 {
    penguin.matmul %p[0, 0][1 x 128, 1 x 500] <- %s, %m[0, 0][1 x 128, 1 x 500]
    penguin.for sequential %j = 0 to 3 {
      penguin.matmul %p[0, %j * 8][1 x 128, 1 x 8] <- %s, %m[0, 0][1 x 128, 1 x 8] where %j - %k + 1 >= 0
    }
  }
  %x = penguin.alloc : <128x512xf32, sbuf>
  penguin.tensor_copy %x <- %p
  penguin.sb_atom_store %c <- %x
  penguin.return c = %c
""",
)

INDIRECT = kernel(
    hbm("table", "130x40xf32")
    + ", inout "
    + hbm("sums", "50x40xbf16")
    + ", inout "
    + hbm("rows", "130x40xf32")
    + ", "
    + hbm("index", "128x1xi32"),
    """
  %c = penguin.alloc : <128x40xbf16, hbm>
  %i = penguin.alloc : <128x1xi32, sbuf>
  penguin.sb_atom_load %i <- %index
  %t = penguin.alloc init 0.0 : <128x40xbf16, sbuf>
  %u = penguin.alloc init 0.0 : <128x40xf32, sbuf>
  penguin.neuron_indirect_load %t <- %table[0][40 x 128, 1 x 40], %i {max_index = 50}
  penguin.neuron_indirect_load %u[0, 0][1 x 128, 2 x 20] <- %table[1][40 x 128, 2 x 20], %i where 99 - l0 >= 0 and l0 - 5 >= 0 {max_index = 40, oob = skip}
  penguin.neuron_indirect_rmw %sums[0][40 x 128, 1 x 40] <- %t, %i {max_index = 50}
  penguin.neuron_indirect_save %rows[0][40 x 128, 1 x 40] <- %u, %i where l0 - l1 * 2 >= 0 {max_index = 50}
  penguin.sb_atom_store %c <- %t
  penguin.return c = %c, rows = %rows, sums = %sums
""",
)

ROLLED = kernel(
    hbm("a", "10000x4xf32"),
    """
  %c = penguin.alloc : <10000x4xf32, hbm>
  %n = penguin.alloc : <1x4xf32, sbuf>
  penguin.memset %n {value = 0.0}
  penguin.for sequential %i = 0 to 10000 {
    %t = penguin.alloc : <1x4xf32, sbuf>
    penguin.sb_atom_load %t <- %a[%i * 4][4 x 1, 1 x 4]
    penguin.tensor_tensor add %n <- %n, %t
    penguin.tensor_tensor add %t <- %n, %t where 9998 - %i >= 0
    penguin.sb_atom_store %c[39996 - %i * 4][4 x 1, 1 x 4] <- %t where (%i) mod 3 - 1 >= 0
    penguin.sb_atom_store %c[39996 - %i * 4][4 x 1, 1 x 4] <- %n where (-%i) mod 3 - 2 >= 0
    penguin.sb_atom_store %c[39996 - %i * 4][4 x 1, 1 x 4] <- %t where -((%i) mod 3) >= 0
  }
  penguin.return c = %c
""",
)

NESTED = kernel(
    hbm("a", "12x16x32xf32"),
    """
  %c = penguin.alloc : <12x32x16xf32, hbm>
  penguin.for parallel %i = 1 to 13 step 4 {
    penguin.for sequential %j = 0 to 4 {
      %t = penguin.alloc : <16x32xf32, sbuf>
      %u = penguin.alloc : <32x16xf32, sbuf>
      penguin.sb_atom_load @L %t <- %a[%i * 512 + %j * 512 - 512][32 x 16, 1 x 32]
      penguin.transpose %u <- %t {engine = DVE, after = [flow "L"]}
      penguin.tensor_scalar_ptr add %u <- %u, scalar0 = %u[0, 0][1 x 32, 1 x 1] where 31 - l0 - %j >= 0 {op1 = mult, imm1 = 1.5}
      penguin.sb_atom_store %c[%i * 512 + %j * 512 - 512][16 x 32, 1 x 16] <- %u {after = [flow "L"]}
    }
  }
  penguin.return c = %c
""",
)

TRANSPOSES = kernel(
    hbm("a", "64x48xbf16") + ", " + hbm("b", "16x3x40xbf16"),
    """
  %c = penguin.alloc : <48x64xbf16, hbm>
  %d = penguin.alloc : <40x3x16xbf16, hbm>
  %t = penguin.alloc : <48x64xbf16, sbuf>
  %u = penguin.alloc init 1.0 : <40x3x16xbf16, sbuf>
  penguin.dma_transpose_load %t <- %a {axes = [1, 0]}
  penguin.dma_transpose_load %u <- %b where 12 - l0 >= 0 {axes = [2, 1, 0]}
  penguin.sb_atom_store %c <- %t
  penguin.sb_atom_store %d <- %u
  penguin.return c = %c, d = %d
""",
)

KERNELS = {
    "ragged": RAGGED,
    "causal": CAUSAL,
    "strided": STRIDED,
    "matmul": MATMUL,
    "narrow": NARROW,
    "partial": PARTIAL,
    "indirect": INDIRECT,
    "nested": NESTED,
    "transposes": TRANSPOSES,
}


@pytest.mark.parametrize("name", KERNELS)
def test_levels_agree(name: str) -> None:
    check(KERNELS[name])


def test_ten_thousand_iterations() -> None:
    check(ROLLED, (3,))


def test_outputs_are_not_poison() -> None:
    """The bytes compared above are values, of the kernel's own arithmetic."""
    program = prepare(parse(RAGGED))
    a, b = inputs = arguments(program)
    before = b.copy()
    c, _ = program.run(inputs)
    scaled = (a * np.float32(2) + np.float32(1)).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(c, scaled)
    np.testing.assert_allclose(b, before + np.exp(a), rtol=1e-6)
    assert program.outputs[0].dtype is DType.BFLOAT16
