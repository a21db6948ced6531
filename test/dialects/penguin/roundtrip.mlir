// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// The text form of every penguin operation: it reads back as itself, from the custom
// and from the generic form.

builtin.module attributes {neuron.target = #neuron.target<trn2>, neuron.version = 1 : i64} {
  // CHECK-LABEL: penguin.func @structure(a = %a: !neuron.tensor<300x1000xf32, hbm>, inout out = %out: !neuron.tensor<300x1000xf32, hbm>) {
  penguin.func @structure(a = %a: !neuron.tensor<300x1000xf32, hbm>, inout out = %out: !neuron.tensor<300x1000xf32, hbm>) {
    // CHECK-NEXT: penguin.for parallel %i = 0 to 3 {
    penguin.for parallel %i = 0 to 3 {
      // CHECK-NEXT: %t = penguin.alloc init 0.0 : <128x1000xf32, sbuf>
      %t = penguin.alloc init 0.0 : <128x1000xf32, sbuf>
      // CHECK-NEXT: penguin.sb_atom_load @I1 %t <- %a[%i * 128000][1000 x 128, 1 x 1000] where 299 - %i * 128 - l0 >= 0
      penguin.sb_atom_load @I1 %t <- %a[%i * 128000][1000 x 128, 1 x 1000] where 299 - %i * 128 - l0 >= 0
      // CHECK-NEXT: penguin.sb_atom_store %out[%i * 128000][1000 x 128, 1 x 1000] <- %t where 299 - %i * 128 - l0 >= 0 {dma_qos = P1, after = [flow "I1"]}
      penguin.sb_atom_store %out[%i * 128000][1000 x 128, 1 x 1000] <- %t where 299 - %i * 128 - l0 >= 0 {dma_qos = P1, after = [flow "I1"]}
    }
    // CHECK: %blocks = penguin.alloc blocks 64 init 0.0 : <128x16x4x512xf32, psum>
    %blocks = penguin.alloc blocks 64 init 0.0 : <128x16x4x512xf32, psum>
    // CHECK: %placed = penguin.alloc blocks 2 at [(0, 0), (32, 2048)] : <64x2x512xf32, psum>
    %placed = penguin.alloc blocks 2 at [(0, 0), (32, 2048)] : <64x2x512xf32, psum>
    // CHECK: penguin.for sequential %j = 2 to 10 step 4 {
    penguin.for sequential %j = 2 to 10 step 4 {
    }
    // CHECK: penguin.return out = %out
    penguin.return out = %out
  }

  // CHECK-LABEL: penguin.func @memory
  penguin.func @memory(inout table = %table: !neuron.tensor<512x64xbf16, hbm>, inout "odd name" = %odd: !neuron.tensor<512x64xf32, hbm>) {
    %index = penguin.alloc : <128x1xu32, sbuf>
    %rows = penguin.alloc : <128x64xbf16, sbuf>
    // CHECK: penguin.dma_copy %rows <- %table[64][64 x 128, 1 x 64] {dge = swdge}
    penguin.dma_copy %rows <- %table[64][64 x 128, 1 x 64] {dge = swdge}
    // CHECK-NEXT: penguin.dma_copy %odd[0][64 x 128, 1 x 64] <- %rows {rmw_op = add}
    penguin.dma_copy %odd[0][64 x 128, 1 x 64] <- %rows {rmw_op = add}
    // CHECK-NEXT: penguin.neuron_indirect_load %rows <- %table[0][64 x 128, 1 x 64], %index {max_index = 512, oob = skip}
    penguin.neuron_indirect_load %rows <- %table[0][64 x 128, 1 x 64], %index {max_index = 512, oob = skip}
    // CHECK-NEXT: penguin.neuron_indirect_save %table[0][64 x 128, 1 x 64] <- %rows, %index {max_index = 512}
    penguin.neuron_indirect_save %table[0][64 x 128, 1 x 64] <- %rows, %index {max_index = 512}
    // CHECK-NEXT: penguin.neuron_indirect_rmw %table[0][64 x 128, 1 x 64] <- %rows, %index {max_index = 512}
    penguin.neuron_indirect_rmw %table[0][64 x 128, 1 x 64] <- %rows, %index {max_index = 512}
    penguin.return
  }

  // CHECK-LABEL: penguin.func @compute
  penguin.func @compute() {
    %a = penguin.alloc : <128x512xf32, sbuf>
    %b = penguin.alloc : <128x512xf32, sbuf>
    %v = penguin.alloc : <128x1xf32, sbuf>
    %n = penguin.alloc : <128x512xi32, sbuf>
    %k = penguin.alloc : <128x512xu8, sbuf>
    %w = penguin.alloc : <128x128xbf16, sbuf>
    %x = penguin.alloc : <128x512xbf16, sbuf>
    %acc = penguin.alloc : <128x512xf32, psum>
    %wt = penguin.alloc : <128x128xbf16, psum>
    penguin.for parallel %i = 0 to 4 {
      // CHECK: penguin.tensor_tensor subtract %a[0, 0][1 x 128, 1 x 416] <- %a[0, 0][1 x 128, 1 x 416], %b[0, %i * 32][1 x 128, 1 x 416] where l1 - l0 >= 0 and 300 - l0 - l1 >= 0 {engine = Pool}
      penguin.tensor_tensor subtract %a[0, 0][1 x 128, 1 x 416] <- %a[0, 0][1 x 128, 1 x 416], %b[0, %i * 32][1 x 128, 1 x 416] where l1 - l0 >= 0 and 300 - l0 - l1 >= 0 {engine = Pool}
    }
    // CHECK: penguin.tensor_scalar_ptr mult %a <- %b, scalar0 = %v {op1 = add, imm1 = 1e-06, reverse1}
    penguin.tensor_scalar_ptr mult %a <- %b, scalar0 = %v {op1 = add, imm1 = 1e-06, reverse1}
    // CHECK-NEXT: penguin.activation Exp %a <- %b, bias = %v {scale_imm = -1.0}
    penguin.activation Exp %a <- %b, bias = %v {scale_imm = -1.0}
    // CHECK-NEXT: penguin.reciprocal %v <- %v
    penguin.reciprocal %v <- %v
    // CHECK-NEXT: penguin.tensor_copy %x <- %b
    penguin.tensor_copy %x <- %b
    // CHECK-NEXT: penguin.tensor_copy %x <- %b[0, 511][1 x 128, -1 x 512]
    penguin.tensor_copy %x <- %b[0, 511][1 x 128, -1 x 512]
    // CHECK-NEXT: penguin.memset %a[64, 0][1 x 64, 2 x 256] {value = inf, engine = DVE}
    penguin.memset %a[64, 0][1 x 64, 2 x 256] {value = inf, engine = DVE}
    // CHECK-NEXT: penguin.index_value %n {value = l0 * 512 + l1 + (l0) mod 3}
    penguin.index_value %n {value = 512 * l0 + l1 + (l0) mod 3}
    // CHECK-NEXT: penguin.tensor_copy_predicated %a <- %k, src = %b {reverse}
    penguin.tensor_copy_predicated %a <- %k, src = %b {reverse}
    // CHECK-NEXT: penguin.tensor_copy_predicated %a <- %k {imm = 0.0}
    penguin.tensor_copy_predicated %a <- %k {imm = 0.0}
    // CHECK-NEXT: penguin.tensor_select %a <- %n, on_true = %b {false_imm = nan}
    penguin.tensor_select %a <- %n, on_true = %b {false_imm = nan}
    // CHECK-NEXT: penguin.matmul %acc <- %w, %x
    penguin.matmul %acc <- %w, %x
    // CHECK-NEXT: penguin.matmul %acc <- %w, %x {accumulate = accumulate}
    penguin.matmul %acc <- %w, %x {accumulate = accumulate}
    // CHECK-NEXT: penguin.transpose %wt <- %w {engine = PE}
    penguin.transpose %wt <- %w {engine = PE}
    // CHECK-NEXT: penguin.tensor_reduce max %v <- %a {axes = [1], negate}
    penguin.tensor_reduce max %v <- %a {axes = [1], negate}
    // CHECK-NEXT: penguin.tensor_copy %n <- %a[0, 0][1 x 128, 1 x 512] as i32
    penguin.tensor_copy %n <- %a[0, 0][1 x 128, 1 x 512] as i32
    penguin.return
  }

  // CHECK-LABEL: penguin.func @movement
  penguin.func @movement(table = %table: !neuron.tensor<512x64xbf16, hbm>) {
    // CHECK-NEXT: %eye = penguin.constant identity : <128x128xi8, hbm>
    %eye = penguin.constant identity : <128x128xi8, hbm>
    // CHECK-NEXT: %ones = penguin.constant splat 1.0 : <128x64xf32, hbm>
    %ones = penguin.constant splat 1.0 : <128x64xf32, hbm>
    // CHECK-NEXT: %bytes = penguin.constant bytes "AAECAw==" : <4xu8, hbm>
    %bytes = penguin.constant bytes "AAECAw==" : <4xu8, hbm>
    %t = penguin.alloc : <64x128xbf16, sbuf>
    %s = penguin.alloc : <128x64xbf16, sbuf>
    %one = penguin.alloc : <1x1xi32, sbuf>
    %index = penguin.alloc : <16x1xu32, sbuf>
    %cube = penguin.alloc : <64x1x16xbf16, sbuf>
    %local = penguin.alloc : <64x2xu16, sbuf>
    %picked = penguin.alloc : <64x32xbf16, sbuf>
    %columns = penguin.alloc : <64x32xu32, sbuf>
    // CHECK: penguin.dma_transpose_load %t <- %table[0][64 x 128, 1 x 64] {axes = [1, 0]}
    penguin.dma_transpose_load %t <- %table[0][64 x 128, 1 x 64] {axes = [1, 0]}
    // CHECK-NEXT: penguin.dma_transpose_copy %t <- %s {axes = [1, 0]}
    penguin.dma_transpose_copy %t <- %s {axes = [1, 0]}
    // CHECK-NEXT: penguin.dma_indirect_transpose %cube <- %table[0][64 x 16, 64 x 1, 1 x 64], %index {max_index = 512, axes = [2, 1, 0], oob = skip}
    penguin.dma_indirect_transpose %cube <- %table[0][64 x 16, 64 x 1, 1 x 64], %index {max_index = 512, axes = [2, 1, 0], oob = skip}
    // CHECK-NEXT: %row = penguin.load_tensor_to_register %one
    %row = penguin.load_tensor_to_register %one
    // CHECK-NEXT: penguin.sb_atom_load %s <- %table[%row * 64][64 x 128, 1 x 64]
    penguin.sb_atom_load %s <- %table[%row * 64][64 x 128, 1 x 64]
    // CHECK-NEXT: penguin.stream_shuffle %t <- %t {mask = [1, 0, 255, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]}
    penguin.stream_shuffle %t <- %t {mask = [1, 0, 255, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31]}
    // CHECK-NEXT: penguin.indirect_copy %picked <- %t, %local {num_valid_indices = 32}
    penguin.indirect_copy %picked <- %t, %local {num_valid_indices = 32}
    // CHECK-NEXT: penguin.pool_gather %picked <- %t, %columns
    penguin.pool_gather %picked <- %t, %columns
    %identity = penguin.alloc : <128x128xbf16, sbuf>
    %turned = penguin.alloc : <64x128xbf16, psum>
    // CHECK: penguin.matmul %turned <- %s, %identity {is_transpose, accumulate = overwrite}
    penguin.matmul %turned <- %s, %identity {accumulate = overwrite, is_transpose}
    penguin.return
  }
}
