// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// Registers and the loops they bound.

// CHECK-LABEL: penguin.func @f
penguin.func @f(inout a = %a: !neuron.tensor<8x8xi32, hbm>) {
  // CHECK-NEXT: %n = penguin.load_tensor_to_register %a[3][1 x 1]
  %n = penguin.load_tensor_to_register %a[3][1 x 1]
  // CHECK-NEXT: %m = penguin.register_alu mult {lhs = %n, rhs = -4}
  %m = penguin.register_alu mult {lhs = %n, rhs = -4}
  // CHECK-NEXT: %w = penguin.register_alu add {lhs = %n, rhs = %m, is_64bit}
  %w = penguin.register_alu add {lhs = %n, rhs = %m, is_64bit}
  // CHECK-NEXT: %x = penguin.register_alu mult {lhs = %w, rhs = 4294967296, is_64bit}
  %x = penguin.register_alu mult {lhs = %w, rhs = 4294967296, is_64bit}
  // CHECK-NEXT: %v = penguin.register_move @v {value = %m, dtype = u32}
  %v = penguin.register_move @v {value = %m, dtype = u32}
  // CHECK-NEXT: %u = penguin.register_move {value = 7}
  %u = penguin.register_move {value = 7}
  // CHECK-NEXT: penguin.dynamic_for %i = 2 to %u * 2 + 1 step 3 {
  penguin.dynamic_for %i = 2 to 1 + %u * 2 step 3 {
    // CHECK-NEXT: penguin.store_register_to_tensor %a[%i][1 x 1] {value = %v}
    penguin.store_register_to_tensor %a[%i][1 x 1] {value = %v}
  // CHECK-NEXT: }
  }
  // CHECK-NEXT: penguin.dynamic_for %j = 0 to %m attributes {key} {
  penguin.dynamic_for %j = 0 to %m attributes {key} {
  // CHECK-NEXT: }
  }
  // CHECK-NEXT: penguin.do_while {
  penguin.do_while {
    // CHECK-NEXT: %more = penguin.load_tensor_to_register %a[3][1 x 1]
    %more = penguin.load_tensor_to_register %a[3][1 x 1]
    // CHECK-NEXT: penguin.continue_if %more attributes {key}
    penguin.continue_if %more attributes {key}
  // CHECK-NEXT: }
  }
  penguin.return
}
