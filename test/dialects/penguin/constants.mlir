// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s
// RUN: neuron-opt %s -p convert-penguin-to-bir | neuron-opt | filecheck %s --check-prefix BIR
// RUN: neuron-opt %s -p neuron | neuron-opt | filecheck %s --check-prefix DMA

// Constants of an instruction, and rows that are replicated.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK-LABEL: penguin.func @f
  penguin.func @f(b = %b: !neuron.tensor<32x8xf32, hbm>) {
    %a = penguin.alloc : <64x8xf32, sbuf>
    %n = penguin.alloc : <64x8xi32, sbuf>
    %o = penguin.alloc : <64x8xbf16, hbm>
    // CHECK: penguin.neuron_replicate_ap @I1 %a <- %b
    // BIR: bir.dma_copy_replicate @I1 %a <- %b
    // DMA: dma.block @I1 {
    // DMA-NEXT: dma.replicate f32 f32 %a[0, 0][1 x 64, 4 x 8] <- %b[0][32 x 32, 4 x 8]
    // DMA: bir.dma_trigger @I1 [@I1] {engine = SP}
    penguin.neuron_replicate_ap @I1 %a <- %b
    // CHECK-NEXT: penguin.tensor_scalar @I2 add %a <- %a {const0 = 1.0}
    // BIR: bir.tensor_scalar @I2 add %a <- %a {const0 = 1.0, engine = DVE}
    penguin.tensor_scalar @I2 add %a <- %a {const0 = 1.0, op1 = bypass, const1 = 0.0}
    // CHECK-NEXT: penguin.tensor_scalar @I3 subtract %a <- %a where 7 - l1 >= 0 {const0 = 1.0, reverse0, op1 = max, const1 = -inf, reverse1}
    // BIR: bir.tensor_scalar @I3 subtract %a <- %a where 7 - l1 >= 0 {const0 = 1.0, reverse0, op1 = max, const1 = -inf, reverse1, engine = DVE}
    penguin.tensor_scalar @I3 subtract %a <- %a where 7 - l1 >= 0 {const0 = 1.0, op1 = max, const1 = -inf, reverse0, reverse1}
    // CHECK-NEXT: penguin.tensor_scalar @I4 bitwise_or %n <- %n {const0 = -1}
    penguin.tensor_scalar @I4 bitwise_or %n <- %n {const0 = -1}
    // CHECK-NEXT: penguin.neuron_replicate_ap @I5 %o[0][8 x 64, 1 x 8] <- %a[63, 0][1 x 1, 1 x 8]
    // DMA: dma.replicate bf16 f32 %o[0][16 x 64, 2 x 8] <- %a[63, 0][1 x 1, 4 x 8]
    penguin.neuron_replicate_ap @I5 %o[0][8 x 64, 1 x 8] <- %a[63, 0][1 x 1, 1 x 8]
    penguin.return o = %o
  }
}
