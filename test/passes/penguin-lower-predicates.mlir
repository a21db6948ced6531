// RUN: neuron-opt -p penguin-lower-predicates %s | filecheck %s

builtin.module attributes {neuron.target = #neuron.target<trn2>} {

// CHECK-LABEL: penguin.func @elementwise
penguin.func @elementwise() {
  %t = penguin.alloc : <128x64xf32, sbuf>
  %u = penguin.alloc : <128x64xbf16, sbuf>
  %p = penguin.alloc : <128x64xi32, psum>
  %x = penguin.alloc : <128x64xi32, sbuf>
  penguin.for parallel %i = 0 to 4 {
    // A box stays a box.
    // CHECK:      penguin.memset @L %t where 99 - l0 >= 0 and %i - 1 >= 0 {value = 1.0}
    penguin.memset @L %t where 99 - l0 >= 0 and %i - 1 >= 0 {value = 1.0}

    // Two lanes and a remainder: two mask tiles, joined; the box stays on all of them,
    // and the last operation has the name.
    // CHECK-NEXT: %mask = penguin.alloc : <128x64xi32, sbuf>
    // CHECK-NEXT: penguin.index_value %mask where 99 - l0 >= 0 {value = %i + l0 - l1}
    // CHECK-NEXT: penguin.tensor_scalar_ptr is_ge %mask <- %mask where 99 - l0 >= 0 {imm0 = 0}
    // CHECK-NEXT: %mask_1 = penguin.alloc : <128x64xi32, sbuf>
    // CHECK-NEXT: penguin.index_value %mask_1 where 99 - l0 >= 0 {value = (l1) mod 3 - 1}
    // CHECK-NEXT: penguin.tensor_scalar_ptr is_ge %mask_1 <- %mask_1 where 99 - l0 >= 0 {imm0 = 0}
    // CHECK-NEXT: penguin.tensor_tensor logical_and %mask <- %mask, %mask_1 where 99 - l0 >= 0
    // CHECK-NEXT: %scratch = penguin.alloc : <128x64xbf16, sbuf>
    // CHECK-NEXT: penguin.tensor_scalar_ptr mult %scratch <- %t where 99 - l0 >= 0 {imm0 = 2.0, after = [flow "L"]}
    // CHECK-NEXT: penguin.tensor_copy_predicated @X %u <- %mask[0, 0][1 x 128, 1 x 64] as u32, src = %scratch where 99 - l0 >= 0 {after = [flow "L"]}
    penguin.tensor_scalar_ptr @X mult %u <- %t where 99 - l0 >= 0 and l0 - l1 + %i >= 0 and (l1) mod 3 - 1 >= 0 {imm0 = 2.0, after = [flow "L"]}

    // A constant needs no scratch tile.
    // CHECK-NEXT: %mask_2 = penguin.alloc
    // CHECK-NEXT: penguin.index_value %mask_2 {value = l0 - l1}
    // CHECK-NEXT: penguin.tensor_scalar_ptr is_ge %mask_2 <- %mask_2 {imm0 = 0}
    // CHECK-NEXT: penguin.tensor_copy_predicated %u <- %mask_2[0, 0][1 x 128, 1 x 64] as u32 {imm = 3.0}
    penguin.memset %u where l0 - l1 >= 0 {value = 3.0}

    // What a predicated copy leaves out stays.
    // CHECK:      penguin.tensor_copy %scratch_1 <- %u
    // CHECK-NEXT: penguin.tensor_copy_predicated %scratch_1 <- %x[0, 0][1 x 128, 1 x 64] as u32 {imm = 1.0}
    // CHECK-NEXT: penguin.tensor_copy_predicated %u <- %mask_3[0, 0][1 x 128, 1 x 64] as u32, src = %scratch_1
    penguin.tensor_copy_predicated %u <- %x[0, 0][1 x 128, 1 x 64] as u32 where l0 - l1 >= 0 {imm = 1.0}

    // Into PSUM these integers go through fp32, as GpSIMD does not reach it.
    // CHECK:      penguin.tensor_tensor add %scratch_2 <- %x, %x {engine = DVE}
    // CHECK-NEXT: penguin.tensor_copy_predicated %p <- %mask_4[0, 0][1 x 128, 1 x 64] as u32, src = %scratch_2
    penguin.tensor_tensor add %p <- %x, %x where l0 - l1 >= 0
  }
  penguin.return
}

// No access of 125 partitions starts at partition 3; one of 32 starts at 32.
// CHECK-LABEL: penguin.func @partition_start
penguin.func @partition_start() {
  %t = penguin.alloc : <128x64xf32, sbuf>
  // CHECK:      penguin.index_value %mask {value = l0 - 3}
  // CHECK:      penguin.tensor_copy_predicated %t <- %mask[0, 0][1 x 128, 1 x 64] as u32 {imm = 1.0}
  penguin.memset %t where l0 - 3 >= 0 {value = 1.0}
  // CHECK-NEXT: penguin.memset %t where l0 - 32 >= 0 and 63 - l0 >= 0 {value = 2.0}
  penguin.memset %t where l0 - 32 >= 0 and 63 - l0 >= 0 {value = 2.0}

  // Whole rows: those in front are worked on as well, and every result is copied. The
  // first one has the name; columns of the mask say nothing of the sums.
  // CHECK:      penguin.index_value %mask_1 where 9 - l1 >= 0 {value = l0 - 3}
  // CHECK:      penguin.index_value %mask_2 {value = l0 - 3}
  // CHECK:      penguin.tensor_scalar_cache_reduce mult add %scratch <- %t, reduce_res = %scratch_1 where 9 - l1 >= 0 {imm0 = 2.0}
  // CHECK-NEXT: penguin.tensor_copy_predicated @S %t <- %mask_1[0, 0][1 x 128, 1 x 64] as u32, src = %scratch where 9 - l1 >= 0
  // CHECK-NEXT: penguin.tensor_copy_predicated %s <- %mask_2[0, 0][1 x 128, 1 x 1] as u32, src = %scratch_1
  %s = penguin.alloc : <128x1xf32, sbuf>
  penguin.tensor_scalar_cache_reduce @S mult add %t <- %t, reduce_res = %s where l0 - 3 >= 0 and 9 - l1 >= 0 {imm0 = 2.0}

  // A reduction beside a triangle: its identity is read within the rows that are kept.
  // CHECK:      penguin.tensor_copy_predicated %scratch_3 <- %mask_4[0, 0][1 x 128, 1 x 64] as u32 {imm = 0.0, reverse}
  // CHECK-NEXT: penguin.tensor_reduce add %scratch_2 <- %scratch_3 {axes = [1]}
  // CHECK-NEXT: penguin.tensor_copy_predicated %s <- %mask_3[0, 0][1 x 128, 1 x 1] as u32, src = %scratch_2
  penguin.tensor_reduce add %s <- %t where l0 - 3 >= 0 and l0 - l1 + 9 >= 0 {axes = [1]}
  penguin.return
}

// The left-out places read the identity; where none is left the instruction is not
// executed.
// CHECK-LABEL: penguin.func @reduction
penguin.func @reduction() {
  %t = penguin.alloc : <128x64xbf16, sbuf>
  %r = penguin.alloc : <128x1xbf16, sbuf>
  penguin.for parallel %i = 0 to 4 {
    // CHECK:      penguin.index_value %mask where 99 - l0 >= 0 {value = l0 - %i * 50 - l1}
    // CHECK:      %scratch = penguin.alloc : <128x64xf32, sbuf>
    // CHECK-NEXT: penguin.tensor_copy %scratch <- %t where 99 - l0 >= 0
    // CHECK-NEXT: penguin.tensor_copy_predicated %scratch <- %mask[0, 0][1 x 128, 1 x 64] as u32 where 99 - l0 >= 0 {imm = -inf, reverse}
    // CHECK-NEXT: penguin.tensor_reduce @R max %r <- %scratch where 99 - l0 >= 0 and 99 - %i * 50 >= 0 {axes = [1]}
    penguin.tensor_reduce @R max %r <- %t where 99 - l0 >= 0 and l0 - l1 - %i * 50 >= 0 {axes = [1]}
  }
  penguin.return
}

// Indices in front may be out of range: they are 0.
// CHECK-LABEL: penguin.func @gather
penguin.func @gather() {
  %t = penguin.alloc : <128x64xf32, sbuf>
  %i = penguin.alloc : <128x8xu32, sbuf>
  %o = penguin.alloc : <128x8xf32, sbuf>
  // CHECK:      penguin.tensor_copy %scratch_1 <- %i where 5 - l1 >= 0
  // CHECK-NEXT: penguin.tensor_copy_predicated %scratch_1 <- %mask_1[0, 0][1 x 128, 1 x 8] as u32 where 5 - l1 >= 0 {imm = 0, reverse}
  // CHECK-NEXT: penguin.pool_gather %scratch <- %t, %scratch_1 where 5 - l1 >= 0
  // CHECK-NEXT: penguin.tensor_copy_predicated %o <- %mask[0, 0][1 x 128, 1 x 8] as u32, src = %scratch where 5 - l1 >= 0
  penguin.pool_gather %o <- %t, %i where l0 - 3 >= 0 and 5 - l1 >= 0
  penguin.return
}

// Rows of a chain of accumulators stay a box, those of others do not where a loop moves
// them.
// CHECK-LABEL: penguin.func @chain
penguin.func @chain() {
  %t = penguin.alloc : <128x64xf32, sbuf>
  %s = penguin.alloc : <128x1xf32, sbuf>
  penguin.for parallel %i = 0 to 4 {
    // CHECK:      penguin.tensor_scalar_cache_reduce mult add %t <- %t where l0 - %i * 32 >= 0 and %i * 32 - l0 + 31 >= 0 {imm0 = 2.0}
    penguin.tensor_scalar_cache_reduce mult add %t <- %t where l0 - %i * 32 >= 0 and %i * 32 - l0 + 31 >= 0 {imm0 = 2.0}
    // CHECK:      penguin.activation_accumulation Exp %scratch <- %t where %i * 32 - l0 + 31 >= 0
    // CHECK-NEXT: penguin.tensor_copy_predicated %t <- %mask[0, 0][1 x 128, 1 x 64] as u32, src = %scratch where %i * 32 - l0 + 31 >= 0
    penguin.activation_accumulation Exp %t <- %t where l0 - %i * 32 >= 0 and %i * 32 + 31 - l0 >= 0
  }
  penguin.tensor_scalar_cache_reduce mult add %t <- %t, reduce_res = %s {imm0 = 2.0, command = AddAccumulate}
  penguin.return
}

// Lanes are (k, m, n): the first predicate masks the stationary operand only.
// CHECK-LABEL: penguin.func @matmul
penguin.func @matmul() {
  %s = penguin.alloc : <128x128xbf16, sbuf>
  %m = penguin.alloc : <128x64xbf16, sbuf>
  %p = penguin.alloc : <128x64xf32, psum>
  // CHECK:      penguin.index_value %mask {value = l0 - l1}
  // CHECK:      %scratch = penguin.alloc : <128x128xbf16, sbuf>
  // CHECK-NEXT: penguin.tensor_copy %scratch <- %s
  // CHECK-NEXT: penguin.tensor_copy_predicated %scratch <- %mask[0, 0][1 x 128, 1 x 128] as u32 {imm = 0.0, reverse}
  // CHECK-NEXT: penguin.matmul %p <- %scratch, %m
  penguin.matmul %p <- %s, %m where l0 - l1 >= 0
  // CHECK:      penguin.index_value %mask_1 {value = l0 - l1}
  // CHECK:      penguin.matmul %p <- %s, %scratch_1
  penguin.matmul %p <- %s, %m where l0 - l2 >= 0
  // Rows of the result that start where they may stay a box.
  // CHECK:      penguin.matmul %p <- %s, %scratch_2 where l1 - 64 >= 0
  penguin.matmul %p <- %s, %m where l1 - 64 >= 0 and l0 - l2 >= 0
  penguin.return
}

// CHECK-LABEL: penguin.func @dma
penguin.func @dma(a = %a: !neuron.tensor<128x64xf32, hbm>) {
  %t = penguin.alloc : <128x64xf32, sbuf>
  // CHECK:      penguin.sb_atom_load %t <- %a where l0 - l1 >= 0
  penguin.sb_atom_load %t <- %a where l0 - l1 >= 0
  penguin.return
}
}
