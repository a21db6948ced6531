// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// Indirect DMA on the wrong side of its memories, and tensors a descriptor cannot address.

%a = penguin.alloc : <300x40xf32, hbm>
%h = penguin.alloc : <64x40xf32, hbm>
%t = penguin.alloc : <64x40xf32, sbuf>
%i = penguin.alloc : <64x1xi32, sbuf>
// near miss: `%h[0][40 x 64, 1 x 40]` -> `%t`
// expected-error @below {{Non-indirect tensor `dst` of Vector DGE DMACopy must have MemoryType::SB, but it has MemoryType::hbm}}
penguin.neuron_indirect_load %h[0][40 x 64, 1 x 40] <- %a[0][40 x 64, 1 x 40], %i {max_index = 300}
// near miss: `%h[0][40 x 64, 1 x 40]` -> `%t`
// expected-error @below {{Non-indirect tensor `src` of Vector DGE DMACopy must have MemoryType::SB, but it has MemoryType::hbm}}
penguin.neuron_indirect_save %a[0][40 x 64, 1 x 40] <- %h[0][40 x 64, 1 x 40], %i {max_index = 300}
// near miss: `%t[0, 0][1 x 64, 1 x 40]` -> `%a[0][40 x 64, 1 x 40]`
// expected-error @below {{Indirect tensor `src` of Vector DGE DMACopy must have MemoryType::DRAM, but it has MemoryType::sbuf}}
penguin.neuron_indirect_load %t <- %t[0, 0][1 x 64, 1 x 40], %i {max_index = 64}

// -----

%a = penguin.alloc : <64x40xf32, hbm>
%t = penguin.alloc : <64x40xf32, sbuf>
// near miss: `rmw_op = max` -> `rmw_op = add`
// expected-error @below {{atomic_rmw `op` param only supports 'add' operation currently. An unsupported op=max}}
penguin.sb_atom_store %a <- %t {rmw_op = max}

// -----

%big = penguin.alloc : <65536x16384xf32, hbm>
%fits = penguin.alloc : <65535x16384xf32, hbm>
%t = penguin.alloc : <64x40xf32, sbuf>
// near miss: `%big` -> `%fits`
// expected-error @below {{Tensor size must be < 4GB, but it is 4294967296 bytes (big)}}
penguin.sb_atom_load %t <- %big[0][40 x 64, 1 x 40]

// -----

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
%a = penguin.alloc : <100x4x200xbf16, hbm>
%s = penguin.alloc : <16x4x200xbf16, sbuf>
%w = penguin.alloc : <16x1xu32, sbuf>
%o = penguin.alloc : <100x4x16xbf16, sbuf>
// near miss: `%s[0, 0][1 x 16, 200 x 4, 1 x 100]` -> `%a[0][800 x 16, 200 x 4, 1 x 100]`
// expected-error @below {{Source tensor for DMA gather transpose must be in hbm, got s: bf16[16, 4, 100] in sbuf}}
penguin.dma_indirect_transpose %o <- %s[0, 0][1 x 16, 200 x 4, 1 x 100], %w {axes = [2, 1, 0], max_index = 16}
// near miss: `max_index = 0` -> `max_index = 1`
// expected-error @below {{DynamicAPINFO::IndirectDimMaxIndex must be > 0, got 0}}
penguin.dma_indirect_transpose %o <- %a[0][800 x 16, 200 x 4, 1 x 100], %w {axes = [2, 1, 0], max_index = 0}
}
