// RUN: neuron-opt %s | neuron-opt | filecheck %s

// Near misses of movement-invalid.mlir: one step inside each rule.

// CHECK: builtin.module
builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK-NEXT: %a = penguin.alloc : <1000000xu8, hbm>
  %a = penguin.alloc : <1000000xu8, hbm>
  %c = penguin.alloc : <600000000xf32, hbm>
  // CHECK: %full = penguin.alloc : <128x53246xf32, sbuf>
  %full = penguin.alloc : <128x53246xf32, sbuf>
  // CHECK-NEXT: %banks = penguin.alloc : <1x4096xf32, psum>
  %banks = penguin.alloc : <1x4096xf32, psum>
  %t = penguin.alloc : <64x64xf32, sbuf>
  %p = penguin.alloc : <64x64xf32, psum>
  %u = penguin.alloc : <2x128xu8, sbuf>
  %f = penguin.alloc : <2x1xf32, sbuf>
  %o = penguin.alloc : <64x32xf32, sbuf>
  %i = penguin.alloc : <64x32xu32, sbuf>
  // Six dimensions of which two are one.
  // CHECK: penguin.dma_copy %u[0, 0][1 x 2, 1 x 32] <- %a[0][1000 x 2, 200 x 2, 50 x 2, 20 x 2, 6 x 2, 3 x 2]
  penguin.dma_copy %u[0, 0][1 x 2, 1 x 32] <- %a[0][1000 x 2, 200 x 2, 50 x 2, 20 x 2, 6 x 2, 3 x 2]
  // Runs of one element, backwards.
  // CHECK-NEXT: penguin.dma_copy %u[0, 0][1 x 2, 1 x 32] <- %a[999][100 x 2, -7 x 32]
  penguin.dma_copy %u[0, 0][1 x 2, 1 x 32] <- %a[999][100 x 2, -7 x 32]
  // CHECK-NEXT: penguin.dma_copy %f <- %c[0][500000000 x 2, 1 x 1]
  penguin.dma_copy %f <- %c[0][500000000 x 2, 1 x 1]
  // In place: the same pattern, an own column, disjoint columns, PSUM.
  // CHECK-NEXT: penguin.tensor_tensor add %t <- %t, %t
  penguin.tensor_tensor add %t <- %t, %t
  // CHECK-NEXT: penguin.tensor_scalar_ptr subtract %t <- %t, scalar0 = %t[0, 3][1 x 64, 1 x 1]
  penguin.tensor_scalar_ptr subtract %t <- %t, scalar0 = %t[0, 3][1 x 64, 1 x 1]
  // CHECK-NEXT: penguin.tensor_copy %t[0, 1][1 x 64, 2 x 32] <- %t[0, 0][1 x 64, 2 x 32]
  penguin.tensor_copy %t[0, 1][1 x 64, 2 x 32] <- %t[0, 0][1 x 64, 2 x 32]
  // CHECK-NEXT: penguin.tensor_copy %t[0, 0][1 x 64, 32 x 2, 1 x 32] <- %t
  penguin.tensor_copy %t[0, 0][1 x 64, 32 x 2, 1 x 32] <- %t
  // CHECK-NEXT: penguin.tensor_copy %p[0, 1][1 x 64, 1 x 63] <- %p[0, 0][1 x 64, 1 x 63]
  penguin.tensor_copy %p[0, 1][1 x 64, 1 x 63] <- %p[0, 0][1 x 64, 1 x 63]
  // CHECK-NEXT: penguin.transpose %t[0, 32][1 x 32, 1 x 32] <- %t[0, 0][1 x 32, 1 x 32] {engine = DVE}
  penguin.transpose %t[0, 32][1 x 32, 1 x 32] <- %t[0, 0][1 x 32, 1 x 32] {engine = DVE}
  // CHECK-NEXT: penguin.pool_gather %o <- %t[0, 0][1 x 64, 32 x 2, 16 x 2, 1 x 16], %i where 40 - l0 >= 0
  penguin.pool_gather %o <- %t[0, 0][1 x 64, 32 x 2, 16 x 2, 1 x 16], %i where 40 - l0 >= 0
  // CHECK-NEXT: penguin.pool_gather %o <- %t, %i where l0 - 32 >= 0
  penguin.pool_gather %o <- %t, %i where l0 - 32 >= 0
  // CHECK-NEXT: penguin.dma_copy %o <- %t[0, 0][1 x 64, 1 x 32] {dge = hwdge, rmw_op = bypass, dma_qos = P3}
  penguin.dma_copy %o <- %t[0, 0][1 x 64, 1 x 32] {dge = hwdge, rmw_op = bypass, dma_qos = P3}
}
