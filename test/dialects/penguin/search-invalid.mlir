// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// What the 8-wide search refuses.

%a = penguin.alloc : <128x512xf32, sbuf>
%t = penguin.alloc : <128x256xf32, sbuf>
%v = penguin.alloc : <128x8xf32, sbuf>
%u = penguin.alloc : <64x8xf32, sbuf>
%n = penguin.alloc : <128x8xi32, sbuf>
%m = penguin.alloc : <128x8xu32, sbuf>
%f = penguin.alloc : <128x4xf32, sbuf>
%g = penguin.alloc : <128x16392xf32, sbuf>
// near miss: `%f` -> `%a`
// expected-error @below {{'src' has 4 elements per partition, but must be between 8 and 16384}}
penguin.sunda_max8 %v <- %f
// near miss: `%g` -> `%a`
// expected-error @below {{'src' has 16392 elements per partition, but must be between 8 and 16384}}
penguin.sunda_max8 %v <- %g
// near miss: `1 x 2]` -> `2 x 2]`
// expected-error @below {{access to 'dst' has 3 free dimensions, 'penguin.sunda_max8' takes at most 2}}
penguin.sunda_max8 %a[0, 0][1 x 128, 16 x 2, 4 x 2, 1 x 2] <- %t
// near miss: `%f` -> `%v`
// expected-error @below {{'dst' has 4 elements per partition, but must have exactly 8}}
penguin.sunda_max8 %f <- %a
// near miss: `%u` -> `%v`
// expected-error @below {{number of partitions mismatch in parameters (src: 128, dst: 64)}}
penguin.sunda_max8 %u <- %a
// near miss: ` where 3 - l1 >= 0` -> ``
// expected-error @below {{uses lane l1, but the instruction has 1 lanes}}
penguin.sunda_max8 %v <- %a where 3 - l1 >= 0
// near miss: ` where (l0) mod 3 - 1 >= 0` -> ``
// expected-error @below {{mask '(l0) mod 3 - 1 >= 0' does not bound one dimension by itself}}
penguin.sunda_max8 %v <- %a where (l0) mod 3 - 1 >= 0
// near miss: `, %a` -> `, %v`
// expected-error @below {{'values' has 512 elements per partition, but must have exactly 8}}
penguin.sunda_max_index8 %m <- %a, %a
// near miss: `%n` -> `%m`
// expected-error @below {{Unsupported dtype 'int32' of 'dst' in 'penguin.sunda_max_index8', expected one of the following dtypes: uint16, uint32}}
penguin.sunda_max_index8 %n <- %a, %v
// near miss: `imm = 1}` -> `imm = 1.0}`
// expected-error @below {{The replace value for MatchReplace8 must be a float, got 1}}
penguin.sunda_match_replace8 %a <- %a, %v {imm = 1}
// near miss: `%t` -> `%a`
// expected-error @below {{tile shape mismatch, expected '[128, 256]' of 'dst', got [128, 512] for 'src'}}
penguin.sunda_match_replace8 %t <- %a, %v {imm = 1.0}
// near miss: `%n` -> `%m`
// expected-error @below {{Unsupported dtype 'int32' of 'index'}}
penguin.max_index_and_match_replace %a, %n <- %a, %v {imm = 1.0}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  %a = penguin.alloc : <128x512xf32, sbuf>
  %v = penguin.alloc : <128x8xf32, sbuf>
  %m = penguin.alloc : <128x8xu32, sbuf>
  // near miss: `#neuron.target<trn1>` -> `#neuron.target<trn2>`
  // expected-error @below {{'penguin.max_index_and_match_replace' is available on trn2 or later, got trn1}}
  penguin.max_index_and_match_replace %a, %m <- %a, %v {imm = 1.0}
}
