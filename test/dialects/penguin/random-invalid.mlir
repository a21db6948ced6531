// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// What random numbers refuse.

%a = penguin.alloc : <128x512xf32, sbuf>
%h = penguin.alloc : <128x512xbf16, sbuf>
%n = penguin.alloc : <128x512xi32, sbuf>
%v = penguin.alloc : <128x1xf32, sbuf>
%s = penguin.alloc : <128x24xu32, sbuf>
%i = penguin.alloc : <128x24xi32, sbuf>
%p = penguin.alloc : <128x6xu32, sbuf>
%u = penguin.alloc : <64x24xu32, sbuf>
%k = penguin.alloc : <128x512xi64, sbuf>
%w = penguin.alloc : <128x512xi16, sbuf>
%two = penguin.alloc : <1x2xu32, sbuf>
// near miss: `%a` -> `%n`
// expected-error @below {{'dst' of 'penguin.rng' must be an integer tile, got float32}}
penguin.rng %a, %s <- %s
// near miss: `%p` -> `%s`
// expected-error @below {{'state' has 6 elements per partition, but must have exactly 24 (engine = Pool has 6)}}
penguin.rng %n, %s <- %p
// near miss: ` {engine = Pool}` -> ``
// expected-error @below {{'state' has 24 elements per partition, but must have exactly 6 (engine DVE has 24)}}
penguin.rng %n, %s <- %s {engine = Pool}
// near miss: `%i` -> `%s`
// expected-error @below {{Unsupported dtype 'int32' of 'next_state'}}
penguin.rng %n, %i <- %s
// near miss: `%u` -> `%s`
// expected-error @below {{number of partitions mismatch in parameters (dst: 128, state: 64)}}
penguin.rng %n, %s <- %u
// near miss: ` where 3 - l1 >= 0` -> ``
// expected-error @below {{uses lane l1, but the instruction has 1 lanes}}
penguin.rng %n, %s <- %s where 3 - l1 >= 0
// near miss: `%k` -> `%h`
// expected-error @below {{Unsupported dtype 'int64' of 'dst' in 'penguin.rand2', expected one of the following dtypes: float8_e4m3}}
penguin.rand2 %k, %s <- %s
// near miss: ` {low_imm = 1.0}` -> ``
// expected-error @below {{takes at most one of low and low_imm}}
penguin.rand2 %a, %s <- %s, low = %v {low_imm = 1.0}
// near miss: `= %a` -> `= %v`
// expected-error @below {{'high' must hold one element for each of 128 partitions}}
penguin.rand2 %a, %s <- %s, high = %a
// near miss: `= 1.0}` -> `= 1.5}`
// expected-error @below {{rand2 needs min < max for valid range, got min 1.0 and max 1.0}}
penguin.rand2 %a, %s <- %s {low_imm = 1.0, high_imm = 1.0}
// near miss: `%two` -> `%two[0, 0][1 x 1, 1 x 1]`
// expected-error @below {{'src' must hold one seed, got two: u32[1, 2] in sbuf}}
penguin.set_rng_seed %s <- %two
// near miss: `%p <- %p` -> `%p <- %p {engine = Pool}`
// expected-error @below {{'dst' has 6 elements per partition, but must have exactly 24}}
penguin.rand_set_state %p <- %p
// near miss: `%p` -> `%s`
// expected-error @below {{'src' has 6 elements per partition, but must have exactly 24}}
penguin.rand_get_state %s <- %p
// near miss: `%w` -> `%a`
// expected-error @below {{Unsupported dtype 'bfloat16' of 'dst' in 'penguin.dropout_mask', expected one of the following dtypes: int16}}
penguin.dropout_mask %h, %s <- %w, %s {probability_imm = 0.5}
// near miss: `%a, %s <- %a, %s` -> `%a, %s <- %a, %s {probability_imm = 0.5}`
// expected-error @below {{takes exactly one of probability and probability_imm}}
penguin.dropout_mask %a, %s <- %a, %s
// near miss: `8]` -> `512]`
// expected-error @below {{tile shape mismatch}}
penguin.dropout_mask %a, %s <- %a[0, 0][1 x 128, 1 x 8], %s {probability_imm = 0.5}

// near miss: `%p` -> `%s`
// expected-error @below {{'src' has 6 elements per partition, but must have exactly 24}}
penguin.get_rand_state %s <- %p
// near miss: `Uniform` -> `Raw`
// expected-error @below {{Rand gives raw bits only, got distribution Uniform with 0 params; use Rand2 for uniform numbers}}
penguin.rand LFSR %n, %p <- %p {distribution = Uniform}
// near miss: `[0, 1]` -> `[]`
// expected-error @below {{Rand gives raw bits only, got distribution Raw with 2 params}}
penguin.rand LFSR %n, %p <- %p {params = [0, 1]}
// near miss: `= 0` -> `= 1`
// expected-error @below {{'rand_num_steps' must be positive, got 0}}
penguin.rand LFSR %n, %p <- %p {rand_num_steps = 0}
// near miss: `%a` -> `%n`
// expected-error @below {{'dst' of 'penguin.rand' must be an integer tile, got float32}}
penguin.rand PCG32 %a, %p <- %p
// near miss: `%s` -> `%p`
// expected-error @below {{'state' has 24 elements per partition, but must have exactly 6}}
penguin.rand PCG32 %n, %p <- %s
// near miss: `Pool` -> `DVE`
// expected-error @below {{runs on engine Pool, expected one of DVE or Unassigned}}
penguin.rand PCG32 %n, %p <- %p {engine = Pool}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
  %a = penguin.alloc : <128x512xf32, sbuf>
  %s = penguin.alloc : <128x24xu32, sbuf>
  // near miss: `#neuron.target<trn1>` -> `#neuron.target<trn3>`
  // expected-error @below {{'penguin.rand2' is available on trn3 or later, got trn1}}
  penguin.rand2 %a, %s <- %s
  // near miss: `#neuron.target<trn1>` -> `#neuron.target<trn2>`
  // expected-error @below {{'penguin.rand_set_state' is available on trn2 or later, got trn1}}
  penguin.rand_set_state %s <- %s
  // near miss: `#neuron.target<trn1>` -> `#neuron.target<trn2>`
  // expected-error @below {{'penguin.rand_get_state' is available on trn2 or later, got trn1}}
  penguin.rand_get_state %s <- %s
}
