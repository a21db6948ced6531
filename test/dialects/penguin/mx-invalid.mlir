// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// What microscaling refuses.

%x = penguin.alloc : <128x512xbf16, sbuf>
%o = penguin.alloc : <128x510xbf16, sbuf>
%f = penguin.alloc : <128x512xf32, sbuf>
%q = penguin.alloc : <128x128xf8e4m3fn_x4, sbuf>
%w = penguin.alloc : <128x128xf4e2m1fn_x4, sbuf>
%s = penguin.alloc : <128x128xu8, sbuf>
%n = penguin.alloc : <128x128xi32, sbuf>
%p = penguin.alloc : <128x512xbf16, psum>
// near miss: `%f` -> `%x`
// expected-error @below {{Unsupported dtype 'float32' of 'src' in 'penguin.quantize_mx', expected one of the following dtypes: bfloat16, float16}}
penguin.quantize_mx %q, %s <- %f
// near miss: `%w` -> `%q`
// expected-error @below {{Unsupported dtype 'float4_e2m1fn_x4' of 'dst' in 'penguin.quantize_mx', expected one of the following dtypes: float8_e4m3fn_x4, float8_e5m2_x4}}
penguin.quantize_mx %w, %s <- %x
// near miss: `%n` -> `%s`
// expected-error @below {{Unsupported dtype 'int32' of 'scale'}}
penguin.quantize_mx %q, %n <- %x
// near miss: `%p` -> `%x`
// expected-error @below {{Expected operand 'src' of 'penguin.quantize_mx' to be in address space 'sbuf', but got a psum instead.}}
penguin.quantize_mx %q, %s <- %p
// near miss: `1 x 40` -> `1 x 32`
// expected-error @below {{quantize_mx src must have 32-multiple partition dimension size. Got 40}}
penguin.quantize_mx %q[0, 0][1 x 40, 1 x 128], %s[0, 0][1 x 40, 1 x 128] <- %x[0, 0][1 x 40, 1 x 512]
// near miss: `%o` -> `%x`
// expected-error @below {{quantize_mx src must have the last free dimension size to be multiple of 4. Got 510}}
penguin.quantize_mx %q, %s <- %o
// near miss: `100` -> `128`
// expected-error @below {{quantize_mx dst must access F // 4 elements per partition for src with F elements, got 100 for 512}}
penguin.quantize_mx %q[0, 0][1 x 128, 1 x 100], %s <- %x
// near miss: `64` -> `16`
// expected-error @below {{'scale' has 64 partitions, expected 16, one for each row of blocks, or 100 to 128, with row i at (i & 3) + 32 * (i >> 2)}}
penguin.quantize_mx %q, %s[0, 0][1 x 64, 1 x 128] <- %x
// near miss: `64` -> `128`
// expected-error @below {{'scale' has 64 elements per partition, but must have exactly 128}}
penguin.quantize_mx %q, %s[0, 0][1 x 128, 1 x 64] <- %x
// near miss: ` where 31 - l0 >= 0` -> ``
// expected-error @below {{'penguin.quantize_mx' takes no mask}}
penguin.quantize_mx %q, %s <- %x where 31 - l0 >= 0

// -----

