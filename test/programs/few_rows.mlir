// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// A table with fewer rows than there are indices, under a mask that drops the first.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<10x64xf32, hbm>) {
  %c = penguin.alloc init 0.0 : <128x64xf32, hbm>
  %i = penguin.alloc : <128x1xi32, sbuf>
  %r = penguin.alloc init 3.0 : <128x64xf32, sbuf>
  penguin.index_value %i {value = (l0) mod 10}
  penguin.neuron_indirect_load %r <- %a[0][64 x 128, 1 x 64], %i where l0 - 5 >= 0 and 100 - l0 >= 0 {max_index = 10}
  penguin.sb_atom_store %c <- %r
  penguin.return c = %c
}
}
