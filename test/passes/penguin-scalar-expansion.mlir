// RUN: neuron-opt -p penguin-scalar-expansion --split-input-file %s | filecheck %s

// A dimension per loop, behind the partitions; the loop need not begin at 0.

// CHECK-LABEL: penguin.func @expanded
// CHECK:         %t = penguin.alloc blocks 12 init 0.0 : <32x3x4x8xf32, sbuf>
// CHECK-NEXT:    penguin.for parallel %i = 0 to 3 {
// CHECK-NEXT:      penguin.for sequential %j = 2 to 10 step 2 {
// CHECK-NEXT:        penguin.sb_atom_load @L %t[0, %i * 32 + (%j) floordiv 2 * 8 - 8][1 x 32, 1 x 8] <- %a[0][8 x 32, 1 x 8] where 20 - %j - l0 >= 0
// CHECK-NEXT:        penguin.tensor_copy %u[0, %j][1 x 32, 1 x 2] <- %t[0, %i * 32 + (%j) floordiv 2 * 8 - 7][1 x 32, 2 x 2]
// CHECK-NEXT:        penguin.tensor_copy %t[0, %i * 64 + (%j) floordiv 2 * 16 - 16][1 x 32, 1 x 16] as bf16 <- %v

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @expanded(a = %a : !neuron.tensor<32x8xf32, hbm>) {
  %u = penguin.alloc : <32x16xf32, sbuf>
  %v = penguin.alloc : <32x16xbf16, sbuf>
  penguin.for parallel %i = 0 to 3 {
    penguin.for sequential %j = 2 to 10 step 2 {
      %t = penguin.alloc expand init 0.0 : <32x8xf32, sbuf>
      penguin.sb_atom_load @L %t <- %a[0][8 x 32, 1 x 8] where 20 - l0 - %j >= 0
      penguin.tensor_copy %u[0, %j][1 x 32, 1 x 2] <- %t[0, 1][1 x 32, 2 x 2]
      penguin.tensor_copy %t[0, 0][1 x 32, 1 x 16] as bf16 <- %v
    }
  }
  penguin.return
}
}

// -----

// What does not fit, or was placed, or is not asked for, stays. Blocks have no part in
// each other's PSUM banks.

// CHECK-LABEL: penguin.func @kept
// CHECK-NEXT:    %q = penguin.alloc blocks 2 : <32x2x512xf32, psum>
// CHECK-NEXT:    penguin.for parallel %k = 0 to 2 {
// CHECK-NEXT:    }
// CHECK-NEXT:    penguin.for spmd %c = 0 to 2 {
// CHECK-NEXT:      %odd = penguin.alloc blocks 2 : <32x2x300xf32, psum>
// CHECK-NEXT:      %s = penguin.alloc blocks 2 : <32x2x8xf32, sbuf>
// CHECK-NEXT:      penguin.for parallel %i = 0 to 2 {
// CHECK-NEXT:        %large = penguin.alloc : <32x30000xf32, sbuf>
// CHECK-NEXT:        %placed = penguin.alloc at [(0, 64)] : <32x8xf32, sbuf>
// CHECK-NEXT:        %unmarked = penguin.alloc : <32x8xf32, sbuf>
// CHECK-NEXT:        penguin.memset %large {value = 1.0}
// CHECK-NEXT:        penguin.memset %s[0, %i * 8][1 x 32, 1 x 8] {value = 1.0}

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @kept() {
  penguin.for parallel %k = 0 to 2 {
    %q = penguin.alloc expand : <32x512xf32, psum>
  }
  penguin.for spmd %c = 0 to 2 {
    penguin.for parallel %i = 0 to 2 {
      %large = penguin.alloc expand : <32x30000xf32, sbuf>
      %odd = penguin.alloc expand : <32x300xf32, psum>
      %placed = penguin.alloc at [(0, 64)] expand : <32x8xf32, sbuf>
      %unmarked = penguin.alloc : <32x8xf32, sbuf>
      %s = penguin.alloc expand : <32x8xf32, sbuf>
      penguin.memset %large {value = 1.0}
      penguin.memset %s {value = 1.0}
    }
  }
  penguin.return
}
}
