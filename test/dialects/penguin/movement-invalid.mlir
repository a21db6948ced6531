// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// The copy as a kernel asks for it: an index decides which instruction it is.

%a = penguin.alloc : <300x40xf32, hbm>
%b = penguin.alloc : <300x40xf32, hbm>
%t = penguin.alloc : <64x40xf32, sbuf>
%i = penguin.alloc : <64x1xi32, sbuf>
// near miss: `, src_index = %i, dst_index = %i` -> ``
// expected-error @below {{``src`` and ``dst`` operands cannot both be indirect memory accesses, got `i` for `a` and `i` for `b`; gather into a tile, then scatter it}}
penguin.dma_copy %b[0][40 x 64, 1 x 40] <- %a[0][40 x 64, 1 x 40], src_index = %i, dst_index = %i
// near miss: `, src_index = %i` -> ``
// expected-error @below {{``dst_rmw_op`` is not supported indirect memory access on source (``src``) operand `a`; gather into a tile, then add it}}
penguin.dma_copy %t <- %a[0][40 x 64, 1 x 40], src_index = %i {rmw_op = add}
// near miss: `, src_index = %i` -> ``
// expected-error @below {{a copy with 'src_index' alone is written as penguin.neuron_indirect_load}}
penguin.dma_copy %t <- %a[0][40 x 64, 1 x 40], src_index = %i
// near miss: `, dst_index = %i` -> ``
// expected-error @below {{a copy with 'dst_index' alone is written as penguin.neuron_indirect_save}}
penguin.dma_copy %b[0][40 x 64, 1 x 40] <- %t, dst_index = %i {rmw_op = bypass}
// expected-error @below {{a copy with 'dst_index' alone is written as penguin.neuron_indirect_rmw}}
penguin.dma_copy %b[0][40 x 64, 1 x 40] <- %t, dst_index = %i {rmw_op = add}

// -----

// What the engines reach: five dimensions, steps of 32 bits.

%a = penguin.alloc : <100000000xu8, hbm>
%c = penguin.alloc : <1000000000xf32, hbm>
%t = penguin.alloc : <2x128xu8, sbuf>
%u = penguin.alloc : <2x1xf32, sbuf>
// near miss: `20 x 2, 8 x 2, 3 x 2` -> `20 x 4, 3 x 2`
// expected-error @below {{Invalid number of AccessPattern dimensions; must be in [2, 5], got 6 for 'src'}}
penguin.dma_copy %t[0, 0][1 x 2, 1 x 32] <- %a[0][1000 x 2, 200 x 2, 50 x 2, 20 x 2, 8 x 2, 3 x 2]
// near miss: `900000000` -> `32`
// expected-error @below {{access pattern of 'src' steps by 3600000000 bytes, which does not fit 32 bits}}
penguin.dma_copy %u <- %c[0][900000000 x 2, 1 x 1]

// -----

// One tensor's size.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // near miss: `#neuron.target<trn2>` -> `#neuron.target<trn3>`
  // expected-error @below {{SB tensor overflow: a tensor of shape (128, 53247) and type float32 needs 212988 bytes in a partition, trn2 has 212984; use smaller tiles}}
  %a = penguin.alloc : <128x53247xf32, sbuf>
  // near miss: `1x4097` -> `1x4096`
  // expected-error @below {{PSUM tensor overflow: a tensor of shape (1, 4097) and type float32 needs 16388 bytes in a partition, trn2 has 16384; use smaller tiles}}
  %b = penguin.alloc : <1x4097xf32, psum>
  // expected-error @below {{SB tensor overflow: a tensor of shape (128, 300000) and type uint8}}
  %c = bir.location @c : <128x300000xu8, sbuf>
  // What blocks number is tiles of their own.
  %d = penguin.alloc blocks 2 : <128x2x4096xf32, psum>
  // expected-error @below {{PSUM tensor overflow: each of 6 blocks of a tensor of shape (128, 2, 3, 4097) and type float32 needs 16388 bytes in a partition, trn2 has 16384; use smaller tiles}}
  %e = penguin.alloc blocks 6 : <128x2x3x4097xf32, psum>
  // An address is in the memory, one for each block.
  %h = penguin.alloc blocks 2 at [(64, 0), (64, 212980)] : <64x2x1xf32, sbuf>
  // expected-error @below {{1 addresses of a tensor of shape (64, 2, 1) in sbuf}}
  %i0 = penguin.alloc blocks 2 at [(64, 0)] : <64x2x1xf32, sbuf>
  // near miss: `(65, 0)` -> `(64, 0)`
  // expected-error @below {{address (65, 0): 64 partitions from 65 on exceed the 128 there are}}
  %j0 = penguin.alloc at [(65, 0)] : <64x1xf32, sbuf>
  // expected-error @below {{address (0, 212981): 4 bytes from 212981 on exceed the 212984 of a partition of sbuf}}
  %k0 = penguin.alloc at [(0, 212981)] : <64x1xf32, sbuf>
  // expected-error @below {{address (0, 2046): an address in psum is a multiple of 4 bytes}}
  %l0 = penguin.alloc at [(0, 2046)] : <64x1xf32, psum>
  // near miss: `(0, 2044)` -> `(0, 2040)`
  // expected-error @below {{address (0, 2044): 8 bytes from 2044 on cross a PSUM bank of 2048 bytes}}
  %m0 = penguin.alloc at [(0, 2044)] : <64x2xf32, psum>
  // expected-error @below {{1 addresses of a tensor of shape (4, 4) in hbm}}
  %n0 = bir.location @n at [(0, 0)] : <4x4xf32, hbm>
  penguin.memset %d[0, 4096][1 x 128, 1 x 4096] {value = 0.0}
  // expected-error @below {{access to 'dst' (d: f32[128, 2] in psum) does not reach one block of 4096 elements: a tensor of 2 blocks that does not fit into psum as a whole has its block dimensions indexed with loop indices or integers}}
  penguin.memset %d[0, 4095][1 x 128, 1 x 2] {value = 0.0}
  penguin.for parallel %i = 0 to 2 {
    penguin.memset %d[0, %i * 4096 + 4095][1 x 128, 1 x 1] {value = 0.0}
    penguin.memset %d[0, %i * 2048][1 x 128, 1 x 1] {value = 0.0}
    // near miss: `%i * 2048 + 2048` -> `%i * 2048 + 2047`
    // expected-error @below {{does not reach one block of 4096 elements}}
    penguin.memset %d[0, %i * 2048 + 2048][1 x 128, 1 x 1] {value = 0.0}
  }
}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  // near miss: `#neuron.target<trn1>` -> `#neuron.target<trn2>`
  // expected-error @below {{needs 180228 bytes in a partition, trn1 has 180224; use smaller tiles}}
  %a = penguin.alloc : <128x45057xf32, sbuf>
}

