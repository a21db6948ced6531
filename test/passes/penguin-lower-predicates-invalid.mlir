// RUN: neuron-opt -p penguin-lower-predicates --verify-diagnostics --split-input-file %s

penguin.func @rows_and_columns() {
  %s = penguin.alloc : <128x128xbf16, sbuf>
  %m = penguin.alloc : <128x64xbf16, sbuf>
  %p = penguin.alloc : <128x64xf32, psum>
  // expected-error @below {{mask 'l1 - l2 >= 0' couples the stationary and the moving operand; mask one operand, or copy the result under the mask}}
  penguin.matmul %p <- %s, %m where l1 - l2 >= 0
  penguin.return
}
