// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// Engines and accesses that the generators of descriptors do not have.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  bir.func @engines {
    bir.queue @q {engine = Activation}
    %a = bir.location @a : <300x64xf32, hbm>
    %t = bir.location @t : <64x64xf32, sbuf>
    // near miss: `engine = DVE` -> `engine = SP`
    // expected-error @below {{DMAs that use HWDGE can only be assigned to EngineType::Activation (nki.isa.engine.scalar) or EngineType::SP (nki.isa.engine.sync), but got EngineType::DVE}}
    bir.load @I0 %t <- %a[0][64 x 64, 1 x 64] {engine = DVE, dge = hwdge}
    // near miss: `engine = Pool, dge = hwdge` -> `engine = Pool, dge = swdge`
    // expected-error @below {{but got EngineType::Pool}}
    bir.dma_copy @I1 %t <- %a[0][64 x 64, 1 x 64] {engine = Pool, dge = hwdge}
    // near miss: `engine = SP` -> `engine = Activation`
    // expected-error @below {{Trigger engine does not match queue's engine: SP and, for queue 'q', Activation}}
    bir.load @I2 %t <- %a[0][64 x 64, 1 x 64] {engine = SP, queue = "q"}
    dma.block @b {
      dma.copy f32 f32 %t[0, 0][1 x 64, 4 x 64] <- %a[0][256 x 64, 4 x 64]
    }
    // near miss: `engine = SP` -> `engine = Activation`
    // expected-error @below {{Trigger engine does not match queue's engine: SP and, for queue 'q', Activation}}
    bir.dma_trigger @I3 [@b] {engine = SP, queue = "q"}
  }
}

// -----

bir.func @registers {
  %a = bir.location @a : <300x64xf32, hbm>
  %n = bir.location @n : <1x8xi32, sbuf>
  %t = bir.location @t : <64x64xf32, sbuf>
  %r = bir.tensor_load @L %n[0, 0][1 x 1, 1 x 1]
  // near miss: ` {dge = none}` -> ` {dge = swdge}`
  // expected-error @below {{DGE must be enabled when dynamic src access in DMA is used; leave dge_mode open}}
  bir.dma_copy @I0 %t <- %a[%r * 64][64 x 64, 1 x 64] {dge = none}
  // near miss: `%a[%r * 64]` -> `%a[64]`
  // expected-error @below {{DGE must be enabled when dynamic dst access in DMA is used; leave dge_mode open}}
  bir.dma_copy @I1 %a[%r * 64][64 x 64, 1 x 64] <- %t {dge = none}
}

// -----

// The crossbar's rows.

%a = penguin.alloc : <16x256xbf16, hbm>
%t = penguin.alloc : <128x64xbf16, sbuf>
%u = penguin.alloc : <128x2x20xbf16, sbuf>
// near miss: `2 x 128` -> `1 x 128`
// expected-error @below {{DGE xbar transpose src columns must be consecutive. Last dimension step should be 1 but it is 2}}
penguin.dma_transpose_load %t[0, 0][1 x 128, 1 x 16] <- %a[0][256 x 16, 2 x 128] {axes = [1, 0], dge = hwdge}
// near miss: `2 x 16` -> `1 x 16`
// expected-error @below {{DGE xbar transpose dst columns must be consecutive. Last dimension step should be 1 but it is 2}}
penguin.dma_transpose_load %t[0, 0][1 x 128, 2 x 16] <- %a[0][256 x 16, 1 x 128] {axes = [1, 0], dge = hwdge}
// near miss: `%t[0, 8]` -> `%t[0, 16]`
// expected-error @below {{DGE xbar transpose dst tile starting address must be a multiple of 32, but it is 16 (remainder of 16)}}
penguin.dma_transpose_load %t[0, 8][1 x 128, 1 x 16] <- %a[0][256 x 16, 1 x 128] {axes = [1, 0], dge = hwdge}
// near miss: `20 x 2, 1 x 16` -> `16 x 2, 1 x 16`
// expected-error @below {{Output of xbar transpose must have steps must be 32 byte aligned. Output dimension 1 has step size of 20 which is not divisible by 32 when multiplied with the dtype size 2.}}
penguin.dma_transpose_load %u[0, 0][1 x 128, 20 x 2, 1 x 16] <- %a[0][256 x 16, 128 x 2, 1 x 128] {axes = [2, 1, 0], dge = hwdge}

// -----

%a = penguin.alloc : <16x128xbf16, hbm>
%t = penguin.alloc : <128x16xbf16, sbuf>
// near miss: `0 x 128` -> `1 x 128`
// expected-error @below {{DGE xbar transpose dst rows must be consecutive. Partition dimension step should be 1 but it is 0}}
penguin.dma_transpose_load %t[0, 0][0 x 128, 1 x 16] <- %a {axes = [1, 0], dge = hwdge}

// -----

// Addresses.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  bir.func @places {
    // near miss: `at [(0, 2)]` -> `at [(0, 4)]`
    // expected-error @below {{Access must be aligned to datatype, sbuf start address 2 for memory location t must be 4 bytes aligned for data type float32.}}
    %t = bir.location @t at [(0, 2)] : <64x64xf32, sbuf>
    %u = bir.location @u at [(32, 0)] : <64x64xf32, sbuf>
    // near miss: `(32, 0)` -> `(0, 0)`
    // expected-error @below {{mem.getBasePartition() == 0: Kernel inputs/outputs must be allocated at base partition 0, got 32 for 'u'}}
    bir.nki_kernel @I0 (%u) <- () {func = "f"}
  }
}

// -----

%a = penguin.alloc : <64x64xf32, hbm>
%t = penguin.alloc : <64x64xf32, sbuf>
// near miss: `engine = DVE` -> `engine = Activation`
// expected-error @below {{DMAs that use HWDGE can only be assigned to EngineType::Activation (nki.isa.engine.scalar) or EngineType::SP (nki.isa.engine.sync), but got EngineType::DVE}}
penguin.dma_copy %t <- %a {dge = hwdge, engine = DVE}
