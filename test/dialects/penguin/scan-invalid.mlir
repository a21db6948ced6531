// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// What scans and row reductions refuse.

%a = penguin.alloc : <128x512xf32, sbuf>
%n = penguin.alloc : <128x512xi32, sbuf>
%t = penguin.alloc : <128x256xf32, sbuf>
%v = penguin.alloc : <128x1xf32, sbuf>
%h = penguin.alloc : <128x1xbf16, sbuf>
%p = penguin.alloc : <128x512xf32, psum>
// near miss: `bitwise_or` -> `add`
// expected-error @below {{bitwise_or is not supported in 'penguin.tensor_tensor_scan', expected an arithmetic operation}}
penguin.tensor_tensor_scan bitwise_or add %a <- %a, %a {initial_imm = 0.0}
// near miss: `%a <- %a, %a` -> `%a <- %a, %a {initial_imm = 0.0}`
// expected-error @below {{takes exactly one of initial and initial_imm}}
penguin.tensor_tensor_scan mult add %a <- %a, %a
// near miss: ` {initial_imm = 0.0}` -> ``
// expected-error @below {{takes exactly one of initial and initial_imm}}
penguin.tensor_tensor_scan mult add %a <- %a, %a, initial = %v {initial_imm = 0.0}
// near miss: `%t` -> `%v`
// expected-error @below {{'initial' must hold one element for each of 128 partitions}}
penguin.tensor_tensor_scan mult add %a <- %a, %a, initial = %t
// near miss: `%p,` -> `%a,`
// expected-error @below {{both inputs cannot be PSUM (data0 and data1); copy one to SBUF}}
penguin.tensor_tensor_scan mult add %a <- %p, %p {initial_imm = 0.0}
// near miss: `%t` -> `%a`
// expected-error @below {{tile shape mismatch, expected '[128, 512]' of 'dst', got [128, 256] for 'data1'}}
penguin.tensor_tensor_scan mult add %a <- %a, %t {initial_imm = 0.0}
// near miss: `%t` -> `%a`
// expected-error @below {{tile shape mismatch, expected '[128, 512]' of 'dst', got [128, 256] for 'src'}}
penguin.tensor_scalar_cache_reduce mult add %a <- %t {imm0 = 1.0}
// near miss: ` where l0 - l1 >= 0` -> ``
// expected-error @below {{mask 'l0 - l1 >= 0' does not bound one dimension by itself}}
penguin.tensor_tensor_scan mult add %a <- %a, %a where l0 - l1 >= 0 {initial_imm = 0.0}
// near miss: `, engine = Activation` -> ``
// expected-error @below {{runs on engine Activation, expected one of DVE or Unassigned}}
penguin.tensor_tensor_scan mult add %a <- %a, %a {initial_imm = 0.0, engine = Activation}

// -----

%a = penguin.alloc : <128x512xf32, sbuf>
%n = penguin.alloc : <128x512xi32, sbuf>
%v = penguin.alloc : <128x1xf32, sbuf>
%h = penguin.alloc : <128x1xbf16, sbuf>
// near miss: `divide` -> `add`
// expected-error @below {{divide is not supported in 'penguin.tensor_scalar_cache_cumulative', expected one of add, subtract, mult, max, min}}
penguin.tensor_scalar_cache_cumulative add divide %a <- %a {imm0 = 1.0}
// near miss: `%a <- %a` -> `%a <- %a {imm0 = 1.0}`
// expected-error @below {{takes exactly one of scalar0 and imm0}}
penguin.tensor_scalar_cache_cumulative add add %a <- %a
// near miss: `%h` -> `%v`
// expected-error @below {{Unsupported dtype 'bfloat16' of 'scalar0' in 'penguin.tensor_scalar_cache_cumulative', expected one of the following dtypes: float32}}
penguin.tensor_scalar_cache_cumulative add add %a <- %a, scalar0 = %h
// near miss: `initial_imm = 0.0` -> `command = LoadAccumulate`
// expected-error @below {{takes at most one of initial and initial_imm}}
penguin.tensor_scalar_cache_cumulative add add %a <- %a, initial = %v {imm0 = 1.0, initial_imm = 0.0}
// near miss: `%h` -> `%v`
// expected-error @below {{Unsupported dtype 'bfloat16' of 'accumulator'}}
penguin.tensor_scalar_cache_cumulative add add %a <- %a, accumulator = %h {imm0 = 1.0}
// near miss: `%n` -> `%a`
// expected-error @below {{Unsupported dtype 'int32' of 'src'}}
penguin.tensor_scalar_cache_cumulative add add %a <- %n {imm0 = 1.0}

