// RUN: neuron-opt -p convert-penguin-to-bir %s | filecheck %s

builtin.module attributes {neuron.target = #neuron.target<trn2>} {

// CHECK-LABEL: bir.func @add {
// CHECK-NEXT:    %a = bir.location @a ExternalInput : <300x1000xf32, hbm>
// CHECK-NEXT:    %b = bir.location @b mutable ExternalInput : <300x1000xf32, hbm>
// CHECK-NEXT:    %sum = bir.location @sum ExternalOutput : <300x1000xf32, hbm>
// CHECK-NEXT:    %spare = bir.location @spare : <8x4xf32, hbm>
// CHECK-NEXT:    %id = bir.location @id Const identity : <32x32xbf16, hbm>
// CHECK-NEXT:    bir.loop parallel %i = 0 to 3 {
// CHECK-NEXT:      %t = bir.location @t : <128x1000xf32, sbuf>
// CHECK-NEXT:      %t.1 = bir.location @t.1 : <128x1000xi32, sbuf>
// CHECK-NEXT:      bir.load @L %t <- %a[%i * 128000][1000 x 128, 1 x 1000] where 299 - %i * 128 - l0 >= 0 {dma_qos = P1}
// CHECK-NEXT:      bir.tensor_tensor @I0 add %t <- %t, %t {engine = DVE, after = [flow "L"]}
// CHECK-NEXT:      bir.tensor_tensor @I1 add %t.1 <- %t.1, %t.1 {engine = Pool}
// CHECK-NEXT:      bir.tensor_tensor @I2 max %t.1 <- %t.1, %t.1 {engine = Pool}
// CHECK-NEXT:      bir.iota @I3 %t.1 {value = %i + l0, engine = Pool}
// CHECK-NEXT:      bir.memset @I4 %t {value = 1.0, engine = Pool}
// CHECK-NEXT:      bir.activation @I5 Exp %t <- %t {engine = Activation}
// CHECK-NEXT:      bir.dma_copy @I6 %b[%i * 128000][1000 x 128, 1 x 1000] <- %t where 299 - %i * 128 - l0 >= 0 {rmw_op = add}
// CHECK-NEXT:      bir.save @I7 %sum[%i * 128000][1000 x 128, 1 x 1000] <- %t where 299 - %i * 128 - l0 >= 0
// CHECK-NEXT:    }
// CHECK-NEXT:    bir.return b = %b, sum = %sum
// CHECK-NEXT:  }
penguin.func @add(a = %a: !neuron.tensor<300x1000xf32, hbm>, inout b = %b: !neuron.tensor<300x1000xf32, hbm>) {
  %c = penguin.alloc : <300x1000xf32, hbm>
  %spare = penguin.alloc : <8x4xf32, hbm>
  %id = penguin.constant identity : <32x32xbf16, hbm>
  penguin.for parallel %i = 0 to 3 {
    %t = penguin.alloc : <128x1000xf32, sbuf>
    %t_1 = penguin.alloc : <128x1000xi32, sbuf>
    penguin.sb_atom_load @L %t <- %a[%i * 128000][1000 x 128, 1 x 1000] where 299 - %i * 128 - l0 >= 0 {dma_qos = P1}
    penguin.tensor_tensor add %t <- %t, %t {after = [flow "L"]}
    penguin.tensor_tensor add %t_1 <- %t_1, %t_1
    penguin.tensor_tensor max %t_1 <- %t_1, %t_1
    penguin.index_value %t_1 {value = %i + l0}
    penguin.memset %t {value = 1.0, engine = Pool}
    penguin.activation Exp %t <- %t
    penguin.sb_atom_store %b[%i * 128000][1000 x 128, 1 x 1000] <- %t where 299 - %i * 128 - l0 >= 0 {rmw_op = add}
    penguin.sb_atom_store %c[%i * 128000][1000 x 128, 1 x 1000] <- %t where 299 - %i * 128 - l0 >= 0
  }
  penguin.return b = %b, sum = %c
}

// Transposing DMAs have four dimensions.
// CHECK-LABEL: bir.func @indirect {
// CHECK:         bir.generic_indirect_load @I0 %t <- %a[0][64 x 32, 1 x 64], %i {max_index = 8}
// CHECK-NEXT:    bir.indirect_save_accumulate @I1 %a[0][64 x 32, 1 x 64] <- %t, %i {max_index = 8}
// CHECK-NEXT:    bir.generic_indirect_save @I2 %a[0][64 x 32, 1 x 64] <- %t, %i {max_index = 8}
// CHECK-NEXT:    bir.dma_copy_transpose @I3 %u[0, 0][1 x 64, 1 x 1, 1 x 1, 1 x 32] <- %a[0][64 x 32, 1 x 1, 1 x 1, 1 x 64] where l3 - l0 >= 0 {axes = [3, 1, 2, 0]}
// CHECK-NEXT:    %r = bir.tensor_load @I4 %i[0, 0][1 x 1]
// CHECK-NEXT:    bir.load @I5 %t[0, 0][1 x 1, 1 x 64] <- %a[%r * 64][64 x 1, 1 x 64]
// CHECK-NEXT:    bir.stream_transpose @I6 %w <- %t[0, 0][1 x 32, 1 x 32] {engine = DVE}
penguin.func @indirect(inout a = %a: !neuron.tensor<32x64xf32, hbm>) {
  %t = penguin.alloc : <32x64xf32, sbuf>
  %u = penguin.alloc : <64x32xf32, sbuf>
  %w = penguin.alloc : <32x32xf32, sbuf>
  %i = penguin.alloc : <32x1xi32, sbuf>
  penguin.neuron_indirect_load %t <- %a[0][64 x 32, 1 x 64], %i {max_index = 8}
  penguin.neuron_indirect_rmw %a[0][64 x 32, 1 x 64] <- %t, %i {max_index = 8}
  penguin.neuron_indirect_save %a[0][64 x 32, 1 x 64] <- %t, %i {max_index = 8}
  penguin.dma_transpose_load %u <- %a where l1 - l0 >= 0 {axes = [1, 0]}
  %r = penguin.load_tensor_to_register %i[0, 0][1 x 1]
  penguin.sb_atom_load %t[0, 0][1 x 1, 1 x 64] <- %a[%r * 64][64 x 1, 1 x 64]
  penguin.transpose %w <- %t[0, 0][1 x 32, 1 x 32]
  penguin.return a = %a
}
}
