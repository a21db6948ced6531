// RUN: neuron-opt %s --split-input-file --verify-diagnostics

%a = penguin.alloc : <64x8xf32, sbuf>
%b = penguin.alloc : <32x8xf32, sbuf>
%c = penguin.alloc : <64x8x2xf32, sbuf>
%d = penguin.alloc : <48x8xf32, sbuf>
%n = penguin.alloc : <64x8xi32, sbuf>
%p = penguin.alloc : <64x8xf32, psum>
// near miss: `const1 = 2.0` -> `op1 = max, const1 = 2.0`
// expected-error @below {{const1 and reverse1 belong to op1, which is bypass: a single stage}}
penguin.tensor_scalar add %a <- %a {const0 = 1.0, const1 = 2.0}
// near miss: `reverse1` -> `reverse0`
// expected-error @below {{const1 and reverse1 belong to op1, which is bypass: a single stage}}
penguin.tensor_scalar add %a <- %a {const0 = 1.0, reverse1}
// near miss: `add` -> `bitwise_and`
// expected-error @below {{op0=add and op1=bitwise_or must be both bitvec or both arithmetic operators.}}
penguin.tensor_scalar add %n <- %n {const0 = 1, op1 = bitwise_or, const1 = 1}
// near miss: `%a` -> `%n`
// expected-error @below {{Unsupported dtype 'float32' of 'dst' in a bitwise operation}}
penguin.tensor_scalar bitwise_or %a <- %n {const0 = 1}
// near miss: `1.5` -> `1`
// expected-error @below {{bitvec op is not valid: const0 is 1.5, expected an integer}}
penguin.tensor_scalar bitwise_or %n <- %n {const0 = 1.5}
// near miss: `%b` -> `%a`
// expected-error @below {{number of partitions mismatch in parameters (dst: 64, src: 32)}}
penguin.tensor_scalar add %a <- %b {const0 = 1.0}
// near miss: `PE` -> `DVE`
// expected-error @below {{runs on engine PE, expected one of DVE or Unassigned}}
penguin.tensor_scalar add %a <- %a {const0 = 1.0, engine = PE}
// near miss: `%d` -> `%b`
// expected-error @below {{replicates [48, 8] a whole number of times, which does not give [64, 8]}}
penguin.neuron_replicate_ap %a <- %d
// near miss: `%c` -> `%b`
// expected-error @below {{replicates 2-D accesses, got [64, 8, 2] and [64, 8]}}
penguin.neuron_replicate_ap %a <- %c
// near miss: `1 x 4` -> `1 x 8`
// expected-error @below {{replicates [32, 4] a whole number of times, which does not give [64, 8]}}
penguin.neuron_replicate_ap %a <- %b[0, 0][1 x 32, 1 x 4]
// near miss: ` where 3 - l0 >= 0` -> ``
// expected-error @below {{'penguin.neuron_replicate_ap' takes no mask; give it smaller accesses}}
penguin.neuron_replicate_ap %a <- %b where 3 - l0 >= 0
// near miss: `%p` -> `%a`
// expected-error @below {{to be in address space 'hbm or sbuf', but got a psum instead.}}
penguin.neuron_replicate_ap %p <- %b
// near miss: `- %a[0, 0]` -> `- %b[0, 0]`
// expected-error @below {{source and destination overlap partly in a}}
penguin.neuron_replicate_ap %a <- %a[0, 0][1 x 32, 1 x 8]

// -----

bir.func @f {
  %a = bir.location @a : <64x8xf32, sbuf>
  %b = bir.location @b : <64x8xf32, sbuf>
  dma.block @B {
    // near miss: `1 x 24` -> `1 x 16`
    // expected-error @below {{replicates 2-D rows a whole number of times, got [24, 8] and [64, 8]}}
    dma.replicate f32 f32 %a[0, 0][1 x 64, 4 x 8] <- %b[0, 0][1 x 24, 4 x 8]
  }
}
