// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// Scans, and elementwise instructions with a row reduction.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK-LABEL: penguin.func @scan
  penguin.func @scan() {
    %a = penguin.alloc : <128x512xf32, sbuf>
    %b = penguin.alloc : <128x512xbf16, sbuf>
    %v = penguin.alloc : <128x1xf32, sbuf>
    %w = penguin.alloc : <128x1xf32, sbuf>
    // CHECK: penguin.tensor_tensor_scan mult add %a <- %b, %a, initial = %v {reverse1}
    penguin.tensor_tensor_scan mult add %a <- %b, %a, initial = %v {reverse1}
    // CHECK-NEXT: penguin.tensor_tensor_scan mult subtract %a <- %b, %a where 99 - l0 >= 0 {initial_imm = 0.0}
    penguin.tensor_tensor_scan mult subtract %a <- %b, %a where 99 - l0 >= 0 {initial_imm = 0.0}
    // CHECK-NEXT: penguin.tensor_scalar_cache_cumulative add max %a <- %b {imm0 = 1.0}
    penguin.tensor_scalar_cache_cumulative add max %a <- %b {imm0 = 1.0}
    // CHECK-NEXT: penguin.tensor_scalar_cache_cumulative subtract add %a <- %b, accumulator = %w, scalar0 = %v, initial = %w {reverse0, command = LoadAccumulate}
    penguin.tensor_scalar_cache_cumulative subtract add %a <- %b, accumulator = %w, scalar0 = %v, initial = %w {reverse0, command = LoadAccumulate}
    // CHECK-NEXT: penguin.scalar_tensor_tensor mult add %a <- %b, %a, scalar0 = %v {reverse0}
    penguin.scalar_tensor_tensor mult add %a <- %b, %a, scalar0 = %v {reverse0}
    // CHECK-NEXT: penguin.scalar_tensor_tensor mult add %a <- %b, %a where l0 - l1 >= 0 {imm0 = 2.0, engine = DVE}
    penguin.scalar_tensor_tensor mult add %a <- %b, %a where l0 - l1 >= 0 {imm0 = 2.0, engine = DVE}
    // CHECK-NEXT: penguin.tensor_scalar_cache_reduce mult max %a <- %b, reduce_res = %w, scalar0 = %v
    penguin.tensor_scalar_cache_reduce mult max %a <- %b, reduce_res = %w, scalar0 = %v
    // CHECK-NEXT: penguin.activation_accumulation Exp %a <- %b, reduce_res = %w, bias = %v {scale_imm = 2.0}
    penguin.activation_accumulation Exp %a <- %b, reduce_res = %w, bias = %v {scale_imm = 2.0}
    // CHECK-NEXT: penguin.activation Prelu %a <- %b {alpha = 0.25}
    penguin.activation Prelu %a <- %b {alpha = 0.25}
    penguin.return
  }
}
