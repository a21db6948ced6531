// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// What the tensor engine's array refuses, and its accumulators.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // expected-error @below {{PSUM tensor overflow: each of 2 blocks of a tensor of shape (128, 2, 4097) and type float32 needs 16388 bytes in a partition, trn2 has 16384; use smaller tiles}}
  %a = penguin.alloc blocks 2 : <128x2x4097xf32, psum>
  // near miss: `blocks 3` -> `blocks 2`
  // expected-error @below {{3 blocks do not divide the 1024 elements that (128, 2, 512) has in a partition}}
  %b = penguin.alloc blocks 3 : <128x2x512xf32, psum>
  // expected-error @below {{0 blocks do not divide the 1024 elements}}
  %c = penguin.alloc blocks 0 : <128x2x512xf32, psum>
  // expected-error @below {{only a tensor on chip has blocks, got one in hbm}}
  %d = penguin.alloc blocks 2 : <128x2x512xf32, hbm>
  %e = penguin.alloc blocks 64 : <128x64x512xf32, psum>
}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  %w = penguin.alloc : <64x64xbf16, sbuf>
  %x = penguin.alloc : <64x512xbf16, sbuf>
  %acc = penguin.alloc : <64x512xf32, psum>
  // near miss: ` {tile_size = [64, 64]}` -> ``
  // expected-error @below {{nc_matmul tile_position and tile_size must be both set or not set. Got no tile_row, tile_column}}
  penguin.matmul %acc <- %w, %x {tile_size = [64, 64]}
  // expected-error @below {{nc_matmul tile_position and tile_size must be both set or not set. Got no tile_size}}
  penguin.matmul %acc <- %w, %x {tile_row = 0, tile_column = 0}
  // near miss: `96` -> `64`
  // expected-error @below {{tile_size [64, 96] is not supported on trn2: rows and columns of the array are split into 32, 64, 128}}
  penguin.matmul %acc <- %w, %x {tile_row = 0, tile_column = 0, tile_size = [64, 96]}
  // expected-error @below {{tile_size [64] is not supported on trn2}}
  penguin.matmul %acc <- %w, %x {tile_row = 0, tile_column = 0, tile_size = [64]}
  // near miss: `32` -> `64`
  // expected-error @below {{tile_position row 32 is not supported: a tile of 64 rows starts at 0, 64}}
  penguin.matmul %acc <- %w, %x {tile_row = 32, tile_column = 0, tile_size = [64, 64]}
  // near miss: `128` -> `64`
  // expected-error @below {{tile_position column 128 is not supported: a tile of 64 columns starts at 0, 64}}
  penguin.matmul %acc <- %w, %x {tile_row = 64, tile_column = 128, tile_size = [64, 64]}
  // near miss: `32` -> `64`
  // expected-error @below {{'stationary' takes 64 rows and 64 columns of the array, more than tile_size [32, 64]; use a larger tile}}
  penguin.matmul %acc <- %w, %x {tile_row = 0, tile_column = 0, tile_size = [32, 64]}
  // near miss: `32` -> `64`
  // expected-error @below {{'stationary' takes 64 rows and 64 columns of the array, more than tile_size [64, 32]; use a larger tile}}
  penguin.matmul %acc <- %w, %x {tile_row = 0, tile_column = 0, tile_size = [64, 32]}
  penguin.for parallel %k = 0 to 3 {
    // near miss: ` 64,` -> ` 0,`
    // expected-error @below {{tile_position row 128 is not supported: a tile of 64 rows starts at 0, 64}}
    penguin.matmul %acc <- %w, %x {tile_row = %k * 64, tile_column = 0, tile_size = [64, 64]}
    penguin.matmul %acc <- %w, %x {tile_row = %k floordiv 2 * 64, tile_column = 64, tile_size = [64, 64]}
  }
}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  %w = penguin.alloc : <32x32xbf16, sbuf>
  %acc = penguin.alloc : <32x32xf32, psum>
  %f = penguin.alloc : <32x2x32xf8e4m3, sbuf>
  %d = penguin.alloc : <32x4x32xbf16, sbuf>
  %tags = penguin.alloc : <32x8xu16, sbuf>
  // near miss: `#neuron.target<trn1>` -> `#neuron.target<trn2>`
  // expected-error @below {{tile_size [32, 32] is not supported on trn1: rows and columns of the array are split into 64, 128}}
  penguin.matmul %acc <- %w, %w {tile_row = 0, tile_column = 0, tile_size = [32, 32]}
  penguin.matmul %acc <- %w, %w {tile_row = 64, tile_column = 0, tile_size = [64, 128]}
  // near miss: `#neuron.target<trn1>` -> `#neuron.target<trn2>`
  // expected-error @below {{perf_mode=`double_row_gen3` is not supported on trn1}}
  penguin.matmul %acc <- %f, %f {perf_mode = DoubleRow}
  // near miss: ` {perf_mode = DoublePixel}` -> ``
  // expected-error @below {{perf_mode=`DoublePixel` is not supported on trn1}}
  penguin.matmul %acc <- %w, %w {perf_mode = DoublePixel}
  // near miss: `#neuron.target<trn1>` -> `#neuron.target<trn2>`
  // expected-error @below {{'penguin.matmul_sparse' is available on trn2 or later, got trn1}}
  penguin.matmul_sparse %acc <- %w, %d, %tags {compress_ratio = 4}
}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  %b = penguin.alloc : <64x2x64xbf16, sbuf>
  %f = penguin.alloc : <64x2x64xf8e4m3, sbuf>
  %g = penguin.alloc : <64x2x512xf8e5m2, sbuf>
  %t = penguin.alloc : <64x3x512xf8e5m2, sbuf>
  %l = penguin.alloc : <64x64x2xf8e4m3, sbuf>
  %fn = penguin.alloc : <64x2x64xf8e4m3fn, sbuf>
  %fp = penguin.alloc : <64x64xf8e4m3, psum>
  %p = penguin.alloc : <64x64xf32, psum>
  %acc = penguin.alloc : <64x512xf32, psum>
  // near miss: `%b` -> `%f`
  // expected-error @below {{The double_row matmult only support fp8e4m3 and fp8e5m2, got bfloat16 for 'stationary'}}
  penguin.matmul %acc <- %b, %g {perf_mode = DoubleRow}
  // near miss: `%t` -> `%g`
  // expected-error @below {{first F dim of LHS and RHS of the double_row matmult must be 2: 'moving' is [64, 3, 512], expected [K, 2, free]}}
  penguin.matmul %acc <- %f, %t {perf_mode = DoubleRow}
  // near miss: `%l` -> `%f`
  // expected-error @below {{first F dim of LHS and RHS of the double_row matmult must be 2: 'stationary' is [64, 64, 2], expected [K, 2, free]}}
  penguin.matmul %acc <- %l, %g {perf_mode = DoubleRow}
  // near miss: `%f` -> `%l`
  // expected-error @below {{The last dimension of double_row matmult must have size of 2: 'stationary' is [64, 2, 64], expected [K, M, 2]}}
  penguin.matmul %acc <- %f, %g {perf_mode = DoubleRowSwInterleave}
  // near miss: `[64, 64]` -> `[64, 128]`
  // expected-error @below {{double_row cannot be combined with column tiling, got tile_size [64, 64]; use all 128 columns}}
  penguin.matmul %acc <- %f, %g {perf_mode = DoubleRow, tile_row = 0, tile_column = 0, tile_size = [64, 64]}
  // near miss: `%fp <- %f, %f {perf_mode = DoubleRow, is_transpose}` -> `%acc <- %f, %g {perf_mode = DoubleRow}`
  // expected-error @below {{double_row cannot be combined with is_transpose}}
  penguin.matmul %fp <- %f, %f {perf_mode = DoubleRow, is_transpose}
  // near miss: `%p` -> `%acc`
  // expected-error @below {{tile shape mismatch, expected '[64, 512]' (stationary free, moving free) for 'dst', got [64, 64]}}
  penguin.matmul %p <- %f, %g {perf_mode = DoubleRow}
  // near miss: `%fn` -> `%f`
  // expected-error @below {{'stationary' of float8_e4m3fn is not supported on trn2, whose array multiplies float8_e4m3}}
  penguin.matmul %acc <- %fn, %g {perf_mode = DoubleRow}
}

