// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// What a DMA queue cannot execute.

%a = penguin.alloc : <300x1000xf32, hbm>
%t = penguin.alloc : <128x1000xf32, sbuf>
%i = penguin.alloc : <128x1xi32, sbuf>
dma.block @b {
  // expected-error @below {{a descriptor states the access of each side}}
  dma.copy f32 f32 %t <- %a[0][4000 x 128, 4 x 1000]
  // expected-error @below {{Out-of-bound access for tensor `t` on dimension 0 index range [1, 128] exceed dimension size of 128}}
  dma.copy f32 f32 %t[1, 0][1 x 128, 4 x 1000] <- %a[0][4000 x 128, 4 x 1000]
  // expected-error @below {{Out-of-bound access for tensor `a` on dimension 1 (bytes) index range [800000, 1311999] exceed dimension size of 1200000}}
  dma.copy f32 f32 %t[0, 0][1 x 128, 4 x 1000] <- %a[800000][4000 x 128, 4 x 1000]
  // expected-error @below {{must be 4 bytes aligned for data type of 4 bytes.}}
  dma.copy f32 f32 %t[0, 0][1 x 128, 4 x 10] <- %a[2][4000 x 128, 4 x 10]
  // near miss: `4 x 9` -> `4 x 10`
  // expected-error @below {{DMA instruction must read and write same number of elements, got 1280 and 1152}}
  dma.copy f32 f32 %t[0, 0][1 x 128, 4 x 10] <- %a[0][4000 x 128, 4 x 9]
  // expected-error @below {{a descriptor side has one contiguous run of at most 65536 bytes and 2 strided dimensions, got a run of 4 bytes and 3 dimensions for t}}
  dma.copy f32 f32 %t[0, 0][1 x 128, 80 x 10, 8 x 10] <- %a[0][4000 x 128, 4 x 100]
  // near miss: `max` -> `add`
  // expected-error @below {{DMADescriptorCCE does not support max in instruction dma.cce}}
  dma.cce f32 f32 %t[0, 0][1 x 128, 4 x 10] <- %a[0][4000 x 128, 4 x 10] {op = max}
  // expected-error @below {{128 rows take as many indices, got 64}}
  dma.gather f32 f32 %t[0, 0][1 x 128, 4 x 10] <- %a[0][4000 x 128, 4 x 10], %i[0, 0][1 x 64, 4 x 1] {max_index = 300}
  // expected-error @below {{Out-of-bound access for tensor `a` on dimension 1 (bytes) index range [0, 1200039] exceed dimension size of 1200000}}
  dma.gather f32 f32 %t[0, 0][1 x 128, 4 x 10] <- %a[0][4000 x 128, 4 x 10], %i[0, 0][1 x 128, 4 x 1] {max_index = 301}
  // expected-error @below {{DynamicAPINFO::IndirectDimMaxIndex must be > 0, got 0}}
  dma.gather f32 f32 %t[0, 0][1 x 128, 4 x 10] <- %a[0][4000 x 128, 4 x 10], %i[0, 0][1 x 128, 4 x 1] {max_index = 0}
  // near miss: `op = max` -> `op = add`
  // expected-error @below {{Invalid AluOpType 'max' for DGE_COMPUTE_OP. Must be 'bypass' or 'add'}}
  dma.scatter f32 f32 %a[0][4000 x 128, 4 x 10] <- %t[0, 0][1 x 128, 4 x 10], %i[0, 0][1 x 128, 4 x 1] {max_index = 300, op = max}
}

// -----

%t = penguin.alloc : <128x8xf32, sbuf>
// expected-error @below {{a dma.block holds descriptors, got penguin.memset}}
dma.block @b {
  penguin.memset %t {value = 0.0}
}

// -----

%a = penguin.alloc : <300x1000xf32, hbm>
%t = penguin.alloc : <128x1000xf32, sbuf>
penguin.for parallel %i = 0 to 3 {
  dma.block @b {
    // expected-error @below {{DMA descriptor cannot have dynamic AP}}
    dma.copy f32 f32 %t[0, 0][1 x 128, 4 x 10] <- %a[%i * 4][4000 x 128, 4 x 10]
  }
}

// -----

%a = penguin.alloc : <128x64xbf16, hbm>
%t = penguin.alloc : <64x128xbf16, sbuf>
dma.block @b {
  // near miss: `%t[0, 0][1 x 64, 2 x 128] <- %a[0][128 x 128, 2 x 64] {axes = [1, 0]}` -> `%t[0, 0][1 x 64, 0 x 1, 0 x 1, 2 x 128] <- %a[0][128 x 128, 0 x 1, 0 x 1, 2 x 64] {axes = [3, 1, 2, 0]}`
  // expected-error @below {{Source and destination access pattern must be 4-D, got [128, 64] and [64, 128] with axes [1, 0]}}
  dma.transpose bf16 bf16 %t[0, 0][1 x 64, 2 x 128] <- %a[0][128 x 128, 2 x 64] {axes = [1, 0]}
  // near miss: `[1 x 32, 0 x 2,` -> `[1 x 64, 0 x 1,`
  // expected-error @below {{DMA transpose outer dimensions are not transposed. [128, 64] (in) -> [32, 128] (out)}}
  dma.transpose bf16 bf16 %t[0, 0][1 x 32, 0 x 2, 0 x 1, 2 x 128] <- %a[0][128 x 128, 0 x 1, 0 x 1, 2 x 64] {axes = [3, 1, 2, 0]}
  // near miss: `bf16 u16` -> `bf16 bf16`
  // expected-error @below {{DMA transpose input and output should have the same type, but it has in Dtype::uint16 out Dtype::bfloat16}}
  dma.transpose bf16 u16 %t[0, 0][1 x 64, 0 x 1, 0 x 1, 2 x 128] <- %a[0][128 x 128, 0 x 1, 0 x 1, 2 x 64] {axes = [3, 1, 2, 0]}
}
