// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// Shapes and spaces that an instruction does not take, each next to one that it takes.

%a = penguin.alloc : <128x32xf32, sbuf>
%b = penguin.alloc : <128x64xf32, sbuf>
%n = penguin.alloc : <128x32xu8, sbuf>
%m = penguin.alloc : <128x64xu8, sbuf>
%c = penguin.alloc : <128x32xbf16, sbuf>
%v = penguin.alloc : <128x1xf32, sbuf>
// near miss: `%b` -> `%a`
// expected-error @below {{tile shape mismatch, expected '[128, 32]' of 'dst', got [128, 64] for 'src'}}
penguin.activation Exp %a <- %b
// near miss: `%b` -> `%a`
// expected-error @below {{tile shape mismatch, expected '[128, 32]' of 'dst', got [128, 64] for 'src'}}
penguin.reciprocal %a <- %b
// near miss: `%m` -> `%n`
// expected-error @below {{tile shape mismatch, expected '[128, 32]' of 'dst', got [128, 64] for 'predicate'}}
penguin.tensor_copy_predicated %a <- %m {imm = 0.0}
// near miss: `%m` -> `%n`
// expected-error @below {{tile shape mismatch, expected '[128, 32]' of 'dst', got [128, 64] for 'predicate'}}
penguin.tensor_select %a <- %m {true_imm = 0.0, false_imm = 1.0}
// near miss: `%b` -> `%a`
// expected-error @below {{tile shape mismatch, expected '[128, 32]' of 'dst', got [128, 64] for 'src'}}
penguin.tensor_scalar_cache_cumulative add add %a <- %b {imm0 = 1.0}

// -----

%a = penguin.alloc : <128x32xf32, sbuf>
%few = penguin.alloc : <128x7xf32, sbuf>
%v = penguin.alloc : <128x8xf32, sbuf>
%w = penguin.alloc : <128x9xf32, sbuf>
%i = penguin.alloc : <128x8xu32, sbuf>
// near miss: `%few` -> `%a`
// expected-error @below {{'src' has 7 elements per partition, but must be between 8 and 16384}}
penguin.sunda_max_index8 %i <- %few, %v
// near miss: `%few` -> `%a`
// expected-error @below {{'src' has 7 elements per partition, but must be between 8 and 16384}}
penguin.sunda_match_replace8 %a <- %few, %v {imm = 0.0}
// near miss: `%w` -> `%v`
// expected-error @below {{'values' has 9 elements per partition, but must have exactly 8}}
penguin.sunda_match_replace8 %a <- %a, %w {imm = 0.0}

// -----

%s = penguin.alloc : <1x16xi16, sbuf>
%t = penguin.alloc : <1x16xi32, sbuf>
%b = penguin.alloc : <1x2x16xi32, sbuf>
// near miss: `%s` -> `%t`
// expected-error @below {{Unsupported dtype 'int16' of 'src' in 'penguin.get_sequence_bounds'}}
penguin.get_sequence_bounds %b <- %s

// -----

%d = penguin.alloc : <64x40xu32, sbuf>
%f = penguin.alloc : <64x40xf32, sbuf>
%s = penguin.alloc : <64x24xu32, sbuf>
%six = penguin.alloc : <64x6xu32, sbuf>
%one = penguin.alloc : <1x1xu32, sbuf>
// near miss: `%six` -> `%s`
// expected-error @below {{'state' has 6 elements per partition, but must have exactly 24 (engine = Pool has 6)}}
penguin.rand2 %f, %s <- %six
// near miss: `%six` -> `%s`
// expected-error @below {{'dst' has 6 elements per partition, but must have exactly 24 (engine = Pool has 6)}}
penguin.set_rng_seed %six <- %one
// near miss: `%six` -> `%s`
// expected-error @below {{'state' has 6 elements per partition, but must have exactly 24 (engine = Pool has 6)}}
penguin.dropout_mask %f, %s <- %f, %six {probability_imm = 0.5}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
%w = penguin.alloc : <128x128xbf16, sbuf>
%x = penguin.alloc : <128x256xbf16, sbuf>
%q = penguin.alloc : <128x256xf32, psum>
// near miss: `l1 - l2` -> `2 - l1`
// expected-error @below {{couples the stationary and the moving operand; mask one operand, or copy the result under the mask}}
penguin.matmul %q <- %w, %x where l1 - l2 >= 0
// near miss: `l1 - l2` -> `l0 - l2`
// expected-error @below {{couples the stationary and the moving operand; mask one operand, or copy the result under the mask}}
penguin.matmul %q <- %w, %x where l1 - l2 - 1 >= 0
}

// -----

