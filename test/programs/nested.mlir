// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Nested loops with steps, dependency edges, a transpose on the vector engine.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<12x16x32xf32, hbm>) {

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

}
}