// -----

%f = penguin.alloc : <64x64xf8e4m3, sbuf>
%fn = penguin.alloc : <64x64xf8e4m3fn, sbuf>
%h = penguin.alloc : <64x64xbf16, sbuf>
%e = penguin.alloc : <64x64xf16, sbuf>
%u = penguin.alloc : <64x64xu8, sbuf>
%l = penguin.alloc : <64x64xi64, sbuf>
%p = penguin.alloc : <64x64xf32, psum>
%b = penguin.alloc : <64x64xbf16, psum>
// near miss: `%f,` -> `%fn,`
// expected-error @below {{float8_e4m3 and float8_e4m3fn cannot be mixed in one matmul; cast one of the operands}}
penguin.matmul %p <- %f, %fn
penguin.matmul %p <- %fn, %fn
// near miss: ` {is_transpose}` -> ``
// expected-error @below {{'nc_matmul' transpose mode only supports matching input dtypes, got bfloat16 and float16}}
penguin.matmul %b <- %h, %e {is_transpose}
// expected-error @below {{Unsupported dtype 'int64' of 'stationary': the array moves single elements of at most 4 bytes}}
penguin.matmul %b <- %l, %l {is_transpose}
// near miss: `is_transpose, ` -> ``
// expected-error @below {{a matmul in transpose mode moves bits and does not accumulate}}
penguin.matmul %b <- %h, %h {is_transpose, accumulate = accumulate}
// near miss: `is_transpose, ` -> ``
// expected-error @below {{a matmul in transpose mode has no stationary_quant_offset}}
penguin.matmul %b <- %h, %h {is_transpose, stationary_quant_offset = 3}
// near miss: ` {moving_quant_offset = 256}` -> ``
// expected-error @below {{'moving_quant_offset' is a zero point from 0 to 255, got 256}}
penguin.matmul %p <- %u, %u {moving_quant_offset = 256}
penguin.matmul %p <- %u, %u {moving_quant_offset = 255}

