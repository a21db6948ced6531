// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// What instructions that produce indices refuse.

%a = penguin.alloc : <128x64xf32, sbuf>
%h = penguin.alloc : <128x64xbf16, sbuf>
%p = penguin.alloc : <128x64xf32, psum>
%n = penguin.alloc : <128x65xi32, sbuf>
%m = penguin.alloc : <128x64xi32, sbuf>
%u = penguin.alloc : <128x65xu32, sbuf>
%c = penguin.alloc : <128x5x13xi32, sbuf>
%b = penguin.alloc : <1x2x64xi32, sbuf>
%s = penguin.alloc : <1x64xi32, sbuf>
// near miss: `%h` -> `%a`
// expected-error @below {{Unsupported dtype 'bfloat16' of 'src' in 'penguin.nonzero_with_count', expected one of the following dtypes: float32, int32}}
penguin.nonzero_with_count %n <- %h
// near miss: `%u` -> `%n`
// expected-error @below {{Unsupported dtype 'uint32' of 'dst'}}
penguin.nonzero_with_count %u <- %a
// near miss: `%p` -> `%a`
// expected-error @below {{Expected operand 'src' of 'penguin.nonzero_with_count' to be in address space 'sbuf'}}
penguin.nonzero_with_count %n <- %p
// near miss: `%m` -> `%n`
// expected-error @below {{'dst' has 64 elements per partition, but must have exactly 65}}
penguin.nonzero_with_count %m <- %a
// near miss: `%c` -> `%n`
// expected-error @below {{'dst' must have one free dimension, got [128, 5, 13]}}
penguin.nonzero_with_count %c <- %a
// near miss: ` {index_offset = 2147483648}` -> ``
// expected-error @below {{indexOffset must be int32, got 2147483648}}
penguin.nonzero_with_count %n <- %a {index_offset = 2147483648}
// near miss: ` where 3 - l0 >= 0` -> ``
// expected-error @below {{'penguin.nonzero_with_count' takes no mask}}
penguin.nonzero_with_count %n <- %a where 3 - l0 >= 0
// near miss: `%a` -> `%s`
// expected-error @below {{'src' must have partition size 1, got 128}}
penguin.get_sequence_bounds %b <- %a
// near miss: `%s ` -> `%b `
// expected-error @below {{'dst' has 64 elements per partition, but must have exactly 128}}
penguin.get_sequence_bounds %s <- %s

// -----

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  %a = penguin.alloc : <128x64xf32, sbuf>
  %n = penguin.alloc : <128x65xi32, sbuf>
  %b = penguin.alloc : <1x2x64xi32, sbuf>
  %s = penguin.alloc : <1x64xi32, sbuf>
  // near miss: `#neuron.target<trn1>` -> `#neuron.target<trn2>`
  // expected-error @below {{'penguin.nonzero_with_count' is available on trn2 or later, got trn1}}
  penguin.nonzero_with_count %n <- %a
  // near miss: `#neuron.target<trn1>` -> `#neuron.target<trn2>`
  // expected-error @below {{'penguin.get_sequence_bounds' is available on trn2 or later, got trn1}}
  penguin.get_sequence_bounds %b <- %s
}