// -----

// In place: the same pattern, or apart; never for what takes elements out of order.

%t = penguin.alloc : <64x64xf32, sbuf>
%h = penguin.alloc : <64x64xu32, sbuf>
%w = penguin.alloc : <64x64xu16, sbuf>
%b = penguin.alloc : <32x32xbf16, sbuf>
// near miss: `y %t` -> `y %h`
// expected-error @below {{'penguin.tensor_copy' reads 'src' [0, 0][1 x 64, 1 x 63] of `t` while it writes [0, 1][1 x 64, 1 x 63]: in-place accesses are the same pattern or disjoint; write to another tile}}
penguin.tensor_copy %t[0, 1][1 x 64, 1 x 63] <- %t[0, 0][1 x 64, 1 x 63]
// near miss: `d %t` -> `d %h`
// expected-error @below {{reads 'rhs' [0, 0][1 x 64, 2 x 32] of `t` while it writes [0, 0][1 x 64, 1 x 32]}}
penguin.tensor_tensor add %t[0, 0][1 x 64, 1 x 32] <- %t[0, 32][1 x 64, 1 x 32], %t[0, 0][1 x 64, 2 x 32]
// near miss: `%t[` -> `%h[`
// expected-error @below {{of `t` while it writes [0, 0][1 x 64, 1 x 64] as bf16}}
penguin.tensor_copy %t[0, 0][1 x 64, 1 x 64] as bf16 <- %t
// expected-error @below {{'penguin.transpose' cannot write `b` in place: 'src' and 'dst' are the same access; write to another tile}}
penguin.transpose %b <- %b {engine = DVE}
// expected-error @below {{'penguin.pool_gather' cannot write `h` in place}}
penguin.pool_gather %h <- %h, %h
// expected-error @below {{'penguin.indirect_copy' reads 'index' [0, 0][1 x 64, 1 x 4] of `w` while it writes [0, 0][1 x 64, 1 x 64]}}
penguin.indirect_copy %w <- %t[0, 0][1 x 64, 1 x 64] as u16, %w[0, 0][1 x 64, 1 x 4] {num_valid_indices = 64}
// near miss: `<- %t` -> `<- %h[0, 0][1 x 64, 1 x 64] as f32`
// expected-error @below {{'penguin.dma_transpose_copy' cannot write `t` in place; write to another tile}}
penguin.dma_transpose_copy %t <- %t {axes = [1, 0]}
// near miss: `y %t` -> `y %h`
// expected-error @below {{source and destination overlap partly in t}}
penguin.dma_copy %t[0, 1][1 x 64, 1 x 63] <- %t[0, 0][1 x 64, 1 x 63]

// -----

