// RUN: neuron-opt -p penguin-lower-transpose --split-input-file %s | filecheck %s

// From gen3 the array has a mode for it. Both transposes share one identity.

// CHECK-LABEL: penguin.func @exact
// CHECK-NEXT:    %identity = penguin.constant identity : <128x128xi8, hbm>
// CHECK-NEXT:    %identity_i8 = penguin.alloc : <128x128xi8, sbuf>
// CHECK-NEXT:    penguin.sb_atom_load %identity_i8 <- %identity
// CHECK-NEXT:    %identity_bf16 = penguin.alloc : <128x128xbf16, sbuf>
// CHECK-NEXT:    penguin.tensor_copy %identity_bf16 <- %identity_i8
// CHECK:         penguin.matmul @T %p[0, 0][1 x 32, 1 x 64] <- %t[0, 0][1 x 64, 1 x 32], %identity_bf16[0, 0][1 x 64, 1 x 64] {is_transpose, accumulate = overwrite, engine = PE}
// CHECK-NEXT:    penguin.matmul %p[0, 0][1 x 32, 1 x 64] <- %t[0, 0][1 x 64, 1 x 32], %identity_bf16[0, 0][1 x 64, 1 x 64] where 39 - l0 >= 0 and 39 - l2 >= 0 and 20 - l1 >= 0 {is_transpose, accumulate = overwrite, engine = PE}
// CHECK-NEXT:    penguin.transpose %u <- %t[0, 0][1 x 32, 1 x 32]

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @exact() {
  %t = penguin.alloc : <64x32xbf16, sbuf>
  %p = penguin.alloc : <32x64xbf16, psum>
  %u = penguin.alloc : <32x32xbf16, sbuf>
  penguin.transpose @T %p <- %t
  penguin.transpose %p <- %t where 39 - l0 >= 0 and 20 - l1 >= 0
  penguin.transpose %u <- %t[0, 0][1 x 32, 1 x 32]
  penguin.return
}
}

// -----

// Before, the data is multiplied with the identity.

// CHECK-LABEL: penguin.func @multiplied
// CHECK:         penguin.matmul %p[0, 0][1 x 32, 1 x 64] <- %t[0, 0][1 x 64, 1 x 32], %identity_bf16[0, 0][1 x 64, 1 x 64] where 39 - l0 >= 0 and 39 - l2 >= 0 and 20 - l1 >= 0 {accumulate = overwrite, engine = PE}

builtin.module attributes {neuron.target = #neuron.target<trn1>} {
penguin.func @multiplied() {
  %t = penguin.alloc : <64x32xbf16, sbuf>
  %p = penguin.alloc : <32x64xf32, psum>
  penguin.transpose %p <- %t where 39 - l0 >= 0 and 20 - l1 >= 0
  penguin.return
}
// Through PSUM of fp32, where the result is narrower: what it waits for, both wait for.

// CHECK-LABEL: penguin.func @narrow
// CHECK:         penguin.matmul %transposed <- %t[0, 0][1 x 64, 1 x 32], %identity_bf16[0, 0][1 x 64, 1 x 64] {accumulate = overwrite, engine = PE, after = [flow "A"]}
// CHECK-NEXT:    penguin.tensor_copy @T %p[0, 0][1 x 32, 1 x 64] <- %transposed {after = [flow "A"]}
penguin.func @narrow() {
  %t = penguin.alloc : <64x32xbf16, sbuf>
  %p = penguin.alloc : <32x64xbf16, psum>
  penguin.memset @A %t {value = 2.0}
  penguin.transpose @T %p <- %t {after = [flow "A"]}
  penguin.return
}
}
