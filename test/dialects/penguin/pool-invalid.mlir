// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// What reductions over partitions and windows refuse.

%a = penguin.alloc : <128x16x16xf32, sbuf>
%r = penguin.alloc : <1x256xf32, sbuf>
%s = penguin.alloc : <2x256xf32, sbuf>
// near miss: `mult` -> `add`
// expected-error @below {{par_reduce does not support operator=mult, expected one of add, average, max, bitwise_and, bitwise_or}}
penguin.partition_reduce mult %r <- %a
// near miss: `bitwise_and` -> `add`
// expected-error @below {{Unsupported dtype 'float32' of 'dst' in a bitwise operation, expected one of the following dtypes: uint8, int8, uint16}}
penguin.partition_reduce bitwise_and %r <- %a
// near miss: `%s` -> `%r`
// expected-error @below {{tile shape mismatch, expected '[1, 256]' for 'dst', got [2, 256]}}
penguin.partition_reduce add %s <- %a
// near miss: ` {engine = DVE}` -> ``
// expected-error @below {{runs on engine DVE, expected one of Pool or Unassigned}}
penguin.partition_reduce add %r <- %a {engine = DVE}
// near miss: ` where 3 - l0 >= 0` -> ``
// expected-error @below {{'penguin.partition_reduce' takes no mask; give it smaller accesses}}
penguin.partition_reduce add %r <- %a where 3 - l0 >= 0
// near miss: `min %a <- %a` -> `max %a[0, 0][1 x 128, 1 x 1] <- %a`
// expected-error @below {{Unrecognized PoolFunctionType min, expected max or average}}
penguin.pool min %a <- %a
// near miss: `max %s <- %s` -> `max %a[0, 0][1 x 128, 1 x 1] <- %a`
// expected-error @below {{Input AP dimension should be larger than num_dims, which is 2}}
penguin.pool max %s <- %s
// near miss: `%a <- %a` -> `%a[0, 0][1 x 128, 1 x 1] <- %a`
// expected-error @below {{tile shape mismatch, expected '[128, 1]' for 'dst', got [128, 16, 16]}}
penguin.pool max %a <- %a
