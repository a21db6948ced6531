// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Permuted, strided and reversed accesses, with casts.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<64x6x10xf16, hbm>, b = %b: !neuron.tensor<7x64xi32, hbm>) {

  %c = penguin.alloc init 0.0 : <64x10x6xf32, hbm>
  %d = penguin.alloc : <64x7xf8e4m3, hbm>
  %t = penguin.alloc : <64x60xf16, sbuf>
  %u = penguin.alloc : <64x10x6xf32, sbuf>
  %v = penguin.alloc : <64x7xi32, sbuf>
  %w = penguin.alloc : <64x7xf8e4m3, sbuf>
  penguin.sb_atom_load %t[0, 0][1 x 64, 6 x 10, 1 x 6] <- %a[0][60 x 64, 1 x 10, 10 x 6]
  penguin.tensor_copy %u <- %t[0, 0][1 x 64, 6 x 10, 1 x 6]
  penguin.sb_atom_load %v <- %b[0][1 x 64, 64 x 7]
  penguin.tensor_copy %w[0, 0][1 x 64, 1 x 4] <- %v[0, 6][1 x 64, -2 x 4]
  penguin.tensor_copy %w[0, 4][1 x 64, 1 x 3] <- %v[0, 1][1 x 64, 2 x 3]
  penguin.dma_copy %c[5][60 x 64, 12 x 5, 1 x 1] <- %u[0, 0][1 x 64, 12 x 5, 1 x 1]
  penguin.dma_copy %d <- %w
  %e = penguin.alloc : <3840xf16, hbm>
  penguin.dma_copy %e[0][1 x 3840] <- %a[3839][-1 x 3840]
  penguin.return c = %c, d = %d, e = %e

}
}
