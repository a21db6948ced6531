"""`penguin-lower-broadcast` keeps what a program computes."""

import numpy as np
import pytest
from levels import after, parse

from xdsl_neuron.dtypes import DType
from xdsl_neuron.machine import prepare
from xdsl_neuron.numerics.casts import storage
from xdsl_neuron.passes.penguin_lower_broadcast import PenguinLowerBroadcast
from xdsl_neuron.passes.pipelines import NeuronPipeline

PROGRAM = """
builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<64x700xTYPE, hbm>) {
  %o = penguin.alloc : <2x96x700xf32, hbm>
  %t = penguin.alloc : <64x700xTYPE, sbuf>
  %u = penguin.alloc : <96x700xf32, sbuf>
  penguin.sb_atom_load %t <- %a
  penguin.for sequential %i = 0 to 2 {
    penguin.tensor_copy @B %u <- %t[%i * 32, 0][0 x 96, 1 x 700]
    penguin.sb_atom_store %o[%i * 67200][700 x 96, 1 x 700] <- %u
  }
  penguin.return o = %o
}
}
"""


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
def test_same_result(dtype: str) -> None:
    text = PROGRAM.replace("TYPE", dtype)
    lowered = after(text, PenguinLowerBroadcast())
    assert "penguin.matmul" in lowered
    program = prepare(parse(text))
    kind = storage(DType.from_ir(dtype))
    values = np.random.default_rng(1).standard_normal((64, 700)).astype(kind)
    (expected,) = program.run([values])
    for found in (lowered, after(lowered, NeuronPipeline())):
        (output,) = prepare(parse(found)).run([values])
        assert np.array_equal(output, expected)
