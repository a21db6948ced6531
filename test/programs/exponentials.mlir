// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// A softmax on the vector engine, and a scaled activation: trn3 only.

builtin.module attributes {neuron.target = #neuron.target<trn3>} {
penguin.func @f(a = %a: !neuron.tensor<200x96xf32, hbm>) {
  %c = penguin.alloc init 0.0 : <2x200x96xf32, hbm>
  penguin.for parallel %i = 0 to 2 {
    %x = penguin.alloc : <128x96xf32, sbuf>
    %t = penguin.alloc init 0.0 : <128x96xf32, sbuf>
    %m = penguin.alloc : <128x1xf32, sbuf>
    %s = penguin.alloc : <128x1xf32, sbuf>
    penguin.sb_atom_load %x <- %a[%i * 12288][96 x 128, 1 x 96] where 199 - %i * 128 - l0 >= 0
    penguin.tensor_reduce max %m <- %x where 199 - %i * 128 - l0 >= 0 {axes = [1]}
    penguin.exponential_reduce %t <- %x, reduce_res = %s, max_value = %m where 199 - %i * 128 - l0 >= 0
    penguin.reciprocal %s <- %s where 199 - %i * 128 - l0 >= 0
    penguin.tensor_scalar_ptr mult %t <- %t, scalar0 = %s where 199 - %i * 128 - l0 >= 0
    penguin.sb_atom_store %c[%i * 12288][96 x 128, 1 x 96] <- %t where 199 - %i * 128 - l0 >= 0
    penguin.exponential %t <- %x where 199 - %i * 128 - l0 >= 0 and l0 - l1 >= 0 {max_value_imm = 3.0}
    penguin.activate2 Prelu %t <- %t, scalar1 = %m where 199 - %i * 128 - l0 >= 0 and l0 * 2 - l1 >= 0 {op0 = mult, imm0 = -2.0, op1 = subtract, reverse1, alpha = 0.25}
    penguin.sb_atom_store %c[%i * 12288 + 19200][96 x 128, 1 x 96] <- %t where 199 - %i * 128 - l0 >= 0
  }
  penguin.return c = %c
}
}
