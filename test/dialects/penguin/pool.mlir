// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// Reductions over partitions and windows.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK-LABEL: penguin.func @pool
  penguin.func @pool() {
    %a = penguin.alloc : <128x16x16xf32, sbuf>
    %n = penguin.alloc : <128x256xu16, sbuf>
    %r = penguin.alloc : <1x256xf32, sbuf>
    %m = penguin.alloc : <1x256xu16, sbuf>
    %w = penguin.alloc : <128x8x8xbf16, sbuf>
    // CHECK: penguin.partition_reduce add %r <- %a
    penguin.partition_reduce add %r <- %a
    // CHECK-NEXT: penguin.partition_reduce bitwise_or %m <- %n {engine = Pool}
    penguin.partition_reduce bitwise_or %m <- %n {engine = Pool}
    // CHECK-NEXT: penguin.pool average %w <- %a[0, 0][1 x 128, 32 x 8, 2 x 8, 16 x 2, 1 x 2]
    penguin.pool average %w <- %a[0, 0][1 x 128, 32 x 8, 2 x 8, 16 x 2, 1 x 2]
    // CHECK-NEXT: penguin.pool max %r[0, 0][1 x 1] <- %a[0, 0][1 x 1, 16 x 16, 1 x 16]
    penguin.pool max %r[0, 0][1 x 1] <- %a[0, 0][1 x 1, 16 x 16, 1 x 16]
    penguin.return
  }
}
