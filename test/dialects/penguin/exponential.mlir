// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// Exponentials, and activations with two ALU stages: trn3 only.

builtin.module attributes {neuron.target = #neuron.target<trn3>} {
  // CHECK-LABEL: penguin.func @exponential
  penguin.func @exponential() {
    %a = penguin.alloc : <128x512xf32, sbuf>
    %b = penguin.alloc : <128x512xbf16, sbuf>
    %v = penguin.alloc : <128x1xf32, sbuf>
    %w = penguin.alloc : <128x1xf32, sbuf>
    // CHECK: penguin.exponential %a <- %b where l0 - l1 >= 0
    penguin.exponential %a <- %b where l0 - l1 >= 0
    // CHECK-NEXT: penguin.exponential %a <- %b, max_value = %v
    penguin.exponential %a <- %b, max_value = %v
    // CHECK-NEXT: penguin.exponential_reduce %a <- %b, reduce_res = %w, max_value = %v where 99 - l0 >= 0
    penguin.exponential_reduce %a <- %b, reduce_res = %w, max_value = %v where 99 - l0 >= 0
    // CHECK-NEXT: penguin.exponential_reduce %a <- %b, reduce_res = %w {max_value_imm = 2.0}
    penguin.exponential_reduce %a <- %b, reduce_res = %w {max_value_imm = 2.0}
    // CHECK-NEXT: penguin.activate2 Gelu %a <- %b
    penguin.activate2 Gelu %a <- %b
    // CHECK-NEXT: penguin.activate2 Prelu %a <- %b, scalar0 = %v {op0 = mult, reverse0, op1 = subtract, imm1 = 2.0, alpha = 0.5}
    penguin.activate2 Prelu %a <- %b, scalar0 = %v {op0 = mult, reverse0, op1 = subtract, imm1 = 2.0, alpha = 0.5}
    // CHECK-NEXT: penguin.activate2 Prelu %a <- %b, slope = %v
    penguin.activate2 Prelu %a <- %b, slope = %v
    penguin.return
  }
}