%x = penguin.alloc : <128x512xbf16, sbuf>
%w = penguin.alloc : <128x64xf8e4m3fn_x4, sbuf>
%odd = penguin.alloc : <128x63xf8e4m3fn_x4, sbuf>
%m = penguin.alloc : <128x128xf8e5m2_x4, sbuf>
%s = penguin.alloc : <128x128xu8, sbuf>
%t = penguin.alloc : <128x64xu8, sbuf>
%i = penguin.alloc : <128x64xi32, sbuf>
%acc = penguin.alloc : <64x128xf32, psum>
%out = penguin.alloc : <64x128xf32, sbuf>
%half = penguin.alloc : <64x128xf16, psum>
// near miss: `%out` -> `%acc`
// expected-error @below {{Result buffer of matmult must be psum!}}
penguin.matmul_mx %out <- %w, %m, %t, %s
// near miss: `%x` -> `%m`
// expected-error @below {{Unsupported dtype 'bfloat16' of 'moving' in 'penguin.matmul_mx', expected one of the following dtypes: float8_e4m3fn_x4, float8_e5m2_x4, float4_e2m1fn_x4}}
penguin.matmul_mx %acc <- %w, %x[0, 0][1 x 128, 1 x 128], %t, %s
// near miss: `%s,` -> `%t,`
// expected-error @below {{nc_matmul_mx stationary_scale must access same elements per partition as stationary, got 128 and 64}}
penguin.matmul_mx %acc <- %w, %m, %s, %s
// near miss: `%i` -> `%t`
// expected-error @below {{Unsupported dtype 'int32' of 'stationary_scale' in 'penguin.matmul_mx', expected one of the following dtypes: uint8, float8_e8m0fnu}}
penguin.matmul_mx %acc <- %w, %m, %i, %s
// expected-error @below {{'stationary_scale' must start in the first 16 partitions of a quadrant, got partition 16}}
penguin.matmul_mx %acc <- %w[0, 0][1 x 32, 1 x 64], %m[0, 0][1 x 32, 1 x 128], %t[16, 0][1 x 4, 1 x 64], %s[0, 0][1 x 4, 1 x 128]
// expected-error @below {{'moving_scale' must start at a multiple of 4 partitions, got 2}}
penguin.matmul_mx %acc <- %w[0, 0][1 x 32, 1 x 64], %m[0, 0][1 x 32, 1 x 128], %t[0, 0][1 x 4, 1 x 64], %s[2, 0][1 x 4, 1 x 128]
// near miss: `m[0` -> `m[32`
// expected-error @below {{'moving' and 'moving_scale' must start in the same 32-partition quadrant, got partitions 0 and 32}}
penguin.matmul_mx %acc <- %w[0, 0][1 x 32, 1 x 64], %m[0, 0][1 x 32, 1 x 128], %t[0, 0][1 x 4, 1 x 64], %s[32, 0][1 x 4, 1 x 128]
// near miss: `%acc[0, 0][1 x 63, 1 x 128] <- %odd, %m, %t[0, 0][1 x 128, 1 x 63]` -> `%acc <- %w, %m, %t`
// expected-error @below {{nc_matmul_mx stationary must have an even number of packed (x4) elements per partition. Got 63}}
penguin.matmul_mx %acc[0, 0][1 x 63, 1 x 128] <- %odd, %m, %t[0, 0][1 x 128, 1 x 63], %s
// near miss: `1 x 96` -> `1 x 64`
// expected-error @below {{nc_matmul_mx stationary/moving must access 32/64/128 partitions. Got 96}}
penguin.matmul_mx %acc <- %w[0, 0][1 x 96, 1 x 64], %m[0, 0][1 x 96, 1 x 128], %t[0, 0][1 x 96, 1 x 64], %s[0, 0][1 x 96, 1 x 128]
// near miss: `64` -> `128`
// expected-error @below {{number of partitions mismatch in parameters (stationary: 128, moving: 64)}}
penguin.matmul_mx %acc <- %w, %m[0, 0][1 x 64, 1 x 128], %t, %s
// near miss: `100` -> `128`
// expected-error @below {{tile shape mismatch, expected '[64, 128]' (stationary free, moving free) for 'dst', got [64, 100]}}
penguin.matmul_mx %acc[0, 0][1 x 64, 1 x 100] <- %w, %m, %t, %s
// near miss: `64` -> `128`
// expected-error @below {{nc_matmul_mx does not support column PE tiling, got column 0 and tile_size [128, 64]; use column 0 and all 128 columns}}
penguin.matmul_mx %acc <- %w, %m, %t, %s {tile_row = 0, tile_column = 0, tile_size = [128, 64]}
// near miss: `tile_row = 64, tile_column = 0, tile_size = [64, 128]` -> `tile_row = 64, tile_column = 0, tile_size = [32, 128]`
// expected-error @below {{nc_matmul_mx accesses 32 partitions in a tile of 64 rows; they must be as many}}
penguin.matmul_mx %acc <- %w[0, 0][1 x 32, 1 x 64], %m[0, 0][1 x 32, 1 x 128], %t[0, 0][1 x 4, 1 x 64], %s[0, 0][1 x 4, 1 x 128] {tile_row = 64, tile_column = 0, tile_size = [64, 128]}
// near miss: ` {replication_shift_amnt = 1}` -> ``
// expected-error @below {{'penguin.matmul_mx' has a replication_shift_amnt of 0, got 1}}
penguin.matmul_mx %acc <- %w, %m, %t, %s {replication_shift_amnt = 1}
// near miss: `%half` -> `%acc`
// expected-error @below {{PSUM tensor for non-transpose writes must be a 4-byte dtype (FP32/int32), got float16}}
penguin.matmul_mx %half <- %w, %m, %t, %s
// near miss: ` where 31 - l0 >= 0` -> ``
// expected-error @below {{'penguin.matmul_mx' takes no mask}}
penguin.matmul_mx %acc <- %w, %m, %t, %s where 31 - l0 >= 0

// -----

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  %x = penguin.alloc : <32x32xbf16, sbuf>
  %q = penguin.alloc : <32x8xf8e4m3fn_x4, sbuf>
  %s = penguin.alloc : <4x8xu8, sbuf>
  %acc = penguin.alloc : <8x8xf32, psum>
  // near miss: `#neuron.target<trn2>` -> `#neuron.target<trn3>`
  // expected-error @below {{'penguin.quantize_mx' is available on trn3 or later, got trn2}}
  penguin.quantize_mx %q, %s <- %x
  // near miss: `#neuron.target<trn2>` -> `#neuron.target<trn3>`
  // expected-error @below {{'penguin.matmul_mx' is available on trn3 or later, got trn2}}
  penguin.matmul_mx %acc <- %q, %q, %s, %s
  // near miss: `#neuron.target<trn2>` -> `#neuron.target<trn3>`
  // expected-error @below {{curArchLevel >= min.value(): MatmultMx needs level 40, trn2 is 30}}
  bir.matmult_mx @I0 %acc <- %q, %q, %s, %s
}
