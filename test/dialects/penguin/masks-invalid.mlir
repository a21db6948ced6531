// RUN: neuron-opt %s --split-input-file --verify-diagnostics

// Masks that no lowering can carry.

penguin.func @rows_and_columns() {
  %s = penguin.alloc : <128x128xbf16, sbuf>
  %m = penguin.alloc : <128x64xbf16, sbuf>
  %p = penguin.alloc : <128x64xf32, psum>
  // near miss: `l1 - l2` -> `l1 - l0`
  // expected-error @below {{mask 'l1 - l2 >= 0' couples the stationary and the moving operand; mask one operand, or copy the result under the mask}}
  penguin.matmul %p <- %s, %m where l1 - l2 >= 0
  penguin.return
}

// -----

penguin.func @remainder() {
  %t = penguin.alloc : <128x64xbf16, sbuf>
  %r = penguin.alloc : <128x1xbf16, sbuf>
  %p = penguin.alloc : <64x64xf32, psum>
  penguin.for parallel %i = 0 to 4 {
    // near miss: `l0 - %i * 3` -> `l0 - 3`
    // expected-error @below {{mask takes a remainder of 'd0 + l0', whose least value has several bounds; whether it holds anywhere cannot be stated}}
    penguin.tensor_reduce max %r <- %t where l0 - %i * 3 >= 0 and (l0 + %i) mod 2 - 1 >= 0 {axes = [1]}
    // near miss: `l2 - %i` -> `l2 - 3`
    // expected-error @below {{mask takes a remainder of 'd0 + l2', whose least value has several bounds; whether it holds anywhere cannot be stated}}
    penguin.matmul %p <- %t, %t where l2 - %i >= 0 and (l2 + %i) mod 2 - 1 >= 0
  }
  penguin.return
}

// -----

penguin.func @columns_of_several_dimensions() {
  %t = penguin.alloc : <32x16xf32, sbuf>
  %p = penguin.alloc : <16x4x8xf32, psum>
  // near miss: `l0 - l1` -> `l0 - 1`
  // expected-error @below {{mask is more than a box of accesses, which takes a destination of two dimensions, got [16, 4, 8]; copy the result under the mask}}
  penguin.transpose %p <- %t where l0 - l1 >= 0
  penguin.return
}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @first_rows_of_a_product() {
  %s = penguin.alloc : <128x128xbf16, sbuf>
  %m = penguin.alloc : <128x64xbf16, sbuf>
  %p = penguin.alloc : <128x64xf32, psum>
  // near miss: `l1 - 2` -> `63 - l1`
  // expected-error @below {{mask leaves out the first partitions of 'dst' (p: f32[128, 64] in psum): expected an access of 126 partitions to start at partition 0, got 2; multiply all rows, then copy the result under the mask}}
  penguin.matmul %p <- %s, %m where l1 - 2 >= 0
  penguin.for parallel %i = 0 to 4 {
    // near miss: `%i * 16` -> `%i * 32`
    // expected-error @below {{expected an access of 48 partitions to start at partition 0 or 64, got 16; multiply all rows}}
    penguin.matmul %p <- %s, %m where l1 - %i * 16 >= 0 and %i * 32 + 31 - l1 >= 0
    // The only iteration in which the mask holds is one where it may.
    penguin.matmul %p <- %s, %m where l1 - %i * 16 >= 0 and %i - 2 >= 0 and 2 - %i >= 0 and 63 - l1 >= 0
  }
  penguin.for parallel %i = 0 to 32 {
    penguin.for parallel %j = 0 to 1024 {
      // near miss: `l1 - %i * 32 + %j` -> `99 - l1`
      // expected-error @below {{the first row depends on loops whose iterations are not all known}}
      penguin.matmul %p <- %s, %m where l1 - %i * 32 + %j >= 0
    }
  }
  penguin.return
}
}

// -----

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
penguin.func @first_rows_of_a_chain() {
  %t = penguin.alloc : <128x64xf32, sbuf>
  %s = penguin.alloc : <128x1xf32, sbuf>
  // Nobody reads the accumulators of the other engine.
  penguin.activation_accumulation Exp %t <- %t, reduce_res = %s where l0 - 3 >= 0
  penguin.tensor_scalar_cache_reduce mult add %t <- %t where l0 - 32 >= 0 and 63 - l0 >= 0 {imm0 = 2.0}
  // near miss: `l0 - 3` -> `3 - l0`
  // expected-error @below {{accumulators of engine DVE are read, and the mask of 'penguin.tensor_scalar_cache_reduce' leaves out the first partitions: expected an access of 125 partitions to start at partition 0, got 3; accumulate all rows, and mask what is copied out of them}}
  penguin.tensor_scalar_cache_reduce mult add %t <- %t where l0 - 3 >= 0 {imm0 = 2.0}
  // near miss: `AddAccumulate` -> `ZeroAccumulate`
  // expected-error @below {{accumulators of engine DVE are read, and the mask of 'penguin.tensor_scalar_cache_reduce' leaves out}}
  penguin.tensor_scalar_cache_reduce mult add %t <- %t, reduce_res = %s {imm0 = 2.0, command = AddAccumulate}
  penguin.return
}
}

// -----

penguin.func @difference() {
  %t = penguin.alloc : <32x16xf32, sbuf>
  %r = penguin.alloc : <32x1xf32, sbuf>
  // near miss: `l0 - l1` -> `l1 - 3`
  // expected-error @below {{mask 'l0 - l1 >= 0' does not bound one dimension by itself; subtract starts with the first element, use add and negate}}
  penguin.tensor_reduce subtract %r <- %t where l0 - l1 >= 0 {axes = [1]}
  penguin.return
}