// -----

%a = penguin.alloc : <128x512xf32, sbuf>
%t = penguin.alloc : <128x256xf32, sbuf>
%v = penguin.alloc : <128x1xf32, sbuf>
%h = penguin.alloc : <128x1xbf16, sbuf>
%p = penguin.alloc : <128x512xf32, psum>
// near miss: `bitwise_and` -> `add`
// expected-error @below {{bitwise_and is not supported in 'penguin.scalar_tensor_tensor'}}
penguin.scalar_tensor_tensor mult bitwise_and %a <- %a, %a {imm0 = 1.0}
// near miss: ` {imm0 = 1.0}` -> ``
// expected-error @below {{takes exactly one of scalar0 and imm0}}
penguin.scalar_tensor_tensor mult add %a <- %a, %a, scalar0 = %v {imm0 = 1.0}
// near miss: `%p,` -> `%a,`
// expected-error @below {{both inputs cannot be PSUM (src and other)}}
penguin.scalar_tensor_tensor mult add %a <- %p, %p {imm0 = 1.0}
// near miss: `%t` -> `%a`
// expected-error @below {{tile shape mismatch}}
penguin.scalar_tensor_tensor mult add %a <- %a, %t {imm0 = 1.0}
// near miss: `divide` -> `add`
// expected-error @below {{divide is not supported in 'penguin.tensor_scalar_cache_reduce', expected one of add, subtract, mult, max, min}}
penguin.tensor_scalar_cache_reduce mult divide %a <- %a, reduce_res = %v {imm0 = 1.0}
// near miss: `reduce_res` -> `scalar0`
// expected-error @below {{takes exactly one of scalar0 and imm0}}
penguin.tensor_scalar_cache_reduce mult add %a <- %a, reduce_res = %v
// near miss: `%a ` -> `%p `
// expected-error @below {{outputs 'dst' and 'reduce_res' overlap in `a`; write to two tiles}}
penguin.tensor_scalar_cache_reduce mult add %a <- %a, reduce_res = %a[0, 511][1 x 128, 1 x 1] {imm0 = 1.0}
penguin.tensor_scalar_cache_reduce mult add %a[0, 0][1 x 128, 1 x 511] <- %p[0, 0][1 x 128, 1 x 511], reduce_res = %a[0, 511][1 x 128, 1 x 1] {imm0 = 1.0}
// near miss: ` {reduce_op = max}` -> ``
// expected-error @below {{reduce_op max is not supported in 'penguin.activation_accumulation', expected add}}
penguin.activation_accumulation Exp %a <- %a, reduce_res = %v {reduce_op = max}
// near miss: `%t` -> `%v`
// expected-error @below {{'reduce_res' must hold one element for each of 128 partitions}}
penguin.activation_accumulation Exp %a <- %a, reduce_res = %t
// near miss: `%h` -> `%v`
// expected-error @below {{'scale' param of 'penguin.activation_accumulation' must be a scalar or vector of type float32, got 'bfloat16'}}
penguin.activation_accumulation Exp %a <- %a, reduce_res = %v, scale = %h
// near miss: ` {alpha = 0.5}` -> ``
// expected-error @below {{alpha is used only by Prelu, got Exp}}
penguin.activation Exp %a <- %a {alpha = 0.5}

// -----

// Outputs that a loop index moves alike.

%a = penguin.alloc : <128x512xf32, sbuf>
%s = penguin.alloc : <128x8xf32, sbuf>
penguin.for parallel %i = 0 to 8 {
  // near miss: `+ 7]` -> `+ 8]`
  // expected-error @below {{outputs 'dst' and 'reduce_res' overlap in `a`; write to two tiles}}
  penguin.tensor_scalar_cache_reduce mult add %a[0, %i * 16][1 x 128, 1 x 8] <- %s, reduce_res = %a[0, %i * 16 + 7][1 x 128, 1 x 1] {imm0 = 1.0}
}
