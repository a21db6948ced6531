// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Folds of partitions and of windows.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<96x256xf32, hbm>, n = %n: !neuron.tensor<96x64xu16, hbm>) {
  %c = penguin.alloc : <2x256xf32, hbm>
  %d = penguin.alloc : <1x64xu16, hbm>
  %e = penguin.alloc : <96x64xbf16, hbm>
  %x = penguin.alloc : <96x256xf32, sbuf>
  %y = penguin.alloc : <96x64xu16, sbuf>
  %r = penguin.alloc : <1x256xf32, sbuf>
  %s = penguin.alloc : <1x64xu16, sbuf>
  %p = penguin.alloc : <96x64xbf16, sbuf>
  penguin.sb_atom_load %x <- %a
  penguin.sb_atom_load %y <- %n
  penguin.for parallel %i = 0 to 2 {
    penguin.partition_reduce add %r <- %x[%i * 32, 0][1 x 32, 1 x 256]
    penguin.sb_atom_store %c[%i * 256][256 x 1, 1 x 256] <- %r
    penguin.pool average %p[0, %i * 32][1 x 96, 8 x 4, 1 x 8] <- %x[0, %i * 128][1 x 96, 32 x 4, 2 x 8, 16 x 2, 1 x 2]
  }
  penguin.partition_reduce bitwise_or %s <- %y
  penguin.sb_atom_store %d <- %s
  penguin.sb_atom_store %e <- %p
  penguin.return c = %c, d = %d, e = %e
}
}
