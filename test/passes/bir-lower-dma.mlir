// RUN: neuron-opt -p bir-lower-dma %s | filecheck %s
// RUN: neuron-opt -p 'bir-lower-dma{max-blocks=2}' %s | filecheck %s --check-prefix=TWO

// CHECK-LABEL: bir.func @direct {
bir.func @direct {
  %a = bir.location @a mutable ExternalInput : <300x1000xf32, hbm>
  %b = bir.location @b ExternalInput : <2x65599xu8, hbm>
  %c = bir.location @c : <2x65599xu8, hbm>
  %t = bir.location @t : <128x1000xf32, sbuf>
  %u = bir.location @u : <128x1000xbf16, sbuf>
  %v = bir.location @v : <128x8x6x4xf32, sbuf>

  // Bytes; the partitions are a dimension of their own. The engine was open.
  // CHECK:         dma.block @I0 {
  // CHECK-NEXT:      dma.copy f32 f32 %t[0, 0][1 x 44, 4 x 1000] <- %a[1024000][4000 x 44, 4 x 1000]
  // CHECK-NEXT:    }
  // CHECK-NEXT:    bir.dma_trigger @I0 [@I0] {engine = SP}
  bir.load @I0 %t <- %a[256000][1000 x 128, 1 x 1000] where 43 - l0 >= 0

  // A cast, an engine, a queue, edges.
  // CHECK-NEXT:    dma.block @I1 {
  // CHECK-NEXT:      dma.copy bf16 f32 %u[0, 0][1 x 128, 2 x 1000] <- %a[0][4000 x 128, 4 x 1000]
  // CHECK-NEXT:    }
  // CHECK-NEXT:    bir.dma_trigger @I1 [@I1] {engine = Activation, dma_qos = P1, queue = "q", after = [output "I0"]}
  bir.load @I1 %u <- %a[0][1000 x 128, 1 x 1000] {engine = Activation, queue = "q", after = [output "I0"], dma_qos = P1}

  // CHECK-NEXT:    dma.block @I2 {
  // CHECK-NEXT:      dma.cce f32 bf16 %a[0][4000 x 128, 4 x 1000] <- %u[0, 0][1 x 128, 2 x 1000]
  bir.dma_copy @I2 %a[0][1000 x 128, 1 x 1000] <- %u {rmw_op = add}

  // A mask over two lanes: a box a row.
  // CHECK:         dma.block @I3 {
  // CHECK-NEXT:      dma.copy f32 f32 %t[3, 0][1 x 1, 4 x 1] <- %a[12000][4 x 1]
  // CHECK-NEXT:      dma.copy f32 f32 %t[4, 0][1 x 1, 4 x 2] <- %a[16000][4 x 2]
  // CHECK-NEXT:      dma.copy f32 f32 %t[5, 0][1 x 1, 4 x 3] <- %a[20000][4 x 3]
  // CHECK-NEXT:    }
  bir.load @I3 %t <- %a[0][1000 x 128, 1 x 1000] where l0 - l1 - 3 >= 0 and 5 - l0 >= 0

  // Contiguous on both sides: runs of at most 65536 bytes, and the rest.
  // CHECK:         dma.block @I4 {
  // CHECK-NEXT:      dma.copy u8 u8 %c[0][65536 x 2, 1 x 65536] <- %b[0][65536 x 2, 1 x 65536]
  // CHECK-NEXT:      dma.copy u8 u8 %c[131072][1 x 126] <- %b[131072][1 x 126]
  // CHECK-NEXT:    }
  bir.dma_copy @I4 %c <- %b

  // Four dimensions: the shortest is enumerated.
  // CHECK:         dma.block @I5 {
  // CHECK-NEXT:      dma.copy f32 f32 %v[0, 0][1 x 128, 96 x 8, 4 x 4] <- %a[0][4000 x 128, 16 x 8, 4 x 4]
  // CHECK-NEXT:      dma.copy f32 f32 %v[0, 16][1 x 128, 96 x 8, 4 x 4] <- %a[400][4000 x 128, 16 x 8, 4 x 4]
  // CHECK:           dma.copy f32 f32 %v[0, 80][1 x 128, 96 x 8, 4 x 4] <- %a[2000][4000 x 128, 16 x 8, 4 x 4]
  // CHECK-NEXT:    }
  bir.load @I5 %v <- %a[0][1000 x 128, 4 x 8, 100 x 6, 1 x 4]

  // Partitions that are two dimensions on the other side.
  // CHECK:         dma.block @I6 {
  // CHECK-NEXT:      dma.copy f32 f32 %t[0, 0][1 x 64, 4 x 10] <- %a[0][4000 x 64, 4 x 10]
  // CHECK-NEXT:      dma.copy f32 f32 %t[64, 0][1 x 64, 4 x 10] <- %a[400000][4000 x 64, 4 x 10]
  // CHECK-NEXT:    }
  bir.load @I6 %t[0, 0][1 x 128, 1 x 10] <- %a[0][100000 x 2, 1000 x 64, 1 x 10]

  // Never: the trigger stays, for those that wait for it.
  // CHECK:         dma.block @I7 {
  // CHECK-NEXT:    }
  // CHECK-NEXT:    bir.dma_trigger @I7 [@I7]
  bir.load @I7 %t <- %a[0][1000 x 128, 1 x 1000] where -1 >= 0
  bir.return a = %a
}

