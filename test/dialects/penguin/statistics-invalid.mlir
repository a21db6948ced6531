// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// What batch normalisation refuses.

%x = penguin.alloc : <128x513xf32, sbuf>
%t = penguin.alloc : <128x512xf32, sbuf>
%b = penguin.alloc : <128x512xbf16, sbuf>
%s = penguin.alloc : <128x6xf32, sbuf>
%u = penguin.alloc : <64x6xf32, sbuf>
%m = penguin.alloc : <128x2xf32, sbuf>
%g = penguin.alloc : <128x3xf32, sbuf>
%h = penguin.alloc : <128x1xbf16, sbuf>
%v = penguin.alloc : <128x1xf32, sbuf>
// near miss: `%x` -> `%t`
// expected-error @below {{'src' has 513 elements per partition, but must be between 1 and 512; take the statistics of blocks and merge them}}
penguin.sunda_bn_stats %s <- %x
// near miss: `%m` -> `%s`
// expected-error @below {{'dst' has 2 elements per partition, but must have exactly 6}}
penguin.sunda_bn_stats %m <- %t
// near miss: `%u` -> `%s`
// expected-error @below {{number of partitions mismatch in parameters (src: 128, dst: 64)}}
penguin.sunda_bn_stats %u <- %t
// near miss: `- %m` -> `- %x`
// expected-error @below {{free size must be a multiple of 3, got 2 elements per partition of 'src'}}
penguin.sunda_bn_aggr %m <- %m
// near miss: `%g` -> `%m`
// expected-error @below {{'dst' has 3 elements per partition, but must have exactly 2}}
penguin.sunda_bn_aggr %g <- %s
// near miss: `%t` -> `%m`
// expected-error @below {{'dy' has 2 elements per partition, but must have exactly 512}}
penguin.bn_gradients %g <- %t, %m, %v, %v
// near miss: `%h` -> `%v`
// expected-error @below {{Unsupported dtype 'bfloat16' of 'factor' in 'penguin.bn_gradients', expected one of the following dtypes: float32}}
penguin.bn_gradients %g <- %t, %t, %v, %h
// near miss: `%t,` -> `%b,`
// expected-error @below {{Unsupported dtype 'bfloat16' of 'dy' in 'penguin.bn_backprop', expected one of the following dtypes: float32}}
penguin.bn_backprop %t <- %t, %b, %v, %g {total_elements = 512.0}
// near miss: `%m` -> `%g`
// expected-error @below {{'coefficients' has 2 elements per partition, but must have exactly 3}}
penguin.bn_backprop %t <- %t, %t, %v, %m {total_elements = 512.0}
// near miss: `%t` -> `%x`
// expected-error @below {{tile shape mismatch, expected '[128, 512]' of 'dst', got [128, 513] for 'src'}}
penguin.bn_backprop %t <- %x, %x, %v, %g {total_elements = 512.0}
// near miss: `%g` -> `%v`
// expected-error @below {{'offset' has 3 elements per partition, but must have exactly 1}}
penguin.bn_backprop2 %t <- %t, %t, %v, %g, %m {total_elements = 512.0}
// near miss: `%g` -> `%m`
// expected-error @below {{'slopes' has 3 elements per partition, but must have exactly 2}}
penguin.bn_backprop2 %t <- %t, %t, %v, %v, %g {total_elements = 512.0}
// near miss: `%h` -> `%v`
// expected-error @below {{Unsupported dtype 'bfloat16' of 'offset' in 'penguin.bn_backprop2', expected one of the following dtypes: float32}}
penguin.bn_backprop2 %t <- %t, %t, %v, %h, %m {total_elements = 512.0}
// near miss: `Activation` -> `Pool`
// expected-error @below {{runs on engine Activation, expected one of DVE, Pool or Unassigned}}
penguin.bn_backprop2 %t <- %t, %t, %v, %v, %m {total_elements = 512.0, engine = Activation}
// near miss: `%x` -> `%t`
// expected-error @below {{tile shape mismatch, expected '[128, 512]' of 'dst', got [128, 513] for 'src'}}
penguin.bn_backprop2 %t <- %x, %x, %v, %v, %m {total_elements = 512.0}
