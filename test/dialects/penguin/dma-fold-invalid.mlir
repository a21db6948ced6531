// RUN: neuron-opt %s --split-input-file --verify-diagnostics

%a = penguin.alloc : <64x8xf32, sbuf>
%b = penguin.alloc : <64x8xbf16, hbm>
%c = penguin.alloc : <64x4xf32, sbuf>
%p = penguin.alloc : <64x8xf32, psum>
%x = penguin.alloc : <64x8xf8e4m3fn_x4, sbuf>
// near miss: `subtract` -> `min`
// expected-error @below {{a DMA folds by add, max or min, got subtract; fold on an engine}}
penguin.tiled_offloaded_fma %a <- %a, src1 = %b {op = subtract}
// near miss: `[1.0]` -> `[1.0, 2.0]`
// expected-error @below {{srcs and scales must have the same length, len(srcs)=2, len(scales)=1}}
penguin.tiled_offloaded_fma %a <- %a, src1 = %b {constants = [1.0]}
// near miss: `max` -> `add`
// expected-error @below {{only a sum has constants, but the op is max}}
penguin.tiled_offloaded_fma %a <- %a, src1 = %b {op = max, constants = [1.0, 1.0]}
// near miss: `%c` -> `%b`
// expected-error @below {{DMA instruction must read and write same number of elements, got 512 (a: f32[64, 8] in sbuf) and 256 (c: f32[64, 4] in sbuf)}}
penguin.tiled_offloaded_fma %a <- %b, src1 = %c
// near miss: `%p` -> `%b`
// expected-error @below {{Expected operand 'src1' of 'penguin.tiled_offloaded_fma' to be in address space 'hbm or sbuf', but got a psum instead.}}
penguin.tiled_offloaded_fma %a <- %b, src1 = %p
// near miss: `%a[0, 4]` -> `%c[0, 0]`
// expected-error @below {{source and destination overlap partly in a}}
penguin.tiled_offloaded_fma %a[0, 2][1 x 64, 1 x 4] <- %c, src1 = %a[0, 4][1 x 64, 1 x 4]

// -----

bir.func @f {
  %a = bir.location @a : <64x8xf32, sbuf>
  %b = bir.location @b : <64x8xf32, sbuf>
  dma.block @B {
    // near miss: `f32 f32 %a[0, 0][1 x 64, 4 x 8] <- %a[0, 0][1 x 64, 4 x 8], src1 = %b[0, 0][1 x 64, 4 x 8]` -> `f32 f32 %a[0, 0][1 x 64, 4 x 8] <- %a[0, 0][1 x 64, 4 x 8], src1 = %b[0, 0][1 x 64, 4 x 8] {src1_dtype = f32}`
    // expected-error @below {{source 'src1' and its 'src1_dtype' go together}}
    dma.fold f32 f32 %a[0, 0][1 x 64, 4 x 8] <- %a[0, 0][1 x 64, 4 x 8], src1 = %b[0, 0][1 x 64, 4 x 8]
  }
}
