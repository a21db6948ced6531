// RUN: neuron-opt -p penguin-lower-broadcast %s | filecheck %s

// A row of ones is the stationary operand: each row of the result is the data times 1.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {

// The order asked for and the engine stay, on all that a copy became.

// CHECK-LABEL: penguin.func @two_banks
penguin.func @two_banks() {
  // CHECK-NEXT: %ones = penguin.alloc : <1x128xbf16, sbuf>
  // CHECK-NEXT: penguin.memset %ones {value = 1.0}
  // CHECK-NEXT: %t = penguin.alloc : <1x600xbf16, sbuf>
  // CHECK-NEXT: %u = penguin.alloc : <64x600xbf16, sbuf>
  // CHECK-NEXT: penguin.memset @A %t {value = 2.0}
  %t = penguin.alloc : <1x600xbf16, sbuf>
  %u = penguin.alloc : <64x600xbf16, sbuf>
  penguin.memset @A %t {value = 2.0}
  // CHECK-NEXT: %broadcast = penguin.alloc : <64x512xf32, psum>
  // CHECK-NEXT: penguin.matmul %broadcast <- %ones[0, 0][1 x 1, 1 x 64], %t[0, 0][1 x 1, 1 x 512] {accumulate = overwrite, engine = PE, after = [flow "A"]}
  // CHECK-NEXT: penguin.tensor_copy %u[0, 0][1 x 64, 1 x 512] <- %broadcast {engine = Activation, after = [flow "A"]}
  // CHECK-NEXT: %broadcast_1 = penguin.alloc : <64x88xf32, psum>
  // CHECK-NEXT: penguin.matmul %broadcast_1 <- %ones[0, 0][1 x 1, 1 x 64], %t[0, 512][1 x 1, 1 x 88] {accumulate = overwrite, engine = PE, after = [flow "A"]}
  // CHECK-NEXT: penguin.tensor_copy @B %u[0, 512][1 x 64, 1 x 88] <- %broadcast_1 {engine = Activation, after = [flow "A"]}
  penguin.tensor_copy @B %u <- %t[0, 0][0 x 64, 1 x 600] {engine = Activation, after = [flow "A"]}
  // CHECK:      penguin.matmul %broadcast_2 <- %ones[0, 0][1 x 1, 1 x 64]
  penguin.tensor_copy %u[0, 0][1 x 64, 1 x 8] <- %t[0, 0][0 x 64, 1 x 8]
  penguin.return
}

// A row chosen by a loop, of which every second element is taken.
// CHECK-LABEL: penguin.func @rolled
penguin.func @rolled() {
  %t = penguin.alloc : <64x8xf32, sbuf>
  %u = penguin.alloc : <32x4xf32, sbuf>
  penguin.for parallel %i = 0 to 2 {
    // CHECK:      penguin.matmul %broadcast <- %ones[0, 0][1 x 1, 1 x 32], %t[%i * 32, 1][1 x 1, 2 x 4] {accumulate = overwrite, engine = PE}
    // CHECK-NEXT: penguin.tensor_copy %u[0, 0][1 x 32, 1 x 4] <- %broadcast
    penguin.tensor_copy %u <- %t[%i * 32, 1][0 x 32, 2 x 4]
  }
  penguin.return
}

// What the tensor engine would change, or what is no broadcast, stays.
// CHECK-LABEL: penguin.func @others
penguin.func @others() {
  %t = penguin.alloc : <32x8xi32, sbuf>
  %u = penguin.alloc : <32x8xi32, sbuf>
  %f = penguin.alloc : <32x8xf32, sbuf>
  %g = penguin.alloc : <32x8xf32, sbuf>
  %p = penguin.alloc : <32x8xf32, psum>
  // CHECK:      penguin.tensor_copy %u <- %t[0, 0][0 x 32, 1 x 8]
  // CHECK-NEXT: penguin.tensor_copy %g <- %f
  // CHECK-NEXT: penguin.tensor_copy %g <- %p[0, 0][0 x 32, 1 x 8]
  // CHECK-NEXT: penguin.tensor_copy %g <- %f[0, 0][0 x 32, 1 x 8] where 4 - l0 >= 0
  penguin.tensor_copy %u <- %t[0, 0][0 x 32, 1 x 8]
  penguin.tensor_copy %g <- %f
  penguin.tensor_copy %g <- %p[0, 0][0 x 32, 1 x 8]
  penguin.tensor_copy %g <- %f[0, 0][0 x 32, 1 x 8] where 4 - l0 >= 0
  penguin.return
}
}
