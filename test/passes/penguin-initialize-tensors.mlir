// RUN: neuron-opt -p penguin-initialize-tensors %s | filecheck %s

builtin.module attributes {neuron.target = #neuron.target<trn2>} {

// CHECK-LABEL: penguin.func @tiles
penguin.func @tiles(a = %a: !neuron.tensor<300x1000xf32, hbm>) {
  %c = penguin.alloc : <300x1000xf32, hbm>
  // Written before it is read.
  // CHECK:      %w = penguin.alloc : <128x64xf32, sbuf>
  // CHECK-NEXT: penguin.memset %w {value = 1.0}
  %w = penguin.alloc init 0.0 : <128x64xf32, sbuf>
  penguin.memset %w {value = 1.0}
  // Half of it is not.
  // CHECK:      %h = penguin.alloc : <128x64xi32, sbuf>
  // CHECK-NEXT: penguin.memset %h {value = 5}
  %h = penguin.alloc init 5.0 : <128x64xi32, sbuf>
  penguin.memset %h[0, 0][1 x 128, 2 x 32] {value = 1}
  penguin.tensor_copy %w <- %h
  // Two writes together cover it.
  // CHECK:      %g = penguin.alloc : <128x64xi32, sbuf>
  // CHECK-NEXT: penguin.memset %g[0, 0]
  %g = penguin.alloc init 5.0 : <128x64xi32, sbuf>
  penguin.memset %g[0, 0][1 x 128, 2 x 32] {value = 1}
  penguin.memset %g[0, 1][1 x 128, 2 x 32] {value = 2}
  penguin.tensor_copy %w <- %g
  // The last tile of a ragged tensor only.
  // CHECK:      %t = penguin.alloc : <128x1000xf32, sbuf>
  // CHECK-NEXT: penguin.memset %t where %i - 2 >= 0 {value = 0.0}
  penguin.for parallel %i = 0 to 3 {
    %t = penguin.alloc init 0.0 : <128x1000xf32, sbuf>
    penguin.sb_atom_load %t <- %a[%i * 128000][1000 x 128, 1 x 1000] where 299 - %i * 128 - l0 >= 0
    penguin.activation Exp %t <- %t
    penguin.sb_atom_store %c[%i * 128000][1000 x 128, 1 x 1000] <- %t where 299 - %i * 128 - l0 >= 0
  }
  penguin.return c = %c
}

// Blocks that do not fit together are set one by one.
// CHECK-LABEL: penguin.func @blocks
penguin.func @blocks() {
  %o = penguin.alloc : <128x4096xf32, sbuf>
  // CHECK:      %a = penguin.alloc blocks 2 : <128x2x4096xf32, psum>
  // CHECK-NEXT: penguin.memset %a[0, 0][1 x 128, 1 x 4096] {value = 0.0}
  // CHECK-NEXT: penguin.memset %a[0, 4096][1 x 128, 1 x 4096] {value = 0.0}
  %a = penguin.alloc blocks 2 init 0.0 : <128x2x4096xf32, psum>
  penguin.tensor_copy %o <- %a[0, 0][1 x 128, 1 x 4096]
  penguin.tensor_copy %o <- %a[0, 4096][1 x 128, 1 x 4096]
  penguin.return
}

// A tile that matmuls find fresh keeps it that way; what they do not reach is set.
// CHECK-LABEL: penguin.func @psum
penguin.func @psum() {
  %s = penguin.alloc : <128x128xbf16, sbuf>
  %m = penguin.alloc : <128x512xbf16, sbuf>
  %x = penguin.alloc : <128x512xf32, sbuf>
  // CHECK:      %p = penguin.alloc : <128x512xf32, psum>
  // CHECK-NEXT: %q = penguin.alloc : <128x512xf32, psum>
  // CHECK-NEXT: penguin.memset %q[0, 400][1 x 128, 1 x 112] {value = 0.0}
  // CHECK-NEXT: penguin.for
  %p = penguin.alloc init 0.0 : <128x512xf32, psum>
  %q = penguin.alloc init 0.0 : <128x512xf32, psum>
  penguin.for sequential %k = 0 to 40 {
    penguin.matmul %p <- %s, %m
    penguin.matmul %q[0, 0][1 x 128, 1 x 400] <- %s, %m[0, 0][1 x 128, 1 x 400]
  }
  penguin.tensor_tensor add %x <- %x, %p
  penguin.tensor_tensor add %x <- %x, %q
  penguin.return
}

// CHECK-LABEL: penguin.func @hbm
penguin.func @hbm(a = %a: !neuron.tensor<8x4xf32, hbm>) {
  // CHECK:      %c = penguin.alloc : <8x4xf32, hbm>
  // CHECK-NEXT: %d = penguin.alloc : <513x2xbf16, hbm>
  // CHECK-NEXT: %fill = penguin.alloc : <128x8xbf16, sbuf>
  // CHECK-NEXT: penguin.memset %fill {value = 1.0}
  // CHECK-NEXT: penguin.dma_copy %d[0][8 x 128, 8 x 1, 1 x 8] <- %fill[0, 0][1 x 128, 0 x 1, 1 x 8]
  // CHECK-NEXT: penguin.dma_copy %d[1024][1 x 2, 1 x 1] <- %fill[0, 0][1 x 2, 1 x 1]
  %c = penguin.alloc init 0.0 : <8x4xf32, hbm>
  %d = penguin.alloc init 1.0 : <513x2xbf16, hbm>
  penguin.dma_copy %c <- %a
  penguin.return c = %c, d = %d
}
}
