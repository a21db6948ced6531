// RUN: neuron-opt %s | neuron-opt | filecheck %s
// RUN: neuron-opt %s --print-op-generic | neuron-opt | filecheck %s

// The text form of every bir operation.

builtin.module attributes {neuron.target = #neuron.target<trn2>} {
  // CHECK-LABEL: bir.func @all {
  bir.func @all {
    // CHECK-NEXT: %a = bir.location @a ExternalInput : <300x1000xf32, hbm>
    %a = bir.location @a ExternalInput : <300x1000xf32, hbm>
    // CHECK-NEXT: %b = bir.location @b mutable ExternalInput : <300x1000xf32, hbm>
    %b = bir.location @b mutable ExternalInput : <300x1000xf32, hbm>
    // CHECK-NEXT: %qk = bir.location @qk blocks 64 : <128x16x4x512xf32, psum>
    %qk = bir.location @qk blocks 64 : <128x16x4x512xf32, psum>
    // CHECK-NEXT: %placed = bir.location @placed at [(32, 2052)] : <64x8xf32, psum>
    %placed = bir.location @placed at [(32, 2052)] : <64x8xf32, psum>
    // CHECK-NEXT: %c = bir.location @"the result" ExternalOutput : <300x1000xf32, hbm>
    %c = bir.location @"the result" ExternalOutput : <300x1000xf32, hbm>
    // CHECK-NEXT: %t.1 = bir.location @t.1 : <128x1000xf32, sbuf>
    %t.1 = bir.location @t.1 : <128x1000xf32, sbuf>
    %i = bir.location @i : <128x1xi32, sbuf>
    %m = bir.location @m : <128x1000xi32, sbuf>
    %keep = bir.location @keep : <128x1000xu8, sbuf>
    %v = bir.location @v : <128x1xf32, sbuf>
    %w = bir.location @w : <128x128xbf16, sbuf>
    %x = bir.location @x : <128x512xbf16, sbuf>
    %acc = bir.location @acc : <128x512xf32, psum>
    %s = bir.location @s : <32x32xf32, sbuf>
    %s2 = bir.location @s2 : <32x32xf32, sbuf>
    // CHECK: bir.memset @I0 %t.1 {value = 0.0, engine = DVE}
    bir.memset @I0 %t.1 {value = 0.0, engine = DVE}
    // CHECK-NEXT: bir.load @I1 %t.1[0, 0][1 x 44, 1 x 1000] <- %a[256000][1000 x 44, 1 x 1000] {dge = hwdge, engine = SP, queue = "q0", after = [output "I0"]}
    bir.load @I1 %t.1[0, 0][1 x 44, 1 x 1000] <- %a[256000][1000 x 44, 1 x 1000] {engine = SP, dge = hwdge, queue = "q0", after = [output "I0"]}
    // CHECK-NEXT: bir.save @I2 %b[256000][1000 x 44, 1 x 1000] <- %t.1[0, 0][1 x 44, 1 x 1000]
    bir.save @I2 %b[256000][1000 x 44, 1 x 1000] <- %t.1[0, 0][1 x 44, 1 x 1000]
    // CHECK-NEXT: bir.dma_copy @I3 %c <- %a {rmw_op = add}
    bir.dma_copy @I3 %c <- %a {rmw_op = add}
    // CHECK-NEXT: bir.generic_indirect_load @I4 %t.1 <- %a[0][1000 x 128, 1 x 1000], %i {max_index = 300}
    bir.generic_indirect_load @I4 %t.1 <- %a[0][1000 x 128, 1 x 1000], %i {max_index = 300}
    // CHECK-NEXT: bir.generic_indirect_save @I5 %b[0][1000 x 128, 1 x 1000] <- %t.1, %i {max_index = 300}
    bir.generic_indirect_save @I5 %b[0][1000 x 128, 1 x 1000] <- %t.1, %i {max_index = 300}
    // CHECK-NEXT: bir.indirect_save_accumulate @I6 %b[0][1000 x 128, 1 x 1000] <- %t.1, %i {max_index = 300}
    bir.indirect_save_accumulate @I6 %b[0][1000 x 128, 1 x 1000] <- %t.1, %i {max_index = 300}
    // CHECK-NEXT: bir.loop sequential %k = 0 to 4 step 2 {
    bir.loop sequential %k = 0 to 4 step 2 {
      // CHECK-NEXT: bir.iota @I7 %m {value = %k * 2 + l0, engine = Pool}
      bir.iota @I7 %m {value = %k * 2 + l0, engine = Pool}
      // CHECK-NEXT: bir.matmult @I8 %acc <- %w, %x {accumulate_if = %k - 1, engine = PE}
      bir.matmult @I8 %acc <- %w, %x {accumulate_if = %k - 1, engine = PE}
    }
    // CHECK: bir.tensor_tensor @I9 mult %t.1 <- %t.1, %t.1 {engine = DVE}
    bir.tensor_tensor @I9 mult %t.1 <- %t.1, %t.1 {engine = DVE}
    // CHECK-NEXT: bir.tensor_scalar_ptr @I10 add %t.1 <- %t.1, scalar0 = %v {op1 = mult, imm1 = 2.0, engine = DVE}
    bir.tensor_scalar_ptr @I10 add %t.1 <- %t.1, scalar0 = %v {op1 = mult, imm1 = 2.0, engine = DVE}
    // CHECK-NEXT: bir.activation @I11 Exp %t.1 <- %t.1, bias = %v {engine = Activation}
    bir.activation @I11 Exp %t.1 <- %t.1, bias = %v {engine = Activation}
    // CHECK-NEXT: bir.reciprocal @I12 %v <- %v {engine = DVE}
    bir.reciprocal @I12 %v <- %v {engine = DVE}
    // CHECK-NEXT: bir.tensor_copy @I13 %x <- %acc {engine = Activation}
    bir.tensor_copy @I13 %x <- %acc {engine = Activation}
    // CHECK-NEXT: bir.copy_predicated @I14 %t.1 <- %keep, src = %t.1 {reverse, engine = DVE}
    bir.copy_predicated @I14 %t.1 <- %keep, src = %t.1 {reverse, engine = DVE}
    // CHECK-NEXT: bir.select @I15 %t.1 <- %m, on_true = %t.1 {false_imm = -inf, engine = DVE}
    bir.select @I15 %t.1 <- %m, on_true = %t.1 {false_imm = -inf, engine = DVE}
    // CHECK-NEXT: bir.stream_transpose @I16 %s2 <- %s {engine = DVE}
    bir.stream_transpose @I16 %s2 <- %s {engine = DVE}
    // CHECK-NEXT: bir.tensor_reduce @I17 max %v <- %t.1 {axes = [1], engine = DVE}
    bir.tensor_reduce @I17 max %v <- %t.1 {axes = [1], engine = DVE}
    // CHECK-NEXT: dma.block @I18_0 {
    dma.block @I18_0 {
      // CHECK-NEXT: dma.copy f32 f32 %t.1[0, 0][1 x 44, 4 x 1000] <- %a[1024000][4000 x 44, 4 x 1000]
      dma.copy f32 f32 %t.1[0, 0][1 x 44, 4 x 1000] <- %a[1024000][4000 x 44, 4 x 1000]
      // CHECK-NEXT: dma.cce f32 bf16 %b[0][4000 x 128, 4 x 512] <- %x[0, 0][1 x 128, 2 x 512]
      dma.cce f32 bf16 %b[0][4000 x 128, 4 x 512] <- %x[0, 0][1 x 128, 2 x 512]
      // CHECK-NEXT: dma.gather f32 f32 %t.1[0, 0][1 x 128, 4 x 1000] <- %a[0][4000 x 128, 4 x 1000], %i[0, 0][1 x 128, 4 x 1] {max_index = 300, oob = skip}
      dma.gather f32 f32 %t.1[0, 0][1 x 128, 4 x 1000] <- %a[0][4000 x 128, 4 x 1000], %i[0, 0][1 x 128, 4 x 1] {max_index = 300, oob = skip}
      // CHECK-NEXT: dma.scatter f32 f32 %b[0][4000 x 128, 4 x 1000] <- %t.1[0, 0][1 x 128, 4 x 1000], %i[0, 0][1 x 128, 4 x 1] {op = add, max_index = 300}
      dma.scatter f32 f32 %b[0][4000 x 128, 4 x 1000] <- %t.1[0, 0][1 x 128, 4 x 1000], %i[0, 0][1 x 128, 4 x 1] {op = add, max_index = 300}
    }
    // CHECK: bir.dma_trigger @I18 [@I18_0] {engine = Pool, queue = "q1", after = [flow "I17"]}
    bir.dma_trigger @I18 [@I18_0] {engine = Pool, queue = "q1", after = [flow "I17"]}
    // CHECK-NEXT: bir.return c = %c, b = %b
    bir.return c = %c, b = %b
  }

  // CHECK-LABEL: bir.func @movement {
  bir.func @movement {
    // CHECK-NEXT: %eye = bir.location @eye Const identity : <128x128xi8, hbm>
    %eye = bir.location @eye Const identity : <128x128xi8, hbm>
    %table = bir.location @table ExternalInput : <512x64xbf16, hbm>
    %t = bir.location @t : <64x128xbf16, sbuf>
    %one = bir.location @one : <1x1xi32, sbuf>
    %index = bir.location @index : <16x1xu32, sbuf>
    %cube = bir.location @cube : <64x1x1x16xbf16, sbuf>
    %local = bir.location @local : <64x2xu16, sbuf>
    %picked = bir.location @picked : <64x32xbf16, sbuf>
    %columns = bir.location @columns : <64x32xu32, sbuf>
    // CHECK: bir.dma_copy_transpose @I0 %t[0, 0][1 x 64, 0 x 1, 0 x 1, 1 x 128] <- %table[0][64 x 128, 0 x 1, 0 x 1, 1 x 64] {axes = [3, 1, 2, 0]}
    bir.dma_copy_transpose @I0 %t[0, 0][1 x 64, 0 x 1, 0 x 1, 1 x 128] <- %table[0][64 x 128, 0 x 1, 0 x 1, 1 x 64] {axes = [3, 1, 2, 0]}
    // CHECK-NEXT: bir.dma_copy_gather_transpose @I1 %cube <- %table[0][64 x 16, 64 x 1, 64 x 1, 1 x 64], %index {max_index = 512, axes = [3, 1, 2, 0], engine = Pool}
    bir.dma_copy_gather_transpose @I1 %cube <- %table[0][64 x 16, 64 x 1, 64 x 1, 1 x 64], %index {max_index = 512, axes = [3, 1, 2, 0], engine = Pool}
    // CHECK-NEXT: %row = bir.tensor_load @I2 %one
    %row = bir.tensor_load @I2 %one
    // CHECK-NEXT: bir.load @I3 %t[0, 0][1 x 64, 1 x 64] <- %table[%row * 64][64 x 64, 1 x 64]
    bir.load @I3 %t[0, 0][1 x 64, 1 x 64] <- %table[%row * 64][64 x 64, 1 x 64]
    // CHECK-NEXT: bir.stream_shuffle @I4 %t <- %t {mask = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 255], engine = DVE}
    bir.stream_shuffle @I4 %t <- %t {mask = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 255], engine = DVE}
    // CHECK-NEXT: bir.indirect_copy @I5 %picked <- %t, %local {num_valid_indices = 32, engine = Pool}
    bir.indirect_copy @I5 %picked <- %t, %local {num_valid_indices = 32, engine = Pool}
    // CHECK-NEXT: bir.gather @I6 %picked <- %t, %columns {engine = Pool}
    bir.gather @I6 %picked <- %t, %columns {engine = Pool}
    // CHECK-NEXT: dma.block @I7 {
    dma.block @I7 {
      // CHECK-NEXT: dma.transpose bf16 bf16 %t[0, 0][1 x 64, 0 x 1, 0 x 1, 2 x 128] <- %table[0][128 x 128, 0 x 1, 0 x 1, 2 x 64] {axes = [3, 1, 2, 0]}
      dma.transpose bf16 bf16 %t[0, 0][1 x 64, 0 x 1, 0 x 1, 2 x 128] <- %table[0][128 x 128, 0 x 1, 0 x 1, 2 x 64] {axes = [3, 1, 2, 0]}
      // CHECK-NEXT: dma.gather_transpose bf16 bf16 %cube[0, 0][1 x 64, 32 x 1, 32 x 1, 2 x 16] <- %table[0][128 x 16, 128 x 1, 128 x 1, 2 x 64], %index[0, 0][1 x 16, 4 x 1] {max_index = 512, axes = [3, 1, 2, 0]}
      dma.gather_transpose bf16 bf16 %cube[0, 0][1 x 64, 32 x 1, 32 x 1, 2 x 16] <- %table[0][128 x 16, 128 x 1, 128 x 1, 2 x 64], %index[0, 0][1 x 16, 4 x 1] {axes = [3, 1, 2, 0], max_index = 512}
    }
    bir.dma_trigger @I7 [@I7] {engine = SP}
    bir.return
  }
}