// Gathers and shuffles: ranks, masks.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  %t = penguin.alloc : <64x64xf32, sbuf>
  %o = penguin.alloc : <64x32xf32, sbuf>
  %i = penguin.alloc : <64x32xu32, sbuf>
  %w = penguin.alloc : <64x2xu16, sbuf>
  // near miss: `16 x 2, 8 x 2` -> `8 x 4`
  // expected-error @below {{'src' has 5 dimensions, exceed max supported number of dimension: a gather takes 2 to 4}}
  penguin.pool_gather %o <- %t[0, 0][1 x 64, 32 x 2, 16 x 2, 8 x 2, 1 x 8], %i
  // near miss: ` where l0 - l1 >= 0` -> ``
  // expected-error @below {{mask 'l0 - l1 >= 0' does not bound one dimension by itself}}
  penguin.pool_gather %o <- %t, %i where l0 - l1 >= 0
  // near miss: ` where 5 - l1 >= 0` -> ``
  // expected-error @below {{'penguin.stream_shuffle' takes no mask; give it smaller accesses}}
  penguin.stream_shuffle %o <- %t[0, 0][1 x 64, 1 x 32] where 5 - l1 >= 0 {mask = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]}
  // near miss: ` where 5 - l0 >= 0` -> ``
  // expected-error @below {{'penguin.indirect_copy' takes no mask; give it smaller accesses}}
  penguin.indirect_copy %o <- %t, %w where 5 - l0 >= 0 {num_valid_indices = 32}
}

// -----

// Accesses that loop indices move alike are as far apart as they are in each iteration.

%t = penguin.alloc : <64x64xf32, sbuf>
%h = penguin.alloc : <64x64xf32, sbuf>
penguin.for parallel %i = 0 to 3 {
  // near miss: `%i * 16 + 8]` -> `%i * 16 + 16]`
  // expected-error @below {{'penguin.tensor_copy' reads 'src' [0, d0 * 16 + 8][1 x 64, 1 x 16] of `t` while it writes [0, d0 * 16][1 x 64, 1 x 16]: in-place accesses are the same pattern or disjoint; write to another tile}}
  penguin.tensor_copy %t[0, %i * 16][1 x 64, 1 x 16] <- %t[0, %i * 16 + 8][1 x 64, 1 x 16]
  // Legal near misses: the same pattern, another spelling of it, disjoint rows.
  penguin.tensor_copy %t[0, %i * 16][1 x 64, 1 x 16] <- %t[0, %i * 16][1 x 64, 1 x 16]
  penguin.tensor_copy %t[0, %i * 16][1 x 64, 1 x 16] <- %t[0, %i * 16][1 x 64, 4 x 4, 1 x 4]
  penguin.tensor_copy %t[0, %i * 16][1 x 32, 1 x 16] <- %t[32, %i * 16][1 x 32, 1 x 16]
  // near miss: `as i32` -> ``
  // expected-error @below {{in-place accesses are the same pattern or disjoint; write to another tile}}
  penguin.tensor_copy %t[0, %i * 16][1 x 64, 1 x 16] <- %t[0, %i * 16][1 x 64, 1 x 16] as i32
  // near miss: `%i * 16 + 1]` -> `%i * 16 + 16]`
  // expected-error @below {{source and destination overlap partly in t}}
  penguin.dma_copy %t[0, %i * 16][1 x 64, 1 x 16] <- %t[0, %i * 16 + 1][1 x 64, 1 x 16]
  penguin.dma_copy %t[0, %i * 16][1 x 64, 1 x 16] <- %t[0, %i * 16][1 x 64, 4 x 4, 1 x 4]
}

// -----

// A block is left to both sides: 1029 is the sixth element of the second block.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  %t = penguin.alloc blocks 64 : <128x65536xf32, sbuf>
  %b = penguin.alloc : <128x16xf32, sbuf>
  // near miss: `1029` -> `1039`
  // expected-error @below {{access to 'src' (t: f32[128, 16] in sbuf) does not reach one block of 1024 elements}}
  penguin.tensor_copy %b <- %t[0, 1029][1 x 128, -1 x 16]
  penguin.for parallel %i = 1 to 64 {
    // near miss: `+ 14` -> `+ 15`
    // expected-error @below {{does not reach one block of 1024 elements}}
    penguin.tensor_copy %b <- %t[0, %i * 1024 + 14][1 x 128, -1 x 16]
  }
}

// -----

// A bank is left to both sides too, and wherever a loop index begins it.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  %s = penguin.alloc : <128x128xbf16, sbuf>
  %p = penguin.alloc : <128x2048xf32, psum>
  // near miss: `600` -> `640`
  // expected-error @below {{access to 'dst' crosses a PSUM bank: bytes 1892 to 2403 of a partition, banks hold 2048}}
  penguin.matmul %p[0, 600][1 x 128, -1 x 128] <- %s, %s
  penguin.for parallel %i = 0 to 3 {
    // near miss: `+ 400` -> `+ 384`
    // expected-error @below {{access to 'dst' crosses a PSUM bank}}
    penguin.matmul %p[0, %i * 512 + 400][1 x 128, 1 x 128] <- %s, %s
  }
}
