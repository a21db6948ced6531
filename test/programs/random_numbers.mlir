// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Random numbers from a seed: bits, uniform numbers, dropout, and the state at the end.

builtin.module attributes {neuron.target = #neuron.target<trn3>} {
penguin.func @f(a = %a: !neuron.tensor<100x64xf32, hbm>, seed = %g: !neuron.tensor<1x1xu32, hbm>, p = %p: !neuron.tensor<128x6xu32, hbm>) {
  %c = penguin.alloc init 0.0 : <100x64xf32, hbm>
  %d = penguin.alloc : <128x64xu16, hbm>
  %e = penguin.alloc : <128x24xu32, hbm>
  %f = penguin.alloc : <128x6xu32, hbm>
  %h = penguin.alloc : <128x24xu32, hbm>
  %one = penguin.alloc : <1x1xu32, sbuf>
  %s = penguin.alloc : <128x24xu32, sbuf>
  %q = penguin.alloc : <128x6xu32, sbuf>
  %n = penguin.alloc : <128x64xu16, sbuf>
  penguin.sb_atom_load %one <- %g
  penguin.sb_atom_load %q <- %p
  penguin.set_rng_seed %s <- %one
  penguin.rand_set_state %q <- %q {engine = Pool}
  penguin.rng %n, %q <- %q {engine = Pool}
  penguin.rand_get_state %q <- %q {engine = Pool}
  %w = penguin.alloc : <128x8xu32, sbuf>
  penguin.rand LFSR %w, %q <- %q {rand_num_steps = 2}
  penguin.sb_atom_store %h[0][24 x 128, 1 x 8] <- %w
  penguin.rand PCG32 %w, %q <- %q where 99 - l0 >= 0
  penguin.sb_atom_store %h[8][24 x 128, 1 x 8] <- %w
  penguin.rand PHILOX_1 %w, %q <- %q {rand_num_steps = 3}
  penguin.sb_atom_store %h[16][24 x 128, 1 x 8] <- %w
  penguin.get_rand_state %q <- %q {engine = Pool}
  penguin.for sequential %i = 0 to 2 {
    %x = penguin.alloc : <64x64xf32, sbuf>
    %u = penguin.alloc : <64x64xf32, sbuf>
    penguin.sb_atom_load %x <- %a[%i * 4096][64 x 64, 1 x 64] where 99 - %i * 64 - l0 >= 0
    penguin.rand2 %u, %s[%i * 64, 0][1 x 64, 1 x 24] <- %s[%i * 64, 0][1 x 64, 1 x 24] where 99 - %i * 64 - l0 >= 0 {low_imm = -1.0}
    penguin.tensor_tensor add %x <- %x, %u where 99 - %i * 64 - l0 >= 0
    penguin.dropout_mask %x, %s[%i * 64, 0][1 x 64, 1 x 24] <- %x, %s[%i * 64, 0][1 x 64, 1 x 24] where 99 - %i * 64 - l0 >= 0 {probability_imm = 0.5}
    penguin.sb_atom_store %c[%i * 4096][64 x 64, 1 x 64] <- %x where 99 - %i * 64 - l0 >= 0
  }
  penguin.sb_atom_store %d <- %n
  penguin.sb_atom_store %e <- %s
  penguin.sb_atom_store %f <- %q
  penguin.return c = %c, d = %d, e = %e, f = %f, h = %h
}
}
