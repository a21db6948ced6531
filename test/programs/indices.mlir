// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Indices of non-zero elements, of which 15 of 16 partitions keep what they held.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<32x64xf32, hbm>, s = %s: !neuron.tensor<1x64xi32, hbm>) {
  %c = penguin.alloc : <32x65xi32, hbm>
  %d = penguin.alloc : <1x2x64xi32, hbm>
  %x = penguin.alloc : <32x64xf32, sbuf>
  %n = penguin.alloc init 7 : <32x65xi32, sbuf>
  %y = penguin.alloc : <1x64xi32, sbuf>
  %b = penguin.alloc : <1x2x64xi32, sbuf>
  penguin.sb_atom_load %x <- %a
  penguin.sb_atom_load %y <- %s
  penguin.activation Relu %x <- %x
  penguin.nonzero_with_count %n <- %x {index_offset = 3}
  penguin.tensor_scalar_ptr mult %y <- %y {imm0 = 0.125}
  penguin.get_sequence_bounds %b <- %y
  penguin.sb_atom_store %c <- %n
  penguin.sb_atom_store %d <- %b
  penguin.return c = %c, d = %d
}
}
