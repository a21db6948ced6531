// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Transposes on the tensor engine: ragged, and under a mask over both dimensions.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<200x48xbf16, hbm>) {
  %c = penguin.alloc init 0.0 : <48x200xbf16, hbm>
  penguin.for parallel %i = 0 to 2 {
    %t = penguin.alloc : <128x48xbf16, sbuf>
    %p = penguin.alloc init 1.0 : <48x128xbf16, psum>
    %u = penguin.alloc : <48x128xbf16, sbuf>
    penguin.sb_atom_load %t <- %a[%i * 6144][48 x 128, 1 x 48] where 199 - %i * 128 - l0 >= 0
    penguin.transpose %p <- %t where 199 - %i * 128 - l0 >= 0
    penguin.transpose %p <- %t where 199 - %i * 128 - l0 >= 0 and l0 - l1 * 2 >= 0
    penguin.tensor_scalar_ptr add %u <- %p {imm0 = 1.0}
    penguin.sb_atom_store %c[%i * 128][200 x 48, 1 x 128] <- %u where 199 - %i * 128 - l1 >= 0
  }
  penguin.return c = %c
}
}
