// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// Indices from data.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK-LABEL: penguin.func @index
  penguin.func @index() {
    %a = penguin.alloc : <128x64xf32, sbuf>
    %n = penguin.alloc : <128x65xi32, sbuf>
    %s = penguin.alloc : <1x64xi32, sbuf>
    %b = penguin.alloc : <1x2x64xf32, sbuf>
    // CHECK: penguin.nonzero_with_count %n <- %a
    penguin.nonzero_with_count %n <- %a
    // CHECK-NEXT: penguin.nonzero_with_count %n <- %a {index_offset = 64, padding = 0, engine = Pool}
    penguin.nonzero_with_count %n <- %a {index_offset = 64, padding = 0, engine = Pool}
    // CHECK-NEXT: penguin.get_sequence_bounds %b <- %s
    penguin.get_sequence_bounds %b <- %s
    penguin.return
  }
}
