// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// What selections refuse.

%a = penguin.alloc : <128x512xf32, sbuf>
%n = penguin.alloc : <128x512xi32, sbuf>
%t = penguin.alloc : <128x256xf32, sbuf>
%v = penguin.alloc : <128x1xf32, sbuf>
%h = penguin.alloc : <128x1xbf16, sbuf>
%p = penguin.alloc : <128x512xf32, psum>
%u = penguin.alloc : <128x512xu8, sbuf>
%r = penguin.alloc : <128x512xi16, psum>
// near miss: `add` -> `is_equal`
// expected-error @below {{add is not supported in 'penguin.aff_sel_tensor_scalar', expected one of is_equal, not_equal, is_gt, is_ge, is_lt, is_le}}
penguin.aff_sel_tensor_scalar add %a <- %a {value = l0, fill = 0.0}
// near miss: `%p` -> `%a`
// expected-error @below {{Expected operand 'src' of 'penguin.aff_sel_tensor_scalar' to be in address space 'sbuf', but got a psum instead.}}
penguin.aff_sel_tensor_scalar is_ge %a <- %p {value = l0, fill = 0.0}
// near miss: `2147483648` -> `2147483647`
// expected-error @below {{the offset and the steps of 'penguin.aff_sel_tensor_scalar' must be int32, got 2147483648}}
penguin.aff_sel_tensor_scalar is_ge %a <- %a {value = l0 + 2147483648, fill = 0.0}
// near miss: `value = l2` -> `value = l1`
// expected-error @below {{uses lane l2, but the instruction has 2 lanes}}
penguin.aff_sel_tensor_scalar is_ge %a <- %a {value = l2, fill = 0.0}
// near miss: `%a` -> `%t`
// expected-error @below {{tile shape mismatch, expected '[128, 512]' of 'dst', got [128, 256] for 'src'}}
penguin.aff_sel_tensor_scalar is_ge %a <- %t {value = l0, fill = 0.0}
// near miss: `not_equal` -> `is_equal`
// expected-error @below {{not_equal is not supported in 'penguin.range_select', expected one of is_equal, is_gt, is_ge, is_lt, is_le}}
penguin.range_select is_ge not_equal %a <- %a, %v, %v
// near miss: `%h` -> `%v`
// expected-error @below {{Unsupported dtype 'bfloat16' of 'bound1' in 'penguin.range_select', expected one of the following dtypes: float32}}
penguin.range_select is_ge is_lt %a <- %a, %v, %h
// near miss: `, %a` -> `, %v`
// expected-error @below {{'bound0' must hold one element for each of 128 partitions}}
penguin.range_select is_ge is_lt %a <- %a, %a, %v
// near miss: `%n` -> `%a`
// expected-error @below {{'src' of 'penguin.range_select' must be floating point, got int32}}
penguin.range_select is_ge is_lt %a <- %n, %v, %v
// near miss: ` {range_start = 16777000}` -> ``
// expected-error @below {{columns 16777000 to 16777511 must be between 0 and 16777215}}
penguin.range_select is_ge is_lt %a <- %a, %v, %v {range_start = 16777000}
// near miss: `%a` -> `%t`
// expected-error @below {{tile shape mismatch}}
penguin.range_select is_ge is_lt %a <- %t, %v, %v
// near miss: ` {reduce_op = min}` -> ``
// expected-error @below {{min is not supported in 'penguin.range_select_reduce', expected one of max}}
penguin.range_select_reduce is_ge is_lt %a <- %a, %v, %v, reduce_res = %v {reduce_op = min}
// near miss: `- %a` -> `- %u`
// expected-error @below {{`predicate` must be a boolean or integer tile, got float32}}
penguin.select_reduce %a <- %a, %a, reduce_res = %v {on_false_imm = 0.0}
// near miss: `- %n` -> `- %u`
// expected-error @below {{Unsupported dtype 'int32' of 'predicate' in 'penguin.select_reduce', expected one of the following dtypes: uint8, int8, uint16, int16}}
penguin.select_reduce %a <- %n, %a, reduce_res = %v {on_false_imm = 0.0}
// near miss: `, %n` -> `, %a`
// expected-error @below {{Unsupported dtype 'int32' of 'on_true' in 'penguin.select_reduce', which computes in float32}}
penguin.select_reduce %a <- %u, %n, reduce_res = %v {on_false_imm = 0.0}
// near miss: `= %a` -> `= %v`
// expected-error @below {{on_false's free dimension should be 1 (a vector), got [128, 512]}}
penguin.select_reduce %a <- %u, %a, reduce_res = %v, on_false = %a
// near miss: `reduce_res` -> `on_false`
// expected-error @below {{takes exactly one of on_false and on_false_imm}}
penguin.select_reduce %a <- %u, %a, reduce_res = %v
// near miss: `%r` -> `%u`
// expected-error @below {{both inputs cannot be PSUM (on_true and predicate)}}
penguin.select_reduce %a <- %r, %p, reduce_res = %v {on_false_imm = 0.0}
// near miss: `, reduce_op = add` -> ``
// expected-error @below {{add is not supported in 'penguin.select_reduce', expected one of max}}
penguin.select_reduce %a <- %u, %a, reduce_res = %v {on_false_imm = 0.0, reduce_op = add}
// near miss: `%t` -> `%a`
// expected-error @below {{tile shape mismatch}}
penguin.select_reduce %a <- %u, %t, reduce_res = %v {on_false_imm = 0.0}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  %a = penguin.alloc : <128x512xf32, sbuf>
  %v = penguin.alloc : <128x1xf32, sbuf>
  // near miss: `#neuron.target<trn1>` -> `#neuron.target<trn2>`
  // expected-error @below {{'penguin.range_select' is available on trn2 or later, got trn1}}
  penguin.range_select is_ge is_lt %a <- %a, %v, %v
  // near miss: `#neuron.target<trn1>` -> `#neuron.target<trn2>`
  // expected-error @below {{curArchLevel >= min.value(): RangeSelect needs level 30, trn1 is 20}}
  bir.range_select @I0 is_ge is_lt %a <- %a, %v, %v
}
