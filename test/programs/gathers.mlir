// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Gathers and shuffles by an engine, also under masks that are no boxes.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<64x100xbf16, hbm>, index_w = %w: !neuron.tensor<64x8xu16, hbm>, index_u = %u: !neuron.tensor<64x30xu32, hbm>) {
  %c = penguin.alloc : <64x100xbf16, hbm>
  %d = penguin.alloc : <64x240xbf16, hbm>
  %e = penguin.alloc : <64x30xbf16, hbm>
  %t = penguin.alloc : <64x100xbf16, sbuf>
  %s = penguin.alloc init 5.0 : <64x100xbf16, sbuf>
  %g = penguin.alloc init 6.0 : <64x240xbf16, sbuf>
  %h = penguin.alloc init 7.0 : <64x30xbf16, sbuf>
  %iw = penguin.alloc : <64x8xu16, sbuf>
  %iu = penguin.alloc : <64x30xu32, sbuf>
  penguin.sb_atom_load %t <- %a
  penguin.sb_atom_load %iw <- %w
  penguin.sb_atom_load %iu <- %u
  penguin.tensor_scalar_ptr bitwise_and %iw <- %iw {imm0 = 31}
  penguin.tensor_scalar_ptr bitwise_and %iu <- %iu {imm0 = 63}
  penguin.stream_shuffle %s <- %t {mask = [1, 0, 3, 2, 255, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 31, 30]}
  penguin.stream_shuffle %s <- %t {mask = [31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 255]}
  penguin.indirect_copy %g <- %t, %iw {num_elem_per_idx = 2, num_valid_indices = 120}
  penguin.pool_gather %h <- %t, %iu
  penguin.sb_atom_store %c <- %s
  penguin.sb_atom_store %d <- %g
  penguin.sb_atom_store %e <- %h
  penguin.return c = %c, d = %d, e = %e
}
}
