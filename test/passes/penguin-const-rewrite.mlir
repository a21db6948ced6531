// RUN: neuron-opt -p penguin-const-rewrite %s | filecheck %s
// RUN: neuron-opt -p penguin-const-rewrite,penguin-const-rewrite %s | filecheck %s

// Identical constants are one, an identity and a number are recognised in bytes, a
// number loaded whole is a memset, what is not used goes away.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
// CHECK-LABEL: penguin.func @f
penguin.func @f(inout o = %o: !neuron.tensor<4x4xbf16, hbm>) {
  // CHECK-NEXT: %inner = penguin.constant bytes "AAECAwQFBgc=" : <2x4xu8, hbm>
  // CHECK-NEXT: %eye = penguin.constant identity : <4x4xbf16, hbm>
  // CHECK-NEXT: %nan = penguin.constant bytes "AQDAfwEAwH8=" : <2xf32, hbm>
  // CHECK-NEXT: %half = penguin.constant splat 1.5 : <2x4xf32, hbm>
  // CHECK-NEXT: %n = penguin.constant splat 7 : <2x1xi32, hbm>
  // CHECK-NOT: penguin.constant
  %eye = penguin.constant bytes "gD8AAAAAAAAAAIA/AAAAAAAAAACAPwAAAAAAAAAAgD8=" : <4x4xbf16, hbm>
  %again = penguin.constant identity : <4x4xbf16, hbm>
  %unused = penguin.constant identity : <8x8xbf16, hbm>
  %nan = penguin.constant bytes "AQDAfwEAwH8=" : <2xf32, hbm>
  %half = penguin.constant bytes "AADAPwAAwD8AAMA/AADAPwAAwD8AAMA/AADAPwAAwD8=" : <2x4xf32, hbm>
  %negative = penguin.constant bytes "AAAAgAAAAIAAAACAAAAAgA==" : <2x2xf32, hbm>
  %n = penguin.constant bytes "BwAAAAcAAAA=" : <2x1xi32, hbm>
  // CHECK: %a = penguin.alloc : <4x4xbf16, sbuf>
  %a = penguin.alloc : <4x4xbf16, sbuf>
  %b = penguin.alloc : <4x4xbf16, sbuf>
  %s = penguin.alloc : <2x4xf32, sbuf>
  %z = penguin.alloc : <2x2xf32, sbuf>
  %m = penguin.alloc : <3x4xf32, sbuf>
  %q = penguin.alloc : <1x2xf32, sbuf>
  %k = penguin.alloc : <2x1xi32, sbuf>
  %w = penguin.alloc : <2x1xf32, sbuf>
  // CHECK: penguin.sb_atom_load %a <- %eye
  penguin.sb_atom_load %a <- %eye
  // CHECK-NEXT: penguin.dma_copy %b <- %eye
  penguin.dma_copy %b <- %again
  // CHECK-NEXT: penguin.memset @fill %s where 2 - l1 >= 0 {value = 1.5}
  penguin.sb_atom_load @fill %s <- %half where 2 - l1 >= 0 {dma_qos = P1}
  // CHECK-NEXT: penguin.memset %z {value = -0.0}
  penguin.dma_copy %z <- %negative
  // An engine cannot write from partition 1, a DMA can.
  // CHECK-NEXT: penguin.dma_copy %m[1, 0][1 x 2, 1 x 4] <- %half
  penguin.dma_copy %m[1, 0][1 x 2, 1 x 4] <- %half
  // Added, read in part, or of another type: the load stays.
  // CHECK-NEXT: penguin.dma_copy %s <- %half {rmw_op = add}
  penguin.dma_copy %s <- %half {rmw_op = add}
  // CHECK-NEXT: penguin.sb_atom_load %q <- %half[2][1 x 1, 1 x 2]
  penguin.sb_atom_load %q <- %half[2][1 x 1, 1 x 2]
  // CHECK-NEXT: penguin.sb_atom_load %w <- %n
  penguin.sb_atom_load %w <- %n
  // CHECK-NEXT: penguin.memset %k {value = 7}
  penguin.sb_atom_load %k <- %n
  // CHECK-NEXT: penguin.sb_atom_load %q[0, 0][1 x 1, 1 x 2] <- %nan[0][2 x 1, 1 x 2]
  penguin.sb_atom_load %q[0, 0][1 x 1, 1 x 2] <- %nan[0][2 x 1, 1 x 2]
  // CHECK-NEXT: penguin.for parallel
  penguin.for parallel %i = 0 to 2 {
    %inner = penguin.constant bytes "AAECAwQFBgc=" : <2x4xu8, hbm>
    %t = penguin.alloc : <2x4xu8, sbuf>
    // CHECK: penguin.sb_atom_load %t <- %inner
    penguin.sb_atom_load %t <- %inner
  }
  %last = penguin.constant bytes "AAECAwQFBgc=" : <2x4xu8, hbm>
  %u = penguin.alloc : <2x4xu8, sbuf>
  // CHECK: penguin.sb_atom_load %u <- %inner
  penguin.sb_atom_load %u <- %last
  penguin.sb_atom_store %o <- %a
  penguin.return
}
}
