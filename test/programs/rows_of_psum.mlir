// RUN: neuron-opt %s --verify-each -p 'neuron' | neuron-opt

// Instructions on rows that read what matmuls accumulated in PSUM, and write PSUM.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @f(a = %a: !neuron.tensor<64x32xbf16, hbm>) {
  %c = penguin.alloc : <5x32x32xf32, hbm>
  %x = penguin.alloc : <64x32xbf16, sbuf>
  %t = penguin.alloc : <32x32xf32, sbuf>
  %r = penguin.alloc : <32x1xf32, sbuf>
  %v = penguin.alloc : <32x8xf32, sbuf>
  %s = penguin.alloc : <32x6xf32, sbuf>
  penguin.sb_atom_load %x <- %a
  penguin.for sequential %i = 0 to 2 {
    %p = penguin.alloc : <32x32xf32, psum>
    %q = penguin.alloc : <32x32xf32, psum>
    penguin.matmul %p <- %x, %x
    penguin.matmul %p <- %x, %x
    penguin.tensor_scalar_cache_cumulative add add %t <- %p {imm0 = 1.0}
    penguin.sb_atom_store %c[0][32 x 32, 1 x 32] <- %t
    penguin.activation_accumulation Square %t <- %p, reduce_res = %r {scale_imm = 0.125}
    penguin.sb_atom_store %c[1024][32 x 32, 1 x 32] <- %t
    penguin.sunda_max8 %v <- %p
    penguin.sunda_match_replace8 %q <- %p, %v {imm = 0.0}
    penguin.matmul %q[0, 0][1 x 32, 1 x 8] <- %x, %x[0, 0][1 x 64, 1 x 8]
    penguin.tensor_scalar_ptr add %t <- %q, scalar0 = %r
    penguin.sb_atom_store %c[2048][32 x 32, 1 x 32] <- %t
    penguin.sunda_bn_stats %s <- %p
    penguin.tensor_scalar_cache_reduce mult max %t <- %p, reduce_res = %r, scalar0 = %s[0, 1][1 x 32, 1 x 1]
    penguin.sb_atom_store %c[3072][32 x 32, 1 x 32] <- %t
    penguin.scalar_tensor_tensor mult add %t <- %p, %t, scalar0 = %r
    penguin.sb_atom_store %c[4096][32 x 32, 1 x 32] <- %t
  }
  penguin.return c = %c
}
}
