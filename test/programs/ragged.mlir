// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// The last tile of 300 rows is ragged: fill, cast, accumulate into a mutable input.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<300x100xf32, hbm>, inout b = %b: !neuron.tensor<300x100xf32, hbm>) {

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

}
}