// -----

%w = penguin.alloc : <64x64xbf16, sbuf>
%s = penguin.alloc : <64x64xf32, sbuf>
%r = penguin.alloc : <64x64xtf32, sbuf>
%d = penguin.alloc : <64x4x512xbf16, sbuf>
%o = penguin.alloc : <64x4x511xbf16, sbuf>
%q = penguin.alloc : <64x4x512xf32, sbuf>
%t = penguin.alloc : <64x16xu16, sbuf>
%i = penguin.alloc : <64x16xi16, sbuf>
%z = penguin.alloc : <64x16xu16, psum>
%acc = penguin.alloc : <64x512xf32, psum>
%odd = penguin.alloc : <64x511xf32, psum>
// near miss: `%i` -> `%t`
// expected-error @below {{Unsupported dtype 'int16' of 'tags' in 'penguin.matmul_sparse', expected one of the following dtypes: uint16}}
penguin.matmul_sparse %acc <- %w, %d, %i {compress_ratio = 4}
// near miss: `%z` -> `%t`
// expected-error @below {{Expected operand 'tags' of 'penguin.matmul_sparse' to be in address space 'sbuf', but got a psum instead.}}
penguin.matmul_sparse %acc <- %w, %d, %z {compress_ratio = 4}
// near miss: `%s` -> `%r`
// expected-error @below {{'stationary' of a sparse matmul is float32r where it has 4 bytes, got float32; see it as tfloat32}}
penguin.matmul_sparse %acc <- %s, %q, %t {compress_ratio = 4}
penguin.matmul_sparse %acc <- %r, %q, %t {compress_ratio = 4}
// near miss: `5` -> `4`
// expected-error @below {{compress_ratio 5 is not supported, expected one of 1, 2, 3, 4: 4 tags of 4 bits choose among 16 dense positions}}
penguin.matmul_sparse %acc <- %w, %d, %t {compress_ratio = 5}
// near miss: `32` -> `64`
// expected-error @below {{LHS, RHS and TAG should has the same number of contract dim! Got 64, 64 and 32 partitions}}
penguin.matmul_sparse %acc <- %w, %d, %t[0, 0][1 x 32, 1 x 16] {compress_ratio = 4}
// expected-error @below {{rows of a sparse matmul come in groups of 4, got 30 partitions; pad them}}
penguin.matmul_sparse %acc <- %w[0, 0][1 x 30, 1 x 64], %d[0, 0][1 x 30, 512 x 4, 1 x 512], %t[0, 0][1 x 30, 1 x 16] {compress_ratio = 4}
// near miss: `2` -> `4`
// expected-error @below {{Indices mismatch! 'moving' is [64, 4, 512], expected [K, 2, N] for a compress_ratio of 2}}
penguin.matmul_sparse %acc <- %w, %d, %t {compress_ratio = 2}
// near miss: `8` -> `16`
// expected-error @below {{Indices mismatch! 'tags' has 8 words of 4 tags for 64 elements of 'stationary'}}
penguin.matmul_sparse %acc <- %w, %d, %t[0, 0][1 x 64, 1 x 8] {compress_ratio = 4}
// near miss: `%odd <- %w, %o` -> `%acc <- %w, %d`
// expected-error @below {{'dst' of a sparse matmul has an even number of elements per partition, got 511; pad the moving operand}}
penguin.matmul_sparse %odd <- %w, %o, %t {compress_ratio = 4}
// near miss: `[64, 64]` -> `[64, 128]`
// expected-error @below {{matmult_sparse cannot work with column tiling, got tile_size [64, 64]}}
penguin.matmul_sparse %acc <- %w, %d, %t {compress_ratio = 4, tile_row = 0, tile_column = 0, tile_size = [64, 64]}
// near miss: `, perf_mode = DoublePixel` -> ``
// expected-error @below {{a sparse matmul has no perf_mode, got DoublePixel}}
penguin.matmul_sparse %acc <- %w, %d, %t {compress_ratio = 4, perf_mode = DoublePixel}
// near miss: ` where 31 - l0 >= 0` -> ``
// expected-error @below {{'penguin.matmul_sparse' takes no mask}}
penguin.matmul_sparse %acc <- %w, %d, %t where 31 - l0 >= 0 {compress_ratio = 4}
penguin.matmul_sparse %acc <- %w, %d, %t {compress_ratio = 4}
