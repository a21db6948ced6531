// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// What exponentials and activations with two stages refuse.

%a = penguin.alloc : <128x512xf32, sbuf>
%t = penguin.alloc : <128x256xf32, sbuf>
%v = penguin.alloc : <128x1xf32, sbuf>
%h = penguin.alloc : <128x1xbf16, sbuf>
%i = penguin.alloc : <128x1xi8, sbuf>
%u = penguin.alloc : <128x512xu32, sbuf>
%w = penguin.alloc : <128x512xtf32, sbuf>
// near miss: `%u <- %a` -> `%a <- %u`
// expected-error @below {{Unsupported dtype 'uint32' of 'dst' in 'penguin.exponential'}}
penguin.exponential %u <- %a
// near miss: `%a <- %w` -> `%w <- %a`
// expected-error @below {{Unsupported dtype 'tfloat32' of 'src' in 'penguin.exponential'}}
penguin.exponential %a <- %w
// near miss: ` {max_value_imm = 1.0}` -> ``
// expected-error @below {{takes at most one of max_value and max_value_imm}}
penguin.exponential %a <- %a, max_value = %v {max_value_imm = 1.0}
// near miss: `%h` -> `%v`
// expected-error @below {{Unsupported dtype 'bfloat16' of 'max_value' in 'penguin.exponential', expected one of the following dtypes: float32}}
penguin.exponential %a <- %a, max_value = %h
// near miss: `%a` -> `%t`
// expected-error @below {{tile shape mismatch}}
penguin.exponential %a <- %t
// near miss: `%t` -> `%v`
// expected-error @below {{'reduce_res' must hold one element for each of 128 partitions}}
penguin.exponential_reduce %a <- %a, reduce_res = %t
// near miss: ` where l0 - l1 >= 0` -> ``
// expected-error @below {{mask 'l0 - l1 >= 0' does not bound one dimension by itself}}
penguin.exponential_reduce %a <- %a, reduce_res = %v where l0 - l1 >= 0
// near miss: `op1 = add, imm1 = 1.0` -> `op0 = add, imm0 = 1.0`
// expected-error @below {{op1 needs op0}}
penguin.activate2 Exp %a <- %a {op1 = add, imm1 = 1.0}
// near miss: ` {op0 = add}` -> ``
// expected-error @below {{op0 takes exactly one of scalar0 and imm0, and they need it}}
penguin.activate2 Exp %a <- %a {op0 = add}
// near miss: ` {imm0 = 1.0}` -> ``
// expected-error @below {{op0 takes exactly one of scalar0 and imm0, and they need it}}
penguin.activate2 Exp %a <- %a {imm0 = 1.0}
// near miss: ` {reverse0}` -> ``
// expected-error @below {{reverse0 needs op0}}
penguin.activate2 Exp %a <- %a {reverse0}
// near miss: `bitwise_or` -> `add`
// expected-error @below {{bitwise_or is not supported in 'penguin.activate2', expected an arithmetic operation}}
penguin.activate2 Exp %a <- %a {op0 = bitwise_or, imm0 = 1}
// near miss: `op1 = mult` -> `op1 = subtract`
// expected-error @below {{(op0, op1) = (mult, mult) is not supported in 'penguin.activate2', expected one of (mult, add), (mult, subtract), (mult, bypass)}}
penguin.activate2 Exp %a <- %a {op0 = mult, imm0 = 1.0, op1 = mult, imm1 = 1.0}
// near miss: `%v` -> `%h`
// expected-error @below {{scalar0 and scalar1 must have the same dtype, got float32 and bfloat16}}
penguin.activate2 Exp %a <- %a, scalar0 = %v, scalar1 = %h {op0 = mult, op1 = add}
// near miss: ` {alpha = 0.5}` -> ``
// expected-error @below {{alpha is used only by Prelu, got Exp}}
penguin.activate2 Exp %a <- %a {alpha = 0.5}
// near miss: `slope = %t` -> `slope = %h`
// expected-error @below {{'slope' must hold one element for each of 128 partitions}}
penguin.activate2 Prelu %a <- %a, slope = %t
// near miss: ` {alpha = 0.5}` -> ``
// expected-error @below {{takes at most one of slope and alpha}}
penguin.activate2 Prelu %a <- %a, slope = %v {alpha = 0.5}
// near miss: `%i` -> `%h`
// expected-error @below {{Unsupported dtype 'int8' of 'reduce_res' in 'penguin.exponential_reduce', expected one of the following dtypes: float8_e4m3, float8_e5m2, float16}}
penguin.exponential_reduce %a <- %a, reduce_res = %i
// near miss: `%a` -> `%t`
// expected-error @below {{tile shape mismatch}}
penguin.activate2 Exp %a <- %t
// near miss: ` {engine = DVE}` -> ``
// expected-error @below {{runs on engine DVE, expected one of Activation, Pool or Unassigned}}
penguin.activate2 Exp %a <- %a {engine = DVE}
// near miss: ` {engine = Pool}` -> ``
// expected-error @below {{runs on engine Pool, expected one of Activation or Unassigned}}
penguin.activate2_reduce Exp %a <- %a {engine = Pool}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  %a = penguin.alloc : <128x512xf32, sbuf>
  // near miss: `#neuron.target<trn2>` -> `#neuron.target<trn3>`
  // expected-error @below {{'penguin.exponential' is available on trn3 or later, got trn2}}
  penguin.exponential %a <- %a
  // near miss: `#neuron.target<trn2>` -> `#neuron.target<trn3>`
  // expected-error @below {{'penguin.activate2' is available on trn3 or later, got trn2}}
  penguin.activate2 Exp %a <- %a
  // near miss: `#neuron.target<trn2>` -> `#neuron.target<trn3>`
  // expected-error @below {{curArchLevel >= min.value(): Exponential needs level 40, trn2 is 30}}
  bir.exponential @I0 %a <- %a
}
