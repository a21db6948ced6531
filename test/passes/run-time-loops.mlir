// RUN: neuron-opt %s -p 'neuron' | filecheck %s

// In a loop up to a register a DMA stays a dynamic access; a static loop around or in it
// stays a loop, one beside it is unrolled.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
// CHECK-LABEL: bir.func @f
penguin.func @f(a = %a: !neuron.tensor<64x40xf32, hbm>, n = %n: !neuron.tensor<1x4xi32, hbm>) {
  %c = penguin.alloc : <64x40xf32, hbm>
  // CHECK: bir.loop sequential %i = 0 to 4 {
  penguin.for sequential %i = 0 to 4 {
    // CHECK-NEXT: %r = bir.tensor_load @I0 %n[%i][1 x 1]
    %r = penguin.load_tensor_to_register %n[%i][1 x 1]
    // CHECK-NEXT: bir.dynamic_for_loop %j = 0 to %r {
    penguin.dynamic_for %j = 0 to %r {
      // CHECK-NEXT: bir.loop sequential %k = 0 to 2 {
      penguin.for sequential %k = 0 to 2 {
        // CHECK-NEXT: %t = bir.location @t : <1x20xf32, sbuf>
        %t = penguin.alloc : <1x20xf32, sbuf>
        // CHECK-NEXT: bir.load @I1 %t <- %a[%i * 640 + %j * 40 + %k * 20][40 x 1, 1 x 20]
        penguin.sb_atom_load %t <- %a[%i * 640 + %j * 40 + %k * 20][40 x 1, 1 x 20]
        // CHECK-NEXT: bir.save @I2 %c[%i * 640 + %j * 40 + %k * 20][40 x 1, 1 x 20] <- %t
        penguin.sb_atom_store %c[%i * 640 + %j * 40 + %k * 20][40 x 1, 1 x 20] <- %t
      // CHECK-NEXT: }
      }
    }
  }
  // CHECK: bir.memset @I3_k0 %u[0, 0][1 x 1, 1 x 1] {value = 0.0, engine = DVE, iterations = [sequential "k" 0]}
  // CHECK-NEXT: bir.memset @I3_k1 %u[0, 1][1 x 1, 1 x 1] {value = 0.0, engine = DVE, iterations = [sequential "k" 1]}
  %u = penguin.alloc : <1x2xf32, sbuf>
  penguin.for sequential %k = 0 to 2 {
    penguin.memset %u[0, %k][1 x 1, 1 x 1] {value = 0.0}
  }
  penguin.return c = %c
}
}
