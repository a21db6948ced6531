// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s
// RUN: neuron-opt %s -p convert-penguin-to-bir | neuron-opt | filecheck %s --check-prefix BIR
// RUN: neuron-opt %s -p neuron | neuron-opt | filecheck %s --check-prefix DMA
// RUN: neuron-opt %s -p convert-penguin-to-bir -t bir-json | filecheck %s --check-prefix JSON

// Several tensors folded into one by the DMA engines.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK-LABEL: penguin.func @f
  penguin.func @f(a = %a: !neuron.tensor<64x8xf32, hbm>, b = %b: !neuron.tensor<512xbf16, hbm>) {
    %t = penguin.alloc : <64x8xf32, sbuf>
    %o = penguin.alloc : <64x8xbf16, hbm>
    // CHECK: penguin.tiled_offloaded_fma @I1 %t <- %a, src1 = %b {constants = [1.0, 0.5]}
    // BIR: bir.dma_copy_cce @I1 %t <- %a, src1 = %b {constants = [1.0, 0.5]}
    // JSON:      "constants": [
    // JSON-NEXT:   1.0,
    // JSON-NEXT:   0.5
    // DMA: dma.block @I1 {
    // DMA-NEXT: dma.fold f32 f32 %t[0, 0][1 x 64, 4 x 8] <- %a[0][32 x 64, 4 x 8], src1 = %b[0][16 x 64, 2 x 8] {src1_dtype = bf16, constants = [1.0, 0.5]}
    penguin.tiled_offloaded_fma @I1 %t <- %a, src1 = %b {op = add, constants = [1.0, 0.5]}
    // CHECK-NEXT: penguin.tiled_offloaded_fma @I2 %o <- %t, src1 = %o, src2 = %a where 40 - l0 >= 0 {op = max}
    // DMA: dma.fold bf16 f32 %o[0][16 x 41, 2 x 8] <- %t[0, 0][1 x 41, 4 x 8], src1 = %o[0][16 x 41, 2 x 8], src2 = %a[0][32 x 41, 4 x 8] {src1_dtype = bf16, src2_dtype = f32, op = max}
    penguin.tiled_offloaded_fma @I2 %o <- %t, src1 = %o, src2 = %a where 40 - l0 >= 0 {op = max}
    penguin.return o = %o
  }
}
