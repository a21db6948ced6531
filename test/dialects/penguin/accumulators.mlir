// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s
// RUN: neuron-opt %s -p 'cse,dce,canonicalize,licm' | filecheck %s

// Commands to the accumulators of the scalar and the vector engine. Two of them are the
// same instruction twice, and what they write is read by nobody: no pass removes one.

builtin.module attributes {neuron.target = #neuron.target<trn3>} {
  // CHECK: penguin.func @f(b = %b: !neuron.tensor<64x8xf32, hbm>) {
  penguin.func @f(b = %b: !neuron.tensor<64x8xf32, hbm>) {
    %a = penguin.alloc : <64x8xf32, sbuf>
    %n = penguin.alloc : <64x8xu8, sbuf>
    %v = penguin.alloc : <64x1xf32, sbuf>
    %o = penguin.alloc : <64x1xf32, hbm>
    penguin.sb_atom_load %a <- %b
    // CHECK: penguin.activation_accumulation Exp %a <- %a {command = Zero}
    penguin.activation_accumulation Exp %a <- %a {command = Zero}
    // CHECK-NEXT: penguin.activation_accumulation Exp %a <- %a {command = AddAccumulate}
    penguin.activation_accumulation Exp %a <- %a {command = AddAccumulate}
    // CHECK-NEXT: penguin.activation_accumulation Exp %a <- %a {command = AddAccumulate}
    penguin.activation_accumulation Exp %a <- %a {command = AddAccumulate}
    // CHECK-NEXT: penguin.activation_accumulation Copy %a <- %a, reduce_res = %v {command = Idle}
    penguin.activation_accumulation Copy %a <- %a, reduce_res = %v {command = Idle}
    // CHECK-NEXT: penguin.tensor_scalar_cache_reduce mult add %a <- %a, initial = %v {imm0 = 1.0, command = LoadAccumulate}
    penguin.tensor_scalar_cache_reduce mult add %a <- %a, initial = %v {imm0 = 1.0, command = LoadAccumulate}
    // CHECK-NEXT: penguin.for sequential %i = 0 to 4 {
    penguin.for sequential %i = 0 to 4 {
      // CHECK-NEXT: penguin.tensor_scalar_cache_reduce mult add %a <- %a {imm0 = 1.0, command = AddAccumulate}
      penguin.tensor_scalar_cache_reduce mult add %a <- %a {imm0 = 1.0, command = AddAccumulate}
    }
    // CHECK: penguin.tensor_scalar_cache_reduce mult add %a <- %a, reduce_res = %v {imm0 = 1.0, negate, command = AddAccumulate}
    penguin.tensor_scalar_cache_reduce mult add %a <- %a, reduce_res = %v {imm0 = 1.0, command = AddAccumulate, negate}
    // CHECK-NEXT: penguin.tensor_scalar_cache_cumulative add max %a <- %a {imm0 = 1.0, initial_imm = -inf, command = LoadAccumulate}
    penguin.tensor_scalar_cache_cumulative add max %a <- %a {imm0 = 1.0, command = LoadAccumulate, initial_imm = -inf}
    // CHECK-NEXT: penguin.select_reduce %a <- %n, %a {on_false_imm = 0.0, command = AddAccumulate}
    penguin.select_reduce %a <- %n, %a {on_false_imm = 0.0, command = AddAccumulate}
    // CHECK-NEXT: penguin.select_reduce %a <- %n, %a {on_false_imm = 0.0, command = Idle}
    penguin.select_reduce %a <- %n, %a {on_false_imm = 0.0, command = Idle}
    // CHECK-NEXT: penguin.activate2_reduce Abs %a <- %a, reduce_res = %v {reduce_op = abs_min, op0 = mult, imm0 = 2.0}
    penguin.activate2_reduce Abs %a <- %a, reduce_res = %v {reduce_op = abs_min, op0 = mult, imm0 = 2.0}
    // CHECK-NEXT: penguin.exponential_reduce %a <- %a {initial_imm = 2.0, command = LoadAccumulate}
    penguin.exponential_reduce %a <- %a {command = LoadAccumulate, initial_imm = 2.0}
    penguin.sb_atom_store %o <- %v
    penguin.return o = %o
  }
}
