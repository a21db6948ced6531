// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// Limits of one descriptor.

%a = penguin.alloc : <300x1000xf32, hbm>
%big = penguin.alloc : <70000x8xf32, hbm>
%t = penguin.alloc : <128x1000xf32, sbuf>
%i = penguin.alloc : <128x1xi32, sbuf>
dma.block @b {
  // near miss: `%a[0, 0][1 x 128, 4 x 10]` -> `%a[0][4000 x 128, 4 x 10]`
  // expected-error @below {{access to a does not fit its space hbm}}
  dma.copy f32 f32 %t[0, 0][1 x 128, 4 x 10] <- %a[0, 0][1 x 128, 4 x 10]
  // near miss: `65536` -> `65535`
  // expected-error @below {{a descriptor dimension has at most 65535 steps of 32 bits, got 65536 steps of 32 bytes for big}}
  dma.copy f32 f32 %big[0][32 x 65536, 4 x 1] <- %big[0][32 x 65536, 4 x 1]
  // near miss: `%t[0, 0][1 x 128, 4 x 10], %i` -> `%a[0][4000 x 128, 4 x 10], %i`
  // expected-error @below {{the indexed side must be rows in hbm}}
  dma.gather f32 f32 %t[0, 0][1 x 128, 4 x 10] <- %t[0, 0][1 x 128, 4 x 10], %i[0, 0][1 x 128, 4 x 1] {max_index = 128}
}
