// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// CHECK-LABEL: bir.func @f
bir.func @f {
  %a = bir.location @a ExternalInput : <8x8xi32, hbm>
  %t = bir.location @t : <1x8xi32, sbuf>
  // CHECK: %n = bir.tensor_load @I0 %a[3][1 x 1]
  %n = bir.tensor_load @I0 %a[3][1 x 1]
  // CHECK-NEXT: %m = bir.register_alu @I1 mult {lhs = %n, rhs = -4}
  %m = bir.register_alu @I1 mult {lhs = %n, rhs = -4}
  // CHECK-NEXT: %v = bir.register_move @I2 {value = %m, dtype = u32, engine = SP}
  %v = bir.register_move @I2 {value = %m, dtype = u32, engine = SP}
  // CHECK-NEXT: bir.dynamic_for_loop %i = 0 to %n * 2 step 2 {
  bir.dynamic_for_loop %i = 0 to %n * 2 step 2 {
    // CHECK-NEXT: bir.tensor_save @I3 %t[0, %i][1 x 1, 1 x 1] {value = %v, after = [flow "I2"]}
    bir.tensor_save @I3 %t[0, %i][1 x 1, 1 x 1] {value = %v, after = [flow "I2"]}
  // CHECK-NEXT: }
  }
  // CHECK-NEXT: bir.do_while {
  bir.do_while {
    // CHECK-NEXT: bir.continue_if %v
    bir.continue_if %v
  // CHECK-NEXT: }
  }
}