%t = penguin.alloc : <64x30xbf16, sbuf>
%few = penguin.alloc : <32x30xbf16, sbuf>
%all = penguin.alloc : <64x30xbf16, sbuf>
%i = penguin.alloc : <64x30xu32, sbuf>
%p = penguin.alloc : <64x4xi32, psum>
%s = penguin.alloc : <64x4xi32, sbuf>
// near miss: `%few` -> `%all`
// expected-error @below {{number of partitions mismatch in parameters (dst: 64, src: 32)}}
penguin.pool_gather %t <- %few, %i
// near miss: `%p` -> `%s`
// expected-error @below {{InstTensorLoad/InstTensorSave cannot read psum; copy to sbuf first}}
%r = penguin.load_tensor_to_register %p[0, 0][1 x 1, 1 x 1]

// -----

%y = penguin.alloc : <8x7xf32, sbuf>
// near miss: `1 x 3] as u64` -> `1 x 7]`
// expected-error @below {{access to y sees u64 (8 bytes), which does not divide 28 bytes}}
penguin.memset %y[0, 0][1 x 8, 1 x 3] as u64 {value = 0}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn3>} {
%w = penguin.alloc : <32x130xf8e4m3fn_x4, sbuf>
%x = penguin.alloc : <32x16xf8e4m3fn_x4, sbuf>
%s = penguin.alloc : <4x130xu8, sbuf>
%t = penguin.alloc : <4x16xu8, sbuf>
%p = penguin.alloc : <128x16xf32, psum>
// near miss: `1 x 130` -> `1 x 128`
// expected-error @below {{size of dimension 1 in 'stationary' of 'penguin.matmul_mx' exceed architecture limitation of 128}}
penguin.matmul_mx %p <- %w[0, 0][1 x 32, 1 x 130], %x, %s[0, 0][1 x 4, 1 x 130], %t
}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
%a = penguin.alloc : <32x16xi32, sbuf>
%f = penguin.alloc : <32x16xf32, sbuf>
%p = penguin.alloc : <16x32xf32, psum>
// near miss: `%a` -> `%f`
// expected-error @below {{the tensor engine of gen2 transposes by multiplying with an identity, which it cannot do with int32; use the vector engine}}
penguin.transpose %p <- %a {engine = PE}
}

// -----

%w = penguin.alloc : <32x64xbf16, sbuf>
%d = penguin.alloc : <32x4x128xbf16, sbuf>
%t = penguin.alloc : <32x16xu16, sbuf>
%q = penguin.alloc : <64x128xf32, psum>
%p = penguin.alloc : <64x128xbf16, psum>
// near miss: `%p <- %w, %d, %t {compress_ratio = 4, is_transpose}` -> `%q <- %w, %d, %t {compress_ratio = 4}`
// expected-error @below {{a sparse matmul cannot be combined with is_transpose}}
penguin.matmul_sparse %p <- %w, %d, %t {compress_ratio = 4, is_transpose}

// -----

%h = penguin.alloc : <64x8xf32, hbm>
%t = penguin.alloc : <64x8xf32, sbuf>
// near miss: `engine = PE` -> `engine = SP`
// expected-error @below {{InstDMA cannot be on PE engine}}
penguin.dma_copy %t <- %h {dge = hwdge, engine = PE}
// near miss: `{engine = SP}` -> `{dge = hwdge, engine = SP}`
// expected-error @below {{dma_copy engine can only be specified when HWDGE mode is used, got engine SP and dge unassigned}}
penguin.dma_copy %t <- %h {engine = SP}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn3>} {
%x = penguin.alloc : <32x32xbf16, sbuf>
%q = penguin.alloc : <32x8xf8e4m3fn_x4, sbuf>
%s = penguin.alloc : <128x8xu8, sbuf>
// near miss: `%s[16, 0]` -> `%s[12, 0]`
// expected-error @below {{'scale' must start in the first 16 partitions of a quadrant, got partition 16}}
penguin.quantize_mx %q, %s[16, 0][1 x 4, 1 x 8] <- %x
}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
%a = penguin.alloc : <128x8xf32, sbuf>
%b = penguin.alloc : <128x8xf32, sbuf>
%c = penguin.alloc : <128x7xf32, sbuf>
// near miss: `%a[96, 0]` -> `%a[64, 0]`
// expected-error @below {{access to 'src' (a: f32[8, 8] in sbuf)}}
penguin.stream_shuffle %b[0, 0][1 x 40, 1 x 8] <- %a[96, 0][1 x 8, 1 x 8] {mask = [255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}
// near miss: `%a[0, 1]` -> `%a[0, 4]`
// expected-error @below {{in-place}}
penguin.stream_shuffle %a[0, 0][1 x 64, 1 x 4] <- %a[0, 1][1 x 64, 1 x 4] {mask = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]}
// near miss: `%c` -> `%a`
// expected-error @below {{tile shape mismatch, expected '[128, 8]' of 'dst', got [128, 7] for 'src'}}
penguin.stream_shuffle %b <- %c {mask = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]}
}
