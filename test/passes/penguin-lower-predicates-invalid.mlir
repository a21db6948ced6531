// RUN: neuron-opt -p penguin-lower-predicates --verify-diagnostics --split-input-file %s

penguin.func @rows_and_columns() {
  %s = penguin.alloc : <128x128xbf16, sbuf>
  %m = penguin.alloc : <128x64xbf16, sbuf>
  %p = penguin.alloc : <128x64xf32, psum>
  // expected-error @below {{mask 'l1 - l2 >= 0' couples the stationary and the moving operand; mask one operand, or copy the result under the mask}}
  penguin.matmul %p <- %s, %m where l1 - l2 >= 0
  penguin.return
}

// -----

penguin.func @remainder() {
  %t = penguin.alloc : <128x64xf32, sbuf>
  %r = penguin.alloc : <128x1xf32, sbuf>
  penguin.for parallel %i = 0 to 4 {
    // expected-error @below {{mask takes a remainder of 'd0 + l0', whose least value has several bounds; whether it holds anywhere cannot be stated}}
    penguin.tensor_reduce max %r <- %t where l0 - 3 >= 0 and (l0 + %i) mod 2 - 1 >= 0 {axes = [1]}
  }
  penguin.return
}