// CHECK-LABEL: bir.func @indirect {
bir.func @indirect {
  %a = bir.location @a mutable ExternalInput : <300x100xf32, hbm>
  %i = bir.location @i : <128x1xi32, sbuf>
  %j = bir.location @j : <64x2xi32, sbuf>
  %t = bir.location @t : <128x100xf32, sbuf>
  %u = bir.location @u : <64x200xf32, sbuf>
  // CHECK:           dma.gather f32 f32 %t[5, 0][1 x 95, 4 x 100] <- %a[0][400 x 95, 4 x 100], %i[5, 0][1 x 95, 4 x 1] {max_index = 300}
  bir.generic_indirect_load @I0 %t <- %a[0][100 x 128, 1 x 100], %i where 99 - l0 >= 0 and l0 - 5 >= 0 {max_index = 300}
  // Two rows a partition.
  // CHECK:           dma.gather f32 f32 %u[0, 0][1 x 64, 400 x 2, 4 x 100] <- %a[0][400 x 128, 4 x 100], %j[0, 0][1 x 64, 4 x 2] {max_index = 300, oob = skip}
  bir.generic_indirect_load @I1 %u <- %a[0][100 x 128, 1 x 100], %j {max_index = 300, oob = skip}
  // CHECK:           dma.scatter f32 f32 %a[0][400 x 128, 4 x 100] <- %t[0, 0][1 x 128, 4 x 100], %i[0, 0][1 x 128, 4 x 1] {max_index = 300}
  bir.generic_indirect_save @I2 %a[0][100 x 128, 1 x 100] <- %t, %i {max_index = 300}
  // CHECK:           dma.scatter f32 f32 {{.*}} {op = add, max_index = 300}
  bir.indirect_save_accumulate @I3 %a[0][100 x 128, 1 x 100] <- %t, %i {max_index = 300}
  bir.return a = %a
}

// CHECK-LABEL: bir.func @transpose {
bir.func @transpose {
  %a = bir.location @a ExternalInput : <16x48xbf16, hbm>
  %t = bir.location @t : <48x16xbf16, sbuf>
  // CHECK:           dma.transpose bf16 bf16 %t[0, 0][1 x 48, 2 x 1, 2 x 1, 2 x 16] <- %a[0][96 x 16, 2 x 1, 2 x 1, 2 x 48] {axes = [3, 1, 2, 0]}
  bir.dma_copy_transpose @I0 %t[0, 0][1 x 48, 1 x 1, 1 x 1, 1 x 16] <- %a[0][48 x 16, 1 x 1, 1 x 1, 1 x 48] {axes = [3, 1, 2, 0]}
  bir.return
}

// One block per iteration, before the outermost loop, with the locations they use.
// CHECK-LABEL: bir.func @rolled {
// CHECK-NEXT:    %a = bir.location @a ExternalInput : <300x100xf32, hbm>
// CHECK-NEXT:    %t = bir.location @t : <128x100xf32, sbuf>
// CHECK-NEXT:    dma.block @I0_i0_j2 {
// CHECK-NEXT:      dma.copy f32 f32 %t[0, 0][1 x 128, 4 x 100] <- %a[80][400 x 128, 4 x 100]
// CHECK-NEXT:    }
// CHECK-NEXT:    dma.block @I0_i0_j3 {
// CHECK-NEXT:      dma.copy f32 f32 %t[0, 0][1 x 128, 4 x 100] <- %a[120][400 x 128, 4 x 100]
// CHECK-NEXT:    }
// CHECK-NEXT:    dma.block @I0_i1_j2 {
// CHECK-NEXT:    }
// CHECK-NEXT:    dma.block @I0_i1_j3 {
// CHECK-NEXT:      dma.copy f32 f32 %t[0, 0][1 x 128, 4 x 100] <- %a[51320][400 x 128, 4 x 100]
// CHECK-NEXT:    }
// CHECK-NEXT:    bir.loop sequential %i = 0 to 2 {
// CHECK-NEXT:      bir.loop sequential %j = 2 to 4 {
// CHECK-NEXT:        bir.dma_trigger @I0 [@I0_i0_j2, @I0_i0_j3, @I0_i1_j2, @I0_i1_j3] {engine = SP}
// CHECK-NEXT:        bir.tensor_scalar_ptr @I1
// CHECK:         %r = bir.tensor_load @I2
// A register's value is not known.
// CHECK-NEXT:    bir.load @I3 %u[0, 0][1 x 1, 1 x 100] <- %a[%r * 100][100 x 1, 1 x 100]

// TWO-LABEL: bir.func @rolled {
// TWO:             bir.load @I0 %t <- %a[%i * 12800 + %j * 10][100 x 128, 1 x 100] where %j - %i - 2 >= 0
bir.func @rolled {
  %a = bir.location @a ExternalInput : <300x100xf32, hbm>
  bir.loop sequential %i = 0 to 2 {
    bir.loop sequential %j = 2 to 4 {
      %t = bir.location @t : <128x100xf32, sbuf>
      bir.load @I0 %t <- %a[%i * 12800 + %j * 10][100 x 128, 1 x 100] where %j - %i - 2 >= 0
      bir.tensor_scalar_ptr @I1 mult %t <- %t {imm0 = 2.0, engine = DVE}
    }
  }
  %n = bir.location @n : <1x1xi32, sbuf>
  %u = bir.location @u : <128x100xf32, sbuf>
  %r = bir.tensor_load @I2 %n
  bir.load @I3 %u[0, 0][1 x 1, 1 x 100] <- %a[%r * 100][100 x 1, 1 x 100]
  bir.return
}
