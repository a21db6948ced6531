// RUN: neuron-opt %s --split-input-file --verify-diagnostics

%a = penguin.alloc : <64x8xf32, sbuf>
%n = penguin.alloc : <64x8xu8, sbuf>
%v = penguin.alloc : <64x1xf32, sbuf>
%h = penguin.alloc : <64x1xbf16, sbuf>
// near miss: `, command = AddAccumulate` -> ``
// expected-error @below {{reads the accumulators of engine DVE, which no instruction in front of it has reset; start with reset_reduce or load_reduce}}
penguin.select_reduce %a <- %n, %a {on_false_imm = 0.0, command = AddAccumulate}
// near miss: ` {command = Idle}` -> ``
// expected-error @below {{reads the accumulators of engine Activation, which no instruction in front of it has reset}}
penguin.activation_accumulation Exp %a <- %a, reduce_res = %v {command = Idle}
// near miss: ` {command = LoadAccumulate}` -> ``
// expected-error @below {{command LoadAccumulate (load_reduce) is not supported in 'penguin.activation_accumulation', expected one of Idle (idle), Zero (reset), AddAccumulate (reduce), ZeroAccumulate (reset_reduce)}}
penguin.activation_accumulation Exp %a <- %a {command = LoadAccumulate}
%w = penguin.alloc : <64x512xf32, sbuf>
%o = penguin.alloc : <64x16xf32, sbuf>
// near miss: `%o` -> `%a`
// expected-error @below {{tile shape mismatch, expected '[64, 16]' of 'dst', got [64, 8] for 'src'}}
penguin.tensor_scalar_cache_reduce mult add %o <- %a {imm0 = 1.0}
// near miss: `128 x 2` -> `64 x 2`
// expected-error @below {{access to 'src' has 4 free dimensions, 'penguin.tensor_scalar_cache_reduce' takes at most 3}}
penguin.tensor_scalar_cache_reduce mult add %o <- %w[0, 0][1 x 64, 128 x 2, 32 x 2, 8 x 2, 2 x 2] {imm0 = 1.0}
// near miss: `, command = Accumulate` -> ``
// expected-error @below {{command Accumulate is not supported in 'penguin.tensor_scalar_cache_reduce', expected one of}}
penguin.tensor_scalar_cache_reduce mult add %a <- %a {imm0 = 1.0, command = Accumulate}
// near miss: `, command = LoadAccumulate` -> ``
// expected-error @below {{initial or initial_imm is given with command LoadAccumulate (load_reduce) and only there, got LoadAccumulate (load_reduce)}}
penguin.tensor_scalar_cache_reduce mult add %a <- %a {imm0 = 1.0, command = LoadAccumulate}
// near miss: `, initial_imm = 0.0` -> ``
// expected-error @below {{initial or initial_imm is given with command LoadAccumulate (load_reduce) and only there, got ZeroAccumulate (reset_reduce)}}
penguin.tensor_scalar_cache_reduce mult add %a <- %a {imm0 = 1.0, initial_imm = 0.0}
// near miss: `, initial_imm = 0.0` -> ``
// expected-error @below {{takes at most one of initial and initial_imm}}
penguin.tensor_scalar_cache_reduce mult add %a <- %a, initial = %v {imm0 = 1.0, initial_imm = 0.0, command = LoadAccumulate}
// near miss: `%h` -> `%v`
// expected-error @below {{Unsupported dtype 'bfloat16' of 'initial'}}
penguin.tensor_scalar_cache_reduce mult add %a <- %a, initial = %h {imm0 = 1.0, command = LoadAccumulate}
// near miss: `, negate` -> ``
// expected-error @below {{negate changes the sign of reduce_res: give it}}
penguin.tensor_scalar_cache_reduce mult add %a <- %a {imm0 = 1.0, negate}
// near miss: `, command = Idle` -> ``
// expected-error @below {{reduce_res with command Idle (idle) reads accumulators that the instruction leaves undefined}}
penguin.select_reduce %a <- %n, %a, reduce_res = %v {on_false_imm = 0.0, command = Idle}
// near miss: ` {reduce_op = mult}` -> ``
// expected-error @below {{mult is not supported in 'penguin.activate2_reduce', expected one of add, max, min, abs_max, abs_min}}
penguin.activate2_reduce Abs %a <- %a {reduce_op = mult}

// -----

%a = penguin.alloc : <64x8xf32, sbuf>
%n = penguin.alloc : <64x8xu8, sbuf>
penguin.tensor_scalar_cache_reduce mult add %a <- %a {imm0 = 1.0}
penguin.for sequential %i = 0 to 2 {
  penguin.select_reduce %a <- %n, %a {on_false_imm = 0.0, command = Idle}
}
// near miss: `, command = AddAccumulate` -> ``
// expected-error @below {{'penguin.select_reduce' in front of it leaves undefined: An intermediate DVE instruction with idle invalidates the chain}}
penguin.tensor_scalar_cache_reduce mult add %a <- %a {imm0 = 1.0, command = AddAccumulate}

// -----

// The accumulators of another function are none of this one's.
penguin.func @f() {
  %a = penguin.alloc : <64x8xf32, sbuf>
  penguin.tensor_scalar_cache_reduce mult add %a <- %a {imm0 = 1.0}
  penguin.return
}
penguin.func @g() {
  %a = penguin.alloc : <64x8xf32, sbuf>
  // near miss: `, command = AddAccumulate` -> ``
  // expected-error @below {{which no instruction in front of it has reset}}
  penguin.tensor_scalar_cache_reduce mult add %a <- %a {imm0 = 1.0, command = AddAccumulate}
  penguin.return
}
