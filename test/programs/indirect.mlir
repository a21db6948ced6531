// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Gather, scatter, and scatter-add with duplicate and skipped indices.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(table = %table: !neuron.tensor<130x40xf32, hbm>, inout sums = %sums: !neuron.tensor<50x40xbf16, hbm>, inout rows = %rows: !neuron.tensor<130x40xf32, hbm>, index = %index: !neuron.tensor<128x1xi32, hbm>) {

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

}
}
