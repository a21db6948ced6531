// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// Batch normalisation.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK-LABEL: penguin.func @statistics
  penguin.func @statistics() {
    %x = penguin.alloc : <128x512xbf16, sbuf>
    %dy = penguin.alloc : <128x512xbf16, sbuf>
    %s = penguin.alloc : <128x6xf32, sbuf>
    %m = penguin.alloc : <128x2xf32, sbuf>
    %g = penguin.alloc : <128x3xf32, sbuf>
    // CHECK: penguin.sunda_bn_stats %s <- %x where 99 - l0 >= 0
    penguin.sunda_bn_stats %s <- %x where 99 - l0 >= 0
    // CHECK-NEXT: penguin.sunda_bn_aggr %m <- %s
    penguin.sunda_bn_aggr %m <- %s
    // CHECK-NEXT: penguin.bn_gradients %g <- %x, %dy, %m[0, 0][1 x 128, 1 x 1], %m[0, 1][1 x 128, 1 x 1]
    penguin.bn_gradients %g <- %x, %dy, %m[0, 0][1 x 128, 1 x 1], %m[0, 1][1 x 128, 1 x 1]
    // CHECK-NEXT: penguin.bn_backprop %dy <- %x, %dy, %m[0, 0][1 x 128, 1 x 1], %g {total_elements = 512.0}
    penguin.bn_backprop %dy <- %x, %dy, %m[0, 0][1 x 128, 1 x 1], %g {total_elements = 512.0}
    // CHECK-NEXT: penguin.bn_backprop2 %dy <- %x, %dy, %m[0, 0][1 x 128, 1 x 1], %g[0, 0][1 x 128, 1 x 1], %m where 99 - l0 >= 0 {total_elements = 512.0, engine = Pool}
    penguin.bn_backprop2 %dy <- %x, %dy, %m[0, 0][1 x 128, 1 x 1], %g[0, 0][1 x 128, 1 x 1], %m where 99 - l0 >= 0 {total_elements = 512.0, engine = Pool}
    penguin.return
  }
}
